"""TRT1004: the address that Calico has stored for a node is no longer that node's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.address_conflicts import ARP_SIGNS, contest
from tortie.doctor.causes.nodes.bgp_addresses import (
    ADDRESS_SIGNS,
    all_addresses,
    gone_from_host,
    inner_link,
    link_with,
    links_shown,
    masked,
    near,
    registrations,
    told_old,
)
from tortie.doctor.causes.nodes.bgp_addresses import Seen as Address
from tortie.doctor.causes.nodes.bgp_evidence import (
    BIND_FAILED,
    SHARED_SIGNS,
    complaints,
    missing_peers,
    node_at,
    settled,
)
from tortie.doctor.causes.nodes.fixed_addresses import Fixed, fixed_nowhere
from tortie.doctor.causes.nodes.installations import restarted, uses_etcd
from tortie.doctor.causes.nodes.machine_lists import address_now
from tortie.doctor.causes.nodes.tunnel_ends import told_vip
from tortie.doctor.causes.nodes.wrong_addresses import is_network, missing_node
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

NOT_ASSIGNED: Final = Sign("trt1004-unconfirmed", "Unable to confirm IPv4 address <ip> is assigned to this host")
CHANGED: Final = Sign("node-address-has-changed", "IPv4 address has changed. This could happen if")
LEASE: Final = Sign("trt1004-new-lease", "new lease, address=<ip>")
LEASED: Final = Sign("trt1004-leased", "DHCPv4 address <cidr>")
ANNOTATION: Final = "projectcalico.org/IPv4Address"
_RECORD: Final = Culprit("setting", ANNOTATION)
_LEASES: Final = lazily(r"dhcp|lease|租约", re.IGNORECASE)


class Seen:
    """What is stored, what the host has, and traces of a change."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.binds = picture.hits(BIND_FAILED)
        self.traces: list[object] = [*picture.hits(LEASE, LEASED), *picture.said("ip-changed")]

    @cached_property
    def outdated(self) -> Address | None:
        """A stored address that its node no longer has; one on another link of the node is another matter."""
        ips = self.picture.internal_ips()
        stored = (one for one in registrations(self.picture) if one.node in ips and one.via != "log")
        last = {one.node: one for one in stored}
        return next((one for one in last.values() if self._is_outdated(one, ips[one.node])), None)

    def _is_outdated(self, stored: Address, internal: str) -> bool:
        if stored.address == internal or ":" in stored.address or is_network(stored.address, stored.length):
            return False
        if link_with(self.picture, stored.address, stored.node) or inner_link(stored.interface):
            return False
        if masked(self.picture, stored) or told_vip(self.picture, stored.address):
            return False  # it never was that node's
        if stored.address in all_addresses(self.picture, stored.node):
            return False
        gone = gone_from_host(self.picture, stored.node, stored.address) or told_old(self.picture, stored.address)
        return bool(gone) or near(stored.address, internal, stored.length or 24)


def _with_length(picture: Picture, address: str, length: int = 0) -> str:
    """As Calico writes it into a record: with the length that the link shows, else the one that was stored."""
    addresses = (one for link in picture.of(Interface) for one in link.addresses)
    shown = next((one for one in addresses if one.startswith(f"{address}/")), "") if address else ""
    return shown or (f"{address}/{length}" if address and length else address)


def exchanged(seen: Seen) -> Finding | None:
    """A live node is recorded with an address that is somebody else's by now."""
    case = contest(seen.picture, "changed")
    if case is None:
        return None
    real = address_now(seen.picture, case.other)
    blamed = culprits(
        named("address", case.address), named("node", case.other, case.node), named("address", real), _RECORD
    )
    length = next((one.length for one in registrations(seen.picture) if one.address == case.address), 0)
    return found(
        case.strength,
        blamed,
        (*case.evidence, case.hit),
        node=case.other,
        ended=case.node,
        internal=real,
        address=_with_length(seen.picture, real, length),
        old=case.address,
    )


def sessions_established(seen: Seen) -> Finding | None:
    sessions = seen.picture.sessions()
    return ruled_out(sessions[:3]) if sessions and settled(seen.picture) else None


def calm(seen: Seen) -> Finding | None:
    return cannot_tell() if settled(seen.picture) else None


def outdated_record(seen: Seen) -> Finding | None:
    stored = seen.outdated
    if stored is None:
        return None
    internal = seen.picture.internal_ips()[stored.node]
    links = links_shown(seen.picture, stored.node)
    shown = [link for link in links if any(address.startswith(internal) for address in link.addresses)]
    told = told_old(seen.picture, stored.address)
    gone = shown or gone_from_host(seen.picture, stored.node, stored.address)
    strength = PROVEN if gone or seen.binds else STRONG if told else LIKELY if seen.traces else POSSIBLE
    return found(
        strength,
        culprits(named("address", stored.address, internal), named("node", stored.node), _RECORD),
        (stored, *shown[:1], *seen.traces[:2], *seen.binds[:2], *complaints(seen.picture)[:1]),
        node=stored.node,
        ended=stored.node,
        internal=internal,
        address=_with_length(seen.picture, internal, stored.length),
        old=stored.address,
    )


def still_on_a_link(seen: Seen) -> Finding | None:
    stored = (one for one in registrations(seen.picture) if one.node and one.via != "log")
    kept = [one for one in stored if link_with(seen.picture, one.address, one.node)]
    return ruled_out(kept[:1]) if kept and not seen.binds else None


def peers_call_the_old(seen: Seen) -> Finding | None:
    """The record itself is not shown; others still call an address that the only node left over has no more."""
    picture = seen.picture
    ips = picture.internal_ips()
    for peer in missing_peers(picture):
        node = missing_node(picture, peer.seen_from) if peer.address not in ips.values() else ""
        if not node or link_with(picture, peer.address) or not near(peer.address, ips[node], 24):
            continue
        gone = gone_from_host(picture, node, peer.address)
        strength = STRONG if gone and seen.traces else LIKELY if gone or seen.traces else POSSIBLE
        who = culprits(named("address", peer.address, ips[node]), named("node", node), _RECORD)
        return found(
            strength, who, (*seen.traces[:2], peer), say="outdated-record", node=node, ended=node,
            internal=ips[node], address=_with_length(picture, ips[node]), old=peer.address,
        )  # fmt: skip
    return None


def cannot_bind(seen: Seen) -> Finding | None:
    if not seen.binds:
        return None
    if fixed := fixed_nowhere(seen.picture):
        return _never_there(seen, fixed)
    node = node_at(seen.picture, seen.binds[0].place, seen.binds[0].host)
    # The address of a bridge that is gone cannot be bound, either.
    bridged = any(inner_link(one.interface) for one in registrations(seen.picture))
    strength = POSSIBLE if bridged else STRONG if seen.traces else LIKELY
    last = [one.address for one in registrations(seen.picture)][-1:]
    blamed = culprits(named("node", node), _RECORD, named("address", *last))
    return found(strength, blamed, (*seen.traces, *seen.binds[:2]), node=node, ended=node)


def _never_there(seen: Seen, fixed: Fixed) -> Finding:
    """What was written out for the agent is on no link of the machine."""
    node = node_at(seen.picture, seen.binds[0].place, seen.binds[0].host)
    blamed = culprits(
        named("address", fixed.address, fixed.own), named("setting", "IP"), named("file", fixed.file),
        named("node", node), _RECORD,
    )  # fmt: skip
    return found(
        STRONG, blamed, (fixed.setting, fixed.link, *seen.binds[:2]), say="written-out", old=fixed.address, node=node,
        ended=node, file=fixed.file, own=fixed.own, translated="1:1 NAT" if fixed.translated else "",
    )  # fmt: skip


def on_no_link(seen: Seen) -> Finding | None:
    """The agent's own word at its start."""
    hits = seen.picture.hits(NOT_ASSIGNED)
    if not hits:
        return None
    address, node = hits[0].value("ip"), node_at(seen.picture, hits[0].place, hits[0].host)
    strength = STRONG if seen.traces or complaints(seen.picture) else LIKELY
    blamed = culprits(named("address", address), named("setting", "IP"))
    return found(strength, blamed, (*seen.traces, *hits[:1]), old=address, node=node, ended=node)


def changed_between_starts(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(CHANGED)
    strength = LIKELY if seen.traces else POSSIBLE
    return found(strength, (_RECORD,), (*seen.traces, *hits[:1])) if hits else None


def changed_and_down(seen: Seen) -> Finding | None:
    return found(POSSIBLE, (_RECORD,), seen.traces) if seen.traces and missing_peers(seen.picture) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    file = finding.value("file")
    if file.endswith(".service"):
        yield do("unit-file", unit=file.rpartition("/")[2])
    elif file.endswith((".yaml", ".yml")):
        yield do("manifest")
    elif file:
        yield do("any-file")
    if finding.value("translated"):
        yield do("tunnel")
    if file:
        return
    if _fixed(picture, finding):
        yield from ways.set_agent_env(picture, "IP", "autodetect")
    elif finding.rule == "exchanged":
        yield from _corrected(picture, "correct")
        yield from restarted(picture, finding.value("ended"))
    else:
        yield from restarted(picture, finding.value("ended"))
        yield from _corrected(picture, "still-old")


def _corrected(picture: Picture, key: str) -> Iterator[Do]:
    """The record lies in Kubernetes' node or in etcd."""
    etcd = uses_etcd(picture)
    if not etcd:
        yield do(key)
    if etcd is not False:
        yield do(f"{key}-etcd")


def _fixed(picture: Picture, finding: Finding) -> bool:
    """The old address is written out in the agent's environment."""
    written = picture.value("IP")
    return bool(re.match(r"\d+\.", written)) and finding.value("old", written) == written.partition("/")[0]


def _leased(picture: Picture, finding: Finding) -> bool:
    del finding
    told = any(_LEASES.search(statement.text) for statement in picture.said("ip-changed"))
    return told or bool(picture.hits(LEASE, LEASED))


CAUSE = Cause(
    module=__name__,
    id="node-ip-changed",
    code="TRT1004",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "start-terminated", "crash-loop", "traffic-dead"),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS, *ARP_SIGNS, NOT_ASSIGNED, CHANGED, LEASE, LEASED),
    look=Seen,
    rules=(
        exchanged, sessions_established, calm, outdated_record, still_on_a_link, peers_call_the_old, cannot_bind,
        on_no_link, changed_between_starts, changed_and_down,
    ),
    fix=fix,
    prevents={"leases": _leased, "by-network": _fixed},
    yields_to=("duplicate-node-ip",),
)  # fmt: skip
