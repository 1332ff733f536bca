"""When a node is ready as far as BGP is concerned, and what is said when it is not."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from tortie.bgp.plan import Refusal, Session
from tortie.bgp.readiness import SETTLE_S, Seen, Situation, complaint, judge
from tortie.bgp.replies import SessionState

YOUNG, OLD = 5.0, SETTLE_S + 60


def session(number: int, *, passive: bool = False, address: str = "") -> Session:
    peer = ip_address(address or f"10.0.0.{number}")
    return Session(
        f"Mesh_{str(peer).replace('.', '_').replace(':', '_')}",
        "mesh",
        peer,
        64512,
        64512,
        peer_node=f"node-{number}",
        passive=passive,
    )


def seen(
    number: int, state: str = "Established", error: str = "", *, wanted_s: float = OLD, passive: bool = False
) -> Seen:
    of = session(number, passive=passive)
    up = state == "Established"
    told = SessionState(of.name, "mesh", of.peer, None, "up" if up else "start", state, "2026-11-16T03:00:00", error)
    return Seen(of, told, wanted_s, 0.0 if up else 12.0)


def test_a_node_without_peers_is_ready() -> None:
    assert judge(Situation((), YOUNG)) is None


def test_all_established_is_ready() -> None:
    assert judge(Situation([seen(1), seen(2)], YOUNG)) is None


def test_a_young_node_waits_for_all_of_its_peers_with_calicos_words() -> None:
    verdict = judge(Situation([seen(1), seen(2, "Active"), seen(3, "Connect")], YOUNG))
    assert verdict is not None
    assert verdict.what == "BIRD is not ready: BGP not established with 10.0.0.2,10.0.0.3"
    assert "10.0.0.2 (node-2) for 12 s" in verdict.why


def test_a_young_node_is_not_held_back_by_a_peer_that_was_there_and_died() -> None:
    """Calico would take all nodes of a young cluster for not ready when one of them dies."""
    died = seen(3, "Active", "Socket: Connection closed", wanted_s=YOUNG)._replace(been_up=True)
    assert judge(Situation([seen(1), seen(2), died], YOUNG)) is None
    verdict = judge(Situation([died], YOUNG))
    assert verdict is not None
    assert verdict.what == "BIRD is not ready: BGP not established with 10.0.0.3"


def test_an_old_node_is_not_held_back_by_one_dead_peer() -> None:
    assert judge(Situation([seen(1), seen(2), seen(3, "Active")], OLD)) is None


def test_one_session_of_many_is_no_mesh() -> None:
    """Calico would call this ready."""
    sessions = [seen(1), *(seen(number, "Active") for number in range(2, 10))]
    verdict = judge(Situation(sessions, OLD))
    assert verdict is not None
    assert verdict.what.startswith("BIRD is not ready: BGP not established with 10.0.0.2,10.0.0.3")


def test_half_of_the_sessions_is_enough_for_an_old_node() -> None:
    assert judge(Situation([seen(1), seen(2), seen(3, "Active"), seen(4, "Active")], OLD)) is None


def test_nodes_that_have_only_just_joined_do_not_count_against_an_old_one() -> None:
    assert judge(Situation([seen(1), *(seen(n, "Connect", wanted_s=2.0) for n in range(2, 12))], OLD)) is None


def test_ipv6_has_calicos_other_name() -> None:
    down = Seen(session(7, address="fd00::7"), None, OLD, 3.0)
    verdict = judge(Situation([down], YOUNG))
    assert verdict is not None
    assert verdict.what == "BIRD6 is not ready: BGP not established with fd00::7"


def test_a_long_list_of_peers_is_cut() -> None:
    verdict = judge(Situation([seen(number, "Active") for number in range(1, 100)], YOUNG))
    assert verdict is not None
    assert verdict.what.endswith("10.0.0.20 and 79 more")


@pytest.mark.parametrize(
    ("state", "error", "fault"),
    [
        ("Active", "Socket: Connection refused", "a peer"),
        ("Active", "Socket: No route to host", "the network"),
        ("Active", "Socket: Host is unreachable", "the network"),
        ("Active", "Socket: Connection timed out", "the network"),
        ("Active", "Socket: Network is unreachable", "this node"),
        ("Active", "Socket: Cannot assign requested address", "this node"),
        ("Idle", "BGP Error: Bad peer AS", "the configuration"),
        ("Idle", "Received: Administrative shutdown", "a peer"),
        ("Active", "BGP Error: Hold timer expired", "a peer"),
        ("OpenSent", "", "a peer"),
        ("Connect", "", "the network"),
        ("Idle", "Something new", "a peer"),
    ],
)
def test_what_bird_says_tells_whose_fault_it_looks_like(state: str, error: str, fault: str) -> None:
    found = complaint(seen(2, state, error))
    assert found.fault == fault
    assert not error or error in found.why
    assert found.fix


def test_a_router_of_somebody_elses_is_not_taken_for_a_node() -> None:
    ours, theirs = seen(2, "Active", "Socket: Connection refused"), seen(3, "Active", "Socket: Connection refused")
    theirs = theirs._replace(session=theirs.session._replace(kind="global", peer_node=""))
    assert "`tortie node status` on node-2" in complaint(ours).fix
    assert "tortie" not in complaint(theirs).fix
    assert "BIRD" not in complaint(theirs).why


def test_who_waits_to_be_called_blames_the_caller() -> None:
    found = complaint(seen(2, "Passive", passive=True))
    assert found.fault == "a peer"
    assert "nobody calls" in found.why


def test_a_session_that_bird_does_not_know_is_this_nodes_affair() -> None:
    assert complaint(Seen(session(2), None, 1.0, 1.0)).fault == "this node"


def test_a_node_that_reaches_nobody_is_rather_wrong_itself() -> None:
    verdict = judge(Situation([seen(number, "Connect") for number in (1, 2, 3)], OLD))
    assert verdict is not None
    assert verdict.fault == "this node"
    assert "tortie node explain" in verdict.fix


def test_a_port_of_another_program_is_told_with_how_to_find_it() -> None:
    verdict = judge(
        Situation([seen(1, "Down", "Error: No listening socket"), seen(2, "Down", "Error: No listening socket")], OLD)
    )
    assert verdict is not None
    assert verdict.fault == "this node"
    assert "this node's BGP port is another program's" in verdict.why
    assert "ss -ltnp" in verdict.fix


def test_a_session_that_somebody_disabled_is_no_peers_fault() -> None:
    down = seen(1, "Down", passive=True)
    assert down.state is not None
    told = complaint(down._replace(state=down.state._replace(state="down")))
    assert (told.fault, "disabled" in told.why) == ("this node", True)


def test_peers_that_refuse_are_blamed_even_if_all_do() -> None:
    verdict = judge(Situation([seen(n, "Active", "Socket: Connection refused") for n in (1, 2, 3)], OLD))
    assert verdict is not None
    assert verdict.fault == "a peer"


def test_established_is_not_enough_when_a_route_has_no_next_hop() -> None:
    verdict = judge(Situation([seen(1)], OLD, unreachable=[ip_network("10.244.1.0/26")]))
    assert verdict is not None
    assert verdict.what == "BIRD is not ready: no next hop for 10.244.1.0/26"


def test_recovery_is_waited_for_while_peers_tell_their_routes() -> None:
    verdict = judge(Situation([seen(1), seen(2)], YOUNG, recovering=True))
    assert verdict is not None
    assert verdict.what == "BIRD is not ready: graceful restart in progress"


def test_recovery_that_waits_for_a_dead_peer_holds_nobody_back() -> None:
    assert judge(Situation([seen(1), seen(2, "Active")], OLD, recovering=True)) is None


def test_no_session_is_left_because_all_were_refused() -> None:
    refusal = Refusal("BGPPeer(tor)", "its password cannot be read", "mount the secret")
    verdict = judge(Situation((), OLD, refusals=[refusal]))
    assert verdict is not None
    assert verdict.fault == "the configuration"
    assert "BGPPeer(tor)" in verdict.what
    assert judge(Situation([seen(1)], OLD, refusals=[refusal])) is None
