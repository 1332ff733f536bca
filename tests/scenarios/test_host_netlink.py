"""Lists that change while the kernel is telling them."""

from __future__ import annotations

import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.netns import Namespace

from tortie.host.links import interfaces_in, observe
from tortie.host.netlink import Netlink, NetlinkError

GET_LINK = 18
LINKS = 200  # more than fit into one datagram


@pytest.fixture
def host() -> Iterator[Namespace]:
    with Namespace("netlink") as namespace:
        namespace.batch(*(f"link add cali{number} type veth peer name pod{number}" for number in range(LINKS // 2)))
        yield namespace


class Disturbed(socket.socket):
    """A socket to the kernel beside which a link is added, after the first datagram of each of so many readings."""

    disturbances = 0

    def sendto(self, *args: Any) -> int:
        self.undisturbed = True
        return super().sendto(*args)

    def recvmsg(self, *args: Any) -> Any:
        answer = super().recvmsg(*args)
        if self.undisturbed and self.disturbances:
            self.undisturbed = False
            self.disturbances -= 1
            subprocess.run(["ip", "link", "add", f"new{self.disturbances}", "type", "bridge"], check=True)
        return answer


def links_told(disturbances: int) -> list[str]:
    with Netlink() as kernel:
        kernel.socket = disturbed = Disturbed(fileno=kernel.socket.detach())
        disturbed.disturbances = disturbances
        messages = kernel.dump(GET_LINK, struct.pack("=BxHiII", 0, 0, 0, 0, 0), "the links", time.monotonic() + 20)
        return [link.name for message in messages for link in interfaces_in(message)]


def test_a_list_that_changed_meanwhile_is_read_again(host: Namespace) -> None:
    names = host.call(links_told, 3)
    assert len(names) == len(set(names)) == 1 + LINKS + 3
    assert {"new0", "new1", "new2"} <= set(names)


def test_a_list_that_never_stays_still_is_given_up(host: Namespace) -> None:
    with pytest.raises(NetlinkError) as caught:
        host.call(links_told, 1000)
    assert caught.value.what == "cannot read the links from the kernel"
    assert caught.value.why == "10 readings in a row were disturbed by changes"
    assert caught.value.fix == "find what changes them all the time: ip monitor"


def test_a_host_where_pods_come_and_go(host: Namespace) -> None:
    """Whatever is told, each link is told once, and those that were there all the time are never missing."""
    churn = host.popen("sh", "-c", "while :; do ip link add pair0 type veth peer name pair1; ip link del pair0; done")

    def looks() -> list[list[str]]:
        return [[link.name for link in observe(20).interfaces] for _ in range(30)]

    for names in host.call(looks):
        assert len(names) == len(set(names))
        assert len(set(names) - {"pair0", "pair1"}) == 1 + LINKS
    assert churn.poll() is None
