"""Records that make no sense, each of every kind: nothing but a refusal comes of them, and no neighbour suffers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from copy import deepcopy
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from tests.support.allocations import Clock, held, node, pool, request, reservation, set_up, settings

from tortie.ipam.affinity import release_node, release_pool
from tortie.ipam.allocator import Allocator
from tortie.ipam.errors import Exhausted, SettingsUnreadable
from tortie.ipam.facts import CLUSTER, NODES, POOLS, RESERVATIONS
from tortie.ipam.records import BLOCKS, read_settings
from tortie.ipam.request import Expected
from tortie.model.errors import TortieError
from tortie.model.keys import IPAM_CONFIG, block_key, handle_key, host_affinity_key
from tortie.store.contract import Delete, Put, Store, put
from tortie.store.embedded import EmbeddedStore, inline

CLOCK = Clock()
OWN, FOREIGN = "10.0.0.0/28", "10.0.0.16/28"
NASTY: tuple[Any, ...] = (None, -1, 1.5, "x", [5], {"a": 5}, 10**30)
NO_OBJECTS: tuple[bytes, ...] = (
    b"",
    b"garbage",
    b"\xff\xfe",
    b"null",
    b"5",
    b"[]",
    b'"x"',
    b"{}",
    b'{"spec":5}',
    b'{"metadata":[]}',
)
NO_OBJECTS += (b'{"kind":[]}', b'{"kind":"Node"}', b"[" * 5000, b'{"spec":' * 5000)

BLOCK = {
    "cidr": OWN,
    "affinity": "host:node1",
    "affinity_claim_time": "2024-05-01T09:00:00Z",
    "allocations": [0, 1, *[None] * 14],
    "unallocated": list(range(2, 16)),
    "attributes": [
        {"handle_id": "old", "secondary": {"node": "node1", "pod": "old"}},
        {"releasedAt": "2024-05-01T09:59:59Z"},
    ],
    "sequenceNumber": 7,
    "sequenceNumberForAllocation": {"0": 5},
    "deleted": False,
}
RECORDS: dict[str, Any] = {
    IPAM_CONFIG: {
        "strict_affinity": False,
        "auto_allocate_blocks": True,
        "maxBlocksPerHost": 3,
        "ipCooldownSeconds": 5,
    },
    CLUSTER: {"metadata": {"name": "default"}, "spec": {"datastoreReady": True, "clusterGUID": "a"}},
    f"{POOLS}default": json.loads(
        pool("default", "10.0.0.0/26", blockSize=28, nodeSelector="all()", allowedUses=["Workload", "Tunnel"]).value
    ),
    f"{NODES}node1": json.loads(node("node1", rack="a").value),
    f"{RESERVATIONS}some": json.loads(reservation("some", "10.0.0.40/30").value),
    host_affinity_key("node1", OWN): {"state": "confirmed", "deleted": False},
    host_affinity_key("node2", FOREIGN): {"state": "confirmed", "deleted": False},
    block_key(OWN): BLOCK,
    block_key(FOREIGN): {**BLOCK, "cidr": FOREIGN, "affinity": "host:node2", "attributes": [{"handle_id": "far"}, {}]},
    handle_key("old"): {"block": {OWN: 1}, "deleted": False},
    handle_key("far"): {"block": {FOREIGN: 1}, "deleted": False},
}
# What a pod of node1 cannot be without: its own node, the settings, the lock.
NEEDED = {IPAM_CONFIG, CLUSTER, f"{NODES}node1"}


def spoilt(value: Any) -> Iterator[Any]:
    """The value with each of its fields, and the fields of these, replaced by something nasty, or left out."""
    if isinstance(value, dict | list):
        for name in list(value if isinstance(value, dict) else range(min(len(value), 2))):
            without = deepcopy(value)
            del without[name]
            yield without
            for inner in (*NASTY, *spoilt(value[name])):
                changed = deepcopy(value)
                changed[name] = inner
                yield changed


def variants(key: str) -> list[bytes]:
    return [*NO_OBJECTS, *(json.dumps(value).encode() for value in spoilt(RECORDS[key]))]


async def fill(store: Store) -> None:
    wanted = [Put(key, json.dumps(value).encode()) for key, value in RECORDS.items()]
    await set_up(store, *wanted, node("node2"), pool("spare", "10.9.0.0/24"))


async def attempt(work: Any) -> Any:
    """Whatever comes of it, a refusal too; an exception that is none fails the test."""
    try:
        return await work
    except TortieError as error:
        refusal = error
    assert refusal.what
    assert refusal.why
    assert refusal.fix
    return refusal


@pytest.mark.timeout(300)
@pytest.mark.parametrize("key", RECORDS)
def test_a_record_that_makes_no_sense_ends_in_a_refusal_at_most(tmp_path: Path, key: str) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store", offload=inline)
        for number, value in enumerate(variants(key)):
            await fill(store)
            await put(store, key, value)
            ours = Allocator(store, "node1", clock=CLOCK, keep=number % 2 == 0)
            got = await attempt(ours.assign(request("new", v4=1)))
            assert key in NEEDED or not isinstance(got, TortieError), (value, got)
            await attempt(ours.assign(request("given", given=(ip_address("10.0.0.9"),))))
            await attempt(ours.assign(request("old", v4=1)))
            if not isinstance(got, TortieError):
                assert (await ours.release_handle("new")).released == got.ips, value
            every = [Expected(ip_address(ip)) for ip in ("10.0.0.0", "10.0.0.1", "10.0.0.16", "10.0.0.40", "10.99.0.1")]
            await ours.release_ips(every)
            for handle in ("old", "far"):
                freed = await attempt(ours.release_handle(handle))
                assert key.startswith(BLOCKS) or not isinstance(freed, TortieError), (value, freed)
            await release_pool(store, ip_network("10.0.0.0/26"), clock=CLOCK)
            await attempt(release_node(store, "node2", clock=CLOCK))
        await store.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "value",
    [
        b"garbage",
        b"null",
        b"[]",
        b"5",
        *(
            json.dumps({field: wrong}).encode()
            for field, wrong in (
                ("maxBlocksPerHost", "abc"),
                ("maxBlocksPerHost", True),
                ("ipCooldownSeconds", "x"),
                ("ipCooldownSeconds", 1.5),
                ("strict_affinity", "false"),
                ("auto_allocate_blocks", 1),
            )
        ),
    ],
)
def test_settings_of_wrong_types_are_not_made_to_fit(value: bytes) -> None:
    with pytest.raises(TortieError, match="cannot be read"):
        read_settings(IPAM_CONFIG, value)


@pytest.mark.parametrize(
    ("key", "value", "fix"),
    [
        (IPAM_CONFIG, b'{"maxBlocksPerHost":"abc"}', "tortie ipam configure"),
        (IPAM_CONFIG, b"garbage", "tortie ipam configure"),
        (CLUSTER, b"null", "tortie datastore unlock"),
        (CLUSTER, b'{"spec":{"datastoreReady":"no"}}', "tortie datastore unlock"),
    ],
)
def test_without_readable_settings_addresses_go_back_but_none_is_given_out(
    tmp_path: Path, key: str, value: bytes, fix: str
) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store", offload=inline)
        await set_up(store, pool("default", "10.0.0.0/26", blockSize=28), node("node1"), settings(ipCooldownSeconds=60))
        ours = Allocator(store, "node1", clock=CLOCK)
        for handle in ("one", "two", "three"):
            await ours.assign(request(handle))
        await ours.release_handle("three")
        await put(store, key, value)
        with pytest.raises(SettingsUnreadable) as refused:
            await ours.assign(request("four"))
        assert key in refused.value.what
        assert refused.value.why
        assert fix in (refused.value.fix or "")
        along = Delete("/calico/endpoint")
        await put(store, along.key, b"{}")
        assert (await ours.release_handle("one", along=[along])).released
        assert await store.get(along.key) is None
        (ip,) = (await held(store))["two"]
        assert (await ours.release_ips([Expected(ip_address(ip))])).released == (ip_address(ip),)
        if key == IPAM_CONFIG:  # nobody knows how long "three" cools down, so it does
            assert [*await held(store)] == [""]
        await release_node(store, "node1", clock=CLOCK)
        await store.commit([settings(), Delete(CLUSTER)])
        assert (await ours.assign(request("four"))).ips
        await store.close()

    asyncio.run(scenario())


def test_an_own_block_that_cannot_be_read_is_passed_over_and_told_when_nothing_else_is_left(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store", offload=inline)
        await set_up(store, pool("small", "10.0.0.0/27", blockSize=28), node("node1"))
        ours = Allocator(store, "node1", clock=CLOCK)
        (first,) = (await ours.assign(request("first"))).addresses
        await put(store, block_key(str(first.network)), b'{"cidr":5}')
        (second,) = (await ours.assign(request("second"))).addresses
        assert second.network != first.network
        with pytest.raises(Exhausted, match="Assigned 15 out of 16") as refused:
            await ours.assign(request("many", v4=16))
        assert refused.value.unreadable == (first.network,)
        assert f"{first.network} cannot be read" in refused.value.why
        kept = await ours.release_ips([Expected(first.ip), Expected(second.ip)])
        assert kept.released == (second.ip,)
        assert kept.kept == ((first.ip, f"its block {first.network} cannot be read"),)
        await store.close()

    asyncio.run(scenario())


def test_a_handle_that_cannot_be_read_is_put_together_from_the_blocks(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store", offload=inline)
        await set_up(store, pool("four", "10.0.0.0/24"), pool("six", "fd00::/112"), node("node1"))
        ours = Allocator(store, "node1", clock=CLOCK, keep=True)
        pod = await ours.assign(request("pod", v4=2, v6=1))
        await ours.assign(request("other"))
        await put(store, handle_key("pod"), b'{"block":{"10.0.0.0/26":"two"}}')
        for allocator in (ours, Allocator(store, "node1", clock=CLOCK)):
            with pytest.raises(TortieError, match="cannot be read"):
                await allocator.assign(request("pod", v4=2, v6=1))
        assert set((await ours.release_handle("pod")).released) == set(pod.ips)
        assert [*await held(store)] == ["other"]
        assert await store.get(handle_key("pod")) is None
        assert (await ours.assign(request("pod", v4=2, v6=1))).ips
        await store.close()

    asyncio.run(scenario())


def test_a_queue_that_was_spoilt_gives_no_address_twice(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store", offload=inline)
        await fill(store)
        await put(store, block_key(OWN), json.dumps({**BLOCK, "unallocated": [0, -1, 99, 4, 4, 5]}).encode())
        ours = Allocator(store, "node1", clock=CLOCK)
        got = await ours.assign(request("new", v4=2))
        assert [str(ip) for ip in got.ips] == ["10.0.0.4", "10.0.0.5"]
        assert (await held(store))["old"] == ["10.0.0.0"]
        await store.close()

    asyncio.run(scenario())
