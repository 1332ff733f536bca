"""Requests to whichever endpoint answers: fail-over, users, and which requests may be made twice.

The same for programs with an event loop and for commands without: what a connection is, and how one waits, is given.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tortie.model.errors import TortieError, UsageError
from tortie.model.light import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from tortie.store.etcd.config import Endpoint, EtcdConfig
from tortie.store.etcd.refusal import AUTH_NOT_ENABLED, Course, RpcError, course_after, trouble_of
from tortie.store.etcd.search import Search
from tortie.store.etcd.trouble import Failed, no_answer

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

# What a request carries beside its message, to be heard.
Metadata = Sequence[tuple[str, str]]

# A member that lost its leader would otherwise keep silent, or keep a watch alive that sees nothing.
_ONLY_WITH_LEADER = ("hasleader", "true")


class Connection(Protocol):
    """To one endpoint; it connects when first used, and again after it broke."""

    endpoint: Endpoint

    @property
    def is_new(self) -> bool:
        """Not connected: the next request connects, so it cannot meet a connection that is dead without knowing it."""
        ...

    async def call(
        self, rpc: Any, request: Any, metadata: Metadata, limit_s: float, longest_s: float | None = None
    ) -> Any:
        """One request, one reply. Raises `RpcError` when etcd says no and `Failed` when it says nothing.

        A reply that is arriving, only slowly, is waited for beyond `limit_s`, up to `longest_s`.
        """
        ...

    async def call_each(
        self,
        rpc: Any,
        requests: Sequence[Any],
        metadata: Metadata,
        limit_s: float,
        meanwhile: Callable[[], bool] | None = None,
    ) -> Sequence[Any | RpcError | Failed]:
        """Several requests side by side; what became of each, in their order. `meanwhile` as for `commit_each`."""
        ...

    async def authenticate(self, user: str, password: str, limit_s: float) -> str:
        """The token by which etcd knows the user from now on."""
        ...

    async def make_sure_it_answers(self, limit_s: float) -> None:
        """Asks the member how it is, unless it was heard a moment ago. `Failed` when it does not say."""
        ...

    def retire(self) -> None: ...


C = TypeVar("C", bound=Connection)


class Client(Generic[C]):
    """`turn` is held while logging in, no longer than the seconds it is given: then it raises `TimeoutError`."""

    def __init__(
        self,
        config: EtcdConfig,
        connect: Callable[[Endpoint, EtcdConfig], C],
        *,
        pause: Callable[[float], Awaitable[None]],
        turn: Callable[[float], AbstractAsyncContextManager[None]],
    ) -> None:
        self.user = config.username
        self.where = config.where
        self._config = config
        self._connect = connect
        self._pause = pause
        self._turn = turn
        self._connections: list[C] | None = None
        self._preferred = 0
        self._token: str | None = None
        self._closed = False
        if any(endpoint.secure for endpoint in config.parsed_endpoints):
            from tortie.store.etcd.tls import make_context, read_credentials

            make_context(read_credentials(config))  # broken files are reported before the first request

    def search(self, doing: str, timeout_s: float) -> Search[C]:
        if self._closed:
            raise UsageError(f"{self.where} is closed", f"somebody still wanted to {doing}")
        if self._connections is None:
            self._connections = [self._connect(endpoint, self._config) for endpoint in self._config.parsed_endpoints]
        return Search(self._connections, self._preferred, self.where, doing, timeout_s)

    async def read(self, rpc: Any, request: Any, doing: str, timeout_s: float) -> Any:
        """A request without effect: repeated until somebody answers."""
        return await self._call(rpc, request, self.search(doing, timeout_s), writes=False)

    async def write(self, rpc: Any, request: Any, doing: str, timeout_s: float) -> Any:
        """A request with effect: repeated only when it certainly had none, else `Unreachable(uncertain=True)`."""
        return await self._call(rpc, request, self.search(doing, timeout_s), writes=True)

    async def write_each(
        self,
        rpc: Any,
        requests: Sequence[Any],
        doings: Sequence[str],
        timeout_s: float,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[Any | TortieError]:
        """The same for several at once; what would have been raised stands in the place of the reply."""
        search = self.search(f"{doings[0]} and {len(doings) - 1} more" if len(doings) > 1 else doings[0], timeout_s)
        outcomes: dict[int, Any | TortieError] = {}
        while left := [number for number in range(len(requests)) if number not in outcomes]:
            try:
                connection = search.candidate()
                metadata = await self.admission(connection, search)
                asked = [requests[number] for number in left]
                found = await connection.call_each(rpc, asked, metadata, search.remaining_s(), meanwhile)
            except Failed as failure:
                search.failed(connection, failure.trouble)
            except RpcError as error:
                self.after_refusal(error, connection, search)
            except TortieError as error:
                outcomes |= dict.fromkeys(left, error)
            else:
                self._judge(dict(zip(left, found, strict=True)), outcomes, doings, connection, search)
            await self.rest(search)
        return [outcomes[number] for number in range(len(requests))]

    def _judge(
        self,
        found: dict[int, Any],
        outcomes: dict[int, Any | TortieError],
        doings: Sequence[str],
        connection: C,
        search: Search[C],
    ) -> None:
        """Who stays without an outcome is asked for again: that request certainly had no effect."""
        trouble = None
        for number, answer in found.items():
            if isinstance(answer, Failed):
                trouble = answer.trouble
                if answer.sent:
                    outcomes[number] = search.unreachable(
                        uncertain=True, doing=doings[number], last=(connection, trouble)
                    )
            elif isinstance(answer, RpcError):
                try:
                    course = course_after(answer, doings[number], self.user)
                except TortieError as error:
                    outcomes[number] = error
                    continue
                if course == "renew the token":
                    self._token = None
                trouble = trouble_of(answer)
                if course == "in doubt":
                    outcomes[number] = search.unreachable(
                        uncertain=True, doing=doings[number], last=(connection, trouble)
                    )
            else:
                outcomes[number] = answer
        if trouble is None:
            self.prefer(search)
        elif self._token is None and self.user is not None and not search.token_renewed:
            search.token_renewed = True
        else:
            search.failed(connection, trouble)

    async def _call(self, rpc: Any, request: Any, search: Search[C], *, writes: bool) -> Any:
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
            except RpcError as error:
                course = self.after_refusal(error, connection, search)
                if writes and course == "in doubt":
                    self.prefer(search)
                    raise search.unreachable(uncertain=True) from error
            else:
                self.prefer(search)
                return reply
            await self.rest(search)

    async def rest(self, search: Search[C]) -> None:
        if (pause_s := search.pause_s()) > 0:
            await self._pause(pause_s)

    async def admission(self, connection: C, search: Search[C], *, repeatable: bool = False) -> Metadata:
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

    def after_refusal(self, error: RpcError, connection: C, search: Search[C]) -> Course:
        """Raises what is final; else prepares the next attempt."""
        course = course_after(error, search.doing, self.user)
        if course == "renew the token":
            self._token = None
            if not search.token_renewed:  # the first time is ordinary: tokens grow old
                search.token_renewed = True
                return course
        search.failed(connection, trouble_of(error))
        return course

    def prefer(self, search: Search[C]) -> None:
        """Later calls begin where this one has arrived."""
        self._preferred = search.position

    async def _log_in(self, connection: C, limit_s: float) -> None:
        """One at a time: checking a password is hard work for etcd, on purpose."""
        try:
            async with self._turn(limit_s):
                if self._token is None:
                    self._token = await self._authenticate(connection, limit_s)
        except TimeoutError:
            raise Failed(no_answer(limit_s), sent=False) from None
        except Failed as failure:
            raise Failed(failure.trouble, sent=False) from failure

    async def _authenticate(self, connection: C, limit_s: float) -> str:
        try:
            return await connection.authenticate(self._config.username or "", self._config.password or "", limit_s)
        except RpcError as error:
            if error.text == AUTH_NOT_ENABLED:
                return ""  # a user is set but not asked for: etcd's own clients go on, so do we
            course_after(error, "log in", self.user)
            raise Failed(trouble_of(error), sent=False) from error

    def retire(self) -> None:
        """Ends all connections; whoever still asks is told so."""
        self._closed = True
        for connection in self._connections or ():
            connection.retire()
        self._connections = None
