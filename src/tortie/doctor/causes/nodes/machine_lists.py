"""Who has an address by the word of a cloud or hypervisor, and by that of starts that stand in each other's way."""

from __future__ import annotations

from typing import Final, Literal

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG
from tortie.doctor.causes.nodes.bgp_evidence import conflicts, node_at, remembered, same_host
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Machine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple

_PICKED: Final = lazily(r"--filters?\b|\bgrep\b|--names?\b|--tag|--instance-ids?\b|--ids?\b|\bhead\b|\btail\b")
_WORD: Final = lazily(r"[A-Za-z0-9][\w.-]{2,}")


class Owner(NamedTuple):
    """What tells that somebody has another address by now, that both have it, or that nobody has that name."""

    kind: Literal["changed", "stale", "duplicate"]
    strength: float
    evidence: tuple[object, ...]


def machine_called(picture: Picture, node: str) -> Machine | None:
    """The last row of that name."""
    rows = [one for one in picture.of(Machine) if any(same_host(name, node) for name in one.names)]
    return rows[-1] if rows else None


def by_machines(picture: Picture, address: str, other: str, node: str) -> Owner | None:
    """A list shows who has the address: not whom Calico has recorded for it."""
    holder, wanter = machine_called(picture, other), machine_called(picture, node) if node else None
    having = [one for one in picture.of(Machine) if address in one.addresses and not one.stopped]
    if not having or (node and (wanter is None or address not in wanter.addresses)):
        return None  # an address that moves from machine to machine, or somebody's who is no node
    if holder is None:
        return Owner("stale", LIKELY, tuple(having[:1])) if _would_show(picture, having[0], other) else None
    if address in holder.addresses:
        both = [one for one in having if one.names != holder.names]
        strength = STRONG if wanter else LIKELY
        return Owner("duplicate", strength, (holder, wanter or both[0])) if both and not holder.stopped else None
    return Owner("changed", PROVEN if wanter else STRONG, (holder, wanter or having[0]))


def _would_show(picture: Picture, shown: Machine, name: str) -> bool:
    """The list is whole, or picks rows by a word that is in this name, too; of more than one machine in any case."""
    exhibit = exhibit_at(picture, shown.place)
    rows = [one for one in picture.of(Machine) if exhibit_at(picture, one.place) is exhibit]
    if exhibit is None or not exhibit.command or len(rows) < 2:
        return False
    picked = _PICKED.search(exhibit.command)
    return not picked or any(word in name for word in _WORD.findall(exhibit.command[picked.end() :]))


@remembered
def _wanted(picture: Picture) -> dict[str, Hit]:
    """Which address each node wanted that was refused it."""
    wanted = {}
    for hit in conflicts(picture):
        node = node_at(picture, hit.place, hit.host)
        if node and not same_host(node, hit.value("other")):
            wanted[node] = hit
    return wanted


def by_starts(picture: Picture, address: str, other: str) -> Owner | None:
    """Whoever is recorded with the address starts as well, and wants another one: that is the one it has by now.

    Where the last one of such a chain is in the way of the first, they have exchanged their addresses.
    """
    wanted, chain, owner = _wanted(picture), [], other
    while owner in wanted and wanted[owner] not in chain:
        chain.append(wanted[owner])
        owner = wanted[owner].value("other")
    if not chain or chain[0].value("ip") == address or len({hit.value("ip") for hit in chain}) < len(chain):
        return None
    closed = any(hit.value("ip") == address for hit in chain)
    return Owner("changed", STRONG if closed else LIKELY, tuple(chain[:2]))


def address_now(picture: Picture, node: str) -> str:
    """A node's own address by Kubernetes, else by a list of machines, else by what it wanted at its start."""
    if known := picture.internal_ips().get(node, ""):
        return known
    machine = machine_called(picture, node)
    if machine and len(machine.addresses) == 1:
        return machine.addresses[0]
    hit = _wanted(picture).get(node)
    return hit.value("ip") if hit else ""
