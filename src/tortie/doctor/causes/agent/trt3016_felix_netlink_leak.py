"""TRT3016: Felix of v3.29.0 and v3.29.1 does not close its netlink sockets, until nobody can ask the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.recovery import node_of, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Number, Version
from tortie.doctor.picture.picture import Picture, version_numbers
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

TOO_LONG: Final = Sign("netlink-too-long", "Argument list too long")
TOO_LONG_ZH: Final = Sign("netlink-too-long-zh", "参数列表过长")
ENDS: Final = ("argument list too long", "参数列表过长")  # nothing before it: a shell names the program
LEAKS: Final = ((3, 29, 0), (3, 29, 2))  # from, and the first release that closes them
MANY, FEW = 1000, 200  # Felix needs a dozen or two
# ss: `48190 rtnl:calico-node/5127`; lsof: `calico-no 15173 root 5778u netlink 0t0 689245146 ROUTE`
_COUNTED: Final = lazily(r"^\s*(?P<count>\d+)\s+(?:\S+\s+)?rtnl:calico-no\w*[-/]")
_UNIQUE: Final = lazily(r"^\s*(?P<count>\d+)\s+netlink(?:\s+ROUTE)?\s*$")  # lsof … | sort | uniq -c
_LSOF: Final = lazily(r"^calico-no\S*\s+\d+\s+\S+\s+(?P<fd>\d+)[urw]\s+netlink\b")
_FDS: Final = lazily(r"/proc/(?:\d+|\$\S+)/fd|/proc/net/netlink|\blsof\b|\bss\b")
_IP_IN_PROSE: Final = lazily(r"\bip (?:-\S+ )*(?:a|addr|address|l|link|r|route|n|neigh|rule)\b")


class Sockets(NamedTuple):
    place: Place
    count: int  # type: ignore[assignment] # a tuple has a method of that name, and nobody needs it here
    netlink: bool  # counted as such and of Felix, not among all sockets


class Seen:
    """How many netlink sockets Felix has, what `ip` says, and which release runs."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        # A shell says the same of a command line that is too long, and libbpf of a program.
        self.too_long = [hit for hit in picture.hits(TOO_LONG, TOO_LONG_ZH) if _is_of_ip(hit)]

    @cached_property
    def sockets(self) -> Sockets | None:
        shown = [one for exhibit in self.picture.exhibits for one in _sockets_of(exhibit)]
        shown += [
            Sockets(number.place, number.value, "netlink" in number.command and "calico" in number.command)
            for number in self.picture.of(Number)
            if _FDS.search(number.command) and ("socket" in number.command or "netlink" in number.command)
        ]
        return max(shown, key=lambda one: (one.netlink, one.count), default=None)

    @cached_property
    def release(self) -> Version | None:
        versions = self.picture.versions("calico")
        return versions[-1] if versions else None

    @property
    def leaking(self) -> bool | None:
        """Whether this release has the fault; None where no release is shown."""
        numbers = version_numbers(self.release.version) if self.release else ()
        return LEAKS[0] <= (*numbers, 0)[:3] < LEAKS[1] if len(numbers) >= 2 else None

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hosts = writers(self.picture, *self.too_long[:1])
        agents = {pod.node: pod.name for pod in self.picture.agents_now() if pod.node}
        node = node_of(hosts) or (next(iter(agents)) if len(agents) == 1 else "")
        release = self.release.version if self.release else ""
        return culprits(named("node", node), named("pod", agents.get(node, "")), named("version", release))


def _is_of_ip(hit: Hit) -> bool:
    bare = hit.line.strip().removeprefix("Cannot send dump request: ").lower() in ENDS
    if hit.prose or not hit.command:
        return bare or bool(_IP_IN_PROSE.search(hit.line))
    typed = re.split(r"[|;&]+", hit.command)[0].split()
    program = next((word for word in typed if word not in ("sudo", "nsenter")), "")
    return bare and program in ("ip", "/sbin/ip", "/usr/sbin/ip")


def _sockets_of(exhibit: Exhibit) -> Iterator[Sockets]:
    rows = [index for index, line in enumerate(exhibit.lines) if _LSOF.match(line)]
    if rows:
        highest = max(int(match["fd"]) for index in rows if (match := _LSOF.match(exhibit.lines[index])))
        yield Sockets(exhibit.place(rows[-1]), max(highest, len(rows)), True)
    for index, line in enumerate(exhibit.lines):
        match = _COUNTED.match(line) or (_UNIQUE.match(line) if "lsof" in exhibit.command else None)
        if match:
            yield Sockets(exhibit.place(index), int(match["count"]), True)


def few_sockets(seen: Seen) -> Finding | None:
    sockets = seen.sockets
    few = sockets is not None and sockets.netlink and sockets.count < FEW
    return ruled_out((sockets,), count=str(sockets.count)) if few and sockets else None


def many_sockets(seen: Seen) -> Finding | None:
    sockets = seen.sockets
    if sockets is None or sockets.count < MANY or not (sockets.netlink or seen.too_long):
        return None
    proven = seen.leaking or seen.too_long
    evidence = (sockets, *seen.too_long[:2], seen.release)
    return found(
        PROVEN if proven else STRONG, seen.culprits, evidence,
        count=str(sockets.count), release=_told(seen), node=node_of(seen.culprits),
    )  # fmt: skip


def other_release(seen: Seen) -> Finding | None:
    return ruled_out((seen.release,), release=_told(seen)) if seen.too_long and seen.leaking is False else None


def asking_fails(seen: Seen) -> Finding | None:
    if not seen.too_long:
        return None
    strength = LIKELY if seen.leaking else POSSIBLE
    evidence = (*seen.too_long[:2], seen.release)
    return found(strength, seen.culprits, evidence, release=_told(seen), node=node_of(seen.culprits))


def _told(seen: Seen) -> str:
    return seen.release.version if seen.release else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("count")
    yield from ways.restart_agent(picture, finding.value("node"))
    yield do("release")


CAUSE = Cause(
    module=__name__,
    id="felix-netlink-leak",
    code="TRT3016",
    severity="medium",
    explains=(
        "sandbox-failed", "not-ready", "felix-not-ready", "log-errors", "restarts", "crash-loop", "traffic-dead",
        "killed-by-liveness",
    ),
    signs=(TOO_LONG, TOO_LONG_ZH),
    look=Seen,
    rules=(few_sockets, many_sockets, other_release, asking_fails),
    fix=fix,
)  # fmt: skip
