"""How a lab is, from what its keeper and its agents say."""

from __future__ import annotations

from typing import Any

from tortie.lab.status import SILENT, STARTING, STOPPED, lab_status, lab_view


def machine(name: str, role: str = "node", **process: Any) -> dict[str, Any]:
    number = int(name[-1]) if name[-1].isdigit() else 254
    alive = {"pid": 100 + number, "running": True, "age_s": 9.0}
    return {
        "name": name,
        "role": role,
        "rack": "",
        "address": f"10.77.0.{number}",
        "addresses": [f"10.77.0.{number}", f"fd77::{number}"],
        "has_work": role != "router",
        "process": alive | process if role != "router" else None,
    }


def told(*machines: dict[str, Any]) -> dict[str, Any]:
    return {"name": "demo", "store": "embedded", "age_s": 12.34, "machines": list(machines)}


def session(peer: str, state: str = "up", **more: Any) -> dict[str, Any]:
    number = peer[-1] if peer[-1].isdigit() else peer
    return {"kind": "mesh", "peer": f"10.77.0.{number}", "peer_node": peer, "state": state, "info": "Idle", **more}


def answer(*sessions: dict[str, Any], ready: bool = True, **more: Any) -> dict[str, Any]:
    up = sum(each["state"] == "up" for each in sessions)
    bgp = {"up": up, "expected": len(sessions), "sessions": list(sessions), "routes": up}
    return {"phase": "running", "ready": ready, "age_s": 5.04, "not_ready": [], "bgp": bgp, **more}


def test_a_healthy_lab() -> None:
    status = lab_status(
        told(machine("node-1"), machine("node-2"), machine("router", "router")),
        {"node-1": answer(session("node-2")), "node-2": answer(session("node-1"))},
    )
    assert status.ready
    assert (status.sessions_up, len(status.pairs)) == (1, 1)
    document = status.as_json()
    assert document["sessions"] == {"up": 1, "expected": 1}
    assert document["nodes"][0] == {
        "name": "node-1",
        "address": "10.77.0.1",
        "rack": "",
        "phase": "running",
        "ready": True,
        "sessions": {"up": 1, "expected": 1},
        "routes": 1,
        "pods": 0,
        "age_s": 5.0,
        "pid": 101,
        "ended": None,
        "not_ready": [],
    }
    assert document["machines"][0]["runs"] is None


def test_agents_that_say_nothing() -> None:
    status = lab_status(
        told(
            machine("node-1", age_s=1.0),
            machine("node-2", age_s=60.0),
            machine("node-3", running=False, exit_code=None, signal=9),
            machine("node-4") | {"process": None},
        ),
        dict.fromkeys(("node-1", "node-2", "node-3", "node-4")),
    )
    assert [node.phase for node in status.nodes] == [STARTING, SILENT, STOPPED, STOPPED]
    assert [node.as_json()["ended"] for node in status.nodes] == [None, None, {"exit_code": None, "signal": 9}, None]
    assert not status.ready
    assert [node.standing for node in lab_view(status).nodes] == ["starting", "not-ready", "not-ready", "not-ready"]


def test_an_answer_from_before_the_end_counts_for_nothing() -> None:
    status = lab_status(told(machine("node-1", running=False, exit_code=1)), {"node-1": answer()})
    assert (status.nodes[0].phase, status.nodes[0].ready, status.nodes[0].exit_code) == (STOPPED, False, 1)


def test_reasons_are_kept() -> None:
    why = {"name": "bgp", "what": "BGP is down", "why": "w", "fix": "f", "fault": "a peer", "since_s": 3.1}
    status = lab_status(told(machine("node-1")), {"node-1": answer(ready=False, not_ready=[why], bgp=None)})
    (reason,) = status.nodes[0].reasons
    assert (reason.what, reason.fault, reason.since_s) == ("BGP is down", "a peer", 3.1)
    assert lab_view(status).nodes[0].note == "BGP is down"


def test_a_session_that_only_one_end_has() -> None:
    status = lab_status(
        told(machine("node-1"), machine("node-2"), machine("node-3")),
        {
            "node-1": answer(session("node-2", "down", error="Hold timer expired"), session("node-3")),
            "node-2": answer(session("node-1"), session("node-3", "down")),
            "node-3": answer(session("node-2", "start")),
        },
    )
    pairs = {(pair.a, pair.b): (pair.state, pair.detail) for pair in status.pairs}
    assert pairs == {
        ("node-2", "node-1"): ("one-sided", "Hold timer expired"),
        ("node-1", "node-3"): ("one-sided", ""),
        ("node-2", "node-3"): ("down", "Idle"),
    }
    assert status.sessions_up == 0


def test_peers_without_an_agent_are_named_by_what_is_known_of_them() -> None:
    outside = {"kind": "global", "peer": "192.0.2.1", "peer_node": "", "state": "up"}
    router = {"kind": "node", "peer": "10.77.0.254", "peer_node": "", "state": "up"}
    router6 = {"kind": "node", "peer": "fd77::254", "peer_node": "", "state": "start", "info": "Active"}
    status = lab_status(
        told(machine("node-1"), machine("router", "router")), {"node-1": answer(outside, router, router6)}
    )
    assert [(pair.a, pair.b, pair.state, pair.kind) for pair in status.pairs] == [
        ("192.0.2.1", "node-1", "up", "global"),
        ("node-1", "router", "up", "node"),
        ("node-1", "router", "down", "node"),
    ]


def test_a_store_that_has_ended_is_not_well() -> None:
    store = machine("etcd-1", "store", running=False, exit_code=1, signal=None)
    status = lab_status(told(machine("node-1"), store), {"node-1": answer()})
    assert not status.ready
    assert status.others[0].runs is False


def test_ports_of_one_address_outside_are_different_peers() -> None:
    """Between two agents a port is no difference: each knows only the other's."""
    outside = [
        session("8", "down") | {"peer": "10.77.0.88", "peer_node": None, "port": port} for port in (179, 1790, 1791)
    ]
    status = lab_status(
        told(machine("node-1"), machine("node-2")),
        {
            "node-1": answer(session("node-2", port=179), *outside),
            "node-2": answer(session("node-1", port=1790)),
        },
    )
    assert [(pair.a, pair.b, pair.state) for pair in status.pairs] == [
        ("node-1", "node-2", "up"),
        ("10.77.0.88", "node-1", "down"),
        ("10.77.0.88:1790", "node-1", "down"),
        ("10.77.0.88:1791", "node-1", "down"),
    ]
    assert len(status.missing) == 3


def test_the_last_words_of_an_agent_are_why_it_is_not_ready() -> None:
    ended = machine("node-1", running=False, exit_code=2, signal=None, last_words="Error: IP 1.2.3.400")
    node = lab_status(told(ended), {}).nodes[0]
    assert node.phase == STOPPED
    assert node.as_json()["not_ready"][0]["why"] == "Error: IP 1.2.3.400"
