"""What can be wrong with the records of IPAM, and what would set it right. Plain values.

A repair says what it saw: whoever carries it out does so only while that is still so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from tortie.model.network import IP, Network

Severity = Literal["error", "warning"]

Kind = Literal[
    "unreadable",  # a record that makes no sense
    "attribute-unused",  # a block keeps an attribute that no address refers to
    "released-in-future",  # an address cools down since a time that is yet to come, or that is no time
    "queue-repeats",  # a free address waits twice
    "queue-range",  # an address waits that is not the block's
    "queue-held",  # an address waits that somebody holds
    "queue-missing",  # an address is neither held nor waits
    "tombstone",  # marked as deleted, but there
    "blocks-overlap",
    "address-twice",  # held in two blocks
    "block-outside-pools",
    "block-size",  # not the size that its pool says
    "leaked",  # held, but nobody uses it
    "not-allocated",  # used, in a pool, but not held
    "not-in-pool",  # used, but in no pool
    "used-twice",
    "wrong-owner",  # used by somebody else than it is held for
    "wrong-node",  # used on another node than it is held for
    "borrowed",  # although strictAffinity forbids it
    "handle-orphaned",  # a handle without any address
    "handle-missing",  # an address with a handle that is not there
    "handle-count",  # a handle that counts other numbers than the blocks hold
    "affinity-without-block",
    "affinity-foreign",  # a node claims a block that says it is another's
    "affinity-pending",  # a claim that somebody began and did not finish
    "block-without-affinity",  # a block names a node that does not claim it
    "node-missing",  # blocks or addresses of a node that does not exist
    "settings-disagree",  # what IPAM reads and what the resource says are two things
]


class ReleaseAddress(NamedTuple):
    """Only while it is held by that handle and since that write."""

    ip: IP
    handle: str | None
    sequence: int | None


class DeleteHandle(NamedTuple):
    handle: str
    revision: int


class CountHandle(NamedTuple):
    """The handle with the numbers that the blocks hold; no revision: it is made."""

    handle: str
    revision: int | None
    blocks: Mapping[str, int]


class DeleteAffinity(NamedTuple):
    key: str
    revision: int


class ConfirmAffinity(NamedTuple):
    """The block says whose it is, and its owner's claim follows; no revision: it is made."""

    key: str
    revision: int | None
    cidr: Network
    block_revision: int


Repair = ReleaseAddress | DeleteHandle | CountHandle | DeleteAffinity | ConfirmAffinity


class Problem(NamedTuple):
    kind: Kind
    severity: Severity
    subject: str  # an address, a CIDR, a handle, a node or a key
    why: str
    cure: str  # what would set it right, for people
    repair: Repair | None = None  # the same for a program, where it is safe to leave it to one
