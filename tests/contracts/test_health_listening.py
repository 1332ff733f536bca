"""Where the health page listens, and what it does where it cannot: names, broken machines, ports that others hold."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.health_pages import DEADLINE_S, eventually, get

from tortie.health.health import Health
from tortie.health.page import Page, serve
from tortie.health.routes import health_routes
from tortie.health.state import Trouble


@pytest.fixture
def health() -> Health:
    return Health(time.monotonic)


@pytest.fixture
def page(health: Health) -> Iterator[Page]:
    with closing(serve("localhost", 0, health_routes(health))) as page:
        yield page


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_localhost_is_both_loopback_addresses(page: Page) -> None:
    assert [address for address, _ in page.addresses] == ["127.0.0.1", "::1"]
    assert page.trouble is None
    for host in ("127.0.0.1", "::1"):
        assert get(page, "/", host=host).status == 200


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "127.0.0.1", "::1", "127.0.0.3", "[::1]"])
def test_an_address_is_taken_as_it_is(health: Health, host: str) -> None:
    with closing(serve(host, 0, health_routes(health))) as page:
        ways = {"": ["127.0.0.1", "127.0.0.2", "::1"], "0.0.0.0": ["127.0.0.2"], "::": ["::1"]}
        for way in ways.get(host, [host.strip("[]")]):
            assert get(page, "/", host=way).status == 200


def test_a_name_that_does_not_resolve_is_explained(health: Health) -> None:
    with closing(serve("no-such-name.invalid", 9, health_routes(health))) as page:
        eventually(lambda: page.trouble is not None, "the page says what is wrong")
        assert page.trouble is not None
        assert page.trouble.what == "the health page cannot listen on no-such-name.invalid"
        assert "FELIX_HEALTHHOST" in page.trouble.fix


def test_an_address_of_another_machine_is_explained(health: Health) -> None:
    with closing(serve("192.0.2.99", 9, health_routes(health))) as page:
        assert page.addresses == ()
        assert page.trouble is not None
        assert page.trouble.why == "no interface of this machine has that address"
        assert page.trouble.fault == "the configuration"


def test_a_page_whose_port_is_taken_says_by_whom_and_comes_up_once_it_is_free(health: Health) -> None:
    holder = socket.create_server(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    with closing(serve("127.0.0.1", port, health_routes(health), who_holds=lambda _: "nginx (pid 7)")) as page:
        assert page.addresses == ()
        assert page.trouble == Trouble(
            f"the health page cannot listen on 127.0.0.1:{port}",
            "Address already in use: the port is held by nginx (pid 7)",
            "stop that process, or choose another port with FELIX_HEALTHPORT",
            "this node",
        )
        holder.close()
        # The page's thread listens first, and takes its complaint back afterwards.
        eventually(lambda: bool(page.addresses) and page.trouble is None, "the page comes up by itself")
        assert get(page, "/liveness").status == 200


def test_one_of_two_loopback_addresses_taken_is_a_trouble_and_the_other_serves(health: Health) -> None:
    holder = socket.create_server(("::1", 0), family=socket.AF_INET6)
    with closing(serve("localhost", holder.getsockname()[1], health_routes(health))) as page:
        assert page.trouble is not None
        assert "[::1]" in page.trouble.what
        assert get(page, "/liveness").status == 200
        holder.close()
        eventually(
            lambda: len(page.addresses) == 2 and page.trouble is None, "the page takes the second address by itself"
        )


def test_who_cannot_find_the_holder_of_a_port_does_no_harm(health: Health) -> None:
    def fails(_: int) -> str:
        raise PermissionError

    with (
        socket.create_server(("127.0.0.1", 0)) as holder,
        closing(serve("127.0.0.1", holder.getsockname()[1], health_routes(health), who_holds=fails)) as page,
    ):
        assert page.trouble is not None
        assert "another process holds the port" in page.trouble.why


@pytest.mark.parametrize("before", [[], ["up", "down"]], ids=["never up", "up before"])
def test_a_loopback_interface_that_is_down_is_explained_and_awaited(before: list[str]) -> None:
    """In a network namespace of its own, where lo is down at first."""
    script = """
import subprocess, sys, time
from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.probe import ask
from tortie.health.routes import health_routes
for command in sys.argv[1:]:
    subprocess.run(["ip", "link", "set", "lo", command], check=True)
page = serve("localhost", 9099, health_routes(Health(time.monotonic)))
print(page.addresses, page.trouble.why, "|", page.trouble.fix)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
deadline = time.monotonic() + 30
while (len(page.addresses) < 2 or page.trouble) and time.monotonic() < deadline: time.sleep(0.01)
print([address for address, _ in page.addresses], page.trouble, ask("localhost", 9099, "/liveness", 10).status)
page.close()
"""
    command = ["unshare", "--net", sys.executable, "-c", script, *before]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S * 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "() the loopback interface is down or has lost its address | ip link set lo up",
        "['127.0.0.1', '::1'] None 200",
    ]


def in_a_machine_with_hosts(text: str, program: str, tmp_path: Path) -> list[str]:
    """What a program prints where /etc/hosts holds only this; in a mount namespace of its own."""
    hosts = tmp_path / "hosts"
    hosts.write_text(text + "\n")
    mounting = 'mount --bind "$0" /etc/hosts && exec "$1" -c "$2"'
    command = ["unshare", "--mount", "sh", "-c", mounting, str(hosts), sys.executable, _SERVING + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S * 2)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_SERVING = """
import time
from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.probe import ask
from tortie.health.routes import health_routes

def page_at(host):
    page = serve(host, 0, health_routes(Health(time.monotonic)))
    deadline = time.monotonic() + 30
    while not page.addresses and time.monotonic() < deadline:
        time.sleep(0.01)
    return page

def show(page, host):
    print(page.addresses[0][0], ask(host, page.addresses[0][1], "/liveness", 10).status)
"""


def test_a_broken_hosts_file_does_not_matter(tmp_path: Path) -> None:
    program = 'import socket; print(socket.gethostbyname("localhost")); show(page_at("localhost"), "localhost")'
    assert in_a_machine_with_hosts("192.0.2.1 localhost", program, tmp_path) == ["192.0.2.1", "127.0.0.1 200"]


def test_a_name_is_resolved(tmp_path: Path) -> None:
    program = 'show(page_at("here.example"), "here.example")'
    assert in_a_machine_with_hosts("127.0.0.7 here.example", program, tmp_path) == ["127.0.0.7 200"]


def test_a_closed_page_leaves_its_port_and_no_descriptor(health: Health) -> None:
    port = free_port()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        page = serve("localhost", port, health_routes(health))
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S):
            assert get(page, "/").status == 200
            page.close()
        page.close()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
