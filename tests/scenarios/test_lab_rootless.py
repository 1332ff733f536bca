"""A lab without root: the same commands for an ordinary user, where the kernel allows user namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import COMMAND
from tests.support.lab import DEADLINE_S, Lab, processes_naming
from tests.support.nobody import NOBODY, as_nobody, folder_of_nobody
from tests.support.pods import assert_reach, reach_all, run_pods


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Where another user can get at it, which pytest's own folders do not allow."""
    folder = Path(tempfile.mkdtemp(prefix="tl-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def lab(scratch: Path) -> Iterator[Lab]:
    with Lab(folder_of_nobody(scratch), before=as_nobody(scratch)) as lab:
        yield lab


def test_an_ordinary_user_has_the_same_lab(lab: Lab) -> None:
    done = lab.up("--nodes", "3")
    assert "✓ mesh 3/3 established" in done.stdout
    assert lab("status").code == 0
    keeper = next(line for line in lab.processes() if "lab keep" in line)
    assert Path(f"/proc/{keeper.split()[0]}").stat().st_uid == NOBODY
    # Sessions are established first, then routes come, and then they are the kernel's.
    way = ("ip", "route", "get", "10.244.0.130")
    lab.wait("node-1 has the route", lambda: "via 10.77.0.3 dev eth0" in lab.inside("node-1", *way))
    assert lab.inside("node-2", "hostname").strip() == "node-2"
    assert sorted(lab.inside("node-2", "ls", "/sys/class/net").split()) == ["eth0", "lo"]
    assert "node-to-node mesh" in lab.inside("node-2", "tortie", "node", "status")
    down = lab("down")
    assert "5 namespaces, 7 processes" in down.stdout
    lab.assert_gone()


def test_nodes_come_and_go_there_too(lab: Lab) -> None:
    lab.up("--nodes", "2", "--store", "etcd", "--racks", "2")
    assert "added node-3" in lab.up("--nodes", "3", "--store", "etcd", "--racks", "2").stdout
    lab("stop", "node-1", "--signal", "KILL")
    assert "started node-1" in lab.up().stdout


def test_pods_are_wired_there_too(lab: Lab) -> None:
    lab.up("--nodes", "2")
    run_pods(lab, "web", "--count", "4")
    reach_all(lab)
    assert_reach(lab, 4 * 3)
    assert lab("pod exec", "web-3", "--", "hostname").stdout == "web-3\n"
    assert lab("pod delete", "web-1", "web-2").code == 0
    run_pods(lab, "web-1")
    assert "7 namespaces" in lab("down").stdout
    lab.assert_gone()


def test_the_usual_place_is_the_users_own(scratch: Path) -> None:
    environment = Lab(folder_of_nobody(scratch)).environment
    del environment["TORTIE_LAB_DIR"]
    words = [*as_nobody(scratch), str(COMMAND), "lab"]
    name = f"usual-{os.getpid()}"  # the place is one for all test runs of the machine
    place = f"/tmp/tortie-{NOBODY}/labs/{name}"

    def run(*more: str) -> str:
        done = subprocess.run(
            [*words, *more], env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        assert done.returncode == 0, done
        return done.stdout

    try:
        run("up", "--nodes", "1", "--name", name)
        assert place in run("list")
    finally:
        run("down", "--name", name)
    assert processes_naming(place) == []
    assert not os.path.exists(place)


def test_where_the_kernel_forbids_it_the_setting_is_named(tmp_path: Path) -> None:
    """In a user namespace of the test, because the setting is one for each of them."""
    lab = Lab(tmp_path)
    forbid = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", forbid + '"$@"', "sh", *lab.words("up", "--nodes", "1")],
        env=lab.environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 1
    assert "user.max_user_namespaces" in done.stderr
    assert "Traceback" not in done.stderr
    lab.assert_gone()
