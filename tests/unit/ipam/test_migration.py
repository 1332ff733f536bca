"""What becomes of each address that host-local gave out: decided without a file, a store or a kernel."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.ipam.block import Attribute, new_block
from tortie.ipam.census import Census, Cluster, NodeAddresses, Unreadable
from tortie.ipam.errors import NotReady, WrongNode
from tortie.ipam.migration import Refused, check_cluster, check_plan, plan_migration
from tortie.ipam.migration_files import Folder, Found, Lease, read_folder
from tortie.ipam.migration_pods import Pod, User, pods_in, users_of
from tortie.ipam.migration_tunnel import decide_tunnel, with_tunnel
from tortie.ipam.records import IpamSettings
from tortie.model.network import HostNetwork, Interface, Route
from tortie.model.resources.ippool import IPPoolSpec

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IP = ip_address("10.244.1.5")
POD = Pod("default", "web", (IP,))
USER = User("pods", "default", "web", document=POD)


def pool(cidr: str = "10.244.0.0/16", **more: Any) -> IPPoolSpec:
    return IPPoolSpec(cidr=ip_network(cidr), **more)


def census(**more: Any) -> Census:
    return Census(**{"pools": {"p": pool()}, "nodes": {"n1": NodeAddresses("n1")}, **more})


def held(handle: str, host: str = "n1") -> Census:
    block = new_block(ip_network("10.244.1.0/26"), f"host:{host}", NOW)
    return census(blocks={block.cidr: block.assign_given(IP, Attribute(handle, {}))})


def verdict(found: Census, lease: Lease | None = None, user: User | None = USER) -> tuple[str, str]:
    users = {IP: user} if user else {}
    plan = plan_migration("n1", "net", Folder((lease or Lease(IP, str(IP), "c5"),)), users, found)
    (decision,) = plan.decisions
    return decision.verdict, decision.why


@pytest.mark.parametrize(
    ("name", "content", "container", "interface"),
    [
        ("10.0.0.1", b"abc", "abc", "eth0"),
        ("10.0.0.1", b"abc\r\nnet1", "abc", "net1"),
        ("10.0.0.1", b"abc\nnet1\n", "abc", "net1"),
        ("10.0.0.1", b"  abc \r\n", "abc", "eth0"),
        ("fd00::1", b"abc\r\neth0", "abc", "eth0"),
        ("fd00__1", b"abc", "abc", "eth0"),
        ("10.0.0.1", b"", "", "eth0"),
        ("10.0.0.1", b"\r\n", "", "eth0"),
        ("10.0.0.1", b"a b", "", "eth0"),
        ("10.0.0.1", b"\xff", "", "eth0"),
    ],
)
def test_a_lease_as_host_local_writes_it(name: str, content: bytes, container: str, interface: str) -> None:
    (lease,) = read_folder([Found(name, content)]).leases
    assert (lease.container, lease.interface) == (container, interface)
    assert bool(lease.trouble) is not bool(container)


@given(st.lists(st.builds(Found, st.text(max_size=20), st.binary(max_size=50), st.text(max_size=5)), max_size=10))
def test_every_name_in_the_folder_is_accounted_for(found: list[Found]) -> None:
    folder = read_folder(found)
    told = [lease.name for lease in folder.leases]
    told += [*folder.bookkeeping, *(each.name for each in folder.strange)]
    assert sorted(told) == sorted(each.name for each in found)


def test_the_same_address_spelled_twice_is_one_lease() -> None:
    folder = read_folder([Found("fd00::1", b"a"), Found("fd00:0::1", b"b")])
    assert len(folder.leases) == 1
    assert [each.why for each in folder.strange] == ["it is the same address as fd00:0::1"]


@pytest.mark.parametrize(
    ("found", "expected", "why"),
    [
        (census(), "adopt", ""),
        (census(pools={}), "refused", "there is no IPv4 pool"),
        (census(pools={"p": pool("10.0.0.0/24")}), "refused", "there is only p (10.0.0.0/24)"),
        (census(pools={"p": pool(disabled=True)}), "refused", "p (10.244.0.0/16) is disabled"),
        (census(pools={"p": pool(allowedUses=("Tunnel",))}), "refused", "is only for Tunnel"),
        (held("net.c5"), "ours", ""),
        (held("net.c5\r\neth0"), "ours", ""),
        (held("net.other"), "refused", "it is held by net.other"),
    ],
)
def test_an_address_in_use(found: Census, expected: str, why: str) -> None:
    decided, told = verdict(found)
    assert decided == expected
    assert told.endswith(why)


def test_an_address_that_nobody_uses_is_never_adopted_and_needs_no_pool() -> None:
    assert verdict(census(pools={}), user=None) == ("stale", "no pod is known to use it")


def test_another_nodes_block() -> None:
    block = new_block(ip_network("10.244.1.0/26"), "host:n2", NOW)
    found = census(blocks={block.cidr: block})
    assert verdict(found) == ("adopt", "borrowed from the block 10.244.1.0/26 of n2")
    decided, why = verdict(found._replace(settings=IpamSettings(strict_affinity=True)))
    assert (decided, why.partition(":")[0]) == ("refused", "Block host affinity does not match")


def test_a_block_that_cannot_be_read_is_not_guessed_at() -> None:
    lost = (Unreadable("/calico/ipam/v2/assignment/ipv4/block/10.244.1.0-26", "not JSON"),)
    decided, why = verdict(census(unreadable=lost))
    assert (decided, why) == ("refused", "its block 10.244.1.0/26 cannot be read: not JSON")


def test_a_container_that_only_the_endpoint_knows() -> None:
    empty = Lease(IP, str(IP), "", trouble="it is empty")
    assert verdict(census(), empty)[0] == "refused"
    assert verdict(census(), empty, User("endpoint", "default", "web", "c5"))[0] == "adopt"


def test_a_pod_whose_endpoint_would_not_be_valid_still_keeps_its_address() -> None:
    lease = Lease(IP, str(IP), "c_5")
    plan = plan_migration("n1", "net", Folder((lease,)), {IP: USER}, census())
    (adoption,) = plan.adoptions
    assert (adoption.ips, adoption.endpoint) == ((IP,), None)
    assert "containerID" in adoption.doubt


def test_one_refusal_stops_everything_and_names_all() -> None:
    leases = tuple(Lease(ip_address(f"10.9.0.{number}"), "", f"c{number}") for number in (1, 2, 3))
    users = {lease.ip: USER for lease in leases[:2]}
    with pytest.raises(Refused) as raised:
        check_plan(plan_migration("n1", "net", Folder(leases), users, census()))
    assert "2 of 2 addresses in use" in raised.value.what
    assert [str(each.lease.ip) for each in raised.value.refused] == ["10.9.0.1", "10.9.0.2"]


def test_the_cluster_has_to_know_the_node_and_must_not_be_locked() -> None:
    check_cluster("n1", census())
    with pytest.raises(WrongNode):
        check_cluster("n2", census(nodes={}))
    with pytest.raises(NotReady):
        check_cluster("n1", census(cluster=Cluster(ready=False)))


def test_who_uses_an_address_the_most_telling_source_wins() -> None:
    here = HostNetwork(
        (Interface(3, "cali1", "veth"), Interface(4, "eth0")),
        (Route(ip_network("10.244.1.5/32"), 3), Route(ip_network("10.244.1.6/32"), 4), Route(ip_network("::/0"), 3)),
    )
    assert users_of("n1", (), (), here) == {IP: User("route", interface="cali1")}
    assert users_of("n1", (), (POD,), here)[IP] == User("pods", "default", "web", interface="cali1", document=POD)


def test_pods_of_any_shape_do_no_harm() -> None:
    odd: list[Any] = [None, 1, {}, {"status": {"podIP": 5}}, {"status": "on"}]
    odd.append({"metadata": [], "status": {"podIP": "x", "podIPs": ["y", {"ip": "10.0.0.1"}]}})
    assert [pod.ips for pod in pods_in({"items": odd}, "n1", "f")] == [(ip_address("10.0.0.1"),)]


@pytest.mark.parametrize(
    ("record", "pools", "expected", "why"),
    [
        ({}, pool(ipipMode="Always"), None, "no record yet"),
        ({"spec": {"bgp": {"ipv4IPIPTunnelAddr": "10.0.0.1"}}}, pool(ipipMode="Always"), None, "has one already"),
        ({"status": {"podCIDRs": ["10.244.1.0/24"]}}, pool(), None, "no pool uses IPIP"),
        ({"spec": {}}, pool(ipipMode="Always"), None, "no IPv4 podCIDR"),
        ({"status": {"podCIDRs": ["", "nonsense", "fd00::/64"]}}, pool(ipipMode="Always"), None, "no IPv4 podCIDR"),
        ({"status": {"podCIDRs": ["10.1.1.0/24"]}}, pool(ipipMode="CrossSubnet"), None, "in no pool"),
        ({"status": {"podCIDRs": ["10.244.3.0/24"]}}, pool(ipipMode="Always"), "10.244.3.1", "first address"),
        ({"status": {"podCIDRs": ["10.244.1.4/30"]}}, pool(ipipMode="Always"), None, "is a pod's"),
    ],
)
def test_the_tunnels_address(record: Any, pools: IPPoolSpec, expected: str | None, why: str) -> None:
    tunnel = decide_tunnel("n1", record, census(pools={"p": pools}), {IP})
    assert (str(tunnel.ip) if tunnel.ip else None, why in tunnel.why) == (expected, True)


def test_a_record_keeps_what_it_has() -> None:
    record = {"kind": "Node", "spec": {"bgp": {"asNumber": 64512}, "new": 1}, "status": {}}
    ip = ip_address("10.244.3.1")
    assert isinstance(ip, IPv4Address)
    assert with_tunnel(record, ip) == {
        "kind": "Node",
        "spec": {"bgp": {"asNumber": 64512, "ipv4IPIPTunnelAddr": "10.244.3.1"}, "new": 1},
        "status": {},
    }
