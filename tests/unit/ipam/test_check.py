"""Every invariant of IPAM: a healthy cluster is broken in one way, and just that is found."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from tests.support.address_records import GUID, NOW, Records, healthy

from tortie.ipam.census import CONFIGURATION, ENDPOINTS, NODES, POOLS
from tortie.ipam.check import Report, check
from tortie.ipam.problems import ConfirmAffinity, CountHandle, DeleteAffinity, DeleteHandle, ReleaseAddress
from tortie.model.keys import IPAM_CONFIG, block_key, handle_key, host_affinity_key

ONE, TWO, SIX = "192.168.36.64/26", "192.168.104.0/26", "fd00:10:244::a680/122"
BLOCK, CLAIM = block_key(ONE), host_affinity_key("node1", ONE)
WEB = f"{ENDPOINTS}default/node1-k8s-web-eth0"
HANDLE = f"k8s-pod-network.{'a1' * 32}"
TUNNEL = "ipip-tunnel-addr-node1"


def checked(records: Records) -> Report:
    return check(records.census(), NOW)


def kinds(records: Records) -> list[str]:
    return [problem.kind for problem in checked(records).problems]


def test_a_healthy_cluster_is_clean_and_counted() -> None:
    report = checked(healthy())
    assert report.problems == ()
    assert report.exit_code == 0
    assert report.totals._asdict() == {
        "blocks": 3,
        "allocations": 6,
        "cooling": 0,
        "borrowed": 1,
        "pools_active": 2,
        "tunnel_ips": 2,
        "workload_ips": 4,
        "used_ips": 6,
        "handles": 6,
        "nodes": 2,
    }
    assert report.per_node == {"node1": 5, "node2": 1}


def test_nothing_at_all_is_clean() -> None:
    assert checked(Records()).problems == ()


def changed(key: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Records], None]:
    return lambda records: records.change(key, change)


def deleted(key: str) -> Callable[[Records], None]:
    return lambda records: records.__delitem__(key)


def stored(key: str, value: bytes | dict[str, Any]) -> Callable[[Records], None]:
    return lambda records: records.__setitem__(key, value)


def _two_blocks(records: Records) -> None:
    """A smaller block within the first, whose first address is held in both."""
    records.claim("node1", "192.168.36.64/28")
    records.hold("192.168.36.64/28", TUNNEL, node="node1", type="ipipTunnelAddress")


def _cooling(released_at: str) -> Callable[[Records], None]:
    def change(block: dict[str, Any]) -> None:
        block["attributes"].append({"handle_id": None, "secondary": None, "releasedAt": released_at})
        block["allocations"][9] = len(block["attributes"]) - 1
        block["unallocated"].remove(9)

    return changed(BLOCK, change)


def _pending_gone(records: Records) -> None:
    records[host_affinity_key("node2", "192.168.9.0/26")] = {"state": "pending", "deleted": False}


def _second_pod(records: Records) -> None:
    records.endpoint("twin", "node1", "", "192.168.36.65")


def _orphan_block(records: Records) -> None:
    records.claim("node1", "172.16.0.0/26")


def _old_size(records: Records) -> None:
    records.claim("node1", "192.168.77.0/24")


def _gone_node(records: Records) -> None:
    records.claim("gone", "192.168.9.0/26")
    records.claim("gone", "192.168.9.64/26")


CASES: dict[str, tuple[Callable[[Records], None], list[str]]] = {
    "attribute nobody refers to": (
        changed(BLOCK, lambda block: block["attributes"].append({"handle_id": "x", "secondary": None})),
        ["attribute-unused"],
    ),
    "cooling since tomorrow": (_cooling("2024-05-02T12:00:00Z"), ["released-in-future"]),
    "cooling since nonsense": (_cooling("yesterday"), ["released-in-future"]),
    "waits twice": (changed(BLOCK, lambda block: block["unallocated"].append(7)), ["queue-repeats"]),
    "waits outside": (changed(BLOCK, lambda block: block["unallocated"].append(64)), ["queue-range"]),
    "waits below": (changed(BLOCK, lambda block: block["unallocated"].append(-1)), ["queue-range"]),
    "waits and is held": (changed(BLOCK, lambda block: block["unallocated"].append(0)), ["queue-held"]),
    "does not wait": (changed(BLOCK, lambda block: block["unallocated"].remove(7)), ["queue-missing"]),
    "block marked as deleted": (changed(BLOCK, lambda block: block.update(deleted=True)), ["tombstone"]),
    "handle marked as deleted": (changed(handle_key(HANDLE), lambda row: row.update(deleted=True)), ["tombstone"]),
    "index out of range": (changed(BLOCK, lambda block: block["allocations"].__setitem__(5, 9)), ["unreadable"]),
    "blocks overlap": (_two_blocks, ["block-size", "blocks-overlap", "address-twice"]),
    "block in no pool": (_orphan_block, ["block-outside-pools"]),
    "block of another size": (_old_size, ["block-size"]),
    "endpoint gone": (deleted(WEB), ["leaked"]),
    "tunnel withdrawn": (changed(f"{NODES}node1", lambda node: node["spec"].pop("ipv6VXLANTunnelAddr")), ["leaked"]),
    "used, not held": (lambda records: records.endpoint("new", "node1", "", "192.168.36.99"), ["not-allocated"]),
    "used, in no pool": (lambda records: records.endpoint("new", "node1", "", "172.31.0.1"), ["not-in-pool"]),
    "used by two pods": (_second_pod, ["used-twice"]),
    "held for another pod": (
        changed(BLOCK, lambda block: block["attributes"][1]["secondary"].update(pod="other")),
        ["wrong-owner"],
    ),
    "held for another container": (changed(WEB, lambda pod: pod["spec"].update(containerID="ee")), ["wrong-owner"]),
    "held for another node": (
        changed(BLOCK, lambda block: block["attributes"][1]["secondary"].update(node="node2")),
        ["wrong-node"],
    ),
    "borrowed although strict": (
        stored(IPAM_CONFIG, {"strict_affinity": True, "auto_allocate_blocks": True}),
        ["borrowed"],
    ),
    "handle without addresses": (stored(handle_key("k8s-pod-network.old"), {"block": {ONE: 1}}), ["handle-orphaned"]),
    "handle gone": (deleted(handle_key(HANDLE)), ["handle-missing"]),
    "handle counts too many": (
        changed(handle_key(HANDLE), lambda row: row["block"].update({ONE: 2})),
        ["handle-count"],
    ),
    "handle counts elsewhere": (
        changed(handle_key(HANDLE), lambda row: row["block"].update({TWO: 1})),
        ["handle-count"],
    ),
    "claim gone": (deleted(CLAIM), ["block-without-affinity"]),
    "claim of nothing": (
        stored(host_affinity_key("node1", "192.168.9.0/26"), {"state": "confirmed"}),
        ["affinity-without-block"],
    ),
    "claim of another's": (stored(host_affinity_key("node2", ONE), {"state": "confirmed"}), ["affinity-foreign"]),
    "claim begun": (changed(CLAIM, lambda claim: claim.update(state="pending")), ["affinity-pending"]),
    "claim half given up": (changed(CLAIM, lambda claim: claim.update(state="pendingDeletion")), ["affinity-pending"]),
    "claim begun without block": (_pending_gone, ["affinity-pending"]),
    "node gone": (_gone_node, ["node-missing"]),
    "settings in two places": (
        stored(CONFIGURATION, {"spec": {"strictAffinity": True, "autoAllocateBlocks": True}}),
        ["settings-disagree"],
    ),
    "claim that makes no sense": (stored(CLAIM, b'{"state":"sold"}'), ["unreadable"]),
    "handle that makes no sense": (stored(handle_key(HANDLE), b'{"block":{"x":"y"}}'), ["unreadable"]),
    "pool that makes no sense": (stored(f"{POOLS}odd", b'{"spec":{"cidr":"10.0.0.0/99"}}'), ["unreadable"]),
    "endpoint that makes no sense": (stored(f"{ENDPOINTS}default/odd", b"{"), ["unreadable"]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_fault_is_found_as_just_that(case: str) -> None:
    records = healthy()
    breaking, expected = CASES[case]
    breaking(records)
    report = checked(records)
    found = list(dict.fromkeys(problem.kind for problem in report.problems if problem.kind in expected))
    assert found == expected
    beside = {problem.kind for problem in report.problems} - set(expected)
    # What hangs on a block that cannot be read cannot be judged either.
    assert beside <= ({"handle-orphaned", "not-allocated"} if case == "index out of range" else set())
    assert report.exit_code in (3, 4)
    for problem in report.problems:
        assert all((problem.subject, problem.why, problem.cure))


def repairs(records: Records) -> list[object]:
    return [problem.repair for problem in checked(records).problems]


def test_repairs_say_what_was_seen() -> None:
    records = healthy()
    del records[WEB]
    sequence = records.block(ONE).sequences[1]
    assert repairs(records) == [ReleaseAddress(ip_address("192.168.36.65"), HANDLE, sequence)]

    records = healthy()
    records[handle_key("old")] = {"block": {ONE: 1}}
    assert repairs(records) == [DeleteHandle("old", records.census().handles["old"][1])]

    records = healthy()
    records.change(handle_key(HANDLE), lambda row: row["block"].update({ONE: 7}))
    assert repairs(records) == [CountHandle(HANDLE, records.census().handles[HANDLE][1], {ONE: 1})]

    records = healthy()
    del records[handle_key(HANDLE)]
    assert repairs(records) == [CountHandle(HANDLE, None, {ONE: 1})]

    records = healthy()
    key = host_affinity_key("node2", ONE)
    records[key] = {"state": "confirmed"}
    assert repairs(records) == [DeleteAffinity(key, records.census().affinities[key][1])]

    records = healthy()
    del records[CLAIM]
    revision = records.census().block_revisions[ip_network(ONE)]
    assert repairs(records) == [ConfirmAffinity(CLAIM, None, ip_network(ONE), revision)]


def test_nothing_is_released_while_an_endpoint_cannot_be_read() -> None:
    """It might be the very pod that has the address."""
    records = healthy()
    records[WEB] = b'{"spec": 7}'
    leaked = checked(records).of("leaked")
    assert [problem.repair for problem in leaked] == [None]
    assert "cannot be read" in leaked[0].cure


def test_no_handle_is_deleted_while_a_block_cannot_be_read() -> None:
    records = healthy()
    records[BLOCK] = b"{}"
    found = checked(records).of("handle-orphaned")
    assert {problem.subject for problem in found} == {HANDLE, TUNNEL}
    assert {problem.repair for problem in found} == {None}


def test_a_pod_that_has_no_address_yet_keeps_what_is_held_for_it() -> None:
    records = healthy()
    records.change(WEB, lambda pod: pod["spec"].update(ipNetworks=[]))
    assert kinds(records) == []


def test_what_cools_down_is_nobodys_leak_and_counted_apart() -> None:
    records = healthy()
    _cooling("2024-05-01T11:59:50Z")(records)
    report = checked(records)
    assert report.problems == ()
    assert (report.totals.cooling, report.totals.allocations) == (1, 6)


def test_windows_and_load_balancers_are_nobodys_leak() -> None:
    records = healthy()
    records.hold(ONE, "windows-reserved-ipam-handle", note="windows host rsvd")
    del records[handle_key("windows-reserved-ipam-handle")]
    records.hold(TWO, "lb-wML6eXUMFo9mWuC3IFk1W8QTG5XciqgGm1FU7KA8Q8", service="web", namespace="default")
    assert kinds(records) == []


def test_handles_of_an_old_migration_are_compared_up_to_the_carriage_return() -> None:
    records = healthy()
    records.change(BLOCK, lambda block: block["attributes"][1].update(handle_id=f"{HANDLE}\reth0"))
    assert kinds(records) == []


def test_a_virtual_machines_handle_names_no_container() -> None:
    records = healthy()
    ip = records.hold(ONE, "k8s-pod-network.vmi.default.vm1", namespace="default", node="node1", pod="launcher")
    records.endpoint("launcher", "node1", "99" * 32, ip)
    assert kinds(records) == []


def test_an_empty_affinity_of_very_old_data_is_confirmed() -> None:
    records = healthy()
    records[CLAIM] = b""
    records["/calico/ipam/v2/host/node1"] = b""
    assert kinds(records) == []


def test_the_clusters_own_facts_are_read() -> None:
    census = healthy().census()
    assert (census.cluster.guid, census.cluster.is_locked, census.cluster.type) == (GUID, False, "k8s,bgp")
