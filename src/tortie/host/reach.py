"""Which of our addresses the kernel would send from towards a destination: what Calico calls can-reach.

A UDP socket is connected and asked for its own end. The kernel looks up the route for that; no packet is sent.
Failures come back as text in the words that Calico's log has for them, which are Go's.
"""

from __future__ import annotations

import errno
import os
import socket
from ipaddress import IPv6Address, ip_address
from typing import Final

from tortie.model.network import IP, Family

TIMEOUT_S: Final = 2.0
_PORT: Final = 80  # Calico's choice. Only a routing rule for ports could make a difference.
_NOT_THERE: Final = (socket.EAI_NONAME, socket.EAI_NODATA)

_Endpoint = tuple[str, int] | tuple[str, int, int, int]


def source_towards(destination: str, family: Family, timeout_s: float = TIMEOUT_S) -> IP | str:
    """Our address, or why there is none. The time limit is for looking up a name; an address needs none."""
    protocol = f"udp{family}"
    if not destination:
        return f"dial {protocol}: missing address"
    try:
        literal = ip_address(destination)
    except ValueError:
        found = _looked_up(destination, family, timeout_s)
    else:
        if literal.version != family:
            return f"dial {protocol}: address {destination}: no suitable address"
        found = _numeric(destination, family)
    if isinstance(found, str):
        return f"dial {protocol}: {found}"
    failure = ""
    for endpoint in found:
        ours = _source(endpoint, family)
        if not isinstance(ours, str):
            return ours
        failure = failure or f"dial {protocol} {_written(endpoint)}: connect: {ours}"
    return failure


def _source(endpoint: _Endpoint, family: Family) -> IP | str:
    try:
        with socket.socket(_number(family), socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect(endpoint)
            return ip_address(probe.getsockname()[0].partition("%")[0])
    except OSError as error:
        return os.strerror(error.errno or errno.EIO).lower()


def _looked_up(name: str, family: Family, timeout_s: float) -> list[_Endpoint] | str:
    """In a thread of its own, which is left behind if it takes too long: the resolver cannot be told to hurry."""
    import threading

    outcome: list[list[_Endpoint] | str] = []
    thread = threading.Thread(target=lambda: outcome.append(_numeric(name, family)), name="can-reach", daemon=True)
    thread.start()
    thread.join(timeout_s)
    found = outcome[0] if outcome else "i/o timeout"
    return f"lookup {name}: {found}" if isinstance(found, str) else found


def _numeric(host: str, family: Family) -> list[_Endpoint] | str:
    try:
        answers = socket.getaddrinfo(host, _PORT, _number(family), socket.SOCK_DGRAM)
    except socket.gaierror as error:
        return "no such host" if error.errno in _NOT_THERE else (error.strerror or str(error)).lower()
    except (OSError, ValueError):  # a name that cannot even be asked for, such as one with a label that is too long
        return "no such host"
    return [(str(address[0]), *address[1:]) for *_, address in answers]


def _written(endpoint: _Endpoint) -> str:
    host = endpoint[0]
    return f"[{host}]:{_PORT}" if isinstance(ip_address(host), IPv6Address) else f"{host}:{_PORT}"


def _number(family: Family) -> socket.AddressFamily:
    return socket.AF_INET if family == 4 else socket.AF_INET6
