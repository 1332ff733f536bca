"""Two nodes and one address: who holds it, who wants it, and therefore which of four causes it is, or none."""

from __future__ import annotations

import re
from typing import Final, Literal

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG
from tortie.doctor.causes.nodes.bgp_addresses import link_with, registrations
from tortie.doctor.causes.nodes.bgp_evidence import conflicts, is_lost, node_at, node_called, same_host
from tortie.doctor.causes.nodes.machine_lists import by_machines, by_starts
from tortie.doctor.causes.nodes.wrong_addresses import is_network, suspects
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

Kind = Literal["wrong-interface", "network", "stale", "duplicate", "changed", "open"]

ARP_ANSWERED: Final = Sign("arp-answered", "(Unicast|Broadcast) reply from <ip> [")
ARP_ANSWERS: Final = Sign("arp-answers", "Received <n> response\\(s\\)")
ARP_DUPLICATE: Final = Sign("arp-duplicate", "duplicate address <rest>")
ARP_CONFLICT: Final = Sign("arp-conflict", "address conflict detected")
# Tortie's node asks the link by itself, and tells what it heard.
ARP_OTHER: Final = Sign("arp-other-machine", "another machine \\(<mac>\\)…answers for <ip>")
ARP_NOBODY: Final = Sign("arp-nobody", "nobody else answers for <ip>")
_ARPING: Final = lazily(r"\barping\b[^\n]{0,120}?\b((?:\d{1,3}\.){3}\d{1,3})", re.IGNORECASE)
_GREP: Final = lazily(r"\bgrep\s+(?:-\S+\s+)*[\"']?([\w.-]+)")
ARP_SIGNS: Final = (ARP_ANSWERED, ARP_ANSWERS, ARP_DUPLICATE, ARP_CONFLICT, ARP_OTHER, ARP_NOBODY)


class Contest(NamedTuple):
    """A start-up that ended because `other` is recorded with the address."""

    hit: Hit
    address: str
    other: str
    node: str  # who wanted it; empty when nothing says
    kind: Kind
    strength: float
    evidence: tuple[object, ...] = ()


def contests(picture: Picture) -> list[Contest]:
    got = []
    for hit in conflicts(picture):
        address, other = hit.value("ip"), hit.value("other")
        node = node_at(picture, hit.place, hit.host)
        if not node or node == other:
            node = next((n for n, ip in picture.internal_ips().items() if ip == address and n != other), node)
        kind, strength, evidence = _decide(picture, address, other, "" if node == other else node)
        got.append(Contest(hit, address, other, node, kind, strength, evidence))
    return got


def decided(picture: Picture) -> Contest | None:
    """The first one of which the evidence tells what it is."""
    return next((one for one in contests(picture) if one.kind != "open"), None)


def contest(picture: Picture, kind: Kind) -> Contest | None:
    """The most certain one of a kind."""
    return max((c for c in contests(picture) if c.kind == kind), key=lambda c: c.strength, default=None)


def link_of(picture: Picture, address: str) -> str:
    """The link that carries a contested address, by its host or by the agent's word."""
    link = link_with(picture, address)
    told = [seen.interface for seen in registrations(picture) if seen.address == address and seen.interface]
    return link.name if link else told[-1] if told else ""


def arp_answers(picture: Picture, address: str) -> bool | None:
    """Whether somebody else answered for an address; None when nobody asked for it."""
    if any(_of(picture, hit, address) for hit in picture.hits(ARP_ANSWERED, ARP_DUPLICATE, ARP_CONFLICT, ARP_OTHER)):
        return True
    counts = [hit.value("n") for hit in picture.hits(ARP_ANSWERS) if _of(picture, hit, address)]
    counts += ["0" for hit in picture.hits(ARP_NOBODY) if _of(picture, hit, address)]
    return any(count != "0" for count in counts) if counts else None


def _of(picture: Picture, hit: Hit, address: str) -> bool:
    """Told of this address: by the line, else by its surroundings; where those name none, it is taken for this one."""
    if hit.value("ip"):
        return hit.value("ip") == address
    exhibit = exhibit_at(picture, hit.place)
    asked = _ARPING.findall(f"{exhibit.command}\n{exhibit.text}") if exhibit else []
    return not asked or address in asked


def _decide(picture: Picture, address: str, other: str, node: str) -> tuple[Kind, float, tuple[object, ...]]:
    wrong = next((s for s in suspects(picture) if s.address == address and s.strength >= STRONG), None)
    if wrong:
        return "wrong-interface", wrong.strength, wrong.evidence
    recorded = [seen for seen in registrations(picture) if seen.address == address]
    if is_network(address, recorded[-1].length if recorded else 0):
        return "network", STRONG, tuple(recorded[-1:])
    own = [setting for setting in picture.settings("name", "host") if _another_name(setting.value, other)]
    if other not in picture.nodes_now() and (_another_name(node, other) or own):
        # The host that starts has the owner's name, longer or shorter: its record of before.
        return "stale", STRONG, tuple(own[:1])
    told = by_machines(picture, address, other, node) or by_starts(picture, address, other)
    if told and (told.kind == "changed" or other not in picture.internal_ips()):
        return told.kind, told.strength, told.evidence
    nodes, ips = picture.nodes_now(), picture.internal_ips()
    listing = {name: fact for name, fact in nodes.items() if fact.status}
    arp = arp_answers(picture, address)
    twin = node_called(picture, other)
    if twin != other and twin in listing:
        # Two names of one host: its own record of an earlier name, or that of a host that lives.
        listed = picture.calico_nodes()
        unrecorded = not node and other in listed and twin not in listed  # so it is this one that starts
        if node == twin or unrecorded or is_lost(listing[twin]):
            return "stale", STRONG if arp is not True else LIKELY, (listing[twin],)
        other = twin
    holder, wanter = listing.get(other), ips.get(node, "")
    holders_ip = ips.get(other, "")
    if holder is None and other not in ips:
        if (len(listing) > 1 or (node and node in listing)) and would_show(picture, listing, other):
            return "stale", PROVEN if arp is not True else LIKELY, tuple(listing.values())[:3]
        return _by_word(picture, arp)
    if is_lost(holder) and arp is not True and holders_ip in ("", address):
        return "stale", STRONG if holders_ip else LIKELY, (holder,)
    if holders_ip and holders_ip != address:
        if len(ips) > 1 and address not in ips.values():
            return "open", POSSIBLE, (holder,)  # no node has it by now: rather one that moves from host to host
        return "changed", PROVEN if wanter == address else STRONG, (holder,)
    if holders_ip == address:
        if wanter and wanter != address:
            return "open", POSSIBLE, (holder,)
        return "duplicate", PROVEN if wanter == address or arp else STRONG, (holder, nodes.get(node))
    return ("duplicate", STRONG, (holder,)) if arp else ("open", POSSIBLE, (holder,))


def _another_name(name: str, other: str) -> bool:
    """Of one host: the short and the full one."""
    return bool(name) and name.lower() != other.lower() and same_host(name, other)


def would_show(picture: Picture, listing: dict[str, Node], name: str) -> bool:
    """Some list of nodes is whole, or picks rows by a word that is in this name, too."""
    exhibits = [exhibit_at(picture, node.place) for node in listing.values()]
    commands = {exhibit.command if exhibit else "" for exhibit in exhibits}
    picked = {command for command in commands if " -l" in command or "--selector" in command or "grep" in command}
    words = [_GREP.findall(command) for command in picked]
    return commands != picked or any(any(word.lower() in name.lower() for word in some) for some in words)


def _by_word(picture: Picture, arp: bool | None) -> tuple[Kind, float, tuple[object, ...]]:
    """No list of nodes: what people say about the machine has to do."""
    if arp:
        return "duplicate", STRONG, tuple(picture.hits(*ARP_SIGNS)[:1])
    if said := picture.said("hostname-changed", "host-reinstalled"):
        return "stale", LIKELY, tuple(said)
    if said := picture.said("cloned-vm"):
        return "duplicate", LIKELY, tuple(said)
    if said := picture.said("ip-changed"):
        return "changed", LIKELY, tuple(said)
    if arp is False:
        return "stale", LIKELY, tuple(picture.hits(ARP_ANSWERS, ARP_NOBODY)[:1])
    return "open", POSSIBLE, ()
