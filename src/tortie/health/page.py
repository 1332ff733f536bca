"""A small HTTP server in a thread of its own, so that probes are answered while the event loop hangs or is not there.

It needs nothing but the interpreter: it answers before asyncio or the datastore's client are imported. An address
that cannot be had is tried again every second, because a page that gives up turns a passing conflict into a kill.
"""

from __future__ import annotations

import _socket
import _thread
import errno
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress

from tortie.health.connection import Connection
from tortie.health.listening import HEALTH, Endpoint, Purpose, Unusable, known_endpoints, listen, resolved_endpoints
from tortie.health.message import Request, Response
from tortie.health.routes import Routes
from tortie.health.state import Trouble

CONNECTIONS_MAX = 256
RETRY_S = 1.0
_ACCEPTS_AT_ONCE = 64
_NO_ROOM_PAUSE_S = 0.1
_CLOSE_S = 5.0
_HOLDER_KNOWN_S = 15.0


def serve(
    host: str,
    port: int,
    routes: Routes,
    *,
    purpose: Purpose = HEALTH,
    who_holds: Callable[[int], str] | None = None,
) -> Page:
    """Listens at once where no name has to be resolved, else soon; never fails. Port 0 takes a free one."""
    page = Page(host, port, routes, purpose, who_holds)
    page.start()
    return page


class Page:
    trouble: Trouble | None = None  # why it does not listen, or not on all its addresses

    def __init__(
        self, host: str, port: int, routes: Routes, purpose: Purpose, who_holds: Callable[[int], str] | None
    ) -> None:
        self._host = host
        self._port = port
        self._routes = routes
        self._purpose = purpose
        self._who_holds = who_holds
        self._holder = ("", 0.0)
        self._pending: list[Endpoint] | None = known_endpoints(host)  # None: the name has to be resolved first
        self._retry_at = 0.0
        self._accept_again_at: float | None = None
        self._listeners: dict[int, tuple[_socket.socket, Endpoint]] = {}
        self._connections: dict[int, Connection] = {}
        self._epoll = select.epoll()
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closing = False
        self._ended = _thread.allocate_lock()

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        return tuple((endpoint.address, self._port) for _, endpoint in tuple(self._listeners.values()))

    def start(self) -> None:
        self._epoll.register(self._bell, select.EPOLLIN)
        if self._pending:
            self._listen(time.monotonic())
        self._ended.acquire()
        _thread.start_new_thread(self._run, ())

    def close(self) -> None:
        """Returns when the thread has ended and every socket is closed; a second time it does nothing."""
        if not self._closing:
            self._closing = True
            os.eventfd_write(self._bell, 1)
            if self._ended.acquire(timeout=_CLOSE_S):  # else a name server keeps the thread waiting; it ends later
                os.close(self._bell)

    def _release(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()
        for socket, endpoint in self._listeners.values():
            socket.close()
            if endpoint.family == _socket.AF_UNIX:
                with suppress(OSError):
                    os.unlink(endpoint.address)
        self._connections.clear()
        self._listeners.clear()
        self._epoll.close()
        if self._spare is not None:
            os.close(self._spare)

    def _run(self) -> None:
        try:
            while not self._closing:
                try:
                    self._turn()
                except Exception as error:  # whatever it is, the next probe deserves an answer
                    fix = "restart the agent, and report this with its log"
                    self.trouble = Trouble(f"{self._purpose.page} stumbled", repr(error), fix, "this node")
                    time.sleep(_NO_ROOM_PAUSE_S)
        finally:
            self._release()
            self._ended.release()

    def _turn(self) -> None:
        now = time.monotonic()
        if self._pending is None or self._pending:
            self._try_again(now)
        ready = self._epoll.poll(self._patience_s(now))
        now = time.monotonic()
        for number, _ in ready:
            if number in self._listeners:
                self._accept(number, now)
            elif number in self._connections:
                self._go_on(number, now)
        for number, connection in list(self._connections.items()):
            if connection.deadline <= now:
                self._close(number)
        if self._accept_again_at is not None and self._accept_again_at <= now:
            self._accept_again_at = None
            for number in self._listeners:
                self._epoll.modify(number, select.EPOLLIN)

    def _patience_s(self, now: float) -> float | None:
        """Until the next deadline; without one the thread sleeps and costs nothing."""
        deadlines = [connection.deadline for connection in self._connections.values()]
        if self._pending is None or self._pending:
            deadlines.append(self._retry_at)
        if self._accept_again_at is not None:
            deadlines.append(self._accept_again_at)
        return max(0.0, min(deadlines) - now) if deadlines else None

    def _try_again(self, now: float) -> None:
        if now < self._retry_at:
            return
        if self._pending is None:
            try:
                self._pending = resolved_endpoints(self._host, self._purpose)
            except Unusable as error:
                self.trouble, self._retry_at = error.trouble, time.monotonic() + RETRY_S
                return
        self._listen(time.monotonic())

    def _listen(self, now: float) -> None:
        self._retry_at = now + RETRY_S
        trouble: Trouble | None = None
        missing: list[Endpoint] = []
        for endpoint in self._pending or ():
            try:
                socket = listen(endpoint, self._port, self._purpose, self._who_holds and self._ask_who_holds)
            except Unusable as error:
                trouble = trouble or error.trouble
                missing.append(endpoint)
                continue
            if socket is None:
                continue
            if self._port == 0:
                self._port = socket.getsockname()[1]
            self._listeners[socket.fileno()] = (socket, endpoint)
            self._epoll.register(socket.fileno(), select.EPOLLIN)
        self._pending = missing
        self.trouble = trouble

    def _ask_who_holds(self, port: int) -> str:
        """Not at every attempt: it may have to look through all processes."""
        name, until = self._holder
        now = time.monotonic()
        if now >= until and self._who_holds:
            name = self._who_holds(port)
            self._holder = (name, now + _HOLDER_KNOWN_S)
        return name

    def _accept(self, number: int, now: float) -> None:
        listener, _ = self._listeners[number]
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                accepted, _ = listener._accept()  # type: ignore[attr-defined]
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._make_room(now)
                    return
                continue  # that client has gone already
            if len(self._connections) >= CONNECTIONS_MAX:
                self._close(min(self._connections, key=lambda other: self._connections[other].since))
            socket = _socket.socket(fileno=accepted)
            socket.setblocking(False)
            self._connections[accepted] = Connection(socket, self._answer, now)
            self._epoll.register(accepted, select.EPOLLIN)
            self._go_on(accepted, now)

    def _make_room(self, now: float) -> None:
        """No descriptor is left in this process; one was kept for just that, since a probe must hear of it.

        Listeners would go on reporting work that cannot be done, so they are put aside for a moment.
        """
        if self._connections:
            self._close(min(self._connections, key=lambda other: self._connections[other].since))
        elif self._spare is not None:
            os.close(self._spare)
            self._spare = None
        self._accept_again_at = now + _NO_ROOM_PAUSE_S
        for number in self._listeners:
            self._epoll.modify(number, 0)

    def _go_on(self, number: int, now: float) -> None:
        connection = self._connections[number]
        was_sending = connection.sending
        if not connection.turn(now):
            self._close(number)
        elif connection.sending != was_sending:
            self._epoll.modify(number, select.EPOLLOUT if connection.sending else select.EPOLLIN)

    def _close(self, number: int) -> None:
        self._connections.pop(number).socket.close()  # the kernel takes it out of the epoll
        if self._spare is None and not self._connections:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(405, "only GET and HEAD\n")
        route = self._routes.get(request.path)
        if route is None:
            listed = "".join(f"{path}\n" for path in sorted(self._routes))
            return Response(200, listed) if request.path == "/" else Response(404, f"there is only:\n{listed}")
        try:
            return route(request)
        except Exception as error:
            return Response(500, f"no answer because of a defect: {error!r}\n")
