"""Endpoints with host names: name servers that know nothing, say nothing, or take their time."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator

import pytest
from tests.support.etcd_server import free_port
from tests.support.netns import Namespace

from tortie.store.contract import Unreachable
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.etcd.resolving import Resolver

# As patient as the C library can be: with five attempts a look-up takes minutes, and cannot be ended.
PATIENT = "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n"

# A name server in this very process, with its manner as the first word, and then a command with two seconds of time.
_SCRIPT = """
import asyncio, socket, sys, threading
from tortie.store.contract import Unreachable
from tortie.store.etcd import EtcdConfig, EtcdStore

manner = sys.argv[1]
held = []
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

def answer(query, code, address=b""):
    body = query[12:query.index(b"\\0", 12) + 5]
    record = b"\\xc0\\x0c\\0\\x01\\0\\x01\\0\\0\\0\\x3c\\0\\x04" + address if address else b""
    head = query[:2] + bytes([0x81, 0x80 | code, 0, 1, 0, bool(address), 0, 0, 0, 0])
    return head + body + record

def serve():
    while True:
        query, client = server.recvfrom(512)
        if manner == "ignorant":
            server.sendto(answer(query, 3), client)
        else:
            held.append((query, client))

def is_for_ipv4(query):
    return query[query.index(b"\\0", 12) + 2] == 1

async def attempt(store, timeout_s):
    try:
        await store.get("/a", timeout_s=timeout_s)
    except Unreachable as error:
        print(error.what, error.why, error.fix, sep="|")

async def scenario():
    store = EtcdStore(EtcdConfig(endpoints=("http://etcd.example:2379",)))
    await attempt(store, 2)
    if manner == "slow":
        print(sum(is_for_ipv4(query) for query, _ in held))
        for query, client in held:
            address = socket.inet_aton("127.0.0.1") if is_for_ipv4(query) else b""
            server.sendto(answer(query, 0, address), client)
        with socket.create_server(("127.0.0.1", 2379)) as listener:
            await attempt(store, 4)
            listener.setblocking(False)
            listener.accept()[0].close()
    await store.close()

if manner != "absent":
    server.bind(("127.0.0.1", 53))
    threading.Thread(target=serve, daemon=True).start()
asyncio.run(scenario())
"""


@pytest.fixture
def machine() -> Iterator[Namespace]:
    with Namespace("names") as namespace:
        namespace.write_file("resolv.conf", PATIENT)
        yield namespace


def told(machine: Namespace, manner: str) -> list[str]:
    """The lines of a process that has to end soon, however long the look-up takes."""
    return machine.run(sys.executable, "-c", _SCRIPT, manner).stdout.splitlines()


def test_a_name_server_that_never_answers_is_blamed_and_nobody_waits_for_it(machine: Namespace) -> None:
    (line,) = told(machine, "silent")
    what, why, fix = line.split("|")
    assert what.endswith("etcd http://etcd.example:2379 gave no answer to read /a within 2.0 s")
    assert "no name server gave an answer about the host name etcd.example within " in why
    assert "/etc/resolv.conf" in fix
    assert "etcd on it hangs" not in line


def test_a_machine_without_a_name_server_is_told_so(machine: Namespace) -> None:
    (line,) = told(machine, "absent")
    assert "no name server gave an answer about the host name etcd.example (" in line
    assert "/etc/resolv.conf" in line


def test_a_name_that_the_name_server_does_not_know_is_told_as_that(machine: Namespace) -> None:
    (line,) = told(machine, "ignorant")
    assert "the host name etcd.example is not known (" in line
    assert line.endswith("correct it in ETCD_ENDPOINTS, or enter it in the DNS or in /etc/hosts")


def test_a_later_attempt_takes_the_answer_that_an_earlier_one_had_no_time_for(machine: Namespace) -> None:
    """Else a name server slower than one attempt would never be of use, and each attempt would leave a thread."""
    first, asked, second = told(machine, "slow")  # the process fails if nobody connected
    assert "no name server gave an answer" in first
    assert asked == "1", "although that command made more than one attempt"
    assert "no answer within" in second


def test_a_name_with_several_addresses_is_connected_by_the_first_that_takes_it(machine: Namespace) -> None:
    machine.write_file("hosts", "127.0.0.2 etcd.example\n127.0.0.3 etcd.example\n127.0.0.4 etcd.example\n")
    assert machine.call(_peer_by_name, "127.0.0.3") == "127.0.0.3"
    with pytest.raises(ConnectionRefusedError):
        machine.call(_peer_by_name, "127.0.0.9")


def _peer_by_name(listening: str) -> str:
    async def scenario(port: int) -> str:
        _, writer = await Resolver("etcd.example").connected(lambda address: asyncio.open_connection(address, port))
        peer: str = writer.get_extra_info("peername")[0]
        writer.close()
        return peer

    with socket.create_server((listening, 0)) as listener:
        return asyncio.run(scenario(listener.getsockname()[1]))


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "etcd..example"])
def test_what_cannot_be_a_name_is_no_defect_of_ours(host: str) -> None:
    async def scenario() -> None:
        store = EtcdStore(EtcdConfig(endpoints=(f"http://{host}:{free_port()}",)))
        try:
            with pytest.raises(Unreachable, match="is not known"):
                await store.get("/a", timeout_s=1.2)  # the last attempt begins well before the end
        finally:
            await store.close()

    asyncio.run(scenario())
