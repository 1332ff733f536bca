"""Words of a command, wherever the flags stand, and what they choose."""

from __future__ import annotations

import pytest
from tests.support.kube_objects import WORLDS, Thing, node, pod

from tortie.lab.kubectl.finding import NotThere, find
from tortie.lab.kubectl.kinds import EVENT, NODE, POD, kind_of, name_of
from tortie.lab.kubectl.selectors import BadSelector, by_fields, by_labels
from tortie.lab.kubectl.words import BadWords, request_of


@pytest.mark.parametrize(
    "text",
    [
        "get pods -n other -o wide",
        "-n other get -owide pods",
        "get --namespace=other pods --output wide",
        "get pods -nother --output=wide",
    ],
)
def test_flags_may_stand_anywhere(text: str) -> None:
    request = request_of(text.split())
    assert (request.verb, request.words, request.namespace, request.flag("output")) == (
        "get",
        ("pods",),
        "other",
        "wide",
    )


def test_a_short_flag_means_what_the_verb_makes_of_it() -> None:
    assert request_of(["logs", "-p", "x"]).has("previous")
    assert request_of(["patch", "ds", "x", "-p", "{}"]).flag("patch") == "{}"
    assert request_of(["logs", "-f", "x"]).has("follow")
    assert request_of(["exec", "-it", "x", "--", "sh", "-c", "ls"]).command == ("sh", "-c", "ls")
    assert request_of(["logs", "x", "--tail", "-1"]).flag("tail") == "-1"
    assert request_of(["delete", "pod", "x", "--wait=false"]).flag("wait") == "false"


def test_nobody_said_where() -> None:
    assert request_of(["get", "pods"]).namespace == "kube-system"
    assert request_of(["get", "pods", "-A"]).namespace == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "-z"], "error: unknown shorthand flag: 'z' in -z"),
        (["get", "--nope"], "error: unknown flag: --nope"),
        (["get", "pods", "-o"], "error: flag needs an argument: 'o' in -o"),
        (["get", "pods", "--output"], "error: flag needs an argument: --output"),
    ],
)
def test_unknown_flags_are_told_as_kubectl_does(words: list[str], said: str) -> None:
    with pytest.raises(BadWords) as error:
        request_of(words)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("word", "kind"), [("po", POD), ("pods", POD), ("Pod", POD), ("no", NODE), ("ev", EVENT), ("events", EVENT)]
)
def test_kinds_have_many_names(word: str, kind: object) -> None:
    assert kind_of(word) == kind


def test_daemon_sets_have_their_group() -> None:
    for word in ("ds", "daemonset", "daemonsets.apps", "daemonset.apps"):
        found = kind_of(word)
        assert found is not None
        assert (found.title, found.api_version) == ("daemonset.apps", "apps/v1")


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("k8s-app=calico-node", True),
        ("k8s-app==calico-node,pod-template-generation", True),
        ("k8s-app!=calico-node", False),
        ("k8s-app in (a, calico-node)", True),
        ("k8s-app notin (a, calico-node)", False),
        ("!k8s-app", False),
        ("!other", True),
        ("other", False),
    ],
)
def test_label_selectors(selector: str, chosen: bool) -> None:
    assert by_labels(selector)(pod("x")) is chosen


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("status.phase!=Running", False),
        ("status.phase=Running,spec.nodeName=node-1", True),
        ("metadata.name==x", True),
        ("spec.nodeName=node-2", False),
    ],
)
def test_field_selectors(selector: str, chosen: bool) -> None:
    assert by_fields(selector, POD)(pod("x")) is chosen


def test_a_field_that_cannot_be_selected_by() -> None:
    with pytest.raises(BadSelector, match=r"field label not supported: spec\.color"):
        by_fields("spec.color=red", NODE)
    assert by_fields("spec.unschedulable=false", NODE)(node("node-1"))


def _names(words: str, things: list[Thing]) -> list[str]:
    request = request_of(["get", *words.split()])
    return [name_of(thing) for thing in find(request, request.words, things).things]


def test_what_is_asked_for_is_found() -> None:
    things = WORLDS["healthy"]()
    assert _names("pods", things) == ["calico-node-8mkf7", "calico-node-dp6vz", "calico-node-x7k2p"]
    assert _names("pods -n default", things) == []
    assert _names("nodes -n default", things) == ["node-1", "node-2", "node-3"]
    assert _names("pod/calico-node-x7k2p ds/calico-node", things) == ["calico-node-x7k2p", "calico-node"]
    assert _names("endpoints kubernetes", things) == ["kubernetes"]  # nobody said where, and it is in `default`
    assert _names("endpoints kubernetes -n kube-system", things) == []


def test_what_cannot_be_asked_for() -> None:
    things = WORLDS["healthy"]()
    with pytest.raises(NotThere, match='doesn\'t have a resource type "ippools"'):
        _names("ippools", things)
    with pytest.raises(NotThere, match="name cannot be provided when a selector is specified"):
        _names("pods x -l a=b", things)
    with pytest.raises(NotThere, match="Required resource not specified"):
        _names("", things)
