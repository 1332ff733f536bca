"""Kernel features tried for real, in a network namespace that this process makes for itself and takes with it.

Run as a program of its own (`python -m tortie.host.trial veth vxlan ...`), because a namespace is entered for good
and because making one without being root needs a process with a single thread. One line for each feature comes out.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tortie.host.netlink import attribute, failure_in, messages_in

DEADLINE_S: Final = 10.0
_ANSWER_S: Final = 3.0

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000

_NLMSG_ERROR = 2
_REQUEST, _ACK, _EXCL, _CREATE = 0x1, 0x4, 0x200, 0x400
_RTM_NEWLINK = 16
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_INFO_KIND, _IFLA_INFO_DATA = 3, 18, 1, 2
_IFLA_VXLAN_ID, _IFLA_VXLAN_PORT, _IFLA_IPTUN_REMOTE = 1, 15, 3

_NETLINK_ROUTE, _NETLINK_NETFILTER = 0, 12
_BATCH_BEGIN, _BATCH_END = 16, 17
_IPSET, _NFTABLES, _NFT_COMPAT = 6, 10, 11  # subsystems of netfilter
_NFPROTO_INET = 1

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x1, 0x1000

# What a kernel says that does not have the thing; everything else is about us, not about the kernel.
_MISSING: Final = {errno.EOPNOTSUPP, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ENODEV, errno.ENOENT}


class Tried(NamedTuple):
    works: bool | None  # None: could not be tried
    why: str = ""


def try_features(names: Sequence[str], timeout_s: float = DEADLINE_S) -> dict[str, Tried]:
    """What became of each feature; never raises, because not being able to try is an answer here."""
    command = [sys.executable, "-m", __name__, *names]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return dict.fromkeys(names, Tried(None, f"the kernel gave no answer within {timeout_s:.0f} s"))
    except OSError as error:
        return dict.fromkeys(names, Tried(None, f"no process could be started: {error.strerror}"))
    tried = dict.fromkeys(names, Tried(None, (done.stderr.strip().splitlines() or ["no answer"])[-1]))
    for line in done.stdout.splitlines():
        name, works, why = line.split("\t")
        tried[name] = Tried({"yes": True, "no": False}.get(works), why)
    return tried


def main(names: Sequence[str]) -> int:
    refusal = _enter_own_namespace()
    for name in names:
        result = Tried(None, refusal) if refusal else _try(name)
        works = {True: "yes", False: "no", None: "unknown"}[result.works]
        sys.stdout.write(f"{name}\t{works}\t{result.why}\n")
    return 0


def _enter_own_namespace() -> str:
    """Why not, or nothing. Who is not root may still be allowed to have a user namespace, and be root in there."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (_CLONE_NEWNET, _CLONE_NEWNET | _CLONE_NEWUSER):
        if libc.unshare(flags) == 0:
            return ""
    return f"that needs root or a network namespace of our own ({os.strerror(ctypes.get_errno())})"


def _try(name: str) -> Tried:
    try:
        code = _TRIALS[name](name)
    except OSError as error:
        code = error.errno or errno.EIO
    if code in (0, errno.EEXIST):
        return Tried(True)
    return Tried(False if code in _MISSING else None, os.strerror(code))


def _link(kind: str) -> int:
    """An interface of the kind, and the kernel's answer. It dies with the namespace."""
    data = {
        "vxlan": attribute(_IFLA_VXLAN_ID, struct.pack("=I", 4096))
        + attribute(_IFLA_VXLAN_PORT, struct.pack("!H", 4789)),
        "ipip": attribute(_IFLA_IPTUN_REMOTE, socket.inet_aton("192.0.2.1")),
    }.get(kind, b"")
    info = attribute(_IFLA_INFO_KIND, kind.encode()) + (attribute(_IFLA_INFO_DATA, data) if data else b"")
    body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
    body += attribute(_IFLA_IFNAME, f"t-{kind}"[:15].encode() + b"\0") + attribute(_IFLA_LINKINFO, info)
    return _ask(_NETLINK_ROUTE, _message(_RTM_NEWLINK, _REQUEST | _ACK | _CREATE | _EXCL, body))


def _tun(_name: str) -> int:
    import fcntl

    device = os.open("/dev/net/tun", os.O_RDWR)
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"t-tun", _IFF_TUN | _IFF_NO_PI))
    finally:
        os.close(device)
    return 0


def _nf_tables(_name: str) -> int:
    """A table of the family that covers IPv4 and IPv6 at once, made in one transaction."""
    begin = _message(_BATCH_BEGIN, _REQUEST, _netfilter(socket.AF_UNSPEC, _NFTABLES))
    table = _message(_NFTABLES << 8, _REQUEST | _ACK | _CREATE, _netfilter(_NFPROTO_INET) + attribute(1, b"trial\0"))
    end = _message(_BATCH_END, _REQUEST, _netfilter(socket.AF_UNSPEC, _NFTABLES))
    return _ask(_NETLINK_NETFILTER, begin + table + end)


def _ip_set(_name: str) -> int:
    """Asks for the protocol version. A subsystem that is not there is an invalid argument to netfilter."""
    body = _netfilter(socket.AF_INET) + attribute(1, b"\x07")
    code = _ask(_NETLINK_NETFILTER, _message(_IPSET << 8 | 1, _REQUEST | _ACK, body))
    return errno.EOPNOTSUPP if code == errno.EINVAL else code


def _xt_set(_name: str) -> int:
    """Whether iptables rules may name sets, asked of the part of nf_tables that runs iptables' matches."""
    body = _netfilter(socket.AF_INET) + attribute(1, b"set\0")
    body += attribute(2, struct.pack("!I", 0)) + attribute(3, struct.pack("!I", 0))
    return _ask(_NETLINK_NETFILTER, _message(_NFT_COMPAT << 8, _REQUEST | _ACK, body))


_TRIALS: Final[dict[str, Callable[[str], int]]] = {
    "veth": _link,
    "vxlan": _link,
    "bridge": _link,
    "ipip": _link,
    "wireguard": _link,
    "dummy": _link,
    "tun": _tun,
    "nf_tables": _nf_tables,
    "ip_set": _ip_set,
    "xt_set": _xt_set,
}


def _netfilter(family: int, subsystem: int = 0) -> bytes:
    return struct.pack("!BBH", family, 0, subsystem)


def _message(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


def _ask(protocol: int, request: bytes) -> int:
    """Sends the request; returns the first error, or 0 when the kernel did it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as kernel:
        kernel.settimeout(_ANSWER_S)
        kernel.sendto(request, (0, 0))
        while True:
            for message in messages_in(kernel.recv(65536)):
                if message.kind == _NLMSG_ERROR:
                    return failure_in(message)[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
