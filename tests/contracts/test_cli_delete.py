"""`tortie delete`: what goes, what goes along, what may not go, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.address_world import World
from tests.support.cli import Tortie, assert_three_lines, node, pool, resource


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path)


def test_by_name_by_several_names_and_by_file(tortie: Tortie) -> None:
    pools = tortie.file("pools.yaml", *(pool(name, f"10.{number}.0.0/16") for number, name in enumerate("abcd")))
    tortie("apply", "-f", pools)
    assert tortie("delete", "ippool", "a") == (0, "Successfully deleted 1 'IPPool' resource(s)\n", "")
    assert tortie("delete", "pools", "b", "c").stdout == "Successfully deleted 2 'IPPool' resource(s)\n"
    ran = tortie("delete", "-f", pools)
    assert (ran.code, ran.stdout) == (1, "Successfully deleted 1 'IPPool' resource(s)\n")
    assert "failed to delete 3 of 4 'IPPool' resource(s)" in ran.stderr
    ran = tortie("delete", "-f", pools, "--skip-not-exists")
    assert (ran.code, ran.stdout) == (0, "Successfully deleted 4 'IPPool' resource(s)\n")  # as calicoctl counts
    assert ran.stderr == "skipped: 4 'IPPool' resource(s) for which there was nothing to do\n"
    assert tortie.entries() == {}


def test_a_kind_alone_or_together_with_a_file_is_refused(tortie: Tortie) -> None:
    file = tortie.file("a.yaml", pool("a", "10.1.0.0/16"))
    assert_three_lines(tortie("delete"), 2)
    assert_three_lines(tortie("delete", "ippool"), 2)
    assert_three_lines(tortie("delete", "ippool", "a", "-f", file), 2)


def test_what_does_not_exist_is_an_error_unless_it_may_be_skipped(tortie: Tortie) -> None:
    ran = tortie("delete", "policy", "web", "-n", "shop")
    assert_three_lines(ran, 1)
    assert "resource does not exist: NetworkPolicy(shop/web)" in ran.stderr
    assert tortie("delete", "policy", "web", "-n", "shop", "-s").stdout == (
        "Successfully deleted 1 'NetworkPolicy' resource(s)\n"
    )


def test_what_was_deleted_can_be_printed(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    assert tortie("delete", "ippool", "a", "-o", "json").json["spec"]["cidr"] == "10.1.0.0/16"


def test_a_tier_with_policies_stays(tortie: Tortie) -> None:
    policy = resource("NetworkPolicy", "security.web", {"tier": "security", "selector": "all()"}, namespace="shop")
    file = tortie.file("tier.yaml", resource("Tier", "security", {"order": 1}), policy)
    assert tortie("apply", "-f", file).code == 0
    before = tortie.entries()
    ran = tortie("delete", "tier", "security")
    assert_three_lines(ran, 1)
    assert "NetworkPolicy(shop/security.web) is in it" in ran.stderr
    assert tortie.entries() == before
    assert tortie("delete", "policy", "security.web", "-n", "shop").code == 0
    assert tortie("delete", "tier", "security").code == 0


def test_a_built_in_tier_stays(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("tier.yaml", resource("Tier", "default", {"order": 1_000_000})))
    ran = tortie("delete", "tier", "default")
    assert_three_lines(ran, 1)
    assert "it is built in" in ran.stderr


def test_a_node_takes_along_what_makes_no_sense_without_it(tortie: Tortie) -> None:
    peer = {"peerIP": "192.0.2.1", "asNumber": 65000}
    file = tortie.file(
        "nodes.yaml",
        node("n1"),
        node("n2", "10.0.0.2/24"),
        resource("BGPPeer", "of-n1", peer | {"node": "n1"}),
        resource("BGPPeer", "of-n2", peer | {"node": "n2"}),
        resource("BGPPeer", "of-all", peer),
        resource("HostEndpoint", "n1-eth0", {"node": "n1", "interfaceName": "eth0"}),
        resource("FelixConfiguration", "node.n1", {"logSeverityScreen": "Info"}),
        resource("FelixConfiguration", "default", {"logSeverityScreen": "Info"}),
        resource("BGPConfiguration", "node.n1", {"logSeverityScreen": "Info"}),
        resource("CalicoNodeStatus", "n1", {"node": "n1", "classes": ["BGP"], "updatePeriodSeconds": 10}),
    )
    assert tortie("apply", "-f", file).code == 0
    tortie.put("/calico/ipam/v2/host/n1/ipv4/block/10.1.0.0-26", b'{"state":"confirmed"}')
    ran = tortie("delete", "node", "n1")
    assert (ran.code, ran.stdout) == (0, "Successfully deleted 1 'Node' resource(s)\n")
    assert ran.stderr.splitlines() == [
        "deleted with it: FelixConfiguration(node.n1)",
        "deleted with it: BGPConfiguration(node.n1)",
        "deleted with it: BGPPeer(of-n1)",
        "deleted with it: HostEndpoint(n1-eth0)",
        "deleted with it: CalicoNodeStatus(n1)",
    ]
    left = [key.rpartition("projectcalico.org/")[2] for key in tortie.entries()]
    assert left == [
        "bgppeers/of-all",
        "bgppeers/of-n2",
        "felixconfigurations/default",
        "nodes/n2",
    ]


def test_a_node_takes_its_pods_addresses_and_blocks_along_and_leaves_the_others_alone(tortie: Tortie) -> None:
    world = World("10.1.0.0/16")
    for number, name in enumerate(("n1", "n2")):
        world.node(name)
        world.block(f"10.1.{number}.0/26", name)
        world.pod(f"web-{name}", name, f"10.1.{number}.1")
        world.hold(f"10.1.{number}.2", f"ipip-tunnel-addr-{name}", node=name, type="ipipTunnelAddress")
        handle = f"vxlan-v6-tunnel-addr-{name}"
        world.hold(f"10.1.{number}.3", handle, node=name, type="vxlanV6TunnelAddress")
    world.pod("lost", "n1", "10.1.0.9", endpoint=False)
    world.pod("guest", "n2", "10.1.0.5")
    world.hold("10.1.0.8", "by-hand", node="n1")
    tortie.with_store(world.fill)
    before = tortie.entries()
    ran = tortie("delete", "node", "n1")
    assert (ran.code, ran.stdout) == (0, "Successfully deleted 1 'Node' resource(s)\n")
    assert ran.stderr.splitlines() == [
        "deleted with it: WorkloadEndpoint(shop/n1-k8s-web--n1-eth0)",
        "released with it: 4 addresses",
        "if its agent still runs, stop it: it would register the node again, and its pods have no addresses",
        "10.1.0.8 stays: it is from an unknown source, Handle(by-hand); `tortie ipam release` frees it",
    ]
    after = tortie.entries()
    assert [key for key in after if "n1" in key] == []
    block = json.loads(after["/calico/ipam/v2/assignment/ipv4/block/10.1.0.0-26"])
    assert block["affinity"] is None
    assert sorted(attribute["handle_id"] for attribute in block["attributes"]) == ["by-hand", "k8s-pod-network.c-guest"]
    others = [key for key in before if "n2" in key or key.endswith("10.1.1.0-26")]
    assert {key: after.get(key) for key in others} == {key: before[key] for key in others}


def test_a_pool_is_deleted_with_its_empty_blocks_and_tells_what_is_still_in_use(tortie: Tortie) -> None:
    world = World("10.1.0.0/16")
    world.node("n1")
    world.block("10.1.0.0/26", "n1")
    world.block("10.1.1.0/26", "n1")
    world.pod("web", "n1", "10.1.0.1")
    tortie.with_store(world.fill)
    ran = tortie("delete", "ippool", "pool")
    assert (ran.code, ran.stdout) == (0, "Successfully deleted 1 'IPPool' resource(s)\n")
    assert ran.stderr.splitlines() == [
        "1 addresses in 1 of its blocks are still in use; whoever has them keeps them",
        "1 address blocks stay until they are collected",
    ]
    left = [key for key in tortie.entries() if "/block/" in key]
    assert left == [
        "/calico/ipam/v2/assignment/ipv4/block/10.1.0.0-26",
        "/calico/ipam/v2/host/n1/ipv4/block/10.1.0.0-26",
    ]


def test_a_pool_s_blocks_outlive_it_and_are_counted(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16"), pool("b", "fd00:1::/64")))
    for block in ("ipv4/block/10.1.0.0-26", "ipv4/block/10.1.0.64-26", "ipv4/block/10.9.0.0-26", "ipv4/block/odd"):
        tortie.put(f"/calico/ipam/v2/assignment/{block}", b"{}")
    tortie.put("/calico/ipam/v2/assignment/ipv6/block/fd00:1::-122", b"{}")
    assert tortie("delete", "ippool", "a").stderr == "2 address blocks stay until they are collected\n"
    assert tortie("delete", "ippool", "b").stderr == "1 address blocks stay until they are collected\n"


def test_a_file_with_an_old_resource_version_deletes_nothing(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    seen = tortie.file("seen.yaml", tortie("get", "pool", "a", "-o", "yaml").stdout)
    tortie("label", "pool", "a", "x=y")
    ran = tortie("delete", "-f", seen)
    assert_three_lines(ran, 1)
    assert "update conflict: IPPool(a)" in ran.stderr
    fresh = tortie.file("fresh.yaml", tortie("get", "pool", "a", "-o", "yaml").stdout)
    assert tortie("delete", "-f", fresh).code == 0
