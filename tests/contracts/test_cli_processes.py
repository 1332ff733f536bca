"""The command among other processes: pipes that close, keys that interrupt, users who act at the same time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines, pool
from tests.support.etcd_server import running_etcd

_DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Tortie:
    """More than a pipe's reader will take in one go; its tests change nothing."""
    return _with_pools(Tortie(tmp_path_factory.mktemp("crowded")), 100)


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return _with_pools(Tortie(tmp_path), 2)


def _with_pools(shell: Tortie, count: int) -> Tortie:
    pools = (pool(f"pool-{number}", f"10.{number}.0.0/16") for number in range(count))
    assert shell("apply", "-f", shell.file("pools.yaml", *pools)).code == 0
    return shell


@pytest.mark.parametrize("unbuffered", ["", "PYTHONUNBUFFERED=1 "])
@pytest.mark.parametrize("command", ["get pools -o yaml", "get pools", "get pool pool-1 gone", "datastore export"])
def test_a_reader_that_stops_early_is_no_error(crowded: Tortie, command: str, unbuffered: str) -> None:
    ran = crowded.shell(f"{{ {unbuffered}tortie {command}; echo code $? >&2; }} | head -1 >/dev/null")
    assert "Traceback" not in ran.stderr
    assert "Broken" not in ran.stderr
    assert f"code {1 if 'gone' in command else 0}" in ran.stderr


def test_closed_streams_do_not_matter(tortie: Tortie) -> None:
    assert tortie.shell("tortie get pools >&-") == (0, "", "")
    assert tortie.shell("tortie get pools 2>&-").code == 0
    assert tortie.shell("tortie get pool gone 2>&-") == (1, "", "")
    assert tortie.shell("tortie get pool gone >&- 2>&-") == (1, "", "")
    assert tortie.shell("tortie label pool pool-1 closed=yes >&- 2>&- <&-") == (0, "", "")
    ran = tortie.shell("tortie apply -f - <&-")
    assert_three_lines(ran, 2)
    assert "no resources specified in standard input" in ran.stderr


@pytest.mark.parametrize("command", ["get pools", "--help", "get pools -o yaml", "datastore export"])
def test_an_answer_that_finds_no_room_is_an_error(crowded: Tortie, command: str) -> None:
    ran = crowded.shell(f"tortie {command} >/dev/full")
    assert ran.code == 1
    assert "Error: the answer could not be written\n  why: No space left on device\n  fix:" in ran.stderr
    assert crowded.shell("tortie get pool gone 2>/dev/full").code == 1


def test_a_terminal_that_knows_no_unicode_gets_escapes(tortie: Tortie) -> None:
    assert tortie("patch", "pool", "pool-1", "-p", '{"metadata": {"annotations": {"a": "ä→猫"}}}').code == 0
    ran = tortie.run("get", "pool", "pool-1", "-o", "yaml", PYTHONIOENCODING="ascii")
    assert (ran.code, ran.stderr) == (0, "")
    assert "\\xe4\\u2192\\u732b" in ran.stdout


def test_ctrl_c_ends_a_command_that_reads_a_file(tortie: Tortie) -> None:
    pipe = tortie.folder / "pipe"
    os.mkfifo(pipe)
    process = tortie.start("apply", "-f", str(pipe), stderr=subprocess.PIPE)
    with open(pipe, "wb"):  # returns once the command has opened the other end
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=_DEADLINE_S)
    assert (process.returncode, stderr) == (130, b"interrupted\n")


def test_ctrl_c_ends_a_command_that_waits_for_etcd(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(_DEADLINE_S)
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = Tortie(tmp_path, ETCD_ENDPOINTS=endpoint).start("get", "nodes", stderr=subprocess.PIPE)
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(_DEADLINE_S)
            assert connection.recv(1)  # it has asked, and now it waits
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=_DEADLINE_S)
    assert (process.returncode, stderr) == (130, b"interrupted\n")


def _all_at_once(tortie: Tortie, commands: list[list[str]]) -> list[int]:
    running = [
        tortie.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        for words in commands
    ]
    try:
        return [process.wait(timeout=_DEADLINE_S) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_of_those_who_create_the_same_resource_one_wins(tortie: Tortie) -> None:
    file = tortie.file("new.yaml", pool("new", "192.168.0.0/16"))
    assert sorted(_all_at_once(tortie, [["create", "-f", file]] * 4)) == [0, 1, 1, 1]


def test_of_those_who_apply_the_same_version_one_wins(tortie: Tortie) -> None:
    document = tortie("get", "pool", "pool-1", "-o", "json").json
    files = []
    for number in range(4):
        document["metadata"]["labels"] = {"writer": str(number)}
        files.append(tortie.file(f"{number}.yaml", dict(document)))
    assert sorted(_all_at_once(tortie, [["apply", "-f", file] for file in files])) == [0, 1, 1, 1]


@pytest.mark.parametrize("where", ["embedded", "etcd"])
def test_nobody_s_label_is_lost_when_many_are_set_at_once(tortie: Tortie, where: str) -> None:
    def race(shell: Tortie) -> None:
        commands = [["label", "pool", "a", f"writer-{number}=was-here"] for number in range(6)]
        assert shell("apply", "-f", shell.file("a.yaml", pool("a", "172.16.0.0/16"))).code == 0
        assert _all_at_once(shell, commands) == [0] * 6
        labels = shell("get", "pool", "a", "-o", "json").json["metadata"]["labels"]
        assert labels == {f"writer-{number}": "was-here" for number in range(6)}

    if where == "embedded":
        race(tortie)
    else:
        with running_etcd() as etcd:
            race(Tortie(tortie.folder, ETCD_ENDPOINTS=etcd.endpoint))


def test_the_kubectl_plugin_is_the_same_command_under_its_own_name(tortie: Tortie) -> None:
    assert tortie.shell("kubectl-tortie get pools -o name") == tortie.shell("tortie get pools -o name")
    assert "Usage: kubectl tortie get [OPTIONS] [KIND] [NAME]..." in tortie.shell("kubectl-tortie get --help").stdout
    assert "did you mean `kubectl tortie get`?" in tortie.shell("kubectl-tortie gte").stderr
