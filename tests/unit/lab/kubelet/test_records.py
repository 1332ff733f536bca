"""What kubelet reads back after a restart, what it is told to run, and what it sees of its pods in the runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.topologies import planned

from tortie.lab.kubelet import machine
from tortie.lab.kubelet.events import Book, Note, book_of, objects_of, record
from tortie.lab.kubelet.jobs import KubeletJob, Paths
from tortie.lab.kubelet.lifecycle import Memory
from tortie.lab.kubelet.objects import reference
from tortie.lab.kubelet.records import Known, Records
from tortie.lab.kubelet.sources import Sources
from tortie.lab.kubelet.template import daemonset
from tortie.lab.kubelet.tended import Tended, attempts_from, superfluous

NOW = 1794843090.0
POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "calico-node-x", "generateName": "calico-node-", "namespace": "kube-system", "uid": "u1"},
    "spec": {"nodeName": "node-1", "containers": [{"name": "main", "env": [{"name": "A", "value": "pod"}]}]},
    "status": {},
}


def job(folder: Path, **more: Any) -> KubeletJob:
    root = folder / "nodes" / "node-1"
    Paths(str(root)).make()
    return KubeletJob("lab", str(folder), "node-1", str(root), "10.0.0.1", {"A": "node", "B": "node"}, **more)


def test_events_go_on_counting() -> None:
    note, subject = Note("Warning", "Unhealthy", "Liveness probe failed: x", "main"), reference(POD, "main")
    book = Book()
    for second in range(3):
        book = record(book, note, subject, NOW + second, host="node-1")
    again = book_of(objects_of(book))
    assert [(one["count"], one["firstTimestamp"]) for one in objects_of(again)] == [
        (one["count"], one["firstTimestamp"]) for one in objects_of(book)
    ]
    (event,) = objects_of(record(again, note, subject, NOW + 9, host="node-1"))
    assert event["count"] == 4


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    paths.make()
    node = {"kind": "Node", "metadata": {"name": "node-1"}}
    Records(paths).write(node, [(Known("daemonset.json", "3"), POD)], Book(), {"daemonset.json": 2})
    found = Records(paths).read()
    assert (found.node, found.pods, found.serials) == (
        node,
        ((Known("daemonset.json", "3"), POD),),
        {"daemonset.json": 2},
    )
    Path(paths.objects).write_text("{")
    assert Records(paths).read().pods == ()


class Refused(list[tuple[str, str]]):
    def __call__(self, path: str, why: str) -> None:
        self.append((path, why))


def test_sources(tmp_path: Path) -> None:
    told, refused = job(tmp_path), Refused()
    sources = Sources(told, refused)
    assert sources.wanted() == {}
    owner = daemonset(planned(), "", 1)
    owner["metadata"]["generation"] = 4
    (tmp_path / "daemonset.json").write_text(json.dumps(owner))
    (tmp_path / "deployment.json").write_text(json.dumps(owner))
    manifests = Path(Paths(told.root).manifests)
    (manifests / "app.json").write_text(json.dumps(POD))
    (manifests / ".hidden.json").write_text(json.dumps(POD))
    found = sources.wanted()
    assert {source: want.static for source, want in found.items()} == {"daemonset.json": False, "static/app.json": True}
    assert found["daemonset.json"].version == "4"
    assert "deployment.json" in Sources(told._replace(deployment=True), refused).wanted()
    (tmp_path / "daemonset.json").write_text("half of a")
    assert sources.wanted()["daemonset.json"].version == "4"
    (tmp_path / "daemonset.json").unlink()
    assert "daemonset.json" not in sources.wanted()
    assert refused == []


def test_a_manifest_that_nobody_could_run_is_told_once_and_taken_up_when_it_is_mended(tmp_path: Path) -> None:
    told, refused = job(tmp_path), Refused()
    sources, manifests = Sources(told, refused), Path(Paths(told.root).manifests)
    bad = {**POD, "spec": {"containers": [{"name": "main", "livenessProbe": {"periodSeconds": -1}}]}}
    (manifests / "bad.json").write_text(json.dumps(bad))
    (manifests / "app.json").write_text(json.dumps(POD))
    (manifests / "half.json").write_text("{")
    for _ in range(2):
        assert list(sources.wanted()) == ["static/app.json"]
    (bad_path, bad_why), (half_path, half_why) = refused
    probe = "spec.containers[0].livenessProbe"
    assert (bad_path, bad_why) == (
        "/etc/kubernetes/manifests/bad.json",
        f"invalid pod: [{probe}: Required value: must specify a handler type, "
        f"{probe}.periodSeconds: Invalid value: -1: must be greater than or equal to 0]",
    )
    assert half_path == "/etc/kubernetes/manifests/half.json"
    assert half_why.startswith(f"{half_path}: couldn't parse as pod(")
    (manifests / "bad.json").write_text(json.dumps(POD))
    assert "static/bad.json" in sources.wanted()
    assert len(refused) == 2


def test_the_environment_of_a_container(tmp_path: Path) -> None:
    told = job(tmp_path)
    tended = Tended(Known("daemonset.json", "1"), POD, Memory(), NOW, spread=False)
    assert tended.environment("main", told) == {"A": "pod", "B": "node"}
    Path(Paths(told.root).overlay).write_text('{"A": "fault", "B": null, "C": "new"}')
    assert tended.environment("main", told) == {"A": "fault", "C": "new"}


@pytest.mark.parametrize(
    ("name", "is_meant"),
    [("calico-node-x", True), ("calico-node", True), ("calico", False), ("node", False), ("", False)],
)
def test_names(name: str, *, is_meant: bool) -> None:
    tended = Tended(Known("daemonset.json", "1"), POD, Memory(), NOW, spread=False)
    assert tended.is_called("kube-system", name) is is_meant
    assert tended.is_called("default", name) is False


def container(attempt: int, *, runs: bool, uid: str = "u1") -> dict[str, Any]:
    state = "CONTAINER_RUNNING" if runs else "CONTAINER_EXITED"
    ended = {"finished_at": 0.0, "exit_code": None} if runs else {"finished_at": NOW + attempt, "exit_code": 137}
    record = {"id": f"{uid}-{attempt}", "uid": uid, "container": "main", "attempt": attempt, "state": state}
    return {**record, "started_at": NOW, "reason": "", **ended}


def test_attempts_are_the_last_end_and_what_runs() -> None:
    every = [
        container(0, runs=False),
        container(1, runs=False),
        container(2, runs=True),
        container(0, runs=True, uid="u2"),
    ]
    found = attempts_from(every, "u1", "docker")
    assert {(each.attempt, each.state, each.container_id) for each in found} == {
        (1, "exited", "docker://u1-1"),
        (2, "running", "docker://u1-2"),
    }
    assert [each["id"] for each in superfluous(every, {"u1", "u2"})] == ["u1-0"]
    assert [each["id"] for each in superfluous(every, {"u1"})] == ["u1-0", "u2-0"]


SWAPS = "Filename\t\t\t\tType\t\tSize\tUsed\tPriority\n"
ONE = SWAPS + "/dev/sda3 partition 27992060 0 -2\n"


@pytest.mark.parametrize(
    ("here", "outside", "found"),
    [(SWAPS, SWAPS, None), (ONE, ONE, None), (ONE, SWAPS, " ".join(ONE.splitlines())), ("", SWAPS, None)],
)
def test_only_swap_of_the_node_itself_counts(
    here: str, outside: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "swaps"
    path.write_text(here)
    monkeypatch.setattr(machine, "_SWAPS", str(path))
    assert machine.swap_on(outside) == found
