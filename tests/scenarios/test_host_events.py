"""The kernel's news in real namespaces: what counts, what does not, and what happens when there are too many.

The functions that listen run inside the namespace (`Namespace.call`), so that plain `ip` there speaks of it.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.support.netns import Namespace

from tortie.host.events import Events
from tortie.host.links import links, observe

SOON_S = 20.0
QUIET_S = 0.2
DETACH_FILTER = 27


@pytest.fixture
def host() -> Iterator[Namespace]:
    with Namespace("events") as namespace, Namespace("events") as other:
        namespace.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
        namespace.veth("eth0", other, "eth0")
        namespace.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        namespace.call(settle)
        yield namespace


def settle() -> None:
    """Waits until the new link has its IPv6 address and its state: news of their own, of which a test wants none."""

    def settled() -> bool:
        link = observe().named("eth0")
        if link is None or not link.is_up:
            return False
        return any(each.cidr.version == 6 and "tentative" not in each.flags for each in link.addresses)

    deadline = time.monotonic() + SOON_S
    while not settled():
        assert time.monotonic() < deadline, f"eth0 never came up: {observe().named('eth0')}"
        time.sleep(0.02)
    # The kernel tells of an address some time after it is no longer tentative.
    with Events() as events:
        while events.wait(QUIET_S):
            assert time.monotonic() < deadline, "the kernel always has news"


def ip(*lines: str) -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True, capture_output=True)


def heard_after(*lines: str, before: tuple[str, ...] = ()) -> bool:
    """Whether anything of it counts. By the time that `ip` ends the kernel has told all of it, but for addresses of
    IPv6: those it tells of when a worker of its own has looked at them.
    """
    with Events() as events:
        if before:
            ip(*before)
            drained(events, until_heard=_of_ipv6(before))
        ip(*lines)
        return drained(events, until_heard=_of_ipv6(lines) and not before)


def _of_ipv6(lines: tuple[str, ...]) -> bool:
    return any(line.startswith("addr add") and ":" in line for line in lines)


def drained(events: Events, until_heard: bool) -> bool:
    deadline = time.monotonic() + 10
    while not (heard := events.drain()) and until_heard and time.monotonic() < deadline:
        select.select([events], [], [], 0.1)
    return heard


@pytest.mark.parametrize(
    "line",
    [
        "addr add 10.0.0.2/24 dev eth0",
        "addr del 10.0.0.1/24 dev eth0",
        "addr add 2001:db8::1/64 dev eth0 nodad",
        "addr change 10.0.0.1/24 dev eth0 valid_lft 3600 preferred_lft 1800",
        "link set eth0 down",
        "link set eth0 mtu 1400",
        "link add br0 type bridge",
        "link del eth0",
        "route add default via 10.0.0.254",
        "route add default via 10.0.0.254 table 100",
        "route add blackhole default metric 4000",
        "route add ::/0 dev eth0",
    ],
)
def test_what_counts(host: Namespace, line: str) -> None:
    assert host.call(heard_after, line)


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("link set eth0 up", ("link set eth0 down",)),
        ("addr del 2001:db8::1/64 dev eth0", ("addr add 2001:db8::1/64 dev eth0 nodad",)),
        ("addr change 2001:db8::1/64 dev eth0 preferred_lft 0", ("addr add 2001:db8::1/64 dev eth0 nodad",)),
        ("route del default", ("route add default via 10.0.0.254",)),
        ("route change default via 10.0.0.253", ("route add default via 10.0.0.254",)),
        ("route add default via 10.0.0.254 metric 5", ("route add default via 10.0.0.254 metric 6",)),
        ("route replace default via 10.0.0.254", ("route add default via 10.0.0.254", "route change default dev eth0")),
        ("link set eth0 name lan0", ("link set eth0 down",)),
        ("link set eth0 master br0", ("link add br0 type bridge", "link set eth0 mtu 1400")),
    ],
)
def test_what_counts_after_something_else(host: Namespace, line: str, before: tuple[str, ...]) -> None:
    assert host.call(heard_after, line, before=before)


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("route add 10.65.0.0/26 via 10.0.0.9 proto bird", ()),
        ("route add blackhole 10.65.0.0/26 proto bird", ()),
        ("route add 2001:db8:5::/64 dev eth0", ()),
        ("neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev eth0", ()),
        ("rule add from 10.0.0.0/24 table 100", ()),
        # The same as it was: a daemon that puts in place what is there, a lifetime that is prolonged.
        ("route replace default via 10.0.0.254", ("route add default via 10.0.0.254",)),
        ("link set eth0 alias uplink", ("link set eth0 mtu 1400",)),
        (
            "addr change 2001:db8::1/64 dev eth0 nodad valid_lft 7200 preferred_lft 7000",
            ("addr add 2001:db8::1/64 dev eth0 nodad valid_lft 3600 preferred_lft 1800",),
        ),
        # A packet capture.
        ("link set eth0 promisc on", ("link set eth0 mtu 1400",)),
    ],
)
def test_what_does_not_count(host: Namespace, line: str, before: tuple[str, ...]) -> None:
    assert not host.call(heard_after, line, before=before)


def test_a_default_route_that_comes_back_after_the_link_did(host: Namespace) -> None:
    """With the link the kernel took the route, and said nothing about it; so the same route again is news."""
    gone = ("route add default via 10.0.0.254", "link set eth0 down", "link set eth0 up")
    assert host.call(heard_after, "route add default via 10.0.0.254", before=gone)


def test_a_default_route_that_comes_back_after_its_source_address_did(host: Namespace) -> None:
    gone = (
        "addr add 10.0.0.5/24 dev eth0",
        "route add default via 10.0.0.254 src 10.0.0.5",
        "addr del 10.0.0.5/24 dev eth0",
        "addr add 10.0.0.5/24 dev eth0",
    )
    assert host.call(heard_after, "route add default via 10.0.0.254 src 10.0.0.5", before=gone)


def without_filter(events: Events) -> None:
    """As on a kernel that takes no filter for such sockets."""
    with socket.socket(fileno=os.dup(events.fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, DETACH_FILTER, 0)


def test_other_routes_do_not_count_where_the_kernel_does_not_filter_them(host: Namespace) -> None:
    def listening() -> tuple[bool, bool]:
        with Events() as events:
            without_filter(events)
            ip("route add 10.65.0.0/26 via 10.0.0.9 proto bird")
            arrived = select.select([events.fileno()], [], [], 0)[0] != []
            return arrived, events.drain()

    assert host.call(listening) == (True, False)


def test_a_bgp_daemon_with_thousands_of_routes_is_not_heard_at_all(host: Namespace) -> None:
    """Not even as an overrun: the kernel drops such news before they fill the socket, and nothing wakes up."""

    def flood() -> tuple[bool, bool]:
        with Events() as events:
            ip(*(f"route add 10.{65 + n // 250}.{n % 250}.0/26 via 10.0.0.9 proto bird" for n in range(5000)))
            unheard = events.drain()
            ip("route add default via 10.0.0.254")
            return unheard, events.drain()

    assert host.call(flood) == (False, True)


def test_more_news_than_room_count_as_news(host: Namespace) -> None:
    """Even if nothing of what can still be read would count: what was lost may have."""

    def overrun() -> tuple[bool, bool, bool]:
        with Events() as events:
            without_filter(events)
            ip(*(f"route add 10.{65 + n // 250}.{n % 250}.0/26 via 10.0.0.9 proto bird" for n in range(3000)))
            first = events.drain()
            quiet = events.drain()
            ip("addr del 10.0.0.1/24 dev eth0")
            return first, quiet, events.drain()

    assert host.call(overrun) == (True, False, True)


def test_what_was_told_before_an_overrun_is_forgotten(host: Namespace) -> None:
    """The last that was heard of a link may not be what it last was."""

    def overrun() -> bool:
        with Events() as events:
            ip("link set eth0 mtu 1400")
            events.drain()
            ip(*(f"addr add 10.{10 + n // 250}.{n % 250}.1/32 dev eth0" for n in range(3000)))
            ip("link set eth0 mtu 1300")  # its news find no room
            assert events.drain()
            ip("link set eth0 mtu 1400")
            return events.drain()

    assert host.call(overrun)


def test_wait_returns_when_something_happens(host: Namespace) -> None:
    def waiting() -> tuple[bool, int]:
        with Events() as events:
            later = threading.Timer(0.05, ip, ["route add 10.65.0.0/26 via 10.0.0.9", "link set eth0 mtu 1300"])
            later.start()
            heard = events.wait(SOON_S)
            later.join()
            link = next(link for link in links() if link.name == "eth0")
            return heard, link.mtu

    assert host.call(waiting) == (True, 1300)


def test_wait_gives_up_when_nothing_does(host: Namespace) -> None:
    def waiting() -> bool:
        with Events() as events:
            return events.wait(0.05)

    assert not host.call(waiting)


def test_an_event_loop_hears_through_the_descriptor(host: Namespace) -> None:
    async def listening(act: Callable[[], None]) -> bool:
        heard: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        with Events() as events:
            asyncio.get_running_loop().add_reader(events.fileno(), lambda: heard.set_result(events.drain()))
            act()
            try:
                return await asyncio.wait_for(heard, SOON_S)
            finally:
                asyncio.get_running_loop().remove_reader(events.fileno())

    assert host.call(lambda: asyncio.run(listening(lambda: ip("addr add 10.0.0.7/24 dev eth0"))))


def test_news_of_other_namespaces_are_not_ours(host: Namespace) -> None:
    with Namespace("events") as other:

        def listening() -> bool:
            with Events() as events:
                other.ip("link", "add", "br0", "type", "bridge")
                return events.drain()

        assert not host.call(listening)


def test_closing_gives_the_descriptor_back(host: Namespace) -> None:
    def opened_and_closed() -> bool:
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with Events() as events:
                events.drain()
        return sorted(os.listdir("/proc/self/fd")) == before

    assert host.call(opened_and_closed)
