"""The lab's commands as people meet them: help, mistakes, two languages, output for programs."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Ran, Tortie
from tests.support.lab import DEADLINE_S, Lab

from tortie.cli.commands.lab import COMMAND as LAB


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two nodes that every test may look at and none may change."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        lab.up("--nodes", "2")
        yield lab


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path, TORTIE_LAB_DIR=str(tmp_path / "labs"))


PODS = [f"pod {name}" for name in LAB.commands["pod"].commands]


SHOWN = [name for name, command in LAB.commands.items() if not command.hidden]


@pytest.mark.parametrize("command", [*SHOWN, *PODS])
def test_every_command_shows_how_it_is_used(tortie: Tortie, command: str) -> None:
    done = tortie("lab", *command.split(), "--help")
    assert done.code == 0
    assert f"Usage: tortie lab {command}" in done.stdout
    assert f"Examples:\n  tortie lab {command}" in done.stdout
    assert "--lang" in done.stdout or command == "pod"


MISTAKES = {
    "an unknown command": (("lab", "upp"), "did you mean `tortie lab up`?"),
    "an unknown flag": (("lab", "up", "--notes", "3"), "did you mean --nodes?"),
    "no number": (("lab", "up", "--nodes", "many"), "--nodes many"),
    "too many nodes": (("lab", "up", "--nodes", "100000"), "--nodes"),
    "no nodes": (("lab", "up", "--nodes", "0"), "--nodes"),
    "an unknown store": (("lab", "up", "--store", "redis"), "--store"),
    "two members": (("lab", "up", "--store", "etcd", "--members", "2"), "--members"),
    "a bad name": (("lab", "up", "--name", "../x"), "'../x' cannot be the name of a lab"),
    "no such file": (("lab", "up", "-f", "nowhere.yaml"), "nowhere.yaml cannot be read"),
    "file and flags": (("lab", "up", "-f", "x.yaml", "--nodes", "3"), "--nodes"),
    "a bad time": (("lab", "up", "--timeout", "soon"), "--timeout soon"),
    "an unknown form": (("lab", "status", "-o", "yaml"), "text, json"),
    "an unknown language": (("lab", "status", "--lang", "fr"), "--lang en"),
    "an unknown colour": (("lab", "status", "--color", "red"), "--color"),
    "a word too many": (("lab", "status", "node-1"), "unexpected word"),
    "no machine": (("lab", "exec"), "NODE is missing"),
    "no pod to run": (("lab", "pod", "run"), "POD is missing"),
    "a bad name of a pod": (("lab", "pod", "run", "Web"), "'Web' cannot be the name of a pod"),
    "a bad number of pods": (("lab", "pod", "run", "web", "--count", "0"), "--count 0"),
    "a bad time for pods": (("lab", "pod", "run", "web", "--timeout", "soon"), "--timeout soon"),
    "no pod to delete": (("lab", "pod", "delete"), "either names of pods or --all"),
    "names and all": (("lab", "pod", "delete", "web-1", "--all"), "either names of pods or --all"),
    "no rounds of pings": (("lab", "ping", "--count", "0"), "--count 0"),
    "no name of a pod": (("lab", "pod", "exec", "a/b/c", "--", "true"), "'a/b/c' cannot be the name of a pod"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(tortie: Tortie, mistake: str) -> None:
    words, expected = MISTAKES[mistake]
    done = tortie.run(*words)
    assert (done.code, done.stdout) == (2, ""), done
    assert expected in done.stderr
    assert [line.split(":")[0].strip() for line in done.stderr.splitlines()][:1] == ["Error"]
    assert not (tortie.folder / "labs").exists()


COMMANDS_ON_A_LAB = [
    ("status",),
    ("graph",),
    ("exec", "node-1", "--", "true"),
    ("logs", "node-1"),
    ("ping",),
    ("pod", "run", "web-1"),
    ("pod", "list"),
    ("pod", "exec", "web-1", "--", "true"),
    ("pod", "delete", "--all"),
]


@pytest.mark.parametrize("command", COMMANDS_ON_A_LAB)
def test_a_lab_that_does_not_exist(tortie: Tortie, command: tuple[str, ...]) -> None:
    done = tortie.run("lab", *command)
    assert (done.code, done.stdout) == (1, "")
    assert "there is no lab lab" in done.stderr
    assert "tortie lab up" in done.stderr


def test_to_take_down_what_is_not_there_is_fine(tortie: Tortie) -> None:
    assert tortie.run("lab", "down") == Ran(0, "there is no lab lab\n", "")
    assert tortie.run("lab", "down", "--all") == Ran(0, "there are no labs\n", "")
    assert tortie.run("lab", "list") == Ran(0, "there are no labs; `tortie lab up` makes one\n", "")


def test_a_file_with_faults_names_each_with_its_line(tortie: Tortie) -> None:
    file = tortie.file("bad.yaml", "apiVersion: tortie/v1\nkind: Lab\nnodes: [a, a]\nstore: {kind: tape}\n")
    done = tortie.run("lab", "up", "-f", file)
    assert done.code == 2
    assert "line 4" in done.stderr
    assert tortie.run("lab", "up", "-f", "-", stdin=b"\xff\xfe").code == 2


def test_faults_of_a_file_and_of_flags_in_chinese(tortie: Tortie) -> None:
    file = tortie.file("bad.yaml", "apiVersion: tortie/v1\nkind: Lab\nnodes: [a, a]\n")
    assert tortie.run("lab", "up", "-f", file, "--lang", "zh") == Ran(
        2,
        "",
        f"错误：{file} 第 3 行：{file} 无效\n"
        "  原因：字段 nodes[1].name = “a”有误（nodes[0] 的名称相同）\n"
        "  办法：换一个名称\n",
    )
    done = tortie.run("lab", "up", "--nodes", "2", "--racks", "3", "--lang", "zh")
    assert done == Ran(2, "", "错误：--racks 3 不可行\n  原因：3 个机架只有 2 个节点\n  办法：节点数不少于机架数\n")


def test_an_unknown_machine_gets_the_list(lab: Lab) -> None:
    for command in (("exec", "node-9", "--", "true"), ("logs", "node-9"), ("stop", "node-9"), ("start", "node-9")):
        done = lab(*command)
        assert done.code == 2
        assert "node-1, node-2, router" in done.stderr


def test_the_exit_code_of_a_command_is_passed_on(lab: Lab) -> None:
    assert lab("exec", "node-1", "--", "sh", "-c", "exit 42").code == 42
    assert lab("exec", "node-1", "--", "sh", "-c", "echo out; echo err >&2") == Ran(0, "out\n", "err\n")
    assert lab("exec", "node-1", "--", "cat", stdin="given").stdout == "given"
    missing = lab("exec", "node-1", "--", "no-such-program")
    assert missing.code == 127
    assert "'no-such-program' cannot be run in node-1" in missing.stderr
    assert lab("exec", "node-1").code == 2


def test_the_only_lab_needs_no_name(lab: Lab) -> None:
    assert lab.nameless("status").code == 0
    assert lab.nameless("down").stdout == "there is no lab lab\n"
    assert lab("status").code == 0


@pytest.mark.parametrize("command", ["status", "list", "graph"])
def test_programs_get_json_and_nothing_else(lab: Lab, command: str) -> None:
    plain = lab(command, "-o", "json")
    assert (plain.code, plain.stderr) == (0, "")
    chinese = lab(command, "-o", "json", "--lang", "zh")

    def without_times(text: str) -> str:
        return re.sub(r'"(age_s|routes|since)": [^,\n]*', "", text)

    assert without_times(chinese.stdout) == without_times(plain.stdout)
    json.loads(plain.stdout)


def test_status_for_programs(lab: Lab) -> None:
    told = lab("status", "-o", "json").json
    assert told["name"] == "demo"
    assert told["store"] == "embedded"
    node = told["nodes"][0]
    assert (node["name"], node["address"], node["phase"], node["ready"]) == ("node-1", "10.77.0.1", "running", True)
    assert node["sessions"] == {"up": 1, "expected": 1}
    assert node["age_s"] > 0
    assert [machine["name"] for machine in told["machines"]] == ["router"]


def test_errors_for_programs(tortie: Tortie) -> None:
    done = tortie.run("lab", "status", "-o", "json", "--lang", "zh")
    assert done.stdout == ""
    assert json.loads(done.stderr)["what"] == "there is no lab lab"


def test_two_languages(lab: Lab, tortie: Tortie) -> None:
    assert lab("status", "--lang", "zh").stdout.split()[:4] == ["节点", "地址", "阶段", "就绪"]
    assert lab("status", LC_ALL="zh_CN.UTF-8").stdout.startswith("节点")
    assert lab("status", LC_ALL="zh_CN.UTF-8", LANG="en_US.UTF-8").stdout.startswith("节点")
    assert lab("status", "--lang", "en", LC_ALL="zh_CN.UTF-8").stdout.startswith("NODE")
    done = tortie.run("lab", "status", "--lang", "zh")
    assert done.code == 1
    assert [line.split("：")[0].strip() for line in done.stderr.splitlines()] == ["错误", "原因", "办法"]
    assert "已在运行" in lab("up", "--lang", "zh").stdout


def test_columns_of_chinese_headings_stand_above_their_values(lab: Lab) -> None:
    heads, *rows = lab("status", "--lang", "zh").stdout.splitlines()
    wide = "".join(letter + ("\0" if ord(letter) > 0x2E80 else "") for letter in heads)
    assert wide.index("地") == rows[0].index("10.77.0.1")


def test_a_command_and_a_log_as_json(lab: Lab) -> None:
    done = lab("exec", "-o", "json", "node-2", "--", "sh", "-c", "hostname; echo sorry >&2; exit 7")
    assert done.code == 7
    assert done.json == {
        "machine": "node-2",
        "command": ["sh", "-c", "hostname; echo sorry >&2; exit 7"],
        "exit_code": 7,
        "stdout": "node-2\n",
        "stderr": "sorry\n",
    }
    log = lab("logs", "node-1", "-o", "json").json
    assert any("Calico node started successfully" in line for line in log["lines"])
    assert lab("logs", "node-1", "-o", "json", "-f").code == 2


def test_a_terminal_that_knows_only_ascii_gets_only_that(lab: Lab) -> None:
    plain = {"LANG": "C", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    drawn = lab("graph", **plain)
    assert drawn.code == 0
    assert drawn.stdout.isascii()
    assert "\\u" not in drawn.stdout


@pytest.mark.parametrize(
    ("form", "beginning"), [("ascii", "Lab demo"), ("mermaid", "---"), ("dot", "graph"), ("svg", "<svg")]
)
def test_pictures(lab: Lab, form: str, beginning: str) -> None:
    done = lab("graph", "-o", form)
    assert (done.code, done.stderr) == (0, "")
    assert beginning in done.stdout[:200]
    assert "node-2" in done.stdout


def test_logs(lab: Lab) -> None:
    everything = lab("logs", "node-1").stdout
    assert "Calico node started successfully" in everything
    assert lab("logs", "node-1", "--tail", "1").stdout.count("\n") == 1
    assert lab("logs", "node-1", "--tail", "0").stdout == ""
    assert lab("logs", "node-1", "--tail", "x").code == 2
    assert re.search(r" agents: [0-9.]+ s; started node-1, node-2\n", lab("logs", "keeper").stdout)
    with lab.start("logs", "node-1", "--follow", "--tail", "1") as following:
        assert following.stdout is not None
        assert following.stdout.readline()
        with (lab.folder / "nodes" / "node-1" / "log").open("a") as log:
            log.write("something new\n")
        while b"something new" not in following.stdout.readline():
            pass
        following.terminate()


def test_colours_only_where_they_are_seen(lab: Lab) -> None:
    assert "\x1b" not in lab("status").stdout
    assert "\x1b[32m" in lab("status", "--color", "always").stdout
    assert "\x1b[32m" in at_a_terminal(lab, "status", TERM="xterm")
    assert "\x1b" not in at_a_terminal(lab, "status", TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in at_a_terminal(lab, "status", TERM="dumb")


def test_a_shell_says_where_it_is(lab: Lab) -> None:
    shown = at_a_terminal(lab, "shell", "node-2", typed="hostname\nexit\n", TERM="dumb", SHELL="/bin/bash")
    assert "[demo] node-2:" in shown
    assert "\nnode-2\r\n" in shown.replace("\r\nnode-2\r\n", "\r\n\nnode-2\r\n")


def test_progress_is_for_somebody_who_looks(lab: Lab) -> None:
    assert "nodes ready" in at_a_terminal(lab, "up", TERM="xterm")
    assert lab("up").stderr == ""


def at_a_terminal(lab: Lab, *words: str, typed: str = "", **variables: str) -> str:
    """What somebody sees; `typed` is given as if at the keyboard."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        lab.words(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=lab.environment | variables
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    seen = b""
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        assert process.wait(DEADLINE_S) == 0
    return seen.decode()
