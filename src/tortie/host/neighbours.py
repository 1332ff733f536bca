"""Whether some other machine on the same network has an address: a question by ARP, as RFC 5227 describes the probe.

The probe names no sender address, so it disturbs nobody's table of neighbours. A router that answers for others
(proxy ARP) may answer here too; whoever judges should look at whose MAC it is.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from ipaddress import IPv4Address
from typing import Final

from tortie.host.links import links
from tortie.model.errors import TortieError
from tortie.model.network import Interface

TIMEOUT_S: Final = 1.0
_PROBES: Final = 3  # one may be lost, and a switch port that just came up may swallow more than one

_ETHERNET, _ARP, _IPV4 = 1, 0x0806, 0x0800
_REQUEST: Final = 1
_BROADCAST: Final = b"\xff" * 6
# hardware, protocol, the lengths of their addresses, operation; then MAC and IP of the sender and of the target
_PACKET: Final = struct.Struct("!HHBBH6s4s6s4s")


def someone_else_has(ip: IPv4Address, interface: Interface, timeout_s: float = TIMEOUT_S) -> str | None:
    """The MAC of another machine that says the address is its own; None if nobody did in that time.

    All MACs of this machine are left out, since Linux answers for its addresses on every link that hears the question.
    """
    deadline = time.monotonic() + timeout_s
    now, macs = _usable(ip, interface)
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0) as wire:
            wire.bind((now.name, _ARP))
            answer = _ask(wire, ip, now, macs, deadline, timeout_s / _PROBES)
    except OSError as error:
        why = f"{interface.name}: {os.strerror(error.errno or errno.EIO)}"
        fix = f"look at ip link show {interface.name}"
        if error.errno in (errno.EPERM, errno.EACCES):
            why, fix = "ARP needs a raw socket, and this process may not open one", "run it as root or with CAP_NET_RAW"
        raise _cannot_ask(ip, interface.name, why, fix) from None
    if answer is None:
        _usable(ip, interface)  # silence means nothing if the cable was pulled meanwhile
    return answer


def _ask(
    wire: socket.socket, ip: IPv4Address, interface: Interface, ours: set[str], deadline: float, pause_s: float
) -> str | None:
    mac = bytes.fromhex(interface.mac.replace(":", ""))
    probe = _PACKET.pack(_ETHERNET, _IPV4, 6, 4, _REQUEST, mac, bytes(4), bytes(6), ip.packed)
    next_probe = time.monotonic()
    asked = False
    unsent: OSError | None = None
    while (now := time.monotonic()) < deadline:
        if now >= next_probe:
            next_probe += pause_s
            try:
                wire.sendto(probe, (interface.name, _ARP, 0, _ETHERNET, _BROADCAST))
                asked = True
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                unsent = error  # a full queue, or a carrier that just went away: the next one may get out
        wire.settimeout(max(0.001, min(deadline, next_probe) - time.monotonic()))
        try:
            packet = wire.recv(256)
        except TimeoutError:
            continue
        answer = _sender(packet, ip)
        if answer and answer not in ours:
            return answer
    if unsent and not asked:
        raise unsent
    return None


def _sender(packet: bytes, ip: IPv4Address) -> str:
    """Who says that the address is its own: in answers as in questions the sender names itself."""
    if len(packet) < _PACKET.size:
        return ""
    hardware, protocol, _, _, _, mac, claimed, _, _ = _PACKET.unpack_from(packet)
    if (hardware, protocol) != (_ETHERNET, _IPV4) or claimed != ip.packed:
        return ""
    return str(mac.hex(":"))


def _usable(ip: IPv4Address, interface: Interface) -> tuple[Interface, set[str]]:
    """The interface as it is now, whatever it was when the caller looked, and all MACs of this machine."""
    ours = links()
    now = next((link for link in ours if link.index == interface.index and link.name == interface.name), None)
    if now is None:
        raise _cannot_ask(ip, interface.name, f"{interface.name} is gone, or has another name now", "look at ip link")
    if reason := _why_not(now):
        raise _cannot_ask(ip, now.name, *reason)
    return now, {link.mac for link in ours}


def _why_not(now: Interface) -> tuple[str, str] | None:
    """Why and what to do about it, if it is clear beforehand that nobody can be asked."""
    if "loopback" in now.flags or "noarp" in now.flags or len(now.mac) != len("00:00:00:00:00:00"):
        return f"{now.name} does not use ARP", "ask on the interface that leads to the other machines"
    if "up" not in now.flags:
        return f"{now.name} is down", f"bring it up: ip link set {now.name} up"
    if not now.is_up:
        return f"{now.name} has no carrier", "connect the cable, or look at the port of the switch"
    return None


def _cannot_ask(ip: IPv4Address, name: str, why: str, fix: str) -> TortieError:
    return TortieError(f"cannot ask on {name} whether another machine has {ip}", why, fix)
