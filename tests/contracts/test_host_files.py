"""Small files on a real file system: whole or not at all, also when the disk is full or the writer is killed."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest
from tests.support.embedded import eventually

from tortie.host import files
from tortie.host.files import read_text, refuse_unwritable, write_whole
from tortie.model.errors import TortieError

fork = multiprocessing.get_context("fork")

SIZE = 200_000  # so large that a write is not over at once


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(letter: bytes) -> bytes:
    return letter * SIZE


def in_private_mounts(script: str, folder: Path) -> str:
    """Runs shell commands that may mount things on the folder; what they mount goes with them. Their output."""
    command = ["unshare", "--mount", "--propagation", "private"]
    command += [] if os.geteuid() == 0 else ["--map-root-user"]
    environment = {**os.environ, "FOLDER": str(folder), "PYTHON": sys.executable}
    run = subprocess.run(
        [*command, "sh", "-ec", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


ATTEMPT = """
import sys
from tortie.host.files import write_whole
from tortie.model.errors import TortieError
try:
    write_whole(sys.argv[1], b"x" * int(sys.argv[2]))
except TortieError as error:
    print(error.what, error.why, error.fix, sep="\\n")
"""


def test_a_file_is_written_as_it_is_with_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_whole(str(tmp_path / "nodename"), b"node1")
    finally:
        os.umask(before)
    path = tmp_path / "nodename"
    assert path.read_bytes() == b"node1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert listing(tmp_path) == ["nodename"]


def test_a_file_is_replaced_and_its_mode_with_it(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"a much longer text than the next one")
    path.chmod(0o666)
    write_whole(str(path), b"new", mode=0o600)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_reader_that_has_the_old_file_open_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "nodename"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        write_whole(str(path), b"new")
        assert reader.read() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "nodename"
    target.write_bytes(b"old")
    link = tmp_path / "nodename"
    link.symlink_to(target)
    write_whole(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_file_in_the_current_folder_needs_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("nodename", b"node1")
    assert read_text("nodename") == "node1"


def test_a_missing_folder_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(TortieError) as refused:
        write_whole(str(tmp_path / "not" / "there" / "nodename"), b"node1")
    assert str(tmp_path / "not" / "there" / "nodename") in refused.value.what
    assert f"mkdir -p {tmp_path}/not/there" in refused.value.fix


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_neither_read_nor_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "nodename"
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    with pytest.raises(TortieError) as unread:
        read_text(str(path))
    with pytest.raises(TortieError) as unwritten:
        write_whole(str(path), b"node1")
    for refused in (unread, unwritten):
        assert refused.value.why
        assert refused.value.fix
    assert path.is_dir() if kind == "folder" else path.is_fifo()
    assert listing(tmp_path) == ["nodename"]


def test_a_device_is_not_replaced_by_a_file() -> None:
    with pytest.raises(TortieError, match="not a file"):
        write_whole("/dev/null", b"node1")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_full_disk_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    script = """
        mount -t tmpfs -o size=64k tmpfs "$FOLDER"
        printf old > "$FOLDER/nodename"
        "$PYTHON" -c "$ATTEMPT" "$FOLDER/nodename" 1000000
        echo "content: $(cat "$FOLDER/nodename")"
        echo "files: $(ls -A "$FOLDER")"
        "$PYTHON" -c "$ATTEMPT" "$FOLDER/nodename" 3
        echo "then: $(cat "$FOLDER/nodename")"
    """
    what, why, fix, *rest = in_private_mounts(f"ATTEMPT='{ATTEMPT}'\n{script}", tmp_path).splitlines()
    assert "nodename cannot be written" in what
    assert why == "no space left on device"
    assert f"df -h {tmp_path}" in fix
    assert rest == ["content: old", "files: nodename", "then: xxx"]


def test_a_folder_mounted_read_only_is_named(tmp_path: Path) -> None:
    (tmp_path / "nodename").write_bytes(b"old")
    script = 'mount --bind "$FOLDER" "$FOLDER"; mount -o remount,bind,ro "$FOLDER"\n'
    script += '"$PYTHON" -c "$ATTEMPT" "$FOLDER/nodename" 3'
    _, why, fix = in_private_mounts(f"ATTEMPT='{ATTEMPT}'\n{script}", tmp_path).splitlines()
    assert why == "read-only file system"
    assert f"mount {tmp_path} writable" in fix
    assert (tmp_path / "nodename").read_bytes() == b"old"


def test_a_single_file_mounted_into_a_container_is_explained(tmp_path: Path) -> None:
    (tmp_path / "nodename").write_bytes(b"old")
    (tmp_path / "mounted").write_bytes(b"mounted")
    script = 'mount --bind "$FOLDER/mounted" "$FOLDER/nodename"\n"$PYTHON" -c "$ATTEMPT" "$FOLDER/nodename" 3\n'
    script += 'echo "files: $(ls -A "$FOLDER" | tr "\\n" " ")"'
    _, why, fix, left = in_private_mounts(f"ATTEMPT='{ATTEMPT}'\n{script}", tmp_path).splitlines()
    assert "busy" in why
    assert "not the single file" in fix
    assert left.split() == ["files:", "mounted", "nodename"]


def test_reading(tmp_path: Path) -> None:
    assert read_text(str(tmp_path / "nodename")) is None
    assert read_text(str(tmp_path / "no" / "nodename")) is None
    (tmp_path / "nodename").write_text("nœud1\n")
    assert read_text(str(tmp_path / "nodename")) == "nœud1\n"
    (tmp_path / "nodename").write_bytes(b"node\xff1")
    with pytest.raises(TortieError) as refused:
        read_text(str(tmp_path / "nodename"))
    assert refused.value.why == "byte 5 is not UTF-8 text"
    with pytest.raises(TortieError) as refused:
        read_text(str(tmp_path / "nodename" / "inside"))
    assert refused.value.why == "not a directory"


@contextmanager
def writing(path: Path, *letters: bytes, times: int = sys.maxsize) -> Iterator[list[ForkProcess]]:
    """A process for each letter that writes a file of it over and over. None outlives the block."""

    def write_again_and_again(letter: bytes) -> None:
        for _ in range(times):
            write_whole(str(path), contents(letter))

    processes = [fork.Process(target=write_again_and_again, args=(letter,)) for letter in letters]
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


def whole(path: Path) -> bool:
    text = path.read_bytes()
    return len(text) == SIZE and len(set(text)) == 1


def test_several_write_the_same_file_at_once_and_readers_see_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "record"
    write_whole(str(path), contents(b"-"))

    def look() -> bool:
        assert whole(path)
        return all(writer.exitcode is not None for writer in writers)

    with writing(path, b"a", b"b", b"c", times=150) as writers:
        eventually(look, "all have written")
        assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert listing(tmp_path) == ["record"]


def test_a_writer_killed_at_any_moment_leaves_a_whole_file_and_harms_nobody(tmp_path: Path) -> None:
    path, beside = tmp_path / "record", tmp_path / ".record.new"
    write_whole(str(path), contents(b"-"))
    left_behind = 0
    for letter in b"abcdefghijklmnopqrstuvwxyz":
        with writing(path, bytes([letter])):
            eventually(lambda letter=letter: path.read_bytes()[0] == letter, "the writer is at work")  # type: ignore[misc]
            eventually(beside.exists, "it is in the middle of the next write")
        assert whole(path)
        assert set(listing(tmp_path)) <= {"record", ".record.new"}
        left_behind += beside.exists()
    assert left_behind, "no writer was killed in the middle of a write"
    write_whole(str(path), contents(b"z"))
    assert path.read_bytes() == contents(b"z")
    assert listing(tmp_path) == ["record"]


def test_what_a_killed_writer_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".nodename.new").write_bytes(b"half of a longer content")
    write_whole(str(tmp_path / "nodename"), b"node1")
    assert (tmp_path / "nodename").read_bytes() == b"node1"
    assert listing(tmp_path) == ["nodename"]


def test_a_writer_that_hangs_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LOCK_WAIT_S", 0.05)
    with (tmp_path / ".nodename.new").open("wb") as hanging:
        fcntl.flock(hanging, fcntl.LOCK_EX)
        with pytest.raises(TortieError) as refused:
            write_whole(str(tmp_path / "nodename"), b"node1")
    assert "another process has been writing" in refused.value.why
    assert "fuser" in refused.value.fix


def test_a_writer_waits_for_the_one_before_it(tmp_path: Path) -> None:
    path = tmp_path / "nodename"
    waiting = threading.Thread(target=write_whole, args=(str(path), b"second"))
    with (tmp_path / ".nodename.new").open("wb") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        waiting.start()
        first.write(b"first")
        first.flush()
        assert not path.exists()
        os.rename(tmp_path / ".nodename.new", path)
    waiting.join()
    assert path.read_bytes() == b"second"
    assert listing(tmp_path) == ["nodename"]


def test_a_file_that_was_moved_to_its_place_before_we_had_it_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer ends between our opening of its file and our lock: too short a moment to hit by trying."""
    path, beside = tmp_path / "nodename", tmp_path / ".nodename.new"
    lock = fcntl.flock
    published: list[os.stat_result] = []

    def lock_late(descriptor: int, operation: int) -> None:
        if not published:
            beside.write_bytes(b"first")
            beside.rename(path)
            published.append(path.stat())
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    write_whole(str(path), b"second")
    assert path.read_bytes() == b"second"
    assert path.stat().st_ino != published[0].st_ino, "a reader of the first file saw it change"
    assert listing(tmp_path) == ["nodename"]


def test_a_place_is_tried_without_leaving_anything_there(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("as it was")
    refuse_unwritable(str(tmp_path / "new"))
    refuse_unwritable(str(tmp_path / "old"))
    assert listing(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "as it was"


@pytest.mark.parametrize("place", ["missing/file", "file/below", "folder", "pipe"])
def test_a_place_is_refused_as_writing_there_would_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    path = str(tmp_path / place)
    with pytest.raises(TortieError) as tried:
        refuse_unwritable(path)
    with pytest.raises(TortieError) as written:
        write_whole(path, b"")
    for field in ("what", "why", "fix"):
        assert getattr(tried.value, field) == getattr(written.value, field)
    assert listing(tmp_path) == ["file", "folder", "pipe"]
