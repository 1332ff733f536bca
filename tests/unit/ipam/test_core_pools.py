"""Which pools a request may use, why not the others, and what the refusals say."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from tortie.ipam.errors import (
    AlreadyAssigned,
    BlockLimit,
    Exhausted,
    Fullness,
    IpamError,
    NoPool,
    NotInPool,
    NotReady,
    TooContended,
    UnknownPool,
    foreign_block,
    no_such_node,
)
from tortie.ipam.pools import Pool, eligible, pool_with, usable
from tortie.ipam.request import Request
from tortie.model.resource import typed
from tortie.model.resources.ippool import IPPool


def pool(name: str, cidr: str, **spec: Any) -> Pool:
    document = {"kind": "IPPool", "apiVersion": "projectcalico.org/v3", "metadata": {"name": name}}
    resource = typed({**document, "spec": {"cidr": cidr, **spec}})
    assert isinstance(resource, IPPool)
    return Pool(name, resource.spec)


POOLS = (
    pool("z-all", "10.0.0.0/24"),
    pool("rack", "10.1.0.0/24", nodeSelector="rack == 'r1'"),
    pool("off", "10.2.0.0/24", disabled=True),
    pool("by-hand", "10.3.0.0/24", assignmentMode="Manual"),
    pool("pods-only", "10.4.0.0/24", allowedUses=["Workload"], namespaceSelector="has(team)"),
    pool("small", "10.5.0.0/28", blockSize=26, disabled=True),
    pool("six", "fd00::/112"),
)


def asked(**fields: Any) -> Request:
    return Request("node1", "pod", {}, v4=1, **fields)


def names(pools: tuple[Pool, ...]) -> list[str]:
    return [item.name for item in pools]


def test_selectors_uses_and_modes_decide_in_the_order_of_names() -> None:
    found = eligible(POOLS, asked(namespace_labels={"team": "a"}), 4, {"rack": "r1"})
    assert names(found.pools) == ["pods-only", "rack", "z-all"]
    assert {reason.pool: reason.why for reason in found.reasons} == {
        "by-hand": "its assignmentMode is Manual, so it has to be asked for",
        "off": "it is disabled",
        "small": "it is disabled",
    }
    assert names(eligible(POOLS, asked(use="Tunnel"), 4, {}).pools) == ["z-all"]
    assert names(eligible(POOLS, asked(), 6, {}).pools) == ["six"]


def test_pools_that_were_asked_for_are_used_whatever_their_selectors_say() -> None:
    wanted = asked(pools4=("rack", "10.3.0.0/24", "z-all"))
    assert names(eligible(POOLS, wanted, 4, {}).pools) == ["rack", "by-hand", "z-all"]
    for name, why in (("off", "is disabled"), ("none", "the pools of that family are"), ("fd00::/112", "")):
        with pytest.raises(
            UnknownPool, match=rf"the given pool \({name}\) does not exist, or is not enabled"
        ) as refused:
            eligible(POOLS, asked(pools4=(name,)), 4, {})
        assert why in refused.value.why


def test_no_pool_says_why_for_each() -> None:
    with pytest.raises(NoPool, match="no configured Calico pools for node node1") as refused:
        usable(POOLS[1:3], asked(), 4, {"rack": "r2"})
    assert refused.value.why == (
        "off (10.2.0.0/24): it is disabled; "
        "rack (10.1.0.0/24): its nodeSelector rack == 'r1' does not select the node node1"
    )
    with pytest.raises(NoPool, match="there is no IPv6 pool at all"):
        usable(POOLS[:3], asked(), 6, {})
    with pytest.raises(
        NoPool, match=r"cannot find a qualified ippool, no pools match the required use \(LoadBalancer\)"
    ) as refused:
        usable(POOLS[:1], asked(use="LoadBalancer"), 4, {})
    assert "its allowedUses are Workload, Tunnel, not LoadBalancer" in refused.value.why


def test_the_pool_of_an_address() -> None:
    assert pool_with(POOLS, ip_address("10.2.0.5")) is None
    found = pool_with(POOLS, ip_address("10.2.0.5"), disabled=True)
    assert found
    assert found.name == "off"
    assert pool_with(POOLS, ip_address("fd01::1")) is None


def test_refusals_carry_calicos_words_their_facts_and_a_way_out() -> None:
    full = Fullness("default", ip_network("10.0.0.0/24"), 16, 16, 0)
    ip = ip_address("10.0.0.5")
    for error, words in (
        (
            Exhausted("node1", 4, 1, 3, [full]),
            "Assigned 1 out of 3 requested IPv4 addresses; No IPs available in pools: [10.0.0.0/24]: "
            "default (10.0.0.0/24): 16 of 16 blocks are claimed, 0 addresses in them are free",
        ),
        (Exhausted("n", 4, 0, 1, [full], strict=True), "No more free affine blocks and strict affinity enabled"),
        (Exhausted("n", 4, 0, 1, [], no_new_blocks=True), "failed to find or claim a block"),
        (
            BlockLimit("node1", 20, 4, 0, 1),
            "Need to allocate an IPAM block but could not - limit of 20 blocks reached for this node",
        ),
        (NotInPool(ip, "no pool has it"), "The provided IP address is not in a configured pool: 10.0.0.5"),
        (
            AlreadyAssigned(ip, "pod"),
            "resource already exists: 10.0.0.5 with error: Address already assigned in block: it is held by pod",
        ),
        (AlreadyAssigned(ip, None), "cools down"),
        (foreign_block("node1", ip, "host:node2"), "Block host affinity does not match"),
        (no_such_node("node1"), "resource does not exist: Node(node1)"),
        (TooContended("x", 50, 2.0, "/key"), "Max retries hit - excessive concurrent IPAM requests"),
        (NotReady(), "datastoreReady is false"),
    ):
        assert isinstance(error, IpamError)
        assert words in str(error)
        assert error.fix
