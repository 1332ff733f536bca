"""What is told about a node's BGP: whether it is ready, its status, its metrics and its CalicoNodeStatus."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_interface, ip_network

import pytest

from tortie.bgp.bird import Observation
from tortie.bgp.plan import Plan, Refusal, Session
from tortie.bgp.readiness import Seen
from tortie.bgp.replies import BirdStatus, SessionState
from tortie.health.exposition import render
from tortie.model.errors import TortieError
from tortie.model.network import Route
from tortie.model.resource import validate
from tortie.node.mesh_view import MeshView, as_json, learnt, metrics, node_status

RUNNING = BirdStatus(
    "2.0.12", IPv4Address("10.0.0.1"), "2026-11-16T03:00:09", "2026-11-16T03:00:00", "2026-11-16T03:00:01"
)


def session(address: str, node: str) -> Session:
    peer = ip_address(address)
    return Session(f"Mesh_{address.replace('.', '_').replace(':', '_')}", "mesh", peer, 64512, 64512, peer_node=node)


def seen(address: str, node: str, state: str = "Established", error: str = "") -> Seen:
    of = session(address, node)
    told = SessionState(
        of.name, "mesh", of.peer, None, "up" if state == "Established" else "start", state, "2026-11-16T03:00:02", error
    )
    return Seen(of, told, 5.0, 0.0 if state == "Established" else 4.0)


def view(*sessions: Seen, bird: Observation | None = None, refusals: tuple[Refusal, ...] = ()) -> MeshView:
    plan = Plan(
        "node-1",
        IPv4Address("10.0.0.1"),
        64512,
        (ip_interface("10.0.0.1/24"),),
        sessions=tuple(each.session for each in sessions),
        refusals=refusals,
    )
    return MeshView(plan, bird or Observation(77, 5.0, RUNNING), sessions, 1, ())


def test_a_mesh_that_is_up_is_ready() -> None:
    whole = view(seen("10.0.0.2", "node-2"), seen("10.0.0.3", "node-3"))
    assert whole.not_ready() is None
    assert whole.settled
    assert (whole.up, len(whole.sessions)) == (2, 2)


def test_a_bird_that_cannot_be_asked_is_told_with_its_trouble() -> None:
    trouble = TortieError("BIRD does not run", "it was killed by signal 9", "look at the log")
    ailing = view(seen("10.0.0.2", "node-2"), bird=Observation(trouble=trouble))
    verdict = ailing.not_ready()
    assert verdict is not None
    assert verdict.what == "BIRD is not ready: BIRD does not run"
    assert verdict.why == "it was killed by signal 9"
    assert not ailing.settled


def test_recovery_is_watched_until_it_is_over() -> None:
    recovering = view(seen("10.0.0.2", "node-2"), bird=Observation(77, 5.0, RUNNING._replace(recovering=True)))
    assert not recovering.settled


def test_a_pool_that_this_kernel_cannot_serve_is_not_ready() -> None:
    refusal = Refusal("IPPool(default) cannot be served", "this kernel has no IPIP: CONFIG_NET_IPIP", "VXLAN", "pool")
    verdict = view(seen("10.0.0.2", "node-2"), refusals=(refusal,)).not_ready()
    assert verdict is not None
    assert "CONFIG_NET_IPIP" in verdict.why
    assert verdict.fault == "the configuration"


def test_of_the_kernels_routes_only_birds_count_and_only_those_that_lead_somewhere() -> None:
    routes = [
        Route(ip_network("10.244.1.0/26"), 2, ip_address("10.0.0.2"), protocol="bird"),
        Route(ip_network("10.244.2.0/26"), 2, ip_address("10.0.0.3"), protocol="bird"),
        Route(ip_network("10.244.2.0/26"), 2, ip_address("10.0.0.4"), protocol="bird"),  # a second way to the same
        Route(ip_network("10.244.0.0/26"), kind="blackhole", protocol="bird"),  # our own block
        Route(ip_network("10.244.9.0/26"), kind="unreachable", protocol="bird"),
        Route(ip_network("0.0.0.0/0"), 2, ip_address("10.0.0.254"), protocol="boot"),
    ]
    assert learnt(routes) == (2, (ip_network("10.244.9.0/26"),))


def test_status_tells_each_session_and_why_it_is_not_up() -> None:
    told = as_json(view(seen("10.0.0.2", "node-2"), seen("10.0.0.3", "node-3", "Active", "Socket: Connection refused")))
    assert (told["up"], told["expected"]) == (1, 2)
    up, down = told["sessions"]
    assert (up["peer"], up["peer_node"], up["state"], up["info"]) == ("10.0.0.2", "node-2", "up", "Established")
    assert "why" not in up
    assert down["fault"] == "a peer"
    assert "Connection refused" in down["why"]


def test_metrics_have_a_line_for_each_peer() -> None:
    text = render(metrics(view(seen("10.0.0.2", "node-2"), seen("10.0.0.3", "node-3", "Active"))))
    assert 'tortie_bgp_session_up{peer="10.0.0.2",kind="mesh",node="node-2"} 1\n' in text
    assert 'tortie_bgp_session_up{peer="10.0.0.3",kind="mesh",node="node-3"} 0\n' in text
    assert "tortie_bgp_sessions_expected 2\n" in text
    assert metrics(None) == []


def test_metrics_tell_sessions_with_one_address_apart() -> None:
    def on(port: int, address: str = "10.0.0.88") -> Seen:
        found = seen(address, "")
        return found._replace(session=found.session._replace(peer_port=port))

    text = render(metrics(view(on(1790), on(1791), on(179), on(1790, "fd00::88"))))
    labels = [line.split('"')[1] for line in text.splitlines() if line.startswith("tortie_bgp_session_up{")]
    assert labels == ["10.0.0.88:1790", "10.0.0.88:1791", "10.0.0.88", "[fd00::88]:1790"]


@pytest.mark.parametrize("state", ["Established", "Active", "Passive", "Down", "Idle", "Something"])
def test_what_is_reported_is_a_valid_resource(state: str) -> None:
    status = node_status(view(seen("10.0.0.2", "node-2", state), seen("fd00::2", "node-2")))
    document = {
        "kind": "CalicoNodeStatus",
        "apiVersion": "projectcalico.org/v3",
        "metadata": {"name": "node-1"},
        "spec": {"node": "node-1", "classes": ["Agent", "BGP"], "updatePeriodSeconds": 10},
        "status": {"lastUpdated": "2026-11-16T03:00:00Z", **status},
    }
    validate(document)
    assert status["bgp"]["numberEstablishedV4"] == (1 if state == "Established" else 0)
    assert status["bgp"]["numberEstablishedV6"] == 1
    assert status["bgp"]["peersV6"][0] == {
        "peerIP": "fd00::2",
        "type": "NodeMesh",
        "state": "Established",
        "since": "2026-11-16T03:00:02Z",
    }


def test_what_is_wrong_with_a_bird_that_runs_is_told_without_holding_the_node_back() -> None:
    full = TortieError("bird.cfg cannot be written", "no space left on device", "make room")
    half = view(seen("10.0.0.2", "node-2"), bird=Observation(77, 5.0, RUNNING, trouble=full))
    assert half.not_ready() is None
    assert not half.settled
    assert half.detail == "bird.cfg cannot be written: no space left on device"
    told = as_json(half)
    assert [(each["what"], each["why"], each["fix"]) for each in told["refusals"]] == [(full.what, full.why, full.fix)]
    concern = half.concern()
    assert concern is not None
    assert (concern.what, concern.fault) == (full.what, "this node")


def test_a_session_that_is_down_is_a_concern_even_if_the_node_is_ready() -> None:
    whole = view(seen("10.0.0.2", "node-2"))
    assert whole.concern() is None
    assert whole.detail == ""
    lame = view(seen("10.0.0.2", "node-2"), seen("10.0.0.3", "node-3", "Active", "Socket: Connection refused"))
    concern = lame.concern()
    assert concern is not None
    assert concern.what == "BGP is not established with node-3"
    assert "Connection refused" in concern.why
    assert lame.detail == "pid 77, 1 of 2 sessions"
    assert lame.gist != view(seen("10.0.0.2", "node-2"), seen("10.0.0.3", "node-3")).gist
