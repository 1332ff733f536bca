"""The contract's calls over one file: each waits as long as it may, then says why it could not go on."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from tortie.model.errors import TortieError, UsageError
from tortie.store.contract import (
    TIMEOUT_S,
    Change,
    Entry,
    Listing,
    Operation,
    Revision,
    Snapshot,
    Tally,
    Unreachable,
    check_key,
    check_operations,
    check_prefix,
    check_snapshot,
)
from tortie.store.embedded import faults, opening
from tortie.store.embedded.bell import Bell
from tortie.store.embedded.call import Call, Overdue
from tortie.store.embedded.database import Database, Portion, Touched
from tortie.store.embedded.offload import Offload, in_thread
from tortie.store.embedded.turns import TookTooLong, Turns

Result = TypeVar("Result")

_BUSY_PAUSE_S = 0.005


class EmbeddedStore:
    """A store in one SQLite file, opened at first use. The first write or watch creates it; until then it
    reads as empty.

    `durable=False` is for labs: a power cut may lose the last commits, a killed process still loses none.
    `offload=inline` is for commands without an event loop: no call suspends.
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = True, offload: Offload = in_thread) -> None:
        self.path = os.path.abspath(path)
        self.where = f"embedded store {self.path}"
        self._durable = durable
        self._offload = offload
        self._lock_path = self.path + "-lock"
        self._turns = Turns(self._lock_path)
        self._reader = opening.Opened(self.path, self.where)
        self._writer = opening.Opened(self.path, self.where)
        self._bell: Bell | None = None
        self._looked: Revision = 0
        self._closed = False
        _stores.add(self)

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        check_key(key)
        return await self._glance("get", timeout_s, lambda database: database.get(key))

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        check_prefix(prefix)
        return await self._read("scan", timeout_s, lambda database: database.scan(prefix))

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        check_snapshot(keys, prefixes)
        return await self._read("snapshot", timeout_s, lambda database: database.snapshot(keys, prefixes))

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        check_snapshot((), prefixes)
        return await self._read("tally", timeout_s, lambda database: database.tally(prefixes, first))

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        check_operations(operations)
        return await self._write("commit", timeout_s, lambda database: database.write(operations))

    async def compact(self, revision: Revision, *, timeout_s: float = TIMEOUT_S) -> None:
        """Forgets the history before the revision. Commits do it by themselves when it gets long."""
        await self._write("compact", timeout_s, lambda database: database.compact(revision))

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        check_prefix(prefix)

        def news(database: Database) -> Portion:
            return database.changes(prefix, after)

        with self._listening() as bell:
            while True:
                heard = bell.rings  # before reading: a commit behind the reader's back then ends the next wait
                portion = await self._glance("watch", timeout_s, news)
                if bell.broken:
                    raise faults.of_system(self.where, self.path, bell.broken)
                after = portion.upto
                for change in portion.changes:
                    yield change
                if not portion.more:
                    after = await self._offload.ring(bell, heard, prefix, after)

    async def close(self) -> None:
        """Watches that still run end with an error."""
        if not self._closed:
            await self._run(Call("close", TIMEOUT_S), self._shut)
            self._closed = True
        if self._bell:
            self._bell.ring()

    async def _glance(self, doing: str, timeout_s: float, read: Callable[[Database], Result]) -> Result:
        """A read so short that moving it to a thread would take longer; unless it has to wait for something."""
        if self._reader.is_open:
            with suppress(sqlite3.Error, OSError, opening.InUse), self._reader.use(0) as database:
                return read(database)
        return await self._read(doing, timeout_s, read)

    async def _read(self, doing: str, timeout_s: float, read: Callable[[Database], Result]) -> Result:
        call = Call(doing, timeout_s)

        def work() -> Result:
            try:
                return self._use(call, self._reader, read)
            except opening.NotCreated:
                if doing != "watch":  # looking makes no file: the path may be mistyped
                    with opening.nothing(self.where) as database:
                        return read(database)
                self._in_turn(call, lambda: self._create(call))
            return self._use(call, self._reader, read)

        return await self._run(call, work)

    async def _write(self, doing: str, timeout_s: float, write: Callable[[Database], Result]) -> Result:
        """Writers queue for their place in the order, not for the disk: the log is made durable after the turn.

        Then many wait for it together. Others may see a commit before that; but whoever builds on it comes later
        in the same log, so no acknowledged commit can outlive one it rests on.
        """
        call = Call(doing, timeout_s)

        def work() -> Result:
            try:
                return self._use(call, self._writer, write)
            except opening.NotCreated:
                self._create(call)
            return self._use(call, self._writer, write)

        def work_durably() -> Result:
            result = self._in_turn(call, work)
            if self._durable:
                try:
                    opening.sync_log(self.path)
                except OSError as error:
                    raise faults.not_durable(self.where, error) from error
            return result

        return await self._run(call, work_durably)

    async def _run(self, call: Call, work: Callable[[], Result]) -> Result:
        if self._closed:
            raise UsageError(f"{call.doing} on {self.where}", "the store has been closed")
        try:
            return await self._offload(call, lambda: self._explained(call, work))
        except Overdue:
            why, fix = "the disk does not answer", "look for errors of the disk: dmesg"
            raise self._unreachable(call, why, fix, uncertain=call.doing == "commit") from None

    def _explained(self, call: Call, work: Callable[[], Result]) -> Result:
        """Where what SQLite and the kernel say becomes something a person can act on."""
        try:
            return work()
        except sqlite3.Error as error:
            if opening.is_busy(error):
                why, fix = "another program has locked its file", f"find and end it: fuser -v {self.path}"
                raise self._unreachable(call, why, fix) from None
            raise faults.of_sqlite(self.where, self.path, error) from error
        except opening.InUse:
            why, fix = "an earlier call of this process has not ended", "look for errors of the disk: dmesg"
            raise self._unreachable(call, why, fix) from None
        except TookTooLong:
            raise self._unreachable(call, *faults.lock_holder(self._lock_path)) from None
        except OSError as error:
            raise faults.of_system(self.where, self.path, error) from error

    def _unreachable(self, call: Call, why: str, fix: str, *, uncertain: bool = False) -> Unreachable:
        return Unreachable(self.where, call.doing, call.timeout_s, why, fix, uncertain=uncertain)

    def _use(self, call: Call, opened: opening.Opened, work: Callable[[Database], Result]) -> Result:
        def attempt() -> Result:
            with opened.use(call.remaining_s()) as database:
                return work(database)

        return self._patiently(call, attempt)

    def _patiently(self, call: Call, attempt: Callable[[], Result]) -> Result:
        """SQLite is busy only when foreign programs lock the file, while it is created, or recovers from a crash."""
        while True:
            call.check()
            try:
                return attempt()
            except sqlite3.OperationalError as error:
                if not opening.is_busy(error) or not call.remaining_s():
                    raise
            time.sleep(_BUSY_PAUSE_S)

    def _in_turn(self, call: Call, work: Callable[[], Result]) -> Result:
        opening.make_folder(self.path)  # the lock file lives there, too
        return self._turns.take(call, work)

    def _create(self, call: Call) -> None:
        self._patiently(call, lambda: opening.create(self.path, self.where))

    @contextmanager
    def _listening(self) -> Iterator[Bell]:
        """The bell all watches share, from the first one's start to the last one's end."""
        if self._bell is None:
            try:
                opening.make_folder(self.path)
                self._bell = Bell(self._lock_path, self._look)
            except OSError as error:
                raise faults.of_system(self.where, self.path, error) from error
        bell = self._bell
        bell.users += 1
        try:
            yield bell
        finally:
            bell.users -= 1
            if not bell.users:
                bell.close()
                self._bell = None

    def _look(self) -> Touched | None:
        """For all watches at once, and without waiting: what stands in the way each of them finds out by itself."""
        if not self._reader.is_open:
            return None
        with suppress(sqlite3.Error, OSError, TortieError, opening.InUse), self._reader.use(0) as database:
            touched = database.touched(self._looked)
            self._looked = touched.upto
            return touched
        return None

    def _shut(self) -> None:
        for opened in (self._reader, self._writer):
            with opened.mutex:
                opened.close()

    # SQLite connections must not cross a fork, nor may a child keep our lock or read our bell.

    def before_fork(self) -> None:
        for opened in (self._reader, self._writer):
            opened.mutex.acquire()
            opened.close()

    def after_fork_in_parent(self) -> None:
        for opened in (self._reader, self._writer):
            opened.mutex.release()

    def after_fork_in_child(self) -> None:
        self.after_fork_in_parent()
        self._turns.forget()
        self._turns = Turns(self._lock_path)
        if self._bell:
            self._bell.close()
            self._bell = None


_stores: weakref.WeakSet[EmbeddedStore] = weakref.WeakSet()
_forking: list[EmbeddedStore] = []  # the same ones afterwards as before


def _before_fork() -> None:
    _forking[:] = _stores
    for store in _forking:
        store.before_fork()


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop().after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _forking:
        _forking.pop().after_fork_in_child()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
