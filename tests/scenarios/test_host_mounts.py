"""Mounts of one's own: seen inside, and by nobody else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tortie.host.mounts import bind, mounted, mounts, new_mount_namespace, of_folder, seal, small_disk, unmount
from tortie.host.namespaces import enter
from tortie.model.errors import TortieError


def inside(namespace: int, work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            enter({"mnt": namespace})
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_file_is_covered_for_those_inside_alone(tmp_path: Path) -> None:
    text = tmp_path / "swaps"
    text.write_text("Filename\n/dev/sda3 partition 1 0 -2\n")
    before = Path("/proc/swaps").read_text()
    namespace = new_mount_namespace(lambda: bind(str(text), "/proc/swaps"))

    def look() -> None:
        assert Path("/proc/swaps").read_text() == text.read_text()
        assert subprocess.run(["cat", "/proc/swaps"], capture_output=True, check=True).stdout.startswith(b"Filename")
        assert mounted("/proc/swaps") == 1
        assert unmount("/proc/swaps")
        assert not unmount("/proc/swaps")
        assert Path("/proc/swaps").read_text() == before

    try:
        assert inside(namespace, look) == 0
        assert Path("/proc/swaps").read_text() == before
        assert mounted("/proc/swaps") == 0
    finally:
        os.close(namespace)


def test_a_small_disk_is_full_soon(tmp_path: Path) -> None:
    namespace = new_mount_namespace(lambda: small_disk(str(tmp_path), 65536))

    def fill() -> None:
        with pytest.raises(OSError, match="No space left on device"):
            (tmp_path / "file").write_bytes(bytes(1 << 20))

    try:
        assert inside(namespace, fill) == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        os.close(namespace)


def test_a_sealed_folder_can_be_read_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")

    def furnish() -> None:
        bind(str(tmp_path), str(tmp_path))
        seal(str(tmp_path))

    namespace = new_mount_namespace(furnish)

    def write() -> None:
        assert (tmp_path / "file").read_text() == "kept"
        with pytest.raises(OSError, match="Read-only file system"):
            (tmp_path / "other").write_text("no")

    try:
        assert inside(namespace, write) == 0
    finally:
        os.close(namespace)


@pytest.mark.parametrize("itself", [False, True], ids=["a plain folder", "a mount itself"])
def test_mounts_of_a_folder_are_told_from_those_of_the_machine(tmp_path: Path, itself: bool) -> None:
    ours, theirs = tmp_path / "our lab", tmp_path / "our lab's neighbour"

    def furnish() -> None:
        for folder in (ours, theirs):
            folder.mkdir(exist_ok=True)
            if itself:
                small_disk(str(folder), 1 << 20)
            (folder / "swaps").write_text("")
            (folder / "disk").mkdir(exist_ok=True)
        bind(str(theirs / "swaps"), "/proc/devices")
        bind(str(ours / "swaps"), "/proc/swaps")
        small_disk(str(theirs / "disk"), 65536)
        small_disk(str(ours / "disk"), 65536)

    namespace = new_mount_namespace(furnish)

    def look() -> None:
        found = {mount.place for mount in of_folder(str(ours), mounts())}
        assert found == {"/proc/swaps", str(ours / "disk"), *([str(ours)] if itself else [])}

    try:
        assert inside(namespace, look) == 0
        assert of_folder(str(ours), mounts()) == []
    finally:
        os.close(namespace)


def test_what_cannot_be_furnished_is_told(tmp_path: Path) -> None:
    with pytest.raises(TortieError, match="mounts of its own"):
        new_mount_namespace(lambda: bind(str(tmp_path / "none"), "/proc/swaps"))
