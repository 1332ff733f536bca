"""TRT1019: a host masquerades what it sends to other nodes: BIRD there is called from an address it does not know."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import (
    SHARED_SIGNS,
    all_established,
    is_external,
    missing_peers,
    node_at,
    node_called,
    settled,
    unknown_connects,
)
from tortie.doctor.causes.nodes.bgp_nat import rewritten_calls, translated_calls, translations
from tortie.doctor.picture.picture import Picture


class Seen:
    """Calls from unknown addresses, and rules that change the source of what nodes send."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.calls = [] if settled(picture) else translated_calls(picture)
        self.rewritten = [] if settled(picture) else rewritten_calls(picture)
        self.missing = missing_peers(picture)
        # A configured router that is down may be the stranger itself.
        self.routers = [session for session in picture.sessions_down() if is_external(session)]


def seen_on_the_way(seen: Seen) -> Finding | None:
    if not seen.rewritten:
        return None
    first, picture = seen.rewritten[0], seen.picture
    called = [hit for hit in unknown_connects(picture) if hit.value("ip") == first.stranger]
    who = culprits(named("address", first.stranger), named("node", picture.owner_of(first.node)))
    return found(
        PROVEN if called or seen.missing else STRONG, who, (*first.places, *called[:1], *seen.missing[:1]),
        stranger=first.stranger, sender=first.node,
    )  # fmt: skip


def translated(seen: Seen) -> Finding | None:
    if not seen.calls:
        return None
    call, picture = seen.calls[0], seen.picture
    rule, stranger = call.translation, call.hit.value("ip")
    strength = PROVEN if call.certain else LIKELY if seen.missing and not seen.routers else POSSIBLE
    host = rule.host or (call.link.host if call.link else "")
    node = node_called(picture, host) if host else ""
    who = culprits(
        named("rule", "MASQUERADE" if rule.zone else rule.text.split()[0]),
        named("address", stranger),
        named("node", node, node_at(picture, call.hit.place, call.hit.host)),
    )
    evidence = (rule, call.link, call.hit, *seen.missing[:2])
    return found(
        strength, who, evidence, say="" if call.certain else "maybe-translated", node=node, rule=rule.text,
        stranger=stranger, zone=rule.zone,
    )  # fmt: skip


def not_translated(seen: Seen) -> Finding | None:
    """Their nat tables are shown, and nothing in them takes what nodes send to each other."""
    picture = seen.picture
    lists = picture.commands("-t nat")
    shown = [exhibit.place(0) for exhibit in lists if "POSTROUTING" in exhibit.text]
    return ruled_out(shown[:1]) if shown and unknown_connects(picture) and not translations(picture) else None


def established(seen: Seen) -> Finding | None:
    return all_established(seen.picture)


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    yield do("rules")
    yield do("zone") if finding.value("zone") else do("narrow")
    yield do("again")


CAUSE = Cause(
    module=__name__,
    id="bgp-source-nat",
    code="TRT1019",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=SHARED_SIGNS,
    look=Seen,
    rules=(seen_on_the_way, translated, not_translated, established),
    fix=fix,
)
