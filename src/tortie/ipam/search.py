"""Looking for free addresses of one family: own blocks first, then a new one, then what others leave over. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from tortie.ipam.block import Attribute, Block
from tortie.ipam.choice import blocks_in_order, first_block_index
from tortie.ipam.claims import claim, confirm, give_up
from tortie.ipam.draft import Missing, Trial
from tortie.ipam.errors import BlockLimit, Exhausted, Fullness
from tortie.ipam.pools import Pool
from tortie.ipam.records import BLOCKS, HOSTS, VIRTUALS
from tortie.ipam.request import interface
from tortie.ipam.room import is_in
from tortie.ipam.view import Need
from tortie.model.keys import block_key
from tortie.model.network import CIDR, Network

# Two nodes must not take a block from each other again and again, each before the other could use it.
RECLAIM_AGE: Final = timedelta(minutes=1)

_LOOK_AT: Final = 100  # blocks, in one read
_LOOK_AGAIN: Final = 4  # own blocks for each new one, longest not looked at first; more than most nodes have
_MANY: Final = 400  # blocks to look at: then all of them are read at once


class Hunt:
    def __init__(self, trial: Trial, owner: str, pools: Sequence[Pool], blocks_max: int) -> None:
        self._trial = trial
        self._owner = owner
        self._pools = pools
        self._limit = trial.facts.settings.blocks_max(blocks_max)
        self._reserved = trial.facts.reservations

    def obtain(self, family: int, wanted: int, attribute: Attribute, *, had: int = 0) -> list[CIDR]:
        """So many addresses, each with the length of its block's prefix."""
        settings = self._trial.facts.settings
        found = self._from_room(family, wanted, attribute)
        if len(found) == wanted:
            return found
        owned = self._own(family)
        for cidr, block in owned:
            found += self._take(cidr, block, wanted - len(found), attribute, own=True)
            if len(found) == wanted:
                return found
        count = len(owned)
        while len(found) < wanted:
            if count >= self._limit:
                name = self._owner.partition(":")[2]
                raise BlockLimit(name, self._limit, family, had + len(found), had + wanted)
            if not settings.auto_allocate_blocks:
                raise self._exhausted(family, had + len(found), had + wanted)
            claimed = self._new(family, [cidr for cidr, _ in owned]) or self._reclaimed(family)
            if claimed is None:
                break
            count += 1
            found += self._take(claimed.cidr, claimed, wanted - len(found), attribute, own=True)
        if len(found) < wanted and not settings.strict_affinity:
            for cidr, block in self._others(family):
                found += self._take(cidr, block, wanted - len(found), attribute)
                if len(found) == wanted:
                    break
        if len(found) < wanted:
            raise self._exhausted(family, had + len(found), had + wanted)
        return found

    def _from_room(self, family: int, wanted: int, attribute: Attribute) -> list[CIDR]:
        """The short way, which nearly all addresses come: from own blocks that are as they should be."""
        trial = self._trial
        room = trial.view.answers.room(trial.view, self._owner, family, self._pools)
        found: list[CIDR] = []
        if room is not None and trial.leaves_alone(family, room):
            for cidr in room:
                block = trial.block(cidr)
                assert block is not None
                found += self._take(cidr, block, wanted - len(found), attribute)
                if len(found) == wanted:
                    break
        return found

    def _own(self, family: int) -> list[tuple[Network, Block]]:
        """The owner's blocks in these pools, in the order of their keys. A row without its block gets one."""
        trial = self._trial
        rows = [cidr for cidr in trial.own_rows(self._owner) if cidr.version == family and is_in(cidr, self._pools)]
        rows.sort(key=str)
        unknown = [block_key(str(cidr)) for cidr in rows if not trial.knows(cidr)]
        if unknown:
            raise Missing(Need(frozenset(unknown[:_LOOK_AT])))
        owned: list[tuple[Network, Block]] = []
        for cidr in rows:
            if cidr in trial.view.broken:
                continue
            block = trial.block(cidr)
            if block is None:
                block = claim(trial, self._owner, cidr)
            elif block.affinity != self._owner:
                trial.rows[self._owner, cidr] = None  # a claim that somebody else won
                continue
            owned.append((cidr, block))
        return owned

    def _take(self, cidr: Network, block: Block, wanted: int, attribute: Attribute, *, own: bool = False) -> list[CIDR]:
        if not block.unallocated:
            return []
        reserved = self._reserved
        is_reserved = reserved.has if reserved and reserved.touch(cidr) else None
        after, ips = block.assign(wanted, attribute, is_reserved)
        if not ips:
            return []
        self._trial.blocks[cidr] = after
        if own:
            confirm(self._trial, self._owner, cidr, block)
        return [interface(ip, cidr) for ip in ips]

    def _new(self, family: int, own: Sequence[Network]) -> Block | None:
        """A block that nobody has."""
        trial = self._trial
        view = trial.view
        if view.everything_taken is None:
            # Somebody may have freed addresses in our own blocks meanwhile: the same read tells.
            stale = {cidr for cidr in own if not trial.is_fresh(cidr) and not trial.is_claimed(cidr)}
            again = [block_key(str(cidr)) for cidr in view.blocks if cidr in stale]
            raise Missing(Need(frozenset(again[:_LOOK_AGAIN]), frozenset({HOSTS, VIRTUALS})))
        unknown: list[str] = []
        for cidr in self._free_places(family):
            if view.wary and not trial.knows(cidr):
                unknown.append(block_key(str(cidr)))
                if len(unknown) == _LOOK_AT:
                    break
                continue
            block = trial.block(cidr) if trial.knows(cidr) else None
            if block is None and not unknown:
                return claim(trial, self._owner, cidr)
            if block is not None and block.affinity == self._owner and block.unallocated and not unknown:
                confirm(trial, self._owner, cidr, block)
                return block
            if block is None:
                break
        if unknown:
            seen = sum(1 for cidr in view.blocks if cidr.version == family)
            if seen >= _LOOK_AT:
                raise Missing(Need(prefixes=frozenset({f"{BLOCKS}ipv{family}/"})))
            raise Missing(Need(frozenset(unknown)))
        return None

    def _free_places(self, family: int) -> Iterator[Network]:
        """Blocks that no affinity tells of, in the order of this host."""
        host = self._owner.partition(":")[2]
        taken = self._trial.view.taken()
        for pool in self._pools:
            if pool.cidr.version != family:
                continue
            for cidr in blocks_in_order(pool.cidr, pool.block_size, host, taken=taken, reservations=self._reserved):
                if not self._trial.is_claimed(cidr) and cidr not in self._trial.view.broken:
                    yield cidr

    def _reclaimed(self, family: int) -> Block | None:
        """An empty block that its owner has had for a while, taken over."""
        trial = self._trial
        for cidr, block in self._others(family):
            owner = block.affinity
            if owner is None or not block.is_empty or not _is_old(block.claim_time, trial.now):
                continue
            if self._reserved.cover(cidr) or not block.unallocated or trial.is_claimed(cidr):
                continue
            give_up(trial, owner, cidr, must_be_empty=True)
            return claim(trial, self._owner, cidr)
        return None

    def _others(self, family: int) -> Iterator[tuple[Network, Block]]:
        """Blocks of other owners and nobody's in these pools, in the order of this host. All of them, or `Missing`."""
        trial = self._trial
        view = trial.view
        places = [*(view.everything_taken or ()), *(cidr for cidr, known in view.blocks.items() if known)]
        ours = [cidr for cidr in dict.fromkeys(places) if cidr.version == family and is_in(cidr, self._pools)]
        unknown = [cidr for cidr in ours if not trial.knows(cidr)]
        if len(unknown) > _MANY:
            raise Missing(Need(prefixes=frozenset({f"{BLOCKS}ipv{family}/"})))
        if unknown:
            raise Missing(Need(frozenset(block_key(str(cidr)) for cidr in unknown)))
        for cidr in self._in_order(ours):
            block = None if cidr in view.broken else trial.block(cidr)
            if block is not None and block.affinity != self._owner:
                yield cidr, block

    def _in_order(self, cidrs: Sequence[Network]) -> list[Network]:
        host = self._owner.partition(":")[2]

        def place(cidr: Network) -> tuple[int, int]:
            for number, pool in enumerate(self._pools):
                if pool.cidr.version == cidr.version and cidr.subnet_of(pool.cidr):  # type: ignore[arg-type]
                    step = 1 << (cidr.max_prefixlen - pool.block_size)
                    index = (int(cidr.network_address) - int(pool.cidr.network_address)) // step
                    return number, (index - first_block_index(host, pool.blocks)) % pool.blocks
            return len(self._pools), 0

        return sorted(cidrs, key=place)

    def _exhausted(self, family: int, assigned: int, wanted: int) -> Exhausted:
        view, settings = self._trial.view, self._trial.facts.settings
        fullness = []
        for pool in self._pools:
            if pool.cidr.version != family:
                continue
            claimed = [c for c in view.everything_taken or () if c.version == family and c.subnet_of(pool.cidr)]  # type: ignore[arg-type]
            known = [stored.value for cidr in claimed if (stored := view.blocks.get(cidr))]
            free = sum(block.free for block in known) if len(known) == len(claimed) else None
            reserved = bool(free) and not settings.strict_affinity
            fullness.append(Fullness(pool.name, pool.cidr, pool.blocks, len(claimed), free, reserved))
        name = self._owner.partition(":")[2]
        return Exhausted(
            name,
            family,
            assigned,
            wanted,
            fullness,
            strict=settings.strict_affinity,
            no_new_blocks=not settings.auto_allocate_blocks,
            unreadable=[cidr for cidr in view.broken if is_in(cidr, self._pools) and cidr.version == family],
        )


def _is_old(claim_time: str | None, now: datetime) -> bool:
    if claim_time is None:
        return True
    try:
        return now - datetime.fromisoformat(claim_time) >= RECLAIM_AGE
    except (ValueError, TypeError):
        return True
