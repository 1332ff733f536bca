"""VXLAN devices, routes with all their properties, nftables and news about them, against what `ip` and `nft` say."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from ipaddress import ip_address, ip_network

import pytest
from tests.support.netns import Namespace

from tortie.host.forwarding_events import ForwardingEvents, TableEvents
from tortie.host.netlink import Netlink
from tortie.host.nftables import Table, open_netfilter, read_table
from tortie.host.route_table import BLACKHOLE, THIS_LINK, TableRoute, drop_route, put_route, table_routes
from tortie.host.tunnels import Forwarding, Vxlan, add_vxlan, delete_forwarding, forwardings, set_forwarding, vxlans

pytestmark = pytest.mark.timeout(120)

MAC = "66:01:02:03:04:05"


@pytest.fixture
def host() -> Iterator[Namespace]:
    with Namespace("host") as left, Namespace("other") as right:
        left.veth("eth0", right, "eth0")
        left.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        yield left


def soon() -> float:
    return time.monotonic() + 10


def _make_device() -> dict[str, Vxlan]:
    with Netlink() as kernel:
        parent = socket.if_nametoindex("eth0")
        wanted = Vxlan(4096, 4789, ip_address("10.0.0.1"), parent)
        kernel.request_all([add_vxlan("vxlan.calico", wanted, mac=MAC, mtu=1450)], soon())
        found = vxlans(kernel, soon())
        assert found == {"vxlan.calico": wanted}
        return found


def test_a_device_is_made_as_it_shall_be_and_read_back(host: Namespace) -> None:
    host.call(_make_device)
    told = host.json("link", "show", "vxlan.calico")[0]
    data = told["linkinfo"]["info_data"]
    assert (told["address"], told["mtu"], "UP" in told["flags"]) == (MAC, 1450, True)
    assert (data["id"], data["port"], data["local"], data["link"], data["learning"]) == (
        4096,
        4789,
        "10.0.0.1",
        "eth0",
        False,
    )


def _forward() -> tuple[Forwarding, ...]:
    with Netlink() as kernel:
        index = socket.if_nametoindex("vxlan.calico")
        first = Forwarding(index, "66:00:00:00:00:01", ip_address("10.0.0.2"))
        kernel.request_all([set_forwarding(first), set_forwarding(first._replace(to=ip_address("10.0.0.3")))], soon())
        second = Forwarding(index, "66:00:00:00:00:02", ip_address("10.0.0.4"))
        kernel.request_all([set_forwarding(second), delete_forwarding(second)], soon())
        return forwardings(kernel, soon())


def test_where_a_mac_is_can_be_told_changed_and_forgotten(host: Namespace) -> None:
    host.call(_make_device)
    found = host.call(_forward)
    assert [(entry.mac, str(entry.to)) for entry in found] == [("66:00:00:00:00:01", "10.0.0.3")]
    assert (
        "66:00:00:00:00:01 dst 10.0.0.3 self permanent"
        in host.run("bridge", "fdb", "show", "dev", "vxlan.calico").stdout
    )


def _routes() -> list[TableRoute]:
    index = socket.if_nametoindex("eth0")
    wanted = [
        TableRoute(ip_network("10.244.0.0/26"), 0, 80, BLACKHOLE),
        TableRoute(
            ip_network("10.244.0.5/32"), 1024, 3, scope=THIS_LINK, interface=index, source=ip_address("10.0.0.1")
        ),
        TableRoute(ip_network("10.244.1.0/26"), 0, 3, interface=index, gateway=ip_address("172.16.0.1"), on_link=True),
        TableRoute(ip_network("fd00::/122"), 512, 80, BLACKHOLE),
        TableRoute(ip_network("fd00::5/128"), 1024, 3, interface=index),
    ]
    with Netlink() as kernel:
        kernel.request_all([put_route(route) for route in wanted], soon())
        kernel.request_all([put_route(route) for route in wanted], soon())  # instead of themselves
        found = table_routes(kernel, soon())
        assert sorted(found, key=str) == sorted(wanted, key=str)
        kernel.request_all([drop_route(route) for route in wanted], soon())
        return table_routes(kernel, soon())


def test_routes_are_written_and_read_with_all_that_belongs_to_them(host: Namespace) -> None:
    assert host.call(_routes) == []


def test_routes_of_bird_are_passed_over_and_several_ways_are_noticed(host: Namespace) -> None:
    host.ip("route", "add", "10.1.0.0/24", "via", "10.0.0.9", "proto", "bird")
    host.ip("route", "add", "10.2.0.0/24", "proto", "80", "nexthop", "via", "10.0.0.8", "nexthop", "via", "10.0.0.9")

    def read() -> list[TableRoute]:
        with Netlink() as kernel:
            found = table_routes(kernel, soon())
            kernel.request_all([drop_route(route) for route in found], soon())
            return found

    found = host.call(read)
    assert [(str(route.destination), route.several) for route in found] == [("10.2.0.0/24", True)]
    assert "10.2.0.0/24" not in host.ip("route")


def _table(family: int = 4) -> Table | None:
    with open_netfilter() as kernel:
        return read_table(kernel, family, "calico", soon())  # type: ignore[arg-type]


LOAD = (
    'add table ip calico { comment "tortie:abc" ; }; add chain ip calico one; add rule ip calico one counter accept;'
    "add set ip calico pools { type ipv4_addr ; flags interval ; }; add element ip calico pools { 10.0.0.0/8 }"
)


def test_whether_a_table_was_touched(host: Namespace) -> None:
    assert host.call(_table) is None
    host.run("nft", LOAD)
    first = host.call(_table)
    assert first is not None
    assert (first.comment, first.rules) == ("tortie:abc", 1)
    assert host.call(_table, 6) is None
    host.run("nft", "add table ip other; add chain ip other x")
    assert host.call(_table) == first
    seen = {first.fingerprint}
    for change in (
        "add element ip calico pools { 172.16.0.0/12 }",
        "insert rule ip calico one drop",
        "add chain ip calico two",
    ):
        host.run("nft", change)
        now = host.call(_table)
        assert now is not None
        assert now.fingerprint not in seen
        seen.add(now.fingerprint)


NEWS: list[tuple[str, bool]] = [
    ("ip route add 10.1.0.0/24 via 10.0.0.9 proto bird", False),
    ("ip route del 10.1.0.0/24", False),
    ("ip route add 10.2.0.0/24 via 10.0.0.9 proto 80", True),
    ("ip route del 10.2.0.0/24", True),
    ("ip neigh add 10.0.0.77 lladdr 02:00:00:00:00:01 dev eth0", True),
    ("ip neigh del 10.0.0.77 dev eth0", True),
    ("ip neigh add 127.0.0.77 lladdr 02:00:00:00:00:01 dev lo", False),
    ("ip link set eth0 mtu 1400", True),
]


def test_what_is_heard_and_what_is_not(host: Namespace) -> None:
    def listen() -> list[bool]:
        import subprocess

        with ForwardingEvents({socket.if_nametoindex("eth0")}) as events:
            heard = []
            for command, _ in NEWS:
                subprocess.run(command.split(), check=True)
                heard.append(events.drain())
            return heard

    assert host.call(listen) == [expected for _, expected in NEWS]


def test_news_about_one_table(host: Namespace) -> None:
    def listen() -> list[bool]:
        import subprocess

        with TableEvents("calico") as events:
            heard = []
            for change in ("add table ip other", LOAD, "flush chain ip calico one", "delete table ip calico"):
                subprocess.run(["nft", change], check=True)
                heard.append(events.drain())
            return heard

    assert host.call(listen) == [False, True, True, True]
