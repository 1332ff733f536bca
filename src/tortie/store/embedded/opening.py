"""The store's file: opening it, creating it, and noticing when somebody took it away."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tortie.store.contract import Damaged
from tortie.store.embedded import faults
from tortie.store.embedded.database import SCHEMA, Database

_APPLICATION = 0x54525449  # marks the file as ours, also for file(1)
_FORMAT = 1

# After a burst of writes the write-ahead log shrinks to this again.
_LOG_BYTES_KEPT = 16_000_000


class NotCreated(Exception):
    """There is no store in the file yet."""


class InUse(Exception):
    """Another thread has not given the connection back in time."""


class Opened:
    """A connection that threads take in turn; it is opened when first used, and again after trouble or a fork."""

    def __init__(self, path: str, where: str) -> None:
        self._path = path
        self._where = where
        self._database: Database | None = None
        self._file: tuple[int, int] | None = None
        self.mutex = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._database is not None

    @contextmanager
    def use(self, patience_s: float) -> Iterator[Database]:
        if not self.mutex.acquire(blocking=patience_s > 0, timeout=patience_s or -1):
            raise InUse
        try:
            if self._database is None:
                self._database = self._open()
            elif self._file != _identity(self._path):
                raise faults.removed(self._where)
            yield self._database
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                self.close()
            raise
        except (sqlite3.Error, Damaged):
            self.close()
            raise
        finally:
            self.mutex.release()

    def close(self) -> None:
        """Only while holding the mutex."""
        database, self._database = self._database, None
        if database:
            database.close()

    def _open(self) -> Database:
        self._file = _identity(self._path)
        if self._file is None:
            raise NotCreated
        if not os.path.isfile(self._path):
            raise faults.not_a_store(self._where, "it is a directory or a device, not a file")
        connection = _connect(self._path, "NORMAL")
        try:
            if not _is_store(connection, self._where):
                raise NotCreated
        except BaseException:
            connection.close()
            raise
        return Database(connection, self._where)


def make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700, exist_ok=True)


def create(path: str, where: str) -> None:
    """Makes an empty store, unless somebody else just did. The caller has the turn."""
    # Opening a file that exists would be a trap: closing it again would drop SQLite's locks of this whole process.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = _connect(path, "FULL")
    try:
        if _is_store(connection, where):
            return
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise faults.Unwritable(
                f"cannot create {where}",
                "its file system does not support SQLite's write-ahead log",
                "name a file on a local disk in TORTIE_STORE",
            )
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.execute("COMMIT")
    finally:
        connection.close()
    _sync_folder(os.path.dirname(path))


def sync_log(path: str) -> None:
    """Makes durable what was committed so far. SQLite never locks its log, so closing it here does no harm."""
    try:
        log = os.open(path + "-wal", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # the last connection was closed, which made everything durable
        return
    try:
        os.fdatasync(log)
    finally:
        os.close(log)


@contextmanager
def nothing(where: str) -> Iterator[Database]:
    """What a store holds that nobody has written to yet."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in SCHEMA:
            connection.execute(statement)
        yield Database(connection, where)
    finally:
        connection.close()


def is_busy(error: sqlite3.Error) -> bool:
    """Some other program has the file locked for a moment, or a process recovers what a killed one left."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _connect(path: str, synchronous: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES_KEPT}").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _is_store(connection: sqlite3.Connection, where: str) -> bool:
    """False for an empty file; an error for anything that is not a store of ours."""
    connection.execute("BEGIN")  # one snapshot: somebody else may be creating it
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (format,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.execute("COMMIT")
    if application == _APPLICATION:
        if format > _FORMAT:
            raise faults.too_new(where, format, _FORMAT)
        return True
    if application or tables:
        raise faults.not_a_store(where, "the file is an SQLite database of some other program")
    return False


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _sync_folder(folder: str) -> None:
    """Only then does the new file survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
