"""Who holds a port, asked of real sockets of real processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.support.netns import Namespace

from tortie.host.ports import Holder, describe, describe_holder, holders, trouble_binding

# Takes a port in one of several ways and says when it has it; `name` is what the kernel shall call the process.
TAKE = """
import ctypes, os, signal, socket, sys
how, name, address, port = sys.argv[1:5]
ctypes.CDLL(None).prctl(15, name.encode())
family = socket.AF_INET6 if ":" in address else socket.AF_INET
taken = socket.socket(family)
if family == socket.AF_INET6:
    taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
taken.bind((address, int(port)))
if how == "connect":
    other = socket.create_server((address, 0))
    taken.connect(other.getsockname())
elif how != "bind":
    taken.listen()
if how == "fork" and os.fork() == 0:
    signal.pause()
print("has it", flush=True)
sys.stdin.read()
"""


class Taker(NamedTuple):
    namespace: Namespace

    def take(self, port: int, *, how: str = "listen", name: str = "taker", address: str = "127.0.0.1") -> int:
        """Returns the pid of the process that has the port now."""
        process = self.namespace.popen(
            *(sys.executable, "-c", TAKE, how, name, address, port, "--secret\x1b[31m"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout
        assert process.stdout.readline() == "has it\n"
        return process.pid


@pytest.fixture
def taker() -> Iterator[Taker]:
    with Namespace("check") as namespace:
        yield Taker(namespace)


def test_a_free_port_has_no_holder(taker: Taker) -> None:
    assert taker.namespace.call(holders, 9099) == ()
    assert taker.namespace.call(describe_holder, 9099) == ""
    assert taker.namespace.call(trouble_binding, "127.0.0.1", 9099) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::1"])
def test_a_listener_is_found_with_its_address(taker: Taker, address: str) -> None:
    pid = taker.take(9099, address=address, name="weatherd")
    [holder] = taker.namespace.call(holders, 9099)
    assert (holder.pid, holder.program, holder.address) == (pid, "weatherd", address)
    assert taker.namespace.call(trouble_binding, address, 9099) is not None
    assert taker.namespace.call(holders, 9098) == ()


def test_the_phrase_names_program_pid_and_command_line_and_is_safe_on_a_terminal(taker: Taker) -> None:
    pid = taker.take(9099, name="weatherd")
    phrase = taker.namespace.call(describe_holder, 9099)
    assert phrase.startswith(f"weatherd (pid {pid}, {sys.executable} -c ")
    assert phrase.endswith(" on 127.0.0.1")
    assert phrase.isprintable()


def test_a_port_of_another_namespace_is_free_here(taker: Taker) -> None:
    taker.take(9099)
    with Namespace("check") as other:
        assert other.call(holders, 9099) == ()


def test_workers_that_share_a_socket_are_told_as_one(taker: Taker) -> None:
    pid = taker.take(9099, how="fork", name="workers")
    found = taker.namespace.call(holders, 9099)
    assert len(found) == 2
    assert pid in {holder.pid for holder in found}
    phrase = taker.namespace.call(describe_holder, 9099)
    assert phrase.startswith("workers (pids ")
    assert " and " not in phrase


def test_two_programs_are_both_named(taker: Taker) -> None:
    taker.take(9099, address="127.0.0.1", name="first")
    taker.take(9099, address="127.0.0.2", name="second")
    phrase = taker.namespace.call(describe_holder, 9099)
    assert phrase.startswith("first (pid")
    assert " on 127.0.0.1 and second (pid" in phrase


def test_an_outgoing_connection_that_happens_to_have_the_port_is_found(taker: Taker) -> None:
    pid = taker.take(9099, how="connect", name="client")
    assert [holder.pid for holder in taker.namespace.call(holders, 9099)] == [pid]


def test_a_socket_that_only_bound_the_port_is_not_listed_but_noticed(taker: Taker) -> None:
    taker.take(9099, how="bind")
    assert taker.namespace.call(holders, 9099) == ()
    assert isinstance(taker.namespace.call(trouble_binding, "127.0.0.1", 9099), OSError)


def test_a_holder_that_is_not_ours_to_see_is_told_by_its_user(taker: Taker) -> None:
    taker.take(9099)

    def as_nobody() -> tuple[tuple[Holder, ...], str]:
        os.setgid(65534)
        os.setuid(65534)
        found = holders(9099)
        return found, describe(found)

    found, phrase = taker.namespace.call(as_nobody)
    assert found == (Holder(0, "", "127.0.0.1"),)
    assert phrase == "a process of user 0 that cannot be seen from here on 127.0.0.1"


def test_in_this_process_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        [holder] = holders(server.getsockname()[1])
    assert holder.pid == os.getpid()
