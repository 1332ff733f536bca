"""What BIRD says on its control socket, read into values.

The texts in `said_by_bird` were taken from BIRD 2.0.12, those named v1 from BIRD 1.6.8, byte for byte.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from ipaddress import IPv4Address, ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.bgp.replies import (
    LINE_MAX,
    BirdGarbled,
    BirdRefused,
    BirdStatus,
    Line,
    Protocol,
    Reply,
    ReplyReader,
    configured_in,
    protocols_in,
    sessions_in,
    status_in,
    value_in,
)
from tortie.bgp.reply_details import Timer, details_in
from tortie.bgp.reply_routes import BirdRoute, Gateway, routes_in

SAID = Path(__file__).parent / "said_by_bird"
ALL = sorted(path.stem for path in SAID.glob("*.txt"))


def said(name: str) -> bytes:
    return (SAID / f"{name}.txt").read_bytes()


def read(text: bytes | str) -> Reply:
    reader = ReplyReader()
    reply = reader.feed(text.encode() if isinstance(text, str) else text)
    assert reply is not None
    assert reader.idle
    return reply


# Putting replies together


def test_codes_carry_over_to_lines_that_begin_with_a_blank() -> None:
    reply = read("1000-BIRD 2.0.12\n1011-Router ID is 10.0.0.1\n  indented\n0013 Daemon is up and running\n")
    assert reply.lines == (
        Line(1000, "BIRD 2.0.12"),
        Line(1011, "Router ID is 10.0.0.1"),
        Line(1011, " indented"),
        Line(13, "Daemon is up and running"),
    )
    assert (reply.code, reply.message, reply.refused) == (13, "Daemon is up and running", False)


def test_what_was_not_asked_for_belongs_to_no_reply() -> None:
    reader = ReplyReader()
    assert reader.feed(b"+Config timeout expired, starting undo\n") is None
    assert reader.idle
    assert reader.feed(
        b"0002-Reading configuration from a\n+Reconfiguring\n+Reconfigured\n0003 Reconfigured\n"
    ) == Reply((Line(2, "Reading configuration from a"), Line(3, "Reconfigured")))


def test_replies_that_came_together_are_given_one_by_one() -> None:
    reader = ReplyReader()
    first = reader.feed(b"0001 BIRD 2.0.12 ready.\n0016 Access restricted\n0023 abc\n00")
    assert first is not None
    assert first.code == 1
    assert [reply.code if (reply := reader.feed(b"")) else None for _ in range(3)] == [16, 23, None]
    assert not reader.idle
    assert reader.feed(b"00 \n") == Reply((Line(0, ""),))


@given(st.data())
def test_wherever_the_stream_is_cut_the_replies_are_the_same(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=4))
    stream = b"".join(said(name) for name in names)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    reader = ReplyReader()
    replies = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reply = reader.feed(stream[start:end])
        while reply:
            replies.append(reply)
            reply = reader.feed(b"")
    assert replies == [read(said(name)) for name in names]
    assert reader.idle


@given(st.binary(max_size=300), st.integers(1, 300))
def test_any_bytes_are_a_reply_or_not_and_never_something_worse(stream: bytes, step: int) -> None:
    reader = ReplyReader()
    with suppress(BirdGarbled):
        for start in range(0, len(stream), step):
            reply = reader.feed(stream[start : start + step])
            assert reply is None or reply.lines


@given(st.sampled_from(ALL), st.data())
def test_a_damaged_reply_is_read_or_refused_and_never_something_worse(name: str, data: st.DataObject) -> None:
    text = bytearray(said(name))
    for _ in range(data.draw(st.integers(1, 5))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    reply = None
    with suppress(BirdGarbled):
        reply = ReplyReader().feed(bytes(text))
    for parse in (status_in, protocols_in, sessions_in, details_in, routes_in, configured_in, value_in):
        with suppress(BirdGarbled, BirdRefused):
            assert reply is None or parse(reply) is not None


@pytest.mark.parametrize(
    "text",
    ["hello\n", " nothing before\n", "12-short\n", "1234\n", "12345 long\n", "HTTP/1.1 400 Bad Request\r\n", "\n"],
)
def test_what_is_no_reply_is_shown(text: str) -> None:
    with pytest.raises(BirdGarbled) as caught:
        ReplyReader().feed(text.encode())
    assert caught.value.what == "unexpected output line from BIRD"
    assert caught.value.why == f"it says: {text.rstrip(chr(10)).replace(chr(13), '?')}"


def test_whoever_talks_without_end_is_not_listened_to() -> None:
    with pytest.raises(BirdGarbled, match="a line without an end"):
        ReplyReader().feed(b"0" * (LINE_MAX + 1))
    with pytest.raises(BirdGarbled, match="longer than 1000 letters"):
        ReplyReader(reply_max=1000).feed(b"1007-a line of many\n" * 100)


def test_the_bound_is_for_one_reply_and_not_for_all() -> None:
    reader = ReplyReader(reply_max=100)
    for _ in range(100):
        assert reader.feed(b"0000 fine\n") == Reply((Line(0, "fine"),))


def test_letters_that_are_none_do_no_harm() -> None:
    assert read(b"0023 a\xff\xfeb\n").message == "a��b"


# show status


def test_the_status_of_bird() -> None:
    assert status_in(read(said("status"))) == BirdStatus(
        "2.0.12",
        IPv4Address("10.0.0.1"),
        "2026-11-16 04:11:22.987",
        "2026-11-16 04:11:21.608",
        "2026-11-16 04:11:21.608",
    )


def test_a_graceful_restart_that_is_not_over() -> None:
    status = status_in(read(said("status-recovering")))
    assert (status.recovering, status.waiting_for, status.wait_left_s, status.state) == (True, 5, 29.049, "up")
    status = status_in(read(said("v1-status-recovering")))
    assert (status.version, status.recovering, status.waiting_for) == ("1.6.8", True, 1)


@pytest.mark.parametrize(
    ("last", "state"), [("Reconfiguration in progress", "reconfiguring"), ("Shutdown in progress", "shutting down")]
)
def test_what_bird_is_about(last: str, state: str) -> None:
    assert status_in(read(f"1000-BIRD v0.3.3+birdv1.6.8\n0013 {last}\n")).state == state


@pytest.mark.parametrize(
    "text",
    [
        "0013 Daemon is up and running\n",
        "1000-BIRD 9\n0013 Daemon is asleep\n",
        "0000 \n",
        "1000-BIRD 2\n1011-Router ID is me\n0013 Daemon is up and running\n",
    ],
)
def test_a_status_that_nobody_knows(text: str) -> None:
    with pytest.raises(BirdGarbled):
        status_in(read(text))


# show protocols


def test_the_table_of_protocols() -> None:
    protocols = protocols_in(read(said("protocols")))
    assert [protocol.name for protocol in protocols[:5]] == ["device1", "direct1", "k4", "k6", "aggr"]
    assert protocols[2] == Protocol("k4", "Kernel", "master4", "up", "2026-11-16T03:55:40", "")
    assert protocols[5] == Protocol("Mesh_10_0_0_2", "BGP", "---", "up", "2026-11-16T03:55:42", "Established")


def test_sessions_as_calico_names_them() -> None:
    sessions = sessions_in(read(said("protocols-failing")))
    told = [(each.name, each.kind, str(each.peer), each.port) for each in sessions]
    assert told == [
        ("Mesh_10_0_0_2", "mesh", "10.0.0.2", None),
        ("Mesh_10_0_0_3", "mesh", "10.0.0.3", None),
        ("Node_10_0_0_4", "node", "10.0.0.4", None),
        ("Global_10_0_0_2_port_1790", "global", "10.0.0.2", 1790),
        ("Mesh_fd00__2", "mesh", "fd00::2", None),
    ]
    assert [(each.state, each.bgp_state, each.error) for each in sessions] == [
        ("start", "Idle", "Received: Bad peer AS"),
        ("start", "Passive", ""),
        ("down", "Down", ""),
        ("start", "Active", "Socket: Connection refused"),
        ("start", "Active", "Socket: Connection refused"),
    ]
    assert sessions[0].info == "Idle Received: Bad peer AS"
    assert not any(each.established for each in sessions)


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("protocols", "2026-11-16T03:55:42"),
        ("protocols-default", "03:55:42.630"),
        ("protocols-iso-long", "2026-11-16 03:55:42"),
    ],
)
def test_any_format_of_times(name: str, since: str) -> None:
    sessions = {each.name: each for each in sessions_in(read(said(name)))}
    assert sessions["Mesh_10_0_0_2"].since == since
    assert sessions["Mesh_10_0_0_2"].established
    assert sessions["Node_10_0_0_4"].error == "Socket: No route to host"


def test_the_table_of_bird_1_6() -> None:
    sessions = sessions_in(read(said("v1-protocols")))
    assert [(each.name, each.state, each.since, each.info) for each in sessions] == [
        ("Mesh_10_0_0_1", "wait", "03:56:12", "Established"),
        ("Node_10_0_0_9", "start", "03:56:10", "Active Socket: No route to host"),
    ]
    assert sessions[0].established


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("Mesh_10_0_0_2 BGP      master   up     2016-11-21  Established   ", ("2016-11-21", "up", "Established", "")),
        (
            "Mesh_10_0_0_2 BGP      master   start  18:24:27    Active        Socket: Connection reset by peer",
            ("18:24:27", "start", "Active", "Socket: Connection reset by peer"),
        ),
        (
            "Mesh_10_0_0_2 BGP      master   down   18:24:27    Automatic shutdown: Route limit exceeded",
            ("18:24:27", "down", "Down", "Automatic shutdown: Route limit exceeded"),
        ),
        (
            "Mesh_10_0_0_2 BGP        ---        stop   Nov 16 18:24  Close         ",
            ("Nov 16 18:24", "stop", "Close", ""),
        ),
    ],
)
def test_rows_of_all_times(row: str, shown: tuple[str, str, str, str]) -> None:
    (session,) = sessions_in(read(f"2002-name     proto    table    state  since       info\n1002-{row}\n0000 \n"))
    assert (session.since, session.state, session.bgp_state, session.error) == shown


def test_a_name_that_only_looks_like_calicos() -> None:
    rows = "1002-Node_upstream BGP --- up 18:24  Established\n Mesh_10_0_0_9 Pipe --- up 18:24  => t\n"
    (session,) = sessions_in(read(f"2002-Name Proto Table State Since Info\n{rows}0000 \n"))
    assert (session.name, session.peer) == ("Node_upstream", None)


@pytest.mark.parametrize(
    ("peer", "name"),
    [("::1", "Mesh___1"), ("fd00:1:2:3:4:5:6:7", "Mesh_fd00_1_2_3_4_5_6_7"), ("1.2.3.4", "Mesh_1_2_3_4")],
)
def test_addresses_are_read_back_from_names(peer: str, name: str) -> None:
    reply = read(f"2002-Name Proto Table State Since Info\n1002-{name} BGP --- up 18:24  Established\n0000 \n")
    assert sessions_in(reply)[0].peer == ip_address(peer)


def test_no_protocol_of_that_name() -> None:
    reply = read(said("protocols-none"))
    assert (protocols_in(reply), sessions_in(reply), details_in(reply)) == ((), (), ())


def test_a_table_that_calicoctl_would_not_know_either() -> None:
    with pytest.raises(BirdGarbled) as caught:
        protocols_in(read("2002-Name Kind State\n1002-a b c\n0000 \n"))
    assert caught.value.what == "unknown BIRD table output format"
    with pytest.raises(BirdGarbled, match="unexpected output line from BIRD"):
        protocols_in(read("2002-Name Proto Table State Since Info\n1005-a b c\n0000 \n"))
    with pytest.raises(BirdGarbled, match="it says: a b c"):
        protocols_in(read("2002-Name Proto Table State Since Info\n1002-a b c\n0000 \n"))


def test_a_line_that_bird_could_not_print_takes_no_other_with_it() -> None:
    rows = "8000-<line overflow>\n1002-Mesh_10_0_0_2 BGP --- up 18:24  Established\n"
    assert len(sessions_in(read(f"2002-Name Proto Table State Since Info\n{rows}0000 \n"))) == 1


# show protocols all


def test_details_of_an_established_session() -> None:
    details = {each.protocol.name: each for each in details_in(read(said("details")))}
    assert len(details) == 10
    mesh = details["Mesh_10_0_0_2"]
    assert (mesh.bgp_state, mesh.neighbour, mesh.neighbour_as, mesh.local_as) == (
        "Established",
        ip_address("10.0.0.2"),
        64512,
        64512,
    )
    assert (mesh.neighbour_id, mesh.source, mesh.session) == (
        "10.0.0.2",
        ip_address("10.0.0.1"),
        "internal multihop AS4",
    )
    assert mesh.hold is not None
    assert mesh.hold.of_s == 240
    assert (mesh.imported, mesh.exported, mesh.restarting, mesh.last_error) == (3, 5, False, "")
    (channel,) = mesh.channels
    assert (channel.name, channel.state, channel.table, channel.preferred) == ("ipv4", "UP", "master4", 2)
    assert details["Mesh_10_0_0_3"].channels[0].recovering
    assert details["device1"].channels == ()
    kernel = details["k4"]
    assert (kernel.imported, kernel.exported, kernel.channels[0].recovering) == (1, 0, True)
    assert details["direct1"].channels[1].name == "ipv6"


def test_a_neighbour_that_restarts_gracefully() -> None:
    mesh, mesh6 = details_in(read(said("details-restarting")))
    assert (mesh.restarting, mesh.restart, mesh.last_error) == (True, Timer(118.848), "Socket: Connection refused")
    assert (mesh.imported, mesh.channels[0].neighbour_restart) == (3, "Regular")
    assert (mesh6.restarting, mesh6.neighbour) == (True, ip_address("fd00::2"))


def test_a_neighbour_that_was_taken_down_with_a_word() -> None:
    mesh, mesh6 = details_in(read(said("details-failing")))
    assert (mesh.last_error, mesh.message) == ("Received: Bad peer AS", "")
    assert (mesh6.bgp_state, mesh6.message) == ("Active", "maintenance at noon")
    (down,) = details_in(read(said("details-down")))
    assert (down.protocol.state, down.bgp_state, down.message) == ("down", "Down", "maintenance at noon")


def test_details_of_bird_1_6() -> None:
    details = {each.protocol.name: each for each in details_in(read(said("v1-details")))}
    mesh = details["Mesh_10_0_0_1"]
    assert (mesh.bgp_state, mesh.neighbour, mesh.neighbour_as) == ("Established", ip_address("10.0.0.1"), 64512)
    assert mesh.hold is not None
    assert mesh.hold.of_s == 240
    (channel,) = mesh.channels
    assert (channel.name, channel.table, channel.imported, channel.recovering) == ("", "master", 5, True)
    assert details["Node_10_0_0_9"].last_error == "Socket: No route to host"


def test_what_filters_refused_is_counted_where_bird_keeps_it() -> None:
    head = "2002-Name Proto Table State Since Info\n1002-Mesh_10_0_0_2 BGP --- up 18:24  Established\n"
    text = "1006-  Channel ipv4\n     Routes:         3 imported, 7 filtered, 5 exported, 2 preferred\n"
    (mesh,) = details_in(read(f"{head}{text}0000 \n"))
    assert (mesh.channels[0].imported, mesh.channels[0].filtered, mesh.channels[0].exported) == (3, 7, 5)


# show route


def test_routes_of_all_kinds() -> None:
    routes = routes_in(read(said("routes")))
    by_network = {str(route.network): route for route in reversed(routes)}
    assert by_network["10.244.1.0/26"] == BirdRoute(
        "master4",
        ip_network("10.244.1.0/26"),
        "unicast",
        "Mesh_10_0_0_2",
        (Gateway("eth0", ip_address("10.0.0.2")),),
        preferred=True,
        since="03:55:42.658",
        preference=100,
    )
    kinds = {network: route.kind for network, route in by_network.items() if not route.leads_somewhere}
    assert kinds == {"10.244.0.0/26": "blackhole", "10.244.9.0/26": "unreachable", "10.244.10.0/26": "prohibit"}
    assert by_network["172.16.0.0/24"].gateways == (
        Gateway("eth0", ip_address("10.0.0.2")),
        Gateway("eth0", ip_address("10.0.0.9")),
    )
    assert by_network["10.0.0.0/24"].gateways == (Gateway("eth0"),)
    assert by_network["10.244.77.0/24"].learnt_from == ip_address("10.0.0.2")
    assert (by_network["fd10:1::/122"].table, by_network["fd10:1::/122"].protocol) == ("master6", "Mesh_fd00__2")


def test_several_routes_to_one_network() -> None:
    routes = [route for route in routes_in(read(said("routes"))) if route.network == ip_network("10.0.0.0/24")]
    assert [(route.protocol, route.preferred) for route in routes] == [("direct1", True), ("Mesh_10_0_0_2", False)]


def test_routes_are_the_same_with_details_and_in_any_format_of_times() -> None:
    plain = routes_in(read(said("routes")))
    assert routes_in(read(said("routes-all"))) == plain
    primary = [route._replace(since="") for route in plain if route.preferred]
    for name in ("routes-default", "routes-iso-long"):
        assert [route._replace(since="") for route in routes_in(read(said(name)))] == primary
    assert routes_in(read(said("routes-iso-long")))[0].since == "2026-11-16 03:55:42"


def test_routes_of_bird_1_6() -> None:
    routes = {str(route.network): route for route in reversed(routes_in(read(said("v1-routes"))))}
    assert routes["10.0.0.0/24"].gateways == (Gateway("eth0"),)
    assert routes["10.244.0.0/26"].gateways == (Gateway("eth0", ip_address("10.0.0.1")),)
    assert routes["10.244.4.0/24"].kind == "unicast"
    assert routes["10.244.4.0/24"].gateways == (
        Gateway("eth0", ip_address("10.0.0.1"), 2),
        Gateway("eth0", ip_address("10.0.0.7"), 1),
    )
    assert routes["10.244.3.0/24"].kind == "prohibit"


def test_a_route_that_the_kernel_did_not_take_and_one_beyond_the_link() -> None:
    rows = "1007-Table master4:\n 10.1.0.0/26          unicast [Mesh_10_0_0_2 18:24] ! (100/?) [i]\n"
    (route,) = routes_in(read(f"{rows} \tvia 10.0.0.2 on vxlan.calico onlink\n0000 \n"))
    assert (route.preferred, route.not_in_kernel, route.preference) == (True, True, 100)
    assert route.gateways == (Gateway("vxlan.calico", ip_address("10.0.0.2"), onlink=True),)


def test_no_such_route() -> None:
    assert routes_in(read(said("routes-none"))) == ()
    assert routes_in(read("0000 \n")) == ()


@pytest.mark.parametrize(
    "row",
    [
        "1007-                     unicast [Mesh_10_0_0_2 18:24] * (100)",
        "1007-flow4 { dst 10.0.0.0/8; } unicast [a 18:24] * (100)",
        "1007-10.0.0.0/8 somewhere",
        "1007-10.0.0.0/8  unicast [a 18:24] * (100)\n \tthrough the wall",
        "1007-10.0.0.0/8  unicast [a 18:24] * (100)\n \tvia nowhere on eth0",
        "1009-10.0.0.0/8 via 10.0.0.1",
    ],
)
def test_routes_that_nobody_knows(row: str) -> None:
    with pytest.raises(BirdGarbled):
        routes_in(read(f"{row}\n0000 \n"))


# configure, eval


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (said("configured"), "reconfigured"),
        (said("in-progress"), "in progress"),
        (said("checked"), "valid"),
        (b"0002-Reading\n0005 Reconfiguration already in progress, queueing new config\n", "queued"),
        (b"0002-Reading\n0006 Reconfiguration ignored, shutting down\n", "ignored"),
        (b"0021-Undo requested\n0017 Reconfiguration already in progress, removing queued config\n", "unqueued"),
        (b"0018 Reconfiguration confirmed\n", "confirmed"),
        (b"0021-Undo requested\n0019 Nothing to do\n", "unchanged"),
    ],
)
def test_how_a_configuration_was_taken(text: bytes, outcome: str) -> None:
    assert configured_in(read(text)).outcome == outcome


def test_a_configuration_that_is_refused_says_where() -> None:
    refused = configured_in(read(said("refused")))
    assert refused.outcome == "refused"
    assert (refused.file, refused.line, refused.column) == ("a.conf", 6, 10)
    assert refused.message == "a.conf:6:10 syntax error, unexpected CF_SYM_UNDEFINED"
    missing = configured_in(read(said("no-file")))
    assert (missing.outcome, missing.file, missing.line) == ("refused", "nosuch.conf", 0)


def test_refusals_are_errors_where_an_answer_was_expected() -> None:
    denied = read("8007 Access denied\n")
    for parse in (status_in, protocols_in, sessions_in, details_in, routes_in, configured_in, value_in):
        with pytest.raises(BirdRefused) as caught:
            parse(denied)
        assert (caught.value.number, caught.value.what) == (8007, "BIRD refuses: Access denied")


def test_values_of_expressions() -> None:
    assert value_in(read(said("value"))) == "abc"
    with pytest.raises(BirdRefused):
        value_in(read(said("value-undefined")))
    with pytest.raises(BirdGarbled):
        value_in(read("0000 \n"))
    with pytest.raises(BirdGarbled):
        configured_in(read("0000 \n"))


@pytest.mark.parametrize("module", ["replies", "control", "reply_details", "reply_routes"])
def test_a_short_command_can_afford_it(module: str) -> None:
    code = f"import sys, tortie.bgp.{module}; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"asyncio", "msgspec", "yaml", "dataclasses", "inspect", "subprocess", "socket"}
