"""TRT1016: BIRD's main loop takes seconds, so its control socket answers late."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import agent_asked, node_at
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Load, Number, Process, Setting, Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Seconds

SOCKET_LATE: Final = Sign("trt1016-socket-late", "read unix @->/var/run/<path>bird<file>.ctl: i/o timeout")
SOCKET_LATE_PLAIN: Final = Sign("trt1016-socket-late-plain", "bird.ctl: i/o timeout")
# Its queue of callers is full: BIRD takes none off it.
SOCKET_FULL: Final = Sign("trt1016-socket-full", "bird.ctl: connect: resource temporarily unavailable")
LIVE_LATE: Final = Sign("trt1016-live-late", "bird is not live: <rest>")
LOOP: Final = Sign("trt1016-loop", "I/O loop cycle took <n> ms for <n2> events")
NETLINK: Final = Sign("trt1016-netlink", "Kernel dropped some netlink messages")
GONE: Final = Sign("trt1016-socket-gone", "bird.ctl: connect: (connection refused|no such file or directory)")
SLOW_MS: Final = 3000.0  # a cycle this long eats most of a probe's time
MANY_LINKS: Final = 1000
BUSY_PERCENT: Final = 80.0
SLOW_ANSWER_S: Final = 2.0
IGNORES_SINCE: Final = (3, 25)
BIRD: Final = Culprit("program", "bird")
SOCKET: Final = Culprit("file", "bird.ctl")
_LINKS = lazily(r"\bip\s{1,8}(?:-\S{1,30}\s{1,8}){0,8}(?:a|ad|addr|address|l|li|link)\b|/sys/class/net")
_LINK_NAMED = lazily(r"\b(?:dev|show|sh|s)\s+([a-z][\w.-]*\d)\b")


class Seen:
    """How late BIRD is, and what may keep it busy."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        timed_out = [hit for hit in picture.hits(LIVE_LATE) if "timed out" in hit.text or "timeout" in hit.text]
        self.late = [*picture.hits(SOCKET_LATE, SOCKET_LATE_PLAIN, SOCKET_FULL), *timed_out]
        self.loops = [hit for hit in picture.hits(LOOP) if float(hit.value("n")) >= SLOW_MS]
        self.netlink = picture.hits(NETLINK)
        hot = [p for p in picture.of(Process) if _is_bird(p.command) and (p.cpu or 0) >= BUSY_PERCENT]
        self.busy: list[Process | Statement] = [*hot, *picture.said("bird-busy")]
        self.slow: list[Setting | Statement] = [*_slow_answers(picture), *picture.said("bird-answers-late")]
        self.links = [n for n in picture.of(Number) if n.value >= MANY_LINKS and _LINKS.search(n.command)]

    @property
    def laden(self) -> bool:
        return bool(self.busy or self.links)

    @property
    def heard(self) -> bool:
        """Whether anything says that BIRD is late."""
        return bool(self.late or self.loops or (self.slow and self.laden))

    @property
    def strained(self) -> bool:
        """The whole host is slow, which says nothing about BIRD."""
        loads = self.picture.of(Load)
        return any(load.cores and load.one > 2 * load.cores for load in loads) or bool(self.picture.said("load-high"))

    @cached_property
    def strength(self) -> float:
        if self.strained and not self.laden:
            return POSSIBLE
        if self.late:
            return self._of_late()
        if self.slow and self.laden:
            return STRONG
        return STRONG if len(self.loops) > 1 or self.laden else LIKELY

    def _of_late(self) -> float:
        if self.loops or (self.busy and self.links) or (self.slow and self.laden):
            return PROVEN
        if self.laden or self.netlink or self.slow:
            return STRONG
        return POSSIBLE  # a slow host or a throttled container answers late as well

    @property
    def interfaces(self) -> list[str]:
        return [name for number in self.links for name in _LINK_NAMED.findall(number.command)]

    @property
    def node(self) -> str:
        first = (self.late or self.loops or self.slow)[0]
        return node_at(self.picture, first.place, "" if isinstance(first, Statement) else first.host)


def _is_bird(command: str) -> bool:
    return command.split()[:1] != [] and command.split()[0].rpartition("/")[2] in ("bird", "bird6")


def _slow_answers(picture: Picture) -> list[Setting]:
    """BIRD's own client was timed, and took seconds."""
    timed = [s for s in picture.of(Setting) if s.scope == "elapsed"]
    idle = [s for s in timed if "bird" not in s.name and "exec" in s.name]
    # A container that is slow to enter says nothing about BIRD.
    entry = min((float(s.value) for s in idle), default=0.0)
    asked = [s for s in timed if re.search(r"\bbirdc(?:l)?6?\b", s.name)]
    return [s for s in asked if float(s.value) - entry >= SLOW_ANSWER_S]


def _halted(picture: Picture) -> list[Process]:
    """Processes of BIRD that somebody has stopped, by the state in a row of `ps`."""
    got = []
    for process in picture.of(Process):
        exhibit = exhibit_at(picture, process.place) if _is_bird(process.command) else None
        if exhibit and any(
            process.command in line and re.search(r"\s[?\w/]+\s+T[a-zA-Z<+]*\s", line) for line in exhibit.lines
        ):
            got.append(process)
    return got


def socket_gone(seen: Seen) -> Finding | None:
    gone = seen.picture.hits(GONE)
    return ruled_out(gone[:1]) if gone and not seen.heard else None


def standing_still(seen: Seen) -> Finding | None:
    halted = _halted(seen.picture) if seen.late else []
    if not halted:
        return None
    node = node_at(seen.picture, halted[0].place, halted[0].host)
    return found(STRONG, culprits(BIRD, named("node", node), SOCKET), (*halted[:1], *seen.late[:2]), node=node)


def agents_well(seen: Seen) -> Finding | None:
    """The probe was late once, and nothing came of it."""
    agents = seen.picture.agents_now()
    well = bool(agents) and all(pod.all_ready and not pod.restarts for pod in agents)
    reasons = seen.loops or seen.netlink or seen.laden or seen.slow
    return ruled_out() if seen.heard and well and not reasons else None


def answers_late(seen: Seen) -> Finding | None:
    if not seen.heard:
        return None
    who = culprits(
        BIRD, named("interface", *seen.interfaces), named("node", seen.node),
        named("message", *(str(number.value) for number in seen.links)), SOCKET, named("setting", "ignoredInterfaces"),
    )  # fmt: skip
    evidence = (*seen.links[:1], *seen.busy[:1], *seen.slow[:1], *seen.loops[:2], *seen.netlink[:1], *seen.late[:2])
    hot = next((one for one in seen.busy[:1] if isinstance(one, Process)), None)
    timed = next((one for one in seen.slow[:1] if isinstance(one, Setting)), None)
    return found(
        seen.strength, who, evidence, node=seen.node,
        cycle=Seconds(max(float(hit.value("n")) for hit in seen.loops) / 1000) if seen.loops else "",
        count=str(seen.links[0].value) if seen.links else "",
        cpu=f"{hot.cpu:.0f}" if hot else "",
        took=Seconds(float(timed.value)) if timed else "",
        links=next((name.rstrip("0123456789") for name in seen.interfaces), ""),
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule == "standing-still":
        yield do("go-on")
        yield do("who-stopped-it")
        return
    version = picture.version("calico")
    yield do("count", agent_pod=agent_asked(picture, finding.evidence))
    yield do("ignore-links" if version is None or version >= IGNORES_SINCE else "upgrade")
    yield do("fewer-links")
    if any(name == "cpu" for container in picture.containers("calico-node") for name, _ in container.limits):
        yield from ways.set_agent_limits(picture, "cpu", "0")


CAUSE = Cause(
    module=__name__,
    id="bird-overloaded",
    code="TRT1016",
    severity="medium",
    explains=("bird-not-ready", "not-ready", "killed-by-liveness", "restarts", "bgp-down", "crash-loop"),
    signs=(SOCKET_LATE, SOCKET_LATE_PLAIN, SOCKET_FULL, LIVE_LATE, LOOP, NETLINK, GONE),
    look=Seen,
    rules=(socket_gone, standing_still, agents_well, answers_late),
    fix=fix,
    prevents={"watch": lambda _, finding: finding.rule != "standing-still"},
    yields_to=("node-overloaded", "cpu-throttled"),
)
