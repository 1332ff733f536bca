"""The agent's conversation with BIRD: one connection that is kept, questions one after the other.

A question that is not answered in time, or is given up, takes its connection with it: a late answer can never be taken
for the answer to something else. Before a question the connection must lead to where the path leads now; so what is
heard here is what every other client would hear, and a BIRD that was restarted is found again without being told.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Final

from tortie.bgp.control import (
    CHUNK,
    FULL_PAUSE_S,
    TIMEOUT_S,
    BirdSilent,
    BirdUnreachable,
    connect,
    expect,
    request,
)
from tortie.bgp.replies import (
    GREETING,
    INTERRUPTED,
    SYNTAX_ERROR,
    BirdStatus,
    Configured,
    Reply,
    ReplyReader,
    SessionState,
    configured_in,
    sessions_in,
    status_in,
    value_in,
)
from tortie.bgp.reply_details import Details, details_in
from tortie.bgp.reply_routes import BirdRoute, routes_in
from tortie.model.errors import TortieError, UsageError

DIGEST: Final = "tortie_digest"  # the name in our configurations that says which one it is
_LOOK_AGAIN_S: Final = 0.05


class Conversation:
    """Nothing is connected before the first question. Only questions, and `configure`, are asked."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._turn = asyncio.Lock()
        self._connection: _Connection | None = None
        self._knocking = False  # so many connections wait for BIRD that it takes no further one

    async def status(self, timeout_s: float = TIMEOUT_S) -> BirdStatus:
        return status_in(await self.ask("show status", timeout_s))

    async def sessions(self, timeout_s: float = TIMEOUT_S) -> tuple[SessionState, ...]:
        return sessions_in(await self.ask("show protocols", timeout_s))

    async def details(self, pattern: str = "*", timeout_s: float = TIMEOUT_S) -> tuple[Details, ...]:
        """Of the protocols whose names fit the pattern, which may have * and ? in it."""
        if '"' in pattern:
            raise UsageError(f"not a pattern for BIRD's protocols: {pattern}", "it has a quotation mark in it")
        return details_in(await self.ask(f'show protocols all "{pattern}"', timeout_s))

    async def routes(self, which: str = "primary", timeout_s: float = TIMEOUT_S) -> tuple[BirdRoute, ...]:
        """`which` as in BIRD's own command: `primary where source = RTS_BGP`, `table master6`."""
        command = f"show route {which}".strip()
        deadline = asyncio.get_running_loop().time() + timeout_s
        reply = await self.ask(command, timeout_s)
        while reply.code == INTERRUPTED and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(FULL_PAUSE_S)
            reply = await self.ask(command, timeout_s)
        return routes_in(reply)

    async def digest(self, timeout_s: float = TIMEOUT_S) -> str:
        """Which of our configurations BIRD runs; "" if it is none of ours."""
        reply = await self.ask(f"eval {DIGEST}", timeout_s)
        return "" if reply.code == SYNTAX_ERROR else value_in(reply)

    async def configure(self, timeout_s: float = TIMEOUT_S) -> Configured:
        """Makes BIRD read its file again. If no answer comes in time, BIRD may do so later all the same."""
        return configured_in(await self.ask("configure", timeout_s))

    async def settled(self, timeout_s: float) -> bool:
        """Whether no reconfiguration is in progress any more, after waiting for it if need be."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while (await self.status()).state == "reconfiguring":
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        return True

    async def ask(self, command: str, timeout_s: float = TIMEOUT_S) -> Reply:
        """What BIRD says, a refusal too. The time in which others have their turn counts as well."""
        sent = request(command)
        try:
            async with asyncio.timeout(timeout_s), self._turn:
                return await self._answer(sent)
        except TimeoutError:
            raise BirdSilent(self.path, command, timeout_s, connected=not self._knocking) from None

    def drop(self) -> None:
        """The next question goes over a new connection; one that is being asked may fail."""
        if self._turn.locked() and self._connection:
            self._connection.hang_up()
        else:
            self._forget()

    def close(self) -> None:
        """When nobody asks any more."""
        self._forget()

    def _forget(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    async def _answer(self, sent: bytes) -> Reply:
        if self._connection and not self._connection.is_fit():
            self._forget()
        if self._connection:
            try:
                return await self._answer_on(self._connection, sent)
            except BirdUnreachable:
                pass  # BIRD was restarted since; asking twice does no harm
        self._connection = _Connection(self.path)
        await self._greet(self._connection)
        return await self._answer_on(self._connection, sent)

    async def _greet(self, connection: _Connection) -> None:
        try:
            while not connection.connect():
                self._knocking = True
                await asyncio.sleep(FULL_PAUSE_S)
            self._knocking = False
            expect(await connection.exchange(b""), GREETING)
        except BaseException:
            self._forget()
            raise

    async def _answer_on(self, connection: _Connection, sent: bytes) -> Reply:
        try:
            return await connection.exchange(sent)
        except BaseException:
            self._forget()
            raise


class _Connection:
    def __init__(self, path: str) -> None:
        self._path = path
        self._identity = (0, 0, 0)
        self._reader = ReplyReader()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def connect(self) -> bool:
        self._identity = _identity(self._path)
        return connect(self._socket, self._path)

    async def exchange(self, sent: bytes) -> Reply:
        loop = asyncio.get_running_loop()
        reply = None
        try:
            await loop.sock_sendall(self._socket, sent)
            while reply is None:
                data = await loop.sock_recv(self._socket, CHUNK)
                if not data:
                    raise BirdUnreachable.by_its_end(self._path)
                reply = self._reader.feed(data)
        except OSError as error:
            raise BirdUnreachable.by_its_end(self._path, error) from None
        return reply

    def is_fit(self) -> bool:
        """Whether it leads to the BIRD that the path leads to, and nothing is in it that nobody asked for."""
        try:
            unasked = self._socket.recv(CHUNK)
            if not unasked or self._reader.feed(unasked):
                return False
        except BlockingIOError:
            pass
        except (OSError, TortieError):
            return False
        return self._reader.idle and self._identity == _identity(self._path)

    def hang_up(self) -> None:
        """Whoever waits for an answer learns that none will come."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


def _identity(path: str) -> tuple[int, int, int]:
    """Of the socket that the path leads to now; a number of a file may be used again, but not at the same time."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0  # connecting will tell why
    return found.st_dev, found.st_ino, found.st_ctime_ns
