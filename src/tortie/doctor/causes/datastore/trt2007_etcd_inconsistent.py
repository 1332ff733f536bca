"""TRT2007: a member of etcd diverged, so updates conflict for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import agents_well
from tortie.doctor.causes.datastore.endpoint_evidence import members
from tortie.doctor.causes.datastore.etcd_evidence import identity, odd_reading, odd_size
from tortie.doctor.causes.shared import TERMINATING
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

CONFLICT: Final = Sign("trt2007-conflict", "update conflict: Node\\(<node>\\)")
MODIFIED: Final = Sign(
    "trt2007-modified", "the object has been modified; please apply your changes to the latest version"
)
CORRUPT: Final = Sign("trt2007-corrupt", "alarm:CORRUPT")
CORRUPT_ALARM: Final = Sign("trt2007-corrupt-alarm", "etcdserver: corrupt cluster")
INCONSISTENT: Final = Sign("trt2007-inconsistent", "found data inconsistency with peers")
DIFFERENT_HASH: Final = Sign("trt2007-different-hash", "found different hash values with remote peer")
CHECK_FAILED: Final = Sign("trt2007-check-failed", "checkInitialHashKV failed")
DIVERGED: Final = (CORRUPT, CORRUPT_ALARM, INCONSISTENT, DIFFERENT_HASH, CHECK_FAILED)
PERSISTS_S: Final = 30.0  # a race between two writers is over long before
OFTEN: Final = 3  # conflicts, where nothing tells their times
_HASH = lazily(r"(?<![\w.\[\]-])((?:https?://)?[\w.\[\]-]{1,260}:\d{4,5})[,|\s]+(\d{6,12})\b(?:[,|\s]+(\d+))?")
_PROGRAM: Final = Culprit("program", "etcd")


class Member(NamedTuple):
    """What a member answered to `endpoint hashkv`."""

    endpoint: str
    hash: str
    revision: str
    place: Place

    @property
    def host(self) -> str:
        return self.endpoint.split("//")[-1].rpartition(":")[0]


def hashes(picture: Picture) -> list[Member]:
    """Of one revision, where it is shown: what was written between two questions changes a hash, too."""
    known: dict[str, Member] = {}
    for exhibit in picture.commands("hashkv"):
        for index, line in enumerate(exhibit.lines[:60]):
            if match := _HASH.search(line):
                known[match[1]] = Member(match[1], match[2], match[3] or "", exhibit.place(index))
    common = Counter(member.revision for member in known.values()).most_common(1)
    return [member for member in known.values() if member.revision == common[0][0]]


class Seen:
    """Conflicts without end, and what members hold."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.conflicts, self.modified = picture.hits(CONFLICT), picture.hits(MODIFIED)
        self.diverged = picture.hits(*DIVERGED)
        self.members = hashes(picture)
        self.nodes = list(dict.fromkeys(hit.value("node") for hit in self.conflicts))
        self.symptom = (*self.conflicts[:2], *self.modified[:1], *picture.hits(TERMINATING)[-1:])
        self.said = picture.said("etcd-member-restored")
        self.size = odd_size(picture)

    @cached_property
    def common(self) -> tuple[str, int]:
        """The hash that most members have, and how many do."""
        counted = Counter(member.hash for member in self.members).most_common(1)
        return counted[0] if counted else ("", 0)

    @cached_property
    def odd(self) -> list[Member]:
        """Who differs; all of them where no two agree."""
        hash_, times = self.common
        return [member for member in self.members if member.hash != hash_ or times == 1]

    @property
    def persistent(self) -> bool:
        """One node's conflict comes back; several nodes with one each are a roll-out."""
        return any(self._comes_back(node) for node in self.nodes)

    def _comes_back(self, node: str) -> bool:
        lines = {line.place: line.time for line in self.picture.of(LogLine) if line.time is not None}
        places = {hit.place for hit in self.conflicts if hit.value("node") == node}
        times = sorted(time for place in places if (time := lines.get(place)) is not None)
        lasting = len(times) > 1 and times[-1] - times[0] > PERSISTS_S
        return lasting or len(places) >= OFTEN

    @property
    def blamed(self) -> tuple[Culprit, ...]:
        return (_PROGRAM, *named("node", *self.nodes))


def hashes_differ(seen: Seen) -> Finding | None:
    if len({member.hash for member in seen.members}) < 2:
        return None
    suffers = bool(seen.conflicts or seen.modified or seen.diverged)
    blamed = culprits(
        named("address", *(member.endpoint for member in seen.odd)),
        named("address", *(member.host for member in seen.odd)),
        seen.blamed,
    )
    evidence = (*seen.members, *seen.diverged[:1], *seen.symptom)
    names = tuple(member.endpoint for member in seen.odd)
    if seen.common[1] > 1 or seen.members[0].revision:
        bad = seen.odd[0].host if len(seen.odd) == 1 else ""
        return found(PROVEN if suffers else STRONG, blamed, evidence, members=names, bad=bad)
    # No two agree: one may be wrong, or something was written between the questions.
    strength = LIKELY if suffers else POSSIBLE
    return found(strength, blamed, evidence, say="no-two-agree", members=names)


def says_so_itself(seen: Seen) -> Finding | None:
    return found(STRONG, seen.blamed, (*seen.diverged[:2], *seen.symptom)) if seen.diverged else None


def answers_otherwise(seen: Seen) -> Finding | None:
    alone = odd_reading(seen.picture)
    if not alone or not seen.conflicts:
        return None
    evidence = (alone, seen.size, *seen.said[:1], *seen.symptom)
    blamed = culprits(named("address", alone.address), seen.blamed)
    return found(PROVEN, blamed, evidence, address=alone.address, quote=alone.text[:80], bad=alone.address)


def same_hash(seen: Seen) -> Finding | None:
    return ruled_out(seen.members) if seen.members and seen.conflicts else None


def conflict_without_end(seen: Seen) -> Finding | None:
    again = seen.persistent
    if not seen.conflicts or not (again or seen.said):
        return None
    both = len(seen.modified) > 1 or bool(seen.said) or seen.size is not None
    bad = seen.size.address if seen.size else ""
    evidence = (seen.size, *seen.said[:1], *seen.symptom)
    blamed = culprits(named("address", bad), seen.blamed)
    over = agents_well(seen.picture)  # who still had it could not start
    strength = POSSIBLE if over else STRONG if again and both else LIKELY
    return found(strength, blamed, evidence, subject=seen.nodes[0])


def one_conflict(seen: Seen) -> Finding | None:
    return found(HINT, seen.blamed, seen.symptom) if seen.conflicts else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    """Nothing is taken away before it is known which member is bad and a good one is saved."""
    bad = finding.value("bad")
    urls = {host: member.url for host, member in members(picture).items()}
    urls |= {each.host: each.endpoint for each in hashes(picture)}
    good = next((url for host, url in urls.items() if host != bad), "") if bad else ""
    yield do("find", endpoints=",".join(urls.values()))
    if finding.rule == "one-conflict":
        return
    known = identity(picture, bad) if bad else None
    unit = any(unit.name.startswith("etcd") for unit in picture.of(Unit)) or picture.commands("-u etcd")
    yield do("save", good=good)
    yield do("remove", good=good, member=known.id if known else "", bad=bad)
    yield do("aside-unit" if unit else "aside-pod", bad=bad)
    yield do("add", good=good, name=known.name if known else "", bad=bad)
    yield do("existing")
    yield do("start-unit" if unit else "start-pod", bad=bad)


CAUSE = Cause(
    module=__name__,
    id="etcd-inconsistent",
    code="TRT2007",
    severity="critical",
    explains=("start-terminated", "crash-loop", "datastore-error", "controllers-failing", "node-not-ready"),
    signs=(CONFLICT, MODIFIED, *DIVERGED, TERMINATING),
    look=Seen,
    rules=(hashes_differ, says_so_itself, answers_otherwise, same_hash, conflict_without_end, one_conflict),
    fix=fix,
)
