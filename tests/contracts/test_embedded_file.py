"""The embedded store's file: made as it should be, and every trouble with it told with its cause and a way out."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tortie.model.errors import TortieError
from tortie.store.contract import Change, Damaged, Listing, Put, put
from tortie.store.embedded import EmbeddedStore

DEADLINE_S = 30.0


def attempt(path: Path) -> TortieError:
    """What somebody is told who writes to and reads from the store; both must say the same."""

    async def both() -> tuple[TortieError, TortieError]:
        store = EmbeddedStore(path)
        with pytest.raises(TortieError) as writing:
            await put(store, "/key", b"value")
        with pytest.raises(TortieError) as reading:
            await store.scan("/")
        await store.close()
        return writing.value, reading.value

    first, second = asyncio.run(both())
    assert (type(first), first.what) == (type(second), second.what)
    assert str(path) in first.what
    assert first.why
    assert first.fix
    return first


def fill(path: Path, count: int = 1) -> None:
    async def commits() -> None:
        store = EmbeddedStore(path)
        for number in range(count):
            await put(store, f"/key/{number:04}", b"value" * 100)
        await store.close()

    asyncio.run(commits())


def test_reading_a_store_that_is_not_there_finds_it_empty(store_path: Path) -> None:
    async def read() -> None:
        store = EmbeddedStore(store_path)
        assert await store.get("/key") is None
        assert await store.scan("") == ((), 1)
        await store.close()

    asyncio.run(read())


def test_only_the_owner_can_open_what_it_creates(store_path: Path) -> None:
    async def look() -> None:
        store = EmbeddedStore(store_path)
        assert await put(store, "/key", b"secret") == 2, "an empty store is at revision 1, as etcd"
        assert stat.S_IMODE(store_path.parent.stat().st_mode) == 0o700
        files = list(store_path.parent.iterdir())
        assert {file.name for file in files} == {"store.db", "store.db-lock", "store.db-shm", "store.db-wal"}
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
        await store.close()

    old = os.umask(0)
    try:
        asyncio.run(look())
    finally:
        os.umask(old)


def test_a_store_that_is_opened_again_goes_on_where_it_was(store_path: Path) -> None:
    fill(store_path, 5)
    fill(store_path, 5)

    async def read() -> None:
        store = EmbeddedStore(store_path)
        listing = await store.scan("")
        assert len(listing.entries) == 5
        assert listing.revision == 11
        await store.close()

    asyncio.run(read())


def test_a_text_file_is_not_taken_for_a_store(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    error = attempt(path)
    assert isinstance(error, Damaged)
    assert "not a Tortie store" in error.what
    assert path.read_text() == "remember the milk\n" * 100


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "browser.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()
    before = path.read_bytes()
    assert "other program" in attempt(path).why
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version_is_not_touched(store_path: Path) -> None:
    fill(store_path)
    connection = sqlite3.connect(store_path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    error = attempt(store_path)
    assert "newer" in error.what
    assert "99" in error.why


def test_a_damaged_file_is_called_damaged(store_path: Path) -> None:
    fill(store_path, 200)
    size = store_path.stat().st_size
    with store_path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    error = attempt(store_path)
    assert isinstance(error, Damaged)
    assert "damaged" in error.what
    assert "recover" in error.fix


def test_a_key_without_its_value_is_damage_and_not_absence(store_path: Path) -> None:
    fill(store_path, 2)
    with sqlite3.connect(store_path) as connection:
        connection.execute("DELETE FROM history WHERE key = '/key/0000'")
    connection.close()

    async def read() -> None:
        store = EmbeddedStore(store_path)
        with pytest.raises(Damaged, match="/key/0000"):
            await store.get("/key/0000")
        assert await store.get("/key/0001")
        await store.close()

    asyncio.run(read())


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in attempt(tmp_path / "file" / "store.db").why


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()
    attempt(tmp_path / "store.db")


# Trouble that takes another user or file system runs in a namespace, where everybody is root.
_SCRIPT = """
import sys
from tortie.model.errors import TortieError
from tortie.store.contract import Put
from tortie.store.embedded import EmbeddedStore, inline
store = EmbeddedStore(sys.argv[1], offload=inline)
try:
    while True:
        try:
            store.commit([Put("/key", b"x" * 100_000)]).send(None)
        except StopIteration:
            pass
except TortieError as error:
    print(type(error).__name__, error.what, error.why, error.fix, sep="|")
try:
    store.scan("/").send(None)
except StopIteration as done:
    print(len(done.value.entries))
except TortieError as error:
    print(error.what)
"""


def in_namespace(setup: str, path: str) -> list[str]:
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", f'{setup}; exec "$@"', "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-c", _SCRIPT, path], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_full_disk_is_told_and_reading_still_works(tmp_path: Path) -> None:
    written, found = in_namespace(f"mount -t tmpfs -o size=1500k none {tmp_path}", f"{tmp_path}/store.db")
    kind, what, _, fix = written.split("|")
    assert kind == "Unwritable"
    assert what.startswith("no room for")
    assert f"df -h {tmp_path}" in fix
    assert found == "1"


def test_a_read_only_file_system_is_told(tmp_path: Path) -> None:
    setup = f"mount -t tmpfs none {tmp_path}; mount -o remount,ro {tmp_path}"
    written, found = in_namespace(setup, f"{tmp_path}/store.db")
    assert "read-only" in written
    assert found == "0"  # looking creates nothing, so there is nothing to refuse


def test_somebody_elses_store_is_refused_with_the_owner_hinted_at(store_path: Path) -> None:
    fill(store_path)
    for place in (store_path, *store_path.parent.glob("*"), store_path.parent):
        place.chmod(0o000)
    script = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", _SCRIPT, str(store_path)]
    try:
        done = subprocess.run(script, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    finally:
        store_path.parent.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Unauthorized|no access to embedded store"), done.stdout
    assert "run as the owner" in done.stdout


# Files that vanish while they are used


def test_a_store_removed_while_in_use_is_reported_and_not_written_into_the_void(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        await put(store, "/key", b"")
        await store.get("/key")
        shutil.rmtree(store_path.parent)
        with pytest.raises(Damaged, match="is gone"):
            await put(store, "/key", b"")
        with pytest.raises(Damaged, match="is gone"):
            await store.get("/key")
        assert await put(store, "/key", b"") == 2, "afterwards it starts anew"
        await store.close()

    asyncio.run(scenario())


def test_a_watch_ends_with_an_error_when_its_store_is_removed(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        await put(store, "/key", b"")
        changes = store.watch("/", after=1)
        assert await anext(changes) == Change("/key", b"", 2)
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        shutil.rmtree(store_path.parent)
        with pytest.raises(Damaged, match="is gone"):
            await asyncio.wait_for(waiting, DEADLINE_S)
        await store.close()

    asyncio.run(scenario())


def put_aside(path: str) -> None:
    os.rename(path, path + ".bak")


def test_watches_go_on_when_somebody_tidies_the_lock_file_away(store_path: Path) -> None:
    async def scenario() -> None:
        writer, watcher = EmbeddedStore(store_path), EmbeddedStore(store_path)
        await put(writer, "/key", b"")
        lock = f"{store_path}-lock"
        changes = watcher.watch("/", after=1)
        assert (await anext(changes)).revision == 2
        for turn, take_away in enumerate((os.unlink, put_aside, os.unlink), start=3):
            waiting = asyncio.ensure_future(anext(changes))
            await asyncio.sleep(0)
            take_away(lock)
            assert await writer.commit([Put("/key", b"")]) == turn
            await asyncio.wait([waiting], timeout=DEADLINE_S)
            assert (await waiting).revision == turn
        await writer.close()
        await watcher.close()

    asyncio.run(scenario())


# What reaches the disk before a commit is acknowledged


def test_a_commit_is_acknowledged_only_after_the_disk_has_it(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the files hold when the disk is told to keep them is what a power cut right afterwards would leave."""
    copy = store_path.parent / "after the power cut"
    sync = os.fdatasync

    def sync_and_copy(descriptor: int) -> None:
        sync(descriptor)
        assert os.readlink(f"/proc/self/fd/{descriptor}") == f"{store_path}-wal"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for name in (store_path.name, f"{store_path.name}-wal"):
            # By another process: closing the file in this one would drop the locks that SQLite has on it.
            subprocess.run(["cp", store_path.parent / name, copy], check=True)

    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        for number in range(5):
            revision = await put(store, "/key", b"%d" % number)
            left = EmbeddedStore(copy / store_path.name, durable=False)
            entry = await left.get("/key")
            assert entry
            assert (entry.value, entry.revision) == (b"%d" % number, revision)
            await left.close()
        await store.close()

    monkeypatch.setattr(os, "fdatasync", sync_and_copy)
    asyncio.run(scenario())


def test_a_disk_that_does_not_confirm_a_write_is_told(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        with pytest.raises(TortieError, match="may get lost") as caught:
            await put(store, "/key", b"")
        assert "read before you repeat" in caught.value.fix
        await store.close()

    fill(store_path)
    monkeypatch.setattr(os, "fdatasync", fail)
    asyncio.run(scenario())


def test_a_lab_does_not_wait_for_the_disk(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path, durable=False)
        assert await put(store, "/key", b"") == 3
        await store.close()

    fill(store_path)
    monkeypatch.delattr(os, "fdatasync")
    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["/dev/null", "/"])
def test_a_directory_or_a_device_is_no_store(path: str) -> None:
    async def work() -> None:
        store = EmbeddedStore(path)
        try:
            with pytest.raises(Damaged, match="not a Tortie store"):
                await store.scan("/")
        finally:
            await store.close()

    asyncio.run(work())


def test_looking_at_a_store_that_is_not_there_creates_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        store = EmbeddedStore(tmp_path / "none" / "store.db")
        try:
            assert await store.get("/a") is None
            assert await store.scan("/") == Listing((), 1)
        finally:
            await store.close()

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []
