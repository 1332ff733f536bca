"""TRT1010: one end of a session announces another AS than the other end expects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes import bgp_evidence
from tortie.doctor.causes.nodes.bgp_as import AS_SIGNS, BAD_AS, as_errors, bad_as, peer_address
from tortie.doctor.causes.nodes.bgp_evidence import few, is_external, node_at, same_host, settled
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

LOCAL_AS: Final = Sign("trt1010-local-as", "local as <n>;")
NEIGHBOUR_AS: Final = Sign("trt1010-neighbour-as", "neighbor <ip> as <n>;")
ROUTER_CONFIG: Final = Sign("trt1010-remote-as", "remote-as <n>")  # how the other end was told to expect us
NO_AS: Final = "0"  # a BGPPeer without a number of its own


class Seen:
    """Sessions that are down with this error, and what both ends logged about it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.sessions = [s for s in picture.sessions_down() if bad_as(s.info)]
        self.errors = as_errors(picture)
        self.said = bool(self.sessions or self.errors)

    @cached_property
    def settings(self) -> list[Setting]:
        return [*self.picture.settings("asNumber"), *self.picture.settings("AS")]

    @cached_property
    def rendered(self) -> list[Hit]:
        return [hit for hit in self.picture.hits(LOCAL_AS, NEIGHBOUR_AS) if not hit.prose]

    @cached_property
    def peers(self) -> list[str]:
        logged = [peer_address(hit.value("name")) for hit in self.errors if hit.value("name")]
        return [session.peer for session in self.sessions] or logged

    @cached_property
    def numbers(self) -> list[str]:
        # What a router says it was sent and expected are the two that differ.
        texts = [hit.value(hole) for hit in self.errors for hole in ("n_due", "n_sent")]
        texts += [setting.value for setting in self.settings]
        texts += [hit.value("n") for hit in (*self.errors, *self.picture.hits(LOCAL_AS, NEIGHBOUR_AS))]
        texts += [fact.asn.strip("()") for fact in self.picture.registered() if fact.asn]
        return list(dict.fromkeys(text for text in texts if text.isdecimal() and text != NO_AS))

    @cached_property
    def node(self) -> str:
        if self.errors:
            return node_at(self.picture, self.errors[0].place, self.errors[0].host)
        return self.sessions[0].host if self.sessions else ""

    @property
    def resource(self) -> str:
        return "BGPPeer" if any(map(is_external, self.sessions)) else "BGPConfiguration"

    @property
    def strength(self) -> float:
        if len(self.numbers) > 1:
            return PROVEN
        return STRONG if self.sessions or self.errors[0].sign != BAD_AS.key else LIKELY


def all_established(seen: Seen) -> Finding | None:
    return None if seen.said else bgp_evidence.all_established(seen.picture)


def established_now(seen: Seen) -> Finding | None:
    up = seen.picture.sessions()
    over = seen.said and not seen.sessions and up and settled(seen.picture)
    return ruled_out(up[:1]) if over else None


def bad_peer_as(seen: Seen) -> Finding | None:
    if not seen.said:
        return None
    who = culprits(
        named("peer", *seen.peers),
        named("setting", *seen.numbers, "asNumber"),
        named("node", seen.node),
        Culprit("resource", seen.resource),
    )
    evidence = (*seen.settings, *seen.rendered[:3], *seen.sessions[:3], *seen.errors[:2])
    return found(
        seen.strength, who, evidence,
        peers=few(seen.peers), numbers=few(seen.numbers, 4), peer=next(iter(seen.peers), ""), node=seen.node,
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    """The number that the other end wants or has is told where it is known; else a person has to choose it."""
    seen, node = Seen(picture), finding.value("node")
    yield do("compare")
    if node and _rendered_late(seen, node):
        yield do("rendered-late", node=node)
        yield from ways.restart_agent(picture, node)
        return
    expected = _expected(seen)
    announced = next((hit.value("n") for hit in seen.errors if "error:" in hit.text.lower() and hit.value("n")), "")
    if announced and not expected and seen.resource == "BGPPeer":
        yield do("peer-number", number=announced, bgppeer=_bgppeer(picture, finding.value("peer")))
    else:
        yield do("own-number", number=expected)


def _expected(seen: Seen) -> str:
    """What the other end wants to hear: its log says so, or its configuration, where that names one number only."""
    logged = [hit.value("n_due") for hit in seen.errors if hit.value("n_due")]
    told = {hit.value("n") for hit in seen.picture.hits(ROUTER_CONFIG)}
    refused = any("received:" in session.info.lower() for session in seen.sessions)
    return logged[0] if logged else told.pop() if refused and len(told) == 1 else ""


def _rendered_late(seen: Seen, node: str) -> bool:
    """The node's file has another number of its own than what is stored for it."""
    stored = {fact.asn.strip("()") for fact in seen.picture.registered() if fact.asn and fact.node in ("", node)}
    stored |= {setting.value for setting in seen.picture.settings("asNumber", "bgpconfig")}
    hits = seen.picture.hits(LOCAL_AS)
    own = [hit for hit in hits if same_host(node_at(seen.picture, hit.place, hit.host) or hit.host, node)]
    return bool(stored) and any(hit.value("n") not in stored for hit in own)


def _bgppeer(picture: Picture, address: str) -> str:
    names = [setting.owner for setting in picture.settings("peerIP", "bgppeer") if setting.value == address]
    return names[-1] if names else ""


CAUSE = Cause(
    module=__name__,
    id="bgp-as-mismatch",
    code="TRT1010",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=(*AS_SIGNS, LOCAL_AS, NEIGHBOUR_AS, ROUTER_CONFIG),
    look=Seen,
    rules=(all_established, established_now, bad_peer_as),
    fix=fix,
)
