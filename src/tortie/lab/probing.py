"""Asks from many network namespaces at once whether others can be reached: ICMP echo, with a raw socket in each.

One process does it for all: a socket stays in the namespace in which it was opened. Whoever does not answer is asked
again until time is up, so one lost packet is told from no way at all. The kernel notes when an answer comes in; how
long it lies there until it is read is no part of the time.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from typing import Final, NamedTuple

from tortie.host.namespaces import enter
from tortie.lab.pairs import End, Reached

_AGAIN_S: Final = 0.2
_ECHO: Final = {4: (8, 0), 6: (128, 129)}  # the types of question and answer
_ICMP_FILTER: Final = 1  # of SOL_RAW, and of IPPROTO_ICMPV6
_SOL_RAW: Final = 255
_TIMESTAMP_NS: Final = 35
_BUFFER: Final = 1 << 20
_HEADER: Final = struct.Struct("!BBHHH")  # type, code, checksum, identity, number
_BODY: Final = struct.Struct("!IQ")  # the pair, and when it was sent
_TIME: Final = struct.Struct("@qq")
_MS: Final = 1e6  # nanoseconds


class _Pair:
    def __init__(self, source: End, target: End) -> None:
        self.source = source
        self.target = target
        self.sent = 0
        self.times_ms: list[float] = []
        self.answered = False
        self.rounds = 0
        self.why = ""


class _Mouth(NamedTuple):
    """A socket of one pod, and the pairs that it asks for, by their place among all."""

    socket: socket.socket
    family: int
    pairs: list[int]


def probe(
    pairs: Sequence[tuple[End, End]], namespaces: Mapping[str, int], *, count: int, timeout_s: float
) -> list[Reached]:
    """`namespaces`: descriptors of networks, by pod. This process is in the last of them afterwards."""
    states = [_Pair(*pair) for pair in pairs]
    with ExitStack() as stack:
        mouths = []
        for mouth in _mouths(states, namespaces):
            stack.enter_context(mouth.socket)
            mouths.append(mouth)
        prober = _Prober(states, mouths)
        for number in range(count):
            prober.round(number, timeout_s)
    return [
        Reached(each.source, each.target, each.sent, tuple(each.times_ms), each.rounds == count, each.why)
        for each in states
    ]


def _mouths(states: Sequence[_Pair], namespaces: Mapping[str, int]) -> Iterator[_Mouth]:
    asking: dict[tuple[str, int], list[int]] = {}
    for index, state in enumerate(states):
        asking.setdefault((state.source.name, state.target.family), []).append(index)
    for (name, family), indexes in asking.items():
        enter({"net": namespaces[name]})
        yield _Mouth(_socket(family), family, indexes)


def _socket(family: int) -> socket.socket:
    _, answer = _ECHO[family]
    if family == 6:
        made = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        passed = bytearray(b"\xff" * 32)  # a bit is set for what is kept back
        passed[answer // 32 * 4 : answer // 32 * 4 + 4] = struct.pack("@I", ~(1 << answer % 32) & 0xFFFFFFFF)
        made.setsockopt(socket.IPPROTO_ICMPV6, _ICMP_FILTER, bytes(passed))
    else:
        made = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        made.setsockopt(_SOL_RAW, _ICMP_FILTER, struct.pack("@I", ~(1 << answer) & 0xFFFFFFFF))
    made.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_NS, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    made.setblocking(False)
    return made


class _Prober:
    def __init__(self, states: Sequence[_Pair], mouths: Sequence[_Mouth]) -> None:
        self._states = states
        self._mouths = mouths
        self._open = 0  # pairs without an answer in this round
        self._identity = os.getpid() & 0xFFFF
        self._poll = select.poll()
        self._by_number = {mouth.socket.fileno(): mouth for mouth in mouths}
        for number in self._by_number:
            self._poll.register(number, select.POLLIN)

    def round(self, number: int, timeout_s: float) -> None:
        """Until every pair has had its answer, or time is up."""
        for state in self._states:
            state.answered = False
        self._open = len(self._states)
        deadline = time.monotonic() + timeout_s
        while self._open:
            for mouth in self._mouths:
                self._ask(mouth, number)
                self._listen(mouth, number)
            self._hear(number, min(deadline, time.monotonic() + _AGAIN_S))
            if time.monotonic() >= deadline:
                return

    def _ask(self, mouth: _Mouth, number: int) -> None:
        question, _ = _ECHO[mouth.family]
        for index in mouth.pairs:
            state = self._states[index]
            if state.answered:
                continue
            body = _BODY.pack(index, time.time_ns())
            head = _HEADER.pack(question, 0, 0, self._identity, number & 0xFFFF)
            # The kernel fills in the checksum of ICMPv6 only.
            checksum = 0 if mouth.family == 6 else _checksum(head + body)
            state.sent += 1
            try:
                mouth.socket.sendto(
                    _HEADER.pack(question, 0, checksum, self._identity, number & 0xFFFF) + body,
                    (state.target.address, 0),
                )
            except OSError as error:
                state.why = error.strerror or str(error)

    def _hear(self, number: int, until: float) -> None:
        while self._open and (left_s := until - time.monotonic()) > 0:
            for descriptor, _ in self._poll.poll(left_s * 1000):
                self._listen(self._by_number[descriptor], number)

    def _listen(self, mouth: _Mouth, number: int) -> None:
        while True:
            try:
                packet, ancillary, _, sender = mouth.socket.recvmsg(2048, 64)
            except BlockingIOError:
                return
            except OSError:
                continue  # something that the kernel has to say about an earlier packet
            arrived_ns = _arrival(ancillary) or time.time_ns()
            self._take(mouth, packet, str(sender[0]), arrived_ns, number)

    def _take(self, mouth: _Mouth, packet: bytes, sender: str, arrived_ns: int, number: int) -> None:
        start = (packet[0] & 15) * 4 if mouth.family == 4 and packet else 0
        if len(packet) < start + _HEADER.size + _BODY.size:
            return
        kind, _, _, identity, told = _HEADER.unpack_from(packet, start)
        index, sent_ns = _BODY.unpack_from(packet, start + _HEADER.size)
        if kind != _ECHO[mouth.family][1] or (identity, told) != (self._identity, number & 0xFFFF):
            return
        if index >= len(self._states) or ip_address(sender.partition("%")[0]) != ip_address(
            self._states[index].target.address
        ):
            return
        state = self._states[index]
        state.times_ms.append(max(0.0, (arrived_ns - sent_ns) / _MS))
        if not state.answered:
            state.answered, state.why = True, ""
            state.rounds += 1
            self._open -= 1


def _arrival(ancillary: Sequence[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMP_NS) and len(data) >= _TIME.size:
            seconds, nanoseconds = _TIME.unpack_from(data)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return 0


def _checksum(data: bytes) -> int:
    """Of the Internet: the one's complement of the one's complement sum, in the byte order of this machine."""
    total = sum(memoryview(data).cast("H"))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    inverted = ~total & 0xFFFF
    return int.from_bytes(inverted.to_bytes(2, sys.byteorder), "big")
