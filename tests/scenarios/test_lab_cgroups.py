"""How much CPU a node gets: really, by the kernel's control groups."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tortie.lab.cgroups import Cgroups, remove
from tortie.lab.traces import cgroup_name

LAB = f"/run/tortie/labs/cgroup-test-{os.getpid()}"


@pytest.fixture
def groups() -> Iterator[Cgroups]:
    groups = Cgroups(LAB)
    if not groups.folder("node-1"):
        pytest.fail("these tests need root and a control group for CPU: run them as root, on the machine itself")
    yield groups
    groups.close()
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{cgroup_name(LAB)}"))


def test_a_limit_is_said_and_taken_back(groups: Cgroups) -> None:
    assert groups.percent("node-1") is None
    assert groups.limit("node-1", 12.5)
    assert groups.percent("node-1") == 12.5
    assert groups.limit("node-1", None)
    assert groups.percent("node-1") is None


def test_who_joins_gets_no_more_than_the_limit(groups: Cgroups) -> None:
    groups.limit("node-1", 10)
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert groups.join("node-1", hog.pid)
        used, began = _cpu_s(hog.pid), time.monotonic()
        time.sleep(2)
        share = (_cpu_s(hog.pid) - used) / (time.monotonic() - began)
        assert share < 0.5, "a hog alone on a core would get all of it"
    finally:
        hog.kill()
        hog.wait()


def test_what_a_lost_keeper_left_is_removed() -> None:
    groups = Cgroups(LAB)
    assert groups.folder("node-1")
    remove(LAB)
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{cgroup_name(LAB)}"))


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
