"""The store contract in etcd's requests. Keys and values are stored as they are: Calico shares them.

Requests and replies are made and read by a codec, so that this is the same for both clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tortie.model.errors import TortieError
from tortie.model.light import Any, Final, NamedTuple, Protocol
from tortie.store.contract import (
    ABSENT,
    TIMEOUT_S,
    Conflict,
    Damaged,
    Entry,
    Listing,
    Operation,
    Revision,
    Snapshot,
    Tally,
    check_commits,
    check_key,
    check_operations,
    check_prefix,
    check_snapshot,
)
from tortie.store.etcd.client import Client
from tortie.store.etcd.keys import key_range
from tortie.store.etcd.refusal import Refused, RevisionCompacted

# Bounds how long etcd is busy with one reply. Each page costs it a count of all keys behind it as well, so smaller is
# slower: 5,000 keys of 500 bytes in five pages took a quarter to a third longer than in one.
_PAGE_KEYS: Final = 5_000
# A scan is begun again when its revision is compacted under it; more often than this, something else is wrong.
_SCANS_MAX: Final = 5
_KEYS_NAMED: Final = 3


class RangeReply(NamedTuple):
    entries: list[Entry]
    revision: Revision
    more: bool
    total: int = 0  # also of those that were not asked for


class TxnReply(NamedTuple):
    succeeded: bool
    revision: Revision
    ranges: list[list[Entry]]  # what each of its reads found


class Codec(Protocol):
    """etcd's messages. A range is a first key and the one behind its last; without the latter it is one key."""

    range: Any
    txn: Any
    compact: Any

    def range_request(self, begin: bytes, end: bytes, limit: int, revision: Revision) -> Any: ...

    def range_reply(self, reply: Any) -> RangeReply: ...

    def reading(self, ranges: Sequence[tuple[bytes, bytes]]) -> Any:
        """A transaction that only reads."""
        ...

    def counting(self, ranges: Sequence[tuple[bytes, bytes]], first: int) -> Any:
        """A transaction that counts, and names the first keys of each range."""
        ...

    def tallies(self, reply: Any) -> list[Tally]: ...

    def writing(self, operations: Sequence[Operation], guarded: Sequence[Operation]) -> Any:
        """A transaction that writes if the expectations of `guarded` hold, and else reads what stands there."""
        ...

    def txn_reply(self, reply: Any) -> TxnReply: ...

    def compaction(self, revision: Revision) -> Any: ...


class KeyValues:
    """All of the contract but watching."""

    def __init__(self, client: Client[Any], codec: Codec) -> None:
        self._client = client
        self._codec = codec
        self.where = client.where

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        check_key(key)
        entries = (await self._range(key.encode(), b"", f"read {key}", timeout_s)).entries
        return entries[0] if entries else None

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        check_prefix(prefix)
        deadline = time.monotonic() + timeout_s
        for _ in range(_SCANS_MAX):
            try:
                return await self._scan(prefix, deadline)
            except RevisionCompacted:
                continue
        raise Refused(
            f"scan of {prefix} never finished",
            f"its revision was compacted {_SCANS_MAX} times meanwhile",
            "look for somebody who compacts etcd all the time; --auto-compaction-retention keeps enough history",
        )

    async def _scan(self, prefix: str, deadline: float) -> Listing:
        """Page by page, all as of the revision of the first."""
        begin, end = key_range(prefix)
        entries: list[Entry] = []
        revision = 0
        while True:
            left_s = deadline - time.monotonic()
            page = await self._range(begin, end, f"scan {prefix}", left_s, limit=_PAGE_KEYS, revision=revision)
            revision = revision or page.revision
            entries += page.entries
            if not page.more:
                return Listing(tuple(entries), revision)
            begin = page.entries[-1].key.encode() + b"\0"

    async def _range(
        self, begin: bytes, end: bytes, doing: str, timeout_s: float, *, limit: int = 0, revision: Revision = 0
    ) -> RangeReply:
        request = self._codec.range_request(begin, end, limit, revision)
        return self._codec.range_reply(await self._client.read(self._codec.range, request, doing, timeout_s))

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        """A transaction that only reads: etcd runs it on one revision, like any read as of now and not earlier.

        It has no pages, because each would be another way to etcd and back. Nothing in the way limits what one reply
        holds: etcd sends up to 2 GiB, we take what comes.
        """
        check_snapshot(keys, prefixes)
        request = self._codec.reading([*((key.encode(), b"") for key in keys), *map(key_range, prefixes)])
        reply = await self._client.read(self._codec.txn, request, f"read {_counted(keys, prefixes)}", timeout_s)
        return _snapshot(keys, prefixes, self._codec.txn_reply(reply))

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        """etcd counts a range whole, whatever the limit of what it sends."""
        check_snapshot((), prefixes)
        request = self._codec.counting(list(map(key_range, prefixes)), first)
        reply = await self._client.read(self._codec.txn, request, f"count {_counted((), prefixes)}", timeout_s)
        return dict(zip(prefixes, self._codec.tallies(reply), strict=True))

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        check_operations(operations)
        request = self._codec.writing(operations, _guarded(operations))
        reply = await self._client.write(self._codec.txn, request, _doing(operations), timeout_s)
        return self._committed(operations, reply)

    async def commit_each(
        self,
        commits: Sequence[Sequence[Operation]],
        *,
        timeout_s: float = TIMEOUT_S,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[Revision | TortieError]:
        check_commits(commits)
        if not commits:
            return []
        requests = [self._codec.writing(operations, _guarded(operations)) for operations in commits]
        doings = list(map(_doing, commits))
        replies = await self._client.write_each(self._codec.txn, requests, doings, timeout_s, meanwhile)
        return [self._outcome(*pair) for pair in zip(commits, replies, strict=True)]

    def _outcome(self, operations: Sequence[Operation], reply: object) -> Revision | TortieError:
        if isinstance(reply, TortieError):
            return reply
        try:
            return self._committed(operations, reply)
        except (Conflict, Damaged) as error:
            return error

    def _committed(self, operations: Sequence[Operation], reply: object) -> Revision:
        read = self._codec.txn_reply(reply)
        if not read.succeeded:
            raise _conflict(_guarded(operations), read)
        return read.revision

    async def compact(self, revision: Revision, *, timeout_s: float = TIMEOUT_S) -> None:
        """Forgets what was before the revision. Having done so already is no error."""
        try:
            request = self._codec.compaction(revision)
            await self._client.read(self._codec.compact, request, f"compact to {revision}", timeout_s)
        except RevisionCompacted:
            return


def _guarded(operations: Sequence[Operation]) -> list[Operation]:
    return [operation for operation in operations if operation.expecting is not None]


def _conflict(guarded: list[Operation], reply: TxnReply) -> Conflict:
    for operation, entries in zip(guarded, reply.ranges, strict=True):
        found = entries[0] if entries else None
        standing = found.revision if found else ABSENT
        if operation.expecting is not None and operation.expecting != standing:
            return Conflict(operation.key, operation.expecting, found)
    raise Damaged("etcd refused a commit whose expectations all hold", "comparison and reading disagree", "")


def _snapshot(keys: Sequence[str], prefixes: Sequence[str], reply: TxnReply) -> Snapshot:
    found = reply.ranges
    entries = [entry for each in found[: len(keys)] for entry in each]
    listings = {prefix: tuple(each) for prefix, each in zip(prefixes, found[len(keys) :], strict=True)}
    return Snapshot({entry.key: entry for entry in entries}, listings, reply.revision)


def _doing(operations: Sequence[Operation]) -> str:
    return f"write {_named([operation.key for operation in operations])}"


def _counted(keys: Sequence[str], prefixes: Sequence[str]) -> str:
    """A few by their names; of many, how many there are and what their names begin with."""
    names = [*keys, *prefixes]
    if len(names) <= _KEYS_NAMED:
        return ", ".join(names)
    counts = ((len(keys), "key"), (len(prefixes), "prefix"))
    told = " and ".join(f"{count} {_plural(word, count)}" for count, word in counts if count)
    first, last = min(names), max(names)
    shared = next((at for at, letters in enumerate(zip(first, last, strict=False)) if len({*letters}) > 1), len(first))
    folder = first[:shared].rpartition("/")[0]
    return f"{told} below {folder}/ at once" if folder else f"{told} at once"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}es" if word.endswith("x") else f"{word}s"


def _named(keys: Sequence[str]) -> str:
    others = len(keys) - _KEYS_NAMED
    return ", ".join(keys[:_KEYS_NAMED]) + (f" and {others} more" if others > 0 else "")
