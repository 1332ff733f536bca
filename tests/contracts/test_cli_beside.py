"""What a resource needs beside itself: tiers of policies, pools that fit old blocks, names that belong to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.address_records import Records
from tests.support.cli import Tortie, assert_three_lines, key_of, pool, resource

MISSING = "resource does not exist: Tier(security)"
TIERED = (
    ("GlobalNetworkPolicy", None),
    ("NetworkPolicy", "shop"),
    ("StagedGlobalNetworkPolicy", None),
    ("StagedNetworkPolicy", "shop"),
)


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path)


def policy(kind: str, namespace: str | None, tier: str = "security") -> dict[str, Any]:
    spec = {"selector": "all()", "types": ["Ingress"]} | ({"tier": tier} if tier else {})
    return resource(kind, f"{tier}.web" if tier else "web", spec, namespace=namespace)


def tier(name: str = "security") -> dict[str, Any]:
    return resource("Tier", name, {"order": 10})


@pytest.mark.parametrize(("kind", "namespace"), TIERED)
@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_policy_needs_its_tier(tortie: Tortie, verb: str, kind: str, namespace: str | None) -> None:
    file = tortie.file("policy.yaml", policy(kind, namespace))
    ran = tortie(verb, "-f", file)
    assert_three_lines(ran, 2)
    assert MISSING in ran.stderr
    assert "policy.yaml, line" in ran.stderr
    assert tortie.entries() == {}
    tortie("apply", "-f", tortie.file("tier.yaml", tier()))
    assert tortie(verb, "-f", file).code == 0


@pytest.mark.parametrize("name", ["", "default", "kube-admin", "kube-baseline"])
def test_the_built_in_tiers_are_there_before_a_node_has_made_them(tortie: Tortie, name: str) -> None:
    assert tortie("apply", "-f", tortie.file("policy.yaml", policy("GlobalNetworkPolicy", None, name))).code == 0


def test_the_tier_may_come_with_the_policy_in_whatever_order(tortie: Tortie) -> None:
    folder = Path(tortie.file("both/a-policy.yaml", policy("NetworkPolicy", "shop"))).parent
    tortie.file("both/b-tier.yaml", tier())
    ran = tortie("apply", "-f", str(folder))
    assert (ran.code, ran.stdout) == (0, "Successfully applied 2 resource(s)\n")


def test_a_policy_does_not_move_into_a_tier_that_is_not_there(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("web.yaml", resource("GlobalNetworkPolicy", "web", {"selector": "all()"})))
    before = tortie.entries()
    moved = tortie.file("moved.yaml", resource("GlobalNetworkPolicy", "web", {"selector": "all()", "tier": "security"}))
    for words in (
        ["apply", "-f", moved],
        ["replace", "-f", moved],
        ["patch", "gnp", "web", "-p", '{"spec": {"tier": "security"}}'],
    ):
        ran = tortie(*words)
        assert ran.code == 2, words
        assert MISSING in ran.stderr
    assert tortie.entries() == before


def test_a_policy_whose_tier_is_lost_can_still_be_changed_and_deleted(tortie: Tortie) -> None:
    stored = policy("GlobalNetworkPolicy", None)
    tortie.put(key_of("globalnetworkpolicies", "security.web"), stored)
    assert tortie("label", "gnp", "security.web", "a=b").code == 0
    assert tortie("delete", "gnp", "security.web").code == 0


def test_copies_of_kubernetes_policies_are_left_to_kubernetes(tortie: Tortie) -> None:
    copied = resource("NetworkPolicy", "knp.default.web", {"selector": "all()", "types": ["Ingress"]}, namespace="shop")
    assert tortie("apply", "-f", tortie.file("copy.yaml", copied)).code == 2
    tortie.put(key_of("networkpolicies", "shop/knp.default.web"), copied)
    before = tortie.entries()
    for words in (
        ["label", "np", "knp.default.web", "-n", "shop", "a=b"],
        ["patch", "np", "knp.default.web", "-n", "shop", "-p", '{"spec": {"order": 5}}'],
        ["delete", "np", "knp.default.web", "-n", "shop"],
    ):
        ran = tortie(*words)
        assert ran.code != 0, words
        assert "kubernetes network policies must be managed through the kubernetes API" in ran.stderr
    assert tortie.entries() == before
    assert tortie("get", "np", "knp.default.web", "-n", "shop", "-o", "name").code == 0


def test_a_new_pool_has_the_block_size_of_the_blocks_that_others_left_in_its_range(tortie: Tortie) -> None:
    records = Records()
    records.claim("n1", "10.1.2.64/26")
    for key, value in records.values.items():
        tortie.put(key, value)
    ran = tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16", blockSize=28)))
    assert_three_lines(ran, 2)
    assert "different blockSize: there is the block 10.1.2.64/26" in ran.stderr
    assert tortie("apply", "-f", tortie.file("b.yaml", pool("b", "10.2.0.0/16", blockSize=28))).code == 0
    assert tortie("apply", "-f", tortie.file("c.yaml", pool("c", "10.1.0.0/16"))).code == 0


def test_an_endpoint_without_a_name_gets_the_one_that_follows_from_its_fields(tortie: Tortie) -> None:
    spec = {
        **{"node": "n-1", "orchestrator": "k8s", "pod": "web", "endpoint": "eth0", "interfaceName": "cali1"},
        **{"ipNetworks": ["10.1.0.5/32"], "profiles": ["kns.shop"]},
    }
    nameless = resource("WorkloadEndpoint", "", spec, namespace="shop")
    del nameless["metadata"]["name"]
    assert tortie("create", "-f", tortie.file("endpoint.yaml", nameless)).code == 0
    assert list(tortie.entries()) == [key_of("workloadendpoints", "shop/n--1-k8s-web-eth0")]
    del nameless["spec"]["pod"]
    ran = tortie("apply", "-f", tortie.file("endpoint.yaml", nameless))
    assert ran.code == 2
    assert "metadata.name" in ran.stderr
