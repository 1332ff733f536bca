"""TRT2005: a clock is wrong or was stepped, so tokens and certificates look expired or not yet valid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import bad_node
from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BEFORE,
    CLOCK_SIGNS,
    CLOCK_STEP,
    CURL_EARLY,
    DAY,
    EXPIRED,
    NOT_YET,
    OUR_EARLY,
    OUR_EXPIRED,
    TOKEN_EXPIRED,
    agreeing,
    disagreement,
    refusals,
    steps,
    synchronised,
    unsynchronised,
)
from tortie.doctor.causes.nodes.bgp_evidence import few
from tortie.doctor.causes.shared import UNAUTHORIZED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.picture.facts import Certificate, Clock, LogLine, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.host_times import moment
from tortie.doctor.signs import Hit
from tortie.doctor.texts import Seconds

FAR_S: Final = 60.0  # a clock that was set by more was wrong, not only adjusted
APART_S: Final = 300.0  # two clocks so far apart are a fault even where nothing failed for it yet
# Who keeps time, and what waits for it when a machine starts.
_KEEPERS: Final = {
    "chronyd": "chrony-wait", "chrony": "chrony-wait", "ntpd": "ntp-wait", "ntp": "ntp-wait",
    "systemd-timesyncd": "systemd-time-wait-sync",
}  # fmt: skip
_HOUR: Final = 3600.0


class Seen:
    """Clocks, how they were set, and who was refused because of the time."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.before = [refusal.hit for refusal in refusals(picture, BEFORE, OUR_EARLY, CURL_EARLY)]
        self.before += [hit for hit in picture.hits(BEFORE) if hit not in self.before and _long_before(hit)]
        self.after = [refusal.hit for refusal in refusals(picture, AFTER, EXPIRED, OUR_EXPIRED)]
        self.tokens, self.late_tokens = picture.hits(NOT_YET), picture.hits(TOKEN_EXPIRED)
        self.refused = picture.hits(UNAUTHORIZED)
        self.stepped, self.loose, self.wrong = steps(picture), unsynchronised(picture), disagreement(picture)
        self.said = picture.said("clock-wrong")
        self.symptom = (*self.after, *self.late_tokens, *self.refused)
        self.proof = (*self.loose[:1], self.wrong, *self.stepped[:2], *self.said[:1])

    @cached_property
    def node(self) -> str:
        hosts = [self.speakers.get(hit.place) or hit.host for hit in (*self.stepped, *self.before)]
        clocks = [clock.host for clock in self.loose]
        return bad_node(self.picture, *clocks, self.wrong.host if self.wrong else "", *hosts)

    @cached_property
    def others(self) -> list[str]:
        """Further nodes that find certificates too young: their clocks are behind as well."""
        told = [self.speakers.get(hit.place) or hit.host for hit in self.before]
        return [host for host in dict.fromkeys(told) if host and self.node in told and host != self.node]

    @cached_property
    def speakers(self) -> dict[Place, str]:
        return {line.place: line.host for line in self.picture.of(LogLine) if line.host}

    @cached_property
    def keeper(self) -> str:
        """The unit that keeps time there, as far as it is shown."""
        shown = [unit.name.removesuffix(".service") for unit in self.picture.of(Unit)]
        known = next((name for name in shown if name in _KEEPERS), "")
        return known or ("ntpd" if any(hit.sign == CLOCK_STEP.key for hit in self.stepped) else "chronyd")

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        sick = [pod.name for pod in self.picture.agents_now() if not pod.all_ready]
        return culprits(
            named("node", self.node, *self.others[:5]), Culprit("setting", "clock"), Culprit("unit", self.keeper),
            named("pod", *sick),
        )  # fmt: skip

    def found(
        self, strength: float, evidence: tuple[object, ...], gap: float = 0.0, *, now: str = "", begin: str = ""
    ) -> Finding:
        return found(
            strength, self.culprits, (*self.proof, *evidence), node=self.node, keeper=self.keeper,
            nodes=few([self.node, *self.others]), others=tuple(self.others[:5]),
            gap=Seconds(abs(gap)) if gap else "", now=now, begin=begin,
        )  # fmt: skip


def kept_now(seen: Seen) -> Finding | None:
    """What the past said is over where the clock is shown to be kept and every agent is ready again."""
    agents, kept = seen.picture.agents_now(), synchronised(seen.picture)
    well = bool(agents) and all(pod.all_ready for pod in agents)
    return ruled_out(kept[:2], say="agree") if well and kept and not (seen.loose or seen.wrong) else None


def was_ahead(seen: Seen) -> Finding | None:
    back = [hit for hit in seen.stepped if "-" in hit.text and _seconds(hit) > FAR_S]
    if not seen.tokens or not back or seen.before:
        return None
    return seen.found(PROVEN, (*seen.tokens[:2], *seen.refused[:1]), _seconds(back[0]))


def behind(seen: Seen) -> Finding | None:
    if not seen.before and not seen.tokens:
        return None
    first = (*seen.before, *seen.tokens)[0]
    now, begin = first.value("now"), first.value("begin")
    strength = PROVEN if seen.loose or seen.wrong or seen.stepped else STRONG
    evidence = (*seen.before[:2], *seen.tokens[:1])
    shown, due = moment(now), moment(begin)
    gap = due - shown if shown is not None and due is not None else 0.0
    finding = seen.found(strength, evidence, gap, now=now, begin=begin)
    return finding if now else finding._replace(say="behind-begin")


def misjudged(seen: Seen) -> Finding | None:
    """Something is refused as expired or unknown, and the clock is shown to be wrong."""
    if not seen.symptom or not (seen.wrong or seen.stepped or seen.said):
        return None
    gap = seen.wrong.seconds if seen.wrong else _seconds(seen.stepped[0]) if seen.stepped else 0.0
    strong = seen.wrong or (seen.stepped and (seen.late_tokens or seen.refused))
    strength = STRONG if strong else LIKELY
    if seen.wrong and _valid_by_others(seen.picture, seen.wrong.seconds):
        strength = PROVEN
    return seen.found(strength, seen.symptom[:2], gap)


def tokens_expired(seen: Seen) -> Finding | None:
    """Nobody keeps the clock; where machines show the same time it is right all the same."""
    if not seen.late_tokens or not seen.loose or agreeing(seen.picture):
        return None
    return seen.found(LIKELY, tuple(seen.late_tokens[:2]))


def differs(seen: Seen) -> Finding | None:
    if seen.wrong and abs(seen.wrong.seconds) >= APART_S:
        return seen.found(LIKELY, (), seen.wrong.seconds)
    return None


def not_kept(seen: Seen) -> Finding | None:
    if not (seen.loose or seen.stepped or seen.said):
        return None
    return seen.found(POSSIBLE if seen.symptom else HINT, seen.symptom[:1])


def agree(seen: Seen) -> Finding | None:
    clocks = [clock for clock in seen.picture.of(Clock) if clock.time is not None]
    kept = synchronised(seen.picture)
    return ruled_out((kept or clocks)[:2]) if kept or len({clock.host for clock in clocks}) > 1 else None


def _long_before(hit: Hit) -> bool:
    """Whosever certificate it is (a registry's, a webhook's): nobody issues one for months to come."""
    now, begin = moment(hit.value("now")), moment(hit.value("begin"))
    return now is not None and begin is not None and begin - now > 30 * DAY


def _seconds(hit: Hit) -> float:
    text = hit.value("n")
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0


def _valid_by_others(picture: Picture, seconds: float) -> bool:
    """A certificate shown would be valid if the clock were put right."""
    times = [clock.time for clock in picture.of(Clock) if clock.time is not None]
    if not times:
        return False
    right = max(times) if seconds < 0 else min(times)
    return any((c.not_before or 0) <= right <= c.not_after for c in picture.of(Certificate) if c.not_after)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    keeper = finding.value("keeper", "chronyd")
    others = dict(finding.values).get("others", ())
    others = others if isinstance(others, tuple) else ()
    at_once = {"chrony-wait": "set", "ntp-wait": "set-ntpd"}.get(_KEEPERS[keeper], "set-timesyncd")
    for where in ({}, *({"node": one, "node_address": picture.internal_ips().get(one, one)} for one in others)):
        yield do("keep", keeper=keeper, **where)
        if finding.rule != "was-ahead":
            yield do(at_once, keeper=keeper, **where)
    yield do("boot", kubelet=_kubelet(picture, finding.value("node")), wait=_KEEPERS[keeper])
    if finding.rule == "was-ahead":  # whoever got a token meanwhile, wherever it runs
        yield from restart_agent(picture)
    elif finding.value("node"):
        yield from restart_agent(picture, finding.value("node"))
    else:
        yield do("recreate")


def _kubelet(picture: Picture, name: str) -> str:
    """The unit that kubelet is part of on that node."""
    node = picture.nodes_now().get(name)
    version, roles = (node.version, node.roles) if node else ("", "")
    server = "control-plane" in roles or "master" in roles
    if "+rke2" in version:
        return "rke2-server" if server else "rke2-agent"
    if "+k3s" in version:
        return "k3s" if server else "k3s-agent"
    return "kubelet"


def _gap(finding: Finding) -> float:
    known = dict(finding.values).get("gap")
    return float(known) if isinstance(known, Seconds) else 0.0


def _whole_hours(_picture: Picture, finding: Finding) -> bool:
    """As far off as a time zone."""
    gap = _gap(finding)
    return _HOUR / 2 < gap < DAY and min(gap % _HOUR, _HOUR - gap % _HOUR) < 2 * FAR_S


def _lost_time(_picture: Picture, finding: Finding) -> bool:
    """So far behind that the hardware clock began anew."""
    return finding.rule == "behind" and _gap(finding) > 30 * DAY


CAUSE = Cause(
    module=__name__,
    id="clock-skew",
    code="TRT2005",
    severity="high",
    explains=(
        "unauthorized", "api-unreachable", "datastore-error", "crash-loop", "sandbox-failed", "node-not-ready",
        "init-crash",
    ),
    signs=(AFTER, BEFORE, EXPIRED, OUR_EARLY, OUR_EXPIRED, CURL_EARLY, *CLOCK_SIGNS, UNAUTHORIZED),
    look=Seen,
    rules=(kept_now, was_ahead, behind, misjudged, tokens_expired, differs, not_kept, agree),
    fix=fix,
    prevents={"utc": _whole_hours, "battery": _lost_time},
)  # fmt: skip
