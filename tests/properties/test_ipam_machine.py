"""Several nodes claim blocks, assign and release addresses, all at once, crash between any two writes, and come back.

Whatever happens: no address is acknowledged to two owners, none that was acknowledged is lost, blocks, handles and
affinities agree, and in the end every address can be had again. The same life is led on both stores.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.support import ipam_world as world
from tests.support.etcd_server import running_etcd
from tests.support.ipam_books import disagreement, disorder, opened
from tests.support.ipam_cluster import Cluster, Member, Pod
from tests.support.ipam_collect import collected
from tests.support.ipam_faults import FAULTS, Fault

from tortie.ipam.errors import IpamError
from tortie.ipam.records import IpamSettings
from tortie.model.keys import IPAM_CONFIG
from tortie.model.network import IP, Network
from tortie.store.contract import Delete, Operation, Store
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.etcd import EtcdConfig, EtcdStore

# Small ones, so that they are full every now and then. Two processes run on the first node.
POOLS = {"one": ("10.0.0.0/28", 30), "two": ("10.0.1.0/29", 30), "six": ("fd00::/125", 127)}
NODES = ("north", "north", "east", "west")
POOL_STATES: dict[str, dict[str, Any]] = {"disabled": {"disabled": True}, "elsewhere": {"nodeSelector": "rack == 'e'"}}
ADDRESSES: dict[str, list[IP]] = {name: list(ip_network(cidr)) for name, (cidr, _) in POOLS.items()}
BLOCKS: list[Network] = [block for cidr, size in POOLS.values() for block in ip_network(cidr).subnets(new_prefix=size)]


class Assign(NamedTuple):
    member: int
    wanted: dict[str, Any]


class Again(NamedTuple):
    pod: int  # of those that hold something or may: which one, modulo their number


class Release(NamedTuple):
    pod: int
    by: int


class ReleaseAddresses(NamedTuple):
    pod: int
    by: int
    named: bool


class ReleaseNode(NamedTuple):
    by: int
    node: str


class Claim(NamedTuple):
    by: int
    block: Network


class Configure(NamedTuple):
    strict: bool
    blocks_max: int
    cooldown_s: int
    auto: bool


class ChangePool(NamedTuple):
    name: str
    state: str


class Reserve(NamedTuple):
    cidrs: list[str]


class Restart(NamedTuple):
    member: int
    keep: bool


class Pass(NamedTuple):
    seconds: int


class Trouble(NamedTuple):
    member: int
    after_writes: int
    fault: Fault


Deed = Assign | Again | Release | ReleaseAddresses | ReleaseNode | Claim
Change = Configure | ChangePool | Reserve | Restart | Pass

_members = st.integers(0, len(NODES) - 1)
_pods = st.integers(0, 30)
_given = st.sampled_from([ip for name in POOLS for ip in ADDRESSES[name]] + [ip_address("192.0.2.1")])
_wanted: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.builds(dict, v4=st.integers(1, 3), blocks_max=st.integers(0, 2)),
    st.builds(dict, v4=st.integers(0, 1), v6=st.integers(1, 2)),
    st.builds(dict, pools4=st.sampled_from([("two",), ("10.0.0.0/28",), ("two", "one"), ("none",)])),
    st.builds(dict, v4=st.just(0), given=st.tuples(_given)),
)
_deeds: st.SearchStrategy[Deed] = st.one_of(
    st.builds(Assign, _members, _wanted),
    st.builds(Assign, _members, _wanted),
    st.builds(Again, _pods),
    st.builds(Release, _pods, _members),
    st.builds(ReleaseAddresses, _pods, _members, st.booleans()),
    st.builds(ReleaseNode, _members, st.sampled_from(NODES)),
    st.builds(Claim, _members, st.sampled_from(BLOCKS)),
)
_changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(Configure, st.booleans(), st.integers(0, 3), st.sampled_from([0, 0, 30]), st.booleans()),
    st.builds(ChangePool, st.sampled_from(sorted(POOLS)), st.sampled_from(["usual", *POOL_STATES, "gone"])),
    st.builds(Reserve, st.lists(st.sampled_from(["10.0.0.0/30", "10.0.0.5/32", "10.0.1.0/29", "fd00::/126"]))),
    st.builds(Restart, _members, st.booleans()),
    st.builds(Pass, st.sampled_from([1, 45, 3600])),
)
_troubles = st.builds(Trouble, _members, st.integers(0, 3), st.sampled_from(FAULTS))


class IpamMachine(RuleBasedStateMachine):
    """What is common to both stores."""

    @abstractmethod
    def open(self) -> Store: ...

    def open_watching(self) -> Store | None:
        """Another client for watching, where the first would wait for everybody."""
        return None

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.cluster: Cluster | None = None
        self.stores: list[Store] = []

    @initialize(seed=st.integers(0, 1_000_000), atomic=st.booleans())
    def begin(self, seed: int, atomic: bool) -> None:
        self.runner.run(self._begin(Random(seed), atomic))

    async def _begin(self, chance: Random, atomic: bool) -> None:
        store = self.open()
        watching = self.open_watching()
        self.stores = [store, *([watching] if watching else [])]
        await world.emptied(store)
        await store.commit([world.pool(name, cidr, size) for name, (cidr, size) in POOLS.items()])
        await store.commit([world.node(name, rack=name[0]) for name in sorted(set(NODES))])
        self.cluster = Cluster(store, NODES, chance, atomic=atomic, watching=watching or store)

    @rule(deeds=st.lists(_deeds, min_size=1, max_size=5))
    def quiet_moment(self, deeds: list[Deed]) -> None:
        self.moment(deeds, [])

    @rule(
        deeds=st.lists(_deeds, min_size=1, max_size=5),
        troubles=st.lists(_troubles, min_size=1, max_size=2),
    )
    def troubled_moment(self, deeds: list[Deed], troubles: list[Trouble]) -> None:
        self.moment(deeds, troubles)

    def moment(self, deeds: list[Deed], troubles: list[Trouble]) -> None:
        """All of it at the same time."""
        assert self.cluster is not None
        for trouble in troubles:
            self.cluster.members[trouble.member].store.fail(trouble.after_writes, trouble.fault)
        self.runner.run(self._moment(self.cluster, deeds))

    async def _moment(self, cluster: Cluster, deeds: Sequence[Deed]) -> None:
        known = cluster.promises.pods
        busy: set[Pod] = set()
        work: list[Coroutine[Any, Any, None]] = []
        for deed in deeds:
            match deed:
                case Assign(member, wanted):
                    work.append(cluster.assign(cluster.pod(member), wanted))
                case ReleaseNode(by, node):
                    work.append(cluster.release_node(by, node))
                case Claim(by, block):
                    work.append(cluster.claim(by, block))
                case Again() | Release() | ReleaseAddresses():
                    pod = known[deed.pod % len(known)] if known else None
                    if pod is None or pod in busy:  # one thing at a time for each pod, as runtimes do it
                        continue
                    busy.add(pod)
                    work.append(_about(cluster, pod, deed))
        await cluster.moment(work)

    @rule(change=_changes)
    def change(self, change: Change) -> None:
        """Between two moments somebody changes the settings, a process begins anew, or time goes by."""
        assert self.cluster is not None
        match change:
            case Configure(strict, blocks_max, cooldown_s, auto):
                limit = blocks_max if strict else 0
                self._write(world.settings(IpamSettings(strict, auto or not strict, limit, cooldown_s)))
            case ChangePool(name, state):
                cidr, size = POOLS[name]
                put = world.pool(name, cidr, size, **POOL_STATES.get(state, {}))
                self._write(world.gone("IPPool", name) if state == "gone" else put)
            case Reserve(cidrs):
                self._write(world.reservation("some", cidrs))
            case Restart(member, keep):
                self.runner.run(_restarted(self.cluster.members[member], keep))
            case Pass(seconds):
                for each in self.cluster.members:
                    each.clock.now += timedelta(seconds=seconds)

    def _write(self, operation: Operation) -> None:
        assert self.cluster is not None
        self.runner.run(_committed(self.cluster.store, operation))

    @invariant()
    def the_books_are_right(self) -> None:
        if self.cluster is not None:
            self.runner.run(_audit(self.cluster))

    def teardown(self) -> None:
        try:
            if self.cluster is not None:
                self.runner.run(_everything_can_be_had_again(self.cluster))
        finally:
            self.runner.run(self._close())
            self.runner.close()

    async def _close(self) -> None:
        if self.cluster is not None:
            await self.cluster.stop()
        for store in self.stores:
            await store.close()


async def _about(cluster: Cluster, pod: Pod, deed: Again | Release | ReleaseAddresses) -> None:
    match deed:
        case Again():
            await cluster.assign(pod, {})
        case Release():
            await cluster.release(pod, deed.by)
        case ReleaseAddresses():
            await cluster.release_addresses(pod, deed.by, named=deed.named)


async def _restarted(member: Member, keep: bool) -> None:
    await member.stop()
    member.start(keep=keep)


async def _committed(store: Store, operation: Operation) -> None:
    await store.commit([operation])


async def _audit(cluster: Cluster) -> None:
    books = await opened(cluster.store)
    wrong = [*disorder(books), *(disagreement(books) if cluster.atomic else ())]
    promises = cluster.promises
    for pod, ips in promises.held.items():
        lost = sorted(str(ip) for ip in ips if books.holders.get(ip) != pod.handle)
        if lost:
            wrong.append(f"{pod.name} was promised {', '.join(lost)}, but does not hold it")
        if extra := books.held.get(pod.handle, set()) - ips:
            wrong.append(f"{pod.name} holds {sorted(map(str, extra))}, of which it was never told")
    known = {pod.handle for pod in promises.pods}
    wrong += [f"{handle} holds {ips} and was refused" for handle, ips in books.held.items() if handle not in known]
    assert not wrong, wrong


async def _everything_can_be_had_again(cluster: Cluster) -> None:
    """All pods go, what is left over is collected, and then every address is there for somebody."""
    store, promises = cluster.store, cluster.promises
    for member in cluster.members:
        await member.stop()
        member.start()
        member.clock.now += timedelta(hours=1)
    for pod in promises.pods:
        await cluster.release(pod, pod.member)
    assert not promises.pods
    for member in cluster.members:
        member.clock.now += timedelta(hours=1)  # what cooled down is cold, whoever's clock it goes by
    await store.commit([Delete(IPAM_CONFIG), world.gone("IPReservation", "some")])
    await store.commit([world.pool(name, cidr, size) for name, (cidr, size) in POOLS.items()])
    await collected(store, cluster.members[-1].clock)
    books = await opened(store)
    left = [*disorder(books), *disagreement(books), *map(str, books.holders), *books.handles, *books.endpoints]
    assert not left, left
    for family, names in ((4, ("one", "two")), (6, ("six",))):
        expected = {ip for name in names for ip in ADDRESSES[name]}
        found: set[IP] = set()
        while True:
            pod = cluster.pod(len(found) % len(NODES))
            request = world.pod_request(
                NODES[pod.member], pod.name, v4=int(family == 4), v6=int(family == 6), blocks_max=100
            )
            try:
                found.update((await cluster.members[pod.member].allocator.assign(request)).ips)
            except IpamError:
                break
        assert found == expected, f"lost for good: {sorted(map(str, expected - found))}"


@pytest.mark.timeout(900)
def test_nodes_that_crash_lose_nothing_on_the_embedded_store() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tortie-machine-", dir="/dev/shm"))

    class Embedded(IpamMachine):
        def open(self) -> Store:
            return EmbeddedStore(folder / "store.db", durable=False, offload=inline)

        def open_watching(self) -> Store:
            return EmbeddedStore(folder / "store.db", durable=False)

    try:
        run_state_machine_as_test(Embedded, settings=_settings(max_examples=60, stateful_step_count=30))
    finally:
        shutil.rmtree(folder)


@pytest.mark.timeout(900)
def test_nodes_that_crash_lose_nothing_on_etcd() -> None:
    with running_etcd() as etcd:

        class Etcd(IpamMachine):
            def open(self) -> Store:
                return EtcdStore(EtcdConfig(endpoints=(etcd.endpoint,)))

        run_state_machine_as_test(Etcd, settings=_settings(max_examples=12, stateful_step_count=25))


def _settings(*, max_examples: int, stateful_step_count: int) -> settings:
    return settings(
        max_examples=max_examples,
        stateful_step_count=stateful_step_count,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
