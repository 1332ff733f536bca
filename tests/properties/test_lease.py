"""Several instances, a store, clocks that run at different speeds, pauses and lost answers, in any order.

Held for every schedule: in real time no two terms overlap, a term being the time in which an instance, asked by its own
clock, says that it leads. The clocks differ in where they begin and by up to a fifth in speed, which is far more than
real ones do, and less than the third that the lease allows for. And when nobody is disturbed any more, somebody leads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tortie.controllers.lease import KEY, Candidate
from tortie.store.contract import Absent, Entry

NAMES = "abc"
DURATION_S = 15.0


@dataclass
class Instance:
    candidate: Candidate
    offset: float
    speed: float

    def clock(self, now: float) -> float:
        return self.offset + now * self.speed

    def real_end(self) -> float:
        return (self.candidate.valid_until - self.offset) / self.speed


@dataclass
class Play:
    instances: dict[str, Instance]
    now: float = 0.0
    lease: Entry | None = None
    revision: int = 0
    crashes: int = 0
    terms: list[tuple[float, float, str]] = field(default_factory=list)

    def turn(self, name: str, read_s: float, write_s: float, *, lost: bool) -> None:
        """One look and what follows. The answer to the reading may come late, that to the writing later or never."""
        instance = self.instances[name]
        seen = self.lease
        self.now += read_s
        instance.candidate = instance.candidate.observed(instance.clock(self.now), seen)
        if instance.candidate.leads(instance.clock(self.now)):
            self.terms.append((self.now, instance.real_end(), name))
        attempt = instance.candidate.attempt(instance.clock(self.now), "")
        if attempt is None:
            return
        sent = instance.clock(self.now)
        self.now += write_s / 2
        absent = isinstance(attempt.expecting, Absent)
        if (self.lease is None) if absent else (self.lease is not None and self.lease.revision == attempt.expecting):
            self.revision += 1
            self.lease = Entry(KEY, attempt.record.encoded(), self.revision)
            self.now += write_s / 2
            if not lost:
                instance.candidate = instance.candidate.wrote(sent, attempt, self.revision)
                self.terms.append((self.now, instance.real_end(), name))

    def leave(self, name: str) -> None:
        """It gives back what it holds, and comes back as somebody else would."""
        candidate = self.instances[name].candidate
        seen = candidate.seen
        mine = seen is not None and seen.record is not None and seen.record.holder == candidate.me
        if mine and seen and self.lease and seen.revision == self.lease.revision:
            self.lease = None
            self.revision += 1
        self._end(name)
        self.instances[name].candidate = Candidate(candidate.me, DURATION_S)

    def crash(self, name: str) -> None:
        """Its successor has another name, and knows nothing."""
        self._end(name)
        self.crashes += 1
        self.instances[name].candidate = Candidate(f"{name}{self.crashes}", DURATION_S)

    def _end(self, name: str) -> None:
        self.terms = [(begun, min(end, self.now) if who == name else end, who) for begun, end, who in self.terms]

    def check(self) -> None:
        """A term that was renewed goes on; one of another instance begins only after it has ended."""
        for begun, end, who in self.terms:
            for other_begun, other_end, other in self.terms:
                if who != other:
                    assert min(end, other_end) <= max(begun, other_begun), (
                        who,
                        begun,
                        end,
                        other,
                        other_begun,
                        other_end,
                    )


# Around the bounds of a lease of 15 s, where it matters.
WAITS = st.sampled_from([0.0, 0.1, 1.0, 3.0, 8.0, 9.0, 14.0, 15.0, 16.0, 40.0])
DELAYS = st.sampled_from([0.0] * 20 + [0.01, 1.0, 6.0, 12.0])
DOING = st.sampled_from(["turn"] * 10 + ["leave", "crash"])
STEPS = st.tuples(DOING, st.sampled_from(NAMES), WAITS, DELAYS, DELAYS, st.sampled_from([False] * 4 + [True]))
CLOCKS = st.fixed_dictionaries({name: st.tuples(st.floats(0, 1e6), st.floats(0.9, 1.1)) for name in NAMES})


@settings(max_examples=200)
@given(CLOCKS, st.lists(STEPS, min_size=10, max_size=40))
def test_no_two_terms_overlap_and_somebody_leads_in_the_end(
    clocks: dict[str, tuple[float, float]], steps: list[tuple[str, str, float, float, float, bool]]
) -> None:
    play = Play({name: Instance(Candidate(name, DURATION_S), *clocks[name]) for name in NAMES})
    for doing, name, wait, read_s, write_s, lost in steps:
        play.now += wait
        if doing == "turn":
            play.turn(name, read_s, write_s, lost=lost)
        elif doing == "leave":
            play.leave(name)
        else:
            play.crash(name)
    play.check()
    for _ in range(20):  # quiet: everybody looks as often as it should, and is answered at once
        play.now += 3.0
        for name in NAMES:
            play.turn(name, 0.01, 0.01, lost=False)
    play.check()
    leading = [each for each in play.instances.values() if each.candidate.leads(each.clock(play.now))]
    assert len(leading) == 1
