"""Plays as somebody sees them: one from its beginning to its end, in Chinese, and that nothing of a play is left.

What the other seven show is what the scenarios of their incidents assert.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.cli import COMMAND
from tests.support.lab import Lab

from tortie.lab.plays.catalogue import names
from tortie.lab.plays.recording import read_cast
from tortie.model.measure import columns

pytestmark = pytest.mark.timeout(180)


def test_the_list_of_plays(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    english, chinese, told = (lab.nameless("play", *words) for words in ((), ("--lang", "zh"), ("-o", "json")))
    for listed in (english, chinese):
        assert listed.code == 0
        assert [line.split()[0] for line in listed.stdout.splitlines()] == names()
        assert all(columns(line) <= 80 for line in listed.stdout.splitlines())
    assert "docker 网桥成了节点地址" in chinese.stdout
    assert [each["name"] for each in json.loads(told.stdout)["plays"]] == names()


def test_a_play_that_there_is_not(tmp_path: Path) -> None:
    done = Lab(tmp_path).nameless("play", "docker-brigde")
    assert done.code == 2
    assert "did you mean docker-bridge?" in done.stderr


def test_docker_bridge_in_chinese(tmp_path: Path) -> None:
    record = tmp_path / "docker-bridge.zh.cast"
    with Lab(tmp_path, "play") as lab:
        words = [
            str(COMMAND),
            "lab",
            "play",
            "docker-bridge",
            "--name",
            "play",
            "--lang",
            "zh",
            "--record",
            str(record),
        ]
        done = subprocess.run(words, capture_output=True, env=lab.environment, timeout=170, check=False)
        text = done.stdout.decode()
        assert done.returncode == 0, text
        assert done.stderr == b""
        lab.assert_gone()
    assert all(columns(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    assert str(tmp_path) not in text
    told = " ".join(text.split())
    for wanted in (
        "事件 2：docker 网桥成了节点地址",
        "BIRD is not ready: BGP not established with 172.18.0.1",
        "已找到原因：TRT1001 autodetect-wrong-interface",
        "一切如初",
        "健康：目前没有发现问题。",
        "同样的故障，换成 Tortie 自己的节点",
        "实验环境已全部清除",
    ):
        assert wanted in told, f"{wanted} is missing in\n{text}"
    assert read_cast(record.read_text()).text.strip() == text.strip()


def test_an_interrupted_play_leaves_nothing(tmp_path: Path) -> None:
    with Lab(tmp_path, "play") as lab:
        playing = lab.start("play", "swap-on")
        lab.wait("the lab of the play is there", lambda: os.path.exists(lab.folder / "lab.json"))
        playing.send_signal(signal.SIGINT)
        _, said = playing.communicate(timeout=90)
        assert playing.returncode == 130
        assert "interrupted: nothing of the lab play is left" in said.decode()
        lab.assert_gone()


def test_a_lab_that_is_there_is_left_alone(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "mine")
    lab.folder.mkdir(parents=True)
    done = lab("play", "swap-on")
    assert done.code == 1
    assert "there is a lab mine already" in done.stderr
    assert lab.folder.exists()
