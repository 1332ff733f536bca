"""The store contract in etcd's requests. Keys and values are stored as they are: Calico shares them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from tortie.store.contract import (
    ABSENT,
    TIMEOUT_S,
    Absent,
    Change,
    Conflict,
    Damaged,
    Entry,
    Listing,
    Operation,
    Put,
    Revision,
    Snapshot,
    Tally,
    check_key,
    check_operations,
    check_prefix,
    check_snapshot,
)
from tortie.store.etcd.client import Client
from tortie.store.etcd.config import EtcdConfig
from tortie.store.etcd.keys import key_range, text_key
from tortie.store.etcd.refusal import Refused, RevisionCompacted
from tortie.store.etcd.rpc import COMPACT, RANGE, TXN
from tortie.store.etcd.rpc_pb2 import (
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    KeyValue,
    PutRequest,
    RangeRequest,
    RequestOp,
    TxnRequest,
    TxnResponse,
)
from tortie.store.etcd.watch import watch

# Bounds how long etcd is busy with one reply. Each page costs it a count of all keys behind it as well, so smaller is
# slower: 5,000 keys of 500 bytes in five pages took a quarter to a third longer than in one.
_PAGE_KEYS: Final = 5_000
# A scan is begun again when its revision is compacted under it; more often than this, something else is wrong.
_SCANS_MAX: Final = 5
_KEYS_NAMED: Final = 3


class EtcdStore:
    def __init__(self, config: EtcdConfig) -> None:
        self._client = Client(config)
        self.where = config.where

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        check_key(key)
        reply = await self._client.read(RANGE, RangeRequest(key=key.encode()), f"read {key}", timeout_s)
        return _entry(reply.kvs[0]) if reply.kvs else None

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
            request = RangeRequest(key=begin, range_end=end, limit=_PAGE_KEYS, revision=revision)
            reply = await self._client.read(RANGE, request, f"scan {prefix}", deadline - time.monotonic())
            revision = revision or reply.header.revision
            entries += _entries(reply.kvs)
            if not reply.more:
                return Listing(tuple(entries), revision)
            begin = reply.kvs[-1].key + b"\0"

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        """A transaction that only reads: etcd runs it on one revision, like any read as of now and not earlier.

        It has no pages, because each would be another way to etcd and back. Nothing in the way limits what one reply
        holds: etcd sends up to 2 GiB, grpclib takes what comes.
        """
        check_snapshot(keys, prefixes)
        ranges = [RangeRequest(key=key.encode()) for key in keys]
        for prefix in prefixes:
            begin, end = key_range(prefix)
            ranges.append(RangeRequest(key=begin, range_end=end))
        request = TxnRequest(success=[RequestOp(request_range=range_) for range_ in ranges])
        doing = f"read {_counted(keys, prefixes)}"
        return _snapshot(keys, prefixes, await self._client.read(TXN, request, doing, timeout_s))

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        """etcd counts a range whole, whatever the limit of what it sends."""
        check_snapshot((), prefixes)
        ranges = []
        for prefix in prefixes:
            begin, end = key_range(prefix)
            ranges.append(RangeRequest(key=begin, range_end=end, limit=first, keys_only=True))
        request = TxnRequest(success=[RequestOp(request_range=range_) for range_ in ranges])
        reply = await self._client.read(TXN, request, f"count {_counted((), prefixes)}", timeout_s)
        found = [response.response_range for response in reply.responses]
        return {
            prefix: Tally(each.count, tuple(text_key(kv.key) for kv in each.kvs))
            for prefix, each in zip(prefixes, found, strict=True)
        }

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        check_operations(operations)
        guarded = [operation for operation in operations if operation.expecting is not None]
        request = TxnRequest(
            compare=[_comparison(operation) for operation in guarded],
            success=[_request(operation) for operation in operations],
            failure=[RequestOp(request_range=RangeRequest(key=operation.key.encode())) for operation in guarded],
        )
        reply = await self._client.write(TXN, request, _doing(operations), timeout_s)
        if not reply.succeeded:
            raise _conflict(guarded, reply)
        return reply.header.revision

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        check_prefix(prefix)
        return watch(self._client, prefix, after, timeout_s)

    async def compact(self, revision: Revision, *, timeout_s: float = TIMEOUT_S) -> None:
        """Forgets what was before the revision. Having done so already is no error."""
        try:
            await self._client.read(COMPACT, CompactionRequest(revision=revision), f"compact to {revision}", timeout_s)
        except RevisionCompacted:
            return

    async def close(self) -> None:
        await self._client.close()


def _comparison(operation: Operation) -> Compare:
    key = operation.key.encode()
    if isinstance(operation.expecting, Absent):
        return Compare(target=Compare.CREATE, key=key, create_revision=0)
    # For etcd a missing key has revision 0; for us expecting a revision means expecting the key to be there.
    return Compare(target=Compare.MOD, key=key, mod_revision=operation.expecting or -1)


def _request(operation: Operation) -> RequestOp:
    key = operation.key.encode()
    if isinstance(operation, Put):
        return RequestOp(request_put=PutRequest(key=key, value=operation.value))
    return RequestOp(request_delete_range=DeleteRangeRequest(key=key))


def _conflict(guarded: list[Operation], reply: TxnResponse) -> Conflict:
    for operation, response in zip(guarded, reply.responses, strict=True):
        kvs = response.response_range.kvs
        found = _entry(kvs[0]) if kvs else None
        standing = found.revision if found else ABSENT
        if operation.expecting is not None and operation.expecting != standing:
            return Conflict(operation.key, operation.expecting, found)
    raise Damaged("etcd refused a commit whose expectations all hold", "comparison and reading disagree", "")


def _snapshot(keys: Sequence[str], prefixes: Sequence[str], reply: TxnResponse) -> Snapshot:
    found = [response.response_range.kvs for response in reply.responses]
    entries = [_entry(kv) for kvs in found[: len(keys)] for kv in kvs]
    listings = {prefix: tuple(_entries(kvs)) for prefix, kvs in zip(prefixes, found[len(keys) :], strict=True)}
    return Snapshot({entry.key: entry for entry in entries}, listings, reply.header.revision)


def _entries(kvs: Sequence[KeyValue]) -> list[Entry]:
    """What `_entry` does, at half its price: it is a good part of what a scan costs."""
    make = tuple.__new__
    try:
        return [make(Entry, (kv.key.decode(), kv.value, kv.mod_revision)) for kv in kvs]
    except UnicodeDecodeError:
        return [_entry(kv) for kv in kvs]  # names the key to blame


def _entry(kv: KeyValue) -> Entry:
    return Entry(text_key(kv.key), kv.value, kv.mod_revision)


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
