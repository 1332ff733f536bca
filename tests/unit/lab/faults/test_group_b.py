"""The deeds of faults of datastore, IPAM, CNI and host: pure, repeatable, and about the node that was asked for."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network
from random import Random
from unicodedata import east_asian_width

import pytest

from tortie.doctor.causes.catalogue import all_causes
from tortie.ipam.records import read_block
from tortie.lab.faults import cni, host, incidents, ipam, store
from tortie.lab.faults.deeds import (
    CoverFile,
    Deed,
    LimitCpu,
    PatchResource,
    PutKey,
    PutResource,
    RemoveResource,
    RestartNode,
    RestartUnit,
    RunHelper,
    RunPods,
    SendSignal,
    SetVariable,
    WriteFile,
)
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.planning import plan
from tortie.lab.topology import from_flags

ALL = (*store.FAULTS, *ipam.FAULTS, *cni.FAULTS, *host.FAULTS, *incidents.FAULTS)
BY_NAME = {fault.name: fault for fault in ALL}
TEXTS = {"expired.pem": "expired", "tomorrow.pem": "tomorrow", "other-ca.pem": "other"}
CAUSES = {cause.id: cause for cause in all_causes()}


def scene(*, nodes: int = 3, hurry: int = 10, seed: int = 1, tls: bool = False) -> Scene:
    lab = plan(from_flags(nodes, store="etcd", members=3, tls=tls, kubelet=True, hurry=hurry), "lab")
    node = lab.machine("node-2")
    assert node
    return Scene(lab, node, Random(seed), hurry, TEXTS)


def deeds(name: str, of: Scene | None = None) -> tuple[Deed, ...]:
    return BY_NAME[name].plan(of or scene())


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_each_is_told_in_both_languages_and_repeats(fault: Fault) -> None:
    assert CAUSES[fault.cause].code == fault.code
    for text in (*fault.summary, *fault.shows):
        assert text.strip() == text
        assert text
    assert all(_width(text) <= 70 for text in fault.summary)
    assert fault.plan(scene()) == fault.plan(scene())
    assert fault.plan(scene())


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_restart_comes_last(fault: Fault) -> None:
    done = fault.plan(scene())
    last = [index for index, deed in enumerate(done) if isinstance(deed, RestartNode)]
    assert last in ([], [len(done) - 1])


def test_the_whole_etcd_goes_and_one_node_starts() -> None:
    killed = [deed.machine for deed in deeds("datastore-gone") if isinstance(deed, SendSignal)]
    assert killed == ["etcd-1", "etcd-2", "etcd-3"]
    assert deeds("datastore-gone")[-1] == RestartNode("node-2")


def test_a_wrong_endpoint_is_another_node() -> None:
    setting = deeds("wrong-endpoint")[0]
    assert setting == SetVariable("node-2", "ETCD_ENDPOINTS", f"http://{scene().others[0].address}:2379")


@pytest.mark.parametrize(("name", "text"), [("expired-certificate", "expired"), ("clock-moved", "tomorrow")])
def test_every_member_shows_the_bad_certificate(name: str, text: str) -> None:
    written = [deed for deed in deeds(name, scene(tls=True)) if isinstance(deed, WriteFile)]
    assert [deed.machine for deed in written] == ["etcd-1", "etcd-2", "etcd-3"]
    assert {(deed.path, deed.text) for deed in written} == {("/tls/server.pem", text)}


def test_a_foreign_ca_is_one_nodes_matter() -> None:
    assert deeds("wrong-ca", scene(tls=True))[0] == WriteFile("node-2", "/calico-secrets/etcd-ca", "other", 0o600)


@pytest.mark.parametrize("name", ["pool-exhausted", "blocks-exhausted", "leaked-addresses"])
@pytest.mark.parametrize("nodes", [2, 3, 4, 6])
def test_a_small_pool_is_the_only_open_one_and_overlaps_nothing(name: str, nodes: int) -> None:
    where = scene(nodes=nodes)
    done = deeds(name, where)
    assert PatchResource("IPPool", "default-ipv4-ippool", {"spec": {"disabled": True}}) in done
    cidr = _pool(done)
    taken = [pool.cidr for pool in where.plan.pools] + [segment.network for segment in where.plan.segments]
    assert not any(isinstance(each, IPv4Network) and cidr.overlaps(each) for each in taken)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8])
def test_others_take_all_blocks_before_the_late_node_asks(nodes: int) -> None:
    done = deeds("blocks-exhausted", scene(nodes=nodes))
    pods = [deed for deed in done if isinstance(deed, RunPods)]
    blocks = 1 << (30 - _pool(done).prefixlen)
    assert sum(-(-each.number // 4) for each in pods[:-1]) == blocks  # a block holds four addresses
    assert {each.machine for each in pods[:-1]} == {f"node-{number}" for number in range(1, nodes + 1)} - {"node-2"}
    assert pods[-1] == RunPods("node-2", "late", 1)


def test_leaked_blocks_are_full_of_pods_that_are_gone() -> None:
    done = deeds("leaked-addresses")
    keys = {deed.key: deed.value or "" for deed in done if isinstance(deed, PutKey)}
    blocks = [read_block(key, value.encode()) for key, value in keys.items() if "/assignment/" in key]
    assert sum(block.size for block in blocks) == _pool(done).num_addresses
    for block in blocks:
        assert not block.unallocated
        assert block.host in {node.name for node in scene().plan.nodes}  # else they were released within seconds
    handles = [json.loads(value) for key, value in keys.items() if "/handle/" in key]
    assert len(handles) == sum(block.size for block in blocks)


def test_a_pool_around_the_node_itself() -> None:
    assert IPv4Address(str(scene().node.address)) in _pool(deeds("overlapping-pool"))


@pytest.mark.parametrize("hurry", [1, 10])
def test_next_to_nothing_of_a_core(hurry: int) -> None:
    """The faster the clock that stands against it, the more it may get."""
    limit, hogs, _ = deeds("overloaded", scene(hurry=hurry))
    assert isinstance(limit, LimitCpu)
    assert isinstance(hogs, RunHelper)
    assert hogs.starved
    assert hogs.machine == limit.machine == "node-2"
    assert 0.01 * hurry <= limit.percent / (int(hogs.words[1]) + 1) <= 0.07 * hurry


@pytest.mark.parametrize("hurry", [1, 5, 10, 20])
def test_reads_of_53_nodes_take_twice_the_time_that_liveness_grants(hurry: int) -> None:
    done = deeds("far-datastore", scene(hurry=hurry))
    ghosts = [deed for deed in done if isinstance(deed, PutResource)]
    assert len(ghosts) + 3 == 53
    proxy = next(deed for deed in done if isinstance(deed, RunHelper))
    round_trip_s = 2 * int(proxy.words[3]) / 1000
    window_s = max(1, 10 // hurry) + 5 * max(1, 10 // hurry)
    assert (1 + 6 * 53) * round_trip_s >= 2 * window_s
    assert 20 * round_trip_s < 2 * window_s  # who reads all at once has time for many questions
    assert RemoveResource("Node", "node-2") in done  # the conflict check is for new nodes


def test_swap_is_seen_by_the_next_kubelet() -> None:
    cover, restart = deeds("swap-on")
    assert isinstance(cover, CoverFile)
    assert "/dev/sda3 partition 27992060 0 -2" in cover.text
    assert restart == RestartUnit("node-2", "kubelet")


def test_one_member_dies_and_the_leader_of_the_others_is_paused() -> None:
    kill, *pauses = deeds("unstable-etcd")
    assert isinstance(kill, SendSignal)
    machines = {deed.machine for deed in pauses if isinstance(deed, RunHelper)}
    assert machines == {"etcd-1", "etcd-2", "etcd-3"} - {kill.machine}
    assert {deeds("unstable-etcd", scene(seed=seed))[0].machine for seed in range(20)} == {  # type: ignore[union-attr]
        "etcd-1",
        "etcd-2",
        "etcd-3",
    }


def test_leftovers_are_not_of_the_pool() -> None:
    files = [deed.path.rpartition("/")[2] for deed in deeds("stuck-migration") if isinstance(deed, WriteFile)]
    addresses = [IPv4Address(name) for name in files if name.count(".") == 3]
    assert addresses
    assert not any(address in pool.cidr for address in addresses for pool in scene().plan.pools)


def _pool(done: tuple[Deed, ...]) -> IPv4Network:
    put = (deed.document for deed in done if isinstance(deed, PutResource))
    spec = next(document["spec"] for document in put if document["kind"] == "IPPool")
    assert isinstance(spec, dict)
    return IPv4Network(spec["cidr"])


def _width(text: str) -> int:
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)
