"""TRT1001: a node registered an address of a link that other nodes cannot reach it by."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.methods import METHOD, method_beside, method_for, release_matters
from tortie.doctor.causes.nodes.address_chain import chain, sessions_stand_on
from tortie.doctor.causes.nodes.address_replay import remark
from tortie.doctor.causes.nodes.bgp_addresses import (
    ADDRESS_SIGNS,
    inner_link,
    link_under_tunnel,
    link_with,
    registrations,
)
from tortie.doctor.causes.nodes.bgp_addresses import Seen as Address
from tortie.doctor.causes.nodes.bgp_evidence import (
    SHARED_SIGNS,
    complaints,
    conflicts,
    is_lost,
    missing_peers,
    node_of,
    settled,
    trouble,
)
from tortie.doctor.causes.nodes.installations import restarted
from tortie.doctor.causes.nodes.wrong_addresses import Suspect, suspects
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import Text, Value

_DOCKER: Final = lazily(r"br-([0-9a-f]{12})")  # docker calls the bridge after the network's id


class Seen:
    """Grounds to call an address wrong, and what they say together about the worst one."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.grounds = suspects(picture)
        self.conflicts = conflicts(picture)
        self.missing = missing_peers(picture)
        self.calm = settled(picture) and not self.conflicts

    @cached_property
    def registered(self) -> dict[str, Address]:
        ips = self.picture.internal_ips()
        return {seen.node: seen for seen in registrations(self.picture) if seen.node in ips}

    @cached_property
    def best(self) -> Suspect:
        """Of equally strong grounds the one that can name the address comes first."""
        strongest = [one for one in self.grounds if one.strength == self.grounds[0].strength]
        named_whole = next((one for one in strongest if one.address and one.node), None)
        return named_whole or next((one for one in strongest if one.address), self.grounds[0])

    @cached_property
    def whole(self) -> Suspect:
        """The best ground, with what the others know of the same fault."""
        best = self.best
        for other in self.grounds:
            if _agrees(best, other):
                best = best._replace(
                    address=best.address or other.address,
                    interface=best.interface or other.interface,
                    node=best.node or other.node,
                    internal=best.internal or other.internal,
                )
        link = link_with(self.picture, best.address, best.node) if best.address else None
        if best.address and not best.interface:
            name = link.name if link else link_under_tunnel(self.picture, best.address)
            best = best._replace(interface=name)
        if best.node and not best.internal:
            best = best._replace(internal=self.picture.internal_ips().get(best.node, ""))
        return best

    @cached_property
    def agreeing(self) -> list[Suspect]:
        return [one for one in (self.best, *self.grounds) if _agrees(one, self.whole)]

    @property
    def without_effect(self) -> bool:
        """A node whose kubelet is dead may well have a wrong address; nobody suffers from that now."""
        harmed = any(peer.address == self.whole.address for peer in self.missing)
        harmed = harmed or trouble(self.picture) or bool(self.conflicts)
        return is_lost(node_of(self.picture, self.whole.node)) and not harmed

    @property
    def weight(self) -> tuple[float, bool]:
        """How sure, and whether it is only an aside."""
        strength, aside = self.best.strength, self.without_effect
        kinds = {one.ground for one in self.agreeing if one.strength >= LIKELY}
        if strength >= STRONG and len(kinds) > 1:
            strength = PROVEN
        if not self.calm:
            return strength, aside
        if self.picture.sessions() or strength < STRONG:
            return min(strength, POSSIBLE), True
        return min(strength, LIKELY), aside

    @property
    def evidence(self) -> list[object]:
        shown: list[object] = [item for one in self.agreeing for item in one.evidence]
        shown += [peer for peer in self.missing if peer.address == self.whole.address]
        return chain(self.picture, [*shown, *self.conflicts[:1]], self.whole.node, self.whole.internal)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        whole = self.whole
        likewise = [one for one in self.grounds if one.strength >= STRONG][:4]
        return culprits(
            named("address", whole.address),
            named("interface", whole.interface),
            named("node", whole.node),
            named("address", whole.internal),
            *((*named("address", one.address), *named("node", one.node)) for one in likewise),
            Culprit("setting", METHOD),
        )


def _agrees(one: Suspect, other: Suspect) -> bool:
    if one.address and other.address and one.address != other.address:
        return False
    return not (one.node and other.node and one.node != other.node) or one.address == other.address != ""


def network_of_its_own(seen: Seen) -> Finding | None:
    """Sessions stand on exactly these addresses: somebody wanted them."""
    standing = sessions_stand_on(seen.picture, seen.grounds) if seen.grounds and not seen.conflicts else []
    shown = [item for one in seen.grounds[:3] for item in one.evidence[:1]]
    return ruled_out((*shown, *standing[:3])) if standing else None


def wrong_address(seen: Seen) -> Finding | None:
    if not seen.grounds:
        return None
    whole, (strength, aside) = seen.whole, seen.weight
    values: dict[str, Value] = {
        "address": whole.address,
        "interface": whole.interface,
        "node": whole.node,
        "internal": whole.internal,
        "effect": _effect(whole, felt=strength >= LIKELY and not aside),
        "remark": remark(seen.picture, whole.interface) or "",
        "someone": "" if whole.node else Text(__name__, "word some-node"),
        "another": "" if whole.address else Text(__name__, "word other-address"),
    }
    floats = any(one.ground == "floating" for one in seen.agreeing)
    say = "would-choose" if whole.ground == "replay" else "floating" if floats else ""
    return found(strength, seen.culprits, seen.evidence, say=say, aside=aside, **values)


def _effect(whole: Suspect, *, felt: bool) -> Text:
    if whole.internal and whole.internal != whole.address:
        return Text(__name__, "word felt" if felt else "word quiet", (("internal", whole.internal),))
    if whole.ground == "odd-record":
        return Text(__name__, "word like-docker")
    return Text(__name__, "word inner-link" if inner_link(whole.interface) else "word nobodys")


def registered_are_internal(seen: Seen) -> Finding | None:
    ips = seen.picture.internal_ips()
    right = [one for node, one in seen.registered.items() if one.address == ips[node]]
    speakers = {complaint.node for complaint in complaints(seen.picture)} - {""}
    peers = {peer.address for peer in seen.missing}
    all_right = right and len(right) == len(seen.registered)
    if all_right and speakers <= set(seen.registered) and peers <= set(ips.values()):
        return ruled_out(right)
    return None


def peers_are_internal(seen: Seen) -> Finding | None:
    """One node cannot see the address under which it is itself registered; several together see all."""
    views = {peer.seen_from for peer in seen.missing} - {""}
    peers = {peer.address for peer in seen.missing}
    known = peers and peers <= set(seen.picture.internal_ips().values())
    return ruled_out(seen.missing[:3]) if len(views) > 1 and known else None


def sessions_established(seen: Seen) -> Finding | None:
    sessions = seen.picture.sessions()
    return ruled_out(sessions[:3]) if sessions and settled(seen.picture) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node, interface = finding.value("node"), finding.value("interface")
    floats = finding.say == "floating"
    method = method_beside(picture, interface) if floats else method_for(picture, finding.value("internal"), interface)
    if finding.aside:
        yield do("compare")  # nobody suffers from it: look first, and restart nothing for it
    if floats:
        yield do("not-by-address")
    elif release_matters(picture, method):
        yield do("release")
    if method and picture.value(METHOD) == method:
        yield from restarted(picture, node)  # the method is right by now: what it found is not stored yet
    elif floats and not method:
        yield do("host-ip")
    else:
        yield from ways.set_autodetection(picture, method)
    if not finding.aside:
        yield do("compare")
    if bridge := _DOCKER.fullmatch(interface):
        yield do("bridge-used", network=bridge[1])
        yield do("bridge-remove", network=bridge[1])


CAUSE = Cause(
    module=__name__,
    id="autodetect-wrong-interface",
    code="TRT1001",
    severity="high",
    explains=(
        "bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing", "service-dead", "crash-loop",
    ),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS),
    look=Seen,
    rules=(network_of_its_own, wrong_address, registered_are_internal, peers_are_internal, sessions_established),
    fix=fix,
    yields_to=("node-ip-changed",),
)  # fmt: skip
