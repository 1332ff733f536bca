"""How addresses are taken back: from what is known to what shall be written. Pure.

Taking back what nobody holds is no error, so everything here may be repeated. A block that belongs to nobody and holds
nothing any more is deleted; one whose pool does not select its node any more is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC

from tortie.ipam.block import HOST, Block, Holding, block_cidr, clean_handle
from tortie.ipam.claims import give_up
from tortie.ipam.draft import Draft, Missing, Trial
from tortie.ipam.facts import NODES
from tortie.ipam.planning import blocks_of
from tortie.ipam.pools import pool_with
from tortie.ipam.records import BLOCKS, Handle
from tortie.ipam.request import Expected, Released
from tortie.ipam.view import FACTS, Need, owner_prefix
from tortie.model.keys import block_key, handle_key
from tortie.model.network import IP, Network
from tortie.store.contract import Operation, check_operations

Holder = tuple[str | None, int | None]  # a handle, and the sequence number with which it was given the address


def plan_release_handle(
    draft: Draft, handle: str, along: Sequence[Operation] = (), *, only: frozenset[IP] | None = None
) -> tuple[Trial, Released]:
    """`only`: just these of its addresses; the others stay."""
    trial = Trial(draft)
    _need_facts(trial, {handle_key(handle)})
    known = _whole(trial, handle) if handle in trial.view.broken_handles else trial.sure_handle(handle)
    trial.along = list(along)
    if trial.along:
        check_operations(trial.along)
    if known is None:
        return trial, Released(())
    released: list[IP] = []
    left: dict[str, int] = {}
    blocks = blocks_of(trial, known)
    holding = {cidr for cidr, block in blocks if block.held_by(handle)}
    untouched = [cidr for cidr in known.networks() if cidr not in holding and not trial.is_fresh(cidr)]
    if untouched:
        raise Missing(Need(frozenset(block_key(str(cidr)) for cidr in untouched)))
    for cidr, block in blocks:
        holdings = block.held_by(handle)
        going = [holding.ip for holding in holdings if only is None or holding.ip in only]
        if len(going) < len(holdings):
            left[str(cidr)] = len(holdings) - len(going)
        if going:
            released += going
            trial.blocks[cidr] = _without(trial, block, going)
            _tidy(trial, cidr)
    trial.handles[handle] = known._replace(blocks=left) if left else None
    return trial, Released(tuple(released))


def _whole(trial: Trial, name: str) -> Handle:
    """A handle whose record cannot be read, put together again from the blocks, which say what it holds."""
    unread = {f"{BLOCKS}ipv{family}/" for family in (4, 6) if not trial.is_family_fresh(family)}
    if unread:
        raise Missing(Need(prefixes=frozenset(unread)))
    counts: dict[str, int] = {}
    for cidr in list(trial.view.blocks):
        block = None if cidr in trial.view.broken else trial.block(cidr)
        if block and (holdings := block.held_by(name)):
            counts[str(cidr)] = len(holdings)
    return Handle(name, counts)


def release_of(wanted: Sequence[Expected]) -> Callable[[Draft], tuple[Trial, Released]]:
    """A plan that frees each address from the holder that it found first, however often it has to be made anew: an
    attempt whose answer got lost may have freed it, and by now it may be somebody else's.
    """
    found: dict[IP, Holder | None] = {}
    return lambda draft: _plan_release_ips(draft, wanted, found)


def _plan_release_ips(
    draft: Draft, wanted: Sequence[Expected], found: dict[IP, Holder | None]
) -> tuple[Trial, Released]:
    trial = Trial(draft)
    _need_facts(trial, set())
    released: list[IP] = []
    not_held: list[IP] = []
    kept: list[tuple[IP, str]] = []
    gone: dict[str, dict[Network, int]] = {}
    for cidr, expected in _by_block(trial, wanted):
        if cidr and cidr in trial.view.broken:
            kept += [(item.ip, f"its block {cidr} cannot be read") for item in expected]
            continue
        if cidr and not trial.is_fresh(cidr):
            raise Missing(Need(frozenset({block_key(str(cidr))})))
        block = trial.block(cidr) if cidr else None
        going: list[IP] = []
        for item in expected:
            holding = block.holding(item.ip) if block else None
            if holding and holding.attribute.released_at:
                holding = None
            holder = (holding.attribute.handle, holding.sequence) if holding else None
            if holding is None or found.get(item.ip, holder) != holder:
                found.setdefault(item.ip, holder)
                not_held.append(item.ip)
            elif why := _why_kept(holding, item):
                kept.append((item.ip, why))
            else:
                found[item.ip] = holder
                going.append(item.ip)
                if holding.attribute.handle:
                    name = clean_handle(holding.attribute.handle)
                    per_block = gone.setdefault(name, {})
                    per_block[holding_cidr(block)] = per_block.get(holding_cidr(block), 0) + 1
        if going and block and cidr:
            released += going
            trial.blocks[cidr] = _without(trial, block, going)
    _count_down(trial, gone)
    for cidr in list(trial.blocks):
        _tidy(trial, cidr)
    return trial, Released(tuple(released), tuple(not_held), tuple(kept))


def holding_cidr(block: Block | None) -> Network:
    assert block is not None
    return block.cidr


def _need_facts(trial: Trial, keys: Iterable[str]) -> None:
    if trial.view.facts is None:
        raise Missing(FACTS | Need(frozenset(keys)))


def _by_block(trial: Trial, wanted: Sequence[Expected]) -> list[tuple[Network | None, list[Expected]]]:
    """Each address once. One that is in no pool may still be in a block: then all blocks are looked at."""
    places: dict[Network | None, list[Expected]] = {}
    lost: list[Expected] = []
    for item in {item.ip: item for item in wanted}.values():
        pool = pool_with(trial.facts.pools, item.ip, disabled=True)
        if pool:
            places.setdefault(block_cidr(item.ip, pool.block_size), []).append(item)
        else:
            lost.append(item)
    missing = {f"{BLOCKS}ipv{item.ip.version}/" for item in lost if item.ip.version not in trial.view.families_read}
    unknown = {block_key(str(cidr)) for cidr in places if cidr and not trial.knows(cidr)}
    if missing or unknown:
        raise Missing(Need(frozenset(unknown), frozenset(missing)))
    # A pool may have had another block size once: what its own block does not have, another one may.
    odd = [cidr for cidr in places if cidr and cidr not in trial.view.broken and trial.block(cidr) is None]
    lost += [item for cidr in odd for item in places.pop(cidr)]
    missing = {f"{BLOCKS}ipv{item.ip.version}/" for item in lost if item.ip.version not in trial.view.families_read}
    if missing:
        raise Missing(Need(prefixes=frozenset(missing)))
    for item in lost:
        there = (cidr for cidr in (*_blocks_there(trial), *trial.view.broken) if item.ip in cidr)
        places.setdefault(next(there, None), []).append(item)
    return list(places.items())


def _blocks_there(trial: Trial) -> Iterator[Network]:
    return (cidr for cidr, known in trial.view.blocks.items() if known)


def _why_kept(holding: Holding, wanted: Expected) -> str:
    handle = clean_handle(holding.attribute.handle or "")
    if wanted.handle is not None and handle != clean_handle(wanted.handle):
        return f"it is held by {handle or 'nobody by name'}, not by {wanted.handle}"
    if wanted.sequence is not None and wanted.sequence != holding.sequence:
        return f"it was given out again: sequence number {holding.sequence}, not {wanted.sequence}"
    return ""


def _without(trial: Trial, block: Block, ips: Sequence[IP]) -> Block | None:
    """None: nothing is left of it."""
    cooling = trial.facts.settings.cooldown_s > 0
    since = trial.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if cooling else None
    after = block.release(ips, cooling_since=since)
    return None if after.affinity is None and after.is_empty else after


def _count_down(trial: Trial, gone: dict[str, dict[Network, int]]) -> None:
    """A handle that nothing is left of goes. One that is not there at all is no error: it is as wanted. One that cannot
    be read counts nothing any more, and goes when its owner does.
    """
    unknown = Need()
    for name in gone:
        try:
            if name not in trial.view.broken_handles:
                trial.sure_handle(name)
        except Missing as missing:
            unknown |= missing.need
    if unknown != Need():
        raise Missing(unknown)
    for name, counts in gone.items():
        handle = None if name in trial.view.broken_handles else trial.sure_handle(name)
        if handle is None:
            continue
        for cidr, count in counts.items():
            handle = handle.with_added(cidr, -count)
        trial.handles[name] = None if handle.is_empty else handle


def _tidy(trial: Trial, cidr: Network) -> None:
    """Gives up an empty block whose pool does not select its node any more."""
    if trial.atomic:  # step by step, that is a step of its own
        owner = _unwanted(trial, trial.blocks[cidr])
        if owner:
            give_up(trial, owner, cidr, must_be_empty=True)


def _unwanted(trial: Trial, block: Block | None) -> str | None:
    """The owner that should not have the block any more, if it is empty."""
    if block is None or block.host is None or not block.is_empty:
        return None
    pool = pool_with(trial.facts.pools, block.ip(0))
    if pool is None or pool.spec.nodeSelector in ("", "all()"):
        return None
    node, owner = block.host, HOST + block.host
    if node not in trial.view.labels or owner not in trial.view.rows:
        raise Missing(Need(frozenset({NODES + node}), frozenset({owner_prefix(owner)})))
    labels = trial.view.labels[node]
    return owner if labels is not None and not pool.selects(labels) else None


def blocks_to_tidy(draft: Draft, ips: Sequence[IP]) -> tuple[Trial, list[tuple[str, Network]]]:
    trial = Trial(draft)
    _need_facts(trial, ())
    found: list[tuple[str, Network]] = []
    for cidr, _ in _by_block(trial, [Expected(ip) for ip in ips]):
        owner = _unwanted(trial, trial.block(cidr)) if cidr and cidr not in trial.view.broken else None
        if cidr and owner:
            found.append((owner, cidr))
    return trial, found


def plan_give_up(
    draft: Draft, owned: Sequence[tuple[str, Network]], *, must_be_empty: bool
) -> tuple[Trial, list[Network]]:
    """The blocks that their owners had and have no more. One that cannot be read stays with its affinity."""
    trial = Trial(draft)
    keys = {block_key(str(cidr)) for _, cidr in owned if not trial.knows(cidr)}
    prefixes = {owner_prefix(owner) for owner, _ in owned if owner not in trial.view.rows}
    if keys or prefixes:
        raise Missing(Need(frozenset(keys), frozenset(prefixes)))
    given = [
        cidr
        for owner, cidr in owned
        if cidr not in trial.view.broken
        and trial.row(owner, cidr)
        and give_up(trial, owner, cidr, must_be_empty=must_be_empty) == "released"
    ]
    return trial, given
