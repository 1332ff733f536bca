"""Whose a block is: claiming it, confirming the claim, giving it up. Pure.

The block itself has the last word; the affinity row is what the others see and what the routes follow.
"""

from __future__ import annotations

from typing import Literal

from tortie.ipam.block import Block, new_block
from tortie.ipam.draft import Trial
from tortie.ipam.records import Affinity
from tortie.ipam.view import VIRTUAL_OWNER
from tortie.model.network import Network

GivenUp = Literal["released", "not empty", "not theirs"]


def claim(trial: Trial, owner: str, cidr: Network) -> Block:
    """A new block for the owner, with its affinity. A row that is known is written all the same: it may have gone
    together with the block, and whoever wants to remove it because there is no block must find it changed.
    """
    block = new_block(cidr, owner, trial.now)
    trial.blocks[cidr] = block
    trial.rows[owner, cidr] = _row(owner, cidr)
    return block


def confirm(trial: Trial, owner: str, cidr: Network, block: Block) -> None:
    """The affinity of a block that is the owner's already. Both are written, or somebody else could take the block at
    the same time.
    """
    row = trial.row(owner, cidr)
    if row is None or not row.is_confirmed:
        trial.rows[owner, cidr] = _row(owner, cidr)
        trial.blocks.setdefault(cidr, block)


def _row(owner: str, cidr: Network) -> Affinity:
    return Affinity(owner.partition(":")[2], cidr, virtual=owner == VIRTUAL_OWNER)


def give_up(trial: Trial, owner: str, cidr: Network, *, must_be_empty: bool) -> GivenUp:
    """An empty block goes with its affinity; from one that is in use only the affinity goes."""
    block = trial.block(cidr)
    if block is not None and block.affinity == owner:
        if not block.is_empty and must_be_empty:
            return "not empty"
        trial.blocks[cidr] = None if block.is_empty else block.without_affinity()
        trial.rows[owner, cidr] = None
        return "released"
    trial.rows[owner, cidr] = None  # nobody's or somebody else's block: the row is all there is to remove
    return "not theirs"
