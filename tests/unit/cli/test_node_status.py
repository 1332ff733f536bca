"""`tortie node status` as it is printed: calicoctl's table to the letter, and what the agent adds to it."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from tortie.bgp.replies import BirdStatus, SessionState
from tortie.cli.node.bgp_standing import BirdView, NodeStatus, Process, parsed_agent, standing
from tortie.cli.node.effects_view import EffectsView
from tortie.cli.node.status import as_json
from tortie.cli.node.status_text import as_text, shown_since
from tortie.model.errors import TortieError

NOW = datetime(2026, 11, 16, 4, 0)
RUNS = Process("tortie", 4711)
SOCKET = "/var/run/calico/bird.ctl"
STATUS = BirdStatus("2.0.12", ip_address("10.0.0.1"), "", "", "")  # type: ignore[arg-type]


def session(
    peer: str, info: str = "Established", *, kind: Any = "mesh", port: int | None = None, **more: str
) -> SessionState:
    bgp_state, _, error = info.partition(" ")
    name = f"{kind.title()}_{peer.replace('.', '_').replace(':', '_')}" + (f"_port_{port}" if port else "")
    state = more.get("state", "up" if bgp_state == "Established" else "start")
    since = more.get("since", "2026-11-16T03:41:38")
    return SessionState(name, kind, ip_address(peer), port, state, bgp_state, since, error)


def bird(*sessions: SessionState, **more: Any) -> BirdView:
    return BirdView(SOCKET, STATUS, sessions, **more)


def agent_says(*sessions: dict[str, Any], **more: Any) -> dict[str, Any]:
    bgp = {"sessions": list(sessions), "unreachable": [], "refusals": [], **more}
    return {"node": "node-1", "pid": 4711, "phase": "running", "ready": True, "bgp": bgp, "something": "new"}


def told(view: BirdView, body: dict[str, Any]) -> NodeStatus:
    return standing(RUNS, view, parsed_agent(body), NOW)


def not_ready(body: dict[str, Any], *reasons: tuple[str, str, str, str]) -> dict[str, Any]:
    told = [dict(zip(("name", "what", "why", "fix"), reason, strict=True)) for reason in reasons]
    return {**body, "ready": False, "not_ready": told}


DOWN = {
    "name": "Mesh_10_0_0_3",
    "kind": "mesh",
    "peer": "10.0.0.3",
    "peer_node": "node-3",
    "port": 179,
    "passive": False,
    "down_s": 31.0,
}


def test_the_table_is_calicoctls() -> None:
    view = bird(
        session("172.17.8.102", since="2016-11-21T10:00:00"),
        session("172.17.8.104", "Active Socket: Connection reset", kind="node", since="2026-11-16T18:24:27"),
    )
    assert as_text(NodeStatus(RUNS, view), NOW) == (
        "Calico process is running.\n"
        "\n"
        "IPv4 BGP status\n"
        "+--------------+-------------------+-------+------------+---------------------------------+\n"
        "| PEER ADDRESS | PEER TYPE         | STATE | SINCE      | INFO                            |\n"
        "+--------------+-------------------+-------+------------+---------------------------------+\n"
        "| 172.17.8.102 | node-to-node mesh | up    | 2016-11-21 | Established                     |\n"
        "| 172.17.8.104 | node specific     | start | 18:24:27   | Active Socket: Connection reset |\n"
        "+--------------+-------------------+-------+------------+---------------------------------+\n"
        "\n"
        "IPv6 BGP status\n"
        "No IPv6 peers found.\n"
        "\n"
    )


def test_both_families_have_their_block_and_ports_are_shown_as_ports() -> None:
    view = bird(session("10.0.0.9", kind="global", port=1790), session("fd00::2"), session("fd00::9", port=1790))
    text = as_text(NodeStatus(RUNS, view), NOW)
    ipv4, ipv6 = text.split("IPv6 BGP status")
    assert "| 10.0.0.9:1790 | global " in ipv4
    assert "| fd00::2        | node-to-node mesh " in ipv6
    assert "| [fd00::9]:1790 |" in ipv6


def test_a_name_that_is_no_address_is_shown_as_it_is() -> None:
    odd = session("10.0.0.2")._replace(name="Node_of_somebody", peer=None)
    assert "| Node_of_somebody |" in as_text(NodeStatus(RUNS, bird(odd)), NOW)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("2026-11-16T03:41:38", "03:41:38"),
        ("2026-11-15T23:59:59", "2026-11-15"),
        ("2026-11-16 03:41:38.123", "03:41:38"),
        ("03:55:40.085", "03:55:40"),
        ("03:55:40", "03:55:40"),
        ("2016-11-21", "2016-11-21"),
        ("", ""),
    ],
)
def test_since_is_the_time_of_today_and_else_the_date(said: str, shown: str) -> None:
    assert shown_since(said, NOW) == shown


def test_all_established_is_healthy() -> None:
    status = NodeStatus(RUNS, bird(session("10.0.0.2"), session("fd00::2")))
    assert (status.exit_code, status.healthy) == (0, True)


def test_no_peers_at_all_is_healthy() -> None:
    status = NodeStatus(RUNS, bird())
    assert status.exit_code == 0
    assert "No IPv4 peers found.\n\nIPv6 BGP status\nNo IPv6 peers found.\n\n" in as_text(status, NOW)


def test_a_session_that_waits_after_a_restart_is_established() -> None:
    """BIRD 1.6 calls the protocol's state `wait` then."""
    assert NodeStatus(RUNS, bird(session("10.0.0.2", state="wait"))).exit_code == 0


def test_one_session_that_is_down_is_unhealthy() -> None:
    assert NodeStatus(RUNS, bird(session("10.0.0.2"), session("10.0.0.3", "Active"))).exit_code == 3


def test_the_agent_tells_whose_fault_it_is_and_since_when() -> None:
    status = told(bird(session("10.0.0.2"), session("10.0.0.3", "Active Socket: Connection refused")), agent_says(DOWN))
    assert status.exit_code == 3
    assert (
        "10.0.0.3 (node-3) is not established for 31 s; the fault seems to lie with the peer: "
        "Socket: Connection refused: nothing listens there on the BGP port"
    ) in as_text(status, NOW)


def test_what_bird_says_goes_before_what_the_agent_saw_earlier() -> None:
    recovered = told(bird(session("10.0.0.3")), agent_says(DOWN))
    assert (recovered.exit_code, recovered.blames) == (0, ())
    just_lost = told(
        bird(session("10.0.0.3", "Idle", since="2026-11-16T03:59:57")), agent_says({**DOWN, "down_s": None})
    )
    assert just_lost.exit_code == 3
    assert "10.0.0.3 (node-3) is not established for 3 s; " in as_text(just_lost, NOW)


def test_without_a_full_time_nobody_says_since_when() -> None:
    status = told(bird(session("10.0.0.3", "Idle", since="03:59:57")), agent_says({**DOWN, "down_s": None}))
    assert "10.0.0.3 (node-3) is not established; the fault" in as_text(status, NOW)


def test_the_side_that_waits_is_not_told_to_look_for_a_firewall() -> None:
    status = told(bird(session("10.0.0.3", "Passive")), agent_says({**DOWN, "passive": True}))
    assert "this side waits to be called" in as_text(status, NOW)


def test_a_session_that_bird_does_not_know_is_not_established() -> None:
    status = told(bird(), agent_says(DOWN))
    assert status.exit_code == 3
    assert "the fault seems to lie with this node: BIRD does not know it yet" in as_text(status, NOW)


def test_an_unreachable_route_is_unhealthy_although_all_is_established() -> None:
    status = told(bird(session("10.0.0.2")), agent_says(unreachable=["10.244.1.0/26"]))
    assert status.exit_code == 3
    assert "to which this machine has no way:\n  10.244.1.0/26\n" in as_text(status, NOW)


@pytest.mark.parametrize(("subject", "code"), [("session", 3), ("pool", 3), ("resource", 0)])
def test_refusals_are_told_and_a_refused_session_or_pool_is_unhealthy(subject: str, code: int) -> None:
    refusal = {
        "what": "BGPPeer(a): no session",
        "why": "its password is not there",
        "fix": "create it",
        "subject": subject,
    }
    status = told(bird(session("10.0.0.2")), agent_says(refusals=[refusal]))
    assert status.exit_code == code
    assert "not done:\n  BGPPeer(a): no session: its password is not there; create it\n" in as_text(status, NOW)


def test_an_agent_that_is_not_ready_is_unhealthy_and_says_why() -> None:
    gone = ("address", "10.0.0.1 is on no interface any more", "eth0 is down", "bring it up")
    status = told(bird(session("10.0.0.2")), not_ready(agent_says(), gone))
    assert (status.exit_code, as_json(status)["healthy"]) == (3, False)
    assert as_json(status)["agent"]["notReady"][0]["fix"] == "bring it up"
    assert as_text(status, NOW).endswith(
        "\n\nThe node is not ready:\n"
        "  10.0.0.1 is on no interface any more\n    why: eth0 is down\n    fix: bring it up\n\n"
    )


def test_a_node_without_bgp_that_is_not_ready_is_unhealthy() -> None:
    view = BirdView(SOCKET, trouble=TortieError("The BGP backend process (BIRD) is not running."), absent=True)
    body = {**agent_says(), "bgp": None, "routing": False}
    status = told(view, not_ready(body, ("record", "the node cannot be registered", "no datastore", "start it")))
    assert status.exit_code == 3
    assert "  the node cannot be registered\n    why: no datastore\n" in as_text(status, NOW)


def test_what_a_session_or_a_refusal_says_is_not_said_twice() -> None:
    sessions = ("bgp", "BIRD is not ready: BGP not established with 10.0.0.1,10.0.0.3", "it is refused", "look there")
    down = told(bird(session("10.0.0.3", "Active")), not_ready(agent_says(DOWN), sessions))
    assert (down.exit_code, "not ready" in as_text(down, NOW)) == (3, False)
    refusal = {"what": "IPPool(a) cannot be served", "why": "no IPIP", "fix": "VXLAN", "subject": "pool"}
    pool = ("bgp", refusal["what"], refusal["why"], refusal["fix"])
    refused = told(bird(session("10.0.0.2")), not_ready(agent_says(refusals=[refusal]), pool))
    assert (refused.exit_code, as_text(refused, NOW).count("cannot be served")) == (3, 1)


def test_an_address_that_begins_like_another_hides_no_reason() -> None:
    young = ("bgp", "BIRD is not ready: BGP not established with 10.0.0.30", "just started", "wait")
    assert "established with 10.0.0.30\n" in as_text(told(bird(), not_ready(agent_says(DOWN), young)), NOW)


def test_networks_without_a_way_are_listed_once_with_the_advice() -> None:
    no_way = ("bgp", "BIRD is not ready: no next hop for 10.244.1.0/26", "this kernel has no way", "ip route get")
    body = not_ready(agent_says(unreachable=["10.244.1.0/26"]), no_way)
    text = as_text(told(bird(session("10.0.0.2")), body), NOW)
    assert (text.count("10.244.1.0/26"), "fix: ip route get" in text) == (1, True)


def test_why_there_is_no_bird_is_told_by_the_agent() -> None:
    view = BirdView(SOCKET, trouble=TortieError("The BGP backend process (BIRD) is not running."), absent=True)
    status = told(view, not_ready(agent_says(), ("bgp", "BIRD is not ready: BIRD does not run", "signal 9", "")))
    assert status.exit_code == 1
    assert "  BIRD is not ready: BIRD does not run\n    why: signal 9\n" in as_text(status, NOW)


def test_sessions_with_one_address_are_told_apart_by_their_ports() -> None:
    outside = {**DOWN, "kind": "global", "peer_node": None}
    wanted = [{**outside, "name": f"Global_10_0_0_3_port_{port}", "port": port} for port in (1790, 1791)]
    states = [session("10.0.0.3", "Active", kind="global", port=port) for port in (1790, 1791)]
    status = told(bird(*states), agent_says(*wanted))
    text = as_text(status, NOW)
    assert "\n10.0.0.3:1790 is not established" in text
    assert "\n10.0.0.3:1791 is not established" in text
    assert [each["port"] for each in as_json(status)["notEstablished"]] == [1790, 1791]


def test_when_all_is_down_it_is_rather_this_node() -> None:
    two = {**DOWN, "name": "Mesh_10_0_0_2", "peer": "10.0.0.2", "peer_node": "node-2"}
    sentence = "All sessions are down, so it is rather this node than its peers: compare this node's"
    silent = told(bird(session("10.0.0.2", "Connect"), session("10.0.0.3", "Connect")), agent_says(two, DOWN))
    assert sentence in as_text(silent, NOW)
    assert as_json(silent)["ownFault"]["fix"].startswith("compare this node's")
    one_up = told(bird(session("10.0.0.2"), session("10.0.0.3", "Connect")), agent_says(two, DOWN))
    refused = "Active Socket: Connection refused"
    all_refused = told(bird(session("10.0.0.2", refused), session("10.0.0.3", refused)), agent_says(two, DOWN))
    for status in (one_up, all_refused):
        assert "rather this node" not in as_text(status, NOW)
        assert as_json(status)["ownFault"] is None


def test_a_process_that_this_user_may_not_see_is_not_called_stopped() -> None:
    denied = BirdView(SOCKET, trouble=TortieError("Error querying BIRD: no"), denied=True)
    status = NodeStatus(Process(hidden="/run/tortie/node.lock"), denied)
    assert status.exit_code == 1
    assert as_json(status)["process"]["running"] is None
    assert as_text(status, NOW) == (
        "Whether the Calico process runs cannot be seen.\n"
        "  why: /run/tortie/node.lock: permission denied\n"
        "  fix: run this as root\n\n"
    )


def test_many_sessions_that_are_down_do_not_flood_the_terminal() -> None:
    peers = [f"10.0.0.{number}" for number in range(1, 53)]
    wanted = [{**DOWN, "name": f"Mesh_{peer.replace('.', '_')}", "peer": peer} for peer in peers]
    text = as_text(told(bird(*(session(peer, "Active") for peer in peers)), agent_says(*wanted)), NOW)
    assert text.count("is not established") == 10
    assert "and 42 more; -o json has all of them" in text


def test_a_recovery_is_told() -> None:
    view = BirdView(SOCKET, STATUS._replace(recovering=True), (session("10.0.0.2"),))
    assert "BIRD recovers from a restart" in as_text(NodeStatus(RUNS, view), NOW)


def test_a_process_that_does_not_run_is_a_failure_even_if_bird_still_does() -> None:
    status = NodeStatus(Process(), bird(session("10.0.0.2")))
    text = as_text(status, NOW)
    assert status.exit_code == 1
    assert text.startswith("Calico process is not running.\n")
    assert "runs without it, and nobody corrects what it does" in text
    assert "| 10.0.0.2     | node-to-node mesh |" in text


def test_a_bird_of_the_machine_itself_is_called_so() -> None:
    view = BirdView("/run/bird/bird.ctl", STATUS, strangers=("uplink", "backup"))
    status = NodeStatus(RUNS, view)
    assert status.exit_code == 1
    assert "the BIRD at /run/bird/bird.ctl has no session of a node, but 2 of its own" in as_text(status, NOW)


def test_sessions_that_somebody_added_to_the_nodes_bird_do_no_harm() -> None:
    status = NodeStatus(RUNS, bird(session("10.0.0.2"), strangers=("uplink",)))
    assert status.exit_code == 0
    assert "note: BIRD has other sessions, too: uplink" in as_text(status, NOW)


def test_a_bird_that_cannot_be_asked_is_a_failure_with_what_why_and_fix() -> None:
    view = BirdView(SOCKET, trouble=TortieError("Error querying BIRD: no", "this user may not", "ask as root"))
    status = NodeStatus(RUNS, view)
    assert status.exit_code == 1
    assert as_text(status, NOW) == (
        "Calico process is running.\n\nError querying BIRD: no\n  why: this user may not\n  fix: ask as root\n\n"
    )


def test_a_node_without_bgp_needs_no_bird() -> None:
    view = BirdView(SOCKET, trouble=TortieError("The BGP backend process (BIRD) is not running."), absent=True)
    status = told(view, {**agent_says(), "bgp": None, "routing": False})
    assert status.exit_code == 0
    assert "CALICO_NETWORKING_BACKEND is not bird" in as_text(status, NOW)


def test_an_agent_that_has_not_decided_yet_says_so() -> None:
    status = told(bird(), {**agent_says(), "phase": "datastore", "bgp": None, "routing": True})
    assert "in the phase datastore and has not decided on any session yet" in as_text(status, NOW)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"node": "n"},
        agent_says({"peer": "10.0.0.1"}),
        agent_says({**DOWN, "peer": "?"}),
        agent_says({**DOWN, "kind": "?"}),
    ],
)
def test_what_is_no_status_of_an_agent_is_not_taken_for_one(body: Any) -> None:
    with pytest.raises(ValueError):
        parsed_agent(body)


def test_json_has_everything() -> None:
    view = bird(
        session("10.0.0.3", "Active Socket: Connection refused"), session("fd00::2", port=1790), strangers=("x",)
    )
    refusal = {"what": "w", "why": "y", "fix": "f", "subject": "pool"}
    body = as_json(told(view, agent_says(DOWN, unreachable=["10.244.1.0/26"], refusals=[refusal])))
    assert body["healthy"] is False
    assert body["process"] == {"running": True, "program": "tortie", "pid": 4711}
    assert body["agent"] == {"node": "node-1", "phase": "running", "ready": True, "notReady": [], "bgp": True}
    assert body["bird"]["answers"] is True
    assert body["bird"]["status"]["version"] == "2.0.12"
    assert body["bird"]["otherSessions"] == ["x"]
    assert body["ipv4"] == [
        {
            "name": "Mesh_10_0_0_3",
            "type": "mesh",
            "peer": "10.0.0.3",
            "port": None,
            "node": "node-3",
            "state": "start",
            "bgpState": "Active",
            "established": False,
            "since": "2026-11-16T03:41:38",
            "error": "Socket: Connection refused",
        }
    ]
    assert (body["ipv6"][0]["peer"], body["ipv6"][0]["port"]) == ("fd00::2", 1790)
    assert body["notEstablished"][0]["fault"] == "a peer"
    assert body["unreachable"] == ["10.244.1.0/26"]
    assert body["refusals"] == [refusal]


def _with_effects(error: str = "", *whats: str) -> NodeStatus:
    notes = tuple({"what": what, "which": "shop/a, shop/b" if "2 " in what else ""} for what in whats)
    return told(bird(session("10.0.0.3")), agent_says())._replace(effects=EffectsView(notes, error))


def test_what_has_no_effect_is_told_and_is_no_fault_of_the_node() -> None:
    """The same on every node and after every restart: whoever waits for 0 would wait for ever."""
    found = _with_effects("", "2 NetworkPolicies are stored, but nothing", "FELIX_BPFENABLED is set, but nothing")
    assert (found.healthy, found.exit_code) == (True, 0)
    assert as_text(found, NOW).endswith(
        "\n\nWithout effect on this node:\n"
        "  2 NetworkPolicies are stored, but nothing\n"
        "    which: shop/a, shop/b\n"
        "  FELIX_BPFENABLED is set, but nothing\n\n"
    )
    assert [note["what"] for note in as_json(found)["withoutEffect"]["notes"]] == [
        "2 NetworkPolicies are stored, but nothing",
        "FELIX_BPFENABLED is set, but nothing",
    ]


def test_a_look_that_failed_says_so() -> None:
    text = as_text(_with_effects("datastore unreachable"), NOW)
    assert "Whether anything else is stored without effect is not known:\n  datastore unreachable\n" in text
    assert as_json(_with_effects("datastore unreachable"))["withoutEffect"]["error"] == "datastore unreachable"


def test_an_agent_that_knows_nothing_of_it_leaves_it_out() -> None:
    found = told(bird(session("10.0.0.3")), agent_says())
    assert "effect" not in as_text(found, NOW)
    assert as_json(found)["withoutEffect"] is None


def test_it_loads_nothing_heavy(tmp_path: Path) -> None:
    script = "import json, sys\nfrom tortie.cli.main import main\nmain(sys.argv[1:])\n"
    script += "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script, "node", "status", "--root", str(tmp_path)],
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert (
        set(json.loads(done.stderr)) & {"asyncio", "msgspec", "yaml", "inspect", "dataclasses", "subprocess"} == set()
    )
