"""The full mesh, seen from both ends of each session."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from tests.support.speakers import (
    StoreEntry,
    default,
    names,
    node,
    own,
    peer,
    planned,
    refused,
    secret,
    session,
    told,
)

from tortie.bgp.plan import Secret
from tortie.bgp.sessions import wanted_secrets

A, B, C = node("a", "10.0.0.1/24"), node("b", "10.0.0.2/24"), node("c", "10.0.0.3/24")
MESH_PASSWORD = {("bgp", "password"): Secret("s3cret")}


def test_every_other_node_is_a_neighbour() -> None:
    made = planned("b", A, B, C)
    assert names(made) == ["Mesh_10_0_0_1", "Mesh_10_0_0_3"]
    assert made.refusals == ()
    found = session(made, "Mesh_10_0_0_1")
    assert (found.kind, found.peer_node, found.resource) == ("mesh", "a", "")
    assert (found.peer, found.source) == (ip_address("10.0.0.1"), ip_address("10.0.0.2"))
    assert (found.peer_as, found.local_as, found.peer_port) == (64512, 64512, 179)


def test_each_family_that_both_have_is_a_session() -> None:
    entries = [
        node("a", "10.0.0.1/24", "fd00::1/64"),
        node("b", "10.0.0.2/24", "FD00:0:0::2/64"),
        node("four", "10.0.0.4/24"),
        node("six", ipv6="fd00::6/64"),
        node("none"),
    ]
    assert names(planned("a", *entries)) == ["Mesh_10_0_0_2", "Mesh_10_0_0_4", "Mesh_fd00__2", "Mesh_fd00__6"]
    assert names(planned("four", *entries)) == ["Mesh_10_0_0_1", "Mesh_10_0_0_2"]
    assert names(planned("six", *entries)) == ["Mesh_fd00__1", "Mesh_fd00__2"]
    assert names(planned("none", *entries)) == []


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([default()], True, id="enabled unless somebody says otherwise"),
        pytest.param([default(nodeToNodeMeshEnabled=True)], True, id="enabled"),
        pytest.param([default(nodeToNodeMeshEnabled=False)], False, id="disabled"),
        pytest.param([node("a", "10.0.0.1/24", reflector="244.0.0.1")], False, id="one side reflects"),
        pytest.param([node("b", "10.0.0.2/24", reflector="244.0.0.1")], False, id="the other side reflects"),
        pytest.param([node("b", ipv6="fd00::2/64")], False, id="no family in common"),
    ],
)
def test_when_there_is_a_mesh(entries: list[StoreEntry], expected: bool) -> None:
    """Later entries replace the plain nodes; both sides agree."""
    assert ("Mesh_10_0_0_2" in names(planned("a", A, B, *entries))) is expected
    assert ("Mesh_10_0_0_1" in names(planned("b", A, B, *entries))) is expected


@pytest.mark.parametrize(
    ("a", "b", "waiting"),
    [
        ("10.0.0.1/24", "10.0.0.2/24", "a"),
        ("10.0.0.9/24", "10.0.0.10/24", "b"),  # as texts, and 9 comes after 1
        ("10.0.0.100/24", "10.0.0.20/24", "a"),
        ("9.0.0.1/24", "10.0.0.1/24", "b"),
    ],
)
def test_the_one_whose_text_is_smaller_waits_and_the_other_calls(a: str, b: str, waiting: str) -> None:
    entries = [node("a", a), node("b", b)]
    passive = {name for name in ("a", "b") if planned(name, *entries).sessions[0].passive}
    assert passive == {waiting}


AS_CASES = [
    pytest.param([], {}, (64512, 64512), id="nobody has said anything"),
    pytest.param([default(asNumber=65000)], {}, (65000, 65000), id="the cluster's"),
    pytest.param([default(asNumber=65000)], {"a": 65001}, (65001, 65000), id="a has its own, b has the cluster's"),
    pytest.param([default(asNumber=65000)], {"b": 65002}, (65000, 65002), id="b has its own, a has the cluster's"),
    pytest.param([], {"a": 65001, "b": 65002}, (65001, 65002), id="both have their own"),
    pytest.param([], {"a": "1.10"}, (65546, 64512), id="in the dotted form"),
]


@pytest.mark.parametrize(("entries", "given", "expected"), AS_CASES)
def test_both_ends_agree_about_their_as_numbers(
    entries: list[StoreEntry], given: dict[str, int | str], expected: tuple[int, int]
) -> None:
    cluster = [node("a", "10.0.0.1/24", asn=given.get("a", 0)), node("b", "10.0.0.2/24", asn=given.get("b", 0))]
    of_a = planned("a", *cluster, *entries).sessions[0]
    of_b = planned("b", *cluster, *entries).sessions[0]
    assert (of_a.local_as, of_a.peer_as) == expected
    assert (of_b.peer_as, of_b.local_as) == expected


@pytest.mark.parametrize(
    ("entries", "port_of_a", "port_of_b"),
    [
        ([], 179, 179),
        ([default(listenPort=1790)], 1790, 1790),
        ([own("b", listenPort=1791)], 179, 1791),
        ([default(listenPort=1790), own("a", listenPort=1791)], 1791, 1790),
    ],
)
def test_each_end_calls_the_port_at_which_the_other_listens(
    entries: list[StoreEntry], port_of_a: int, port_of_b: int
) -> None:
    of_a, of_b = planned("a", A, B, *entries), planned("b", A, B, *entries)
    assert (of_a.listen_port, of_b.listen_port) == (port_of_a, port_of_b)
    assert (of_a.sessions[0].peer_port, of_b.sessions[0].peer_port) == (port_of_b, port_of_a)
    assert names(of_a) == ["Mesh_10_0_0_2"]  # the port is no part of the name here


def test_the_password_of_the_mesh() -> None:
    entries = [A, B, C, default(nodeMeshPassword=secret("bgp"))]
    assert wanted_secrets("a", told("a", *entries)) == {("bgp", "password")}
    made = planned("a", *entries, secrets=MESH_PASSWORD)
    assert {session.password for session in made.sessions} == {Secret("s3cret")}
    assert "s3cret" not in repr(made)


@pytest.mark.parametrize(
    ("secrets", "why"),
    [
        ({}, "it has not been read"),
        ({("bgp", "password"): "the secret does not exist"}, "the secret does not exist"),
        ({("bgp", "password"): Secret("")}, "it is empty"),
        ({("bgp", "password"): Secret("secret\n")}, "it ends with a line break"),
        ({("bgp", "password"): Secret('a"; }')}, "a quotation mark"),
        ({("bgp", "password"): Secret("a\tb")}, "a control character"),
        ({("bgp", "password"): Secret("ä" * 41)}, "it has 82 bytes"),
    ],
)
def test_without_its_password_the_mesh_is_refused_and_never_open(
    secrets: dict[tuple[str, str], Secret | str], why: str
) -> None:
    made = planned("a", A, B, C, default(nodeMeshPassword=secret("bgp")), secrets=secrets)
    assert names(made) == []
    refusal = refused(made, "the node-to-node mesh")
    assert why in refusal.why
    assert "the key password of the secret bgp" in refusal.why


def test_a_password_that_names_no_secret_is_one_that_cannot_be_had() -> None:
    made = planned("a", A, B, default(nodeMeshPassword={}))
    assert names(made) == []
    assert "names no secret" in refused(made, "the node-to-node mesh").why


def test_a_mesh_of_one_node_has_nothing_to_refuse() -> None:
    made = planned("a", A, default(nodeMeshPassword=secret("bgp")))
    assert (made.sessions, made.refusals) == ((), ())


@pytest.mark.parametrize(
    ("given", "seconds", "refusal"),
    [("90s", 90, False), ("1m30.4s", 90, False), ("4095s", 4095, False), ("2h", None, True), ("-5s", None, True)],
)
def test_how_long_neighbours_keep_routes_over_a_restart(given: str, seconds: int | None, refusal: bool) -> None:
    made = planned("a", A, B, default(nodeMeshMaxRestartTime=given))
    assert made.sessions[0].restart_time_s == seconds
    assert bool(made.refusals) is refusal
    if refusal:
        assert "is not from 0 to 4095 seconds" in refused(made, "nodeMeshMaxRestartTime").why


def test_a_peering_that_was_asked_for_takes_the_place_of_the_mesh() -> None:
    """BIRD gives an incoming connection to the first session with that neighbour; a second would never be up."""
    asked = peer("special", nodeSelector="all()", peerSelector="all()")
    assert names(planned("a", A, B, asked)) == ["Node_10_0_0_2"]
    assert names(planned("b", A, B, asked)) == ["Node_10_0_0_1"]
    elsewhere = peer("other-daemon", peerIP="10.0.0.2:1790", asNumber=65001)
    assert names(planned("a", A, B, elsewhere)) == ["Global_10_0_0_2_port_1790", "Mesh_10_0_0_2"]


def test_nodes_with_one_address_are_told_apart() -> None:
    twins = [A, B, node("b2", "10.0.0.2/24"), node("z", "10.0.0.1/24")]
    made = planned("a", *twins)
    assert names(made) == ["Mesh_10_0_0_2"]
    assert session(made, "Mesh_10_0_0_2").peer_node == "b"
    assert "the address of the node b" in refused(made, "the node b2").why
    assert "the address of the node a" in refused(made, "the node z").why
    assert names(planned("z", *twins)) == ["Mesh_10_0_0_2"]


def test_a_node_without_a_record_has_no_sessions_yet() -> None:
    made = planned("new", A, B)
    assert (made.sessions, made.networks, made.refusals) == ((), (), ())
    assert wanted_secrets("new", told("new", A, B, default(nodeMeshPassword=secret("bgp")))) == frozenset()


def test_a_neighbour_that_cannot_be_read_is_left_out_and_named() -> None:
    made = planned("a", A, B, node("c", "10.0.0.300/24"))
    assert names(made) == ["Mesh_10_0_0_2"]
    refusal = refused(made, "Node(c)")
    assert "there is no session with it" in refusal.why
    assert "tortie get node c -o yaml" in refusal.fix


def test_settings_that_cannot_be_read_are_no_reason_to_guess() -> None:
    """The default would be an open mesh, whatever the cluster's owner wanted."""
    broken = default(nodeToNodeMeshEnabled="maybe")
    made = planned("a", A, B, broken)
    assert names(made) == []
    assert "no sessions are made" in refused(made, "BGPConfiguration(default)").why
    kept = planned("a", A, B, default(asNumber=65000), broken)
    assert kept.sessions[0].local_as == 65000
    assert "what it said before stays in force" in refused(kept, "BGPConfiguration(default)").why
