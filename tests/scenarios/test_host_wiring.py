"""Links, addresses, routes and neighbours made by raw netlink are what `ip` finds."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

import pytest
from tests.support.fabric import ip, pings
from tests.support.netns import Namespace

from tortie.host import wiring
from tortie.host.namespaces import Inside, Namespaces, close, new_namespaces
from tortie.host.netlink import Netlink, NetlinkError, Request


@contextmanager
def new_host() -> Iterator[Namespaces]:
    namespaces = new_namespaces("net")
    try:
        yield namespaces
    finally:
        close(namespaces)


@pytest.fixture
def host() -> Iterator[Namespaces]:
    with new_host() as namespaces:
        yield namespaces


@pytest.fixture
def other() -> Iterator[Namespaces]:
    with new_host() as namespaces:
        yield namespaces


def change(host: Namespaces, *requests: Request) -> None:
    with Inside(host):
        kernel = Netlink()
    with kernel:
        kernel.request_all(requests, deadline())


def deadline() -> float:
    return time.monotonic() + 60


def link(host: Namespaces, name: str) -> Any:
    return next((each for each in ip(host, "link") if each["ifname"] == name), None)


def index(host: Namespaces, name: str) -> int:
    return int(link(host, name)["ifindex"])


def connect(host: Namespaces, other: Namespaces) -> tuple[int, int]:
    """eth0 on both sides, up; their indexes."""
    change(host, wiring.add_veth("eth0", "eth0", other["net"], mac="02:00:00:00:00:01", peer_mac="02:00:00:00:00:02"))
    change(other, wiring.set_link("eth0", up=True))
    return index(host, "eth0"), index(other, "eth0")


def neighbours(host: Namespaces) -> dict[str, tuple[str, list[str]]]:
    """Those that somebody set, in both families."""
    entries = ip(host, "neigh", "show", "nud", "permanent")
    return {entry["dst"]: (entry["lladdr"], entry["state"]) for entry in entries}


def routes(host: Namespaces, *words: str) -> list[dict[str, Any]]:
    keys = ("type", "dst", "gateway", "dev", "metric", "protocol", "flags", "scope")
    found = ip(host, *words, "route", "show", "table", "main")
    return [{key: route[key] for key in keys if route.get(key)} for route in found if route["protocol"] != "kernel"]


def test_a_cable_into_another_namespace(host: Namespaces, other: Namespaces) -> None:
    change(
        host,
        wiring.add_veth("left", "right", other["net"], mac="02:00:00:00:00:01", peer_mac="02:00:00:00:00:02", mtu=1400),
    )
    here, there = link(host, "left"), link(other, "right")
    assert (here["address"], here["mtu"], here["linkinfo"]["info_kind"]) == ("02:00:00:00:00:01", 1400, "veth")
    assert (there["address"], there["mtu"], there["linkinfo"]["info_kind"]) == ("02:00:00:00:00:02", 1400, "veth")
    assert "UP" in here["flags"]
    assert "UP" not in there["flags"]  # the kernel cannot do that before both ends exist
    change(other, wiring.set_link("right", up=True))
    assert {"UP", "LOWER_UP"} <= {*link(host, "left")["flags"]} & {*link(other, "right")["flags"]}
    assert (link(host, "right"), link(other, "left")) == (None, None)
    change(host, wiring.delete_link("left"))
    assert link(other, "right") is None


def test_a_cable_can_be_made_down_and_without_macs(host: Namespaces, other: Namespaces) -> None:
    change(host, wiring.add_veth("left", "right", other["net"], up=False))
    assert "UP" not in link(host, "left")["flags"]
    assert link(host, "left")["address"] != link(other, "right")["address"]


def test_a_bridge_forwards_at_once_and_ports_come_and_go(host: Namespaces, other: Namespaces) -> None:
    change(host, wiring.add_bridge("br0"), wiring.add_bridge("br1", up=False))
    bridge = link(host, "br0")
    data = bridge["linkinfo"]["info_data"]
    assert (data["stp_state"], data["forward_delay"]) == (0, 0)
    assert "UP" in bridge["flags"]
    assert "UP" not in link(host, "br1")["flags"]
    change(host, wiring.add_veth("port", "eth0", other["net"], master=bridge["ifindex"]))
    assert link(host, "port")["master"] == "br0"
    change(host, wiring.set_link("port", master=index(host, "br1"), up=False))
    assert link(host, "port")["master"] == "br1"
    assert "UP" not in link(host, "port")["flags"]
    change(host, wiring.set_link("port", master=0, mtu=1300))
    assert "master" not in link(host, "port")
    assert link(host, "port")["mtu"] == 1300


def test_a_link_gets_another_name(host: Namespaces) -> None:
    change(host, wiring.add_bridge("old", up=False))
    number = index(host, "old")
    change(host, wiring.set_link(number, name="new"))
    assert (link(host, "old"), index(host, "new")) == (None, number)
    change(host, wiring.delete_link(number))
    assert link(host, "new") is None


def test_one_change_on_its_own(host: Namespaces) -> None:
    request = wiring.add_bridge("br0")
    with Inside(host), Netlink() as kernel:
        kernel.request(request.kind, request.flags, request.body, request.subject, deadline())
        with pytest.raises(NetlinkError, match="cannot add the bridge br0: File exists"):
            kernel.request(request.kind, request.flags, request.body, request.subject, deadline())
        with pytest.raises(NetlinkError, match="cannot add the bridge br0: the kernel did not answer in time"):
            kernel.request(request.kind, request.flags, request.body, request.subject, time.monotonic() - 1)
    assert link(host, "br0")


def test_addresses_of_both_families_are_usable_at_once(host: Namespaces, other: Namespaces) -> None:
    here, there = connect(host, other)
    for namespaces, number, last in ((host, here, 1), (other, there, 2)):
        v4, v6 = ip_interface(f"10.0.0.{last}/24"), ip_interface(f"fd00::{last}/64")
        change(namespaces, wiring.add_address(number, v4), wiring.add_address(number, v6))
    shown = {address["local"]: address for address in ip(host, "addr", "show", "dev", "eth0")[0]["addr_info"]}
    assert (shown["10.0.0.1"]["prefixlen"], shown["10.0.0.1"]["scope"]) == (24, "global")
    assert (shown["fd00::1"]["prefixlen"], shown["fd00::1"]["scope"]) == (64, "global")
    assert shown["fd00::1"]["nodad"]
    assert "tentative" not in shown["fd00::1"]
    assert pings(host, "10.0.0.2")
    assert pings(host, "fd00::2")
    change(host, wiring.delete_address(here, ip_interface("10.0.0.1/24")))
    change(host, wiring.delete_address(here, ip_interface("fd00::1/64")))
    assert ip(host, "addr", "show", "dev", "eth0", "scope", "global") == []


def test_routes_of_every_sort(host: Namespaces, other: Namespaces) -> None:
    here, _ = connect(host, other)
    change(
        host,
        wiring.add_address(here, ip_interface("10.0.0.1/24")),
        wiring.add_route(ip_network("0.0.0.0/0"), via=ip_address("10.0.0.2")),
        wiring.add_route(ip_network("10.1.0.0/16"), via=ip_address("192.0.2.1"), index=here, on_link=True, metric=7),
        wiring.add_route(ip_network("10.2.0.0/26"), protocol=12),
        wiring.add_route(ip_network("10.3.0.7/32"), index=here),
    )
    eth0 = {"dev": "eth0", "protocol": "static"}
    assert routes(host) == [
        {"type": "unicast", "dst": "default", "gateway": "10.0.0.2", **eth0, "scope": "global"},
        {
            **{"type": "unicast", "dst": "10.1.0.0/16", "gateway": "192.0.2.1", "metric": 7, **eth0},
            **{"flags": ["onlink"], "scope": "global"},
        },
        {"type": "blackhole", "dst": "10.2.0.0/26", "protocol": "bird", "scope": "global"},
        {"type": "unicast", "dst": "10.3.0.7", **eth0, "scope": "link"},
    ]
    change(
        host,
        wiring.add_route(ip_network("0.0.0.0/0"), via=ip_address("10.0.0.3"), replace=True),
        wiring.delete_route(ip_network("10.1.0.0/16"), via=ip_address("192.0.2.1"), index=here, metric=7),
        wiring.delete_route(ip_network("10.2.0.0/26")),
        wiring.delete_route(ip_network("10.3.0.7/32")),
    )
    assert routes(host) == [{"type": "unicast", "dst": "default", "gateway": "10.0.0.3", **eth0, "scope": "global"}]


def test_routes_of_ipv6(host: Namespaces, other: Namespaces) -> None:
    here, _ = connect(host, other)
    change(
        host,
        wiring.set_link("lo", up=True),
        wiring.add_address(here, ip_interface("fd00::1/64")),
        wiring.add_route(ip_network("::/0"), via=ip_address("fd00::2"), metric=9),
        wiring.add_route(ip_network("fd01::/64")),
        wiring.add_route(ip_network("fd02::/64"), index=here),
    )
    assert {(each["type"], each["dst"], each.get("gateway"), each["metric"]) for each in routes(host, "-6")} == {
        ("unicast", "fd02::/64", None, 1024),
        ("blackhole", "fd01::/64", None, 1024),
        ("unicast", "default", "fd00::2", 9),
    }
    change(host, wiring.add_route(ip_network("::/0"), via=ip_address("fd00::3"), metric=9, replace=True))
    assert [each["gateway"] for each in routes(host, "-6") if each["dst"] == "default"] == ["fd00::3"]
    for network in ("::/0", "fd01::/64", "fd02::/64"):
        change(host, wiring.delete_route(ip_network(network)))
    assert routes(host, "-6") == []


def test_permanent_neighbours(host: Namespaces, other: Namespaces) -> None:
    here, _ = connect(host, other)
    v4, v6 = ip_address("10.0.0.2"), ip_address("fd00::2")
    change(
        host, wiring.set_neighbour(here, v4, "02:00:00:00:00:99"), wiring.set_neighbour(here, v6, "02:00:00:00:00:02")
    )
    change(host, wiring.set_neighbour(here, v4, "02:00:00:00:00:02"))  # in the place of the other
    assert neighbours(host) == {
        "10.0.0.2": ("02:00:00:00:00:02", ["PERMANENT"]),
        "fd00::2": ("02:00:00:00:00:02", ["PERMANENT"]),
    }
    with Inside(host), Netlink() as kernel:
        found = wiring.permanent_neighbours(kernel, deadline())
    assert found == {(here, v4.packed, "02:00:00:00:00:02"), (here, v6.packed, "02:00:00:00:00:02")}
    change(host, wiring.delete_neighbour(here, v4), wiring.delete_neighbour(here, v6))
    assert neighbours(host) == {}


def test_nobody_has_to_ask_who_has_an_address(host: Namespaces, other: Namespaces) -> None:
    """With ARP switched off on both sides only the permanent entries can tell."""
    here, there = connect(host, other)
    for namespaces, number, own, theirs in ((host, here, 1, 2), (other, there, 2, 1)):
        change(
            namespaces,
            wiring.add_address(number, ip_interface(f"10.0.0.{own}/24")),
            wiring.set_neighbour(number, ip_address(f"10.0.0.{theirs}"), f"02:00:00:00:00:0{theirs}"),
        )
        with Inside(namespaces), open("/proc/sys/net/ipv4/conf/eth0/arp_ignore", "w") as file:
            file.write("8")
    assert pings(host, "10.0.0.2")


def test_what_is_there_already_or_gone_is_tolerated_on_request_only(host: Namespaces, other: Namespaces) -> None:
    here, _ = connect(host, other)
    adding: Sequence[Request] = (
        wiring.add_bridge("br0"),
        wiring.add_address(here, ip_interface("10.0.0.1/24")),
        wiring.add_address(here, ip_interface("fd00::1/64")),
        wiring.add_route(ip_network("10.9.0.0/16"), via=ip_address("10.0.0.2")),
    )
    change(host, *adding)
    for request in adding:
        with pytest.raises(NetlinkError) as caught:
            change(host, request)
        assert caught.value.number == errno.EEXIST
        assert caught.value.what == f"cannot {request.subject}"
        change(host, wiring.even_if_there(request))
    removing: Sequence[Request] = (
        wiring.delete_route(ip_network("10.9.0.0/16"), via=ip_address("10.0.0.2")),
        wiring.delete_neighbour(here, ip_address("10.0.0.7")),
        wiring.delete_address(here, ip_interface("10.0.0.1/24")),
        wiring.delete_address(here, ip_interface("fd00::1/64")),
        wiring.delete_link("br0"),
    )
    change(host, *map(wiring.even_if_gone, removing))
    for request in removing:
        with pytest.raises(NetlinkError) as caught:
            change(host, request)
        assert caught.value.number in wiring.GONE
        change(host, wiring.even_if_gone(request))


def test_of_many_the_first_that_failed_is_named(host: Namespaces) -> None:
    """Also when thousands are sent at once, and when many of them fail."""
    names = [f"br{number}" for number in range(250)]
    change(host, *(wiring.add_bridge(name, up=False) for name in names[:1]))
    requests = [wiring.add_bridge(name, up=False) for name in ["new0", *names[:1], "new0", "new1"]]
    with pytest.raises(NetlinkError) as caught:
        change(host, *requests)
    assert caught.value.what == "cannot add the bridge br0"
    assert caught.value.why == "File exists"
    with Inside(host):
        kernel = Netlink()
    with kernel:
        with pytest.raises(NetlinkError, match="cannot delete the link gone0"):
            kernel.request_all([wiring.delete_link(f"gone{number}") for number in range(5000)], deadline())
        # and the socket is as good as before
        kernel.request_all([wiring.add_bridge(name, up=False) for name in names[1:]], deadline())
    assert len([each for each in ip(host, "link") if each["ifname"].startswith("br")]) == len(names)


def test_thousands_of_neighbours(host: Namespaces, other: Namespaces) -> None:
    here, _ = connect(host, other)
    ips = [ip_address("10.0.0.0") + number for number in range(1, 5001)]
    change(host, *(wiring.set_neighbour(here, ip, "02:00:00:00:00:02") for ip in ips))
    assert set(neighbours(host)) == set(map(str, ips))


def test_the_kernel_refuses_in_its_own_words(host: Namespaces) -> None:
    with pytest.raises(NetlinkError) as caught:
        change(host, wiring.add_route(ip_network("10.0.0.0/8"), via=ip_address("192.0.2.1")))
    assert caught.value.what == "cannot add the route to 10.0.0.0/8 via 192.0.2.1"
    assert caught.value.why == "Nexthop has invalid gateway (Network is unreachable)"
    assert caught.value.number == errno.ENETUNREACH


def test_without_the_right_to_change_the_network() -> None:
    def as_nobody() -> None:
        os.setuid(65534)
        with Netlink() as kernel:
            kernel.request_all([wiring.add_bridge("br0")], deadline())

    with Namespace("wiring") as namespace, pytest.raises(NetlinkError) as caught:
        namespace.call(as_nobody)
    assert caught.value.what == "cannot add the bridge br0"
    assert caught.value.why == "Operation not permitted"
    assert caught.value.fix == "do it as root: it needs CAP_NET_ADMIN in this network namespace"
