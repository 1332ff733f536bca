"""Who held which address when: histories that processes write while they allocate, and what can be proved from them.

A process notes that it begins something, before it does, and how it ended, as soon as it knows. So an address is
certainly held from the answer to an assignment until its release begins; around that it may be. Times are those of
the machine's monotonic clock, which all processes share. A process that is killed leaves beginnings without an end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

Deed = Literal["assign", "release"]
Stage = Literal["begins", "done", "refused", "unknown"]


class Event(NamedTuple):
    """`refused`: it certainly did not happen; `unknown`: it may have."""

    at_ns: int
    stage: Stage
    deed: Deed
    handle: str
    addresses: tuple[str, ...] = ()  # of an assignment that is done

    def line(self) -> str:
        return " ".join((str(self.at_ns), self.stage, self.deed, self.handle, *self.addresses)) + "\n"


class Journal:
    """One process's history. Every line is one write to the kernel, which no kill takes back."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def note(self, stage: Stage, deed: Deed, handle: str, addresses: Sequence[str] = ()) -> None:
        os.write(self._file, Event(time.monotonic_ns(), stage, deed, handle, tuple(addresses)).line().encode())

    def close(self) -> None:
        os.close(self._file)


def read_history(path: Path) -> list[Event]:
    """Without a last line that has no end."""
    if not path.exists():
        return []
    whole, _, _ = path.read_text().rpartition("\n")
    return [_event(line) for line in whole.splitlines()]


def _event(line: str) -> Event:
    at_ns, stage, deed, handle, *addresses = line.split(" ")
    if stage not in get_args(Stage) or deed not in get_args(Deed):
        raise ValueError(f"no line of a history: {line!r}")
    return Event(int(at_ns), cast(Stage, stage), cast(Deed, deed), handle, tuple(addresses))


class Hold(NamedTuple):
    """An address that was certainly held, from the answer until the release began; for ever, if none did."""

    address: str
    handle: str
    since_ns: int
    until_ns: int | None

    def overlaps(self, later: Hold) -> bool:
        """Of two, given in the order of their beginnings."""
        return self.until_ns is None or later.since_ns < self.until_ns


class Account(NamedTuple):
    """What a history proves."""

    holds: tuple[Hold, ...]
    assigned: int  # addresses, all in all
    live: dict[str, str]  # address -> handle: certainly held at the end
    doubtful: frozenset[str]  # handles that may hold something at the end
    faults: tuple[str, ...]


def judge(events: Iterable[Event]) -> Account:
    """Of all processes together, in any order. Each handle belongs to one of them, which does one thing at a time."""
    lives: dict[str, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.at_ns):  # one process's own order stays
        lives.setdefault(event.handle, []).append(event)
    holds: list[Hold] = []
    faults: list[str] = []
    doubtful: set[str] = set()
    for handle, life in lives.items():
        told = _Life(handle)
        for event in life:
            faults += told.tell(event)
        holds += told.over
        holds += [Hold(address, handle, since, None) for address, since in told.held.items()]
        if told.in_doubt:
            doubtful.add(handle)
    faults += _held_twice(holds)
    live = {hold.address: hold.handle for hold in holds if hold.until_ns is None}
    return Account(tuple(holds), len(holds), live, frozenset(doubtful), tuple(faults))


class _Life:
    """One handle's story so far."""

    def __init__(self, handle: str) -> None:
        self.handle = handle
        self.held: dict[str, int] = {}  # since when
        self.over: list[Hold] = []
        self.in_doubt = False
        self._was_in_doubt = False  # before what goes on now

    def tell(self, event: Event) -> Iterator[str]:
        """Yields what cannot be."""
        match event.deed, event.stage:
            case "release", "begins":
                self.over += [Hold(address, self.handle, since, event.at_ns) for address, since in self.held.items()]
                self.held.clear()
                self.in_doubt = True
            case "release", "done":
                self.in_doubt = False
            case "assign", "begins":
                self._was_in_doubt = self.in_doubt
                self.in_doubt = self.in_doubt or not self.held
            case "assign", "refused":
                self.in_doubt = self._was_in_doubt
            case "assign", "done":
                self.in_doubt = False
                if not event.addresses:
                    yield f"{self.handle} was given nothing, and that was called done"
                if self.held and set(event.addresses) != set(self.held):
                    had = ", ".join(self.held)
                    yield f"{self.handle} had {had} and was given {', '.join(event.addresses)} instead"
                for address in event.addresses:
                    self.held.setdefault(address, event.at_ns)
            case _:
                pass  # as doubtful as it was when it began


def _held_twice(holds: Sequence[Hold]) -> Iterator[str]:
    """Of any two that overlap, neighbours in the order of beginnings are enough once the longest so far is kept."""
    longest: dict[str, Hold] = {}
    for hold in sorted(holds, key=lambda hold: hold.since_ns):
        before = longest.get(hold.address)
        if before and before.overlaps(hold):
            yield (
                f"{hold.address} was held twice: by {before.handle} from {before.since_ns} to {before.until_ns}, "
                f"and by {hold.handle} from {hold.since_ns}"
            )
        if before is None or _ends_later(hold, before):
            longest[hold.address] = hold


def _ends_later(one: Hold, other: Hold) -> bool:
    return other.until_ns is not None and (one.until_ns is None or one.until_ns > other.until_ns)
