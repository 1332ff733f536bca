"""BGPPeers: which sessions they make on which nodes, forward and back, and how such a session is set."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address
from typing import Any

import pytest
from tests.support.speakers import StoreEntry, default, names, node, own, peer, planned, secret, session, stored, told

from tortie.bgp.plan import Secret, Session
from tortie.bgp.sessions import wanted_secrets

NO_MESH = default(nodeToNodeMeshEnabled=False)
A = node("a", "10.0.0.1/24", rack="r1")
B = node("b", "10.0.0.2/24", rack="r1")
C = node("c", "10.0.0.3/24", rack="r2")
REFLECTOR = node("rr", "10.0.0.9/24", reflector="244.0.0.1", role="rr")
TOR: dict[str, Any] = {"peerIP": "10.0.0.254", "asNumber": 65001}


def sessions_of(*entries: StoreEntry) -> dict[str, list[str]]:
    """Names of the sessions of every node, without a mesh."""
    nodes = [name for name in ("a", "b", "c", "rr") if told("a", *entries).speakers.get(name)]
    return {name: names(planned(name, NO_MESH, *entries)) for name in nodes}


WHO = [
    pytest.param(peer("tor", **TOR), ["a", "b", "c"], "Global_10_0_0_254", id="for all nodes"),
    pytest.param(peer("tor", node="b", **TOR), ["b"], "Node_10_0_0_254", id="for one node"),
    pytest.param(peer("tor", node="gone", **TOR), [], "", id="for a node that is not there"),
    pytest.param(peer("tor", nodeSelector="rack == 'r1'", **TOR), ["a", "b"], "Node_10_0_0_254", id="for a rack"),
    pytest.param(peer("tor", nodeSelector="has(gpu)", **TOR), [], "", id="for nobody"),
    pytest.param(
        peer("tor", peerIP="10.0.0.254:1790", asNumber=1), ["a", "b", "c"], "Global_10_0_0_254_port_1790", id="a port"
    ),
]


@pytest.mark.parametrize(("entry", "for_these", "name"), WHO)
def test_a_router_outside_is_the_neighbour_of_the_nodes_that_are_chosen(
    entry: StoreEntry, for_these: list[str], name: str
) -> None:
    expected = {node: [name] if node in for_these else [] for node in ("a", "b", "c")}
    assert sessions_of(A, B, C, entry) == expected


def test_a_session_with_a_router_outside() -> None:
    found = session(planned("a", A, NO_MESH, peer("tor", **TOR)), "Global_10_0_0_254")
    assert found == Session(
        "Global_10_0_0_254",
        "global",
        ip_address("10.0.0.254"),
        65001,
        64512,
        resource="tor",
        source=ip_address("10.0.0.1"),
    )


def test_reflectors_and_their_clients_find_each_other_by_labels() -> None:
    """One BGPPeer for the clients is enough: the reflectors get the way back by themselves."""
    rr2 = node("rr2", "10.0.0.8/24", reflector="244.0.0.1", role="rr")
    entries = [A, B, REFLECTOR, rr2, NO_MESH, peer("to-rr", nodeSelector="all()", peerSelector="role == 'rr'")]
    assert names(planned("a", *entries)) == ["Node_10_0_0_8", "Node_10_0_0_9"]
    of_rr = planned("rr", *entries)
    assert names(of_rr) == ["Node_10_0_0_1", "Node_10_0_0_2", "Node_10_0_0_8"]
    assert {found.name: found.reflects_as for found in of_rr.sessions} == {
        "Node_10_0_0_1": IPv4Address("244.0.0.1"),
        "Node_10_0_0_2": IPv4Address("244.0.0.1"),
        "Node_10_0_0_8": None,  # a reflector of the same cluster is no client
    }
    assert of_rr.reflects
    assert not planned("a", *entries).reflects
    assert all(found.reflects_as is None for found in planned("a", *entries).sessions)


REFLECTED = [
    pytest.param({}, "244.0.0.1", id="a plain node of the same AS is a client"),
    pytest.param({"reflector": "244.0.0.2"}, "244.0.0.1", id="a reflector of another cluster is a client"),
    pytest.param({"reflector": "244.0.0.1"}, None, id="a reflector of the same cluster is not"),
    pytest.param({"asn": 65009}, None, id="nothing is reflected to another AS"),
]


@pytest.mark.parametrize(("other", "expected"), REFLECTED)
@pytest.mark.parametrize("by", [{"peerSelector": "all()"}, {"peerIP": "10.0.0.2"}])
def test_who_is_a_client(by: dict[str, Any], other: dict[str, Any], expected: str | None) -> None:
    made = planned("rr", REFLECTOR, node("b", "10.0.0.2/24", **other), NO_MESH, peer("p", node="rr", **by))
    found = session(made, "Node_10_0_0_2").reflects_as
    assert found == (IPv4Address(expected) if expected else None)


REVERSE = [
    pytest.param({"node": "a", "peerIP": "10.0.0.2", "asNumber": 64512}, ["a", "b"], id="the peer is a node"),
    pytest.param({"node": "a", "peerIP": "10.0.0.2"}, ["a", "b"], id="whose AS need not be said"),
    pytest.param({"node": "a", "peerIP": "10.0.0.2", "asNumber": 65009}, ["a"], id="not with an AS that b has not"),
    pytest.param({"node": "a", "peerSelector": "rack == 'r1'"}, ["a", "b"], id="selected, and not with itself"),
    pytest.param({"node": "a", "peerSelector": "rack == 'r1'", "reversePeering": "Manual"}, ["a"], id="by hand"),
    pytest.param({"node": "a", "peerIP": "10.0.0.2", "reversePeering": "Auto"}, ["a", "b"], id="by itself"),
    pytest.param({"peerIP": "10.0.0.2"}, ["a", "b", "c"], id="everybody's peer has everybody"),
    pytest.param({"nodeSelector": "rack == 'r2'", "peerIP": "10.0.0.2"}, ["b", "c"], id="of the other rack"),
]


@pytest.mark.parametrize(("spec", "with_sessions"), REVERSE)
def test_the_way_back(spec: dict[str, Any], with_sessions: list[str]) -> None:
    found = sessions_of(A, B, C, peer("p", **spec))
    assert [name for name, sessions in found.items() if sessions] == with_sessions


def test_the_way_back_has_the_families_that_were_meant() -> None:
    dual = [node("a", "10.0.0.1/24", "fd00::1/64"), node("b", "10.0.0.2/24", "fd00::2/64"), NO_MESH]
    by_address = peer("p", node="a", peerIP="fd00::2")
    assert names(planned("a", *dual, by_address)) == ["Node_fd00__2"]
    assert names(planned("b", *dual, by_address)) == ["Node_fd00__1"]
    by_label = peer("p", node="a", peerSelector="all()")
    assert names(planned("b", *dual, by_label)) == ["Node_10_0_0_1", "Node_fd00__1"]


def test_a_global_peering_comes_before_one_for_the_node_and_duplicates_become_one() -> None:
    same = [
        peer("c-global", keepaliveTime="10s", **TOR),
        peer("a-node", node="a", keepaliveTime="20s", **TOR),
        peer("b-node", nodeSelector="all()", keepaliveTime="30s", **TOR),
        peer("d-global", keepaliveTime="40s", **TOR),
    ]
    made = planned("a", A, NO_MESH, *same)
    assert names(made) == ["Global_10_0_0_254"]
    assert made.sessions[0].resource == "c-global"
    without_global = planned("a", A, NO_MESH, *same[1:3])
    assert [(found.name, found.resource) for found in without_global.sessions] == [("Node_10_0_0_254", "a-node")]


def test_port_179_is_the_port_that_nobody_has_to_name() -> None:
    entries = [peer("x", **TOR), peer("y", peerIP="10.0.0.254:179", asNumber=65001)]
    assert names(planned("a", A, NO_MESH, *entries)) == ["Global_10_0_0_254"]


def test_what_was_asked_for_comes_before_the_way_back() -> None:
    entries = [
        peer("1-from-b", node="b", peerIP="10.0.0.1", keepaliveTime="10s"),
        peer("2-from-a", node="a", peerIP="10.0.0.2", keepaliveTime="20s"),
    ]
    assert session(planned("a", A, B, NO_MESH, *entries), "Node_10_0_0_2").resource == "2-from-a"
    assert session(planned("b", A, B, NO_MESH, *entries), "Node_10_0_0_1").resource == "1-from-b"


@pytest.mark.parametrize(
    ("entries", "on_a", "on_b"),
    [
        pytest.param([], "Node_10_0_0_2", "Node_10_0_0_1", id="BGP's own port"),
        pytest.param([own("b", listenPort=1791)], "Node_10_0_0_2_port_1791", "Node_10_0_0_1", id="b has another"),
        pytest.param([own("a", listenPort=1792)], "Node_10_0_0_2", "Node_10_0_0_1_port_1792", id="a has another"),
        pytest.param(
            [default(nodeToNodeMeshEnabled=False, listenPort=1790)],
            "Node_10_0_0_2_port_1790",
            "Node_10_0_0_1_port_1790",
            id="the whole cluster has",
        ),
    ],
)
@pytest.mark.parametrize("by", [{"peerIP": "10.0.0.2"}, {"peerSelector": "all()"}])
def test_a_node_is_called_where_it_listens(by: dict[str, Any], entries: list[StoreEntry], on_a: str, on_b: str) -> None:
    cluster = [A, B, NO_MESH, *entries, peer("p", node="a", **by)]
    of_a, of_b = planned("a", *cluster), planned("b", *cluster)
    assert (names(of_a), names(of_b)) == ([on_a], [on_b])
    assert (of_a.sessions[0].peer_port, of_b.sessions[0].peer_port) == (of_b.listen_port, of_a.listen_port)


def test_another_daemon_on_a_nodes_machine_is_not_the_node() -> None:
    entries = [A, B, NO_MESH, peer("p", peerIP="10.0.0.2:1790", asNumber=64512)]
    found = session(planned("a", *entries), "Global_10_0_0_2_port_1790")
    assert (found.peer_node, found.passive) == ("", False)  # nobody but us would call
    assert names(planned("b", *entries)) == []


@pytest.mark.parametrize(
    ("spec", "a_waits", "b_waits"),
    [
        pytest.param({"peerSelector": "all()"}, True, False, id="global: the smaller text waits, as in the mesh"),
        pytest.param({"peerIP": "10.0.0.2"}, True, False, id="global on a, the way back is b's own session"),
        pytest.param({"peerIP": "10.0.0.1"}, False, False, id="nobody waits: the way back always calls"),
        pytest.param({"node": "a", "peerSelector": "all()"}, False, False, id="for one node: both call"),
    ],
)
def test_who_waits_and_who_calls(spec: dict[str, Any], a_waits: bool, b_waits: bool) -> None:
    entries = [A, B, NO_MESH, peer("p", **spec)]
    waiting = planned("a", *entries).sessions[0].passive, planned("b", *entries).sessions[0].passive
    assert waiting == (a_waits, b_waits)
    assert waiting != (True, True)


def test_a_neighbour_outside_is_always_called() -> None:
    assert session(planned("a", A, NO_MESH, peer("tor", **TOR)), "Global_10_0_0_254").passive is False


AS_CASES = [
    pytest.param({"peerSelector": "all()"}, {"a": 65001}, (65001, 64512), id="each its own, else the cluster's"),
    pytest.param({"peerIP": "10.0.0.2"}, {"b": 65002}, (64512, 65002), id="of a node it need not be said"),
    pytest.param({"peerIP": "10.0.0.2", "asNumber": 65002}, {"b": 65002}, (64512, 65002), id="but may"),
    pytest.param({"peerIP": "10.0.0.2", "localASNumber": 65100}, {}, (65100, 64512), id="another one for this peer"),
    pytest.param({"peerSelector": "all()", "localASNumber": 65100}, {}, (65100, 64512), id="or for selected ones"),
]


@pytest.mark.parametrize(("spec", "given", "expected"), AS_CASES)
def test_both_ends_agree_about_their_as_numbers(
    spec: dict[str, Any], given: dict[str, int], expected: tuple[int, int]
) -> None:
    entries = [
        node("a", "10.0.0.1/24", asn=given.get("a", 0)),
        node("b", "10.0.0.2/24", asn=given.get("b", 0)),
        NO_MESH,
        peer("p", node="a", **spec),
    ]
    of_a, of_b = planned("a", *entries).sessions[0], planned("b", *entries).sessions[0]
    assert (of_a.local_as, of_a.peer_as) == expected
    assert (of_b.peer_as, of_b.local_as) == expected


SETTINGS = [
    ({}, "source", ip_address("10.0.0.1")),
    ({"sourceAddress": "UseNodeIP"}, "source", ip_address("10.0.0.1")),
    ({"sourceAddress": "None"}, "source", None),
    ({}, "next_hop", "auto"),
    ({"nextHopMode": "Auto"}, "next_hop", "auto"),
    ({"nextHopMode": "Self"}, "next_hop", "self"),
    ({"nextHopMode": "Keep"}, "next_hop", "keep"),
    ({"keepOriginalNextHop": True}, "next_hop", "keep"),
    ({"keepOriginalNextHop": True, "asNumber": 64512}, "next_hop", "auto"),  # only between two AS
    ({"keepOriginalNextHop": True, "nextHopMode": "Auto"}, "next_hop", "auto"),
    ({"nextHopMode": "Keep", "asNumber": 64512}, "next_hop", "keep"),
    ({}, "ttl_security", None),
    ({"ttlSecurity": 0}, "ttl_security", None),
    ({"ttlSecurity": 1}, "ttl_security", 1),
    ({"maxRestartTime": "2m"}, "restart_time_s", 120),
    ({"maxRestartTime": "5000s"}, "restart_time_s", None),
    ({"keepaliveTime": "10s"}, "keepalive_s", 10),
    ({"keepaliveTime": "100ms"}, "keepalive_s", None),
    ({"numAllowedLocalASNumbers": 2}, "allowed_local_as", 2),
    ({"numAllowedLocalASNumbers": 0}, "allowed_local_as", None),
    ({"localASNumber": 65100}, "local_as", 65100),
    ({"reachableBy": "10.0.0.253"}, "reachable_by", ip_address("10.0.0.253")),
    ({"filters": ["f", "g"]}, "filters", ("f", "g")),
    ({"password": secret("tor")}, "password", Secret("s3cret")),
]


@pytest.mark.parametrize(("spec", "field", "expected"), SETTINGS)
def test_a_setting_of_a_peer_arrives_in_its_session(spec: dict[str, Any], field: str, expected: object) -> None:
    entries = [stored("BGPFilter", name) for name in ("f", "g", "not-used")]
    secrets = {("tor", "password"): Secret("s3cret")}
    made = planned("a", A, NO_MESH, *entries, peer("tor", **(TOR | spec)), secrets=secrets)
    assert getattr(session(made, "Global_10_0_0_254"), field) == expected
    assert list(made.filters) == sorted(spec.get("filters", []))


def test_the_way_back_shares_what_both_ends_need_and_nothing_else() -> None:
    spec = {
        "password": secret("p"),
        "ttlSecurity": 1,
        "keepaliveTime": "10s",
        "filters": ["f"],
        "numAllowedLocalASNumbers": 2,
        "reachableBy": "10.0.0.253",
    }
    entries = [A, B, NO_MESH, stored("BGPFilter", "f"), peer("p", node="a", peerIP="10.0.0.2", **spec)]
    secrets = {("p", "password"): Secret("s3cret")}
    there = planned("a", *entries, secrets=secrets).sessions[0]
    back = planned("b", *entries, secrets=secrets).sessions[0]
    for field in ("password", "ttl_security", "keepalive_s", "filters"):
        assert getattr(there, field) == getattr(back, field)
    assert (there.allowed_local_as, there.reachable_by) == (2, ip_address("10.0.0.253"))
    assert (back.allowed_local_as, back.reachable_by) == (None, None)


def test_where_both_are_set_the_selector_counts_and_the_gateway_of_the_address_does_not() -> None:
    """As in Calico; the resource would not be accepted today, but may be there."""
    spec = {"node": "a", "peerIP": "10.0.0.254", "peerSelector": "rack == 'r2'", "reachableBy": "10.0.0.253"}
    made = planned("a", A, B, C, NO_MESH, peer("p", **spec))
    assert names(made) == ["Node_10_0_0_3"]
    assert made.sessions[0].reachable_by is None


def test_only_the_secrets_of_this_nodes_sessions_are_wanted() -> None:
    entries = [
        A,
        B,
        default(nodeMeshPassword=secret("mesh")),
        peer("mine", node="a", password=secret("mine"), **TOR),
        peer("all", peerIP="10.0.0.253", asNumber=1, password=secret("all")),
        peer("other", node="b", password=secret("other"), **TOR),
        peer("back", node="b", peerIP="10.0.0.1", password=secret("back")),
    ]
    wanted = wanted_secrets("a", told("a", *entries))
    assert {name for name, _ in wanted} == {"mesh", "mine", "all", "back"}
