"""Many pieces of work on one datastore, read ahead together and written side by side.

Each piece is written as if it were alone: it reads, judges, commits, and goes on when its commit is through. All get as
far as their commits; these go out together, and every piece is told what became of its own. So whatever a piece does
about a conflict, it does here too. No event loop is needed, as `tortie.cli.session.finish` has none.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence

from tortie.model.errors import TortieError
from tortie.model.light import Any, Final, TypeVar
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

# Of so many keys below one prefix it is cheaper to read all that is there.
_KEYS_MAX: Final = 64


class Together:
    """The store that the pieces of work are given. What was read ahead serves them until one of them writes there."""

    def __init__(self, store: Store) -> None:
        self.where = store.where
        self._store = store
        self._entries: dict[str, Entry | None] = {}
        self._listings: dict[str, Listing] = {}

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
        works = [piece() for piece in pieces]
        outcomes: dict[int, Result | TortieError] = {}
        try:
            turns: dict[int, object] = dict.fromkeys(range(len(works)))
            waiting: dict[int, _Commit] = {}
            while turns or waiting:
                waiting |= _advanced(works, turns, outcomes)
                turns = await self._committed(waiting, timeout_s)
        finally:
            for work in works:
                work.close()
        return [outcomes[number] for number in range(len(works))]

    async def _committed(self, waiting: dict[int, _Commit], timeout_s: float) -> dict[int, object]:
        """Takes those out that could be made: of two that write the same key, the second waits for the next time."""
        written: set[str] = set()
        chosen: dict[int, Sequence[Operation]] = {}
        for number, commit in waiting.items():
            keys = {operation.key for operation in commit.operations}
            if written.isdisjoint(keys):
                written |= keys
                chosen[number] = commit.operations
        self._forget(written)
        found = await commit_each(self._store, list(chosen.values()), timeout_s=timeout_s) if chosen else []
        for number in chosen:
            del waiting[number]
        return dict(zip(chosen, found, strict=True))

    def _forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._entries.pop(key, None)
            for prefix in [prefix for prefix in self._listings if key.startswith(prefix)]:
                del self._listings[prefix]

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        if key in self._entries:
            return self._entries[key]
        return await self._store.get(key, timeout_s=timeout_s)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        if prefix not in self._listings:
            self._listings[prefix] = await self._store.scan(prefix, timeout_s=timeout_s)
        return self._listings[prefix]

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        return await self._store.snapshot(keys, prefixes, timeout_s=timeout_s)

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


def _advanced(
    works: Sequence[Coroutine[Any, Any, Result]],
    turns: dict[int, object],
    outcomes: dict[int, Result | TortieError],
) -> dict[int, _Commit]:
    """Each goes on with what it was told, to its next commit or its end."""
    waiting: dict[int, _Commit] = {}
    for number, told in turns.items():
        work = works[number]
        try:
            waiting[number] = work.throw(told) if isinstance(told, TortieError) else work.send(told)
        except StopIteration as done:
            outcomes[number] = done.value
        except TortieError as error:
            outcomes[number] = error
    return waiting
