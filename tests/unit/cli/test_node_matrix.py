"""Who sees whom in a cluster, in many shapes; and which node is called the odd one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

import pytest
from tests.support.cli import resource

from tortie.cli.node.matrix import FamilyMatrix, Matrix, matrix
from tortie.cli.node.matrix_json import as_json
from tortie.cli.node.matrix_text import as_text
from tortie.cli.node.reports import Expected, Member, Report, Seen, moment, report_of
from tortie.cli.node.suspects import in_order
from tortie.model.network import Family
from tortie.model.resource import typed
from tortie.model.resources.nodestatus import CalicoNodeStatus

NOW = datetime(2026, 11, 16, 4, 0, tzinfo=UTC)
LONG_AGO, BEFORE, LATELY, JUST_NOW = (NOW - timedelta(minutes=minutes) for minutes in (60, 50, 5, 1))

# What the node `row` says about the node `column`: the state, and since when.
States = Callable[[int, int], tuple[str, datetime]]


def name(number: int) -> str:
    return f"node-{number}"


def address(number: int, family: int = 4) -> Any:
    return ip_address(f"10.77.0.{number}" if family == 4 else f"fd77::{number}")


def members(size: int) -> list[Member]:
    return [Member(name(number), (address(number),)) for number in range(1, size + 1)]


def pairs(*wanted: tuple[int, int], family: Family = 4) -> Expected:
    return Expected(frozenset((family, (name(one), name(other))) for one, other in wanted))


def mesh(size: int, family: Family = 4) -> Expected:
    numbers = range(1, size + 1)
    return pairs(*((one, other) for one in numbers for other in numbers if one != other), family=family)


def all_up(_row: int, _column: int) -> tuple[str, datetime]:
    return "Established", LONG_AGO


def down_between(*wrong: tuple[Collection[int], Collection[int]]) -> States:
    """Both ends see it, and have for some minutes."""

    def states(row: int, column: int) -> tuple[str, datetime]:
        for ones, others in wrong:
            if (row in ones and column in others) or (row in others and column in ones):
                return "Active", LATELY
        return all_up(row, column)

    return states


def reports(
    size: int, states: States = all_up, *, silent: Collection[int] = (), old: Collection[int] = ()
) -> list[Report]:
    """`old`: nodes that wrote their last report when all was still well."""
    return [
        Report(
            name(row),
            BEFORE if row in old else JUST_NOW,
            tuple(
                Seen(address(column), *(all_up if row in old else states)(row, column), "mesh")
                for column in range(1, size + 1)
                if column != row
            ),
        )
        for row in range(1, size + 1)
        if row not in silent
    ]


def seen(size: int, states: States = all_up, **more: Collection[int]) -> Matrix:
    return matrix(members(size), reports(size, states, **more), mesh(size))


def only(found: Matrix) -> FamilyMatrix:
    (family,) = found.families
    return family


def odd(found: Matrix) -> list[str]:
    return [each.name for each in only(found).odd]


def test_a_healthy_cluster_of_three() -> None:
    found = seen(3)
    assert found.healthy
    assert (only(found).expected, only(found).up, only(found).odd) == (3, 3, ())
    assert as_text(found, NOW) == (
        "IPv4: all 3 sessions between 3 nodes are up.\n"
        "\n"
        "        node-1  node-2  node-3\n"
        "node-1  .       up      up\n"
        "node-2  up      .       up\n"
        "node-3  up      up      .\n"
    )


def test_a_dead_node_is_the_odd_one_and_its_own_report_is_not_believed() -> None:
    found = seen(3, down_between(({3}, {1, 2})), old={3})
    text = as_text(found, NOW)
    assert not found.healthy
    assert [(each.pair, each.verdict) for each in only(found).wrong] == [
        (("node-1", "node-3"), "down"),
        (("node-2", "node-3"), "down"),
    ]
    assert odd(found) == ["node-3"]
    assert (
        "        node-1  node-2  node-3\n"
        "node-1  .       up      Active!\n"
        "node-2  up      .       Active!\n"
        "node-3  up!     up!     .        (stale)\n"
    ) in text
    assert (
        "node-3 (10.77.0.3) is the odd one: both its sessions are down since 03:55:00 UTC, and its own report, of "
        "03:10:00 UTC, is older than that.\n  fix: ping 10.77.0.3; "
    ) in text


def test_of_two_nodes_the_silent_one_is_the_odd_one() -> None:
    assert odd(seen(2, down_between(({1}, {2})), old={2})) == ["node-2"]
    assert odd(seen(2, down_between(({1}, {2})), silent={1})) == ["node-1"]


def test_of_two_nodes_that_both_report_neither_is_blamed() -> None:
    found = seen(2, down_between(({1}, {2})))
    text = as_text(found, NOW)
    assert odd(found) == []
    assert "IPv4: the session between 2 nodes is not up on both ends." in text
    assert "node-1 <-> node-2: node-1 says Active since 03:55:00 UTC, node-2 says Active since 03:55:00 UTC" in text
    assert "No single node explains this." in text


def test_a_filter_in_one_direction_is_a_dispute() -> None:
    def states(row: int, column: int) -> tuple[str, datetime]:
        return ("OpenSent", LATELY) if (row, column) == (1, 2) else all_up(row, column)

    found = seen(3, states)
    text = as_text(found, NOW)
    assert [(each.pair, each.verdict) for each in only(found).unexplained] == [(("node-1", "node-2"), "disputed")]
    assert odd(found) == []
    assert "node-1  .       OpenSent!  up\n" in text
    assert "node-2  up!     .          up\n" in text
    assert "drops TCP port 179 in one direction" in text


def test_a_dispute_of_this_minute_may_only_be_the_hold_time() -> None:
    """One end has given up, and the other, which reports changes only, has not noticed."""
    just_lost = down_between(({3}, {1, 2}))

    def states(row: int, column: int) -> tuple[str, datetime]:
        state, since = just_lost(row, column)
        return (state, NOW - timedelta(seconds=20)) if since == LATELY else (state, since)

    text = as_text(seen(3, states, old={3}), NOW)
    assert "fix: look again in a minute: a node notices a silent peer only after the hold time; then ping" in text


def test_a_node_that_is_cut_off_but_still_reports() -> None:
    found = seen(4, down_between(({4}, {1, 2, 3})))
    assert odd(found) == ["node-4"]
    assert "(10.77.0.4) is the odd one: it is cut off, all its 3 sessions are down" in as_text(found, NOW)


def test_a_node_that_has_lost_more_than_any_other() -> None:
    found = seen(5, down_between(({4}, {1, 2, 3})))
    assert odd(found) == ["node-4"]
    assert "3 of its 4 sessions are down since 03:55:00 UTC, more than any other node has." in as_text(found, NOW)


def test_a_node_that_has_never_reported() -> None:
    found = seen(3, silent={2})
    text = as_text(found, NOW)
    assert not found.healthy
    assert [each.verdict for each in only(found).wrong] == ["half", "half"]
    assert "node-2  ?       .       ?       (no report)\n" in text
    assert "node-2 (10.77.0.2) has not reported; nobody says that it is down." in text


def test_a_node_that_never_came_up() -> None:
    found = seen(3, down_between(({2}, {1, 3})), silent={2})
    assert odd(found) == ["node-2"]
    assert "both its sessions are down since 03:55:00 UTC, and it has never reported." in as_text(found, NOW)


def test_when_nobody_reports_that_is_said_once() -> None:
    found = matrix(members(3), [], mesh(3))
    text = as_text(found, NOW)
    assert not found.healthy
    assert "No node has reported yet, so nothing is known." in text
    assert "has not reported;" not in text


def test_a_report_that_was_asked_for_and_never_written_is_none() -> None:
    assert "node-1  .       ?" in as_text(matrix(members(2), [Report("node-1", None)], mesh(2)), NOW)


def test_of_several_reports_about_a_node_the_newest_counts() -> None:
    older = [report._replace(updated=LONG_AGO, peers=()) for report in reports(3)]
    assert matrix(members(3), [*older, *reports(3), *older], mesh(3)).healthy


def test_a_report_that_says_down_is_stale_when_the_other_end_came_up_later() -> None:
    """The agent of node-2 died before the session came up."""
    one = Report(name(1), JUST_NOW, (Seen(address(2), "Established", LATELY),))
    two = Report(name(2), BEFORE, (Seen(address(1), "Active", LONG_AGO),))
    found = matrix(members(2), [one, two], mesh(2))
    assert [each.verdict for each in only(found).wrong] == ["half"]
    assert "node-2 (10.77.0.2) has not reported what the others have seen since" in as_text(found, NOW)


def test_reports_without_times_are_a_dispute_and_nobody_is_stale() -> None:
    """Calico writes what BIRD says, which today is the time of day only."""
    one = Report(name(1), JUST_NOW, (Seen(address(2), "Established"),))
    two = Report(name(2), BEFORE, (Seen(address(1), "Active"),))
    assert [each.verdict for each in only(matrix(members(2), [one, two], mesh(2))).wrong] == ["disputed"]


def test_a_session_that_the_report_does_not_know() -> None:
    one, two = reports(2)
    found = matrix(members(2), [one, two._replace(peers=())], mesh(2))
    assert not found.healthy
    assert "node-2  none!   ." in as_text(found, NOW)


def test_a_cluster_cut_in_two() -> None:
    found = seen(6, down_between(({1, 2, 3}, {4, 5, 6})))
    assert odd(found) == []
    assert only(found).groups == (("node-1", "node-2", "node-3"), ("node-4", "node-5", "node-6"))
    assert "node-1, node-2, node-3 | node-4, node-5, node-6" in as_text(found, NOW)


def test_parts_need_not_be_of_the_same_size() -> None:
    found = seen(6, down_between(({1, 2}, {3, 4, 5, 6})))
    assert only(found).groups == (("node-1", "node-2"), ("node-3", "node-4", "node-5", "node-6"))


def test_when_everything_is_down_nobody_is_the_odd_one() -> None:
    found = seen(3, down_between(({1, 2, 3}, {1, 2, 3})))
    assert (odd(found), only(found).groups, len(only(found).unexplained)) == ([], (), 3)


@pytest.mark.parametrize("old", [set(), {2, 5}])
def test_two_dead_nodes_are_both_named(old: set[int]) -> None:
    everybody = set(range(1, 7))
    found = seen(6, down_between(({2}, everybody), ({5}, everybody)), old=old)
    assert (odd(found), only(found).unexplained) == (["node-2", "node-5"], ())


def test_a_dead_node_beside_a_single_broken_session() -> None:
    found = seen(6, down_between(({2}, {1, 3, 4, 5, 6}), ({4}, {5})))
    assert odd(found) == ["node-2"]
    assert [each.pair for each in only(found).unexplained] == [("node-4", "node-5")]


def test_a_reflector_that_is_down_is_the_odd_one_and_not_its_clients() -> None:
    expected = pairs(*((1, number) for number in (2, 3, 4)), *((number, 1) for number in (2, 3, 4)))
    rows = [
        report._replace(peers=tuple(peer for peer in report.peers if peer.peer == address(1))) for report in reports(4)
    ]
    rows = [
        report._replace(peers=tuple(peer._replace(state="Connect", since=LATELY) for peer in report.peers))
        for report in rows
    ]
    found = matrix(members(4), rows[1:], expected)
    text = as_text(found, NOW)
    assert odd(found) == ["node-1"]
    assert "node-2  Connect  .       -       -\n" in text


def test_a_session_that_only_one_side_is_told_to_have_needs_no_second_opinion() -> None:
    one, two = reports(2)
    found = matrix(members(2), [one, two._replace(peers=())], pairs((1, 2)))
    assert found.healthy


def test_of_53_nodes_only_the_odd_one_is_shown() -> None:
    found = seen(53, down_between(({17}, set(range(1, 54)) - {3})), old=())
    text = as_text(found, NOW)
    assert odd(found) == ["node-17"]
    assert text.startswith("IPv4: 1327 of 1378 sessions between 53 nodes are up on both ends.\n")
    assert "node-17 (10.77.0.17) is the odd one: 51 of its 52 sessions are down" in text
    assert "  it sees: Active 51, up 1 (node-3)\n  it is seen as: Active 51, up 1 (node-3)\n" in text
    assert len(text.splitlines()) < 12


def test_of_53_nodes_that_are_well_only_the_count_is_shown() -> None:
    text = as_text(seen(53), NOW)
    assert text == "IPv4: all 1378 sessions between 53 nodes are up.\n\n--all shows all 53 rows.\n"


def test_of_many_nodes_the_rows_with_unexplained_trouble_are_shown() -> None:
    text = as_text(seen(30, down_between(({4}, {9}))), NOW)
    assert "        node-4  node-9\nnode-4  .       Active\nnode-9  Active  .\n" in text
    assert "node-10" not in text


def test_all_shows_all_with_numbers_above_the_columns() -> None:
    lines = as_text(seen(53), NOW, everything=True).splitlines()
    assert lines[2].split() == [str(number) for number in range(1, 54)]
    assert [line.split()[:2] for line in lines[3:]] == [[str(number), name(number)] for number in range(1, 54)]
    assert lines[12].split()[2:] == ["up"] * 9 + ["."] + ["up"] * 43


def test_nodes_without_bgp_are_named_and_take_no_part() -> None:
    found = matrix([*members(3), Member("vxlan-only")], reports(3), mesh(3))
    assert found.healthy
    assert as_text(found, NOW).endswith("\n\nWithout an address for BGP: vxlan-only\n")


def test_a_cluster_without_any_bgp_is_well() -> None:
    found = matrix([Member("a"), Member("b")], [], Expected())
    assert found.healthy
    assert "No BGP session is expected and none is reported.\n" in as_text(found, NOW)


def test_a_cluster_without_nodes_is_not_called_well() -> None:
    found = matrix([], [], Expected())
    assert not found.healthy
    assert as_text(found, NOW) == "There is no node in this datastore.\n"


def test_a_single_node_is_well() -> None:
    assert matrix(members(1), reports(1), mesh(1)).healthy


def test_each_family_has_its_own_matrix() -> None:
    both = [Member(name(number), (address(number), address(number, 6))) for number in (1, 2)]
    six = [
        Report(
            name(row),
            JUST_NOW,
            (Seen(address(3 - row), "Established", LONG_AGO), Seen(address(3 - row, 6), "Idle", LATELY)),
        )
        for row in (1, 2)
    ]
    found = matrix(both, six, Expected(mesh(2).between | mesh(2, family=6).between))
    assert [(family.family, family.healthy) for family in found.families] == [(4, True), (6, False)]
    assert "IPv6: the session between 2 nodes is not up on both ends." in as_text(found, NOW)


def test_a_session_of_one_family_says_nothing_about_the_other() -> None:
    both = [Member(name(number), (address(number), address(number, 6))) for number in (1, 2)]
    found = matrix(both, reports(2), mesh(2))
    assert found.healthy
    assert [family.family for family in found.families] == [4]


def test_peers_that_are_no_nodes_stand_below_the_matrix() -> None:
    router, other = ip_address("10.77.0.254"), ip_address("10.77.0.253")
    one, two = reports(2)
    rows = [one._replace(peers=(*one.peers, Seen(router, "Connect", LATELY, "global"))), two]
    found = matrix(
        members(2), rows, mesh(2)._replace(outside=frozenset({(name(1), router, 1790), (name(2), other, 179)}))
    )
    assert not found.healthy
    assert [line.split() for line in as_text(found, NOW).splitlines()[-3:]] == [
        ["NODE", "PEER", "TYPE", "STATE", "SINCE"],
        ["node-1", "10.77.0.254:1790", "global", "Connect", "03:55:00", "UTC"],
        ["node-2", "10.77.0.253", "-", "none", "-"],
    ]


def test_two_sessions_with_one_address_are_both_shown() -> None:
    router = ip_address("10.77.0.88")
    one, two = reports(2)
    both = (Seen(router, "Established", LONG_AGO, "global"), Seen(router, "Connect", LATELY, "global"))
    outside = frozenset({(name(1), router, 1790), (name(1), router, 1791)})
    found = matrix(members(2), [one._replace(peers=(*one.peers, *both)), two], mesh(2)._replace(outside=outside))
    assert not found.healthy
    assert [each.state for each in only(found).outsiders] == ["up", "Connect"]
    nothing = matrix(members(2), [one, two], mesh(2)._replace(outside=outside))
    assert [(each.port, each.state) for each in only(nothing).outsiders] == [(1790, "none"), (1791, "none")]
    half = matrix(members(2), [one._replace(peers=(*one.peers, both[0])), two], mesh(2)._replace(outside=outside))
    assert [each.state for each in only(half).outsiders] == ["up", "none"]


def test_a_stranger_on_another_port_of_a_node_is_not_the_session_between_the_nodes() -> None:
    one, two = reports(2)
    stranger = Seen(address(2), "Connect", LATELY, "global")
    outside = frozenset({(name(1), address(2), 1790)})
    found = matrix(members(2), [one._replace(peers=(*one.peers, stranger)), two], mesh(2)._replace(outside=outside))
    assert only(found).up == 1
    assert [(each.port, each.state) for each in only(found).outsiders] == [(1790, "Connect")]


def test_one_that_reports_beside_two_that_never_did_is_not_the_odd_one() -> None:
    found = seen(3, down_between(({1}, {2, 3})), silent={2, 3})
    text = as_text(found, NOW)
    assert odd(found) == ["node-2", "node-3"]
    assert "No report from node-2, node-3; sessions with them are down since 03:55:00 UTC.\n" in text
    assert "odd one" not in text


def test_several_that_have_not_reported_and_are_up_are_named_together() -> None:
    text = as_text(seen(4, silent={2, 4}), NOW)
    assert text.count("No report from node-2, node-4; nobody says that they are down.") == 1
    assert "has not reported;" not in text


def test_advice_names_the_port_that_the_nodes_listen_on() -> None:
    def told(size: int, states: States) -> str:
        nodes = [member._replace(port=1179) for member in members(size)]
        return as_text(matrix(nodes, reports(size, states), mesh(size)), NOW)

    cut_off = told(4, down_between(({4}, {1, 2, 3})))
    parts = told(6, down_between(({1, 2, 3}, {4, 5, 6})))
    for text in (cut_off, parts):
        assert "TCP port 1179" in text
        assert "179 " not in text.replace("1179", "")


def test_json_has_every_cell_and_the_sentence() -> None:
    (family,) = as_json(seen(3, down_between(({3}, {1, 2})), old={3}), NOW)["families"]
    assert family["sessions"] == {"expected": 3, "up": 1}
    assert [node["report"] for node in family["nodes"]] == ["fresh", "fresh", "stale"]
    assert family["nodes"][0]["sees"] == {
        "node-2": {"state": "up", "since": "2026-11-16T03:00:00Z", "disputed": False},
        "node-3": {"state": "Active", "since": "2026-11-16T03:55:00Z", "disputed": True},
    }
    assert family["wrong"][0] == {"nodes": ["node-1", "node-3"], "verdict": "down"}
    assert family["odd"][0]["name"] == "node-3"
    assert family["odd"][0]["what"].startswith("node-3 (10.77.0.3) is the odd one")


def test_names_are_in_the_order_that_people_expect() -> None:
    assert sorted(["node-10", "node-2", "b", "node-2-a", "a10b", "a9b"], key=in_order) == [
        *("a9b", "a10b", "b", "node-2", "node-2-a", "node-10")
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2026-11-16T03:41:38Z", True),
        ("2026-11-16T03:41:38", True),
        ("2026-11-16T05:41:38+02:00", True),
        ("03:41:38", False),
        ("2026-11-16", False),
        ("2026-11-16 and more to come", False),
        ("", False),
        (None, False),
    ],
)
def test_points_in_time(text: str | None, is_one: bool) -> None:
    assert moment(text) == (datetime(2026, 11, 16, 3, 41, 38, tzinfo=UTC) if is_one else None)


def stored_report(classes: list[str], **status: Any) -> Report | None:
    document = resource(
        "CalicoNodeStatus", "its-own-name", {"node": "node-1", "classes": classes, "updatePeriodSeconds": 10}
    )
    value = typed({**document, "status": status})
    assert isinstance(value, CalicoNodeStatus)
    return report_of(value)


def test_a_stored_report_is_about_the_node_that_it_names() -> None:
    peers = [
        {"peerIP": "10.77.0.2", "type": "NodeMesh", "state": "Established", "since": "2026-11-16T03:00:00Z"},
        {"peerIP": "10.77.0.3", "type": "GlobalPeer", "state": "Idle", "since": "2026-11-16T14:00:00"},
    ]
    report = stored_report(["Agent", "BGP"], lastUpdated="2026-11-16T03:59:00Z", bgp={"peersV4": peers})
    assert report == Report(
        "node-1",
        JUST_NOW,
        # The second one lies in the future of its report, so it is a time of another zone.
        (Seen(address(2), "Established", LONG_AGO, "mesh"), Seen(address(3), "Idle", None, "global")),
    )


def test_a_report_about_something_else_is_none_about_bgp() -> None:
    assert stored_report(["Routes"]) is None
