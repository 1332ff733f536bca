"""One client of the page: never waited for, never trusted, and gone when it takes too long."""

from __future__ import annotations

import _socket
from collections.abc import Callable

from tortie.health.message import Request, Response, take_request, written

REQUEST_S = 5.0  # for a whole request, however slowly its bytes drip in; and for taking the answer
IDLE_S = 75.0  # between two requests; a scraper comes back within a minute
FAREWELL_S = 1.0
_CHUNK = 16384

Answer = Callable[[Request], Response]


class Connection:
    def __init__(self, socket: _socket.socket, answer: Answer, now: float) -> None:
        self.socket = socket
        self.deadline = now + REQUEST_S
        self.since = now  # of the connection or its last answer: who waits longest goes first when there is no room
        self._answer = answer
        self._inbox = bytearray()
        self._outbox = b""
        self._last = False
        self._leaving = False

    @property
    def sending(self) -> bool:
        return bool(self._outbox)

    def turn(self, now: float) -> bool:
        """Does what can be done at once; False when the connection is over."""
        try:
            if self._outbox:
                self._send(now)
            elif not self._receive(now):
                return False
            while self._inbox and not self._outbox and not self._leaving and self._begin_answer(now):
                self._send(now)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        return True

    def _receive(self, now: float) -> bool:
        data = self.socket.recv(_CHUNK)
        if not data:
            return False
        if not self._leaving:
            if not self._inbox:
                self.deadline = now + REQUEST_S
            self._inbox += data
        return True

    def _begin_answer(self, now: float) -> bool:
        request = take_request(self._inbox)
        if request is None:
            return False
        if isinstance(request, Response):
            self._last, self._outbox = True, written(request, keep_alive=False)
        else:
            with_body = request.method != "HEAD"
            self._last = not request.keep_alive
            self._outbox = written(self._answer(request), keep_alive=request.keep_alive, with_body=with_body)
        self.deadline = now + REQUEST_S
        return True

    def _send(self, now: float) -> None:
        self._outbox = self._outbox[self.socket.send(self._outbox) :]
        if self._outbox:
            return
        self.since = now
        if self._last:
            # Closing with unread bytes would make the kernel send a reset, which can destroy the answer on its way.
            self._leaving, self.deadline = True, now + FAREWELL_S
            self.socket.shutdown(_socket.SHUT_WR)
        else:
            self.deadline = now + (REQUEST_S if self._inbox else IDLE_S)
