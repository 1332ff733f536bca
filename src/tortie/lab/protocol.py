"""How commands and the keeper of a lab talk: one JSON object per line over a Unix socket, descriptors beside it.

A request is `{"do": ..., ...}`. Its answer is any number of `{"progress": ...}`, then one `{"done": ...}` or
`{"failure": ...}`.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_PIECE: Final = 1 << 16
_LONGEST: Final = 1 << 24  # a lab of a thousand machines fits many times
_DESCRIPTORS_MAX: Final = 8
_SEND_S: Final = 5.0  # whoever does not read for so long gets nothing more

Message = dict[str, Any]


class Closed(Exception):
    """The other side has gone, or said what is no message."""


class Channel:
    """One end of a conversation. Never blocks longer than it is told."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()
        self._descriptors: list[int] = []
        connection.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def peer_pid(self) -> int:
        """The process at the other end, as the kernel knows it: this number cannot be somebody else's by now."""
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], "little")

    def send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        deadline = time.monotonic() + _SEND_S
        while rest:
            try:
                sent = (
                    socket.send_fds(self._socket, [rest], list(descriptors)) if descriptors else self._socket.send(rest)
                )
            except BlockingIOError:
                if not _wait(self._socket, select.POLLOUT, deadline):
                    raise Closed from None
                continue
            except OSError:
                raise Closed from None
            descriptors = ()
            rest = rest[sent:]

    def arrived(self) -> list[Message]:
        """What is there, without waiting. `Closed` once the other side has gone and all it said was taken."""
        open_end = self._take()
        messages = self._messages()
        if not open_end and not messages:
            raise Closed
        return messages

    def receive(self, deadline: float) -> Message | None:
        """The next message, or None when the time is over."""
        while not (messages := self._messages(most=1)):
            if not _wait(self._socket, select.POLLIN, deadline):
                return None
            if not self._take() and b"\n" not in self._buffer:
                raise Closed
        return messages[0]

    def taken_descriptors(self) -> list[int]:
        """Those that came along so far; from now on they are the caller's to close."""
        descriptors, self._descriptors = self._descriptors, []
        return descriptors

    def close(self) -> None:
        for descriptor in self.taken_descriptors():
            os.close(descriptor)
        self._socket.close()

    def _take(self) -> bool:
        """Reads what is there; False at the end."""
        while len(self._buffer) < _LONGEST:
            try:
                piece, descriptors, _, _ = socket.recv_fds(self._socket, _PIECE, _DESCRIPTORS_MAX)
            except BlockingIOError:
                return True
            except OSError:
                return False
            self._descriptors += descriptors
            if not piece:
                return False
            self._buffer += piece
            if len(piece) < _PIECE:
                return True
        raise Closed

    def _messages(self, most: int | None = None) -> list[Message]:
        messages: list[Message] = []
        while (end := self._buffer.find(b"\n")) >= 0 and (most is None or len(messages) < most):
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            try:
                message = json.loads(line)
            except ValueError:
                raise Closed from None
            if not isinstance(message, dict):
                raise Closed
            messages.append(message)
        return messages


def _wait(connection: socket.socket, event: int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(connection, event)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


def connected(path: str) -> Channel | None:
    """None when nobody listens there."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short(path) as place:
            connection.connect(place)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return Channel(connection)


def listening(path: str) -> socket.socket:
    """A socket at that place, for its owner only; a dead one there is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    with suppress(FileNotFoundError):
        os.unlink(path)
    with short(path) as place:
        listener.bind(place)
    os.chmod(path, 0o600)
    listener.listen(64)
    return listener


@contextmanager
def short(path: str) -> Iterator[str]:
    """The same place through its folder's descriptor: a socket's address holds no path of more than 107 bytes."""
    folder = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)
