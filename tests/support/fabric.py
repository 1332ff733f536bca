"""Looking at the machines of a lab's fabric from the outside: with `ip`, and by pinging from them."""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import struct
import subprocess
import time
from ipaddress import ip_address
from typing import Any

from tortie.host.namespaces import Inside, Namespaces

COMMAND_TIMEOUT_S = 30.0
PING_S = 30.0
_AGAIN_S = 0.2
_ECHO_4, _ECHO_6 = (8, 0), (128, 129)  # question, answer

_numbers = itertools.count(1)


def run(namespaces: Namespaces, *command: object) -> str:
    """A command in a network that this process holds; its standard output."""
    place = f"/proc/{os.getpid()}/fd/{namespaces['net']}"
    words = ["nsenter", f"--net={place}", *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def ip(namespaces: Namespaces, *words: object) -> Any:
    """What `ip -details -json` says there."""
    return json.loads(run(namespaces, "ip", "-details", "-json", *words) or "[]")


def pings(namespaces: Namespaces, target: str, timeout_s: float = PING_S) -> bool:
    """Whether an echo comes back within the time; asks several times, since the first may come too early."""
    family, protocol, kinds = socket.AF_INET, socket.IPPROTO_ICMP, _ECHO_4
    if ip_address(target).version == 6:
        family, protocol, kinds = socket.AF_INET6, socket.IPPROTO_ICMPV6, _ECHO_6
    with Inside({"net": namespaces["net"]}):
        wire = socket.socket(family, socket.SOCK_RAW, protocol)
    mark = struct.pack("!HH", os.getpid() & 0xFFFF, next(_numbers))
    with wire:
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            wire.sendto(_echo(kinds[0], mark), (target, 0))
            if _answered(wire, kinds[1], mark, min(left, _AGAIN_S)):
                return True
    return False


def _echo(kind: int, mark: bytes) -> bytes:
    """The kernel puts the checksum in for IPv6 only."""
    total = sum(struct.unpack("!HHH", bytes((kind, 0)) + mark))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return struct.pack("!BBH", kind, 0, checksum) + mark


def _answered(wire: socket.socket, kind: int, mark: bytes, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([wire], [], [], left)[0]:
            return False
        packet = wire.recv(2048)
        message = packet[20:] if wire.family == socket.AF_INET else packet
        if message[:1] == bytes((kind,)) and message[4:8] == mark:
            return True
    return False
