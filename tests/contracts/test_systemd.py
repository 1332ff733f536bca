"""News for systemd, received on a real datagram socket as systemd receives it."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tortie.host.systemd import Notifier


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, Notifier]]:
    name = str(tmp_path / "notify") if request.param == "path" else f"@tortie-{uuid.uuid4().hex}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as receiver:
        receiver.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        receiver.settimeout(30)
        yield receiver, Notifier({"NOTIFY_SOCKET": name})


def received(receiver: socket.socket) -> list[str]:
    return receiver.recv(4096).decode().split("\n")


def test_every_piece_of_news_is_one_datagram(manager: tuple[socket.socket, Notifier]) -> None:
    receiver, notifier = manager
    assert notifier.ready()
    assert received(receiver) == ["READY=1"]
    assert notifier.ready("registered as n1")
    assert received(receiver) == ["READY=1", "STATUS=registered as n1"]
    assert notifier.watchdog()
    assert received(receiver) == ["WATCHDOG=1"]
    assert notifier.extend(1.5)
    assert received(receiver) == ["EXTEND_TIMEOUT_USEC=1500000"]
    assert notifier.stopping()
    assert received(receiver) == ["STOPPING=1"]


def test_a_status_is_one_line_whatever_it_holds(manager: tuple[socket.socket, Notifier]) -> None:
    receiver, notifier = manager
    assert notifier.status("phase datastore:\n  READY=1 猫")
    assert received(receiver) == ["STATUS=phase datastore: READY=1 猫"]


def test_a_reload_tells_its_time(manager: tuple[socket.socket, Notifier]) -> None:
    receiver, notifier = manager
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert notifier.reloading()
    first, second = received(receiver)
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


@pytest.mark.parametrize(
    "address", [None, "", "relative", "vsock:2:1", "/nowhere/notify", "@nobody-there", "/" + "x" * 300]
)
def test_without_anybody_who_listens_nothing_happens(address: str | None) -> None:
    notifier = Notifier({} if address is None else {"NOTIFY_SOCKET": address})
    assert not any(
        (notifier.ready(), notifier.status("x"), notifier.watchdog(), notifier.extend(1), notifier.stopping())
    )


def test_a_manager_that_does_not_read_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Each attempt gives up by itself: were one to wait for ever, this test would never end."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        for _ in range(100_000):
            if not notifier.watchdog():
                break
        else:
            pytest.fail("the queue has no end")


@pytest.mark.parametrize(
    ("environment", "interval_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "often"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
    ],
)
def test_the_watchdog_is_fed_twice_in_its_time(environment: dict[str, str], interval_s: float | None) -> None:
    assert Notifier(environment).watchdog_interval_s == interval_s
