"""Which pods' logs are collected, and what kubectl is asked: words, never a line for a shell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tortie.cli.cluster import questions
from tortie.cli.cluster.pods import chosen, pods_of
from tortie.cli.cluster.questions import Pod


def pod(name: str, node: str, *, well: bool = True, component: str = "calico-node") -> Pod:
    return Pod("kube-system", name, node, component, ("calico-node",), well)


PODS = [pod("a", "n1"), pod("b", "n2", well=False), pod("c", "n3"), pod("d", "n4"), pod("t", "n1", component="typha")]


@pytest.mark.parametrize(
    ("focus", "at_most", "expected"),
    [
        ((), 5, "bacdt"),
        ((), 1, "bt"),
        (("n4", "n3"), 3, "dcbt"),
        (("n9",), 2, "bat"),
        (("n1",), 0, ""),
    ],
)
def test_the_nodes_of_interest_come_first_then_the_sick(focus: tuple[str, ...], at_most: int, expected: str) -> None:
    assert "".join(each.name for each in chosen(PODS, focus, at_most)) == expected


def item(name: str, namespace: str = "kube-system", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"containers": [{"name": "x"}], **spec}}


def test_calicos_pods_are_known_by_name_or_namespace() -> None:
    items = [
        item("calico-node-x"),
        item("web"),
        item("whoever", "calico-system"),
        item("canal-1"),
        item("t", "tigera-x"),
    ]
    assert [each.name for each in pods_of(json.dumps({"items": items}))] == ["calico-node-x", "whoever", "canal-1", "t"]


@pytest.mark.parametrize(
    "hostile",
    [
        item("calico-../../x"),
        item("calico-x", nodeName="../../etc"),
        item("calico-x", containers=[{"name": "-o/tmp/x"}]),
        item("calico-x y"),
        item("calico-x", namespace="calico;id"),
    ],
)
def test_names_that_kubernetes_would_not_give_are_passed_over(hostile: dict[str, Any]) -> None:
    assert pods_of(json.dumps({"items": [hostile]})) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"items": 7}', '{"items": [7]}'])
def test_an_answer_that_is_no_list_has_no_pods(text: str) -> None:
    assert pods_of(text) == []


def test_all_versions_of_a_deployment_are_one_component() -> None:
    items = [item("calico-typha-7c9f8d-x"), item("calico-typha-5b4c3d-y"), item("calico-one")]
    for each, owner in zip(items, ("calico-typha-7c9f8d", "calico-typha-5b4c3d"), strict=False):
        each["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner}]
    assert [each.component for each in pods_of(json.dumps({"items": items}))] == [
        *("calico-typha", "calico-typha", "calico-one"),
    ]


def test_only_what_the_server_knows_is_asked() -> None:
    def kinds(known: set[str]) -> set[str]:
        return {each.part.removesuffix("-yaml").rpartition("/")[2] for each in questions.of_kinds(known, ())}

    assert "gateways" not in kinds(set())
    assert "gateways" in kinds({"gateways", "gateways.gateway.networking.k8s.io"})
    assert {"pods", "services", "nodes"} <= kinds(set())
    assert "secrets" not in kinds({"secrets"})


def test_since_reaches_the_logs_and_only_them() -> None:
    asked = list(questions.of_pod(pod("a", "n1"), "5m"))
    assert [each.words[-1] == "--since=5m" or "--since=5m" in each.words for each in asked] == [False, True, True]
    assert not any("--since" in word for each in questions.of_pod(pod("a", "n1"), "") for word in each.words)


def test_names_of_resources() -> None:
    answer = "customresourcedefinition.apiextensions.k8s.io/ippools.crd.projectcalico.org\npods\n-o\n;id\n\nA B\n"
    assert questions.names_of(answer) == ["ippools.crd.projectcalico.org", "pods"]
    assert [each for each in ("a.projectcalico.org", "pods", "x.operator.tigera.io") if questions.is_calicos(each)] == [
        *("a.projectcalico.org", "x.operator.tigera.io"),
    ]
