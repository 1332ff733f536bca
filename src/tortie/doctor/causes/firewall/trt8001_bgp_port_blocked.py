"""TRT8001: a firewall between nodes drops or rejects TCP 179."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import (
    HINT,
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
from tortie.doctor.causes.firewall.security_groups import let_in
from tortie.doctor.causes.nodes.bgp_evidence import (
    MD5_BIRD,
    MD5_KERNEL,
    MD5_ROUTER,
    SHARED_SIGNS,
    Peer,
    all_established,
    answers,
    complaints,
    few,
    filtered,
    is_lost,
    is_ready,
    md5_counted,
    missing_peers,
    node_of,
    port_tests,
    settled,
    silent,
)
from tortie.doctor.causes.nodes.bgp_firewall import FIREWALL_SIGNS, closed
from tortie.doctor.causes.nodes.bgp_opened import openings
from tortie.doctor.causes.nodes.wrong_addresses import suspects
from tortie.doctor.causes.shared import BGP_NOT_ESTABLISHED
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Listener, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit
from tortie.doctor.texts import Text

PORT: Final = Culprit("port", "179/tcp")
FAILED: Final = ("timeout", "unreachable", "closed")


class Seen:
    """Trials of the port, filters that do not let it in, and the sessions that are missing."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.tests = port_tests(picture)
        self.failed = [test for test in self.tests if test.result in FAILED]
        self.missing = missing_peers(picture)
        self.closed = [one for one in closed(picture) if not _lets_all_in(picture, one, self.missing)]
        self.peers = [peer for peer in self.missing if filtered(peer.info)]

    @property
    def addresses(self) -> list[str]:
        return list(dict.fromkeys(one.address for one in (self.failed or self.peers)))

    @property
    def peer(self) -> str:
        return next((one for one in (*self.addresses, *(peer.address for peer in self.missing))), "")

    @cached_property
    def alive(self) -> list[object]:
        return [item for address in self.addresses for item in answers(self.picture, address)]

    @cached_property
    def dead(self) -> list[object]:
        return [item for address in self.addresses for item in silent(self.picture, address)]

    @property
    def md5(self) -> bool:
        """An unsigned trial from a configured peer is dropped as well."""
        return bool(self.picture.hits(MD5_KERNEL, MD5_BIRD, MD5_ROUTER) or md5_counted(self.picture))

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        units = [unit for unit in self.picture.of(Unit) if unit.active == "active"]
        return culprits(
            PORT,
            named("address", *self.addresses),
            named("program", *(rule.scope for rule in self.closed if isinstance(rule, Setting))),
            named("unit", *(unit.name for unit in units if unit.name.startswith("firewalld"))),
            named("node", *(rule.host for rule in self.closed if isinstance(rule, Hit | Setting))),
        )


def _lets_all_in(picture: Picture, shown: object, missing: Sequence[Peer]) -> bool:
    """ufw names no port where it trusts a whole network: `Anywhere ALLOW 10.0.0.0/24`."""
    if not isinstance(shown, Setting) or shown.scope != "ufw" or not missing:
        return False
    trusted = [
        row.value.split()[-1]
        for row in picture.of(Setting)
        if row.scope == "ufw" and row.host == shown.host and row.owner == "allow" and row.name.startswith("Anywhere")
    ]
    return all(any(net == "Anywhere" or inside(peer.address, net) for net in trusted) for peer in missing)


def opening_helped(seen: Seen) -> Finding | None:
    """The port was opened while people looked, and the sessions came up: it had been closed."""
    helped = [one for one in openings(seen.picture) if one.helped]
    said = [] if helped else seen.picture.said("opening-179-helps")
    if not helped and not said:
        return None
    told = seen.picture.hits(BGP_NOT_ESTABLISHED)[:1]
    strength = STRONG if told or helped else LIKELY
    evidence = (*(one.place for one in helped[:2]), *said[:2], *told, *(one.well[0] for one in helped[:1]))
    return found(strength, seen.culprits, evidence, say="opened")._replace(remedied=bool(helped and told))


def nothing_down(seen: Seen) -> Finding | None:
    return (all_established(seen.picture) or cannot_tell(say="nothing-down")) if settled(seen.picture) else None


def connects(seen: Seen) -> Finding | None:
    said = seen.picture.said("port-179-open")
    opened = [test for test in seen.tests if test.result == "open"]
    return ruled_out((*opened, *said)) if (opened or said) and not seen.failed else None


def nothing_listens(seen: Seen) -> Finding | None:
    refused = [test for test in seen.tests if test.result == "refused"]
    return ruled_out(refused) if refused and not seen.failed else None


def wrong_address(seen: Seen) -> Finding | None:
    if seen.failed or seen.closed:
        return None
    wrong = next((suspect for suspect in suspects(seen.picture) if suspect.strength >= STRONG), None)
    return ruled_out(wrong.evidence, address=wrong.address, node=wrong.node) if wrong else None


def machine_away(seen: Seen) -> Finding | None:
    return ruled_out(seen.dead) if seen.failed and seen.dead and not seen.alive else None


def tested(seen: Seen) -> Finding | None:
    if not seen.failed:
        return None
    listeners = [fact for fact in seen.picture.of(Listener) if fact.port == 179]
    there = listeners or seen.picture.said("ping-works", "ping-works-port-179-not")
    strength = PROVEN if seen.alive or seen.closed else STRONG if there else LIKELY
    evidence = (*seen.closed[:2], *seen.failed[:2], *seen.alive[:2], *listeners[:1], *seen.missing[:2])
    return found(
        POSSIBLE if seen.md5 else strength, seen.culprits, evidence,
        say="blocked" if seen.alive or there else "tested",
        peers=few(seen.addresses), peer=seen.addresses[0], how=Text(__name__, f"word {seen.failed[0].result}"),
    )  # fmt: skip


def shown_closed(seen: Seen) -> Finding | None:
    """A socket that is refused has met nobody who listens: the filter let it through."""
    refused = all("refused" in peer.info.lower() for peer in seen.missing)
    if not seen.closed or refused:
        return None
    return found(STRONG, seen.culprits, (*seen.closed[:3], *seen.peers[:2]), peer=seen.peer)


def said_blocked(seen: Seen) -> Finding | None:
    said = seen.picture.said("ping-works-port-179-not", "firewall-blocks-179")
    if not said or not seen.missing:
        return None
    return found(STRONG, seen.culprits, (*said, *seen.peers[:2]), peer=seen.peer)


def was_not_open(seen: Seen) -> Finding | None:
    """The firewall took the port as a new one, and what came of it is not shown."""
    new = [one for one in openings(seen.picture) if one.new]
    if not new or not seen.missing:
        return None
    return found(LIKELY, seen.culprits, (*(one.place for one in new[:2]), *seen.missing[:2]), peer=seen.peer)


def sessions_down(seen: Seen) -> Finding | None:
    """Nothing says that a socket timed out."""
    if seen.peers:
        return None
    hidden = [session for session in seen.picture.sessions_down() if filtered(session.info)]
    told = complaints(seen.picture)
    return found(POSSIBLE if hidden else HINT, (PORT,), (*hidden[:2], *told[:2])) if hidden or told else None


def peer_away(seen: Seen) -> Finding | None:
    if not seen.peers:
        return None
    owners = [node_of(seen.picture, seen.picture.owner_of(address)) for address in seen.addresses]
    away = (seen.dead and not seen.alive) or all(is_lost(owner) for owner in owners)
    return ruled_out((*seen.dead, *seen.peers[:1])) if away else None


def cannot_connect(seen: Seen) -> Finding | None:
    if not seen.peers:
        return None
    names = [seen.picture.owner_of(address) for address in seen.addresses]
    ready = all(is_ready(node_of(seen.picture, name)) for name in names)
    up = seen.alive or seen.picture.said("ping-works") or ready
    return found(
        LIKELY if all(names) and up else POSSIBLE, seen.culprits, (*seen.peers[:3], *seen.alive[:2]),
        say="right-address" if all(names) else "cannot-connect",
        peers=few(seen.addresses), peer=seen.addresses[0], info=seen.peers[0].info,
    )  # fmt: skip


def fix(picture: Picture, _finding: Finding) -> Iterator[Do | Step]:
    yield from let_in(picture, "179", "tcp")
    yield do("try")


CAUSE = Cause(
    module=__name__,
    id="bgp-port-blocked",
    code="TRT8001",
    severity="high",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing", "service-dead"),
    signs=(*SHARED_SIGNS, *FIREWALL_SIGNS),
    look=Seen,
    rules=(
        opening_helped, nothing_down, connects, nothing_listens, wrong_address, machine_away, tested, shown_closed,
        said_blocked, was_not_open, sessions_down, peer_away, cannot_connect,
    ),
    fix=fix,
    yields_to=("cidr-overlap",),  # a node that throws away what goes to its neighbours cannot reach their port either
)  # fmt: skip
