"""TRT7007: the connection tracking table is full, and packets of new connections are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.whose_node import elsewhere, nobody_suffers
from tortie.doctor.causes.underlay.traffic_evidence import compiled, host_of, rows
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

FULL = Sign("conntrack-full", "conntrack: table full, dropping packet")
COUNT, MAX = "nf_conntrack_count", "nf_conntrack_max"
NEARLY: Final = 0.97
FAR_BELOW: Final = 0.8
_COUNTED: Final = r"\bconntrack\s+(?:-C|--count)\b"


class Usage(NamedTuple):
    """How full the table of one host is."""

    entries: int
    limit: int
    facts: tuple[object, ...]
    host: str

    @property
    def share(self) -> float:
        return self.entries / self.limit


class Seen:
    """The kernel's lines, and the fullest table that is shown."""

    def __init__(self, picture: Picture) -> None:
        self.hits = picture.hits(FULL)
        self.fullest = max(_usage(picture), key=lambda one: one.share, default=None)
        self.calm = nobody_suffers(picture)
        said = next((name for hit in self.hits[:3] if (name := host_of(picture, hit))), "")
        self.host = (self.fullest.host if self.fullest else "") or said

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        limit = str(self.fullest.limit) if self.fullest else ""
        return culprits(
            named("setting", MAX, f"net.netfilter.{MAX}", COUNT if self.fullest else ""),
            Culprit("module", "nf_conntrack"),
            named("node", self.host),
            named("setting", limit),
        )


def nearly_full(seen: Seen) -> Finding | None:
    table = seen.fullest
    if table is None or table.share < NEARLY:
        return None
    return found(
        PROVEN if seen.hits else STRONG, seen.culprits, (*table.facts, *seen.hits[:2]),
        count=table.entries, limit=table.limit, larger=table.limit * 2, node=seen.host,
    )  # fmt: skip


def far_below(seen: Seen) -> Finding | None:
    table = seen.fullest
    if table is None or table.share >= FAR_BELOW:
        return None
    return ruled_out((*table.facts, *seen.hits[:1]), count=table.entries, limit=table.limit)


def kernel_says(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    strength = STRONG if any(not hit.prose for hit in seen.hits) else LIKELY
    if seen.calm:
        strength = POSSIBLE  # a line of some day, and nobody who misses a packet now
    return found(strength, seen.culprits, seen.hits[:3], node=seen.host)


def _usage(picture: Picture) -> list[Usage]:
    """Of every host that shows both numbers."""
    counts: dict[str, tuple[int, object]] = {}
    limits: dict[str, tuple[int, object]] = {}
    for row in rows(picture, rf"(?P<key>{COUNT}|{MAX})\s*[=:]\s*(?P<value>\d+)", needle="nf_conntrack_"):
        (counts if row["key"] == COUNT else limits)[row.host] = (int(row["value"]), row)
    for key, host, number, fact in _bare_numbers(picture):
        (counts if key == COUNT else limits)[host] = (number, fact)
    for setting in picture.of(Setting):
        key = setting.name.rpartition(".")[2]
        if setting.scope == "sysctl" and key in (COUNT, MAX) and setting.value.isdecimal():
            (counts if key == COUNT else limits).setdefault(setting.host, (int(setting.value), setting))
    return [
        Usage(count, limits[host][0], (fact, limits[host][1]), host)
        for host, (count, fact) in counts.items()
        if host in limits and limits[host][0] and not elsewhere(picture, host)
    ]


def _bare_numbers(picture: Picture) -> Iterator[tuple[str, str, int, object]]:
    """What `cat`, `sysctl -n` and `conntrack -C` print: numbers in the order of the names that were asked for."""
    for exhibit in picture.exhibits:
        asked = [word for word in exhibit.command.split() if COUNT in word or MAX in word]
        numbers = [(i, line.strip()) for i, line in enumerate(exhibit.lines) if line.strip().isdecimal()]
        if not asked and compiled(_COUNTED).search(exhibit.command):
            asked = [COUNT]
        if asked and len(asked) == len(numbers):
            for word, (index, text) in zip(asked, numbers, strict=True):
                yield COUNT if COUNT in word else MAX, exhibit.host, int(text), exhibit.place(index)


def fix(_picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("larger" if "larger" in dict(finding.values) else "twice")
    yield do("keep")
    yield do("who")


CAUSE = Cause(
    module=__name__,
    id="conntrack-full",
    code="TRT7007",
    severity="medium",
    explains=("traffic-dead", "service-dead", "api-unreachable", "log-errors"),
    signs=(FULL,),
    look=Seen,
    rules=(nearly_full, far_below, kernel_says),
    fix=fix,
)
