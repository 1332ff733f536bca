"""`tortie ipam show`: how full the pools and blocks are, who has an address, who borrows, and the settings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tortie.cli.ipam.forms import parse_ip, refuse_form
from tortie.cli.ipam.frame import framed
from tortie.cli.session import note_absent_store, with_store
from tortie.cli.settings import Settings
from tortie.ipam.block import Holding
from tortie.ipam.census import Census, take_census
from tortie.ipam.figures import Figures, Utilization, borrowed, utilization
from tortie.ipam.records import IpamSettings
from tortie.ipam.usage import Users, held_for
from tortie.model.errors import UsageError
from tortie.model.network import IP
from tortie.model.wire import to_json

_VERSION = {"apiVersion": "tortie/v1"}


def show(
    *,
    settings: Settings,
    ip: str | None,
    show_blocks: bool,
    show_borrowed: bool,
    show_configuration: bool,
    output: str,
) -> int:
    refuse_form(output, "ps", "json")
    asked = [bool(ip), show_blocks, show_borrowed, show_configuration]
    if sum(asked) > 1:
        why = "--ip, --show-blocks, --show-borrowed and --show-configuration each show something of their own"
        raise UsageError("several things are asked for at once", why, "ask for one of them")
    address = parse_ip(ip, "tortie ipam show --ip=10.244.1.5") if ip else None
    census = with_store(settings, take_census)
    as_json = output == "json"
    if address is not None:
        text = _address_json(census, address) if as_json else _address_text(census, address)
    elif show_borrowed:
        text = _borrowed_json(census) if as_json else _borrowed_text(census)
    elif show_configuration:
        text = _settings_json(census) if as_json else _settings_text(census.settings)
    else:
        figures = utilization(census)
        text = _figures_json(figures) if as_json else _figures_text(figures, with_blocks=show_blocks)
    sys.stdout.write(text)
    if census.unreadable:
        keys = ", ".join(lost.key for lost in census.unreadable[:3])
        sys.stderr.write(f"note: {len(census.unreadable)} records cannot be read and are not counted: {keys}\n")
        sys.stderr.write("note: `tortie ipam check` says what is wrong with each\n")
    note_absent_store(settings)
    return 0


def _figures_text(figures: Utilization, *, with_blocks: bool) -> str:
    headings = ["GROUPING", "CIDR", "IPS TOTAL", "IPS IN USE", "IPS RESERVED", "IPS FREE"]
    rows = []
    for pool in figures.pools:
        rows.append(_row("IP Pool", pool.whole))
        if with_blocks:
            rows += [_row("Block", block) for block, _ in pool.blocks]
    if with_blocks:
        rows += [_row("Block", block) for block, _ in figures.orphans]
    if not figures.has_reservations:  # Calico before reservations had no such column, and nothing would stand there
        headings.remove("IPS RESERVED")
        rows = [[*row[:4], row[5]] for row in rows]
    return framed(headings, rows)


def _row(grouping: str, figures: Figures) -> list[str]:
    counts = (figures.used, figures.reserved, figures.free)
    return [grouping, str(figures.cidr), f"{figures.total:.5g}", *(_share(count, figures.total) for count in counts)]


def _share(count: int, total: int) -> str:
    """Five digits, as Go's %.5g writes them."""
    return f"{count:.5g} ({100 * count / total:.0f}%)"


def _figures_json(figures: Utilization) -> str:
    def block(of: Figures, affinity: str | None) -> dict[str, Any]:
        return {**_numbers(of), "affinity": affinity}

    body = {
        **_VERSION,
        "kind": "IPAMUtilization",
        "pools": [
            {
                "name": pool.name,
                "disabled": pool.disabled,
                **_numbers(pool.whole),
                "blocks": [block(*each) for each in pool.blocks],
            }
            for pool in figures.pools
        ],
        "blocksOutsidePools": [block(*each) for each in figures.orphans],
    }
    return to_json(body) + "\n"


def _numbers(figures: Figures) -> dict[str, Any]:
    return {
        "cidr": str(figures.cidr),
        "total": figures.total,
        "inUse": figures.used,
        "reserved": figures.reserved,
        "free": figures.free,
    }


def _find(census: Census, ip: IP) -> Holding | None:
    for cidr, block in census.blocks.items():
        if ip in cidr and (holding := block.holding(ip)):
            return holding
    return None


def _address_text(census: Census, ip: IP) -> str:
    holding = _find(census, ip)
    if holding is None:
        return f"{ip} is not assigned\n"
    attribute = holding.attribute
    if attribute.released_at:
        return f"{ip} is not assigned\nIt was released at {attribute.released_at} and cools down\n"
    lines = [f"IP {ip} is in use", f"Handle ID: {attribute.handle or '<none>'}"]
    owner = _owner_lines("Active Owner Attributes", attribute.secondary)
    lines += owner or ["No Active Owner attributes defined"]
    lines += _owner_lines("Alternate Owner Attributes", attribute.rest.get("alternateOwnerAttrs"))
    return "\n".join(lines) + "\n"


def _owner_lines(title: str, attributes: object) -> list[str]:
    if not isinstance(attributes, Mapping) or not attributes:
        return []
    return [f"{title}:", *(f"  {name}: {value}" for name, value in sorted(attributes.items()))]


def _address_json(census: Census, ip: IP) -> str:
    users = Users(census)
    holding = _find(census, ip)
    body: dict[str, Any] = {**_VERSION, "kind": "IPAMAddress", "ip": str(ip), "assigned": False}
    body["usedBy"] = [{"kind": use.kind, "owner": use.owner, "node": use.node} for use in users.of(ip)]
    if holding is not None:
        held, attribute = held_for(ip, holding.attribute), holding.attribute
        body |= {
            "assigned": not attribute.released_at,
            "block": str(next(cidr for cidr in census.blocks if ip in cidr)),
            "handle": attribute.handle,
            "attributes": dict(attribute.secondary or {}),
            "sequenceNumber": holding.sequence,
            "releasedAt": attribute.released_at,
            "heldFor": {"kind": held.kind, "owner": held.owner, "node": held.node},
        }
    return to_json(body) + "\n"


def _borrowed_text(census: Census) -> str:
    found, unknown = borrowed(census)
    rows = [list(map(str, each)) for each in found]
    text = framed(["IP", "BORROWING-NODE", "BLOCK", "BLOCK OWNER", "TYPE", "ALLOCATED-TO"], rows)
    if unknown:
        text += (
            f"\nNote: found {unknown} IP allocations without an explicit node association. "
            "Unable to determine if they are borrowed.\n"
        )
    return text


def _borrowed_json(census: Census) -> str:
    found, unknown = borrowed(census)
    names = ("ip", "borrowingNode", "block", "blockOwner", "type", "allocatedTo")
    rows = [dict(zip(names, map(str, each), strict=True)) for each in found]
    return to_json({**_VERSION, "kind": "IPAMBorrowed", "addresses": rows, "withoutNode": unknown}) + "\n"


def _properties(settings: IpamSettings) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "StrictAffinity": settings.strict_affinity,
        "AutoAllocateBlocks": settings.auto_allocate_blocks,
        "MaxBlocksPerHost": settings.max_blocks_per_host,
    }
    if persistence := settings.rest.get("kubeVirtVMAddressPersistence"):
        properties["KubeVirtVMAddressPersistence"] = persistence
    if settings.cooldown_s:
        properties["IPCooldownSeconds"] = settings.cooldown_s
    return properties


def _settings_text(settings: IpamSettings) -> str:
    rows = [[name, spoken(value)] for name, value in _properties(settings).items()]
    return framed(["PROPERTY", "VALUE"], rows)


def _settings_json(census: Census) -> str:
    named = {name[0].lower() + name[1:]: value for name, value in _properties(census.settings).items()}
    stored = census.settings_revision is not None
    return to_json({**_VERSION, "kind": "IPAMSettings", **named, "stored": stored}) + "\n"


def spoken(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
