"""A long way to a server on this machine: a TCP proxy that delays, hangs and breaks connections when told to.

It has a thread and an event loop of its own, so tests and benchmarks can use it from any code, blocking or not.
What it does is done to bytes, so it serves every protocol over TCP, HTTP/2 and TLS included.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Self

_HANGS_S = 30.0


class Proxy:
    """`with Proxy("127.0.0.1", etcd.port, round_trip_s=0.2) as proxy: ... proxy.port`.

    Every byte takes half a round trip in either direction, and bytes of one direction never overtake each other.
    A new connection takes a whole one before its first byte travels, as the handshake of TCP would. What it does not
    imitate: bandwidth, loss, and the slow start of TCP.
    """

    def __init__(self, host: str, port: int, *, round_trip_s: float = 0.0) -> None:
        self.target = (host, port)
        self.round_trip_s = round_trip_s
        self.port = 0
        self.accepted = 0
        self.links: set[_Link] = set()
        self.paused = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="delay proxy", daemon=True)
        self._listener: asyncio.Server | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._do(self._listen())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def pause(self) -> None:
        """The way is interrupted: connections stay, new ones are taken, nothing arrives any more."""
        self._do(self._set_paused(True))

    def resume(self) -> None:
        """What was held back arrives now."""
        self._do(self._set_paused(False))

    def strand(self) -> None:
        """What is connected now hangs for good, new connections are fine: a firewall forgot what it let through."""
        self._do(self._set_stranded())

    def wait_until_held(self) -> None:
        """Returns once something is under way, which during a pause means: somebody asked and has no answer."""
        until = time.monotonic() + _HANGS_S
        while not any(way.under_way for link in list(self.links) for way in (link.forward, link.backward)):
            if time.monotonic() > until:
                raise AssertionError("nobody sent anything through the delay proxy")
            time.sleep(0.001)

    def cut(self) -> None:
        """Every connection breaks, and new ones are refused until `mend`."""
        self._do(self._close())

    def mend(self) -> None:
        """Listens again, on the same port."""
        self._do(self._listen())

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        """In the proxy's thread, and over when this returns."""
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_HANGS_S)

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = await self._loop.create_server(
                lambda: _Near(self), "127.0.0.1", self.port, reuse_address=True
            )
            self.port = self._listener.sockets[0].getsockname()[1]

    async def _set_paused(self, paused: bool) -> None:
        self.paused = paused
        for link in self.links:
            link.forward.deliver()
            link.backward.deliver()

    async def _set_stranded(self) -> None:
        for link in self.links:
            link.stranded = True

    async def _close(self) -> None:
        if self._listener:
            self._listener.close()
            self._listener = None
        connecting = [link.connecting for link in self.links]
        for link in list(self.links):
            link.abort()
        await asyncio.gather(*connecting, return_exceptions=True)
        # asyncio closes sockets in the next turn of its loop.
        await asyncio.sleep(0)


class _Link:
    """One connection of a client, and the one to the server that belongs to it."""

    def __init__(self, proxy: Proxy, near: asyncio.Transport) -> None:
        self.proxy = proxy
        self.near = near
        self.far: asyncio.Transport | None = None
        self.over = self.stranded = False
        established_at = asyncio.get_running_loop().time() + proxy.round_trip_s
        self.forward = _Way(self, established_at)
        self.backward = _Way(self, established_at)
        self.backward.open_to(near)
        proxy.links.add(self)
        self.connecting = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        await asyncio.sleep(self.proxy.round_trip_s)
        try:
            await asyncio.get_running_loop().create_connection(lambda: _Far(self), *self.proxy.target)
        except OSError:
            self.abort()

    def end(self) -> None:
        """Closes what both sides have said to be over, once all of it is written."""
        if self.forward.ended and self.backward.ended:
            self.over = True
            for transport in (self.near, self.far):
                if transport is not None:
                    transport.close()

    def lost(self) -> None:
        """One side is gone without saying so, and takes the other with it."""
        if not self.over:
            self.abort()

    def abort(self) -> None:
        """Without waiting for anything: what is still under way is lost."""
        self.over = True
        self.connecting.cancel()
        for transport in (self.near, self.far):
            if transport is not None:
                transport.abort()


class _Way:
    """One direction of a link: what is under way, in order, each piece with the moment of its arrival."""

    def __init__(self, link: _Link, established_at: float) -> None:
        self._link = link
        self._established_at = established_at
        self._loop = asyncio.get_running_loop()
        self.under_way: deque[tuple[float, bytes | None]] = deque()  # None is the end
        self._to: asyncio.Transport | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self.ended = False

    def open_to(self, transport: asyncio.Transport) -> None:
        self._to = transport
        self.deliver()

    def send(self, piece: bytes | None) -> None:
        departure = max(self._loop.time(), self._established_at)
        self.under_way.append((departure + self._link.proxy.round_trip_s / 2, piece))
        if self._alarm is None:
            self.deliver()

    def deliver(self) -> None:
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        if self._link.proxy.paused or self._link.stranded or self._to is None or self._to.is_closing():
            return
        while self.under_way:
            arrival, piece = self.under_way[0]
            if arrival > self._loop.time():
                self._alarm = self._loop.call_at(arrival, self.deliver)
                return
            self.under_way.popleft()
            if piece is None:
                self.ended = True
                with suppress(OSError):
                    self._to.write_eof()
                self._link.end()
            else:
                self._to.write(piece)


class _Near(asyncio.Protocol):
    """The client's side."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._proxy.accepted += 1
        self._link = _Link(self._proxy, _writable(transport))

    def data_received(self, data: bytes) -> None:
        self._link.forward.send(data)

    def eof_received(self) -> bool:
        self._link.forward.send(None)
        return True  # the other direction goes on

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._proxy.links.discard(self._link)
        self._link.lost()


class _Far(asyncio.Protocol):
    """The server's side."""

    def __init__(self, link: _Link) -> None:
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._link.far = _writable(transport)
        self._link.forward.open_to(self._link.far)

    def data_received(self, data: bytes) -> None:
        self._link.backward.send(data)

    def eof_received(self) -> bool:
        self._link.backward.send(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._link.lost()


def _writable(transport: asyncio.BaseTransport) -> asyncio.Transport:
    if not isinstance(transport, asyncio.Transport):
        raise AssertionError("a connection that cannot be written to")
    return transport
