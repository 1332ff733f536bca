"""A start that is interrupted at any of its steps leaves nothing behind; a lab that was up stays up."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import DEADLINE_S, Lab

# By what is seen of each in the lab's folder.
STEPS = {
    "the folder is there": "",
    "the keeper writes": "keeper.log",
    "the keeper listens": "keeper.sock",
    "the machines are there": "lab.json",
    "the store is there": "store.db",
    "the first agent starts": "nodes/node-1/log",
    "the last agent starts": "nodes/node-4/log",
    "an agent answers": "nodes/node-2/run/tortie/agent.sock",
    "BIRD runs": "nodes/node-3/var/run/calico/bird.ctl",
}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as lab:
        yield lab


# The last node finds no address and never gets ready: the command is still at work whenever it is interrupted.
NEVER_UP = """
apiVersion: tortie/v1
kind: Lab
nodes: [node-1, node-2, node-3, {name: node-4, settings: {IP_AUTODETECTION_METHOD: interface=nope}}]
"""


def begun(lab: Lab, step: str) -> subprocess.Popen[bytes]:
    file = lab.labs.parent / "never-up.yaml"
    file.write_text(NEVER_UP)
    up = lab.start("up", "-f", str(file))
    lab.wait(step, lambda: (lab.folder / STEPS[step]).exists() or up.poll() is not None)
    return up


@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c_leaves_nothing(lab: Lab, step: str) -> None:
    with begun(lab, step) as up:
        up.send_signal(signal.SIGINT)
        _, told = up.communicate(timeout=DEADLINE_S)
    assert up.returncode == 130
    assert told == b"interrupted: nothing of the lab demo is left\n"
    lab.assert_gone()


@pytest.mark.parametrize("step", ["the keeper writes", "the machines are there", "an agent answers"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_whatever_ends_the_command_ends_the_lab(lab: Lab, step: str, number: signal.Signals) -> None:
    with begun(lab, step) as up:
        up.send_signal(number)
        up.communicate(timeout=DEADLINE_S)
    assert up.returncode in (-number, 128 + number)
    lab.wait("no process is left", lambda: not lab.processes())
    assert lab("down").code == 0
    lab.assert_gone()


def test_a_killed_command_leaves_no_folder_either(lab: Lab) -> None:
    with begun(lab, "the first agent starts") as up:
        up.kill()
        up.communicate(timeout=DEADLINE_S)
    lab.wait("the keeper has removed it", lambda: not lab.folder.exists())
    lab.wait("no process is left", lambda: not lab.processes())


@pytest.mark.parametrize("step", ["the keeper listens", "the first agent starts"])
def test_a_keeper_killed_during_the_start_is_told_and_leaves_nothing(lab: Lab, step: str) -> None:
    with begun(lab, step) as up:
        keeper = next(line for line in lab.processes() if "lab keep" in line or "cli.lab.keep" in line)
        os.kill(int(keeper.split()[0]), signal.SIGKILL)
        _, told = up.communicate(timeout=DEADLINE_S)
    assert up.returncode == 1
    assert b"demo" in told
    lab.assert_gone()


def test_an_interrupted_change_leaves_the_lab_running(lab: Lab) -> None:
    lab.up("--nodes", "1")
    before = lab.node("node-1")["pid"]
    with lab.start("up", "--nodes", "3") as up:
        lab.wait("the change has begun", lambda: (lab.folder / "nodes" / "node-3").exists() or up.poll() is not None)
        up.send_signal(signal.SIGINT)
        _, told = up.communicate(timeout=DEADLINE_S)
    assert up.returncode == 130
    assert told == (
        b"interrupted: the lab demo goes on with what was done so far; `tortie lab up --name demo` finishes it\n"
    )
    assert lab.node("node-1")["pid"] == before
    lab.up()
    assert len(lab.status()["nodes"]) == 3


def test_a_closed_terminal_is_told_by_the_exit_code(lab: Lab) -> None:
    ours, theirs = pty.openpty()
    words = lab.words("up", "--nodes", "4")
    up = subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=lab.environment | {"TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    lab.wait("it has begun", lambda: (lab.folder / "lab.json").exists() or up.poll() is not None)
    os.close(ours)
    up.send_signal(signal.SIGHUP)
    assert up.wait(DEADLINE_S) == 129
    lab.assert_gone()


def test_two_at_once_take_turns(lab: Lab) -> None:
    with lab.start("up", "--nodes", "2") as first, lab.start("up", "--nodes", "2") as second:
        told = [each.communicate(timeout=DEADLINE_S)[0] for each in (first, second)]
        assert (first.returncode, second.returncode) == (0, 0)
    assert sum(b"already up" in text for text in told) == 1
    assert lab("status").code == 0


def test_down_ends_a_start_that_is_under_way(lab: Lab) -> None:
    with begun(lab, "the first agent starts") as up:
        assert lab("down").code == 0
        _, told = up.communicate(timeout=DEADLINE_S)
    assert up.returncode == 1
    assert b"demo" in told
    lab.assert_gone()


def test_a_keeper_that_hangs_is_ended_by_down(lab: Lab) -> None:
    lab.up("--nodes", "1")
    keeper = json.loads((lab.folder / "lab.json").read_text())["pid"]
    os.kill(keeper, signal.SIGSTOP)
    assert lab("list", "-o", "json").json["labs"][0]["state"] == "partial"
    assert lab("down").code == 0
    lab.assert_gone()
