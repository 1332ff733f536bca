"""What the store says about BGP, entry by entry: what is read, what cannot be, and what happens then."""

from __future__ import annotations

import tracemalloc
from ipaddress import IPv4Address, ip_interface, ip_network

import pytest
from tests.support.speakers import StoreEntry, block, default, key, node, own, peer, pool, stored, told

from tortie.bgp.cluster import Known, prefixes
from tortie.model.wire import encode

CONFIRMED = b'{"state":"confirmed","deleted":false}'


def test_these_prefixes_of_the_store_are_followed() -> None:
    resources = "/calico/resources/v3/projectcalico.org/"
    assert prefixes("a") == (
        f"{resources}nodes/",
        f"{resources}bgpconfigurations/",
        f"{resources}bgppeers/",
        f"{resources}bgpfilters/",
        f"{resources}ippools/",
        "/calico/ipam/v2/host/a/ipv4/block/",
        "/calico/ipam/v2/host/a/ipv6/block/",
    )


def test_of_a_node_a_few_fields_are_kept() -> None:
    entry = node("b", "10.0.0.2/24", "FD00::2/64", asn=64513, reflector="244.0.0.1", rack="r1")
    speaker = told("a", entry).speakers["b"]
    assert speaker.cidrs() == (ip_interface("10.0.0.2/24"), ip_interface("fd00::2/64"))
    assert (speaker.as_number, speaker.cluster_id) == (64513, IPv4Address("244.0.0.1"))
    assert speaker.labels == {"rack": "r1"}


@pytest.mark.parametrize(
    ("entry", "networks", "as_number"),
    [
        (node("b", "10.0.0.2"), "10.0.0.2/32", None),
        (node("b", ipv6="fd00::2"), "fd00::2/128", None),
        (node("b", "10.0.0.2/24", asn="1.10"), "10.0.0.2/24", 65546),
        (node("b"), "", None),
        ((key("Node", "b"), b'{"spec":{"bgp":null},"metadata":{"labels":null}}'), "", None),
        ((key("Node", "b"), b'{"kind":"Node"}'), "", None),
    ],
)
def test_a_node_says_as_little_as_it_likes(entry: StoreEntry, networks: str, as_number: int | None) -> None:
    cluster = told("a", entry)
    assert not cluster.unreadable
    assert " ".join(map(str, cluster.speakers["b"].cidrs())) == networks
    assert cluster.speakers["b"].as_number == as_number


UNREADABLE = [
    ("Node", "b", b"{", "truncated"),
    ("Node", "b", b'{"metadata":' * 5000, "nested too deeply"),
    ("Node", "b", b'{"metadata":{"labels":{"rack":7}}}', "Expected `str`, got `int`"),
    ("Node", "b", node("b", "10.0.0.300/24")[1], "which is no address"),
    ("Node", "b", node("b", "fd00::2/64")[1], "which is no IPv4 address"),
    ("Node", "b", node("b", ipv6="fe80::2%eth0/64")[1], "which is no IPv6 address"),
    ("Node", "b", node("b", "10.0.0.2/33")[1], "no length from 0 to 32"),
    ("Node", "b", node("b", "10.0.0.2/ 8")[1], "no length from 0 to 32"),
    ("Node", "b", node("b", "0.0.0.0/24")[1], "not the address of one machine"),
    ("Node", "b", node("b", ipv6="fe80::2/64")[1], "link-local"),
    ("Node", "b", node("b", "10.0.0.2/24", asn=-1)[1], "is not an AS number"),
    ("Node", "b", node("b", "10.0.0.2/24", reflector="one")[1], "which is no IPv4 address"),
    ("BGPConfiguration", "default", b"not json", "it is not JSON"),
    ("BGPConfiguration", "default", b"[]", "a JSON list, not an object"),
    ("BGPConfiguration", "default", b'{"spec":"mesh"}', "a mapping of fields is needed"),
    ("BGPConfiguration", "default", default(asNumber="x")[1], "spec.asNumber = 'x': is not an AS number"),
    ("BGPConfiguration", "default", default(listenPort=70000)[1], "is not from 1 to 65535"),
    ("BGPPeer", "tor", peer("tor", peerIP="10.0.0.300")[1], "is not an IP address"),
    ("BGPPeer", "tor", peer("tor", peerSelector="rack =")[1], "invalid selector"),
    ("BGPPeer", "tor", peer("tor", peerIP="10.0.0.1", ttlSecurity=256)[1], "is not from 0 to 255"),
    ("BGPPeer", "tor", peer("tor", peerIP="10.0.0.1", reachableBy="fd00::1")[1], "not of the address family"),
    ("BGPFilter", "f", stored("BGPFilter", "f", importV4=[{"action": "Allow"}])[1], "must be one of Accept, Reject"),
    ("BGPFilter", "f", stored("BGPFilter", "f", importV6=[{"action": "Accept", "cidr": "10.0.0.0/8"}])[1], "IPv6"),
    ("IPPool", "p", pool("p", "10.244.0.1/16")[1], "host bits"),
    ("IPPool", "p", b'{"spec":{}}', "is required"),
    ("BlockAffinity", "10.244.1.0-99", CONFIRMED, "its key names no block"),
    ("BlockAffinity", "10.244.1.0-26", b"{", "it is not JSON"),
]


@pytest.mark.parametrize(("kind", "name", "value", "why"), UNREADABLE)
def test_what_cannot_be_read_is_reported_and_harms_nothing_else(kind: str, name: str, value: bytes, why: str) -> None:
    where = f"/calico/ipam/v2/host/a/ipv4/block/{name}" if kind == "BlockAffinity" else key(kind, name)
    good = node("c", "10.0.0.3/24"), default(asNumber=65000), peer("x", peerIP="10.0.0.9", asNumber=1)
    cluster = told("a", *(entry for entry in good if entry[0] != where), (where, value))
    (entry,) = cluster.unreadable
    assert (str(entry), entry.kept) == (f"{kind}({name})", False)
    assert why in entry.why
    assert cluster.lost(kind, name) == entry.why
    assert "c" in cluster.speakers
    assert "x" in cluster.peers


def test_what_was_said_before_stays_in_force_until_it_can_be_read_again() -> None:
    known = Known("a")
    known.learn(*peer("tor", peerIP="10.0.0.9", asNumber=65001))
    assert known.learn(key("BGPPeer", "tor"), b"{")
    broken = known.cluster()
    assert broken.peers["tor"].asNumber == 65001
    assert [(str(entry), entry.kept) for entry in broken.unreadable] == [("BGPPeer(tor)", True)]
    assert not broken.lost("BGPPeer", "tor")
    known.learn(*peer("tor", peerIP="10.0.0.9", asNumber=65002))
    healed = known.cluster()
    assert (healed.peers["tor"].asNumber, healed.unreadable) == (65002, ())


@pytest.mark.parametrize("last", [peer("tor", peerIP="10.0.0.9", asNumber=65001)[1], b"{"])
def test_what_is_deleted_is_forgotten(last: bytes) -> None:
    known = Known("a")
    known.learn(*peer("tor", peerIP="10.0.0.9", asNumber=65001))
    known.learn(key("BGPPeer", "tor"), last)
    assert known.learn(key("BGPPeer", "tor"), None)
    assert (known.cluster().peers, known.cluster().unreadable) == ({}, ())


def test_only_what_makes_a_difference_counts_as_news() -> None:
    known = Known("a")
    assert known.learn(*node("b", "10.0.0.2/24"))
    where, value = node("b", "10.0.0.2/24")
    assert value is not None
    assert not known.learn(where, value.replace(b'"kind"', b'"status":{"podCIDRs":["10.1.0.0/24"]},"kind"'))
    assert not known.learn("/calico/resources/v3/projectcalico.org/profiles/x", b"{}")
    assert not known.learn(key("Node", "never-seen"), None)
    assert known.learn(*node("b", "10.0.0.2/24", rack="r1"))
    assert known.learn(where, b"{")
    assert not known.learn(where, b"{")
    assert known.learn(where, None)


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        (CONFIRMED, True),
        (b"", True),  # of a Calico that knew no states
        (b'""', True),
        (b"{}", True),
        (b'{"state":"","deleted":false}', True),
        (b'{"state":"pending","deleted":false}', False),
        (b'{"state":"pendingDeletion","deleted":false}', False),
        (b'{"state":"confirmed","deleted":true}', False),
    ],
)
def test_a_block_is_ours_once_it_is_confirmed(value: bytes, counts: bool) -> None:
    cluster = told("a", block("a", "10.244.1.0/26", value))
    assert cluster.blocks == ((ip_network("10.244.1.0/26"),) if counts else ())
    assert not cluster.unreadable


def test_blocks_of_both_families_stand_in_order_and_those_of_others_do_not_count() -> None:
    in_order = ["10.244.9.0/26", "10.244.9.64/26", "10.244.10.0/26", "fd00:10:244::40/122"]
    cluster = told("a", *(block("a", cidr) for cidr in reversed(in_order)), block("a2", "10.244.77.0/26"))
    assert [str(found) for found in cluster.blocks] == in_order


def test_a_block_that_is_given_back_is_ours_no_longer() -> None:
    known = Known("a")
    known.learn(*block("a", "10.244.1.0/26"))
    assert known.learn(*block("a", "10.244.1.0/26", b'{"state":"pendingDeletion"}'))
    assert known.cluster().blocks == ()


def test_settings_of_the_cluster_of_this_node_and_ports_of_the_others() -> None:
    cluster = told(
        "a",
        default(asNumber=65000, listenPort=1790),
        own("a", logSeverityScreen="Debug"),
        own("b", listenPort=1791),
        own("c.example.org", listenPort=1792),
    )
    assert cluster.as_number == 65000
    assert cluster.own_configuration.logSeverityScreen == "Debug"
    assert cluster.ports == {"b": 1791, "c.example.org": 1792}
    assert [cluster.port_of(name) for name in ("a", "b", "c.example.org")] == [1790, 1791, 1792]


def test_without_any_settings_calicos_defaults_hold() -> None:
    cluster = told("a")
    assert (cluster.as_number, cluster.port_of("b"), cluster.port_given("b")) == (64512, 179, 0)


@pytest.mark.parametrize(
    "spec",
    [
        {"programClusterRoutes": "SomethingNewer"},
        {"localWorkloadPeeringIPV4": "not-for-us"},
        {"asNumber": None, "serviceClusterIPs": None},
        {"listenPort": 0},
        {"fieldOfANewerCalico": {"a": 1}},
    ],
)
def test_a_configuration_is_read_as_far_as_it_matters(spec: dict[str, object]) -> None:
    value = encode({"kind": "BGPConfiguration", "spec": {"nodeToNodeMeshEnabled": False, **spec}})
    cluster = told("a", (key("BGPConfiguration", "default"), value))
    assert not cluster.unreadable
    assert cluster.configuration.nodeToNodeMeshEnabled is False
    assert cluster.port_of("a") == 179


def test_a_cluster_that_was_given_away_does_not_change() -> None:
    known = Known("a")
    known.learn(*node("b", "10.0.0.2/24"))
    before = known.cluster()
    known.learn(*node("c", "10.0.0.3/24"))
    known.learn(key("Node", "b"), None)
    assert list(before.speakers) == ["b"]


def test_a_node_costs_a_few_hundred_bytes() -> None:
    labels = {f"example.org/label-{number}": "the same everywhere" for number in range(8)}
    entries = [node(f"node-{number}", f"10.0.{number // 250}.{number % 250 + 1}/16", **labels) for number in range(500)]
    known = Known("node-0")
    tracemalloc.start()
    try:
        for entry in entries:
            known.learn(*entry)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / len(entries) < 1000
