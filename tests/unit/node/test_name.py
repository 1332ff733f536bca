"""What a node is called, in named situations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.addressing.choice import Message
from tortie.model.errors import UsageError
from tortie.model.fields import Name
from tortie.node.name import NodeName, choose_name

FILE = "/var/lib/calico/nodename"
AUTODETECTED = Message(
    "warning",
    "Using auto-detected node name. It is recommended that an explicit value is supplied using the NODENAME "
    "environment variable.",
)


def choose(*, stored: str | None = None, host: str = "host1", **environment: str) -> NodeName:
    return choose_name(environment, stored, host, FILE)


def info(text: str) -> Message:
    return Message("info", text)


ORDER = {
    "NODENAME before all": (
        choose(NODENAME=" node1\n", HOSTNAME="pod7", stored="node1"),
        ("node1", "NODENAME"),
        [info("Using NODENAME environment for node name node1"), info("Determined node name: node1")],
    ),
    "the file before HOSTNAME": (
        choose(HOSTNAME="node1", stored="node1\n"),
        ("node1", "file"),
        [info(f"Using stored node name node1 from {FILE}"), info("Determined node name: node1")],
    ),
    "HOSTNAME in lower case": (
        choose(HOSTNAME=" Node1 "),
        ("node1", "HOSTNAME"),
        [info("Using HOSTNAME environment (lowercase) for node name node1"), info("Determined node name: node1")],
    ),
    "the host's own name in lower case": (
        choose(host="Host1.Example.com"),
        ("host1.example.com", "hostname"),
        [AUTODETECTED, info("Determined node name: host1.example.com")],
    ),
}


@pytest.mark.parametrize(("chosen", "expected", "messages"), ORDER.values(), ids=ORDER)
def test_calicos_order_and_words(chosen: NodeName, expected: tuple[str, str], messages: list[Message]) -> None:
    assert (chosen.name, chosen.source) == expected
    assert list(chosen.messages) == messages
    assert chosen.problems == ()


REFUSED = {
    "capitals in NODENAME": (choose(NODENAME="Node-1"), "no capital letters", "set NODENAME to node-1"),
    "capitals in the file": (choose(stored="Node-1"), "no capital letters", f"printf %s node-1 > {FILE}"),
    "an underscore in NODENAME": (choose(NODENAME="node_1"), "not a valid name", "set NODENAME to node-1"),
    "an underscore in the host's name": (choose(host="node_1"), "not a valid name", "hostnamectl set-hostname node-1"),
    "a line break inside the file": (choose(stored="node1\nnode2"), "not a valid name", "NODENAME"),
    "nothing but punctuation": (choose(NODENAME="---"), "not a valid name", "set NODENAME to a valid name"),
    "too long": (choose(NODENAME="n" * 254), "254 characters", "NODENAME"),
    "localhost from the host": (choose(host="localhost"), "every machine", "hostnamectl"),
    "localhost from HOSTNAME": (choose(HOSTNAME="localhost.localdomain"), "every machine", "spec.nodeName"),
    "localhost from the file": (choose(stored="localhost"), "every machine", f"> {FILE}"),
    "a variable that Kubernetes did not fill in": (choose(NODENAME="$(NODE_NAME)"), "Kubernetes", "spec.nodeName"),
    "a variable that a shell did not fill in": (choose(NODENAME="${NODE_NAME}"), "placeholder", "spec.nodeName"),
    "a part that was not filled in": (choose(NODENAME="edge-$(ZONE)"), "placeholder", "spec.nodeName"),
    "a template that was not filled in": (choose(NODENAME="{{ .Node.Name }}"), "placeholder", "spec.nodeName"),
    "a template without a value": (choose(NODENAME="<no value>"), "placeholder", "spec.nodeName"),
    "the placeholder of the CNI template": (
        choose(NODENAME="__KUBERNETES_NODE_NAME__"),
        "placeholder",
        "spec.nodeName",
    ),
    "an IPv6 address": (choose(NODENAME="fd00::5"), "not a valid name", "set NODENAME to fd00-5"),
    "no name anywhere": (choose(NODENAME=" ", HOSTNAME="", stored="", host=" "), "all empty", "spec.nodeName"),
}


@pytest.mark.parametrize(("chosen", "why", "fix"), REFUSED.values(), ids=REFUSED)
def test_names_that_cannot_be_meant_are_refused_with_a_way_out(chosen: NodeName, why: str, fix: str) -> None:
    [problem] = chosen.problems
    assert isinstance(problem, UsageError)
    assert repr(chosen.name) in problem.what or not chosen.name
    assert why in problem.why
    assert fix in problem.fix
    assert not any("Determined node name" in message.text for message in chosen.messages)


def test_the_source_of_a_refused_name_is_named() -> None:
    assert FILE in choose(stored="Node-1").problems[0].what
    assert "HOSTNAME" in choose(HOSTNAME="localhost").problems[0].what
    assert "the host's own name" in choose(host="localhost").problems[0].what


def warnings(chosen: NodeName) -> list[str]:
    assert chosen.problems == ()
    return [message.text for message in chosen.messages if message.level == "warning"]


def test_localhost_is_accepted_from_whoever_insists_and_doubted() -> None:
    chosen = choose(NODENAME="localhost")
    assert chosen.name == "localhost"
    [warning] = warnings(chosen)
    assert "same record" in warning


def test_an_address_as_name_is_accepted_and_explained() -> None:
    chosen = choose(NODENAME="10.0.0.5")
    assert chosen.name == "10.0.0.5"
    [warning] = warnings(chosen)
    assert "10.0.0.5 is an address" in warning


def test_a_renamed_node_is_told_what_becomes_of_its_old_record() -> None:
    [warning] = warnings(choose(NODENAME="node2", stored="node1\n"))
    for part in ("node1", "node2", FILE, "moves to node2", "tortie delete node node1"):
        assert part in warning


def test_a_line_break_in_the_file_is_no_renaming() -> None:
    assert warnings(choose(NODENAME="node1", stored="node1\n")) == []


def test_nonsense_in_the_file_does_not_count_once_there_is_a_name() -> None:
    [warning] = warnings(choose(NODENAME="node1", stored="\x00\x00"))
    assert FILE in warning
    assert "replaced" in warning


def test_a_file_cut_short_is_passed_over() -> None:
    chosen = choose(stored="", HOSTNAME="node1")
    assert (chosen.name, chosen.source) == ("node1", "HOSTNAME")
    [warning] = warnings(chosen)
    assert FILE in warning


def test_a_nodename_of_blanks_is_passed_over_and_told() -> None:
    chosen = choose(NODENAME="  ", stored="node1", host="node1")
    assert (chosen.name, chosen.source) == ("node1", "file")
    [warning] = warnings(chosen)
    assert "NODENAME" in warning


@pytest.mark.parametrize(
    ("host", "told"),
    [("node9", True), ("node1", False), ("node1.example.com", False), ("NODE1", False), ("localhost", False)],
)
def test_a_stored_name_on_a_host_of_another_name_may_come_from_a_copied_disk(host: str, told: bool) -> None:
    chosen = choose(stored="node1", host=host)
    assert chosen.name == "node1"
    notes = [message.text for message in chosen.messages if "copied" in message.text]
    assert len(notes) == told
    assert all(host in note and FILE in note for note in notes)


TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["node1", "Node1", "localhost", " a.b ", "$(X)", "10.0.0.1"]))


@given(st.dictionaries(st.sampled_from(["NODENAME", "HOSTNAME"]), TEXTS), st.none() | TEXTS, TEXTS)
def test_whatever_is_said_a_name_is_valid_or_refused(
    environment: dict[str, str], stored: str | None, host: str
) -> None:
    chosen = choose_name(environment, stored, host, FILE)
    if chosen.problems:
        assert all(problem.what and problem.why and problem.fix for problem in chosen.problems)
    else:
        assert Name.parse(chosen.name) == chosen.name
        assert Message("info", f"Determined node name: {chosen.name}") in chosen.messages
