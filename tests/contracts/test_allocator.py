"""Giving out addresses and taking them back, over every store: what it costs, and what survives whom and what."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ipaddress import IPv4Network, ip_address, ip_network
from pathlib import Path

import pytest
from tests.support.allocations import (
    Clock,
    Cut,
    CutStore,
    clear,
    faults,
    held,
    node,
    pool,
    request,
    reservation,
    set_up,
    settings,
)
from tests.support.stores import Play

from tortie.cli.session import finish
from tortie.ipam.affinity import claim_block, release_node, release_pool
from tortie.ipam.allocator import Allocator
from tortie.ipam.block import Attribute, Block
from tortie.ipam.errors import (
    AlreadyAssigned,
    BlockLimit,
    Exhausted,
    IpamError,
    NoPool,
    NotInPool,
    NotReady,
    TooContended,
    WrongNode,
)
from tortie.ipam.records import BLOCKS, HOSTS, Affinity, read_block, write_affinity, write_block
from tortie.ipam.request import Expected
from tortie.ipam.view import CLUSTER
from tortie.model.keys import block_key, handle_key, host_affinity_key
from tortie.model.network import IP
from tortie.store.contract import ABSENT, Conflict, Delete, Operation, Put, Store, Unreachable, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.metered import Metered

CLOCK = Clock()
KEEP = pytest.mark.parametrize("keep", [True, False], ids=["keep", "fresh"])
ATOMIC = pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "steps"])


class Counted:
    """A store that counts its requests."""

    def __init__(self, store: Store) -> None:
        self.seen: list[str] = []
        self.store = Metered(store, on_request=lambda op, _seconds, _error: self.seen.append(op))

    def take(self) -> list[str]:
        seen, self.seen[:] = list(self.seen), []
        return seen


def allocator(store: Store, name: str = "node1", *, atomic: bool = True, keep: bool = False) -> Allocator:
    return Allocator(store, name, clock=CLOCK, atomic=atomic, keep=keep)


def test_what_is_known_costs_one_commit(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        counted = Counted(store)
        ours = allocator(counted.store, keep=True)
        await ours.assign(request("first"))
        assert counted.take() == ["snapshot", "snapshot", "commit"]
        await ours.assign(request("second"))
        assert counted.take() == ["commit"]
        await ours.release_handle("first")
        assert counted.take() == ["commit"]
        assert await faults(store) == []
        await clear(store)

    play(scenario)


@KEEP
@ATOMIC
def test_who_asks_again_gets_the_same(play: Play, atomic: bool, keep: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("four", "10.0.0.0/24"), pool("six", "fd00::/112"), node("node1"))
        ours = allocator(store, atomic=atomic, keep=keep)
        first = await ours.assign(request("pod", v4=1, v6=1))
        again = await ours.assign(request("pod", v4=1, v6=1))
        other = await allocator(store, atomic=atomic).assign(request("pod", v4=1, v6=1))
        assert [str(address) for address in first.addresses] == ["10.0.0.128/26", "fd00::a680/122"]
        assert not first.again
        assert again == other == first._replace(again=True)
        assert await held(store) == {"pod": [str(ip) for ip in first.ips]}
        more = await ours.assign(request("pod", v4=2, v6=0))
        assert more.ips[0] == first.ips[0]
        assert not more.again
        assert await faults(store) == []

    play(scenario)


def test_requests_that_come_together_go_into_one_commit(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("default", "10.0.0.0/24", blockSize=26), node("node1"))
        counted = Counted(store)
        ours = allocator(counted.store, keep=True)
        await ours.assign(request("warm"))
        counted.take()
        every = await asyncio.gather(*(ours.assign(request(f"pod-{number}")) for number in range(50)))
        assert counted.take() == ["commit", "commit"]
        assert len({assigned.ips for assigned in every}) == 50
        await asyncio.gather(*(ours.release_handle(f"pod-{number}") for number in range(50)))
        assert counted.take() == ["commit", "commit"]
        assert list(await held(store)) == ["warm"]
        assert await faults(store) == []

    play(scenario)


def test_one_bad_request_does_not_fail_its_neighbours(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        await put(store, "/calico/taken", b"mine")
        ours = allocator(store, keep=True)

        def stumbles(_ips: Sequence[IP]) -> Sequence[Operation]:
            return [Put("/calico/taken", b"yours", ABSENT)]

        def fails(_ips: Sequence[IP]) -> Sequence[Operation]:
            raise ValueError("no such thing")

        answers = await asyncio.gather(
            ours.assign(request("good-1")),
            ours.assign(request("stumbles", along=stumbles)),
            ours.assign(request("fails", along=fails)),
            ours.assign(request("elsewhere", given=(ip_address("192.0.2.1"),))),
            ours.assign(request("no-pool", pools4=("none",))),
            ours.assign(request("bad-key", along=lambda _ips: [Put("", b"")])),
            ours.assign(request("good-2")),
            return_exceptions=True,
        )
        assert [type(answer).__name__ for answer in answers[1:-1]] == [
            "Conflict",
            "ValueError",
            "NotInPool",
            "UnknownPool",
            "UsageError",
        ]
        assert set(await held(store)) == {"good-1", "good-2"}
        assert await faults(store) == []

    play(scenario)


def test_what_goes_along_is_written_with_the_addresses_and_their_release(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store)
        endpoint = "/calico/endpoint"
        assigned = await ours.assign(request("pod", along=lambda ips: [Put(endpoint, str(ips[0]).encode(), ABSENT)]))
        entry, handle = await store.get(endpoint), await store.get(handle_key("pod"))
        assert entry
        assert handle
        assert (entry.value.decode(), entry.revision) == (str(assigned.ips[0]), handle.revision)
        await ours.release_handle("pod", along=[Delete(endpoint)])
        assert await store.get(endpoint) is None
        await put(store, endpoint, b"of nobody")
        assert (await ours.release_handle("pod", along=[Delete(endpoint)])).released == ()
        assert await store.get(endpoint) is None

    play(scenario)


@ATOMIC
def test_two_processes_of_one_node_get_in_each_others_way_and_both_get_on(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("default", "10.0.0.0/24", blockSize=26), node("node1"))
        both = [allocator(store, keep=True, atomic=atomic), allocator(store, keep=True, atomic=atomic)]

        async def busy(ours: Allocator, name: str) -> None:
            for number in range(12):
                await ours.assign(request(f"{name}-{number}"), timeout_s=60)
                if number % 3 == 0:
                    await ours.release_handle(f"{name}-{number}", timeout_s=60)

        await asyncio.gather(busy(both[0], "a"), busy(both[1], "b"))
        assert await faults(store) == []
        assert len(await held(store)) == 16
        # What one gave out, the other finds and takes back, though it knew better.
        assert (await both[1].assign(request("a-1"))).again
        assert len((await both[1].release_handle("a-2")).released) == 1
        assert (await both[0].release_handle("a-2")).released == ()
        assert not (await both[0].assign(request("a-2"))).again
        assert await faults(store) == []

    play(scenario)


def test_a_new_block_costs_the_same_in_a_pool_that_is_nearly_full(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("large", "10.0.0.0/16", blockSize=26), node("node1"))
        taken = list(IPv4Network("10.0.0.0/16").subnets(new_prefix=26))[:1000]
        rows = [
            Put(host_affinity_key(f"other-{n}", str(cidr)), write_affinity(Affinity(f"other-{n}", cidr)))
            for n, cidr in enumerate(taken)
        ]
        for start in range(0, len(rows), 100):
            await store.commit(rows[start : start + 100])
        counted = Counted(store)
        assigned = await allocator(counted.store).assign(request("pod"))
        assert counted.take() == ["snapshot", "snapshot", "commit"]
        assert assigned.addresses[0].network not in taken

    play(scenario)


def test_a_slow_machine_reads_nothing_twice(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that are old by the time when the rest is read still serve the request that they were read for."""
    monkeypatch.setattr("tortie.ipam.gather._FACTS_AGE_S", 0.0)

    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        counted = Counted(store)
        ours = allocator(counted.store)
        await asyncio.gather(*(ours.assign(request(f"pod-{number}")) for number in range(3)))
        assert counted.take()[:3] == ["snapshot", "snapshot", "commit"]
        await clear(store)

    play(scenario)


def test_blocks_that_no_affinity_tells_of_cost_a_look(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("default", "10.0.0.0/16", blockSize=26), node("node1"))
        first = await allocator(store).assign(request("probe"))
        await release_node(store, "node1", clock=CLOCK)
        start = int(first.addresses[0].network.network_address)
        for step in range(1, 300):  # all of them orphans in use, where this host looks first
            cidr = ip_network((start + 64 * step, 26))
            block = read_block(
                "", write_block((await _block_like(store, first.addresses[0].network))._replace(cidr=cidr))
            )
            await put(store, block_key(str(cidr)), write_block(block))
        counted = Counted(store)
        assigned = await allocator(counted.store).assign(request("pod"))
        assert int(assigned.addresses[0].network.network_address) == start + 64 * 300
        assert len(counted.take()) <= 9

    async def _block_like(store: Store, cidr: object) -> Block:
        entry = await store.get(block_key(str(cidr)))
        assert entry
        return read_block(entry.key, entry.value)

    play(scenario)


@ATOMIC
def test_a_full_pool_borrows_reclaims_and_says_so_when_nothing_is_left(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("tiny", "10.0.0.0/30", blockSize=31), node("node1"), node("node2"))
        one, two = allocator(store, atomic=atomic), allocator(store, "node2", atomic=atomic)
        for number in range(2):
            await one.assign(request(f"one-{number}"))
        await two.assign(request("two-0", "node2"))
        borrowed = await one.assign(request("one-2"))
        assert borrowed.addresses[0].network != (await one.assign(request("one-0"))).addresses[0].network
        with pytest.raises(Exhausted) as refused:
            await two.assign(request("two-1", "node2"))
        assert "Assigned 0 out of 1 requested IPv4 addresses; No IPs available in pools: [10.0.0.0/30]" in str(
            refused.value
        )
        assert "tiny (10.0.0.0/30): 2 of 2 blocks are claimed, 0 addresses in them are free" in refused.value.why
        assert await faults(store) == []
        # The block of node2 becomes empty, and node1 may have it once it has been node2's for a minute.
        await two.release_handle("two-0")
        await one.release_handle("one-2")
        CLOCK.pass_(61)
        await one.assign(request("one-3"))
        assert await _owners(store) == ["host:node1", "host:node1"]
        assert await faults(store) == []

    play(scenario)


async def _owners(store: Store) -> list[str | None]:
    return [read_block(entry.key, entry.value).affinity for entry in (await store.scan(BLOCKS)).entries]


def test_strict_affinity_limits_and_no_new_blocks(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        tiny = pool("tiny", "10.0.0.0/29", blockSize=31)
        await set_up(store, tiny, node("node1"), node("node2"), settings(strict_affinity=True, maxBlocksPerHost=1))
        ours, theirs = allocator(store), allocator(store, "node2")
        await asyncio.gather(*(ours.assign(request(f"pod-{number}")) for number in range(2)))
        with pytest.raises(BlockLimit, match="limit of 1 blocks reached for this node"):
            await ours.assign(request("pod-2"))
        mine = (await ours.assign(request("pod-0"))).ips[0]
        with pytest.raises(WrongNode, match="Block host affinity does not match"):
            await theirs.assign(request("thief", "node2", given=(mine,)))
        await store.commit([settings(strict_affinity=True, auto_allocate_blocks=False)])
        with pytest.raises(Exhausted, match="failed to find or claim a block"):
            await theirs.assign(request("pod", "node2"))
        await store.commit([settings(strict_affinity=True)])
        for number in range(6):
            await theirs.assign(request(f"their-{number}", "node2"))
        with pytest.raises(Exhausted, match="No more free affine blocks and strict affinity enabled"):
            await theirs.assign(request("their-7", "node2"))
        assert await faults(store) == []

    play(scenario)


def test_refusals_say_which_pool_and_why(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(
            store,
            pool("off", "10.1.0.0/24", disabled=True),
            pool("manual", "10.2.0.0/24", assignmentMode="Manual"),
            pool("rack", "10.3.0.0/24", nodeSelector="rack == 'r1'"),
            pool("space", "10.4.0.0/24", namespaceSelector="team == 'a'", allowedUses=["Workload"]),
            node("node1", rack="r2"),
        )
        ours = allocator(store, keep=True)
        with pytest.raises(NoPool, match="no configured Calico pools for node node1") as refused:
            await ours.assign(request("pod"))
        why = [f"{reason.pool}: {reason.why}" for reason in refused.value.reasons]
        assert why == [
            "manual: its assignmentMode is Manual, so it has to be asked for",
            "off: it is disabled",
            "rack: its nodeSelector rack == 'r1' does not select the node node1",
            "space: its namespaceSelector team == 'a' does not select the namespace",
        ]
        assert (await ours.assign(request("team", namespace_labels={"team": "a"}))).ips[0] in ip_network("10.4.0.0/24")
        assert (await ours.assign(request("asked", pools4=("manual",)))).ips[0] in ip_network("10.2.0.0/24")
        assert (await ours.assign(request("cidr", pools4=("10.3.0.0/24",)))).ips[0] in ip_network("10.3.0.0/24")
        with pytest.raises(NoPool, match=r"no pools match the required use \(Tunnel\)"):
            await ours.assign(request("tunnel", use="Tunnel", pools4=("space",)))
        with pytest.raises(WrongNode, match=r"resource does not exist: Node\(node9\)"):
            await ours.assign(request("pod", "node9"))
        # A pool that people correct is used at once, though nobody watched.
        await store.commit([node("node1", rack="r1")])
        assert (await ours.assign(request("pod"))).ips[0] in ip_network("10.3.0.0/24")
        await put(store, CLUSTER, b'{"spec":{"datastoreReady":false}}')
        with pytest.raises(NotReady):
            await allocator(store).assign(request("late"))
        assert len((await allocator(store).release_handle("pod")).released) == 1

    play(scenario)


@ATOMIC
def test_given_addresses(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(
            store,
            pool("default", "10.0.0.0/24", blockSize=28),
            reservation("mine", "10.0.0.32/28"),
            node("node1"),
            node("node2"),
        )
        ours = allocator(store, atomic=atomic)
        asked = request("pod", given=(ip_address("10.0.0.37"), ip_address("10.0.0.99")))
        assigned = await ours.assign(asked)
        assert [str(address) for address in assigned.addresses] == ["10.0.0.37/28", "10.0.0.99/28"]
        assert (await ours.assign(asked)).again
        with pytest.raises(AlreadyAssigned, match=r"10.0.0.37 with error: Address already assigned in block"):
            await ours.assign(request("thief", given=(ip_address("10.0.0.37"),)))
        with pytest.raises(NotInPool, match="The provided IP address is not in a configured pool"):
            await ours.assign(request("pod", given=(ip_address("10.9.0.1"),)))
        assert set(await held(store)) == {"pod"}
        assert await faults(store) == []

    play(scenario)


def test_reserved_addresses_are_not_given_out(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(
            store,
            pool("default", "10.0.0.0/28", blockSize=29),
            reservation("low", "10.0.0.0/29", "10.0.0.8/30"),
            pool("six", "fd00::/64"),
            reservation("all-of-six", "fd00::/64"),
            node("node1"),
        )
        ours = allocator(store)
        ips = [str((await ours.assign(request(f"pod-{number}"))).ips[0]) for number in range(4)]
        assert ips == ["10.0.0.12", "10.0.0.13", "10.0.0.14", "10.0.0.15"]
        with pytest.raises(Exhausted):
            await ours.assign(request("pod-4"))
        with pytest.raises(Exhausted):
            await ours.assign(request("pod-6", v6=1))

    play(scenario)


@ATOMIC
def test_release_by_address_keeps_what_is_somebody_elses(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store, atomic=atomic)
        ips = [(await ours.assign(request(f"pod-{number}"))).ips[0] for number in range(4)]
        free = ip_address(int(ips[-1]) + 1)
        answer = await ours.release_ips(
            [
                Expected(ips[0], "pod-0"),
                Expected(ips[1], "somebody"),
                Expected(ips[2], "pod-2", 17),
                Expected(ips[3]),
                Expected(free),
                Expected(ip_address("192.0.2.1")),
            ]
        )
        assert answer.released == (ips[0], ips[3])
        assert set(answer.not_held) == {free, ip_address("192.0.2.1")}
        assert [ip for ip, _ in answer.kept] == [ips[1], ips[2]]
        assert "held by pod-1, not by somebody" in answer.kept[0][1]
        assert set(await held(store)) == {"pod-1", "pod-2"}
        assert await faults(store) == []

    play(scenario)


def test_what_cools_down_is_not_given_out_before_its_time(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("two", "10.0.0.0/31", blockSize=31), node("node1"), settings(ipCooldownSeconds=60))
        ours = allocator(store)
        await asyncio.gather(*(ours.assign(request(f"pod-{number}")) for number in range(2)))
        await ours.release_handle("pod-0")
        with pytest.raises(Exhausted):
            await ours.assign(request("new"))
        again = await ours.release_ips([Expected((await ours.assign(request("pod-1"))).ips[0])])
        assert len(again.released) == 1
        CLOCK.pass_(61)
        await ours.assign(request("new", v4=2))
        assert await faults(store) == []

    play(scenario)


@ATOMIC
def test_affinities_that_a_crash_left_are_healed(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        mine, theirs = ip_network("10.0.0.112/28"), ip_network("10.0.0.0/28")
        await claim_block(store, "node2", theirs, clock=CLOCK, atomic=atomic)
        await store.commit(
            [
                Put(host_affinity_key("node1", str(mine)), write_affinity(Affinity("node1", mine, "pending"))),
                Put(host_affinity_key("node1", str(theirs)), b""),
            ]
        )
        assigned = await allocator(store, atomic=atomic).assign(request("pod"))
        assert assigned.addresses[0].network == mine
        assert await faults(store) == []
        with pytest.raises(WrongNode, match="already claimed by host:node2"):
            await claim_block(store, "node1", theirs, clock=CLOCK, atomic=atomic)

    play(scenario)


@ATOMIC
def test_a_node_that_is_gone_gives_up_its_blocks_and_tunnels(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store, pool("default", "10.0.0.0/24", blockSize=31), node("node1"))
        ours = allocator(store, atomic=atomic)
        tunnel = await ours.assign(request("vxlan-tunnel-addr-node1", use="Tunnel"))
        await asyncio.gather(*(ours.assign(request(f"pod-{number}")) for number in range(3)))
        await ours.release_handle("pod-0")
        released = await release_node(store, "node1", clock=CLOCK, atomic=atomic)
        assert released.released == tunnel.ips
        assert (await store.scan(HOSTS)).entries == ()
        assert await _owners(store) == [None]
        assert await faults(store) == []
        await release_node(store, "node1", clock=CLOCK, atomic=atomic)
        # The last address of a block that is nobody's takes the block with it.
        for number in range(1, 3):
            await ours.release_handle(f"pod-{number}")
        assert await _owners(store) == []

    play(scenario)


@ATOMIC
def test_empty_blocks_of_a_pool_are_given_up(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store, atomic=atomic)
        kept = await ours.assign(request("pod"))
        empty = ip_network("10.0.0.0/28")
        await claim_block(store, "node2", empty, clock=CLOCK, atomic=atomic)
        released = await release_pool(store, ip_network("10.0.0.0/24"), clock=CLOCK, atomic=atomic)
        assert released == (empty,)
        assert await _owners(store) == ["host:node1"]
        # Once the pool does not select the node any more, its block goes with the last address.
        await store.commit([pool("default", "10.0.0.0/24", blockSize=28, nodeSelector="has(gpu)")])
        assert (await ours.release_handle("pod")).released == kept.ips
        assert await _owners(store) == []
        assert await faults(store) == []

    play(scenario)


@ATOMIC
@pytest.mark.parametrize("after", [True, False], ids=["written", "not-written"])
def test_whatever_write_is_the_last_repeating_sets_it_right(play: Play, atomic: bool, after: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        both = [pool("four", "10.0.0.0/24"), pool("six", "fd00::/112"), node("node1")]

        async def work(target: Store) -> None:
            ours = allocator(target, atomic=atomic)
            await ours.assign(request("pod", v4=2, v6=1, along=lambda ips: [Put("/calico/along", str(ips).encode())]))
            await ours.release_handle("pod", along=[Delete("/calico/along")])
            await ours.assign(request("next"))
            await release_node(target, "node1", clock=CLOCK, atomic=atomic)

        for commits in range(100):
            await set_up(store, *both)
            try:
                await work(CutStore(store, commits, after=after))
            except Cut:
                now = await held(store)
                assert all(len(ips) == len(set(ips)) for ips in now.values())
                ours = allocator(store, atomic=atomic)
                repeated = await ours.assign(request("pod", v4=2, v6=1))
                assert set(now.get("pod", ())) <= {str(ip) for ip in repeated.ips}
                await ours.assign(request("next"))
                assert [problem for problem in await faults(store) if "no affinity row" not in problem] == []
                await ours.release_handle("pod")
                await ours.release_handle("next")
                await release_node(store, "node1", clock=CLOCK, atomic=atomic)
                assert await held(store) == {}
                assert await faults(store) == []
            else:
                assert commits >= (4 if atomic else 15)
                return
        raise AssertionError("it never ended")

    play(scenario)


class Doubtful:
    """The answer to one commit gets lost; the commit itself does not."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lose = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = 10) -> int:
        revision = await self._store.commit(operations, timeout_s=timeout_s)
        if self.lose:
            self.lose = False
            raise Unreachable("a store", "commit", timeout_s, "the connection broke", "wait", uncertain=True)
        return revision


@ATOMIC
@KEEP
def test_an_answer_that_got_lost_is_found_by_its_handle(play: Play, atomic: bool, keep: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        doubtful = Doubtful(store)
        ours = allocator(doubtful, atomic=atomic, keep=keep)  # type: ignore[arg-type]
        await ours.assign(request("warm"))
        doubtful.lose = True
        assigned = await ours.assign(request("pod", along=lambda _ips: [Put("/calico/along", b"x", ABSENT)]))
        assert (await held(store))["pod"] == [str(ip) for ip in assigned.ips]
        doubtful.lose = True
        await ours.release_handle("pod")
        assert "pod" not in await held(store)
        assert await faults(store) == []

    play(scenario)


def test_a_key_that_others_write_all_the_time_ends_in_an_error(play: Play) -> None:
    class Overtaken(Doubtful):
        async def commit(self, operations: Sequence[Operation], *, timeout_s: float = 10) -> int:  # noqa: ARG002
            raise Conflict(handle_key("pod"), ABSENT, None)

    async def no_pause(_seconds: float) -> None: ...

    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = Allocator(Overtaken(store), "node1", clock=CLOCK, pause=no_pause)  # type: ignore[arg-type]
        with pytest.raises(TooContended, match="Max retries hit - excessive concurrent IPAM requests") as refused:
            await ours.assign(request("pod"), timeout_s=60)
        assert isinstance(refused.value, IpamError)

    play(scenario)


def test_what_people_change_is_noticed_by_who_watches(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store, keep=True)
        watch = asyncio.create_task(ours.watch())
        try:
            await ours.assign(request("pod"))
            await store.commit(
                [pool("default", "10.0.0.0/24", blockSize=28, disabled=True), pool("new", "10.7.0.0/24")]
            )
            number = 0
            while (await ours.assign(request(f"pod-{number}"))).ips[0] not in ip_network("10.7.0.0/24"):
                number += 1
                await asyncio.sleep(0.05)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    play(scenario)


def test_who_watches_does_not_take_its_own_writes_for_somebody_elses(play: Play) -> None:
    """A new block's affinity is heard of, often before the commit that wrote it has returned."""

    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        counted = Counted(store)
        ours = allocator(counted.store, keep=True)
        watch = asyncio.create_task(ours.watch())
        try:
            await ours.assign(request("pod"))
            gone = Delete(pool("default", "10.0.0.0/24").key)
            await store.commit([gone, pool("new", "10.7.0.0/16", blockSize=26)])
            number = 0
            while (await ours.assign(request(f"before-{number}"))).ips[0] not in ip_network("10.7.0.0/16"):
                number += 1
                await asyncio.sleep(0.05)
            counted.take()
            for number in range(200):
                await ours.assign(request(f"pod-{number}"))
            seen = counted.take()
            assert seen.count("commit") == 200
            assert seen.count("snapshot") == 3  # 201 addresses are in four blocks, one of which was there
            assert await faults(store) == []
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    play(scenario)


def test_handles_with_a_carriage_return_and_entries_of_windows(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store)
        first = await ours.assign(request("pod"))
        key = block_key(str(first.addresses[0].network))
        entry = await store.get(key)
        assert entry
        block = read_block(key, entry.value)
        windows = Attribute("windows-reserved-ipam-handle", {"note": "windows host rsvd"})
        block = block._replace(attributes=(Attribute("pod\r\neth0", block.attributes[0].secondary),))
        block = block.assign_given(block.ip(5), windows)
        await put(store, key, write_block(block))
        assert (await ours.assign(request("pod"))).ips == first.ips
        assert (await ours.release_handle("pod")).released == first.ips
        assert list(await held(store)) == ["windows-reserved-ipam-handle"]
        assert await release_pool(store, ip_network("10.0.0.0/24"), clock=CLOCK) == (block.cidr,)

    play(scenario)


@ATOMIC
def test_a_request_that_fails_half_way_leaves_nothing(play: Play, atomic: bool) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store, atomic=atomic)
        await ours.assign(request("held"))
        await put(store, "/calico/taken", b"mine")
        with pytest.raises(Conflict):
            await ours.assign(request("pod", along=lambda _ips: [Put("/calico/taken", b"yours", ABSENT)]))
        await ours.assign(request("next"))
        assert set(await held(store)) == {"held", "next"}
        assert await faults(store) == []

    play(scenario)


@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "steps"])
def test_a_command_needs_no_event_loop(tmp_path: Path, atomic: bool) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db", offload=inline)
        await set_up(store)
        ours = allocator(store, atomic=atomic)
        first = await ours.assign(request("pod"))
        assert (await ours.assign(request("pod"))).ips == first.ips
        await put(store, "/calico/taken", b"mine")
        with pytest.raises(Conflict):
            await ours.assign(request("bad", along=lambda _ips: [Put("/calico/taken", b"yours", ABSENT)]))
        assert (await ours.release_handle("pod")).released == first.ips
        assert await held(store) == {}
        assert await faults(store) == []
        await store.close()

    finish(scenario())


def test_whoever_is_cancelled_leaves_the_others_their_turn(play: Play) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        ours = allocator(store, keep=True)
        tasks = [asyncio.create_task(ours.assign(request(f"pod-{number}"))) for number in range(6)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[3].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [
            True,
            False,
            False,
            True,
            False,
            False,
        ]
        assert {f"pod-{number}" for number in (1, 2, 4, 5)} <= set(await held(store))
        assert await faults(store) == []

    play(scenario)
