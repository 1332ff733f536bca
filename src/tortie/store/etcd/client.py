"""Requests to whichever endpoint answers: fail-over, users, and which requests may be made twice."""

from __future__ import annotations

import asyncio

from grpclib.exceptions import GRPCError

from tortie.model.errors import UsageError
from tortie.store.etcd.config import EtcdConfig
from tortie.store.etcd.connection import Connection, Metadata
from tortie.store.etcd.refusal import AUTH_NOT_ENABLED, Course, course_after, trouble_of
from tortie.store.etcd.rpc import AUTHENTICATE, Reply, Request, Rpc
from tortie.store.etcd.rpc_pb2 import AuthenticateRequest
from tortie.store.etcd.search import Search
from tortie.store.etcd.tls import make_context, read_credentials
from tortie.store.etcd.trouble import Failed, no_answer

# A member that lost its leader would otherwise keep silent, or keep a watch alive that sees nothing.
_ONLY_WITH_LEADER = ("hasleader", "true")


class Client:
    def __init__(self, config: EtcdConfig) -> None:
        self.user = config.username
        self.where = config.where
        self._config = config
        self._connections: list[Connection] | None = None
        self._preferred = 0
        self._token: str | None = None
        self._logging_in = asyncio.Lock()
        self._closed = False
        if any(endpoint.secure for endpoint in config.parsed_endpoints):
            make_context(read_credentials(config))  # broken files are reported before the first request

    def search(self, doing: str, timeout_s: float) -> Search:
        if self._closed:
            raise UsageError(f"{self.where} is closed", f"somebody still wanted to {doing}")
        if self._connections is None:
            self._connections = [Connection(endpoint, self._config) for endpoint in self._config.parsed_endpoints]
        return Search(self._connections, self._preferred, self.where, doing, timeout_s)

    async def read(self, rpc: Rpc[Request, Reply], request: Request, doing: str, timeout_s: float) -> Reply:
        """A request without effect: repeated until somebody answers."""
        return await self._call(rpc, request, self.search(doing, timeout_s), writes=False)

    async def write(self, rpc: Rpc[Request, Reply], request: Request, doing: str, timeout_s: float) -> Reply:
        """A request with effect: repeated only when it certainly had none, else `Unreachable(uncertain=True)`."""
        return await self._call(rpc, request, self.search(doing, timeout_s), writes=True)

    async def _call(self, rpc: Rpc[Request, Reply], request: Request, search: Search, *, writes: bool) -> Reply:
        while True:
            connection = search.candidate()
            try:
                metadata = await self.admission(connection, search, repeatable=not writes)
                # A write that was sent cannot be sent elsewhere, so it may wait to the end.
                limit_s = search.remaining_s() if writes else search.share_s()
                reply = await connection.call(rpc, request, metadata, limit_s, search.remaining_s())
            except Failed as failure:
                search.failed(connection, failure.trouble)
                if writes and failure.sent:
                    self.prefer(search)
                    raise search.unreachable(uncertain=True) from failure
            except GRPCError as error:
                course = self.after_refusal(error, connection, search)
                if writes and course is Course.IN_DOUBT:
                    self.prefer(search)
                    raise search.unreachable(uncertain=True) from error
            else:
                self.prefer(search)
                return reply
            await search.rest()

    async def admission(self, connection: Connection, search: Search, *, repeatable: bool = False) -> Metadata:
        """Makes sure of the connection; returns what a request must carry to be heard. `Failed` when that fails.

        The first request of a connection may do that itself if it is repeatable: a program that starts far away from
        etcd is a round trip earlier.
        """
        if not (repeatable and connection.is_new):
            await connection.make_sure_it_answers(search.share_s())
        if self.user is None:
            return (_ONLY_WITH_LEADER,)
        if self._token is None:
            await self._log_in(connection, search.share_s())
        return (_ONLY_WITH_LEADER, ("token", self._token)) if self._token else (_ONLY_WITH_LEADER,)

    def after_refusal(self, error: GRPCError, connection: Connection, search: Search) -> Course:
        """Raises what is final; else prepares the next attempt."""
        course = course_after(error, search.doing, self.user)
        if course is Course.RENEW_TOKEN:
            self._token = None
            if not search.token_renewed:  # the first time is ordinary: tokens grow old
                search.token_renewed = True
                return course
        search.failed(connection, trouble_of(error))
        return course

    def prefer(self, search: Search) -> None:
        """Later calls begin where this one has arrived."""
        self._preferred = search.position

    async def _log_in(self, connection: Connection, limit_s: float) -> None:
        """One at a time: checking a password is hard work for etcd, on purpose."""
        try:
            async with asyncio.timeout(limit_s), self._logging_in:
                if self._token is None:
                    self._token = await self._authenticate(connection, limit_s)
        except TimeoutError:
            raise Failed(no_answer(limit_s), sent=False) from None
        except Failed as failure:
            raise Failed(failure.trouble, sent=False) from failure

    async def _authenticate(self, connection: Connection, limit_s: float) -> str:
        request = AuthenticateRequest(name=self._config.username, password=self._config.password)
        try:
            reply = await connection.call(AUTHENTICATE, request, (), limit_s)
        except GRPCError as error:
            if error.message == AUTH_NOT_ENABLED:
                return ""  # a user is set but not asked for: etcd's own clients go on, so do we
            course_after(error, "log in", self.user)
            raise Failed(trouble_of(error), sent=False) from error
        return reply.token

    async def close(self) -> None:
        self._closed = True
        for connection in self._connections or ():
            connection.retire()
        self._connections = None
        # Sockets are closed in the next turn of the event loop; with TLS in the one after.
        for _ in range(3):
            await asyncio.sleep(0)
