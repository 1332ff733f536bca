"""The tables: every change once, in order, and which of them stands for each key now.

A change's id is `revision * 256 + its place in the commit`, so the newest id tells the store's revision, no row
is rewritten for it, and watching is reading ids above the last one seen. Everything here blocks and knows
neither turns nor deadlines: the caller has the turn for `write` and `compact`, and needs nothing for the rest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tortie.model.errors import UsageError
from tortie.store.contract import (
    Absent,
    Change,
    Compacted,
    Conflict,
    Damaged,
    Entry,
    Listing,
    Operation,
    Put,
    Revision,
    Snapshot,
    Tally,
    prefix_end,
)

SCHEMA = (
    "CREATE TABLE history (id INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB)",  # no value: a deletion
    "CREATE TABLE current (key TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE compacted (oldest INTEGER NOT NULL)",  # one row: since which revision all changes are kept
    "INSERT INTO compacted VALUES (1)",
)

# At least so many revisions of history stay; compacting waits until it is worth a statement.
HISTORY_KEPT = 10_000
_COMPACT_EVERY = 256

# A watcher that lags behind reads so many revisions at once.
_PORTION = 128

_EMPTY = 1 << 8  # the newest id of an empty store: it is at revision 1, as an empty etcd
_NEWEST = f"SELECT ifnull(max(id), {_EMPTY}) FROM history"
_HEAD = f"SELECT ({_NEWEST}), oldest FROM compacted"
_ENTRIES = "SELECT key, (SELECT value FROM history WHERE id = current.id), id FROM current WHERE "
_BELOW = "key >= ? AND key < CAST(? AS TEXT)"  # the end is bytes because it need not be valid text
_NEWS = (
    f"SELECT newest, oldest, id, key, value FROM (SELECT ({_NEWEST}) AS newest, oldest FROM compacted)"
    f" LEFT JOIN history ON id >= ? AND id < ? AND {_BELOW} ORDER BY id"
)
_TOUCHED = (
    f"SELECT newest, oldest, key FROM (SELECT ({_NEWEST}) AS newest, oldest FROM compacted)"
    " LEFT JOIN history ON id >= ? AND id < ?"
)
_BEHIND_ALL_TEXT = b"\xff"

_KEEP = "INSERT INTO history VALUES (?, ?, ?)"
_POINT = "REPLACE INTO current VALUES (?, ?)"
_UNPOINT = "DELETE FROM current WHERE key = ?"
_FORGET = "DELETE FROM history WHERE id = ?"
_COMPACT = (
    "DELETE FROM history WHERE id >= ? AND id < ?"
    " AND NOT EXISTS (SELECT 1 FROM current WHERE current.key = history.key AND current.id = history.id)"
)


class Portion(NamedTuple):
    """Changes of whole commits, the revision up to which none is missing, and whether there were more to read."""

    changes: list[Change]
    upto: Revision
    more: bool


class Touched(NamedTuple):
    """The keys of all commits after a revision; None when they are too many to tell, or some are forgotten already."""

    keys: frozenset[str] | None
    upto: Revision


class Database:
    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._where = where

    def close(self) -> None:
        self._connection.close()

    def get(self, key: str) -> Entry | None:
        row = self._execute(_ENTRIES + "key = ?", (key,)).fetchone()
        return self._entry(*row) if row else None

    def scan(self, prefix: str) -> Listing:
        with self._transaction("BEGIN"):
            newest, _ = self._head()
            return Listing(self._below(prefix), newest >> 8)

    def snapshot(self, keys: Sequence[str], prefixes: Sequence[str]) -> Snapshot:
        with self._transaction("BEGIN"):
            newest, _ = self._head()
            found = [entry for key in keys if (entry := self.get(key))]
            listings = {prefix: self._below(prefix) for prefix in prefixes}
            return Snapshot({entry.key: entry for entry in found}, listings, newest >> 8)

    def tally(self, prefixes: Sequence[str], first: int) -> dict[str, Tally]:
        with self._transaction("BEGIN"):
            self._head()
            return {prefix: self._tally(prefix, first) for prefix in prefixes}

    def _tally(self, prefix: str, first: int) -> Tally:
        (count,) = self._execute("SELECT count(*) FROM current WHERE " + _BELOW, _range(prefix)).fetchone()
        rows = self._execute(
            "SELECT key FROM current WHERE " + _BELOW + " ORDER BY key LIMIT ?", (*_range(prefix), first)
        )
        return Tally(count, tuple(key for (key,) in rows))

    def _below(self, prefix: str) -> tuple[Entry, ...]:
        rows = self._execute(_ENTRIES + _BELOW + " ORDER BY key", _range(prefix))
        return tuple(self._entry(*row) for row in rows)

    def changes(self, prefix: str, after: Revision) -> Portion:
        """What happened next, below the prefix. One statement, since every commit makes every watcher ask."""
        rows = self._execute(_NEWS, (after + 1 << 8, after + 1 + _PORTION << 8, *_range(prefix))).fetchall()
        if not rows:
            raise self._no_head()
        newest, oldest = rows[0][0] >> 8, rows[0][1]
        if after + 1 < oldest and after < newest:
            raise Compacted(after, oldest)
        upto = max(after, min(newest, after + _PORTION))
        return Portion([Change(key, value, id >> 8) for _, _, id, key, value in rows if id], upto, upto < newest)

    def touched(self, after: Revision) -> Touched:
        rows = self._execute(_TOUCHED, (after + 1 << 8, after + 1 + _PORTION << 8)).fetchall()
        if not rows:
            raise self._no_head()
        newest, oldest = rows[0][0] >> 8, rows[0][1]
        all_told = oldest <= after + 1 and after <= newest <= after + _PORTION
        return Touched(frozenset(key for _, _, key in rows if key) if all_told else None, newest)

    def write(self, operations: Sequence[Operation]) -> Revision:
        with self._transaction("BEGIN IMMEDIATE"):
            newest, oldest = self._head()
            replaced = [self._expected(operation) for operation in operations]
            if not any(isinstance(operation, Put) or old for operation, old in zip(operations, replaced, strict=True)):
                return newest >> 8
            revision = (newest >> 8) + 1
            for place, (operation, old) in enumerate(zip(operations, replaced, strict=True)):
                if isinstance(operation, Put):
                    self._execute(_KEEP, (revision << 8 | place, operation.key, operation.value))
                    self._execute(_POINT, (operation.key, revision << 8 | place))
                elif old:
                    self._execute(_KEEP, (revision << 8 | place, operation.key, None))
                    self._execute(_UNPOINT, (operation.key,))
                if old and old >> 8 < oldest:  # compacting had passed it by because it was current
                    self._execute(_FORGET, (old,))
            if revision % _COMPACT_EVERY == 0 and revision - HISTORY_KEPT > oldest:
                self._compact(oldest, revision - HISTORY_KEPT)
            return revision

    def compact(self, revision: Revision) -> None:
        """Forgets the changes before the revision; what is current stays."""
        with self._transaction("BEGIN IMMEDIATE"):
            newest, oldest = self._head()
            if revision > newest >> 8:
                raise UsageError(f"compacting up to revision {revision}", f"the store is at revision {newest >> 8}")
            if revision > oldest:
                self._compact(oldest, revision)

    def _compact(self, oldest: Revision, revision: Revision) -> None:
        self._execute(_COMPACT, (oldest << 8, revision << 8))
        self._execute("UPDATE compacted SET oldest = ?", (revision,))

    def _expected(self, operation: Operation) -> int:
        """The id of what the operation replaces, 0 if nothing; `Conflict` if that is not what it expects."""
        row = self._execute("SELECT id FROM current WHERE key = ?", (operation.key,)).fetchone()
        found: int = row[0] if row else 0
        expecting = operation.expecting
        if expecting is None:
            return found
        if found if isinstance(expecting, Absent) else not found or found >> 8 != expecting:
            raise Conflict(operation.key, expecting, self.get(operation.key))
        return found

    def _head(self) -> tuple[int, Revision]:
        """The newest change's id, and the oldest revision that is not compacted."""
        row = self._execute(_HEAD).fetchone()
        if row is None:
            raise self._no_head()
        return row[0], row[1]

    def _no_head(self) -> Damaged:
        return Damaged(f"{self._where} is damaged", "it does not say how far it is compacted", "restore a copy")

    def _entry(self, key: str, value: bytes | None, id: int) -> Entry:
        if value is None:
            raise Damaged(
                f"{self._where} is damaged",
                f"{key} points to change {id}, which is not in the history",
                "restore a copy; whatever else the store holds can still be read",
            )
        return Entry(key, value, id >> 8)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._execute(begin)
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise


def _range(prefix: str) -> tuple[str, bytes]:
    return prefix, prefix_end(prefix) or _BEHIND_ALL_TEXT
