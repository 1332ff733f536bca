"""can-reach in real namespaces: which address the kernel would send from, and why there is none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import pytest
from tests.support.netns import Namespace

from tortie.host.reach import source_towards
from tortie.model.network import Family


@pytest.fixture
def host() -> Iterator[Namespace]:
    with Namespace("reach") as namespace, Namespace("reach") as other:
        namespace.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
        namespace.veth("eth0", other, "eth0")
        namespace.veth("eth1", other, "eth1")
        namespace.batch(
            "addr add 10.0.0.1/24 dev eth0",
            "addr add 10.0.0.2/24 dev eth0",
            "addr add 10.1.0.1/24 dev eth1",
            "addr add 2001:db8::1/64 dev eth0 nodad",
            "addr add 2001:db8:1::1/64 dev eth1 nodad",
        )
        yield namespace


ROUTES = (
    "route add default via 10.0.0.254",
    "route add 10.77.0.0/16 via 10.0.0.254 src 10.0.0.2",
    "route add 198.51.100.0/24 via 10.1.0.254",
    "route add blackhole 203.0.113.0/25",
    "route add unreachable 203.0.113.128/26",
    "route add prohibit 203.0.113.192/26",
    "route add ::/0 via 2001:db8::fe",
    "route add 2001:db8:9::/48 via 2001:db8:1::fe",
    "route add unreachable 2001:db8:a::/48",
)


@pytest.mark.parametrize(
    ("destination", "family", "source"),
    [
        ("8.8.8.8", 4, "10.0.0.1"),
        ("198.51.100.7", 4, "10.1.0.1"),
        ("10.77.1.1", 4, "10.0.0.2"),
        ("10.1.0.9", 4, "10.1.0.1"),
        ("10.1.0.1", 4, "10.1.0.1"),
        ("10.0.0.2", 4, "10.0.0.1"),  # to our own secondary address the kernel sends from the primary one
        ("127.0.0.1", 4, "127.0.0.1"),
        ("2001:4860:4860::8888", 6, "2001:db8::1"),
        ("2001:db8:9::7", 6, "2001:db8:1::1"),
        ("::1", 6, "::1"),
    ],
)
def test_the_address_that_the_route_leads_from(host: Namespace, destination: str, family: Family, source: str) -> None:
    host.batch(*ROUTES)
    assert host.call(source_towards, destination, family, 5) == ip_address(source)


@pytest.mark.parametrize(
    ("destination", "family", "failure"),
    [
        ("203.0.113.1", 4, "dial udp4 203.0.113.1:80: connect: invalid argument"),
        ("203.0.113.129", 4, "dial udp4 203.0.113.129:80: connect: no route to host"),
        ("203.0.113.200", 4, "dial udp4 203.0.113.200:80: connect: permission denied"),
        ("2001:db8:a::1", 6, "dial udp6 [2001:db8:a::1]:80: connect: no route to host"),
        ("8.8.8.8", 6, "dial udp6: address 8.8.8.8: no suitable address"),
        ("2001:db8::7", 4, "dial udp4: address 2001:db8::7: no suitable address"),
        ("", 4, "dial udp4: missing address"),
    ],
)
def test_why_there_is_none(host: Namespace, destination: str, family: Family, failure: str) -> None:
    host.batch(*ROUTES)
    assert host.call(source_towards, destination, family, 5) == failure


def test_no_route_at_all() -> None:
    with Namespace("reach") as empty:
        assert empty.call(source_towards, "8.8.8.8", 4, 5) == ("dial udp4 8.8.8.8:80: connect: network is unreachable")
        assert empty.call(source_towards, "2001:db8::1", 6, 5) == (
            "dial udp6 [2001:db8::1]:80: connect: network is unreachable"
        )


def test_a_link_local_destination_with_its_interface(host: Namespace) -> None:
    host.ip("link", "set", "eth1", "addrgenmode", "none")
    host.ip("addr", "flush", "dev", "eth1")
    host.ip("addr", "add", "fe80::7/64", "dev", "eth1", "nodad")
    assert host.call(source_towards, "fe80::1%eth1", 6, 5) == ip_address("fe80::7")


def test_nothing_is_sent(host: Namespace) -> None:
    """A packet would have made the kernel ask for the gateway's MAC first."""
    host.batch(*ROUTES)
    assert host.call(source_towards, "198.51.100.7", 4, 5) == ip_address("10.1.0.1")
    assert host.json("-4", "neigh", "show", "nud", "all", "dev", "eth1") == []


def test_a_name_from_etc_hosts(host: Namespace) -> None:
    host.batch(*ROUTES)
    host.write_file("hosts", "198.51.100.7 gateway.example\n2001:db8:9::7 gateway.example\n203.0.113.1 hole.example\n")
    assert host.call(source_towards, "gateway.example", 4, 5) == ip_address("10.1.0.1")
    assert host.call(source_towards, "gateway.example", 6, 5) == ip_address("2001:db8:1::1")
    assert host.call(source_towards, "hole.example", 4, 5) == "dial udp4 203.0.113.1:80: connect: invalid argument"


def test_a_name_with_several_addresses_is_tried_until_one_works(host: Namespace) -> None:
    host.batch(*ROUTES)
    host.write_file("hosts", "203.0.113.1 both.example\n198.51.100.7 both.example\n")
    assert host.call(source_towards, "both.example", 4, 5) == ip_address("10.1.0.1")


@contextmanager
def name_server_without_names() -> Iterator[None]:
    """Says of every name that it does not exist."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))

        def answer() -> None:
            while (asked := server.recvfrom(512))[0] != b"stop":
                question, who = asked
                server.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], who)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        finally:
            server.sendto(b"stop", ("127.0.0.1", 53))
            thread.join()


def test_a_name_that_does_not_exist(host: Namespace) -> None:
    host.write_file("resolv.conf", "nameserver 127.0.0.1\noptions no-aaaa edns0\n")

    def asked(name: str) -> object:
        with name_server_without_names():
            return source_towards(name, 4, 20)

    assert host.call(asked, "nosuch.example") == "dial udp4: lookup nosuch.example: no such host"
    assert host.call(asked, "a" * 70 + ".example") == f"dial udp4: lookup {'a' * 70}.example: no such host"


def test_a_name_server_that_does_not_answer_does_not_hold_us_up(host: Namespace) -> None:
    host.write_file("resolv.conf", "nameserver 10.0.0.99\noptions timeout:30\n")
    assert host.call(source_towards, "slow.example", 4, 0.05) == "dial udp4: lookup slow.example: i/o timeout"
