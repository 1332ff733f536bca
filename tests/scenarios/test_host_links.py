"""What we read from the kernel is what `ip` reads from it, in namespaces with everything that we could think of.

The kernel here may lack kinds of links (bond, vlan, dummy); macvlan has the same shape as a VLAN, a bridge the same
as a bond. Their names pass through as the kernel gives them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface, ip_network
from typing import Any

import pytest
from tests.support.netns import Namespace

from tortie.host.links import links, observe
from tortie.model.network import Address, Family, HostNetwork, Interface, Route

NOWHERE = ("blackhole", "unreachable", "prohibit", "throw")
ADDRESS_FLAGS = (
    "secondary",
    "temporary",
    "deprecated",
    "tentative",
    "dadfailed",
    "nodad",
    "mngtmpaddr",
    "noprefixroute",
)


@pytest.fixture
def host() -> Iterator[Namespace]:
    with Namespace("host") as namespace:
        settled(namespace)
        yield namespace


@pytest.fixture
def other() -> Iterator[Namespace]:
    with Namespace("host") as namespace:
        settled(namespace)
        yield namespace


def settled(namespace: Namespace) -> None:
    """Addresses of IPv6 are there at once, so that two looks see the same."""
    namespace.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")


def told_by_ip(namespace: Namespace) -> HostNetwork:
    """The same picture, by iproute2."""
    listed = namespace.json("addr")
    indexes = {link["ifname"]: link["ifindex"] for link in listed}
    return HostNetwork(
        tuple(_link(link, indexes) for link in listed),
        tuple(route for family in (4, 6) for route in _routes(namespace, family, indexes)),
    )


def _link(told: dict[str, Any], indexes: dict[str, int]) -> Interface:
    return Interface(
        told["ifindex"],
        told["ifname"],
        kind=told.get("linkinfo", {}).get("info_kind", ""),
        flags=frozenset(flag.lower() for flag in told["flags"]),
        state=told["operstate"].lower(),
        mac=told.get("address", ""),
        mtu=told["mtu"],
        master=indexes[told["master"]] if "master" in told else None,
        parent=indexes[told["link"]] if "link" in told else None,
        parent_elsewhere="link_netnsid" in told,
        addresses=tuple(_address(address) for address in told["addr_info"] if address),
    )


def _address(told: dict[str, Any]) -> Address:
    flags = {flag for flag in ADDRESS_FLAGS if told.get(flag)} | (set() if told.get("dynamic") else {"permanent"})
    return Address(ip_interface(f"{told['local']}/{told['prefixlen']}"), told["scope"], frozenset(flags))


def _routes(namespace: Namespace, family: Family, indexes: dict[str, int]) -> Iterator[Route]:
    for told in namespace.json(f"-{family}", "route", "show", "table", "all"):
        if told["table"] == "local" or told["type"] == "local":
            continue
        default = "0.0.0.0/0" if family == 4 else "::/0"
        for hop in told.get("nexthops", [told]):
            gateway = hop.get("gateway") or hop.get("via", {}).get("host")
            yield Route(
                ip_network(default if told["dst"] == "default" else told["dst"]),
                interface=None if told["type"] in NOWHERE else indexes[hop["dev"]],
                gateway=ip_address(gateway) if gateway else None,
                source=ip_address(told["prefsrc"]) if "prefsrc" in told else None,
                metric=told.get("metric", 0),
                table={"main": 254, "default": 253}.get(told["table"]) or int(told["table"]),
                kind=told["type"],
                protocol=told["protocol"],
            )


def same_as_ip(namespace: Namespace) -> HostNetwork:
    """Compared part by part, so that a failure names the part; and between two equal looks of `ip`, so that a link
    whose state the kernel is still settling does not look like a difference."""
    deadline = time.monotonic() + 20
    told = told_by_ip(namespace)
    while True:
        seen = namespace.call(observe)
        before, told = told, told_by_ip(namespace)
        if told == before:
            break
        assert time.monotonic() < deadline, "the namespace never came to rest"
    assert [link.name for link in seen.interfaces] == [link.name for link in told.interfaces]
    for ours, theirs in zip(seen.interfaces, told.interfaces, strict=True):
        assert ours == theirs
    assert list(seen.routes) == list(told.routes)
    return seen


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def named(network: HostNetwork, name: str) -> Interface:
    link = network.named(name)
    assert link is not None, f"no {name} among {[link.name for link in network.interfaces]}"
    return link


def tentative(link: Interface) -> list[Address]:
    """For a moment they are so even where the kernel looks for no duplicates: it gets to that in its own time."""
    return [address for address in link.addresses if "tentative" in address.flags]


def test_a_host_with_everything(host: Namespace, other: Namespace) -> None:
    host.veth("uplink", other, "far")
    host.veth("port0", host, "port0-end")
    host.bridge("br-lan", "port0")
    host.dummy("nowhere")
    host.run("sh", "-c", "echo 2 > /proc/sys/net/ipv6/conf/br-lan/use_tempaddr")
    host.batch(
        "link add sub link uplink type macvlan mode bridge",
        "link set sub up",
        "link add vx type vxlan id 7 dstport 4789 dev uplink local 10.0.0.1",
        "tuntap add tap0 mode tap",
        "link set tap0 up",
        "tuntap add tun0 mode tun",
        "link add below type veth peer name below-end",
        "link add above link below type macvlan",
        "link set uplink mtu 1400",
        "addr add 10.0.0.1/24 dev uplink",
        "addr add 10.0.0.2/24 dev uplink",
        "addr add 10.0.0.3/32 dev uplink scope link",
        "addr add 192.0.2.1 peer 192.0.2.9/32 dev nowhere",
        "addr add 10.1.0.1/16 dev br-lan noprefixroute",
        "addr add 172.16.0.1/12 dev sub valid_lft 3600 preferred_lft 1800",
        "addr add 10.77.0.1/24 dev below",
        "addr add 2001:db8::1/64 dev uplink nodad",
        "addr add 2001:db8::2/64 dev uplink preferred_lft 0",
        "addr add 2001:db8::3/64 dev uplink valid_lft 3600 preferred_lft 1800",
        "addr add fd00::1/64 dev br-lan noprefixroute mngtmpaddr",
        "addr add fec0::1/64 dev br-lan",
        "addr add 2001:db8:7::1 peer 2001:db8:7::2/128 dev nowhere",
        "addr add 2001:db8:8::1/64 dev below",
    )
    until(lambda: not tentative(named(host.call(observe), "uplink")), "the addresses of uplink")
    seen = same_as_ip(host)
    uplink = named(seen, "uplink")
    assert uplink.is_up
    assert uplink.mtu == 1400
    assert (uplink.kind, uplink.parent, uplink.parent_elsewhere) == ("veth", None, True)
    assert uplink.addresses[:3] == (  # the kernel's order: narrow scopes first, secondary addresses last
        Address(IPv4Interface("10.0.0.3/32"), "link", frozenset({"permanent"})),
        Address(IPv4Interface("10.0.0.1/24"), "global", frozenset({"permanent"})),
        Address(IPv4Interface("10.0.0.2/24"), "global", frozenset({"permanent", "secondary"})),
    )
    assert (
        Address(IPv6Interface("2001:db8::2/64"), "global", frozenset({"permanent", "deprecated"})) in uplink.addresses
    )
    assert [address for address in named(seen, "br-lan").addresses if "temporary" in address.flags]
    assert named(seen, "port0").master == named(seen, "br-lan").index
    assert (named(seen, "sub").parent, named(seen, "sub").parent_elsewhere) == (uplink.index, False)
    assert named(seen, "nowhere").addresses[0].cidr == IPv4Interface("192.0.2.1/32")
    assert "no-carrier" in named(seen, "tap0").flags
    assert not named(seen, "tap0").is_up
    assert {"m-down"} <= named(seen, "above").flags
    assert named(seen, "tun0").mac == ""
    assert not named(seen, "below").is_up
    assert {link.kind for link in seen.interfaces} >= {"", "veth", "bridge", "macvlan", "vxlan", "tun"}
    same_as_ip(other)


def test_all_kinds_of_routes(host: Namespace, other: Namespace) -> None:
    host.veth("eth0", other, "eth0")
    host.veth("eth1", other, "eth1")
    host.batch(
        "addr add 10.0.0.1/24 dev eth0",
        "addr add 10.0.0.2/24 dev eth0",
        "addr add 10.1.0.1/24 dev eth1",
        "addr add 2001:db8::1/64 dev eth0 nodad",
        "addr add 2001:db8:1::1/64 dev eth1 nodad",
        "route add default via 10.0.0.254 proto dhcp metric 100 src 10.0.0.2",
        "route add default via 10.1.0.254 proto static metric 200",
        "route add 10.65.0.0/26 proto bird nexthop via 10.0.0.7 nexthop via 10.1.0.7 weight 3",
        "route add blackhole 10.65.1.0/26 proto bird",
        "route add unreachable 10.66.0.0/16",
        "route add prohibit 10.67.0.0/16 metric 9",
        "route add throw 10.68.0.0/16",
        "route add 10.69.0.0/16 dev eth0 scope link proto 80",
        "route add 10.70.0.0/16 via inet6 fe80::1 dev eth1 proto zebra",
        "route add 10.71.0.1 via 10.0.0.9 onlink dev eth0",
        "route add default dev eth1 table 100",
        "route add 10.72.0.0/16 via 10.1.0.3 table 70000",
        "route add local default dev lo table 101",
        "route add ::/0 via 2001:db8::fe proto ra metric 1024",
        "route add ::/0 via fe80::fe dev eth1 metric 2048",
        "route add 2001:db8:65::/64 proto bird nexthop via 2001:db8::7 nexthop via 2001:db8:1::7",
        "route add blackhole 2001:db8:66::/64",
        "route add unreachable 2001:db8:67::/64 metric 7",
        "route add 2001:db8:68::/64 dev eth0 src 2001:db8::1 table 100",
    )
    seen = same_as_ip(host)
    eth0, eth1 = named(seen, "eth0").index, named(seen, "eth1").index
    defaults = [route for route in seen.routes if route.destination == ip_network("0.0.0.0/0") and route.table == 254]
    assert [(route.interface, route.metric, route.protocol) for route in defaults] == [
        (eth0, 100, "dhcp"),
        (eth1, 200, "static"),
    ]
    assert defaults[0].source == ip_address("10.0.0.2")
    split = [route for route in seen.routes if route.destination == ip_network("10.65.0.0/26")]
    assert [(route.interface, str(route.gateway)) for route in split] == [(eth0, "10.0.0.7"), (eth1, "10.1.0.7")]
    black = [route for route in seen.routes if route.kind == "blackhole"]
    assert [(str(route.destination), route.interface) for route in black] == [
        ("10.65.1.0/26", None),
        ("2001:db8:66::/64", None),
    ]
    assert {route.table for route in seen.routes} == {254, 100, 70000}
    assert not [route for route in seen.routes if route.kind == "local"]


def test_two_hundred_links(host: Namespace) -> None:
    host.batch(*(f"link add cali{number} type veth peer name pod{number}" for number in range(100)))
    host.batch(*(f"addr add 10.{number}.0.1/24 dev cali{number}" for number in range(100)))
    host.batch(*(f"link set cali{number} up" for number in range(50)))
    seen = same_as_ip(host)
    assert len(seen.interfaces) == 201
    assert host.call(links) == tuple(link._replace(addresses=()) for link in seen.interfaces)


def test_a_host_without_network(host: Namespace) -> None:
    host.ip("link", "set", "lo", "down")
    seen = same_as_ip(host)
    assert [(link.name, link.flags, link.is_up) for link in seen.interfaces] == [("lo", frozenset({"loopback"}), False)]
    assert seen.routes == ()


def test_an_address_that_somebody_else_has(host: Namespace, other: Namespace) -> None:
    host.veth("eth0", other, "eth0")
    host.ip("addr", "add", "2001:db8::1/64", "dev", "eth0", "nodad")
    other.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/eth0/accept_dad")
    other.ip("addr", "add", "2001:db8::1/64", "dev", "eth0")

    def flags() -> frozenset[str]:
        owner = other.call(observe).owner(ip_address("2001:db8::1"))
        return owner[1].flags if owner else frozenset()

    until(lambda: "dadfailed" in flags(), "the kernel to find the duplicate")
    assert "tentative" in flags()


def test_a_parent_that_is_elsewhere_is_not_mistaken_for_a_link_here(host: Namespace, other: Namespace) -> None:
    """The index of a veth's other end is counted in the other namespace, where it may mean a link that is down."""
    host.ip(
        "link",
        "add",
        "mine",
        "index",
        "50",
        "type",
        "veth",
        "peer",
        "name",
        "theirs",
        "index",
        "60",
        "netns",
        other.name,
    )
    host.ip("link", "add", "br0", "index", "60", "type", "bridge")
    host.ip("link", "set", "mine", "up")
    mine = named(same_as_ip(host), "mine")
    assert (mine.parent, mine.parent_elsewhere) == (None, True)
    assert "m-down" not in mine.flags
