"""One or two nodes: tunnel addresses, IPv6, pods without tunnels, settings of NAT, and troubles that are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.dataplane import World, endpoint_name, key, reaches, resource, world

from tortie.ipam.records import read_block
from tortie.model.keys import block_key
from tortie.model.names import host_interface
from tortie.model.wire import encode

pytestmark = pytest.mark.timeout(300)

PLAIN: dict[str, Any] = {"cidr": "10.244.0.0/16", "natOutgoing": False}
VXLAN: dict[str, Any] = {**PLAIN, "vxlanMode": "Always"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        made.network("rack1", "10.0.1.254/24", "fd00:1::fe/64")
        yield made


def test_pods_reach_each_other_over_ipv6_in_vxlan(own: World) -> None:
    own.commit(resource("IPPool", "six", {"cidr": "fd00:10:244::/64", "vxlanMode": "Always"}))
    machines = [own.machine(name, f"10.0.1.{n}/24", "rack1", ipv6=f"fd00:1::{n}/64") for n, name in enumerate("ab", 1)]
    for number, machine in enumerate(machines, 1):
        own.give_block(machine, f"fd00:10:244::{number}00/122")
        machine.start()
    first = own.pod(machines[0], "pod-a", "fd00:10:244::105")
    own.pod(machines[1], "pod-b", "fd00:10:244::205")
    machines[0].wait_route("fd00:10:244::200/122", "dev vxlan-v6.calico", family=6)
    assert reaches(first, "fd00:10:244::205"), machines[0].log
    assert reaches(first, "fd00:10:244::205", size=1430 - 48)


def test_without_tunnels_only_pods_have_routes_and_blocks_are_birds(own: World) -> None:
    own.commit(resource("IPPool", "pods", PLAIN))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    own.give_block(machine, "10.244.0.0/26")
    machine.start()
    one, _ = own.pod(machine, "one", "10.244.0.5"), own.pod(machine, "two", "10.244.0.6")
    machine.wait_route("10.244.0.5", "scope link", "metric 1024", "proto boot")
    assert reaches(one, "10.244.0.6")
    machine.wait("ready", lambda: machine.is_ready)
    assert "blackhole" not in machine.routes()
    assert machine.nft() == ""
    assert (machine.folder / "var/lib/calico/mtu").read_text() == "1500"
    # A setting that somebody has changed while nobody looked is right again after a start.
    link = host_interface("default", "one")
    machine.ns.run("sysctl", "-qw", f"net.ipv4.conf.{link}.forwarding=0")
    machine.kill()
    machine.start()
    machine.wait("right", lambda: machine.ns.run("sysctl", "-n", f"net.ipv4.conf.{link}.forwarding").stdout == "1\n")


def test_an_unknown_route_on_a_new_link_is_left_alone_and_then_goes(own: World) -> None:
    own.commit(resource("IPPool", "pods", PLAIN))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    machine.start()
    machine.wait("ready", lambda: machine.is_ready)
    machine.ns.veth("cali0123456789a", own.namespace("pod"), "eth0")
    machine.ns.ip("route", "add", "10.244.0.9/32", "dev", "cali0123456789a")
    own.pod(machine, "one", "10.244.0.5")  # something else happens meanwhile
    machine.wait_route("10.244.0.5")
    assert "10.244.0.9" in machine.routes()
    machine.wait_no_route("10.244.0.9")
    # The kernel has done it before the agent can tell.
    machine.wait("told", lambda: "delete 10.244.0.9/32 dev cali0123456789a" in machine.log)


def _assigned(own: World, cidr: str) -> list[tuple[str, str, str]]:
    """Address, handle and kind of all that is held in a block."""
    document = own.read(block_key(cidr))
    assert document is not None
    block = read_block("", encode(document))
    return [
        (str(each.ip), each.attribute.handle or "", (each.attribute.secondary or {}).get("type", ""))
        for each in block.holdings()
    ]


def test_the_tunnels_address_follows_the_pools_and_the_record(own: World) -> None:
    own.commit(resource("IPPool", "pods", PLAIN))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    own.give_block(machine, "10.244.0.0/26")
    machine.start()
    machine.wait("ready", lambda: machine.is_ready)
    assert _assigned(own, "10.244.0.0/26") == []
    own.commit(resource("IPPool", "pods", VXLAN))

    def told() -> str:
        spec = (own.read(key("Node", "a")) or {"spec": {}})["spec"]
        return str(spec.get("ipv4VXLANTunnelAddr", ""))

    machine.wait("an address", lambda: told() != "")
    address = told()
    assert _assigned(own, "10.244.0.0/26") == [(address, "vxlan-tunnel-addr-a", "vxlanTunnelAddress")]
    machine.wait("a device", lambda: f"{address}/32" in machine.ns.ip("addr"))
    # Whoever writes the record anew without it: the same address again, and the device never went.
    index = machine.ns.json("link", "show", "vxlan.calico")[0]["ifindex"]
    own.commit(resource("Node", "a", {"bgp": {"ipv4Address": machine.address}}))
    machine.wait("the address again", lambda: told() == address)
    assert machine.ns.json("link", "show", "vxlan.calico")[0]["ifindex"] == index
    own.commit(resource("IPPool", "pods", {**VXLAN, "disabled": True}))
    machine.wait("none", lambda: told() == "")
    assert _assigned(own, "10.244.0.0/26") == []


def test_ipip_has_an_address_too(own: World) -> None:
    own.commit(resource("IPPool", "pods", {**PLAIN, "ipipMode": "Always"}))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    own.give_block(machine, "10.244.0.0/26")
    machine.start()
    machine.wait("an address", lambda: "ipv4IPIPTunnelAddr" in (own.read(key("Node", "a")) or {})["spec"]["bgp"])
    assert [entry[1:] for entry in _assigned(own, "10.244.0.0/26")] == [("ipip-tunnel-addr-a", "ipipTunnelAddress")]


def test_no_address_for_the_tunnel_is_told(own: World) -> None:
    own.commit(resource("IPPool", "pods", {**VXLAN, "cidr": "10.244.0.0/32", "blockSize": 32}))
    one, two = (own.machine(name, f"10.0.1.{n}/24", "rack1") for n, name in enumerate("ab", 1))
    own.give_block(one, "10.244.0.0/32")
    one.start()
    one.wait("ready", lambda: one.is_ready)
    two.start()
    two.wait("told", lambda: "Unable to autoassign an address" in two.log)
    two.wait("not ready", lambda: not two.is_ready)


SETTINGS: list[dict[str, Any]] = [
    {},
    {"natOutgoingAddress": "10.0.1.1"},
    {"natOutgoingExclusions": "IPPoolsAndHostIPs"},
    {"natPortRange": "20000:30000"},
    {"natPortRange": "20000:30000", "natOutgoingAddress": "10.0.1.1"},
    {"iptablesNATOutgoingInterfaceFilter": "eth+"},
    {"vxlanPort": 8472, "vxlanVNI": 77, "vxlanMTU": 1300},
]


def test_whatever_felix_is_told_nft_takes_it(own: World) -> None:
    pools = [
        resource("IPPool", "pods", {**VXLAN, "natOutgoing": True}),
        resource("IPPool", "six", {"cidr": "fd00:10:244::/64", "vxlanMode": "Always", "natOutgoing": True}),
    ]
    own.commit(*pools)
    machine = own.machine("a", "10.0.1.1/24", "rack1", ipv6="fd00:1::1/64")
    machine.start()
    machine.wait("ready", lambda: machine.is_ready)
    marks = set()
    for spec in SETTINGS:
        before = machine.nft()
        own.commit(resource("FelixConfiguration", "default", spec))
        if spec:
            machine.wait(f"loaded: {spec}", lambda before=before: _mark(machine.nft()) != _mark(before))  # type: ignore[misc]
        machine.wait("ready", lambda: machine.is_ready)
        marks.add(_mark(machine.nft()))
    assert len(marks) == len(SETTINGS)
    assert "masquerade" in machine.nft("ip6")
    assert "cannot" not in machine.log
    data = machine.ns.json("link", "show", "vxlan.calico")[0]
    found = data["linkinfo"]["info_data"]
    assert (found["port"], found["id"], data["mtu"]) == (8472, 77, 1300)


def _mark(table: str) -> str:
    return next((line for line in table.splitlines() if "comment" in line), "")


def test_a_table_of_felix_is_told_and_stays(own: World) -> None:
    own.commit(resource("IPPool", "pods", {**PLAIN, "natOutgoing": True}))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    machine.ns.run("nft", "add table ip calico; add chain ip calico filter-cali-FORWARD")
    machine.start()
    machine.wait("told", lambda: "is not ours" in machine.log)
    assert "filter-cali-FORWARD" in machine.nft()
    machine.wait("not ready", lambda: not machine.is_ready)
    machine.ns.run("nft", "delete", "table", "ip", "calico")
    machine.wait("ready", lambda: machine.is_ready)
    assert "masquerade" in machine.nft()


def test_without_nft_the_node_says_so_and_routes_are_there(own: World) -> None:
    own.commit(resource("IPPool", "pods", {**PLAIN, "natOutgoing": True}))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    machine.start(TOOLS="/nowhere")
    own.pod(machine, "one", "10.244.0.5")
    machine.wait("told", lambda: "the program nft is not there. Fix: install nftables" in machine.log)
    machine.wait_route("10.244.0.5", "metric 1024")
    assert not machine.is_ready


def test_an_endpoint_before_its_link_and_after_it(own: World) -> None:
    own.commit(resource("IPPool", "pods", PLAIN))
    machine = own.machine("a", "10.0.1.1/24", "rack1")
    machine.start()
    machine.wait("ready", lambda: machine.is_ready)
    link = host_interface("default", "late")
    spec = {"node": "a", "interfaceName": link, "ipNetworks": ["10.244.0.7/32"]}
    own.commit(resource("WorkloadEndpoint", endpoint_name("a", "late"), spec, namespace="default"))
    machine.ns.veth(link, own.namespace("pod"), "eth0")
    machine.wait_route("10.244.0.7", link)
    machine.ns.ip("link", "set", link, "down")
    machine.wait_no_route("10.244.0.7")
    machine.ns.ip("link", "set", link, "up")
    machine.wait_route("10.244.0.7", link)
