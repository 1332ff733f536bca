"""ARP probes between real namespaces on a bridge."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address

import pytest
from tests.support.netns import Namespace

from tortie.host.links import links, observe
from tortie.host.neighbours import someone_else_has
from tortie.model.errors import TortieError
from tortie.model.network import Interface

IP = IPv4Address("10.0.0.1")
LONG_S = 10.0  # returns with the first answer
EVERYTHING = 0x0003  # all protocols, also what goes out
SHORT_S = 0.3  # waits for all of it, since nobody answers


class Network:
    """Two machines on one switch, which is a third namespace."""

    def __init__(self, ours: Namespace, theirs: Namespace, switch: Namespace) -> None:
        self.ours, self.theirs, self.switch = ours, theirs, switch
        ours.veth("eth0", switch, "port0")
        theirs.veth("eth0", switch, "port1")
        switch.bridge("br0", "port0", "port1")


@pytest.fixture
def network() -> Iterator[Network]:
    with Namespace("arp") as ours, Namespace("arp") as theirs, Namespace("arp") as switch:
        yield Network(ours, theirs, switch)


def asked(name: str, timeout_s: float) -> str | None:
    return someone_else_has(IP, link(name), timeout_s)


def link(name: str) -> Interface:
    return next(link for link in links() if link.name == name)


def mac_of(namespace: Namespace, name: str) -> str:
    return namespace.call(link, name).mac


def test_another_machine_with_the_same_address(network: Network) -> None:
    network.ours.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network.theirs.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    assert network.ours.call(asked, "eth0", LONG_S) == mac_of(network.theirs, "eth0")


def test_an_address_that_we_do_not_have_yet(network: Network) -> None:
    network.theirs.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    assert network.ours.call(asked, "eth0", LONG_S) == mac_of(network.theirs, "eth0")


def test_nobody_else(network: Network) -> None:
    network.ours.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network.theirs.ip("addr", "add", "10.0.0.2/24", "dev", "eth0")
    assert network.ours.call(asked, "eth0", SHORT_S) is None


def test_our_own_second_interface_on_the_same_network_is_not_somebody_else(network: Network) -> None:
    """Linux answers on it for the address of the first."""
    network.ours.veth("eth1", network.switch, "port2")
    network.switch.ip("link", "set", "port2", "master", "br0")
    network.ours.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network.ours.ip("addr", "add", "10.0.0.3/24", "dev", "eth1")
    assert network.ours.call(asked, "eth0", SHORT_S) is None


def test_the_probe_leaves_no_trace_in_the_others_table(network: Network) -> None:
    network.theirs.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network.ours.ip("addr", "add", "10.0.0.2/24", "dev", "eth0")
    assert network.ours.call(asked, "eth0", LONG_S) is not None
    assert network.theirs.json("neigh", "show", "dev", "eth0") == []


def asked_while(happens: Callable[[], object], timeout_s: float) -> str | None:
    """Asks, and lets something happen as soon as the first probe is out."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERYTHING)) as tap:
        tap.bind(("eth0", EVERYTHING))
        tap.settimeout(20)
        child = os.fork()
        if child == 0:
            try:
                while tap.recvfrom(256)[1][1:3] != (0x0806, socket.PACKET_OUTGOING):
                    pass
                happens()
            finally:
                os._exit(0)
        try:
            return asked("eth0", timeout_s)
        finally:
            os.waitpid(child, 0)


def test_a_first_probe_that_is_lost_is_followed_by_others(network: Network) -> None:
    """The other machine is connected only after the first question was asked: it hears a later one."""
    network.theirs.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network.switch.ip("link", "set", "port1", "nomaster")
    answer = network.ours.call(
        asked_while, lambda: network.switch.ip("link", "set", "port1", "master", "br0"), timeout_s=6.0
    )
    assert answer == mac_of(network.theirs, "eth0")


def test_what_others_ask_meanwhile_about_other_addresses_is_no_answer(network: Network) -> None:
    network.ours.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network.theirs.ip("addr", "add", "10.0.0.2/24", "dev", "eth0")

    def send() -> None:
        """Makes their kernel ask everybody for 10.0.0.50."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"hello", ("10.0.0.50", 9))

    assert network.ours.call(asked_while, lambda: network.theirs.call(send), timeout_s=1.0) is None
    assert "10.0.0.50" in network.theirs.ip("neigh", "show", "nud", "all", "dev", "eth0")  # it did ask


def test_silence_is_no_answer_if_the_cable_was_pulled_meanwhile(network: Network) -> None:
    def pulled() -> None:
        network.switch.ip("link", "set", "port0", "down")

    with pytest.raises(TortieError) as caught:
        network.ours.call(asked_while, pulled, timeout_s=6.0)
    assert caught.value.why == "eth0 has no carrier"


def test_an_interface_that_is_down(network: Network) -> None:
    network.ours.ip("link", "set", "eth0", "down")
    with pytest.raises(TortieError) as caught:
        network.ours.call(asked, "eth0", LONG_S)
    assert caught.value.what == "cannot ask on eth0 whether another machine has 10.0.0.1"
    assert (caught.value.why, caught.value.fix) == ("eth0 is down", "bring it up: ip link set eth0 up")


def until_noticed() -> None:
    deadline = time.monotonic() + 20
    while "no-carrier" not in link("eth0").flags:
        assert time.monotonic() < deadline, "the kernel never noticed that the cable is out"
        time.sleep(0.02)


def test_an_interface_without_carrier(network: Network) -> None:
    network.switch.ip("link", "set", "port0", "down")
    network.ours.call(until_noticed)
    with pytest.raises(TortieError) as caught:
        network.ours.call(asked, "eth0", LONG_S)
    assert caught.value.why == "eth0 has no carrier"


def test_an_interface_that_is_not_any_more_what_it_was(network: Network) -> None:
    def asked_too_late() -> str | None:
        eth0 = link("eth0")
        network.ours.ip("link", "set", "eth0", "down")
        return someone_else_has(IP, eth0, SHORT_S)

    with pytest.raises(TortieError) as caught:
        network.ours.call(asked_too_late)
    assert caught.value.why == "eth0 is down"


def test_interfaces_that_do_not_use_arp(network: Network) -> None:
    network.ours.ip("tuntap", "add", "tun0", "mode", "tun")
    network.ours.ip("link", "set", "tun0", "up")
    for name in ("lo", "tun0"):
        with pytest.raises(TortieError) as caught:
            network.ours.call(asked, name, LONG_S)
        assert caught.value.why == f"{name} does not use ARP"


def test_an_interface_that_is_gone(network: Network) -> None:
    def asked_too_late() -> str | None:
        eth0 = observe().named("eth0")
        assert eth0 is not None
        network.ours.ip("link", "del", "eth0")
        return someone_else_has(IP, eth0, LONG_S)

    with pytest.raises(TortieError) as caught:
        network.ours.call(asked_too_late)
    assert caught.value.why == "eth0 is gone, or has another name now"


def test_without_the_right_to_ask(network: Network) -> None:
    def asked_as_nobody() -> str | None:
        os.setgid(65534)
        os.setuid(65534)
        return asked("eth0", LONG_S)

    with pytest.raises(TortieError) as caught:
        network.ours.call(asked_as_nobody)
    assert caught.value.why == "ARP needs a raw socket, and this process may not open one"
    assert caught.value.fix == "run it as root or with CAP_NET_RAW"
