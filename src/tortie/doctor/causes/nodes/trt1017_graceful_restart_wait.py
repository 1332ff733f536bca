"""TRT1017: after a restart BIRD waits for its peers before it installs routes or reports ready."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import agent_asked, complaints, few, missing_peers, node_at, settled
from tortie.doctor.picture.facts import Event, LogLine, Workload
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Seconds

IN_PROGRESS: Final = Sign("trt1017-in-progress", "graceful restart in progress")
RECOVERY: Final = Sign("trt1017-recovery", "Graceful restart recovery in progress")
RECOVERS: Final = Sign("trt1017-recovers", "BIRD recovers from a restart: it keeps its earlier routes")  # Tortie's own
STARTED: Final = Sign("trt1017-started", "Graceful restart started")
DONE: Final = Sign("trt1017-done", "Graceful restart done")
LONGEST_S: Final = 240.0  # BIRD's own limit
NOTICEABLE_S: Final = 30.0
RESTART_TIME_SINCE: Final = (3, 23)  # of the mesh
WAIT: Final = Culprit("message", "graceful restart")
RESTART_TIME: Final = Culprit("setting", "nodeMeshMaxRestartTime")


class Seen:
    """What BIRD, its tables and people say about the wait."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.waiting = picture.hits(IN_PROGRESS, RECOVERY, RECOVERS)
        self.started, self.done = picture.hits(STARTED), picture.hits(DONE)
        self.healed = picture.said("heals-by-itself")
        # Sessions that stand while BIRD keeps their routes back.
        self.held = [state for state in picture.settings("waiting", "bird") if state.value == "wait"]
        self.agents = picture.agents_now()

    @cached_property
    def missing(self) -> list[str]:
        return list(dict.fromkeys(peer.address for peer in missing_peers(self.picture)))

    @cached_property
    def gap(self) -> float:
        """Seconds between the last start and the last end, where their lines have times."""
        times = {(line.place.source, line.place.first): line.time for line in self.picture.of(LogLine) if line.time}
        last = [hits[-1].place for hits in (self.started, self.done) if hits]
        ends = [times.get((place.source, place.first)) for place in last]
        return ends[1] - ends[0] if len(ends) == 2 and ends[0] and ends[1] else 0.0

    @property
    def waits_now(self) -> bool:
        ready = bool(self.agents) and all(pod.all_ready for pod in self.agents)
        return bool(self.waiting or self.held) and not ready

    @property
    def still_held(self) -> bool:
        """No later table shows these sessions without the wait."""
        last = {(session.host, session.peer): session.place for session in self.picture.sessions()}
        return any(last.get((state.host, state.owner), state.place) == state.place for state in self.held)

    @property
    def pending(self) -> bool:
        """Some log has a restart that it does not call done yet."""
        ended = {hit.place.source: hit.place.first for hit in self.done}
        return any(hit.place.first > ended.get(hit.place.source, 0) for hit in self.started)

    @property
    def lasting(self) -> float:
        events = [one for one in self.picture.of(Event) if "graceful restart in progress" in one.message.lower()]
        return max((event.over_s or 0.0 for event in events), default=0.0)


def waited_long(seen: Seen) -> Finding | None:
    felt = seen.healed or seen.waits_now or not settled(seen.picture)
    if seen.gap <= NOTICEABLE_S or not felt:
        return None
    strength = STRONG if seen.healed or seen.held else POSSIBLE if seen.missing else LIKELY
    evidence = (*seen.started[-1:], *seen.done[-1:], *seen.held[:1], *seen.waiting[:1], *seen.healed[:1])
    return found(strength, (WAIT, RESTART_TIME), evidence, gap=Seconds(seen.gap), peer=next(iter(seen.missing), ""))


def routes_held_back(seen: Seen) -> Finding | None:
    """Sessions stand, and BIRD installs nothing until all of its peers are back or the timer ends."""
    recovery = seen.picture.hits(RECOVERY)
    if not seen.held or seen.missing or not (seen.healed or seen.still_held or recovery):
        return None
    said = (*seen.waiting[:1], *seen.picture.settings("wait-timer", "bird")[-1:], *seen.healed[:1])
    timer = seen.picture.value("wait-timer", "bird")
    peers = list(dict.fromkeys(state.owner for state in seen.held))
    node = node_at(seen.picture, seen.held[0].place, seen.held[0].host)
    who = culprits(WAIT, named("node", node), named("message", timer), RESTART_TIME, named("peer", *peers[:3]))
    return found(STRONG if said else LIKELY, who, (*seen.held[:2], *said), held=few(peers), timer=timer, node=node)


def held_for_one_peer(seen: Seen) -> Finding | None:
    """Sessions stand and are held back, since another peer never comes; no agent complains about that one."""
    began = seen.healed or seen.started
    if not seen.held or not seen.missing or seen.waiting or not began or not seen.still_held:
        return None
    if complaints(seen.picture):
        return None
    peers = list(dict.fromkeys(state.owner for state in seen.held))
    node = node_at(seen.picture, seen.held[0].place, seen.held[0].host)
    who = culprits(WAIT, named("peer", *seen.missing[:3]), named("node", node), RESTART_TIME)
    evidence = (*seen.started[-1:], *seen.held[:2], *missing_peers(seen.picture)[:2], *seen.healed[:1])
    return found(
        STRONG if seen.healed else LIKELY, who, evidence,
        held=few(peers), missing=few(seen.missing), peer=seen.missing[0], node=node,
    )  # fmt: skip


def ready_now(seen: Seen) -> Finding | None:
    counted = [one for one in seen.picture.of(Workload) if is_agent(one.name) and one.desired is not None]
    every = all(one.ready == one.desired for one in counted[-1:])
    return ruled_out((*seen.done[:1], *seen.agents[:1])) if seen.agents and every and settled(seen.picture) else None


def over(seen: Seen) -> Finding | None:
    """Started and done, and nothing says that BIRD waits."""
    return ruled_out(seen.done[-1:]) if seen.done and seen.started and not seen.waiting else None


def over_since(seen: Seen) -> Finding | None:
    """Done after the last word of waiting."""
    if not seen.waiting or not seen.done or seen.done[-1].place <= seen.waiting[-1].place or seen.pending:
        return None
    return ruled_out(seen.done[-1:], say="over-but-missing" if seen.missing else "over")


def long_ago(seen: Seen) -> Finding | None:
    """Only events tell of it, and the last of them is older than BIRD ever waits."""
    events = [one for one in seen.picture.of(Event) if "graceful restart in progress" in one.message.lower()]
    told = {(one.place.source, one.place.first) for one in events}
    only = seen.waiting and all((hit.place.source, hit.place.first) in told for hit in seen.waiting)
    old = only and all(one.age_s is not None and one.age_s > 2 * LONGEST_S for one in events)
    return ruled_out(events[:1], say="over") if old else None


def waiting(seen: Seen) -> Finding | None:
    if not seen.waiting:
        return None
    first, peers = seen.waiting[0], seen.missing
    node = node_at(seen.picture, first.place, first.host)
    # Longer than BIRD ever waits: then it is restarted again and again, and something else is the cause.
    strength = POSSIBLE if seen.lasting > 2 * LONGEST_S else STRONG
    who = culprits(WAIT, named("peer", *peers[:3]), named("node", node), RESTART_TIME)
    evidence = (*seen.started[-1:], *seen.waiting[:2], *missing_peers(seen.picture)[:2])
    return found(
        strength, who, evidence,
        missing=few(peers), peer=next(iter(peers), ""), node=node, say="waiting-for" if peers else "waiting",
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    pod = agent_asked(picture, finding.evidence)
    yield do("look-back" if finding.rule == "waited-long" else "wait", agent_pod=pod)
    if peer := finding.value("peer"):
        yield do("why-silent")
        yield do("remove", gone=picture.owner_of(peer))
    version = picture.version("calico")
    if version is None or version >= RESTART_TIME_SINCE:
        yield do("keep-routes")


CAUSE = Cause(
    module=__name__,
    id="graceful-restart-wait",
    code="TRT1017",
    severity="low",
    explains=("bird-not-ready", "not-ready", "traffic-dead"),
    signs=(IN_PROGRESS, RECOVERY, RECOVERS, STARTED, DONE),
    look=Seen,
    rules=(waited_long, routes_held_back, held_for_one_peer, ready_now, over, over_since, long_ago, waiting),
    fix=fix,
    yields_to=(
        "peer-node-down", "bgp-port-blocked", "bgp-filtered-in-path", "bgp-as-mismatch", "bgp-auth-mismatch",
        "port-179-conflict", "node-ip-changed", "duplicate-node-ip", "bird-overloaded", "bird-config-invalid",
        "autodetect-wrong-interface",
    ),
)  # fmt: skip
