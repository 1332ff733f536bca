"""What lies in etcd is exactly what was given, as Calico and etcdctl see it; big scans are snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.support.etcd_server import EtcdServer, running_etcd
from tests.support.stores import CompactableStore

from tortie.model.errors import UsageError
from tortie.store.contract import ABSENT, Conflict, Damaged, Delete, Operation, Put, put
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.etcd.refusal import Refused
from tortie.store.etcd.rpc import RANGE


class CLIENT:
    """The one that a test is about."""

    open: Callable[[EtcdConfig], CompactableStore]


@pytest.fixture(autouse=True)
def either_client(etcd_client: Callable[[EtcdConfig], CompactableStore], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CLIENT, "open", etcd_client, raising=False)


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    with running_etcd() as server:
        yield server


def run(etcd: EtcdServer, scenario: Callable[[CompactableStore], Awaitable[None]]) -> None:
    async def guarded() -> None:
        store = CLIENT.open(EtcdConfig(endpoints=(etcd.endpoint,)))
        try:
            await scenario(store)
        finally:
            await store.close()

    asyncio.run(guarded())


NODE_KEY = "/calico/resources/v3/projectcalico.org/nodes/k8smaster1"
NODE = b'{"kind":"Node","metadata":{"name":"k8smaster1"},"spec":{"bgp":{"ipv4Address":"10.0.0.66/24"}}}'


def test_etcdctl_reads_the_bytes_that_the_store_wrote(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        await put(store, NODE_KEY, NODE)
        await put(store, "/calico/é☃", b"\xff\x00 not text")

    run(etcd, scenario)
    assert etcd.etcdctl("get", NODE_KEY, "--print-value-only") == NODE + b"\n"
    assert etcd.etcdctl("get", "/calico/é☃", "--print-value-only") == b"\xff\x00 not text\n"
    assert etcd.etcdctl("get", "--prefix", "/calico/", "--keys-only").split() == [
        NODE_KEY.encode(),
        "/calico/é☃".encode(),
    ]


def test_the_store_reads_the_bytes_that_etcdctl_wrote(etcd: EtcdServer) -> None:
    etcd.etcdctl("put", "/foreign/key", stdin=NODE)

    async def scenario(store: CompactableStore) -> None:
        entry = await store.get("/foreign/key")
        assert entry is not None
        assert entry.value == NODE
        assert (await store.scan("/foreign/")).entries == (entry,)

    run(etcd, scenario)


def test_a_foreign_key_that_is_not_text_is_named_instead_of_misread(etcd: EtcdServer) -> None:
    etcd.etcdctl("put", "--", b"/binary/\xff".decode(errors="surrogateescape"), "x")

    async def scenario(store: CompactableStore) -> None:
        with pytest.raises(Damaged, match="it is not text"):
            await store.scan("/binary/")

    run(etcd, scenario)


def test_a_scan_of_several_pages_is_one_snapshot_while_others_write(etcd: EtcdServer) -> None:
    """A writer renames everything all the time, in one commit each: a mix of two moments would show."""

    async def scenario(store: CompactableStore) -> None:
        keys = [f"/big/{number:05}" for number in range(12_000)]
        for begin in range(0, len(keys), 100):
            await store.commit([Put(key, b"0") for key in keys[begin : begin + 100]])
        over = asyncio.Event()

        async def disturb() -> None:
            generation = 0
            while not over.is_set():
                generation += 1
                value = str(generation).encode()
                # The first, the last and one in the middle always change together.
                await store.commit([Put(key, value) for key in (keys[0], keys[6_000], keys[-1])])

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(disturb())
            revisions = set()
            for _ in range(5):
                listing = await store.scan("/big/")
                found = {entry.key: entry for entry in listing.entries}
                assert list(found) == keys
                assert len({found[key].value for key in (keys[0], keys[6_000], keys[-1])}) == 1
                assert max(entry.revision for entry in listing.entries) <= listing.revision
                revisions.add(listing.revision)
            over.set()
        assert len(revisions) == 5

    run(etcd, scenario)


@pytest.mark.parametrize("etcd_client", ["loop"], indirect=True)  # pages are read by what both share
@pytest.mark.parametrize(("disturbances", "succeeds"), [(2, True), (1_000, False)], ids=["twice", "always"])
def test_a_scan_whose_revision_is_compacted_between_its_pages_begins_again_within_bounds(
    etcd: EtcdServer, monkeypatch: pytest.MonkeyPatch, disturbances: int, succeeds: bool
) -> None:
    async def scenario(store: CompactableStore) -> None:
        for begin in range(0, 6_000, 100):
            await store.commit([Put(f"/moving/{number:05}", b"x") for number in range(begin, begin + 100)])
        assert isinstance(store, EtcdStore)
        left = disturbances
        read = store._client.read

        async def read_and_compact(rpc: Any, request: Any, *others: Any) -> Any:
            nonlocal left
            reply = await read(rpc, request, *others)
            if rpc is RANGE and left:
                left -= 1
                await store.compact(await put(store, "/moving/00000", b"y"))
            return reply

        monkeypatch.setattr(store._client, "read", read_and_compact)
        if succeeds:
            assert len((await store.scan("/moving/")).entries) == 6_000
            assert left == 0
        else:
            with pytest.raises(Refused, match="compacted 5 times meanwhile"):
                await store.scan("/moving/")

    run(etcd, scenario)


def test_a_conflict_names_the_first_expectation_that_failed_and_what_stands_there(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        revision = await put(store, "/c/a", b"1")
        await put(store, "/c/b", b"2")
        operations: list[Operation] = [
            Put("/c/new", b"x"),
            Put("/c/a", b"x", revision),
            Put("/c/b", b"x", ABSENT),
            Delete("/c/gone", 7),
        ]
        with pytest.raises(Conflict) as caught:
            await store.commit(operations)
        assert caught.value.key == "/c/b"
        assert caught.value.expecting is ABSENT
        assert caught.value.found == await store.get("/c/b")
        assert await store.get("/c/new") is None
        with pytest.raises(Conflict) as missing:
            await store.commit([Put("/c/gone", b"x", 0)])
        assert missing.value.found is None

    run(etcd, scenario)


def test_compacting_twice_is_no_error(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        revision = await put(store, "/compacted", b"x")
        await store.compact(revision)
        await store.compact(revision)
        with pytest.raises(Refused, match="future revision"):
            await store.compact(revision + 1_000)

    run(etcd, scenario)


@pytest.mark.parametrize("count", [60, 100], ids=["refused by etcd", "refused by its gRPC"])
def test_a_request_above_etcds_limit_is_the_callers_mistake(etcd: EtcdServer, count: int) -> None:
    """Within our own count of bytes, but the keys travel three times in a guarded commit."""

    async def scenario(store: CompactableStore) -> None:
        operations = [Put(f"/{number}/" + "k" * 9_000, b"", ABSENT) for number in range(count)]
        with pytest.raises(UsageError, match="too large"):
            await store.commit(operations)

    run(etcd, scenario)


def test_a_full_database_is_told_with_what_makes_room() -> None:
    async def scenario(store: CompactableStore) -> None:
        with pytest.raises(Refused) as caught:
            await fill(store)
        assert "its database is full" in caught.value.why
        assert "alarm disarm" in caught.value.fix
        assert await store.get("/filler/0") is not None  # reading goes on

    async def fill(store: CompactableStore) -> None:
        for number in range(100):
            await put(store, f"/filler/{number}", b"x" * 1_000_000)

    with running_etcd(arguments=[f"--quota-backend-bytes={4 * 2**20}"]) as small:
        run(small, scenario)
