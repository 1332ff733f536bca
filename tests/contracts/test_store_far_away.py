"""An etcd far away: one way there and back for all that a start reads, and a way that may hang or break."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.support.delay import Proxy
from tests.support.etcd_requests import requests_served, requests_since
from tests.support.etcd_server import EtcdServer, free_port, running_etcd

from tortie.store.contract import Put, Unauthorized, Unreachable, put
from tortie.store.etcd import EtcdConfig, EtcdStore

ROOT = Path(__file__).parent.parent.parent
NODES = "/calico/resources/v3/projectcalico.org/nodes/"
DEADLINE_S = 120.0


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    with running_etcd() as server:
        yield server


def run(scenario: Callable[[EtcdStore], Awaitable[None]], *endpoints: str) -> None:
    async def guarded() -> None:
        store = EtcdStore(EtcdConfig(endpoints=endpoints))
        try:
            async with asyncio.timeout(DEADLINE_S):
                await scenario(store)
        finally:
            await store.close()

    asyncio.run(guarded())


async def register(store: EtcdStore, count: int, size: int = 900) -> None:
    names = [f"{NODES}node-{number:05}" for number in range(count)]
    for begin in range(0, count, 100):
        await store.commit([Put(name, name.encode().ljust(size, b".")) for name in names[begin : begin + 100]])


# The snapshot


@pytest.mark.parametrize("count", [1, 20_000])
def test_all_nodes_of_a_cluster_are_read_with_one_request_of_a_new_client(count: int) -> None:
    async def fill(store: EtcdStore) -> None:
        await register(store, count)
        await put(store, "/calico/one", b"1")

    async def scenario(store: EtcdStore) -> None:
        before = requests_served(server.port)
        snapshot = await store.snapshot(["/calico/one", "/calico/none"], [NODES], timeout_s=DEADLINE_S)
        assert requests_since(before, server.port) == {"Txn": 1}
        assert list(snapshot.entries) == ["/calico/one"]
        found = snapshot.listings[NODES]
        assert [entry.key for entry in found] == [f"{NODES}node-{number:05}" for number in range(count)]
        assert all(entry.value == entry.key.encode().ljust(900, b".") for entry in found)

    with running_etcd() as server:
        run(fill, server.endpoint)
        run(scenario, server.endpoint)


_HOLDING = """
import asyncio, sys
from tortie.store.etcd import EtcdConfig, EtcdStore

def kilobytes(field):
    return int(open("/proc/self/status").read().partition(field)[2].split()[0])

async def scenario():
    store = EtcdStore(EtcdConfig(endpoints=(sys.argv[1],)))
    await store.snapshot(["/connected"])
    before = kilobytes("VmRSS:")
    await store.snapshot([], ["/calico/"], timeout_s=60)
    print(kilobytes("VmHWM:") - before)
    await store.close()

asyncio.run(scenario())
"""


def test_a_large_snapshot_is_never_held_three_times() -> None:
    count, size = 10_000, 900

    async def fill(store: EtcdStore) -> None:
        await register(store, count, size)

    with running_etcd() as etcd:
        run(fill, etcd.endpoint)
        # The C library keeps what is freed in ways that depend on sizes seen before; not with this setting.
        environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
        done = subprocess.run(
            [sys.executable, "-c", _HOLDING, etcd.endpoint],
            env=environment,
            stdout=subprocess.PIPE,
            timeout=DEADLINE_S,
            check=True,
        )
    assert int(done.stdout) * 1024 < 3 * count * (size + len(NODES) + 10)


def test_a_snapshot_of_what_a_role_does_not_cover_is_refused_whole() -> None:
    async def scenario(endpoint: str) -> None:
        store = EtcdStore(EtcdConfig(endpoints=(endpoint,), username="felix", password="battery staple"))
        try:
            assert (await store.snapshot(["/calico/a"], ["/calico/"])).entries == {}
            with pytest.raises(Unauthorized, match="does not allow user felix to read /calico/a, /registry/"):
                await store.snapshot(["/calico/a"], ["/registry/"])
        finally:
            await store.close()

    with running_etcd() as etcd:
        etcd.etcdctl("user", "add", "felix:battery staple")
        etcd.etcdctl("role", "add", "calico")
        etcd.etcdctl("role", "grant-permission", "calico", "readwrite", "--prefix=true", "/calico/")
        etcd.etcdctl("user", "grant-role", "felix", "calico")
        etcd.enable_auth("correct horse")
        asyncio.run(scenario(etcd.endpoint))


# Trouble on the way


def test_a_snapshot_passes_over_a_dead_endpoint(etcd: EtcdServer) -> None:
    async def scenario(store: EtcdStore) -> None:
        assert (await store.snapshot(["/none"], ["/none/"])).listings == {"/none/": ()}

    run(scenario, f"http://127.0.0.1:{free_port()}", etcd.endpoint)


def test_a_snapshot_whose_connection_breaks_is_asked_for_again_elsewhere(etcd: EtcdServer) -> None:
    async def scenario(store: EtcdStore) -> None:
        await put(store, "/broken/a", b"1")
        proxy.pause()
        before = requests_served(etcd.port)
        reading = asyncio.create_task(store.snapshot(["/broken/a"], ["/broken/"]))
        await asyncio.to_thread(proxy.wait_until_held)
        await asyncio.to_thread(proxy.cut)
        snapshot = await reading
        assert snapshot.listings["/broken/"] == (snapshot.entries["/broken/a"],)
        assert requests_since(before, etcd.port)["Txn"] == 1

    with Proxy("127.0.0.1", etcd.port) as proxy:
        run(scenario, proxy.endpoint, etcd.endpoint)


def test_a_way_that_hangs_ends_a_snapshot_at_its_deadline_and_it_goes_on_afterwards(etcd: EtcdServer) -> None:
    async def scenario(store: EtcdStore) -> None:
        await put(store, "/hanging/a", b"1")
        proxy.pause()
        with pytest.raises(Unreachable, match="gave no answer to read /hanging/a, /hanging/") as caught:
            await store.snapshot(["/hanging/a"], ["/hanging/"], timeout_s=0.3)
        assert caught.value.tried_s <= 0.3
        assert not caught.value.uncertain
        proxy.resume()
        assert (await store.snapshot(["/hanging/a"])).get("/hanging/a") is not None

    with Proxy("127.0.0.1", etcd.port) as proxy:
        run(scenario, proxy.endpoint)


@pytest.mark.parametrize(
    ("keys", "prefixes", "told"),
    [
        (
            [f"/calico/{number}" for number in range(10)],
            ["/calico/a/", "/calico/b/"],
            "10 keys and 2 prefixes below /calico/ at once",
        ),
        ([f"/calico/nodes/{number}" for number in range(4)], [], "4 keys below /calico/nodes/ at once"),
        (["/calico/a", "/calico/b", "/calico/c"], ["/registry/"], "3 keys and 1 prefix at once"),
    ],
)
def test_a_snapshot_without_an_answer_is_told_by_its_size_and_not_by_all_its_keys(
    keys: list[str], prefixes: list[str], told: str
) -> None:
    async def scenario(store: EtcdStore) -> None:
        with pytest.raises(Unreachable, match=f"gave no answer to read {told} within"):
            await store.snapshot(keys, prefixes, timeout_s=0.2)

    run(scenario, f"http://127.0.0.1:{free_port()}")


def test_a_new_client_on_a_way_that_hangs_is_told_and_served_when_it_is_free_again(etcd: EtcdServer) -> None:
    """The first request of a connection asks nobody first whether it may; it must notice all the same."""

    async def scenario(store: EtcdStore) -> None:
        proxy.pause()
        with pytest.raises(Unreachable, match="no answer within"):
            await store.snapshot(["/a"], timeout_s=0.3)
        with pytest.raises(Unreachable, match="no answer within") as caught:
            await put(store, "/a", b"", timeout_s=0.3)
        assert not caught.value.uncertain, "it was never sent"
        proxy.resume()
        assert (await store.snapshot(["/a"])).get("/a") is None

    with Proxy("127.0.0.1", etcd.port) as proxy:
        run(scenario, proxy.endpoint)


def test_a_connection_that_died_unnoticed_is_given_up_for_a_new_one(etcd: EtcdServer) -> None:
    async def scenario(store: EtcdStore) -> None:
        await put(store, "/stranded", b"1")
        proxy.strand()
        while True:
            try:
                # Half of it is what the new connection has for its answer; else it is given up, too.
                snapshot = await store.snapshot(["/stranded"], timeout_s=4)
                break
            except Unreachable:
                continue
        assert snapshot.get("/stranded") is not None
        assert proxy.accepted == 2

    with Proxy("127.0.0.1", etcd.port) as proxy:
        run(scenario, proxy.endpoint)


def test_a_way_that_is_mended_within_the_deadline_is_waited_for(etcd: EtcdServer) -> None:
    async def scenario(store: EtcdStore) -> None:
        await put(store, "/mended", b"1")
        proxy.cut()
        with pytest.raises(Unreachable, match="connection refused"):
            await store.snapshot(["/mended"], timeout_s=1.2)  # the last attempt begins well before the end
        reading = asyncio.create_task(store.snapshot(["/mended"], timeout_s=20))
        await asyncio.to_thread(proxy.mend)
        assert (await reading).get("/mended") is not None

    with Proxy("127.0.0.1", etcd.port) as proxy:
        run(scenario, proxy.endpoint)


def test_over_a_long_way_every_request_gets_its_own_answer(etcd: EtcdServer) -> None:
    async def scenario(store: EtcdStore) -> None:
        await asyncio.gather(*(put(store, f"/far/{number}", b"%d" % number) for number in range(50)))
        entries = await asyncio.gather(*(store.get(f"/far/{number}") for number in range(50)))
        assert [entry and entry.value for entry in entries] == [b"%d" % number for number in range(50)]

    with Proxy("127.0.0.1", etcd.port, round_trip_s=0.02) as proxy:
        run(scenario, proxy.endpoint)
        assert proxy.accepted == 1


# The long way itself


def test_bytes_arrive_in_order_and_none_is_lost_in_either_direction() -> None:
    sent = bytes(range(256)) * 20_000

    with socket.create_server(("127.0.0.1", 0)) as listener:
        echoing = threading.Thread(target=_echo, args=(listener,))
        echoing.start()
        with (
            Proxy("127.0.0.1", listener.getsockname()[1], round_trip_s=0.01) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), timeout=DEADLINE_S) as client,
        ):
            sending = threading.Thread(target=_send, args=(client, sent))
            sending.start()
            assert _everything(client) == sent
            sending.join()
        echoing.join()


def _echo(listener: socket.socket) -> None:
    """Until the other side has said all, and then as all that was said."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(DEADLINE_S)
        connection.sendall(_everything(connection))


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def _everything(connection: socket.socket) -> bytes:
    pieces = []
    while piece := connection.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces)
