"""What the rest of Tortie knows of a datastore: keys with values, one line of revisions, watches.

The promises, which `tests/contracts/test_store.py` holds for every back end:

* Keys are text without surrogates or NUL, ordered as their UTF-8 bytes; values are bytes.
* Every commit that changes something gives the store the next revision; all writes of one commit share it.
  An entry's revision is that of the commit which wrote it last.
* A commit happens whole or not at all. Each operation may expect the entry's revision, or its absence; if
  any expectation fails nothing is written and `Conflict` tells what stands there.
* Deleting what is not there, without an expectation, changes nothing and is no error.
* `scan` is a snapshot: everything below the prefix as it was at one revision, which it reports.
* `snapshot` is that for several keys and prefixes together, and asks the datastore once however much there is: what it
  costs far away does not grow with the number of things read.
* `tally` counts the keys below prefixes and names the first few, at one revision, without reading any value.
* `watch(after=r)` gives every change with a revision above r, once each, in order, however often the
  connection breaks; when it cannot, because that history has been compacted, it raises `Compacted`. After a
  compaction to c, watching after c or later always works, and watching after less than c - 1 never does.
* Every call ends within its `timeout_s`, with `Unreachable` at the latest. Cancelling a call leaves nothing behind;
  a cancelled commit has happened or has not, never half.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from tortie.model.errors import TortieError, UsageError
from tortie.model.light import Final, NamedTuple, Protocol

Revision = int

# etcd's defaults; the embedded store keeps to them too, so that data can always move between the two.
OPERATIONS_MAX: Final = 128
COMMIT_BYTES_MAX: Final = 1_500_000

TIMEOUT_S: Final = 10.0


class Absent:
    """The expectation that a key is not there."""

    _instance: Absent | None = None

    def __new__(cls) -> Absent:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

# A revision, absence, or None: whatever stands there may be replaced.
Expectation = Revision | Absent | None


class Entry(NamedTuple):
    key: str
    value: bytes
    revision: Revision


class Listing(NamedTuple):
    entries: tuple[Entry, ...]
    revision: Revision


class Snapshot(NamedTuple):
    """What stood at one revision: those of the keys asked for that were there, and for each prefix all below it."""

    entries: dict[str, Entry]
    listings: dict[str, tuple[Entry, ...]]
    revision: Revision

    def get(self, key: str) -> Entry | None:
        """As `Store.get` would have said; only of keys that were asked for."""
        return self.entries.get(key)

    def listing(self, prefix: str) -> Listing:
        """As `Store.scan` would have said; only of prefixes that were asked for."""
        return Listing(self.listings[prefix], self.revision)


class Tally(NamedTuple):
    """How many keys begin with a prefix, and the first of them in their order."""

    total: int
    keys: tuple[str, ...]


class Put(NamedTuple):
    key: str
    value: bytes
    expecting: Expectation = None


class Delete(NamedTuple):
    key: str
    expecting: Revision | None = None


Operation = Put | Delete


class Change(NamedTuple):
    """One key's change; a deletion has no value."""

    key: str
    value: bytes | None
    revision: Revision


class Store(Protocol):
    """A datastore. `where` names it for people, without secrets."""

    where: str

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None: ...

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing: ...

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        """Keys and prefixes together are at most `OPERATIONS_MAX`; they may overlap and repeat each other."""
        ...

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        """Returns the store's revision after the commit."""
        ...

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        """Close it when done, best by `aclosing`.

        `timeout_s` bounds how long the store may be out of reach before the watch raises `Unreachable`.
        """
        ...

    async def close(self) -> None: ...


class CountingStore(Store, Protocol):
    """Both back ends are; what stands in front of one need not be."""

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        """At most `OPERATIONS_MAX` prefixes, and of each at most `first` keys by name, at least one."""
        ...


async def put(
    store: Store, key: str, value: bytes, *, expecting: Expectation = None, timeout_s: float = TIMEOUT_S
) -> Revision:
    return await store.commit([Put(key, value, expecting)], timeout_s=timeout_s)


async def delete(
    store: Store, key: str, *, expecting: Revision | None = None, timeout_s: float = TIMEOUT_S
) -> Revision:
    return await store.commit([Delete(key, expecting)], timeout_s=timeout_s)


class Conflict(TortieError):
    """Somebody else wrote first. `found` is what stands there now, None if nothing does."""

    code = "conflict"

    def __init__(self, key: str, expecting: Revision | Absent, found: Entry | None) -> None:
        self.key = key
        self.expecting = expecting
        self.found = found
        wanted = "it to be absent" if isinstance(expecting, Absent) else f"revision {expecting}"
        actual = f"revision {found.revision}" if found else "nothing"
        super().__init__(
            f"update conflict: {key}",
            f"expected {wanted}, found {actual}",
            "read it again and repeat the change",
        )


class Compacted(TortieError):
    """The history asked for is gone: whoever watches has to scan again."""

    code = "compacted"

    def __init__(self, after: Revision, oldest: Revision) -> None:
        self.after = after
        self.oldest = oldest
        super().__init__(
            f"changes after revision {after} are no longer kept",
            f"history before revision {oldest} was compacted",
            "scan again and watch from the revision of that scan",
        )


class Unreachable(TortieError):
    """The store did not answer in time. `uncertain`: a write may have happened nevertheless."""

    code = "unreachable"

    def __init__(self, where: str, doing: str, tried_s: float, why: str, fix: str, *, uncertain: bool = False) -> None:
        self.where = where
        self.tried_s = tried_s
        self.uncertain = uncertain
        doubt = "; the write may or may not have happened, read before you repeat it" if uncertain else ""
        super().__init__(
            f"datastore unreachable: {where} gave no answer to {doing} within {tried_s:.1f} s",
            why + doubt,
            fix,
        )


class Unauthorized(TortieError):
    """The store answered, and refuses us."""

    code = "unauthorized"


class Damaged(TortieError):
    """The store holds what it cannot have written."""

    code = "damaged"


def check_operations(operations: Sequence[Operation]) -> None:
    """The limits every back end shares, refused before anything is sent."""
    if not operations:
        raise UsageError("an empty commit", "a commit needs at least one operation")
    if len(operations) > OPERATIONS_MAX:
        raise UsageError(
            f"{len(operations)} operations in one commit",
            f"a datastore takes at most {OPERATIONS_MAX}",
            "split it",
        )
    seen: set[str] = set()
    size = 0
    for operation in operations:
        check_key(operation.key)
        if operation.key in seen:
            raise UsageError(f"{operation.key} twice in one commit", "one commit writes a key once")
        seen.add(operation.key)
        size += len(operation.key.encode()) + (len(operation.value) if isinstance(operation, Put) else 0)
    if size > COMMIT_BYTES_MAX:
        what = f"a commit of {size:,} bytes, {operations[0].key} among them"
        raise UsageError(what, f"a datastore takes at most {COMMIT_BYTES_MAX:,}", "split it")


def check_commits(commits: Sequence[Sequence[Operation]]) -> None:
    """The same limits for each of several commits, which may not be about the same key."""
    seen: set[str] = set()
    for operations in commits:
        check_operations(operations)
        for operation in operations:
            if operation.key in seen:
                what = f"{operation.key} in two commits side by side"
                raise UsageError(what, "nobody could say which comes first", "make one after the other")
            seen.add(operation.key)


def check_snapshot(keys: Sequence[str], prefixes: Sequence[str]) -> None:
    """The same limits for reading."""
    if not keys and not prefixes:
        raise UsageError("an empty snapshot", "a snapshot needs at least one key or prefix")
    wanted = len(keys) + len(prefixes)
    if wanted > OPERATIONS_MAX:
        raise UsageError(
            f"{wanted} keys and prefixes in one snapshot",
            f"a datastore takes at most {OPERATIONS_MAX}",
            "ask for the prefix that holds them",
        )
    for key in keys:
        check_key(key)
    for prefix in prefixes:
        check_prefix(prefix)


def check_key(key: str) -> None:
    if not key or "\0" in key:
        raise UsageError(f"the key {key!r}", "a key is not empty and has no NUL")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the key {key!r}", "a key is valid Unicode text") from None


def check_prefix(prefix: str) -> None:
    """Any beginning of a key, the empty one too."""
    if prefix:
        check_key(prefix)


def prefix_end(prefix: str) -> bytes | None:
    """The first key, as bytes, behind all keys that begin with the prefix; None when there is no such key."""
    stem = prefix.encode().rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
