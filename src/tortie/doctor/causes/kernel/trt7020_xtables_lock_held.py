"""TRT7020: something holds the lock of iptables for minutes, so that Felix and kube-proxy cannot write their rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.recovery import node_of, recovered, sick, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Seconds
from tortie.model.tuples import NamedTuple

HELD: Final = Sign("xtables-held", "Another app is currently holding the xtables lock")
OLD_LOCK: Final = Sign("xtables-old-lock", "failed to acquire old iptables lock")
NEW_LOCK: Final = Sign("xtables-new-lock", "failed to acquire new iptables lock")
FELIX_LOCK: Final = Sign("xtables-felix-lock", "Failed to acquire iptables lock")
GAVE_UP: Final = Sign(
    "xtables-gave-up", "Failed to program iptables, (giving up after retries|loading diags before panic|will retry)"
)
LASTING_S: Final = 120.0  # a writer of many thousand rules needs seconds
OFTEN: Final = 3
RETRY_S: Final = 90.0  # Felix and kube-proxy try again within that time
LOCK: Final = "xtables.lock"
# lsof: `iptables 2311 root 3rW REG …`; fuser -v: `root 2311 F.... iptables`; lslocks: `iptables 2311 FLOCK …`
_LSOF: Final = lazily(r"^(?P<program>[a-zA-Z][\w.-]+)\s+(?P<pid>\d{2,7})\s+(?:\S+\s+\d+[rwu]W?\s|FLOCK\b)")
_FUSER: Final = lazily(r"\s(?P<pid>\d{2,7})\s+[Ff.]\S*\s+(?P<program>[a-zA-Z][\w.-]+)\s*$")


class Holder(NamedTuple):
    place: Place
    program: str
    pid: str


class Seen:
    """Who was kept waiting, for how long, and who holds the lock."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.held = picture.hits(HELD, OLD_LOCK, NEW_LOCK, FELIX_LOCK)
        # Status 4 is iptables' word for the lock; Felix ends after some attempts.
        self.gave_up = [hit for hit in picture.hits(GAVE_UP) if "exit status 4" in hit.line]

    @cached_property
    def of_lock_alone(self) -> bool:
        """The newer kind of iptables has this status for what its kernel refuses, too, and then tells the reason."""
        texts = [exhibit.text for exhibit in self.picture.exhibits]
        other = any("errorOutput=" in text or "nf_tables" in text or 'backendMode="nft"' in text for text in texts)
        return len(self.gave_up) >= OFTEN and not other

    @cached_property
    def waits(self) -> list[float]:
        """When one log complained, in order; of several logs, the one that did so for the longest time."""
        wanted = {(hit.place.source, hit.place.first) for hit in self.held}
        times: dict[tuple[str, str], list[float]] = {}
        for line in self.picture.of(LogLine):
            moment = line.time if line.time is not None else line.of_some_year
            if moment is not None and (line.place.source, line.place.first) in wanted:
                times.setdefault((line.host, line.program), []).append(moment)
        return max((sorted(some) for some in times.values()), key=lambda some: some[-1] - some[0], default=[])

    @property
    def lasting(self) -> float:
        return self.waits[-1] - self.waits[0] if len(self.waits) >= OFTEN else 0.0

    @property
    def troubled(self) -> bool:
        """Somebody suffers from it, or one attempt after the other fails: who waits twice a day does get the lock."""
        dense = len(self.waits) > OFTEN and self.lasting <= RETRY_S * len(self.waits)
        return bool(dense or sick(self.picture) or self.picture.said("suffers"))

    @cached_property
    def holder(self) -> Holder | None:
        for exhibit in self.picture.exhibits:
            if exhibit.prose or not (LOCK in exhibit.command or LOCK in exhibit.text):
                continue  # a row names the lock by itself, also where the command was not copied
            for index, line in enumerate(exhibit.lines):
                match = _LSOF.match(line) or _FUSER.search(line)
                if match and (LOCK in line or LOCK in exhibit.command):
                    return Holder(exhibit.place(index), match["program"], match["pid"])
        return None

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        program = self.holder.program if self.holder else ""
        written = writers(self.picture, *self.held[:3])
        return culprits(named("program", program), Culprit("file", "/run/xtables.lock"), written)


def other_words(seen: Seen) -> Finding | None:
    """iptables tells why it ended with the status of the lock, and it is not the lock."""
    if any(not hit.prose for hit in seen.held) or not seen.gave_up:
        return None
    for exhibit in seen.picture.exhibits:
        for index, line in enumerate(exhibit.lines):
            told = "errorOutput=" in line and "exit status 4" in line
            if told and not any(words in line for words in ("xtables lock", "temporarily unavailable")):
                return ruled_out((exhibit.place(index),))
    return None


def free_now(seen: Seen) -> Finding | None:
    """Everybody waits for this lock at times; an agent that is ready has had it."""
    well = recovered(seen.picture, seen.held) if seen.held and not seen.holder else []
    return ruled_out(well[:1]) if well and not seen.picture.said("suffers") else None


def holder_shown(seen: Seen) -> Finding | None:
    if not seen.held or seen.holder is None:
        return None
    lasting = seen.lasting >= LASTING_S
    return found(
        PROVEN if lasting else STRONG, seen.culprits, (seen.holder, *_ends(seen.held)),
        program=seen.holder.program, holder=seen.holder.pid, node=node_of(seen.culprits),
        time=Seconds(seen.lasting) if lasting else "",
    )  # fmt: skip


def for_minutes(seen: Seen) -> Finding | None:
    if seen.lasting < LASTING_S or not seen.troubled:
        return None
    return found(STRONG, seen.culprits, _ends(seen.held), time=Seconds(seen.lasting), node=node_of(seen.culprits))


def again_and_again(seen: Seen) -> Finding | None:
    """Without times: as often as that, while the agent does not become ready."""
    if len(seen.held) < OFTEN or not seen.troubled:
        return None
    return found(LIKELY, seen.culprits, _ends(seen.held), node=node_of(seen.culprits))


def felix_gives_up(seen: Seen) -> Finding | None:
    if not seen.held or not seen.gave_up:
        return None
    return found(LIKELY, seen.culprits, (*_ends(seen.held), *seen.gave_up[-1:]), node=node_of(seen.culprits))


def by_status(seen: Seen) -> Finding | None:
    """Felix's attempts end with the status of the lock, and what iptables said was left out."""
    if seen.held or not seen.gave_up:
        return None
    holder = seen.holder
    if holder is None and not seen.of_lock_alone:
        return None
    shown = (holder, *_ends(seen.gave_up))
    return found(
        STRONG if holder else LIKELY, seen.culprits, shown, say="holder-shown" if holder else "felix-gives-up",
        program=holder.program if holder else "", holder=holder.pid if holder else "", node=node_of(seen.culprits),
    )  # fmt: skip


def at_times(seen: Seen) -> Finding | None:
    return found(HINT, seen.culprits, seen.held[:1], node=node_of(seen.culprits)) if seen.held else None


def _ends(held: list[Hit]) -> list[Hit]:
    return held[:1] + held[-1:]


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("who")
    if finding.value("holder"):
        yield do("end")
    else:
        yield do("stop")
    yield do("share")
    yield do("longer")
    yield from ways.set_felix(picture, "iptablesLockTimeout", '"30s"')


CAUSE = Cause(
    module=__name__,
    id="xtables-lock-held",
    code="TRT7020",
    severity="medium",
    explains=(
        "crash-loop", "not-ready", "felix-not-ready", "log-errors", "restarts", "killed-by-liveness", "sandbox-failed",
        "traffic-dead", "service-dead", "api-unreachable",
    ),
    signs=(HELD, OLD_LOCK, NEW_LOCK, FELIX_LOCK, GAVE_UP),
    look=Seen,
    rules=(other_words, free_now, holder_shown, for_minutes, again_and_again, felix_gives_up, by_status, at_times),
    fix=fix,
    yields_to=("node-overloaded",),
)  # fmt: skip
