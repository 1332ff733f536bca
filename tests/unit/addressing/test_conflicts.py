"""Two records with one address: named situations, and what a person is told in each."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.addressing.choice import Message
from tortie.addressing.conflicts import (
    Conflict,
    Evidence,
    Registered,
    conflicts_of,
    judge,
    same_name_notice,
    unreadable_notice,
)
from tortie.model.network import CIDR

IP = ip_address("10.0.0.5")
OWN = ip_interface("10.0.0.5/24")
MAC = "52:54:00:12:34:56"
CALICO_LINE = Message("warning", "Calico node 'node2' is already using the IPv4 address 10.0.0.5.")
HERE, ELSEWHERE = "1f0cec0ffee", "2ba5eba11"

SITUATIONS = {
    "renamed, nobody else answers": (
        Conflict("node2", IP),
        Evidence(previous_name="node2", machine=HERE, asked=True),
        "renamed",
    ),
    "renamed, and the record carries our machine id": (
        Conflict("node2", IP, HERE),
        Evidence(previous_name="node2", machine=HERE, asked=True),
        "renamed",
    ),
    "the nodename file came with a copied disk, the original is off": (
        Conflict("node2", IP, ELSEWHERE),
        Evidence(previous_name="node2", machine=HERE, asked=True),
        "stale",
    ),
    "a copy with the machine id of the original": (
        Conflict("node2", IP, HERE),
        Evidence(machine=HERE, answered_by=MAC, asked=True),
        "cloned",
    ),
    "a copy with the nodename file of the original": (
        Conflict("node2", IP, ELSEWHERE),
        Evidence(previous_name="node2", machine=HERE, answered_by=MAC, asked=True),
        "cloned",
    ),
    "an address typed twice": (
        Conflict("node2", IP, ELSEWHERE),
        Evidence(machine=HERE, answered_by=MAC, asked=True),
        "duplicate",
    ),
    "an address typed twice, beside a Calico that writes no machine id": (
        Conflict("node2", IP),
        Evidence(machine=HERE, answered_by=MAC, asked=True),
        "duplicate",
    ),
    "the record of a machine that was taken away": (
        Conflict("node2", IP, ELSEWHERE),
        Evidence(previous_name="node1", machine=HERE, asked=True),
        "stale",
    ),
    "our machine id, but no word about our earlier name": (
        Conflict("node2", IP, HERE),
        Evidence(machine=HERE, asked=True),
        "stale",
    ),
    "two agents on one machine, and nobody else answers": (
        Conflict("node2", IP, HERE),
        Evidence(machine=HERE, asked=True, runs_here="pid 123, tortie node run --root /x"),
        "duplicate",
    ),
    "two agents on one machine, of which one had the other's name before": (
        Conflict("node2", IP, HERE),
        Evidence(previous_name="node2", machine=HERE, asked=True, runs_here="pid 123, tortie node run --root /x"),
        "duplicate",
    ),
    "the link could not be asked": (
        Conflict("node2", IP, ELSEWHERE),
        Evidence(machine=HERE, why_not_asked="raw sockets need CAP_NET_RAW"),
        "unknown",
    ),
    "renamed, as far as files can tell, but the link could not be asked": (
        Conflict("node2", IP, HERE),
        Evidence(previous_name="node2", machine=HERE, why_not_asked="raw sockets need CAP_NET_RAW"),
        "unknown",
    ),
}


@pytest.mark.parametrize(("conflict", "evidence", "kind"), SITUATIONS.values(), ids=SITUATIONS)
def test_every_situation_is_named_and_explained(conflict: Conflict, evidence: Evidence, kind: str) -> None:
    verdict = judge("node1", conflict, evidence)
    assert verdict.kind == kind
    assert verdict.blocks is (kind != "renamed")
    assert verdict.take_over is (kind == "renamed")
    for part in ("node1", "node2", "10.0.0.5"):
        assert part in verdict.what
        assert part in verdict.fix
        assert all(part in message.text for message in verdict.messages[1:])
    assert verdict.why
    assert verdict.messages[0] == CALICO_LINE
    assert len(verdict.messages) == (1 if verdict.blocks else 2)  # who is blocked says what, why and fix himself
    assert not any("Terminating" in message.text for message in verdict.messages)


def test_only_an_own_record_is_taken_over_without_a_person() -> None:
    verdict = judge("node1", *SITUATIONS["renamed, nobody else answers"][:2])
    assert verdict.take_over
    assert verdict.fault == "this node"
    assert verdict.messages[1].level == "info"


def test_who_else_has_the_address_is_named_by_its_mac() -> None:
    for situation in ("an address typed twice", "a copy with the machine id of the original"):
        verdict = judge("node1", *SITUATIONS[situation][:2])
        assert MAC in verdict.why
    assert judge("node1", *SITUATIONS["an address typed twice"][:2]).fault == "the configuration"


def test_a_record_left_over_is_removed_by_one_command_and_the_node_goes_on() -> None:
    verdict = judge("node1", *SITUATIONS["the record of a machine that was taken away"][:2])
    assert "`tortie delete node node2`" in verdict.fix
    assert "goes on by itself" in verdict.fix
    assert verdict.fault == "a peer"
    assert verdict.blocks  # a machine behind a router could still be node2


@pytest.mark.parametrize("situation", [each for each in SITUATIONS if each.startswith("two agents")])
def test_a_node_that_lives_on_this_machine_is_named_and_not_deleted(situation: str) -> None:
    verdict = judge("node1", *SITUATIONS[situation][:2])
    assert "pid 123, tortie node run --root /x" in verdict.why
    assert "delete" not in verdict.fix
    assert "two nodes on one machine need two addresses" in verdict.fix
    assert "IP=<address>" in verdict.fix
    assert verdict.fault == "the configuration"


def test_an_ipv6_address_of_two_nodes_on_one_machine_is_set_by_ip6() -> None:
    evidence = Evidence(runs_here="pid 123")
    assert "IP6=<address>" in judge("node1", Conflict("node2", ip_address("fd00::5")), evidence).fix


def test_why_nobody_could_be_asked_is_told() -> None:
    verdict = judge("node1", *SITUATIONS["the link could not be asked"][:2])
    assert "CAP_NET_RAW" in verdict.why


def test_ipv6_is_called_ipv6() -> None:
    ip = ip_address("fd00::5")
    verdict = judge("node1", Conflict("node2", ip), Evidence(answered_by=MAC, asked=True))
    assert verdict.messages[0].text == "Calico node 'node2' is already using the IPv6 address fd00::5."
    assert "IP6_AUTODETECTION_METHOD" in verdict.fix


def test_conflicts_are_same_addresses_of_other_names() -> None:
    nodes = [
        Registered("node1", (OWN,)),
        Registered("node2", (ip_interface("10.0.0.5/16"), ip_interface("fd00::2/64")), "machine2"),
        Registered("node3", (ip_interface("10.0.0.6/24"),)),
        Registered("node4"),
        Registered("node5", (ip_interface("10.0.0.7/24"), ip_interface("fd00::5/48"))),
    ]
    assert conflicts_of("node1", (OWN, ip_interface("fd00::5/64")), nodes) == (
        Conflict("node2", IP, "machine2"),
        Conflict("node5", ip_address("fd00::5")),
    )
    assert conflicts_of("node1", (), nodes) == ()


def test_a_node_with_one_address_in_two_fields_is_one_conflict() -> None:
    assert len(conflicts_of("node1", (OWN,), [Registered("node2", (OWN, ip_interface("10.0.0.5/32")))])) == 1


CHANGED = (
    "IPv4 address has changed. This could happen if there are multiple nodes with the same name. "
    'node="node1" original="10.0.0.4" updated="10.0.0.5"'
)


@pytest.mark.parametrize(
    ("stored_machine", "machine", "levels", "words"),
    [
        ("", HERE, ["warning"], ()),
        (ELSEWHERE, "", ["warning"], ()),
        (HERE, HERE, ["warning", "info"], ("written by this machine",)),
        (ELSEWHERE, HERE, ["warning", "warning"], (ELSEWHERE, HERE, "another machine", "NODENAME")),
    ],
)
def test_another_address_in_our_own_record(
    stored_machine: str, machine: str, levels: list[str], words: tuple[str, ...]
) -> None:
    notices = same_name_notice("node1", ip_interface("10.0.0.4/24"), OWN, stored_machine, machine)
    assert notices[0].text == CHANGED
    assert [notice.level for notice in notices] == levels
    assert all(word in notices[-1].text for word in words)


@pytest.mark.parametrize(
    ("stored", "chosen"), [(None, OWN), (OWN, None), (OWN, OWN), (ip_interface("10.0.0.5/16"), OWN)]
)
def test_the_same_address_needs_no_notice(stored: CIDR | None, chosen: CIDR | None) -> None:
    assert same_name_notice("node1", stored, chosen, ELSEWHERE, HERE) == ()


def test_an_ipv6_address_that_changed_is_called_so() -> None:
    notices = same_name_notice("node1", ip_interface("fd00::4/64"), ip_interface("fd00::5/64"), "", "")
    assert notices[0].text.startswith("IPv6 address has changed. ")


def test_broken_records_are_named_and_stop_nobody() -> None:
    assert unreadable_notice([]) == ()
    [notice] = unreadable_notice(["node7"])
    assert notice.level == "warning"
    assert "node7" in notice.text
    assert "`tortie get node node7 -o yaml`" in notice.text


def test_a_thousand_broken_records_are_one_line() -> None:
    [notice] = unreadable_notice([f"node{number}" for number in range(1000)])
    assert "1,000 nodes" in notice.text
    assert "995 more" in notice.text
    assert len(notice.text) < 300


EVIDENCE = st.builds(
    Evidence,
    previous_name=st.sampled_from(["", "node1", "node2"]),
    machine=st.sampled_from(["", HERE]),
    answered_by=st.sampled_from([None, MAC]),
    asked=st.booleans(),
    why_not_asked=st.sampled_from(["", "no link", "There is no link."]),
    runs_here=st.sampled_from(["", "pid 123", "An agent."]),
)


@given(EVIDENCE, st.sampled_from(["", HERE, ELSEWHERE]))
def test_nothing_is_taken_from_a_machine_that_may_be_alive(evidence: Evidence, machine: str) -> None:
    verdict = judge("node1", Conflict("node2", IP, machine), evidence)
    if verdict.take_over:
        assert evidence.previous_name == "node2"
        assert evidence.asked
        assert evidence.answered_by is None
        assert not evidence.runs_here
        assert not (machine and evidence.machine) or machine == evidence.machine
    assert verdict.take_over is not verdict.blocks
    assert CALICO_LINE in verdict.messages


@given(EVIDENCE, st.sampled_from(["", HERE, ELSEWHERE]))
def test_a_verdict_can_be_put_into_a_sentence_and_is_said_once(evidence: Evidence, machine: str) -> None:
    verdict = judge("node1", Conflict("node2", IP, machine), evidence)
    sentence = f"{verdict.what}: {verdict.why}. Fix: {verdict.fix}. Going on trying."
    assert ".." not in sentence
    if verdict.blocks:
        assert not any(verdict.what in message.text for message in verdict.messages)
