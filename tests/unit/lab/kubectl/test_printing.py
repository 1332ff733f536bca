"""`get` in its other forms, what is not there, and logs."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.support.kube_objects import NOW, WORLDS, pod, running, status, terminated, waiting

from tortie.cli.lab.kubectl import _render, find_path
from tortie.lab.kubectl.finding import NotThere
from tortie.lab.kubectl.logs import NoLog, chosen_lines, defaulted, duration_s, wanted_log
from tortie.lab.kubectl.printing import Outcome, Paths, describe, get
from tortie.lab.kubectl.words import request_of

PATHS = Paths(_render, find_path)


def _get(*words: str, name: str = "healthy") -> Outcome:
    return get(request_of(["get", *words]), WORLDS[name](), NOW, PATHS)


def test_documents_have_sorted_keys_and_lists_are_lists() -> None:
    whole = json.loads(_get("pods", "-o", "json").out)
    assert (whole["kind"], whole["apiVersion"], len(whole["items"])) == ("List", "v1", 3)
    one = _get("node", "node-1", "-o", "yaml").out
    assert one.startswith("apiVersion: v1\nkind: Node\nmetadata:\n  annotations:\n    projectcalico.org/IPv4Address:")
    assert '  creationTimestamp: "2026-11-14T15:04:05Z"\n' in one
    assert yaml.safe_load(one)["metadata"]["name"] == "node-1"


def test_names() -> None:
    assert _get("ds,nodes", "-o", "name").out == "daemonset.apps/calico-node\nnode/node-1\nnode/node-2\nnode/node-3\n"


def test_jsonpath() -> None:
    template = '{range .items[*]}{.metadata.name}{"\\t"}{.status.addresses[0].address}{"\\n"}{end}'
    assert (
        _get("nodes", "-o", f"jsonpath={template}").out == "node-1\t10.77.0.1\nnode-2\t10.77.0.2\nnode-3\t10.77.0.3\n"
    )
    escaped = r"jsonpath={.metadata.annotations.projectcalico\.org/IPv4Address}"
    assert _get("node", "node-1", "-o", escaped).out == "10.77.0.1/24"


def test_custom_columns() -> None:
    out = _get(
        "pods",
        "-o",
        "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,X:.spec.nope,I:.spec.initContainers[*].name",
    ).out
    assert out.splitlines()[:2] == [
        "NAME                NODE     X        I",
        "calico-node-8mkf7   node-2   <none>   upgrade-ipam,install-cni",
    ]
    assert (
        _get("pods", "-o", "custom-columns=N:metadata.name", "--no-headers").out.splitlines()[0] == "calico-node-8mkf7"
    )
    with pytest.raises(NotThere, match="expected <header>:<json-path-expr>"):
        _get("pods", "-o", "custom-columns=NAME")


def test_what_is_not_there() -> None:
    assert _get("pod", "x") == Outcome("", 'Error from server (NotFound): pods "x" not found\n', 1)
    assert _get("ds", "x").errors == 'Error from server (NotFound): daemonsets.apps "x" not found\n'
    assert _get("pods", "-n", "shop") == Outcome("", "No resources found in shop namespace.\n", 0)
    assert _get("deploy", "-A") == Outcome("", "No resources found\n", 0)
    assert _get("pod", "x", "--ignore-not-found") == Outcome("", "", 0)
    with pytest.raises(NotThere, match="unable to match a printer"):
        _get("pods", "-o", "nope")


def test_several_kinds_are_several_tables() -> None:
    out = _get("pods,ds").out
    assert "pod/calico-node-x7k2p " in out
    assert "\n\nNAME                         DESIRED" in out
    assert "daemonset.apps/calico-node   3" in out


def test_events_are_sorted_as_asked() -> None:
    shown = _get("events", "--sort-by=.lastTimestamp", "--no-headers", name="crash-loop").out.splitlines()
    assert [line.split()[2] for line in shown] == ["Unhealthy", "Killing", "BackOff"]
    chosen = _get("events", "--field-selector", "involvedObject.name=calico-node-x7k2p,type=Warning", name="crash-loop")
    assert len(chosen.out.splitlines()) == 3


def test_a_description_is_found_by_the_beginning_of_a_name() -> None:
    request = request_of(["describe", "pod", "calico-node-x"])
    assert describe(request, WORLDS["healthy"](), NOW).out.startswith("Name:                 calico-node-x7k2p\n")
    missing = describe(request_of(["describe", "pod", "nope"]), WORLDS["healthy"](), NOW)
    assert (missing.errors, missing.code) == ('Error from server (NotFound): pods "nope" not found\n', 1)


ENDED = terminated(1, "Error", 60, 50)


def test_which_log_is_meant() -> None:
    again = pod("a", main=[status("calico-node", running(5), ENDED, restarts=3)])
    assert wanted_log(again, "", previous=False) == ("calico-node", 3)
    assert wanted_log(again, "", previous=True) == ("calico-node", 2)
    assert wanted_log(again, "upgrade-ipam", previous=False) == ("upgrade-ipam", 0)
    loop = pod("a", main=[status("calico-node", waiting("CrashLoopBackOff"), ENDED, restarts=3)])
    assert wanted_log(loop, "", previous=False) == wanted_log(loop, "", previous=True) == ("calico-node", 3)
    assert (
        defaulted(loop)
        == 'Defaulted container "calico-node" out of: calico-node, upgrade-ipam (init), install-cni (init)'
    )


def test_logs_that_there_are_not() -> None:
    fresh = pod("a", main=[status("calico-node", waiting("PodInitializing"))])
    with pytest.raises(NoLog, match='container "calico-node" in pod "a" is waiting to start: PodInitializing'):
        wanted_log(fresh, "", previous=False)
    with pytest.raises(NoLog, match='previous terminated container "calico-node" in pod "a" not found'):
        wanted_log(pod("a"), "", previous=True)
    with pytest.raises(NoLog, match="container x is not valid for pod a"):
        wanted_log(pod("a"), "x", previous=False)


def test_lines_of_a_log() -> None:
    lines = [
        "2026-11-16 15:04:00.500 [INFO][8] startup.go 1: one",
        "  more of it",
        "2026-11-16 15:04:03.000 [INFO][8] two",
    ]
    assert chosen_lines(lines, tail=1) == lines[2:]
    assert chosen_lines(lines, tail=0) == []
    assert chosen_lines(lines, tail=9) == chosen_lines(lines) == lines
    assert chosen_lines(lines, since=NOW - 3) == lines[2:]
    assert chosen_lines(lines, timestamps=True)[1] == "2026-11-16T15:04:00.500000000Z   more of it"
    assert (duration_s("1h30m"), duration_s("90s"), duration_s("soon")) == (5400.0, 90.0, None)
