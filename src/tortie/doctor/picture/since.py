"""What is wrong now, told from what was wrong before: evidence may say since when it counts.

A lab that was broken and healed notes the moment at which all was proven to be as before, in a file that evidence of it
shows. What logs and events said earlier is about troubles that are over, whatever is wrong now.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from tortie.doctor.picture.facts import Clock, Event, LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.words import Words

_SHOWN: Final = "/healed"  # the end of the command that shows it: `cat /run/tortie/labs/demo/healed`
_SOME_YEAR: Final = 2000  # in which readers put a moment that names none
_HALF_A_YEAR_S: Final = 183 * 86400.0

Line = tuple[str, int]


def only_what_counts(picture: Picture) -> Picture:
    """The same picture without what was said before all was well; state, which is as it was found, stays."""
    for exhibit in picture.exhibits:
        if exhibit.lines and _SHOWN in exhibit.command and _shows_note(exhibit.command):
            with suppress(ValueError):
                return _since(picture, exhibit, datetime.fromisoformat(exhibit.lines[0].strip()))
    return picture


def _shows_note(command: str) -> bool:
    import shlex  # only where a lab was healed

    with suppress(ValueError):
        match shlex.split(command):
            case ["cat", path]:
                return path.startswith("/") and path.endswith(_SHOWN)
    return False


def _since(picture: Picture, note: Exhibit, moment: datetime) -> Picture:
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    noted = {*_lines(note.place(0, len(note.lines)))}
    old = {*_old_lines(picture, since), *_old_events(picture, since)} - noted
    left = Picture(picture.exhibits)
    left.inputs = picture.inputs
    left.add(fact for fact in picture.facts() if not _stands_on(fact.place, old | noted))
    left.add_hits(hit for hit in picture.all_hits() if not _stands_on(hit.place, old | noted))
    left.left_out = {source: set(lines) for source, lines in picture.left_out.items()}
    for source, number in old | noted:
        left.left_out.setdefault(source, set()).add(number)
    left.skipped = (*picture.skipped, Skipped(note.source, _why(since))) if old else picture.skipped
    return left


def _why(moment: float) -> Words:
    told = f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Words(
        f"what logs and events said before {told}, when all was well again",
        f"{told} 之前的日志和事件：到该时刻一切已恢复正常",
    )


def _old_lines(picture: Picture, moment: float) -> Iterator[Line]:
    """A line without a time is as old as the one before it in the same answer; without such, as the next one."""
    for lines in _by_exhibit(picture):
        ages = [_is_old(line, moment) for line in lines]
        is_old = next((age for age in ages if age is not None), False)
        for line, age in zip(lines, ages, strict=True):
            is_old = is_old if age is None else age
            if is_old:
                yield from _lines(line.place)


def _by_exhibit(picture: Picture) -> Iterator[list[LogLine]]:
    starts: dict[str, list[int]] = {}
    for exhibit in picture.exhibits:
        if exhibit.lines:
            starts.setdefault(exhibit.source, []).append(exhibit.number(0))
    for numbers in starts.values():
        numbers.sort()

    def exhibit_of(line: LogLine) -> tuple[str, int]:
        return line.place.source, bisect_right(starts.get(line.place.source, []), line.place.first)

    for _, lines in groupby(picture.of(LogLine), exhibit_of):
        yield list(lines)


def _is_old(line: LogLine, moment: float) -> bool | None:
    if line.time is not None:
        return line.time < moment
    return _is_before(line.of_some_year, moment) if line.of_some_year is not None else None


def _is_before(then: float, moment: float) -> bool:
    """Of a time that names no year: the one that is nearest to the moment is meant."""
    of_some_year = datetime.fromtimestamp(moment, UTC).replace(year=_SOME_YEAR).timestamp()
    ahead_s = then - of_some_year
    return -_HALF_A_YEAR_S < ahead_s < 0 or ahead_s > _HALF_A_YEAR_S


def _old_events(picture: Picture, moment: float) -> Iterator[Line]:
    """Their ages count from when they were shown, which clocks in the same evidence tell."""
    now = max((clock.time for clock in picture.of(Clock) if clock.time is not None), default=None)
    for event in picture.of(Event):
        aged = now - event.age_s if now is not None and event.age_s is not None else None
        seen = event.time if event.time is not None else aged
        if seen is not None and seen < moment:
            yield from _lines(event.place)


def _lines(place: Place) -> Iterator[Line]:
    return ((place.source, number) for number in range(place.first, place.last + 1))


def _stands_on(place: Place, lines: set[Line]) -> bool:
    return all(line in lines for line in _lines(place))
