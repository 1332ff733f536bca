"""The side of kubelet and crictl in the conversation with a node's runtime. Every request has a deadline."""

from __future__ import annotations

import errno
import socket
import time
from typing import Any, Final

from tortie.lab.protocol import Channel, Closed, short

DEADLINE: Final = "DeadlineExceeded"
UNAVAILABLE: Final = "Unavailable"
_AGAIN_S: Final = 0.1


class RuntimeFailure(Exception):
    """In the words in which kubelet tells it."""

    def __init__(self, code: str, desc: str) -> None:
        super().__init__(f"rpc error: code = {code} desc = {desc}")
        self.code = code
        self.desc = desc

    @classmethod
    def late(cls) -> RuntimeFailure:
        return cls(DEADLINE, "context deadline exceeded")

    @classmethod
    def absent(cls, path: str) -> RuntimeFailure:
        why = f'connection error: desc = "transport: Error while dialing dial unix {path}: connect: connection refused"'
        return cls(UNAVAILABLE, why)


class Asking:
    """A request under way, for somebody who has other things to do meanwhile: readable when there is an answer."""

    def __init__(self, path: str, do: str, timeout_s: float, /, **fields: object) -> None:
        """RuntimeFailure when nobody listens there."""
        self._path = path
        self.do = do
        self.deadline = time.monotonic() + timeout_s
        channel = _connected(path)
        try:
            channel.send({"do": do, **fields})
        except Closed:
            channel.close()
            raise RuntimeFailure.absent(path) from None
        self._channel = channel

    def fileno(self) -> int:
        return self._channel.fileno()

    def answer(self) -> dict[str, Any] | None:
        """None while there is none. Raises what went wrong, the deadline's end too. Closed once it is there."""
        try:
            messages = self._channel.arrived()
        except Closed:
            self.close()
            raise RuntimeFailure(UNAVAILABLE, "error reading from server: EOF") from None
        if not messages:
            if time.monotonic() < self.deadline:
                return None
            self.close()
            raise RuntimeFailure.late()
        self.close()
        return _told(messages[0])

    def close(self) -> None:
        self._channel.close()


def ask_runtime(path: str, do: str, timeout_s: float, /, **fields: object) -> dict[str, Any]:
    """For somebody who waits for the answer."""
    deadline = time.monotonic() + timeout_s
    channel = _connected_by(path, deadline)
    try:
        channel.send({"do": do, **fields})
        message = channel.receive(deadline)
    except Closed:
        raise RuntimeFailure(UNAVAILABLE, "error reading from server: EOF") from None
    finally:
        channel.close()
    if message is None:
        raise RuntimeFailure.late()
    return _told(message)


def _connected_by(path: str, deadline: float) -> Channel:
    while True:
        try:
            return _connected(path)
        except RuntimeFailure as failure:
            if failure.code != DEADLINE or time.monotonic() >= deadline:
                raise
        time.sleep(min(_AGAIN_S, max(0.0, deadline - time.monotonic())))


def _connected(path: str) -> Channel:
    """Without waiting: for a process that is stopped the kernel takes only so many connections."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        with short(path) as place:
            connection.connect(place)
    except OSError as error:
        connection.close()
        raise (RuntimeFailure.late() if error.errno == errno.EAGAIN else RuntimeFailure.absent(path)) from None
    return Channel(connection)


def _told(message: dict[str, Any]) -> dict[str, Any]:
    if "failure" in message:
        failure = message["failure"]
        raise RuntimeFailure(str(failure.get("code", "Unknown")), str(failure.get("desc", "")))
    done = message.get("done")
    return done if isinstance(done, dict) else {}
