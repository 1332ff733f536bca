"""A raw rtnetlink socket: asks the kernel for a whole list or for changes, and takes its messages apart.

Our own, because `ip` in a child process costs more than a whole start may, and need not be installed. Nothing here
knows what a link or a route is; `tortie.host.links` does when it reads, `tortie.host.wiring` when it writes.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, NamedTuple

from tortie.model.errors import TortieError

_HEADER: Final = struct.Struct("=IHHII")  # length, kind, flags, sequence number, port
_ATTRIBUTE: Final = struct.Struct("=HH")  # length, kind
_ERRNO: Final = struct.Struct("=i")
_U32: Final = struct.Struct("=I")

_ERROR, _DONE, _OVERRUN = 2, 3, 4
_REQUEST, _ACKNOWLEDGE, _DUMP = 0x1, 0x4, 0x300
_MULTIPART, _INTERRUPTED = 0x2, 0x10
_CAPPED, _TEXT_FOLLOWS = 0x100, 0x200  # flags of an error: the request is not repeated in it; attributes follow
_ERROR_TEXT: Final = 1
_KIND_MASK: Final = 0x3FFF  # the upper two bits say "nested" and "network byte order", not what it is

_SOL_NETLINK, _CAP_ACK, _EXT_ACK = 270, 10, 11

# The kernel fills at most 32 KiB per datagram, unless a single message is larger; what does not fit here is lost.
_BUFFER: Final = 1 << 18
# An answer to a change is short, even with the change repeated in it. Room that is too large is mapped and unmapped.
_ANSWER: Final = 1 << 15

# A list that changes while it is read has to be read again. One reading takes milliseconds, so a machine on which ten
# in a row are disturbed is in no state that would be worth knowing.
_READINGS_MAX: Final = 10

# Of one batch. The kernel takes more at once, but if all of it fails, its answers must fit into our socket's buffer.
_BATCH_MESSAGES: Final = 100
_BATCH_BYTES: Final = 1 << 15


class NetlinkError(TortieError):
    """The kernel could not be asked, refused, or did not answer in time."""

    code = "kernel"

    def __init__(self, what: str, why: str = "", fix: str = "", number: int = 0) -> None:
        super().__init__(what, why, fix)
        self.number = number  # the kernel's error number, if it was the kernel that refused


class Message(NamedTuple):
    kind: int
    flags: int
    sequence: int
    body: bytes


class Request(NamedTuple):
    """One change that the kernel is asked for."""

    kind: int
    flags: int
    body: bytes
    subject: str  # for errors: completes the sentence "cannot ..."
    tolerated: tuple[int, ...] = ()  # error numbers that mean it is as wanted already


class Netlink:
    """A socket to the kernel's routing tables, in the network namespace of the thread that opens it.

    `protocol` is for those who ask another part of the kernel.
    """

    def __init__(self, groups: int = 0, protocol: int = socket.NETLINK_ROUTE) -> None:
        try:
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        except OSError as error:
            raise _closed_to_us(error) from None
        try:
            for option in (_CAP_ACK, _EXT_ACK):  # only make errors more readable; kernels before 4.12 lack them
                try:
                    self.socket.setsockopt(_SOL_NETLINK, option, 1)
                except OSError:
                    continue
            self.socket.bind((0, groups))
        except OSError as error:
            self.close()
            raise _closed_to_us(error) from None
        self._sequence = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def dump(self, kind: int, body: bytes, subject: str, deadline: float) -> list[Message]:
        """The whole list that a request stands for. `deadline` is on the monotonic clock; `subject` is for errors."""
        for _ in range(_READINGS_MAX):
            messages = self._read_once(kind, body, subject, deadline)
            if messages is not None:
                return messages
        raise NetlinkError(
            _cannot_read(subject),
            f"{_READINGS_MAX} readings in a row were disturbed by changes",
            "find what changes them all the time: ip monitor",
        )

    def request(self, kind: int, flags: int, body: bytes, subject: str, deadline: float) -> None:
        """Asks for one change and waits until the kernel says that it is done."""
        self.request_all([Request(kind, flags, body, subject)], deadline)

    def request_all(self, requests: Sequence[Request], deadline: float) -> None:
        """Asks for many changes in their order, at the price of few system calls.

        The first that fails is raised. Some of those after it may have been carried out all the same.
        """
        for batch in _batches(requests):
            self._carry_out(batch, deadline)

    def _carry_out(self, batch: Sequence[Request], deadline: float) -> None:
        """Only the last asks for an answer: what fails is answered anyway, and answers come in order."""
        first = self._sequence + 1
        self._sequence = last = self._sequence + len(batch)
        parts: list[bytes] = []
        for sequence, request in enumerate(batch, first):
            flags = request.flags | _REQUEST | (_ACKNOWLEDGE if sequence == last else 0)
            length = _HEADER.size + len(request.body)
            parts += (_HEADER.pack(length, request.kind, flags, sequence, 0), request.body, bytes(-length % 4))
        what = f"cannot {batch[-1].subject}"
        self._send(b"".join(parts), what, deadline)
        failure: NetlinkError | None = None
        while True:
            datagram = self._receive(what, deadline, _ANSWER)
            if datagram is None:
                raise NetlinkError(what, "the kernel's answer was lost", "try again")
            for message in messages_in(datagram):
                if message.kind != _ERROR or not first <= message.sequence <= last:
                    continue
                request = batch[message.sequence - first]
                number, text = failure_in(message)
                if number and number not in request.tolerated:
                    failure = failure or _refused(f"cannot {request.subject}", number, text)
                if message.sequence == last:
                    if failure:
                        raise failure
                    return

    def _read_once(self, kind: int, body: bytes, subject: str, deadline: float) -> list[Message] | None:
        """None if the list changed meanwhile. It is read to its end all the same: until then the kernel is busy."""
        self._sequence += 1
        request = _HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _DUMP, self._sequence, 0) + body
        what = _cannot_read(subject)
        self._send(request, what, deadline)
        found: list[Message] = []
        disturbed = False
        while True:
            datagram = self._receive(what, deadline)
            if datagram is None:
                disturbed = True
                continue
            for message in messages_in(datagram):
                if message.sequence != self._sequence:
                    continue
                disturbed = disturbed or bool(message.flags & _INTERRUPTED) or message.kind == _OVERRUN
                if message.kind in (_DONE, _ERROR):
                    number, text = failure_in(message)
                    if number in (errno.EINTR, errno.EAGAIN):
                        disturbed = True
                    elif number:
                        raise _refused(what, number, text)
                    return None if disturbed else found
                if message.kind >= 16:  # below are netlink's own: no-op, overrun
                    found.append(message)
                if not message.flags & _MULTIPART:
                    return None if disturbed else found

    def _send(self, datagram: bytes, what: str, deadline: float) -> None:
        self._patiently(what, deadline)
        try:
            self.socket.sendto(datagram, (0, 0))
        except TimeoutError:
            raise _late(what) from None
        except OSError as error:
            raise _refused(what, error.errno, "") from None

    def _receive(self, what: str, deadline: float, room: int = _BUFFER) -> bytes | None:
        """The next datagram of the kernel; None if some were lost. `what` is what an error says."""
        while True:
            self._patiently(what, deadline)
            try:
                datagram, _, flags, sender = self.socket.recvmsg(room)
            except TimeoutError:
                raise _late(what) from None
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    return None
                raise _refused(what, error.errno, "") from None
            if sender[0] != 0:  # from another process; only port 0 is the kernel
                continue
            if flags & socket.MSG_TRUNC:
                raise _refused(what, errno.EMSGSIZE, "")
            return datagram

    def _patiently(self, what: str, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _late(what)
        self.socket.settimeout(left)


def _batches(requests: Sequence[Request]) -> Iterator[Sequence[Request]]:
    start = size = 0
    for place, request in enumerate(requests):
        length = _HEADER.size + _aligned(len(request.body))
        if place > start and (place - start == _BATCH_MESSAGES or size + length > _BATCH_BYTES):
            yield requests[start:place]
            start, size = place, 0
        size += length
    if start < len(requests):
        yield requests[start:]


def messages_in(datagram: bytes) -> Iterator[Message]:
    place = 0
    while place + _HEADER.size <= len(datagram):
        length, kind, flags, sequence, _ = _HEADER.unpack_from(datagram, place)
        if length < _HEADER.size or place + length > len(datagram):
            raise NetlinkError(
                "cannot understand the kernel's answer",
                f"a message says it is {length} bytes long, and {len(datagram) - place} are there",
                "report this with the output of uname -r",
            )
        yield Message(kind, flags, sequence, datagram[place + _HEADER.size : place + length])
        place += _aligned(length)


def attributes_in(body: bytes, place: int = 0) -> dict[int, bytes]:
    """What follows a message's fixed part, by number. What is cut off at the end is left out."""
    found: dict[int, bytes] = {}
    end = len(body)
    while place + 4 <= end:
        length, kind = _ATTRIBUTE.unpack_from(body, place)
        if length < 4 or place + length > end:
            break
        found[kind & _KIND_MASK] = body[place + 4 : place + length]
        place += _aligned(length)
    return found


def attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(4 + len(value), kind) + value + bytes(-len(value) % 4)


def number_in(value: bytes | None) -> int | None:
    """An unsigned number of 32 bits; None if it is not there or not that long."""
    return int(_U32.unpack_from(value)[0]) if value is not None and len(value) >= 4 else None


def text_in(value: bytes | None) -> str:
    return "" if value is None else value.split(b"\0", 1)[0].decode(errors="replace")


def failure_in(message: Message) -> tuple[int, str]:
    """The error number in a message that ends an answer, 0 for success, and the kernel's own words if it has any."""
    if len(message.body) < _ERRNO.size:
        return (errno.EBADMSG, "") if message.kind == _ERROR else (0, "")
    number = -_ERRNO.unpack_from(message.body)[0]
    if not message.flags & _TEXT_FOLLOWS:
        return number, ""
    place = _ERRNO.size
    if message.kind == _ERROR:
        asked = number_in(message.body[place:])
        place += _HEADER.size if message.flags & _CAPPED or asked is None else _aligned(asked)
    return number, text_in(attributes_in(message.body, place).get(_ERROR_TEXT))


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _closed_to_us(error: OSError) -> NetlinkError:
    return NetlinkError(
        "cannot ask the kernel about its network",
        f"a netlink socket cannot be opened: {os.strerror(error.errno or 0)}",
        "allow AF_NETLINK sockets: see the container's seccomp profile, or RestrictAddressFamilies= of the unit",
    )


def _cannot_read(subject: str) -> str:
    return f"cannot read {subject} from the kernel"


def _refused(what: str, number: int | None, text: str) -> NetlinkError:
    number = number or 0
    why = os.strerror(number)
    fix = "see whether ip addr and ip route work here"
    if number in (errno.EPERM, errno.EACCES):
        fix = "do it as root: it needs CAP_NET_ADMIN in this network namespace"
    elif number == errno.EOPNOTSUPP:
        fix = "tortie node checksystem tells what this kernel lacks"
    return NetlinkError(what, f"{text} ({why})" if text else why, fix, number)


def _late(what: str) -> NetlinkError:
    return NetlinkError(
        what,
        "the kernel did not answer in time",
        "see whether ip addr answers; if it hangs too, dmesg may name a driver that holds the lock",
    )
