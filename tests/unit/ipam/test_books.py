"""The audit that the tests of IPAM rely on finds each kind of disorder."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

import pytest
from tests.support.ipam_books import Books, disagreement, disorder

from tortie.ipam.block import Attribute, Block, new_block
from tortie.ipam.records import Affinity, Handle

CIDR = ip_network("10.0.0.0/30")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BLOCK = new_block(CIDR, "host:north", NOW).assign(2, Attribute("net.a", {"pod": "a"}))[0].next_write()
ROW = Affinity("north", CIDR)
HANDLE = Handle("net.a", {str(CIDR): 2})
FINE = Books((BLOCK,), (ROW,), (HANDLE,), {ip_address("10.0.0.0"): "a"})


def test_good_books_are_good() -> None:
    assert [*disorder(FINE), *disagreement(FINE)] == []
    assert FINE.held == {"net.a": {ip_address("10.0.0.0"), ip_address("10.0.0.1")}}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (BLOCK._replace(unallocated=(2,)), "1 free and 2 used do not make 4"),
        (BLOCK._replace(unallocated=(2, 2)), None),
        (BLOCK._replace(unallocated=(1, 2)), "2 free and 2 used do not make 4"),
        (BLOCK._replace(attributes=(*BLOCK.attributes, Attribute("net.b"))), "2 attributes"),
        (BLOCK._replace(sequences={}), "sequence numbers of"),
        (BLOCK._replace(sequence=0), "has not reached"),
    ],
)
def test_a_block_in_disorder_is_found(block: Block, words: str | None) -> None:
    found = list(disorder(FINE._replace(blocks=(block,))))
    assert found
    assert words is None or any(words in text for text in found)


@pytest.mark.parametrize(
    ("books", "words"),
    [
        (FINE._replace(handles=()), "its row says 0"),
        (FINE._replace(handles=(Handle("net.a", {str(CIDR): 1}),)), "its row says 1"),
        (FINE._replace(blocks=(BLOCK, new_block(ip_network("10.0.0.2/31"), None, NOW))), "overlap"),
    ],
)
def test_what_is_never_right_is_found(books: Books, words: str) -> None:
    assert any(words in text for text in disorder(books))


@pytest.mark.parametrize(
    ("books", "words"),
    [
        (FINE._replace(handles=(Handle("net.a", {str(CIDR): 3}),)), "its row says 3"),
        (FINE._replace(handles=(HANDLE, Handle("net.b", {}))), "says nothing"),
        (FINE._replace(handles=(HANDLE, Handle("net.b", {"10.9.0.0/30": 1}))), "net.b has 0"),
        (FINE._replace(affinities=()), "no confirmed affinity"),
        (FINE._replace(affinities=(ROW._replace(state="pending"),)), "is left pending"),
        (FINE._replace(affinities=(ROW, Affinity("east", CIDR))), "does not say so"),
        (FINE._replace(blocks=(BLOCK, new_block(ip_network("10.0.1.0/30"), None, NOW))), "empty and nobody's"),
        (FINE._replace(endpoints={ip_address("10.0.0.3"): "a"}), "which nobody holds"),
    ],
)
def test_what_does_not_agree_is_found(books: Books, words: str) -> None:
    assert list(disorder(books)) == []
    assert any(words in text for text in disagreement(books))
