"""Entries of the store as the dataplane reads them, and the settings of Felix from their sources."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

import pytest
from tests.support.dataplane import resource

from tortie.dataplane.felix import FelixSettings, read_felix
from tortie.dataplane.known import BLOCKS, Known
from tortie.dataplane.records import Block, Endpoint, NotReadable, Peer, Pool, read_block, read_endpoint, read_peer
from tortie.model.names import vtep_mac
from tortie.model.wire import encode


def learn(known: Known, *entries: Any) -> list[bool]:
    return [known.learn(entry.key, entry.value) for entry in entries]


def endpoint(name: str, node: str, **more: Any) -> Any:
    spec = {"node": node, "interfaceName": "cali1", "ipNetworks": ["10.244.0.5/32"], "mac": "02-00-00-00-00-0A", **more}
    return resource("WorkloadEndpoint", name, spec, namespace="default")


def test_a_node() -> None:
    spec = {
        "bgp": {"ipv4Address": "10.0.0.1/24", "ipv6Address": "fd00::1"},
        "ipv4VXLANTunnelAddr": "10.244.0.1",
        "vxlanTunnelMACAddrV6": "66:AA:00:00:00:01",
        "addresses": [{"address": "192.0.2.1"}, {"address": "10.0.0.1/24", "type": "CalicoNodeIP"}],
    }
    assert read_peer("n", resource("Node", "n", spec).value) == Peer(
        "n",
        ip_interface("10.0.0.1/24"),
        ip_interface("fd00::1/128"),
        ip_address("10.244.0.1"),  # type: ignore[arg-type]
        None,
        vtep_mac("n"),
        "66:aa:00:00:00:01",
        (ip_address("10.0.0.1"), ip_address("192.0.2.1")),
    )


@pytest.mark.parametrize("spec", [{"bgp": {"ipv4Address": "fd00::1/64"}}, {"vxlanTunnelMACAddr": "no"}, {"bgp": []}])
def test_a_node_that_makes_no_sense(spec: Any) -> None:
    with pytest.raises(NotReadable):
        read_peer("n", resource("Node", "n", spec).value)


def test_a_pod_of_this_node_and_of_another() -> None:
    mine = endpoint("me-k8s-web-eth0", "me")
    ips = (ip_address("10.244.0.5"),)
    assert read_endpoint("default/x", mine.value, "me") == Endpoint("default/x", "cali1", ips, "02:00:00:00:00:0a")
    assert read_endpoint("default/x", mine.value, "you") is None


def test_a_block_whose_it_is_and_what_is_lent() -> None:
    document = {
        "cidr": "10.244.0.0/30",
        "affinity": "host:me",
        "allocations": [0, 1, None, 2],
        "unallocated": [2],
        "attributes": [
            {"handle_id": "a", "secondary": {"node": "me"}},
            {"handle_id": "b", "secondary": {"node": "you"}},
            {"handle_id": "c", "secondary": {"node": "you"}, "releasedAt": "2026-01-01T00:00:00Z"},
        ],
    }
    cidr = ip_network("10.244.0.0/30")
    assert read_block("", encode(document)) == Block(cidr, "me", ((ip_address("10.244.0.1"), "you"),))
    assert read_block("", encode({**document, "deleted": True})) is None
    nobodys = read_block("", encode({**document, "affinity": None}))
    assert nobodys is not None
    assert [node for _, node in nobodys.lent] == ["me", "you"]


def test_pods_of_other_nodes_and_addresses_within_a_block_wake_nobody() -> None:
    known = Known("me")
    assert learn(known, endpoint("you-k8s-web-eth0", "you"), endpoint("me-k8s-web-eth0", "me")) == [False, True]
    document: dict[str, Any] = {"cidr": "10.244.0.0/30", "affinity": "host:you", "allocations": [None] * 4}
    key = f"{BLOCKS}ipv4/block/10.244.0.0-30"
    assert known.learn(key, encode(document)) is True
    document |= {"allocations": [0, None, None, None], "attributes": [{"handle_id": "a", "secondary": {"node": "you"}}]}
    assert known.learn(key, encode(document)) is False


def test_blocks_are_followed_only_while_a_pool_has_vxlan() -> None:
    known = Known("me")
    pool = resource("IPPool", "p", {"cidr": "10.244.0.0/16", "vxlanMode": "CrossSubnet", "natOutgoing": True})
    assert BLOCKS not in known.prefixes()
    learn(known, pool)
    assert BLOCKS in known.prefixes()
    assert known.state({}).pools == (Pool("p", ip_network("10.244.0.0/16"), "CrossSubnet", nat=True),)
    known.learn(pool.key, None)
    assert BLOCKS not in known.prefixes()


def test_what_makes_no_sense_is_told_and_what_it_said_before_stays() -> None:
    known = Known("me")
    learn(known, resource("Node", "n", {"bgp": {"ipv4Address": "10.0.0.1/24"}}))
    assert learn(known, resource("Node", "n", {"bgp": {"ipv4Address": "nonsense"}})) == [True]
    state = known.state({})
    assert state.nodes["n"].ipv4 == ip_interface("10.0.0.1/24")
    assert "Node(n) cannot be read" in state.notes[0]


def test_the_environment_comes_before_the_node_and_the_node_before_the_cluster() -> None:
    own, default = {"vxlanMTU": 1300, "vxlanPort": 4790}, {"vxlanMTU": 1200, "vxlanPort": 4791, "vxlanVNI": 7}
    settings, notes = read_felix({"FELIX_VXLANMTU": "1400"}, own, default)
    assert (settings.vxlan_mtu, settings.vxlan_port, settings.vxlan_vni) == (1400, 4790, 7)
    assert notes == ()


def test_a_value_that_cannot_be_meant_is_passed_over_and_told() -> None:
    said = {
        "vxlanPort": "x",
        "mtuIfacePattern": "(",
        "natPortRange": "9:1",
        "ipForwarding": "perhaps",
        "vxlanVNI": True,
    }
    settings, notes = read_felix({"FELIX_VXLANMTU": "99999"}, said, {"vxlanPort": 4790})
    assert settings == FelixSettings(vxlan_port=4790)
    assert len(notes) == 6


def test_words_of_felix() -> None:
    said = {
        "natOutgoingExclusions": "IPPoolsAndHostIPs",
        "ipForwarding": "Disabled",
        "natPortRange": "1000:2000",
        "interfacePrefix": "tap,cali",
        "removeExternalRoutes": False,
        "iptablesNATOutgoingInterfaceFilter": "eth+",
    }
    settings, notes = read_felix({"FELIX_IPV6SUPPORT": "false"}, {}, said)
    assert notes == ()
    assert settings == FelixSettings(
        nat_spares_hosts=True,
        forwarding=False,
        nat_ports=(1000, 2000),
        interface_prefix="tap",
        external_removed=False,
        nat_interfaces="eth+",
        ipv6=False,
    )
