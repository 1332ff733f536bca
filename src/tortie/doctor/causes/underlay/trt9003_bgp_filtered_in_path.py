"""TRT9003: a device between nodes lets TCP 179 connect and drops what BGP says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_as import AS_SIGNS, as_errors
from tortie.doctor.causes.nodes.bgp_evidence import (
    MD5_BIRD,
    MD5_KERNEL,
    MD5_ROUTER,
    all_established,
    port_tests,
)
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Pool
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

PUSHED: Final = Sign("trt9003-pushed", "Flags [P.], (cksum <list_sum>, )?seq <seq>, ack <rest>")
OPEN_SENT: Final = Sign("trt9003-open-sent", "(OpenSent|OpenConfirm) … Hold timer expired")
HOLD_EXPIRED: Final = Sign("trt9003-hold", "Error: Hold timer expired")
STATES: Final = ("opensent", "openconfirm")
RESENT: Final = lazily(r"ESTAB\s+\d+\s+[1-9]\d*\s.*timer:\(on,[^,]+,[1-9]\d*\)")


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        down = picture.sessions_down()
        self.stuck = [session for session in down if session.info.lower().replace(" ", "").startswith(STATES)]
        self.opened: list[object] = [test for test in port_tests(picture) if test.result == "open"]
        self.opened += picture.said("port-179-open")
        self.repeated = _repeated(picture)
        self.unanswered = _unanswered(picture)
        self.one_sided = picture.said("bgp-open-lost", "sent-not-received")

    @property
    def lost(self) -> bool:
        return len(self.repeated) > 1 or bool(self.unanswered) or bool(self.one_sided)

    @property
    def strength(self) -> float:
        if self.lost:
            return PROVEN if self.opened else STRONG
        if self.opened:
            return LIKELY
        return POSSIBLE if len(self.stuck) > 1 else HINT


def established(seen: Seen) -> Finding | None:
    return None if seen.stuck else all_established(seen.picture)


def ends_say_why(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(MD5_KERNEL, MD5_BIRD, MD5_ROUTER)
    messages = [*hits, *as_errors(seen.picture)] if seen.stuck else []
    return ruled_out(messages[:2]) if messages else None


def no_connection(seen: Seen) -> Finding | None:
    failed = [test for test in port_tests(seen.picture) if test.result in ("timeout", "unreachable")]
    return ruled_out(failed) if seen.stuck and failed else None


def stuck(seen: Seen) -> Finding | None:
    if not seen.stuck:
        return None
    peers = list(dict.fromkeys(session.peer for session in seen.stuck))
    state = seen.stuck[0].info
    evidence = (*seen.repeated[:3], *seen.unanswered[:3], *seen.one_sided[:1], *seen.opened[:2], *seen.stuck[:3])
    who = culprits(
        named("peer", *peers), Culprit("port", "179/tcp"), named("node", *(session.host for session in seen.stuck)),
        Culprit("message", state),
    )  # fmt: skip
    shown = peers[:3] + (["…"] if len(peers) > 3 else [])
    return found(seen.strength, who, evidence, peers=shown, state=state, peer=peers[0])


def _repeated(picture: Picture) -> list[Hit]:
    """Packets of a capture that were sent again: the same sequence number several times, on port 179."""
    pushed = [hit for hit in picture.hits(PUSHED) if ".179" in hit.line or ".bgp" in hit.line]
    by_number: dict[str, list[Hit]] = {}
    for hit in pushed:
        by_number.setdefault(hit.value("seq"), []).append(hit)
    return max(by_number.values(), key=len, default=[])


def _unanswered(picture: Picture) -> list[Place]:
    """Connections of BGP that stand, and on which the kernel sends the same bytes again and again."""
    return [
        shown.place(index)
        for shown in picture.commands("ss ")
        for index, line in enumerate(shown.lines)
        if RESENT.match(line) and ":179 " in f"{line} "
    ]


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("capture")
    yield do("exempt")
    version = picture.version("calico")
    if not version or version >= (3, 16):
        yield do("port")
    yield do("vxlan", pool=next((pool.name for pool in picture.of(Pool) if pool.name), ""))


CAUSE = Cause(
    module=__name__,
    id="bgp-filtered-in-path",
    code="TRT9003",
    severity="high",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing"),
    signs=(PUSHED, OPEN_SENT, HOLD_EXPIRED, MD5_KERNEL, MD5_BIRD, MD5_ROUTER, *AS_SIGNS),
    look=Seen,
    rules=(established, ends_say_why, no_connection, stuck),
    fix=fix,
)
