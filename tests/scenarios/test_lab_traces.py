"""Whatever is left of a lab is found, and nothing else is taken for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.netns import Namespace

from tortie.host import wiring
from tortie.host.namespaces import Mark, Namespaces, close, mark, new_namespaces
from tortie.host.netlink import Netlink
from tortie.lab.planning import plan as planned
from tortie.lab.topology import from_flags
from tortie.lab.traces import Remains, cgroup_name, remains
from tortie.lab.wires import link_names

NOWHERE = "/nonexistent/lab"
DEADLINE_S = 60.0


@pytest.fixture
def machine() -> Iterator[Namespaces]:
    namespaces = new_namespaces("net")
    yield namespaces
    close(namespaces)


def of(*namespaces: Namespaces) -> list[Mark]:
    return [mark(each["net"]) for each in namespaces]


def left_in_the_end(marks: list[Mark]) -> Remains:
    """What is still there after a while: a killed process does not go at once."""
    deadline = time.monotonic() + DEADLINE_S
    while (found := remains(NOWHERE, marks)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def test_a_process_in_the_lab_and_one_that_holds_it_open(machine: Namespaces) -> None:
    marks = of(machine)
    assert remains(NOWHERE, marks).counts() == {
        **{"processes": 0, "holders": 1, "mounts": 0, "links": 0, "cgroups": 0, "files": 0}  # we ourselves
    }
    with subprocess.Popen(
        ["nsenter", f"--net=/proc/self/fd/{machine['net']}", "sleep", "1000"], pass_fds=[machine["net"]]
    ) as inside:
        try:
            deadline = time.monotonic() + DEADLINE_S
            # nsenter is there first, and becomes the other.
            while (found := remains(NOWHERE, marks)).processes != (f"pid {inside.pid}, sleep 1000",):
                assert time.monotonic() < deadline, found
        finally:
            inside.kill()
    assert [holder.split(",")[0] for holder in found.holders] == [f"pid {os.getpid()}"]
    close(machine)
    assert not left_in_the_end(marks)


def test_a_mount_keeps_a_namespace(machine: Namespaces, tmp_path: Path) -> None:
    """As `ip netns attach` does it, in a path that the kernel has to write with an escape."""
    marks = of(machine)
    place = tmp_path / "my lab"
    place.touch()
    source = f"/proc/{os.getpid()}/fd/{machine['net']}"
    subprocess.run(["mount", "--bind", source, str(place)], check=True)
    try:
        assert remains(NOWHERE, marks).mounts == (str(place),)
        close(machine)
        found = remains(NOWHERE, marks)
        assert (found.holders, found.mounts) == ((), (str(place),))
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert not left_in_the_end(marks)


def test_a_number_that_the_kernel_gave_to_another_namespace(machine: Namespaces) -> None:
    """The number is the same, the cookie is not: it is not ours."""
    (known,) = of(machine)
    assert known.cookie
    assert remains(NOWHERE, [known]).holders
    assert not remains(NOWHERE, [known._replace(cookie=known.cookie + 1)])


def test_where_numbers_are_all_there_is_a_process_must_have_to_do_with_the_lab(
    machine: Namespaces, tmp_path: Path
) -> None:
    """Kernels before 5.14 have no cookies; what `down` kills there must not be some container of somebody else."""
    marks = [known._replace(cookie=0) for known in of(machine)]
    folder = tmp_path / "lab"
    folder.mkdir()
    assert remains(str(folder), marks).holders == ()
    with (folder / "log").open("w"):
        assert len(remains(str(folder), marks).holders) == 1
    command = ["nsenter", f"--net=/proc/self/fd/{machine['net']}", "sleep", "1000"]
    environment = {**os.environ, "TORTIE_ROOT": f"{folder}/nodes/node-1"}
    with subprocess.Popen(command, pass_fds=[machine["net"]], env=environment) as inside:
        try:
            deadline = time.monotonic() + DEADLINE_S
            while not (found := remains(str(folder), marks)).processes:
                assert time.monotonic() < deadline, found
            assert not remains(str(tmp_path / "other"), marks).processes
        finally:
            inside.kill()


def test_an_own_user_namespace_hides_nothing() -> None:
    """Without root, a process in a lab of ours is known by its cookie, from outside of the lab's user namespace."""
    done = subprocess.run(
        [
            *("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"),
            *(sys.executable, "-c", WITHOUT_ROOT),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    known, other, own = json.loads(done.stdout)
    assert known == {"processes": 1, "holders": 0, "mounts": 0, "links": 0, "cgroups": 0, "files": 0}
    assert other == own == dict.fromkeys(known, 0)


WITHOUT_ROOT = """
import json, os
from tortie.host.namespaces import Mark, enter, mark, new_namespaces, user_namespace
from tortie.lab.traces import remains
ours, theirs = os.pipe()
child = os.fork()
if child == 0:
    user_namespace()
    place = new_namespaces("net")
    told = json.dumps(mark(place["net"]))
    enter(place)
    os.close(place["net"])
    os.write(theirs, told.encode())
    os.close(ours)
    import time
    time.sleep(1000)
known = Mark(*json.loads(os.read(ours, 1000)))
assert known.cookie
counts = [remains("/nonexistent", [each]).counts() for each in (known, known._replace(cookie=known.cookie + 1))]
os.kill(child, 9)
os.waitpid(child, 0)
print(json.dumps([*counts, remains("/nonexistent", [known]).counts()]))
"""


def test_files_below_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "labs" / "lab"
    assert not remains(str(folder))
    (folder / "nodes" / "node-1").mkdir(parents=True)
    (folder / "nodes" / "node-1" / "log").touch()
    (folder.parent / "lab-2").mkdir()
    found = remains(str(folder))
    assert set(found.files) == {
        *(str(folder / path) for path in ("nodes", "nodes/node-1", "nodes/node-1/log")),
        str(folder),
    }
    assert found.counts()["files"] == 4


def test_a_mount_below_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    (folder / "run").mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder / "run")], check=True)
    try:
        assert remains(str(folder)).mounts == (str(folder / "run"),)
        assert remains(str(tmp_path / "la")).mounts == ()
    finally:
        subprocess.run(["umount", str(folder / "run")], check=True)


def test_links_of_the_lab_in_our_own_network() -> None:
    names = link_names(planned(from_flags(3), "lab"))
    assert "eth0" not in names  # every machine has one

    def found_after_adding(name: str) -> tuple[str, ...]:
        with Netlink() as kernel:
            kernel.request_all([wiring.add_bridge(name)], time.monotonic() + DEADLINE_S)
        return remains(NOWHERE, link_names=names).links

    with Namespace("own") as own:
        assert own.call(found_after_adding, "eth0") == ()
        assert own.call(found_after_adding, "fabric") == ("fabric",)
        assert own.call(found_after_adding, "node-3_eth0") == ("fabric", "node-3_eth0")


def test_cgroups_named_after_the_lab() -> None:
    folder = f"{NOWHERE}/traces-{os.getpid()}"
    roots = [Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")]
    root = next(path for path in roots if (path / "cgroup.procs").exists())
    cgroup = root / cgroup_name(folder)
    cgroup.mkdir()
    try:
        assert remains(folder).cgroups == (str(cgroup),)
        assert remains(f"{folder}0").cgroups == ()
        assert remains(f"/elsewhere{folder}").cgroups == (), "a lab of the same name, which is not ours"
    finally:
        cgroup.rmdir()
    assert not remains(folder)
