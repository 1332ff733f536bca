"""Whatever is done to blocks by their own operations, the check finds nothing wrong; and its files go both ways."""

from __future__ import annotations

import json
from datetime import timedelta
from ipaddress import ip_network

from hypothesis import given
from hypothesis import strategies as st
from tests.support.address_records import NOW, Records

from tortie.ipam.block import Attribute, Block, new_block
from tortie.ipam.check import check
from tortie.ipam.check_records import counted_handles
from tortie.ipam.problems import ConfirmAffinity, CountHandle, DeleteAffinity, DeleteHandle, ReleaseAddress, Repair
from tortie.ipam.records import write_block
from tortie.ipam.report import calico_report, read_wishes, repair_document, same_repair
from tortie.model.keys import block_key, handle_key

CIDRS = ("10.0.0.0/29", "10.0.0.8/29", "fd00::/125")

steps = st.lists(
    st.tuples(
        st.sampled_from(("assign", "given", "release", "cool", "settle", "orphan")),
        st.integers(0, len(CIDRS) - 1),
        st.integers(0, 7),
        st.integers(1, 3),
    ),
    max_size=40,
)


def _after(blocks: list[Block], step: tuple[str, int, int, int]) -> None:
    action, which, ordinal, count = step
    block = blocks[which]
    ip = block.ip(ordinal)
    pod = f"pod-{which}-{ordinal}-{block.sequence}"
    attribute = Attribute(f"net.{pod}", {"namespace": "default", "pod": pod, "node": f"node-{count}"})
    match action:
        case "assign":
            block, _ = block.assign(count, attribute)
        case "given" if block.holding(ip) is None:
            block = block.assign_given(ip, attribute)
        case "release":
            block = block.release([ip])
        case "cool" if (held := block.holding(ip)) and not held.attribute.released_at:
            block = block.release([ip], cooling_since="2024-05-01T11:59:59Z")
        case "settle":
            block = block.settled(NOW + timedelta(days=1), 10)
        case "orphan":
            block = block.without_affinity()
    blocks[which] = block.next_write()


def records_of(blocks: list[Block]) -> Records:
    """All others say what the blocks say."""
    records = Records()
    records.pool("v4", "10.0.0.0/24", blockSize=29)
    records.pool("v6", "fd00::/120", blockSize=125)
    for number in range(1, 4):
        records.node(f"node-{number}")
    endpoints: dict[str, tuple[str, list[str]]] = {}
    for block in blocks:
        cidr = str(block.cidr)
        if block.host:
            records.claim(block.host, cidr)
        records[block_key(cidr)] = write_block(block)
        for holding in block.holdings():
            if pod := (holding.attribute.secondary or {}).get("pod"):
                endpoints.setdefault(pod, (holding.attribute.node, []))[1].append(str(holding.ip))
    for pod, (node, ips) in endpoints.items():
        records.endpoint(pod, node, pod, *ips)
    for handle, counts in counted_handles({block.cidr: block for block in blocks}).items():
        records[handle_key(handle)] = {"block": counts}
    return records


@given(steps)
def test_a_state_that_operations_of_blocks_made_is_clean(taken: list[tuple[str, int, int, int]]) -> None:
    blocks = [new_block(ip_network(cidr), "host:node-1", NOW) for cidr in CIDRS]
    for step in taken:
        _after(blocks, step)
    records = records_of(blocks)
    report = check(records.census(), NOW)
    assert report.problems == ()
    held = sum(1 for block in blocks for holding in block.holdings() if not holding.attribute.released_at)
    assert report.totals.allocations == report.totals.workload_ips == held


@given(steps)
def test_without_endpoints_just_what_is_held_is_leaked_and_the_report_says_so(
    taken: list[tuple[str, int, int, int]],
) -> None:
    blocks = [new_block(ip_network(cidr), "host:node-1", NOW) for cidr in CIDRS]
    for step in taken:
        _after(blocks, step)
    records = records_of(blocks)
    for key in [key for key in records.values if "workloadendpoints" in key]:
        del records[key]
    census = records.census()
    report = check(census, NOW)
    held = {h.ip for block in blocks for h in block.holdings() if not h.attribute.released_at}
    assert {problem.kind for problem in report.problems} <= {"leaked"}
    written = json.loads(json.dumps(calico_report(census, report, "v")))
    wishes = read_wishes(written, "report")
    assert {repair.ip for repair in wishes.repairs if isinstance(repair, ReleaseAddress)} == held
    assert {same_repair(repair) for repair in wishes.repairs} == {
        same_repair(problem.repair) for problem in report.problems if problem.repair
    }


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
revisions = st.integers(1, 2**53)
networks = st.sampled_from([ip_network(cidr) for cidr in CIDRS])
repairs: st.SearchStrategy[Repair] = st.one_of(
    st.builds(ReleaseAddress, st.ip_addresses(), st.none() | texts, st.none() | revisions),
    st.builds(DeleteHandle, texts, revisions),
    st.builds(
        CountHandle, texts, st.none() | revisions, st.dictionaries(networks.map(str), st.integers(1, 64), max_size=3)
    ),
    st.builds(DeleteAffinity, texts, revisions),
    st.builds(ConfirmAffinity, texts, st.none() | revisions, networks, revisions),
)


@given(st.lists(repairs, max_size=5))
def test_a_repair_file_says_what_it_was_made_of(wanted: list[Repair]) -> None:
    document = {"kind": "IPAMRepairs", "repairs": [repair_document(repair) for repair in wanted]}
    assert list(read_wishes(json.loads(json.dumps(document)), "file").repairs) == wanted
