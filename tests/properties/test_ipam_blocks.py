"""Blocks: whatever is given out and taken back, the books balance, and the bytes are those that Go would write."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_network

from hypothesis import given
from hypothesis import strategies as st

from tortie.ipam.block import Attribute, Block, new_block
from tortie.ipam.records import (
    Affinity,
    Handle,
    IpamSettings,
    block_document,
    read_affinity,
    read_block,
    read_handle,
    read_settings,
    write_affinity,
    write_block,
    write_handle,
)
from tortie.model.ipam_settings import config_for
from tortie.model.keys import block_key, handle_key, host_affinity_key
from tortie.model.wire import encode

NOW = datetime(2024, 5, 1, 10, 0, 3, tzinfo=UTC)
CIDRS = st.sampled_from([ip_network(text) for text in ("10.0.0.0/28", "192.168.166.128/26", "fd00::a680/122")])
HANDLES = st.sampled_from([*(f"k8s-pod-network.{letter}" for letter in "abcdefgh"), "<&>\u2028é", "old\reth0"])
NAMES = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
SECONDARY = st.none() | st.dictionaries(NAMES, NAMES, min_size=1, max_size=3)
ATTRIBUTES = st.tuples(HANDLES, SECONDARY).map(lambda parts: Attribute(*parts))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.integers(1, 4), ATTRIBUTES),
        st.tuples(st.just("given"), st.integers(0, 15), ATTRIBUTES),
        st.tuples(st.just("release"), st.sets(st.integers(0, 15), max_size=4), st.booleans()),
        st.tuples(st.just("settle"), st.just(0), st.just(0)),
    ),
    max_size=20,
)


def after(block: Block, steps: list[tuple[str, object, object]]) -> Block:
    for what, first, second in steps:
        if what == "assign":
            block, _ = block.assign(first, second)  # type: ignore[arg-type]
        elif what == "given":
            ip = block.ip(first)  # type: ignore[arg-type]
            block = block if block.holding(ip) else block.assign_given(ip, second)  # type: ignore[arg-type]
        elif what == "release":
            cooling = "2024-05-01T10:00:00Z" if second else None
            block = block.release([block.ip(ordinal) for ordinal in first], cooling_since=cooling)  # type: ignore[attr-defined]
        else:
            block = block.settled(NOW, 1)
        block = block.next_write()
    return block


@given(CIDRS, STEPS)
def test_the_books_balance(cidr: object, steps: list[tuple[str, object, object]]) -> None:
    block = after(new_block(cidr, "host:node1", NOW), steps)  # type: ignore[arg-type]
    used = {ordinal for ordinal, index in enumerate(block.allocations) if index is not None}
    assert len(set(block.unallocated)) == block.free
    assert used.isdisjoint(block.unallocated)
    assert used | set(block.unallocated) == set(range(block.size))
    assert {index for index in block.allocations if index is not None} == set(range(len(block.attributes)))
    assert set(block.sequences) <= used
    assert all(number < block.sequence for number in block.sequences.values())
    assert block.sequence == new_block(block.cidr, None, NOW).sequence + len(steps)


@given(CIDRS, STEPS, st.sampled_from(["host:node1", "virtual:load-balancer", None]))
def test_what_is_written_is_read_and_written_the_same(
    cidr: object, steps: list[tuple[str, object, object]], owner: str | None
) -> None:
    block = after(new_block(cidr, owner, NOW), steps)  # type: ignore[arg-type]
    value = write_block(block)
    assert value == encode(block_document(block))
    assert read_block(block_key(str(block.cidr)), value) == block
    newer = block._replace(rest={"strictAffinity": False, "more": [1.0, {"a": "<"}]})
    assert write_block(read_block("", write_block(newer))) == write_block(newer)


def test_first_in_first_out() -> None:
    block = new_block(ip_network("10.0.0.0/30"), "host:node1", NOW)
    block, (a,) = block.assign(1, Attribute("a"))
    block, (b,) = block.assign(1, Attribute("b"))
    assert (block.ordinal(a), block.ordinal(b), block.unallocated) == (0, 1, (2, 3))
    block = block.release([a])
    assert block.unallocated == (2, 3, 0)
    block, (c,) = block.assign(1, Attribute("c"))
    assert block.ordinal(c) == 2
    block = block.release([b])
    assert block.unallocated == (3, 0, 1)
    block, (d,) = block.assign(1, Attribute("d"))
    assert block.ordinal(d) == 3
    block, (e,) = block.assign(1, Attribute("e"), lambda ip: ip == block.ip(0))
    assert (block.ordinal(e), block.unallocated) == (1, (0,))


def test_the_bytes_of_calico() -> None:
    block = new_block(ip_network("192.168.166.128/30"), "host:node1", NOW)
    tunnel = Attribute("ipip-tunnel-addr-node1", {"type": "ipipTunnelAddress", "node": "node1"})
    block, _ = block.assign(1, tunnel)
    block = block.next_write()
    block, _ = block.assign(1, Attribute("k8s-pod-network.4f", {"pod": "nginx", "namespace": "default"}))
    block = block.next_write()
    assert write_block(block).decode() == (
        '{"cidr":"192.168.166.128/30","affinity":"host:node1","affinity_claim_time":"2024-05-01T10:00:03Z",'
        '"allocations":[0,1,null,null],"unallocated":[2,3],"attributes":[{"handle_id":"ipip-tunnel-addr-node1",'
        '"secondary":{"node":"node1","type":"ipipTunnelAddress"}},{"handle_id":"k8s-pod-network.4f",'
        '"secondary":{"namespace":"default","pod":"nginx"}}],"sequenceNumber":1714557603000000002,'
        '"sequenceNumberForAllocation":{"0":1714557603000000000,"1":1714557603000000001},"deleted":false}'
    )
    cooling = block.release([block.ip(0)], cooling_since="2024-05-01T10:02:00Z")
    assert '"attributes":[{"handle_id":"k8s-pod-network.4f"' in write_block(cooling).decode()
    assert '{"releasedAt":"2024-05-01T10:02:00Z"}' in write_block(cooling).decode()


def test_old_spellings_are_understood() -> None:
    old = (
        b'{"cidr":"10.0.0.0/31","hostAffinity":"n1","allocations":[0,null],"unallocated":[1],'
        b'"attributes":[{"handle_id":null,"secondary":null}]}'
    )
    block = read_block("", old)
    assert (block.affinity, block.host, block.claim_time, block.sequence) == ("host:n1", "n1", None, 0)
    key = host_affinity_key("n1", "10.0.0.0/31")
    assert read_affinity(key, b"").is_confirmed
    assert not read_affinity(key, b'{"state":"pending","deleted":false}').is_confirmed
    assert read_settings("", b"{}") == IpamSettings(auto_allocate_blocks=False)


@given(st.dictionaries(CIDRS.map(str), st.integers(1, 64), max_size=3), st.booleans())
def test_handles_affinities_and_settings_round(blocks: dict[str, int], strict: bool) -> None:
    handle = Handle("pod", blocks)
    assert read_handle(handle_key("pod"), write_handle(handle)) == handle
    affinity = Affinity("node1", ip_network("10.0.0.0/28"), "pending")
    assert read_affinity(host_affinity_key("node1", "10.0.0.0/28"), write_affinity(affinity)) == affinity
    spec = {"strictAffinity": strict, "autoAllocateBlocks": True, "maxBlocksPerHost": 4, "ipCooldownSeconds": 60}
    settings = IpamSettings(strict, True, 4, 60, {"kubeVirtVMAddressPersistence": "Enabled"})
    assert read_settings("", config_for(spec, None)) == settings
