"""What a session can be told, seen from its other end: passwords, TTL, ports, reflectors, gateways, other AS."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from tests.support.bird_plans import addresses, networks, plan, session
from tests.support.birds import Bird, eventually, kernel_routes, running
from tests.support.netns import Namespace

from tortie.bgp.bird_text import bird_text
from tortie.bgp.plan import Advertisement, Plan, Pool, Secret

POOLS = (Pool("default", networks("10.244.0.0/16")[0]),)
REFUSED_S = 1.0  # long enough for a packet between two namespaces, and not answered at all


@pytest.fixture
def machines() -> Iterator[list[Namespace]]:
    """10.77.0.1, .2 and .3, on the ports of one switch."""
    with contextlib.ExitStack() as stack:
        switch, *hosts = (stack.enter_context(Namespace("peer")) for _ in range(4))
        for number, host in enumerate(hosts, 1):
            host.veth("eth0", switch, f"p{number}")
            host.ip("addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
        switch.bridge("br0", "p1", "p2", "p3")
        yield hosts


def text_of(number: int, *sessions: Any, **fields: Any) -> str:
    """The configuration of 10.77.0.<number>, which has one block."""
    given: dict[str, Any] = {
        "node": f"node-{number}",
        "router_id": IPv4Address(f"10.77.0.{number}"),
        "networks": addresses(f"10.77.0.{number}/24"),
        "blocks": networks(f"10.244.{number}.0/26"),
        "pools": POOLS,
    }
    return bird_text(plan(*sessions, **{**given, **fields}))


def speaker(local: str, neighbour: str, *options: str, routes: str = "", export: str = "all") -> str:
    """A router that somebody else has configured."""
    return f"""
    log stderr all;
    router id {local.split()[0]};
    protocol device {{ scan time 1; }}
    protocol direct {{ ipv4; }}
    protocol static {{ ipv4; {routes} }}
    protocol bgp node {{
      connect delay time 1; connect retry time 1; error wait time 1, 2;
      local {local}; neighbor {neighbour}; {" ".join(f"{option};" for option in options)}
      ipv4 {{ import all; export {export}; }};
    }}
    """


def can_connect(address: str, port: int, key: bytes = b"") -> bool:
    """Whether somebody at the address takes a TCP connection that is signed with this key."""
    with socket.socket() as client:
        client.settimeout(REFUSED_S)
        if key:
            # struct tcp_md5sig: a socket address in 128 bytes, flags, lengths, and room for 80 bytes of key
            peer = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(address))
            option = peer + struct.pack("=BBHi80s", 0, 0, len(key), 0, key)
            client.setsockopt(socket.IPPROTO_TCP, 14, option)  # TCP_MD5SIG
        try:
            client.connect((address, port))
        except OSError:
            return False
        return True


@pytest.mark.parametrize("password", ["plain", r"back\slash\n", "é'; } # /* */ $x %s", "x" * 80])
def test_the_password_on_the_wire_is_the_one_of_the_secret(
    machines: list[Namespace], tmp_path: Path, password: str
) -> None:
    here, there, _ = machines
    peer = session("10.77.0.2", source="10.77.0.1", passive=True, password=Secret(password))
    with running(here, tmp_path / "node", text_of(1, peer)):
        eventually(lambda: there.call(can_connect, "10.77.0.1", 179, key=password.encode()), "the right password works")
        assert not there.call(can_connect, "10.77.0.1", 179, key=b"wrong")
        assert not there.call(can_connect, "10.77.0.1", 179)


def test_ttl_security_admits_neighbours_only(machines: list[Namespace], tmp_path: Path) -> None:
    here, there, _ = machines
    peer = session("10.77.0.2", kind="global", peer_as=65001, source="10.77.0.1", passive=True, ttl_security=1)
    ends = "10.77.0.2 as 65001", "10.77.0.1 as 64512"
    near, far = speaker(*ends, "ttl security on", "multihop 1"), speaker(*ends, "multihop 64")
    with running(here, tmp_path / "node", text_of(1, peer)) as node, running(there, tmp_path / "tor", near) as tor:
        eventually(node.established, "the session is up")
        tor.configure(far)
        # It hears who we are and waits for more, because what it says itself is thrown away.
        eventually(lambda: tor.states()["node"].startswith("OpenConfirm"), "the one from far away has called")
        assert not node.established()


def test_bind_mode_listens_on_the_nodes_address_and_port_only(machines: list[Namespace], tmp_path: Path) -> None:
    here, there, _ = machines
    for bound, expected in ((False, {"0.0.0.0:1790"}), (True, {"10.77.0.1:1790"})):
        peers = session("10.77.0.2", peer_port=1790), session("10.77.0.3", source="10.77.0.1", peer_port=1790)
        text = text_of(1, *peers, listen_port=1790, bind_to_node=bound)
        other = text_of(2, session("10.77.0.1", peer_port=1790), listen_port=1790)
        with running(here, tmp_path / f"node-{bound}", text) as node:
            with running(there, tmp_path / f"other-{bound}", other) as bird:
                eventually(bird.established, "the session over the odd port is up")
            listening = here.run("ss", "-Hltn4").stdout
            assert {line.split()[3] for line in listening.splitlines()} == expected
            assert node.states().keys() == {"Mesh_10_77_0_2_port_1790", "Mesh_10_77_0_3_port_1790"}


@pytest.mark.parametrize(("mode", "gateway"), [("auto", "10.77.0.3"), ("self", "10.77.0.1")])
def test_a_route_reflector_tells_its_clients_of_each_other(
    machines: list[Namespace], tmp_path: Path, mode: str, gateway: str
) -> None:
    common: dict[str, Any] = {"kind": "node", "source": "10.77.0.1", "reflects_as": IPv4Address("244.0.0.1")}
    clients = [session(f"10.77.0.{number}", next_hop=mode, **common) for number in (2, 3)]
    texts = [text_of(1, *clients, reflects=True)]
    texts += [text_of(number, session("10.77.0.1", kind="node", source=f"10.77.0.{number}")) for number in (2, 3)]
    with contextlib.ExitStack() as stack:
        birds = [
            stack.enter_context(running(machine, tmp_path / str(number), text))
            for number, (machine, text) in enumerate(zip(machines, texts, strict=True))
        ]
        client = birds[1].namespace
        # They differ in their attributes, so each comes in a message of its own.
        both = {"10.244.1.0/26", "10.244.3.0/26"}
        eventually(lambda: kernel_routes(client).keys() >= both, "the reflector's and the other client's block arrive")
        assert kernel_routes(client)["10.244.3.0/26"]["gateway"] == gateway
        assert kernel_routes(client)["10.244.1.0/26"]["gateway"] == "10.77.0.1"
        assert "BGP.cluster_list: 244.0.0.1" in birds[1].ask("show", "route", "10.244.3.0/26", "all")


def test_without_a_cluster_id_nothing_is_reflected(machines: list[Namespace], tmp_path: Path) -> None:
    texts = [text_of(1, session("10.77.0.2", source="10.77.0.1"), session("10.77.0.3", source="10.77.0.1"))]
    texts += [text_of(number, session("10.77.0.1", source=f"10.77.0.{number}")) for number in (2, 3)]
    with contextlib.ExitStack() as stack:
        birds = [
            stack.enter_context(running(machine, tmp_path / str(number), text))
            for number, (machine, text) in enumerate(zip(machines, texts, strict=True))
        ]
        for bird in birds:
            eventually(bird.established, "the sessions are up")
        eventually(lambda: len(birds[0].routes("protocol", "Mesh_10_77_0_3")) == 1, "the middle one knows the block")
        assert birds[0].routes("export", "Mesh_10_77_0_2") == {"10.244.1.0/26"}


def told(bird: Bird, network: str) -> dict[str, str]:
    return dict(re.findall(r"BGP\.(\w+): (.*)", bird.ask("show", "route", network, "all", "protocol", "node")))


def test_another_as_gets_communities_and_keeps_its_own_preference(machines: list[Namespace], tmp_path: Path) -> None:
    here, there, _ = machines
    peer = session("10.77.0.2", kind="global", peer_as=65001, source="10.77.0.1")
    text = text_of(
        1,
        peer,
        blocks=networks("10.244.1.0/26", "10.244.9.0/26"),
        services=networks("10.96.0.0/12"),
        advertisements=(
            Advertisement(networks("10.244.1.0/24")[0], ("65000:100", "4200000000:1:2")),
            Advertisement(networks("10.96.0.0/12")[0], ("65000:200",)),
        ),
    )
    tor = speaker("10.77.0.2 as 65001", "10.77.0.1 as 64512", "multihop", routes="route 198.51.100.0/24 blackhole;")
    with running(here, tmp_path / "node", text), running(there, tmp_path / "tor", tor) as router:
        expected = {"10.244.1.0/26", "10.244.9.0/26", "10.96.0.0/12"}
        eventually(lambda: router.routes("protocol", "node") == expected, "the routes arrive")
        block, other, services = (told(router, network) for network in sorted(expected))
        assert block["community"] == "(65000,100)"
        assert block["large_community"] == "(4200000000, 1, 2)"
        assert (block["as_path"], block["next_hop"], block["local_pref"]) == ("64512", "10.77.0.1", "100")
        assert "community" not in other
        assert services["community"] == "(65000,200)"
        eventually(lambda: "198.51.100.0/24" in kernel_routes(here), "a route of the router arrives")
        learnt = kernel_routes(here)["198.51.100.0/24"]
        assert (learnt["gateway"], learnt["metric"]) == ("10.77.0.2", 1024)


def test_our_own_as_in_a_path_is_accepted_as_often_as_allowed(machines: list[Namespace], tmp_path: Path) -> None:
    here, there, _ = machines
    tor = speaker(
        "10.77.0.2 as 65001",
        "10.77.0.1 as 64512",
        "multihop",
        routes="route 198.51.100.0/24 blackhole; route 203.0.113.0/24 blackhole;",
        export="filter { if net = 203.0.113.0/24 then bgp_path.prepend(64512); accept; }",
    )
    common: dict[str, Any] = {"kind": "global", "peer_as": 65001, "source": "10.77.0.1"}
    allowing = text_of(1, session("10.77.0.2", allowed_local_as=1, **common))
    with running(here, tmp_path / "node", allowing) as node, running(there, tmp_path / "tor", tor):
        both = {"198.51.100.0/24", "203.0.113.0/24"}
        eventually(lambda: kernel_routes(here).keys() >= both, "both routes arrive")
        node.configure(text_of(1, session("10.77.0.2", **common)))
        eventually(
            lambda: node.established() and kernel_routes(here).keys() & both == {"198.51.100.0/24"},
            "only the route without our own AS in its path is left",
        )


def test_a_neighbour_behind_a_gateway_is_reached_over_it(machines: list[Namespace], tmp_path: Path) -> None:
    here, there, _ = machines
    there.ip("addr", "add", "192.0.2.1/32", "dev", "lo")
    far = session("192.0.2.1", kind="node", peer_as=65001, source="10.77.0.1", reachable_by=ip_address("10.77.0.2"))
    tor = speaker("192.0.2.1 as 65001", "10.77.0.1 as 64512", "multihop", routes="route 198.51.100.0/24 blackhole;")
    with running(here, tmp_path / "node", text_of(1, far)) as node, running(there, tmp_path / "tor", tor):
        eventually(node.established, "the session is up")
        assert kernel_routes(here)["192.0.2.1"]["gateway"] == "10.77.0.2"


@pytest.mark.parametrize(("mode", "expected"), [("auto", "10.77.0.1"), ("self", "10.77.0.1"), ("keep", "10.77.0.3")])
def test_the_next_hop_is_the_one_that_is_asked_for(
    machines: list[Namespace], tmp_path: Path, mode: str, expected: str
) -> None:
    """A block of the third node, told on to a router of another AS on the same network."""
    here, there, third = machines
    node: Plan = plan(
        session("10.77.0.2", kind="global", peer_as=65001, source="10.77.0.1", next_hop=mode),
        session("10.77.0.3", source="10.77.0.1"),
        pools=POOLS,
    )
    tor = speaker("10.77.0.2 as 65001", "10.77.0.1 as 64512", "multihop")
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(here, tmp_path / "node", bird_text(node)))
        router = stack.enter_context(running(there, tmp_path / "tor", tor))
        stack.enter_context(running(third, tmp_path / "third", text_of(3, session("10.77.0.1", source="10.77.0.3"))))
        eventually(lambda: told(router, "10.244.3.0/26"), "the third node's block is told on")
        assert told(router, "10.244.3.0/26")["next_hop"] == expected


def test_timers_are_those_that_are_asked_for(machines: list[Namespace], tmp_path: Path) -> None:
    here, there, _ = machines
    peer = session("10.77.0.2", source="10.77.0.1", restart_time_s=300, keepalive_s=60)
    other = session("10.77.0.1", source="10.77.0.2")
    with running(here, tmp_path / "1", text_of(1, peer)), running(there, tmp_path / "2", text_of(2, other)) as bird:
        eventually(bird.established, "the session is up")
        said = bird.ask("show", "protocols", "all", "Mesh_10_77_0_1")
        assert "Restart time: 300" in said.partition("Neighbor capabilities")[2]
        assert re.search(r"Hold timer: +[\d.]+/90", said)
