"""The embedded store under many processes: killed, stopped, forked, fifty at once."""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from tests.support.embedded import DEADLINE_S, eventually

from tortie.cli.session import finish
from tortie.store.contract import ABSENT, Change, Conflict, Put, Store, Unreachable, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.embedded.bell import Bell
from tortie.store.embedded.call import Call
from tortie.store.embedded.turns import Turns

Result = TypeVar("Result")

fork = multiprocessing.get_context("fork")


@contextmanager
def running(*targets: Callable[[], None]) -> Iterator[list[ForkProcess]]:
    """Each in a process of its own; none outlives the block."""
    processes = [fork.Process(target=target) for target in targets]
    try:
        for process in processes:
            process.start()
        yield processes
    finally:
        for process in processes:
            if process.pid:
                process.kill()
                process.join()
            process.close()


def join_all(processes: list[ForkProcess]) -> None:
    for process in processes:
        process.join(DEADLINE_S)
        assert process.exitcode == 0


def record_changes(path: Path, into: Path, last_key: str) -> None:
    """What a watcher process does: notes every change, until the last one."""
    changes = EmbeddedStore(path, offload=inline).watch("", after=1)
    with into.open("w", buffering=1) as notes:
        while True:
            change: Change = finish(cast(Any, changes.__anext__()))
            notes.write(f"{change.revision} {change.key} {(change.value or b'-').decode()}\n")
            if change.key == last_key:
                return


def history(path: Path) -> list[Change]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT key, value, id >> 8 FROM history ORDER BY id").fetchall()
    connection.close()
    return [Change(*row) for row in rows]


def count_for_ever(path: Path, notes: Path) -> None:
    """A writer that raises contended counters and notes every acknowledged write; it is going to be killed."""
    store = EmbeddedStore(path, offload=inline)
    chance = random.Random(os.getpid())
    with notes.open("ab", buffering=0) as acknowledged:
        while True:
            key = f"/counter/{chance.randrange(3)}"
            entry = finish(store.get(key))
            value = b"%d" % (int(entry.value) + 1 if entry else 0)
            try:
                revision = finish(
                    store.commit([Put(key, value, entry.revision if entry else ABSENT), Put(f"/last{key}", value)])
                )
            except Conflict:
                continue
            acknowledged.write(b"%s %s %d\n" % (key.encode(), value, revision))


def has_written(notes: Path) -> bool:
    """Something was acknowledged: the file alone is there before that."""
    return notes.exists() and notes.stat().st_size > 0


def test_killing_writers_loses_nothing_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    chance = random.Random(1)
    notes = [tmp_path / f"writer-{number}" for number in range(46)]
    seen = tmp_path / "seen"

    def writer(number: int) -> ForkProcess:
        process = fork.Process(target=count_for_ever, args=(path, notes[number]))
        process.start()
        return process

    with running(lambda: record_changes(path, seen, "/end")) as watchers:
        writers = [writer(number) for number in range(6)]
        try:
            for number in range(6, len(notes)):
                eventually(lambda: all(map(has_written, notes[:number])), "all writers write")  # noqa: B023
                time.sleep(chance.random() * 0.05)  # any moment will do
                victim = writers.pop(chance.randrange(len(writers)))
                victim.kill()
                victim.join()
                victim.close()
                writers.append(writer(number))
            eventually(lambda: all(map(has_written, notes)), "the last writer writes, too")
        finally:
            for process in writers:
                process.kill()
                process.join()
                process.close()
        store = EmbeddedStore(path, offload=inline)
        finish(put(store, "/end", b"end", timeout_s=DEADLINE_S))
        join_all(watchers)

    changes = history(path)
    revisions = sorted({change.revision for change in changes})
    assert revisions == list(range(2, len(revisions) + 2)), "no revision is missing"
    assert len(revisions) > len(notes), "there was something to lose"
    for counter in range(3):
        values = [int(change.value or b"") for change in changes if change.key == f"/counter/{counter}"]
        assert values == list(range(len(values))), "nobody wrote over another one's write"
        doubles = [int(change.value or b"") for change in changes if change.key == f"/last/counter/{counter}"]
        assert doubles == values, "no commit happened by half"
    written = {(change.key, change.value, change.revision) for change in changes}
    for note in notes:
        for line in note.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                key, value, revision = line.split()
                assert (key.decode(), value, int(revision)) in written, "an acknowledged write is lost"
    latest = {change.key: change for change in changes}
    assert {entry.key: Change(*entry) for entry in finish(store.scan("")).entries} == latest
    assert seen.read_text().splitlines() == [
        f"{change.revision} {change.key} {(change.value or b'').decode()}" for change in changes
    ]
    finish(store.close())
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_writer_killed_right_after_its_commit_still_wakes_the_watchers(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    def commit_and_die() -> None:
        Turns._end = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        finish(put(EmbeddedStore(path, offload=inline), "/last", b"words"))

    finish(put(EmbeddedStore(path, offload=inline), "/first", b""))
    with running(lambda: record_changes(path, tmp_path / "seen", "/last")) as watchers:
        eventually(lambda: (tmp_path / "seen").exists() and bool((tmp_path / "seen").read_text()), "it watches")
        with running(commit_and_die) as (writer,):
            writer.join(DEADLINE_S)
            assert writer.exitcode == -signal.SIGKILL
        join_all(watchers)


def test_of_eight_busy_writers_none_starves(tmp_path: Path) -> None:
    """Whoever is first done with its share finds the others well on their way, too."""
    path = tmp_path / "store.db"
    share, writers = 400, 8
    done = mmap.mmap(-1, mmap.PAGESIZE)
    start = fork.Barrier(writers)

    def write(number: int) -> Callable[[], None]:
        def loop() -> None:
            store = EmbeddedStore(path, offload=inline)
            finish(put(store, f"/writer/{number}", b""))
            start.wait(DEADLINE_S)
            count = 0
            while not done[0]:
                finish(put(store, f"/writer/{number}", b"%d" % count, timeout_s=DEADLINE_S))
                count += 1
                if count == share:
                    done[0] = 1

        return loop

    with running(*map(write, range(writers))) as processes:
        join_all(processes)
    done.close()
    store = EmbeddedStore(path, offload=inline)
    counts = [int(entry.value) + 1 for entry in finish(store.scan("/writer/")).entries]
    finish(store.close())
    assert len(counts) == writers
    assert min(counts) > share / 4, counts


def test_fifty_watcher_processes_see_every_change(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    notes = [tmp_path / f"seen-{number}" for number in range(50)]
    store = EmbeddedStore(path, offload=inline)
    finish(put(store, "/begin", b""))

    def watch(note: Path) -> Callable[[], None]:
        return lambda: record_changes(path, note, "/end")

    with running(*map(watch, notes)) as watchers:
        eventually(lambda: all(note.exists() and note.read_text() for note in notes), "all watch")
        for number in range(30):
            finish(store.commit([Put(f"/key/{number % 7}", b"%d" % number), Put(f"/other/{number}", b"x")]))
        finish(put(store, "/end", b"x"))
        join_all(watchers)
    everything = [f"{change.revision} {change.key} {(change.value or b'-').decode()}" for change in history(path)]
    assert len(everything) == 62
    for note in notes:
        assert note.read_text().splitlines() == everything
    finish(store.close())


@contextmanager
def stopped_lock_holder(path: Path) -> Iterator[int]:
    """A writer that got its turn and was then stopped, as by Ctrl-Z."""
    ready = fork.Event()

    def hold() -> None:
        with open(f"{path}-lock", "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ready.set()
            time.sleep(DEADLINE_S)

    with running(hold) as (holder,):
        assert ready.wait(DEADLINE_S)
        assert holder.pid
        os.kill(holder.pid, signal.SIGSTOP)
        eventually(lambda: Path(f"/proc/{holder.pid}/stat").read_text().split()[2] == "T", "it is stopped")
        yield holder.pid


@pytest.mark.parametrize("in_event_loop", [True, False])
def test_a_stopped_writer_is_named_and_hinders_only_writers(tmp_path: Path, in_event_loop: bool) -> None:
    path = tmp_path / "store.db"

    def run(work: Callable[[Store], Coroutine[Any, Any, Result]]) -> Result:
        if in_event_loop:
            return asyncio.run(work(EmbeddedStore(path)))
        return finish(work(EmbeddedStore(path, offload=inline)))

    async def meet_the_stopped_one(store: Store) -> Unreachable:
        with pytest.raises(Unreachable) as caught:
            await put(store, "/key", b"late", timeout_s=0.3)
        entry = await store.get("/key", timeout_s=DEADLINE_S)
        assert entry
        assert entry.value == b"early"
        assert len((await store.scan("/", timeout_s=DEADLINE_S)).entries) == 1
        await store.close()
        return caught.value

    async def go_on(store: Store) -> None:
        assert await put(store, "/key", b"again", timeout_s=DEADLINE_S) == 3
        await store.close()

    finish(put(EmbeddedStore(path, offload=inline), "/key", b"early"))
    with stopped_lock_holder(path) as pid:
        error = run(meet_the_stopped_one)
        assert str(path) in error.what
        assert str(pid) in error.why
        assert "stopped" in error.why
        assert f"kill -CONT {pid}" in error.fix
        assert not error.uncertain
    run(go_on)


def test_a_process_that_waits_for_its_turn_can_exit(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    finish(put(EmbeddedStore(path, offload=inline), "/key", b"early"))

    def give_up() -> None:
        with pytest.raises(Unreachable):
            finish(put(EmbeddedStore(path, offload=inline), "/key", b"late", timeout_s=0.1))
        sys.exit(0)

    with stopped_lock_holder(path), running(give_up) as processes:
        join_all(processes)


def test_parent_and_forked_children_share_a_store(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "store.db", offload=inline)
    finish(put(store, "/parent", b"before"))
    assert finish(store.get("/parent"))

    def child(number: int) -> Callable[[], None]:
        def write() -> None:
            assert finish(store.get("/parent"))
            for turn in range(20):
                finish(put(store, f"/child/{number}/{turn}", b"", timeout_s=DEADLINE_S))

        return write

    with running(*map(child, range(4))) as children:
        for turn in range(20):
            finish(put(store, f"/parent/{turn}", b"", timeout_s=DEADLINE_S))
        join_all(children)
    listing = finish(store.scan("/"))
    assert len(listing.entries) == 101
    assert listing.revision == 102
    finish(store.close())


def test_a_child_forked_during_a_turn_keeps_neither_the_lock_nor_the_bell(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "store.db", offload=inline)
    finish(put(store, "/key", b""))
    bell = Bell(f"{store.path}-lock")
    children: list[ForkProcess] = []

    def fork_a_child() -> None:
        children.append(fork.Process(target=time.sleep, args=(DEADLINE_S,)))
        children[0].start()

    store._turns.take(Call("test", DEADLINE_S), fork_a_child)
    try:
        bell.wait(DEADLINE_S / 2)
        assert bell.rings == 1
        finish(put(EmbeddedStore(store.path, offload=inline), "/key", b"", timeout_s=DEADLINE_S / 2))
        assert children[0].is_alive()
    finally:
        children[0].kill()
        children[0].join()
        children[0].close()
        bell.close()
    finish(store.close())
