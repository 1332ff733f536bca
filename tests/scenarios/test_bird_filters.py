"""Every kind of rule of a BGPFilter in the real BIRD: which routes it touches, and what it does to them.

The neighbour tells the same routes over two sessions, one inside our AS and one from another.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.support.bird_plans import networks, plan, rules, session
from tests.support.birds import Bird, eventually, running
from tests.support.netns import Namespace

from tortie.bgp.bird_text import bird_text
from tortie.bgp.plan import Plan, Pool

OUTSIDE, INSIDE = "Global_10_77_0_2", "Node_10_77_0_3"  # sessions with AS 65001 and with our own
BLOCK = "10.244.0.0/26"

WIDE, WHOLE, HALF, TINY = "10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/24", "10.1.1.0/28"
MARKED, LARGELY, LONG_WAY, URGENT = "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16", "10.5.0.0/16"
SIX = "fd01::/32"
ALL = {WIDE, WHOLE, HALF, TINY, MARKED, LARGELY, LONG_WAY, URGENT}

NEIGHBOUR = f"""
log stderr all;
router id 10.77.0.2;
protocol device {{ }}
protocol static {{ ipv4; {" ".join(f"route {network} blackhole;" for network in sorted(ALL))} }}
protocol static {{ ipv6; route {SIX} blackhole; }}
function marked() {{
  if net = {MARKED} then bgp_community.add((65000, 100));
  if net = {LARGELY} then bgp_large_community.add((4200000000, 1, 2));
  if net = {LONG_WAY} then bgp_path.prepend(65002);
}}
template bgp speaker {{
  multihop; connect delay time 1; connect retry time 1; error wait time 1, 2;
}}
protocol bgp outside from speaker {{
  local 10.77.0.2 as 65001; neighbor 10.77.0.4 as 64512;
  ipv4 {{ import all; export filter {{ if source != RTS_STATIC then reject; marked(); accept; }}; }};
}}
protocol bgp inside from speaker {{
  local 10.77.0.3 as 64512; neighbor 10.77.0.1 as 64512;
  ipv4 {{ import all; export filter {{
    if source != RTS_STATIC then reject;
    marked();
    if net = {LONG_WAY} then bgp_path.prepend(65001);
    if net = {URGENT} then bgp_local_pref = 2147483135;
    accept;
  }}; }};
}}
protocol bgp six from speaker {{
  local fd77::2 as 65001; neighbor fd77::1 as 64512;
  ipv6 {{ import all; export where source = RTS_STATIC; }};
}}
"""


def plan_with(**lists: list[dict[str, Any]]) -> Plan:
    """A node with a block, whose three sessions have one filter."""
    common: dict[str, Any] = {"filters": ("f",)}
    return plan(
        session("10.77.0.2", kind="global", source="10.77.0.4", peer_as=65001, **common),
        session("10.77.0.3", kind="node", source="10.77.0.1", **common),
        session("fd77::2", kind="global", source="fd77::1", peer_as=65001, **common),
        blocks=networks(BLOCK),
        pools=(Pool("default", networks("10.244.0.0/16")[0]),),
        filters={"f": rules(**lists)},
    )


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bird, Bird]]:
    """Our node, and its neighbour."""
    folder = tmp_path_factory.mktemp("filters")
    with Namespace("filter") as here, Namespace("filter") as there, contextlib.ExitStack() as stack:
        here.veth("eth0", there, "eth0")
        here.batch(
            *(f"addr add 10.77.0.{number}/24 dev eth0" for number in (1, 4)), "addr add fd77::1/64 dev eth0 nodad"
        )
        there.batch(
            *(f"addr add 10.77.0.{number}/24 dev eth0" for number in (2, 3)), "addr add fd77::2/64 dev eth0 nodad"
        )
        node = stack.enter_context(running(here, folder / "node", bird_text(plan_with())))
        neighbour = stack.enter_context(running(there, folder / "neighbour", NEIGHBOUR))
        eventually(node.established, "the sessions with the neighbour")
        eventually(
            lambda: all(node.routes("protocol", name) == ALL for name in (OUTSIDE, INSIDE)), "all routes are told"
        )
        yield node, neighbour


def learnt(node: Bird, neighbour: Bird) -> tuple[set[str], set[str]]:
    """What came from outside and from inside."""
    neighbour.ask("show", "status")  # BIRD may sleep for three seconds before it answers to a refresh
    return node.routes("protocol", OUTSIDE), node.routes("protocol", INSIDE)


def received(node: Bird) -> list[int]:
    """How many routes came in so far, from outside and from inside."""
    told = (node.ask("show", "protocols", "all", name) for name in (OUTSIDE, INSIDE))
    return [int(re.findall(r"Import updates: +(\d+)", text)[0]) for text in told]


def inside(cidr: str, operator: str, **lengths: int) -> dict[str, Any]:
    return {"cidr": cidr, "matchOperator": operator, **({"prefixLength": lengths} if lengths else {})}


@pytest.mark.parametrize(
    ("condition", "touched", "touched_inside"),
    [
        ({}, ALL, ALL),
        (inside(WHOLE, "Equal"), {WHOLE}, {WHOLE}),
        (inside(WHOLE, "NotEqual"), ALL - {WHOLE}, ALL - {WHOLE}),
        (inside(WHOLE, "In"), {WHOLE, HALF, TINY}, {WHOLE, HALF, TINY}),
        (inside(WHOLE, "NotIn"), ALL - {WHOLE, HALF, TINY}, ALL - {WHOLE, HALF, TINY}),
        (inside(WHOLE, "In", min=20, max=24), {HALF}, {HALF}),
        (inside(WHOLE, "In", max=16), {WHOLE}, {WHOLE}),
        (inside(WHOLE, "In", min=4), {WHOLE, HALF, TINY}, {WHOLE, HALF, TINY}),  # not the network around it
        (inside(WHOLE, "NotIn", min=20, max=24), ALL - {HALF}, ALL - {HALF}),
        (inside(WHOLE, "In", min=25, max=20), set(), set()),
        (inside(WHOLE, "NotIn", max=12), ALL, ALL),
        (inside(WHOLE, "Equal", min=17), set(), set()),
        (inside(WHOLE, "Equal", min=16, max=16), {WHOLE}, {WHOLE}),
        (inside(WHOLE, "NotEqual", min=17), ALL, ALL),
        ({"source": "RemotePeers"}, ALL, ALL),
        ({"interface": "eth*"}, ALL, ALL),
        ({"interface": "lo"}, set(), set()),
        ({"peerType": "eBGP"}, ALL, set()),
        ({"peerType": "iBGP"}, set(), ALL),
        ({"communities": {"values": ["65000:100"]}}, {MARKED}, {MARKED}),
        ({"communities": {"values": ["65000:101"]}}, set(), set()),
        ({"communities": {"values": ["4200000000:1:2"]}}, {LARGELY}, {LARGELY}),
        ({"communities": {"values": []}}, set(), set()),
        ({"asPathPrefix": [65001]}, ALL, {LONG_WAY}),
        ({"asPathPrefix": [65001, 65002]}, {LONG_WAY}, {LONG_WAY}),
        ({"asPathPrefix": [65002]}, set(), set()),
        ({"priority": 512}, set(), {URGENT}),
        ({"peerType": "iBGP", "asPathPrefix": [65001], **inside("10.0.0.0/8", "In")}, set(), {LONG_WAY}),
    ],
)
def test_an_import_rule_rejects_what_it_fits_and_nothing_else(
    birds: tuple[Bird, Bird], condition: dict[str, Any], touched: set[str], touched_inside: set[str]
) -> None:
    node, neighbour = birds
    enough = [count + len(ALL) for count in received(node)]
    node.configure(bird_text(plan_with(importV4=[{**condition, "action": "Reject"}])))
    eventually(
        lambda: learnt(node, neighbour) and all(a >= b for a, b in zip(received(node), enough, strict=True)),
        "the neighbour tells all routes again",
    )
    assert learnt(node, neighbour) == (ALL - touched, ALL - touched_inside)
    assert "filters" not in node.log()  # where BIRD tells of errors while a filter runs


def test_the_first_rule_that_fits_decides(birds: tuple[Bird, Bird]) -> None:
    node, neighbour = birds
    listed = [{**inside(HALF, "Equal"), "action": "Accept"}, {**inside(WHOLE, "In"), "action": "Reject"}]
    node.configure(bird_text(plan_with(importV4=listed)))
    eventually(lambda: learnt(node, neighbour)[0] == ALL - {WHOLE, TINY}, "all but two routes")
    node.configure(bird_text(plan_with(importV4=listed[::-1])))
    eventually(lambda: learnt(node, neighbour)[0] == ALL - {WHOLE, HALF, TINY}, "all but three routes")


def test_rules_for_ipv6_touch_ipv6_only(birds: tuple[Bird, Bird]) -> None:
    node, neighbour = birds
    node.configure(bird_text(plan_with(importV6=[{**inside("fd00::/8", "In", max=64), "action": "Reject"}])))
    eventually(lambda: learnt(node, neighbour) == (ALL, ALL), "all routes of IPv4 are here")
    eventually(lambda: node.routes("protocol", "Global_fd77__2") == set(), "the route of IPv6 goes")
    node.configure(bird_text(plan_with()))
    eventually(lambda: learnt(node, neighbour) and node.routes("protocol", "Global_fd77__2") == {SIX}, "it comes back")


OPERATIONS = [
    {"addCommunity": {"value": "65000:7"}},
    {"addCommunity": {"value": "4200000000:8:9"}},
    {"prependASPath": {"prefix": [65007, 65008]}},
    {"setPriority": {"value": 100}},
]


def attributes(bird: Bird, network: str, *words: str) -> dict[str, str]:
    return dict(re.findall(r"BGP\.(\w+): (.*)", bird.ask("show", "route", network, "all", *words)))


def test_operations_on_import_change_the_route(birds: tuple[Bird, Bird]) -> None:
    node, neighbour = birds
    rule = {**inside(MARKED, "Equal"), "action": "Accept", "operations": OPERATIONS}
    node.configure(bird_text(plan_with(importV4=[rule])))
    eventually(
        lambda: (
            learnt(node, neighbour) == (ALL, ALL)
            and "large_community" in attributes(node, MARKED, "protocol", OUTSIDE)  # each session is asked on its own
        ),
        "the rule works",
    )
    found = attributes(node, MARKED, "protocol", OUTSIDE)
    assert found["as_path"] == "65007 65008 65001"
    assert found["community"] == "(65000,100) (65000,7)"
    assert found["large_community"] == "(4200000000, 8, 9)"
    assert found["local_pref"] == str(2**31 - 1 - 100)


def test_a_priority_decides_between_neighbours_and_leaves_nothing_behind(birds: tuple[Bird, Bird]) -> None:
    node, neighbour = birds

    def leads_to(gateway: str) -> bool:
        learnt(node, neighbour)
        return [route["gateway"] for route in node.namespace.json("route", "show", MARKED)] == [gateway]

    rule = {
        "peerType": "eBGP",
        **inside(MARKED, "Equal"),
        "action": "Accept",
        "operations": [{"setPriority": {"value": 512}}],
    }
    for listed, gateway in (([], "10.77.0.3"), ([rule], "10.77.0.2"), ([], "10.77.0.3")):
        node.configure(bird_text(plan_with(importV4=listed)))
        eventually(partial(leads_to, gateway), f"the only route leads to {gateway}")


def test_operations_on_export_are_seen_by_the_neighbour(birds: tuple[Bird, Bird]) -> None:
    node, neighbour = birds
    node.configure(bird_text(plan_with()))
    plain: dict[str, str] = eventually(lambda: attributes(neighbour, BLOCK, "protocol", "outside"), "the block is told")
    assert plain["as_path"] == "64512"
    assert plain["local_pref"] == "100"  # what another AS prefers is its own business
    rule = {**inside(BLOCK, "Equal"), "action": "Accept", "operations": OPERATIONS}
    node.configure(bird_text(plan_with(exportV4=[rule])))
    paths = {"outside": "64512 65007 65008", "inside": "65007 65008"}
    eventually(
        lambda: {name: attributes(neighbour, BLOCK, "protocol", name).get("as_path") for name in paths} == paths,
        "the neighbour sees the longer path",
    )
    for name in paths:
        found = attributes(neighbour, BLOCK, "protocol", name)
        assert (found["community"], found["large_community"]) == ("(65000,7)", "(4200000000, 8, 9)")
    assert attributes(neighbour, BLOCK, "protocol", "inside")["local_pref"] == str(2**31 - 1 - 100)


@pytest.mark.parametrize(
    ("rule", "to", "told"),
    [
        ({**inside(BLOCK, "Equal"), "action": "Reject"}, OUTSIDE, set()),
        ({**inside(WHOLE, "In"), "action": "Reject"}, OUTSIDE, {BLOCK}),
        ({"peerType": "iBGP", "action": "Reject"}, OUTSIDE, {BLOCK}),
        ({"peerType": "eBGP", "action": "Reject"}, OUTSIDE, set()),
        ({"priority": 1024, "action": "Reject"}, OUTSIDE, set()),
        ({"priority": 1023, "action": "Reject"}, OUTSIDE, {BLOCK}),
        ({"interface": "*", "action": "Reject"}, OUTSIDE, {BLOCK}),  # a block that leads nowhere has no interface
        # The shorter way is from inside, but for one; a route does not go back where it came from.
        ({"source": "RemotePeers", "action": "Accept"}, OUTSIDE, {BLOCK, *ALL - {LONG_WAY}}),
        ({"source": "RemotePeers", "action": "Accept"}, INSIDE, {BLOCK, LONG_WAY}),
        ({"source": "RemotePeers", "action": "Reject"}, INSIDE, {BLOCK}),
        ({"communities": {"values": ["65000:100"]}, "action": "Accept"}, OUTSIDE, {BLOCK, MARKED}),
        ({"asPathPrefix": [65001, 65002], "action": "Accept"}, INSIDE, {BLOCK, LONG_WAY}),
        ({"interface": "eth0", **inside(TINY, "Equal"), "action": "Accept"}, OUTSIDE, {BLOCK, TINY}),
        ({"priority": 512, "action": "Accept"}, OUTSIDE, {BLOCK, URGENT}),
    ],
)
def test_an_export_rule_comes_before_what_a_node_tells_otherwise(
    birds: tuple[Bird, Bird], rule: dict[str, Any], to: str, told: set[str]
) -> None:
    node, neighbour = birds
    node.configure(bird_text(plan_with(exportV4=[rule])))
    eventually(lambda: learnt(node, neighbour) == (ALL, ALL), "all routes are here")
    eventually(lambda: node.routes("export", to) == told, f"{told} are told")
    assert "filters" not in node.log()
