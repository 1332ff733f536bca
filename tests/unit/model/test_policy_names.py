"""The names of policies, which changed over Calico's versions: people see one, the datastore holds another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tortie.model.kinds import BY_NAME
from tortie.model.policy_names import TIERED, given_name, possible_names, stored_name

POLICY, NODE = BY_NAME["NetworkPolicy"], BY_NAME["Node"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v3.29.1", "default.web"),
        ("v3.31.99", "default.web"),
        ("3.8", "default.web"),
        ("v2.6.0", "default.web"),
        ("v3.32.0", "web"),
        ("v3.32.0-0.dev-5-gabc", "web"),
        ("v4.0.0", "web"),
        ("v3.100.0", "web"),
        ("master", "web"),
        ("", "web"),
        (None, "web"),
    ],
)
def test_a_new_policy_goes_where_the_cluster_s_calico_looks_for_it(version: str | None, expected: str) -> None:
    for kind in TIERED:
        assert stored_name(BY_NAME[kind], "web", "default", version) == expected
        assert stored_name(BY_NAME[kind], "web", "", version) == expected


def test_only_policies_of_the_default_tier_change_their_name() -> None:
    assert stored_name(POLICY, "security.web", "security", "v3.29.1") == "security.web"
    assert stored_name(POLICY, "default.web", "default", "v3.29.1") == "default.web"
    assert stored_name(NODE, "web", "", "v3.29.1") == "web"
    assert stored_name(BY_NAME["StagedKubernetesNetworkPolicy"], "web", "", "v3.29.1") == "web"


def test_a_policy_is_looked_for_under_both_names_today_s_first() -> None:
    assert possible_names(POLICY, "web") == ("web", "default.web")
    assert possible_names(POLICY, "default.web") == ("default.web",)
    assert possible_names(NODE, "web") == ("web",)


def named(name: str, spec: Any = None, annotation: str | None = None) -> dict[str, Any]:
    annotations = {} if annotation is None else {"annotations": {"projectcalico.org/metadata": annotation}}
    return {"metadata": {"name": name, **annotations}, "spec": {} if spec is None else spec}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (named("default.web"), "web"),
        (named("web"), "web"),
        (named("default.web", {"tier": "default"}), "web"),
        (named("default.web", {"tier": "security"}), "default.web"),
        (named("security.web", {"tier": "security"}), "security.web"),
        (named("default.web", annotation=json.dumps({"name": "default.web"})), "default.web"),
        (named("default.web", annotation=json.dumps({"name": ""})), "web"),
        (named("default.web", annotation="not json"), "web"),
        (named("default.web", annotation="[]"), "web"),
        (named("default.web", annotation='{"name": 5}'), "web"),
        (named("default.web", "not a spec"), "web"),
        ({"metadata": {"name": "default.web", "annotations": None}}, "web"),
        ({"metadata": {"name": "default.web", "annotations": []}, "spec": None}, "web"),
        ({}, ""),
    ],
)
def test_people_see_the_name_they_gave(document: dict[str, Any], expected: str) -> None:
    assert given_name(POLICY, document) == expected


def test_other_kinds_keep_their_names() -> None:
    assert given_name(NODE, named("default.web")) == "default.web"
