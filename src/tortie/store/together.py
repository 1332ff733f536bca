"""Many pieces of work on one datastore, read ahead together and written side by side.

Each piece is written as if it were alone: it reads, judges, commits, and goes on when its commit is through. All get as
far as their commits; these go out together, and every piece is told what became of its own. So whatever a piece does
about a conflict, it does here too. No event loop is needed, as `tortie.cli.session.finish` has none.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence

from tortie.model.errors import TortieError
from tortie.model.light import Any, Final, Generic, TypeVar
from tortie.store.contract import (
    OPERATIONS_MAX,
    TIMEOUT_S,
    Change,
    Entry,
    Listing,
    Operation,
    Revision,
    Snapshot,
    Store,
)
from tortie.store.side_by_side import commit_each

Result = TypeVar("Result")

# So many are sent at once; when others are ready, these have come back.
_SIDE_BY_SIDE: Final = 256
# Of so many keys below one prefix it is cheaper to read all that is there.
_KEYS_MAX: Final = 64


class Together:
    """The store that the pieces of work are given. What was read ahead serves them until one of them writes there."""

    def __init__(self, store: Store) -> None:
        self.where = store.where
        self._store = store
        self._entries: dict[str, Entry | None] = {}
        self._listings: dict[str, Listing] = {}
        self._busy = False

    async def look_ahead(self, wanted: Mapping[str, Sequence[str]], *, timeout_s: float = TIMEOUT_S) -> None:
        """Reads keys, given below the prefix where each of them stands, in as few round trips as they fit into."""
        few = [key for keys in wanted.values() if len(keys) <= _KEYS_MAX for key in keys]
        many = {prefix: keys for prefix, keys in wanted.items() if len(keys) > _KEYS_MAX}
        asked: list[str] = [*many, *few]
        for start in range(0, len(asked), OPERATIONS_MAX):
            part = asked[start : start + OPERATIONS_MAX]
            prefixes = [each for each in part if each in many]
            keys = [each for each in part if each not in many]
            snapshot = await self._store.snapshot(keys, prefixes, timeout_s=timeout_s)
            self._entries |= {key: snapshot.get(key) for key in keys}
            for prefix in prefixes:
                there = {entry.key: entry for entry in snapshot.listings[prefix]}
                self._entries |= {key: there.get(key) for key in many[prefix]}

    async def run(
        self, pieces: Sequence[Callable[[], Coroutine[Any, Any, Result]]], *, timeout_s: float = TIMEOUT_S
    ) -> list[Result | TortieError]:
        """What each piece returned or raised, in their order. They may not depend on each other."""
        pace = _Pace([piece() for piece in pieces])
        try:
            while pace.turns or pace.waiting:
                while pace.turns and len(pace.waiting) < _SIDE_BY_SIDE:
                    pace.step()
                await self._commit_some(pace, timeout_s)
        finally:
            pace.end()
        return [pace.outcomes[number] for number in range(len(pieces))]

    async def _commit_some(self, pace: _Pace[Result], timeout_s: float) -> None:
        """Those that could be made: of two that write the same key, the second waits for the next time.

        While the datastore works on them, other pieces go on as far as they do without it.
        """
        written: set[str] = set()
        chosen: dict[int, Sequence[Operation]] = {}
        for number, commit in pace.waiting.items():
            keys = {operation.key for operation in commit.operations}
            if written.isdisjoint(keys):
                written |= keys
                chosen[number] = commit.operations
        if not chosen:
            return
        for number in chosen:
            del pace.waiting[number]
        self._forget(written)
        self._busy = True
        try:
            found = await commit_each(
                self._store, list(chosen.values()), timeout_s=timeout_s, meanwhile=pace.step_meanwhile
            )
        finally:
            self._busy = False
        pace.go_on(dict(zip(chosen, found, strict=True)))

    def _forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._entries.pop(key, None)
            for prefix in [prefix for prefix in self._listings if key.startswith(prefix)]:
                del self._listings[prefix]

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        if key in self._entries:
            return self._entries[key]
        await self._free()
        return await self._store.get(key, timeout_s=timeout_s)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        if prefix not in self._listings:
            await self._free()
            self._listings[prefix] = await self._store.scan(prefix, timeout_s=timeout_s)
        return self._listings[prefix]

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        await self._free()
        return await self._store.snapshot(keys, prefixes, timeout_s=timeout_s)

    async def _free(self) -> None:
        """Until the datastore is not in the middle of commits."""
        if self._busy:
            await _Turn()

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        """Within `run` only; `timeout_s` is that of the run."""
        del timeout_s
        return await _Commit(operations)

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        return self._store.watch(prefix, after=after, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._store.close()


class _Commit:
    """Where a piece of work stops until it is told its revision, or the error."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations

    def __await__(self) -> Generator[_Commit, Revision, Revision]:
        return (yield self)


class _Turn:
    """Where a piece of work stops until the commits under way are through."""

    def __await__(self) -> Generator[_Turn, None, None]:
        yield self


class _Pace(Generic[Result]):
    """How far each piece of work is: to go on with what it was told, waiting with its commit, or over."""

    def __init__(self, works: Sequence[Coroutine[Any, Any, Result]]) -> None:
        self.turns: dict[int, object] = dict.fromkeys(range(len(works)))
        self.waiting: dict[int, _Commit] = {}
        self.outcomes: dict[int, Result | TortieError] = {}
        self._works = works
        self._later: list[int] = []  # those that want to read while commits are under way
        self._defect: Exception | None = None

    def step(self) -> None:
        """The next piece goes on to its next commit or its end."""
        number = next(iter(self.turns))
        told = self.turns.pop(number)
        work = self._works[number]
        try:
            stop = work.throw(told) if isinstance(told, TortieError) else work.send(told)
        except StopIteration as done:
            self.outcomes[number] = done.value
        except TortieError as error:
            self.outcomes[number] = error
        else:
            if isinstance(stop, _Commit):
                self.waiting[number] = stop
            else:
                self._later.append(number)

    def step_meanwhile(self) -> bool:
        """The same while commits are under way, whose fate a defect in another piece must not change."""
        if not self.turns or len(self.waiting) >= _SIDE_BY_SIDE or self._defect:
            return False
        try:
            self.step()
        except Exception as error:
            self._defect = error
        return True

    def go_on(self, told: dict[int, object]) -> None:
        if self._defect:
            raise self._defect
        self.turns |= told
        self.turns |= dict.fromkeys(self._later)
        self._later.clear()

    def end(self) -> None:
        for work in self._works:
            work.close()
