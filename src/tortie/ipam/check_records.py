"""Whether handles, affinities and settings say the same as the blocks, which have the last word. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tortie.ipam.block import HOST, VIRTUAL, WINDOWS_HANDLE, Block, clean_handle
from tortie.ipam.census import CONFIGURATION, Census
from tortie.ipam.problems import ConfirmAffinity, CountHandle, DeleteAffinity, DeleteHandle, Problem
from tortie.ipam.records import BLOCKS, Affinity
from tortie.model.ipam_settings import differences
from tortie.model.keys import IPAM_CONFIG, block_key, handle_key, host_affinity_key, virtual_affinity_key
from tortie.model.network import Network
from tortie.model.wire import Document

_REPAIR = "tortie ipam check --repair-file FILE, then tortie ipam repair FILE"


def counted_handles(blocks: Mapping[Network, Block]) -> dict[str, dict[str, int]]:
    """What the handles should say: for each how many addresses it holds, by block."""
    counts: dict[str, dict[str, int]] = {}
    for block in blocks.values():
        cidr = str(block.cidr)
        ids = [attribute.handle for attribute in block.attributes]
        for index in block.allocations:
            handle = ids[index] if index is not None else None
            if handle is not None and handle != WINDOWS_HANDLE:
                own = counts.setdefault(clean_handle(handle), {})
                own[cidr] = own.get(cidr, 0) + 1
    return counts


def handle_problems(census: Census) -> Iterator[Problem]:
    counts = counted_handles(census.blocks)
    unreadable = {lost.key for lost in census.unreadable}
    lost_blocks = any(key.startswith(BLOCKS) for key in unreadable)
    for name, (handle, revision) in census.handles.items():
        real = counts.pop(clean_handle(name), None)
        if real is None:
            why = "the handle doesn't have any active IPs"
            repair = None if lost_blocks else DeleteHandle(name, revision)
            yield Problem("handle-orphaned", "error", name, why, _REPAIR, repair)
        elif real != handle.blocks:
            why = f"the handle counts {_counts(handle.blocks)}, but the blocks hold {_counts(real)}"
            repair_count = None if lost_blocks else CountHandle(name, revision, real)
            yield Problem("handle-count", "error", name, why, _REPAIR, repair_count)
        elif handle.deleted:
            why = "the handle is marked as deleted, but its addresses are held"
            yield Problem("tombstone", "warning", name, why, _REPAIR, CountHandle(name, revision, real))
    for name, real in counts.items():
        if handle_key(name) in unreadable:
            continue  # it is there, only nobody can read it
        why = f"the handle is in use in a block ({_counts(real)}) but doesn't exist"
        yield Problem("handle-missing", "error", name, why, _REPAIR, CountHandle(name, None, real))


def affinity_problems(census: Census) -> Iterator[Problem]:
    lost = {entry.key for entry in census.unreadable}
    missing: dict[str, int] = {}
    for key, (affinity, revision) in census.affinities.items():
        block = census.blocks.get(affinity.cidr)
        if not affinity.virtual and affinity.owner not in census.nodes:
            missing[affinity.owner] = missing.get(affinity.owner, 0) + 1
        if block is None and block_key(str(affinity.cidr)) in lost:
            continue  # it is there, only nobody can read it
        yield from _claim_problems(key, revision, affinity, block, census)
    for cidr, block in census.blocks.items():
        key_of_owner = _owner_key(block)
        if key_of_owner and key_of_owner not in census.affinities and key_of_owner not in lost:
            owner = str(block.affinity)
            if block.host is not None and block.host not in census.nodes:
                missing[block.host] = missing.get(block.host, 0) + 1
            why = f"the block says that it is {owner}'s, which does not claim it: its routes are not advertised"
            repair = ConfirmAffinity(key_of_owner, None, cidr, census.block_revisions.get(cidr, 0))
            yield Problem("block-without-affinity", "error", str(cidr), why, _REPAIR, repair)
    for node, count in sorted(missing.items()):
        why = f"there is no such node, but {count} block{'s are' if count > 1 else ' is'} kept for it"
        cure = f"tortie ipam release --node={node}; the controllers do it, too"
        yield Problem("node-missing", "warning", node, why, cure)


def _claim_problems(
    key: str, revision: int, affinity: Affinity, block: Block | None, census: Census
) -> Iterator[Problem]:
    cidr, owner = str(affinity.cidr), affinity.owner
    drop = DeleteAffinity(key, revision)
    if block is not None and block.affinity != f"{VIRTUAL if affinity.virtual else HOST}{owner}":
        theirs = f"is {block.affinity}'s" if block.affinity else "is nobody's"
        why = f"{owner} claims it, but the block says that it {theirs}"
        yield Problem("affinity-foreign", "error", cidr, why, _REPAIR, drop)
    elif block is None and affinity.is_confirmed:
        why = f"{owner} claims it and advertises it, but there is no such block"
        yield Problem("affinity-without-block", "error", cidr, why, _REPAIR, drop)
    elif not affinity.is_confirmed:
        state = "deleted" if affinity.deleted else affinity.state
        what = f"{owner}'s claim is {state}: somebody began and did not finish"
        heal = ConfirmAffinity(key, revision, affinity.cidr, census.block_revisions.get(affinity.cidr, 0))
        yield Problem("affinity-pending", "warning", cidr, what, _REPAIR, drop if block is None else heal)


def settings_problems(census: Census) -> Iterator[Problem]:
    """Calico keeps both, and IPAM reads only one of them."""
    if census.configuration is None or any(lost.key == IPAM_CONFIG for lost in census.unreadable):
        return
    spec: Any = census.configuration[0].get("spec") or {}
    if isinstance(spec, dict) and (different := differences(spec, _stored_settings(census))):
        each = ", ".join(f"{name} is {_go(read)}, not {_go(said)}" for name, (said, read) in different.items())
        source = "what IPAM reads" if census.settings_revision is not None else "what IPAM uses, as nothing is stored"
        why = f"the resource {CONFIGURATION.rpartition('/')[2]} says otherwise than {source}: {each}"
        strict = _go(census.settings.strict_affinity)
        cure = (
            f"`tortie ipam configure --strictaffinity={strict}` keeps what is in effect and writes it into the "
            "resource, too; `tortie apply` of the resource puts into effect what it says"
        )
        yield Problem("settings-disagree", "warning", "IPAMConfiguration", why, cure)


def _stored_settings(census: Census) -> Document | None:
    """As Calico writes them; None where nothing is stored."""
    settings = census.settings
    if census.settings_revision is None:
        return None
    return {
        "strict_affinity": settings.strict_affinity,
        "auto_allocate_blocks": settings.auto_allocate_blocks,
        "maxBlocksPerHost": settings.max_blocks_per_host,
        "ipCooldownSeconds": settings.cooldown_s,
        **settings.rest,
    }


def _owner_key(block: Block) -> str | None:
    if block.host is not None:
        return host_affinity_key(block.host, str(block.cidr))
    return virtual_affinity_key(str(block.cidr)) if block.affinity else None


def _counts(blocks: Mapping[str, int]) -> str:
    return ", ".join(f"{count} in {cidr}" for cidr, count in sorted(blocks.items())) or "none"


def _go(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
