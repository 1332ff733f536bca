"""Who of several instances leads: a lease in the store, judged by what each sees with its own clock. Pure.

Nobody believes another machine's clock. A follower notes when it first saw the lease at its present revision, and takes
over only when that has not changed for as long as the holder itself promised to renew within. A holder counts from
before it sent the write that succeeded, and only for two thirds of that time.

What that guarantees: every write of the lease is a compare-and-set, so at most one instance holds each revision. A
holder's term, [sent, sent + 2/3 d), lies before sent + 2/3 d; a follower saw that write at or after `sent` and begins
its own at seen + d or later. So terms never overlap in real time as long as no clock is more than a third faster or
slower than another. What it cannot guarantee: that a process which was stopped between asking whether it leads and its
next write notices. That is why every write of a clean-up carries guards of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tortie.model.wire import Undecodable, decode, encode
from tortie.store.contract import ABSENT, Absent, Entry, Revision

KEY: Final = "/tortie/v1/leases/controllers"
DURATION_S: Final = 15.0
_LONGEST_S: Final = 300.0  # whatever a record says, nobody is waited for longer

_VALID: Final = 2 / 3  # of the duration: so long a holder believes itself after its last renewal
_RENEW: Final = 1 / 5  # of the duration: so often it renews
_LOOK: Final = 1 / 5  # so often a follower looks, even if nobody tells it that something has changed


class Record(NamedTuple):
    """What stands in the store. The times are for people, by the holder's own clock, and decide nothing."""

    holder: str
    duration_s: float = DURATION_S
    since: str = ""
    renewed: str = ""
    doing: Mapping[str, Any] = {}  # for people, too: what it last did

    def encoded(self) -> bytes:
        known = {"holder": self.holder, "leaseDurationSeconds": self.duration_s}
        return encode({**known, "since": self.since, "renewed": self.renewed, **self.doing})


def read_record(entry: Entry | None) -> Record | None:
    """None if nobody holds it. Of what cannot be read it is not known who holds it, only that somebody wrote it."""
    if entry is None:
        return None
    try:
        document = decode(entry.value, entry.key)
    except Undecodable:
        return Record("")
    duration = document.pop("leaseDurationSeconds", None)
    holder, since, renewed = (str(document.pop(name, "")) for name in ("holder", "since", "renewed"))
    return Record(holder, _sane(duration), since, renewed, document)


def _sane(duration: Any) -> float:
    usable = isinstance(duration, int | float) and not isinstance(duration, bool) and duration > 0
    return min(float(duration), _LONGEST_S) if usable else DURATION_S


class Seen(NamedTuple):
    """What stood there when this instance last looked, and since when it has known just that."""

    record: Record | None
    revision: Revision | None
    since: float


class Attempt(NamedTuple):
    """A write that would make this instance the holder, or keep it that."""

    record: Record
    expecting: Revision | Absent
    renews: bool


class Candidate(NamedTuple):
    """One instance, as far as the lease is concerned. `now` is always its own clock, in seconds."""

    me: str
    duration_s: float = DURATION_S
    seen: Seen | None = None
    sent: float = -math.inf  # when the last write that succeeded was sent
    began: str = ""
    doing: Mapping[str, Any] = {}

    def observed(self, now: float, entry: Entry | None) -> Candidate:
        """The lease was read, or somebody told of a change."""
        revision = entry.revision if entry else None
        if self.seen is not None and self.seen.revision == revision:
            return self
        seen = Seen(read_record(entry), revision, now)
        mine = seen.record is not None and seen.record.holder == self.me
        # A write of ours whose answer was lost shows up here. It counts from when it is renewed, not from now.
        return self._replace(seen=seen, sent=self.sent if mine else -math.inf)

    def attempt(self, now: float, when: str) -> Attempt | None:
        """What to write now, if anything. `when` is the time for people."""
        if self.seen is None:
            return None
        held, revision = self.seen.record, self.seen.revision
        if held is None or revision is None:
            return Attempt(self._record(when, when), ABSENT, renews=False)
        if held.holder == self.me:
            if now < self.sent + self.duration_s * _RENEW:
                return None
            return Attempt(self._record(self.began or when, when), revision, renews=self.leads(now))
        if now < self.seen.since + held.duration_s:
            return None
        return Attempt(self._record(when, when), revision, renews=False)

    def _record(self, since: str, when: str) -> Record:
        return Record(self.me, self.duration_s, since, when, self.doing)

    def wrote(self, sent: float, attempt: Attempt, revision: Revision) -> Candidate:
        """The attempt succeeded; `sent` is when it was begun."""
        seen = Seen(attempt.record, revision, sent)
        return self._replace(seen=seen, sent=sent, began=attempt.record.since)

    def leads(self, now: float) -> bool:
        return now < self.valid_until

    @property
    def valid_until(self) -> float:
        """By this instance's own clock; in the past for all time if it does not hold the lease."""
        mine = self.seen is not None and self.seen.record is not None and self.seen.record.holder == self.me
        return self.sent + self.duration_s * _VALID if mine else -math.inf

    def look_again_s(self, now: float) -> float:
        """How long nothing has to be done, unless somebody tells of a change."""
        look = self.duration_s * _LOOK
        if self.seen is None or self.seen.record is None:
            return look / 4  # somebody else was faster, or the store does not answer
        if self.seen.record.holder == self.me:
            due = self.sent + self.duration_s * _RENEW - now
            return min(max(due, 0.05), look)
        return min(max(self.seen.since + self.seen.record.duration_s - now, 0.05), look)

    @property
    def holder(self) -> str:
        """For people: who holds it, as last seen."""
        return self.seen.record.holder if self.seen and self.seen.record else ""
