"""What is asked for and not done is said: what, why, and what helps. Nothing raises, and nothing opens by accident."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.speakers import default, key, names, node, peer, planned, refused, secret, stored

from tortie.bgp.plan import Secret

A = node("a", "10.0.0.1/24", rack="r1")
B = node("b", "10.0.0.2/24")
NO_MESH = default(nodeToNodeMeshEnabled=False)

REFUSED = [
    pytest.param({}, "it names no peer", id="no peer at all"),
    pytest.param({"peerIP": "10.0.0.254"}, "it has no asNumber", id="nobody knows the neighbour's AS"),
    pytest.param({"peerIP": "10.0.0.1", "node": "a"}, "an address of a itself", id="its own neighbour"),
    pytest.param({"peerIP": "fd00::9", "asNumber": 1}, "has registered none of that family", id="no IPv6 here"),
    pytest.param({"peerIP": "0.0.0.0", "asNumber": 1}, "not the address of one machine", id="no address"),
    pytest.param({"peerIP": "224.0.0.5", "asNumber": 1}, "not the address of one machine", id="a group"),
    pytest.param({"peerIP": "fe80::9", "asNumber": 1}, "link-local", id="link-local"),
    pytest.param({"localWorkloadSelector": "all()", "asNumber": 1}, "does not speak BGP with pods", id="workloads"),
    pytest.param({"peerIP": "10.0.0.9", "asNumber": 1, "filters": ["no"]}, "filter no does not exist", id="no filter"),
    pytest.param(
        {"peerIP": "10.0.0.9", "asNumber": 1, "filters": ["bad"]}, "filter bad cannot be read", id="a bad filter"
    ),
    pytest.param({"peerIP": "10.0.0.9", "asNumber": 1, "password": secret("no")}, "it has not been read", id="unread"),
    pytest.param({"peerIP": "10.0.0.9", "asNumber": 1, "password": secret("gone")}, "no such secret", id="no secret"),
    pytest.param({"peerIP": "10.0.0.9", "asNumber": 1, "password": {}}, "names no secret", id="a secret without name"),
]


@pytest.mark.parametrize(("spec", "why"), REFUSED)
def test_a_peer_that_gets_no_session(spec: dict[str, Any], why: str) -> None:
    bad = stored("BGPFilter", "bad", importV4=[{"action": "Perhaps"}])
    secrets: dict[tuple[str, str], Secret | str] = {("gone", "password"): "no such secret"}
    made = planned("a", A, NO_MESH, bad, peer("p", **spec), secrets=secrets)
    assert names(made) == []
    assert why in refused(made, "BGPPeer(p)").why


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"peerIP": "10.0.0.1"}, id="everybody's peer is this node"),
        pytest.param({"peerIP": "10.0.0.1", "nodeSelector": "rack == 'r1'"}, id="so is its own rack's"),
        pytest.param({"nodeSelector": "rack == 'r1'", "peerSelector": "rack == 'r1'"}, id="it selects itself"),
        pytest.param({"peerIP": "10.0.0.254", "node": "b"}, id="another node's problem"),
        pytest.param({"localWorkloadSelector": "all()", "asNumber": 1, "node": "b"}, id="another node's workloads"),
    ],
)
def test_what_is_nobodys_mistake_is_passed_over(spec: dict[str, Any]) -> None:
    made = planned("a", A, NO_MESH, peer("p", **spec))
    assert (made.sessions, made.refusals) == ((), ())


def test_one_refusal_for_one_resource_however_many_neighbours_it_has() -> None:
    nodes = [node(f"n{number}", f"10.0.1.{number}/24") for number in range(1, 20)]
    made = planned("a", A, *nodes, NO_MESH, peer("p", peerSelector="all()", password=secret("gone")))
    assert names(made) == []
    assert len(made.refusals) == 1


def test_nothing_takes_the_place_of_a_session_that_is_refused() -> None:
    """Neither the mesh nor a second BGPPeer would have the password that this one wants."""
    guarded = peer("guarded", peerIP="10.0.0.2", password=secret("gone"))
    made = planned("a", A, B, guarded, peer("open", node="a", peerIP="10.0.0.2"))
    assert names(made) == []
    assert [refusal.what for refusal in made.refusals] == ["BGPPeer(guarded): no session"]


def test_a_refused_peer_leaves_the_others_alone() -> None:
    made = planned("a", A, B, peer("p", peerIP="10.0.0.254"), (key("BGPPeer", "q"), b"{"))
    assert names(made) == ["Mesh_10_0_0_2"]
    assert [refusal.what for refusal in made.refusals] == ["BGPPeer(p): no session", "BGPPeer(q) cannot be read"]


def test_a_filter_that_broke_later_still_filters() -> None:
    before = stored("BGPFilter", "f", importV4=[{"action": "Reject"}])
    after = stored("BGPFilter", "f", importV4=[{"action": "Perhaps"}])
    made = planned("a", A, NO_MESH, before, after, peer("p", peerIP="10.0.0.9", asNumber=1, filters=["f"]))
    assert names(made) == ["Global_10_0_0_9"]
    assert made.filters["f"].importV4[0].action == "Reject"
    assert "what it said before stays in force" in refused(made, "BGPFilter(f)").why


@pytest.mark.parametrize(
    ("kind", "name", "result", "subject"),
    [
        ("BGPPeer", "tor", "its sessions are not made", "session"),
        ("BGPFilter", "f", "sessions that name it are not made", "resource"),
        ("BGPConfiguration", "default", "no sessions are made", "session"),
        ("BGPConfiguration", "node.a", "the settings of the cluster hold", "resource"),
        ("IPPool", "p", "like those of no pool", "pool"),
        ("Node", "b", "there is no session with it", "session"),
        ("Node", "me", "this node has no sessions", "session"),
    ],
)
def test_an_unreadable_resource_is_named_with_what_it_takes_with_it(
    kind: str, name: str, result: str, subject: str
) -> None:
    refusal = refused(planned("me", A, (key(kind, name), b"{")), f"{kind}({name}) cannot be read")
    assert result in refusal.why
    assert refusal.subject == subject
    assert f"tortie get {kind.lower()} {name} -o yaml" in refusal.fix


def test_an_unreadable_block_is_named_too() -> None:
    entry = ("/calico/ipam/v2/host/a/ipv4/block/10.244.1.0-99", b"{}")
    refusal = refused(planned("a", A, entry), "BlockAffinity(10.244.1.0-99)")
    assert "the block is not announced" in refusal.why
    assert "datastore export" in refusal.fix
