"""How the embedded store's calls behave towards whoever makes them: deadlines, cancellation, no event loop, history."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.embedded import DEADLINE_S, eventually

from tortie.cli.session import finish
from tortie.model.errors import UsageError
from tortie.store.contract import Change, Compacted, Delete, Put, Store, Unreachable, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.embedded.bell import Bell


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def open_files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the descriptor of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(found)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else has the turn."""
    with open(f"{path}-lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepared(path: Path) -> Path:
    async def create() -> None:
        store = EmbeddedStore(path)
        await put(store, "/key", b"early")
        await store.close()

    asyncio.run(create())
    return path


def test_waiting_for_a_turn_does_not_hold_up_the_event_loop(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        with locked(store_path):
            waiting = asyncio.create_task(put(store, "/key", b"late", timeout_s=DEADLINE_S))
            for _ in range(20):
                entry = await store.get("/key")
                assert entry
                assert entry.value == b"early"
                await asyncio.sleep(0.001)
            assert not waiting.done()
        assert await waiting == 3
        await store.close()

    prepared(store_path)
    asyncio.run(scenario())


def test_calls_that_wait_in_one_process_all_get_their_turn(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        with locked(store_path):
            waiting = []
            for number in range(10):
                waiting.append(asyncio.create_task(put(store, f"/{number}", b"", timeout_s=DEADLINE_S)))
                await asyncio.sleep(0.01)
        assert sorted(await asyncio.gather(*waiting)) == list(range(3, 13))
        await store.close()

    prepared(store_path)
    asyncio.run(scenario())


def test_a_cancelled_commit_leaves_no_lock_thread_or_file_behind(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        with locked(store_path):
            waiting = [asyncio.create_task(put(store, "/key", b"late", timeout_s=DEADLINE_S)) for _ in range(5)]
            await asyncio.sleep(0.05)
            for task in waiting:
                task.cancel()
            await asyncio.wait_for(asyncio.wait(waiting), DEADLINE_S)
            assert all(task.cancelled() for task in waiting)
        assert await put(store, "/key", b"next", timeout_s=DEADLINE_S) == 3, "none of the cancelled ones came through"
        await store.close()

    prepared(store_path)
    before, files = threads(), open_files()
    asyncio.run(scenario())
    eventually(lambda: threads() <= before, "all threads have ended")
    eventually(lambda: open_files() == files, "all files are closed")


def test_calls_that_time_out_again_and_again_do_not_pile_up_threads(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        with locked(store_path):
            for _ in range(10):
                with pytest.raises(Unreachable):
                    await put(store, "/key", b"late", timeout_s=0.02)
            # One that has told its outcome still needs a moment to end; those that wait for the lock would stay.
            eventually(lambda: threads() <= before + 2, "at most two threads are left")
        await store.close()

    prepared(store_path)
    before = threads()
    asyncio.run(scenario())
    eventually(lambda: threads() <= before, "all threads have ended")


def test_a_foreign_program_that_locks_the_file_is_blamed(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        await store.get("/key")
        shell.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unreachable, match="another program") as caught:
            await put(store, "/key", b"late", timeout_s=0.1)
        assert str(store_path) in caught.value.fix
        entry = await store.get("/key")
        assert entry
        assert entry.value == b"early"
        shell.execute("COMMIT")
        assert await put(store, "/key", b"late") == 3
        await store.close()

    shell = sqlite3.connect(prepared(store_path), isolation_level=None)
    asyncio.run(scenario())
    shell.close()


def test_a_command_needs_no_event_loop(store_path: Path) -> None:
    """Every call, a watch included, ends with one `send`, and asyncio is not even imported."""
    script = """
import sys
from tortie.store.contract import Change, Conflict, ABSENT, Put, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.embedded.bell import Bell

def finish(call):
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("suspended")

store = EmbeddedStore(sys.argv[1], offload=inline)
assert finish(store.scan("")) == ((), 1)
assert finish(put(store, "/key", b"1")) == 2
assert finish(store.get("/key")).revision == 2
try:
    finish(put(store, "/key", b"2", expecting=ABSENT))
except Conflict as conflict:
    assert conflict.found.value == b"1"
changes = store.watch("/", after=1)
assert finish(changes.__anext__()) == Change("/key", b"1", 2)
print("watching", flush=True)
assert finish(changes.__anext__()) == Change("/key", b"other", 3)
finish(changes.aclose())
finish(store.close())
assert "asyncio" not in sys.modules
print("done", flush=True)
"""
    command = [sys.executable, "-c", script, str(store_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "watching\n"

        async def write() -> None:
            store = EmbeddedStore(store_path)
            await put(store, "/key", b"other")
            await store.close()

        asyncio.run(write())
        assert process.stdout.readline() == "done\n"
        assert process.wait(DEADLINE_S) == 0


def test_many_watches_share_one_inotify_descriptor(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        watches = [store.watch("/", after=1) for _ in range(20)]
        for changes in watches:
            assert (await anext(changes)).revision == 2
        assert open_files().count("anon_inode:inotify") == 1
        waiting = [asyncio.ensure_future(anext(changes)) for changes in watches]
        await put(store, "/key", b"late")
        assert {change.revision for change in await asyncio.gather(*waiting)} == {3}
        await store.close()

    prepared(store_path)
    files = open_files()
    asyncio.run(scenario())
    assert open_files() == files


def test_only_commits_wake_watchers_and_not_those_who_wait_or_read(store_path: Path) -> None:
    async def scenario() -> None:
        store, other = EmbeddedStore(store_path), EmbeddedStore(store_path)
        bell = Bell(f"{store_path}-lock")
        with locked(store_path):
            waiting = asyncio.create_task(put(store, "/key", b"late", timeout_s=DEADLINE_S))
            await other.scan("/")
            watching = asyncio.ensure_future(anext(other.watch("/", after=2)))
            await asyncio.sleep(0.1)
            bell.wait(0)
            assert bell.rings == 0
        await waiting
        bell.wait(DEADLINE_S)
        assert bell.rings == 1
        assert (await watching).revision == 3
        bell.close()
        await store.close()
        await other.close()

    prepared(store_path)
    asyncio.run(scenario())


def test_closing_a_store_ends_its_watches(store_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(store_path)
        waiting = asyncio.ensure_future(anext(store.watch("/", after=2)))
        await asyncio.sleep(0.05)
        await store.close()
        with pytest.raises(UsageError, match="closed"):
            await asyncio.wait_for(waiting, DEADLINE_S)
        with pytest.raises(UsageError, match="closed"):
            await store.get("/key")
        await store.close()

    prepared(store_path)
    asyncio.run(scenario())


def anext_of(changes: AsyncIterator[Change]) -> Coroutine[Any, Any, Change]:
    return cast(Coroutine[Any, Any, Change], changes.__anext__())


def test_history_is_bounded_and_nothing_current_is_lost(store_path: Path) -> None:
    """The changes of ten thousand revisions stay; what was compacted around is dropped once it is replaced."""

    store: Store = EmbeddedStore(store_path, durable=False, offload=inline)
    finish(store.commit([Put(f"/kept/{number}", b"x") for number in range(100)]))
    for number in range(11_000):
        finish(put(store, "/often", b"%d" % number))
    changes = store.watch("/", after=1)
    with pytest.raises(Compacted) as caught:
        finish(anext_of(changes))
    oldest = caught.value.oldest
    assert 11_002 - 11_000 < oldest <= 11_002 - 10_000
    assert finish(anext_of(store.watch("/", after=oldest))) == ("/often", b"%d" % (oldest - 2), oldest + 1)
    assert len(finish(store.scan("/kept/")).entries) == 100
    finish(store.commit([Put(f"/kept/{number}", b"y") for number in range(50)]))
    finish(store.commit([Delete(f"/kept/{number}") for number in range(50, 100)]))
    assert {entry.value for entry in finish(store.scan("/kept/")).entries} == {b"y"}
    finish(store.close())
    connection = sqlite3.connect(store_path)
    rows = connection.execute("SELECT count(*) FROM history WHERE id < ? * 256", (oldest,)).fetchone()
    connection.close()
    assert rows == (0,), "a replaced row from before the kept history is dropped"
