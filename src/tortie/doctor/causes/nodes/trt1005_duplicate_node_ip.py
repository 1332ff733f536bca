"""TRT1005: two live hosts really carry the same address."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes.address_conflicts import (
    ARP_CONFLICT,
    ARP_DUPLICATE,
    ARP_SIGNS,
    arp_answers,
    contest,
    contests,
    decided,
    link_of,
)
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS, is_lost
from tortie.doctor.causes.nodes.installations import restarted
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Node
from tortie.doctor.picture.picture import Picture


class Seen:
    """Start-ups that ended over an address, nodes that share one, and what the link was asked."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.nodes = list(picture.nodes_now().values())
        self.contests = contests(picture)

    @cached_property
    def twins(self) -> list[Node]:
        """Nodes that live under one InternalIP."""
        same: dict[str, list[Node]] = defaultdict(list)
        for node in self.nodes:
            if node.internal_ip and not is_lost(node):
                same[node.internal_ip].append(node)
        return next((nodes for nodes in same.values() if len(nodes) > 1), [])


def both_alive(seen: Seen) -> Finding | None:
    case = contest(seen.picture, "duplicate")
    if case is None:
        return None
    return found(
        case.strength,
        culprits(named("address", case.address), named("node", case.other, case.node)),
        (*case.evidence, case.hit, *seen.picture.hits(*ARP_SIGNS)[:1]),
        say="" if case.node else "both-alive-unnamed",
        address=case.address,
        interface=link_of(seen.picture, case.address),
        other=case.other,
        node=case.node,
    )


def one_internal_ip(seen: Seen) -> Finding | None:
    if not seen.twins:
        return None
    names, address = [node.name for node in seen.twins], seen.twins[0].internal_ip
    return found(
        PROVEN if seen.contests or arp_answers(seen.picture, address) else STRONG,
        culprits(named("address", address), named("node", *names)),
        seen.twins,
        address=address,
        interface=link_of(seen.picture, address),
        other=names[0],
        node=names[-1],
        nodes=names[:3],
    )


def something_else(seen: Seen) -> Finding | None:
    """The owner of the contested address is no live host with it."""
    case = decided(seen.picture)
    return ruled_out((*case.evidence, case.hit), say=f"instead-{case.kind}", other=case.other) if case else None


def owner_not_shown(seen: Seen) -> Finding | None:
    if not seen.contests:
        return None
    case = seen.contests[0]
    blamed = culprits(named("address", case.address), named("node", case.other, case.node))
    link = link_of(seen.picture, case.address)
    return found(POSSIBLE, blamed, (case.hit,), node=case.node, other=case.other, address=case.address, interface=link)


def reported_by_host(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(ARP_DUPLICATE, ARP_CONFLICT)
    return found(POSSIBLE, (), hits[:2]) if hits else None


def all_different(seen: Seen) -> Finding | None:
    ips = [node.internal_ip for node in seen.nodes]
    return ruled_out(seen.nodes[:3]) if len(ips) > 1 and all(ips) and len(set(ips)) == len(ips) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("who-answers")
    yield do("change")
    yield from restarted(picture, finding.value("node"))


def _cloned(picture: Picture, finding: Finding) -> bool:
    del finding
    return bool(picture.said("cloned-vm"))


CAUSE = Cause(
    module=__name__,
    id="duplicate-node-ip",
    code="TRT1005",
    severity="high",
    explains=("start-terminated", "crash-loop", "bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS, *ARP_SIGNS),
    look=Seen,
    rules=(both_alive, one_internal_ip, something_else, owner_not_shown, reported_by_host, all_different),
    fix=fix,
    prevents={"template": _cloned},
)
