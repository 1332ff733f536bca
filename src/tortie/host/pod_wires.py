"""Messages for the cable of a pod that no other link needs, and questions to the kernel about one single thing.

A list of all links or routes grows with the node; whoever adds one pod asks for one entry.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from typing import Final

from tortie.host.links import (
    LINK_HEADER,
    LINK_MAC,
    LINK_MTU,
    LINK_NAME,
    NEW_LINK,
    ROUTE_DESTINATION,
    ROUTE_HEADER,
    UP,
    interfaces_in,
    routes_in,
)
from tortie.host.netlink import Message, Netlink, NetlinkError, Request, attribute, failure_in, messages_in
from tortie.model.network import IP, Interface, Route

_GET_LINK, _GET_ROUTE = 18, 26
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST, _EXCLUSIVE, _CREATE = 0x1, 0x200, 0x400
_ERROR: Final = 2

_LINK_INFO, _AF_SPEC, _LINK_NAMESPACE, _TX_QUEUES, _RX_QUEUES = 18, 26, 28, 31, 32
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_IPV4, _IPV6, _CONF = 2, 10, 1
_FORWARDING, _PROXY_ARP, _ROUTE_LOCALNET = 1, 3, 26  # the kernel's numbers of settings of an interface
_MATCHED_ROUTE: Final = 0x2000  # answer with the entry of the table, not with what it means for one packet

_U32: Final = struct.Struct("=I")


def add_pod_cable(
    host: str, host_mac: str, inside: str, inside_mac: str, namespace: int, *, mtu: int, queues: int, up: bool
) -> Request:
    """Both ends in one message: the pod's is born in its namespace, so that nothing has to be moved or renamed."""
    there = LINK_HEADER.pack(0, 0, 0, 0, 0) + _end(inside, inside_mac, mtu, queues)
    there += attribute(_LINK_NAMESPACE, _U32.pack(namespace))
    here = LINK_HEADER.pack(0, 0, 0, UP if up else 0, UP if up else 0) + _end(host, host_mac, mtu, queues)
    data = attribute(_INFO_KIND, b"veth") + attribute(_INFO_DATA, attribute(_VETH_PEER, there))
    body = here + attribute(_LINK_INFO, data)
    return Request(NEW_LINK, _CREATE | _EXCLUSIVE, body, f"add the cable from {host} to {inside}")


def _end(name: str, mac: str, mtu: int, queues: int) -> bytes:
    return (
        attribute(LINK_NAME, name.encode() + b"\0")
        + attribute(LINK_MAC, bytes.fromhex(mac.replace(":", "")))
        + (attribute(LINK_MTU, _U32.pack(mtu)) if mtu else b"")
        + (attribute(_TX_QUEUES, _U32.pack(queues)) + attribute(_RX_QUEUES, _U32.pack(queues)) if queues else b"")
    )


def route_for_pods(name: str) -> Request:
    """Forwarding, an answer to whatever a pod asks ARP for, and routes to 127/8 for node ports.

    As a message, because /proc/sys is often mounted read-only where netlink works.
    """
    one = _U32.pack(1)
    settings = b"".join(attribute(number, one) for number in (_FORWARDING, _PROXY_ARP, _ROUTE_LOCALNET))
    spec = attribute(_AF_SPEC, attribute(_IPV4, attribute(_CONF, settings)))
    body = LINK_HEADER.pack(0, 0, 0, 0, 0) + attribute(LINK_NAME, name.encode() + b"\0") + spec
    return Request(NEW_LINK, 0, body, f"let {name} forward")


def link_named(kernel: Netlink, name: str, deadline: float) -> Interface | None:
    body = LINK_HEADER.pack(0, 0, 0, 0, 0) + attribute(LINK_NAME, name.encode() + b"\0")
    answer = _ask(kernel, _GET_LINK, 0, body, f"the link {name}", deadline, absent=(errno.ENODEV,))
    return next(iter(interfaces_in(answer)), None) if answer else None


def route_to(kernel: Netlink, ip: IP, deadline: float) -> Route | None:
    """The entry of the routing table that the kernel would use for an address; None if there is none."""
    family = _IPV4 if ip.version == 4 else _IPV6
    head = ROUTE_HEADER.pack(family, ip.max_prefixlen, 0, 0, 0, 0, 0, 0, _MATCHED_ROUTE)
    body = head + attribute(ROUTE_DESTINATION, ip.packed)
    gone = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESRCH, errno.EINVAL, errno.EACCES)
    answer = _ask(kernel, _GET_ROUTE, 0, body, f"the route to {ip}", deadline, absent=gone)
    return next(iter(routes_in(answer)), None) if answer else None


def _ask(
    kernel: Netlink, kind: int, flags: int, body: bytes, subject: str, deadline: float, absent: tuple[int, ...]
) -> Message | None:
    what = f"cannot read {subject} from the kernel"
    left = deadline - time.monotonic()
    if left <= 0:
        raise NetlinkError(what, "no time was left for it", "try again")
    kernel.socket.settimeout(left)
    number = (time.monotonic_ns() & 0x3FFFFFFF) | 0x40000000  # never one of those that the socket counts itself
    try:
        kernel.socket.sendto(_HEADER.pack(_HEADER.size + len(body), kind, flags | _REQUEST, number, 0) + body, (0, 0))
        while True:
            for message in messages_in(kernel.socket.recv(1 << 16)):
                if message.sequence != number:
                    continue
                if message.kind != _ERROR:
                    return message
                refused, text = failure_in(message)
                if refused in absent:
                    return None
                raise NetlinkError(what, text or os.strerror(refused), "look at dmesg", refused)
    except TimeoutError:
        raise NetlinkError(what, "the kernel did not answer in time", "try again") from None
    except OSError as error:
        raise NetlinkError(what, os.strerror(error.errno or 0), "look at dmesg", error.errno or 0) from None
