"""A log that is followed ends with its container, and nothing of what that said last is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.kube_objects import pod, running, status, terminated, waiting

from tortie.cli.lab import kubectl_logs
from tortie.cli.lab.kubectl import Place
from tortie.lab.failures import LabFailure
from tortie.lab.kubectl.kinds import Thing
from tortie.lab.kubectl.logs import goes_on
from tortie.lab.kubectl.reading import LogFile
from tortie.lab.kubectl.words import Request, request_of
from tortie.lab.registry import LabFolder

RUNS = pod("a", main=[status("calico-node", running(5))])
AGAIN = pod("a", main=[status("calico-node", running(1), terminated(1, "Error", 6, 5), restarts=1)])
ENDED = pod("a", main=[status("calico-node", terminated(0, "Completed", 6, 5))])
LOOP = pod("a", main=[status("calico-node", waiting("CrashLoopBackOff"), terminated(1, "Error", 6, 5), restarts=1)])
ANOTHER = {**RUNS, "metadata": {**RUNS["metadata"], "uid": "another"}}


def with_id(ident: str) -> Thing:
    told = {**status("calico-node", running(5)), "containerID": ident}
    return pod("a", main=[told])


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (RUNS, RUNS, True),
        (RUNS, None, False),
        (RUNS, ANOTHER, False),
        (RUNS, AGAIN, False),
        (RUNS, ENDED, False),
        (RUNS, LOOP, False),
        (ENDED, RUNS, False),
        (with_id(""), with_id("process://7"), True),
        (with_id("process://7"), with_id("process://8"), False),
    ],
)
def test_only_the_same_container_goes_on(before: Thing, now: Thing | None, *, expected: bool) -> None:
    assert goes_on(before, now, "calico-node") is expected
    assert not goes_on(before, now, "another")


def test_a_log_is_read_as_it_grows_also_when_it_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path))
    assert log.lines() == []
    with path.open("w") as file:
        file.write("one\ntw")
        file.flush()
        assert log.lines() == ["one"]
        file.write("o\nthree")
        file.flush()
        path.unlink()
        assert log.lines() == ["two"]
    assert log.lines(whole=False) == ["three"]
    log.close()


class World:
    """Pods as they are from one look to the next; at each, something may happen."""

    def __init__(self, folder: Path, *looks: tuple[Thing | None, Callable[[], object]]) -> None:
        self.folder, self.looks = LabFolder(str(folder)), [*looks]
        self.request: Request = request_of(["logs", "-f", "a", "-n", "kube-system"])

    def things(self) -> list[Thing]:
        found, happen = self.looks.pop(0)
        happen()
        return [found] if found else []


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kubectl_logs, "_FOLLOW_S", 0.0)
    monkeypatch.setattr(kubectl_logs, "_LOOK_S", 0.0)
    metadata = RUNS["metadata"]
    place = f"kube-system_a_{metadata['uid']}"
    path = Path(LabFolder(str(tmp_path)).machine(RUNS["spec"]["nodeName"])) / "var/log/pods" / place / "calico-node"
    path.mkdir(parents=True)
    (path / "0.log").write_text("one\n")
    return path / "0.log"


def add(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def follow(world: World) -> int:
    return kubectl_logs.logs(cast(Place, world))


def test_following_ends_when_the_pod_is_deleted(tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ends() -> None:
        add(log, "three\nlast")
        with log.open():
            shutil.rmtree(log.parent)

    world = World(tmp_path, (RUNS, lambda: None), (RUNS, lambda: add(log, "two\n")), (None, ends))
    assert follow(world) == 0
    assert world.looks == []
    assert capsys.readouterr().out == "one\ntwo\nthree\nlast\n"


@pytest.mark.parametrize("now", [AGAIN, ENDED, LOOP, ANOTHER])
def test_following_ends_with_the_container(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str], now: Thing
) -> None:
    assert follow(World(tmp_path, (RUNS, lambda: None), (now, lambda: add(log, "two\n")))) == 0
    assert capsys.readouterr().out == "one\ntwo\n"


def test_a_container_that_has_ended_is_not_waited_for(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(log, "end")
    assert follow(World(tmp_path, (ENDED, lambda: None), (ENDED, lambda: None))) == 0
    assert capsys.readouterr().out == "one\nend\n"


def refused(key: str, **fields: Any) -> Callable[[], None]:
    def told() -> None:
        raise LabFailure(key, name="lab", **fields)

    return told


def test_following_ends_with_the_lab(tmp_path: Path, log: Path) -> None:
    assert follow(World(tmp_path, (RUNS, lambda: None), (None, refused("taken-down")))) == 0
    assert log.exists()


def test_following_outlasts_a_keeper_that_is_busy(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = refused("keeper-silent", pid=7, seconds=9, log="")
    last = (ENDED, lambda: add(log, "two\n"))
    assert follow(World(tmp_path, (RUNS, lambda: None), (None, silent), (None, silent), last)) == 0
    assert capsys.readouterr().out == "one\ntwo\n"
