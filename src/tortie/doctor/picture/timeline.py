"""When things happened, over all sources, each on its own clock; and one start against the window of its probe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, Literal

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Certificate, Clock, Condition, Container, Event, HostFile, LogLine, Probe
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.moments import MONTHS, clock_of, days, full, month_of
from tortie.doctor.reading.moments import Moment as Day
from tortie.health.window import ProbeWindow
from tortie.model.tuples import NamedTuple

_WORTH: Final = ("WARNING", "ERROR", "FATAL", "PANIC")
MOST: Final = 40
_PAUSE_S: Final = 600.0  # a longer silence is another run
_SOME_YEAR: Final = 2000  # in which readers put a moment that names none
_TIME_WITHIN: Final = 120  # characters
_DATE: Final = lazily(r"(?:19|20)\d\d[-/]\d\d[-/]\d\d[ T]\d\d:")
_DAY: Final = lazily(
    r"\b(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)(?: (?P<year>20\d\d)\b)?"
)
_CLOCK: Final = lazily(r"(?<![\d:.])\d\d:\d\d:\d\d(?:\.\d+)?(?![\d:])")


# What of a moment the evidence says: all of it, all but the year, or only the time of day.
Told = Literal["date", "day", "time"]


class Moment(NamedTuple):
    time: float
    clock: str  # whose: a host, or the source where no host is known
    text: str
    level: str
    place: Place
    decisive: bool = False  # the answer rests on it
    told: Told = "date"


class Start(NamedTuple):
    """One run of start-up: the first and last time its log shows, and how long the probe would wait."""

    began: float
    ended: float
    moments: tuple[Moment, ...]
    window: ProbeWindow | None
    probe: Probe | None

    @property
    def seconds(self) -> float:
        return self.ended - self.began


def timeline(picture: Picture, decisive: Iterable[Place] = (), most: int = MOST) -> list[Moment]:
    """Every decisive line that has a time; warnings and worse, the first and last line of every clock as they fit."""
    wanted = tuple(dict.fromkeys(decisive))
    year = _Year(picture)
    by_clock: dict[str, list[Moment]] = {}
    for line in picture.of(LogLine):
        when = year.of(line)
        if when is not None:
            clock = line.clock or line.host or line.place.source
            told: Told = "date" if year.known or line.time is not None else "day"
            by_clock.setdefault(clock, []).append(_moment(line, clock, when)._replace(told=told))
    moments: list[Moment] = []
    for ticked in by_clock.values():
        ticked.sort(key=lambda moment: moment.time)
        ends = {ticked[0].place, ticked[-1].place}
        for moment in ticked:
            if _among(moment.place, wanted):
                moments.append(moment._replace(decisive=True))
            elif moment.level in _WORTH or moment.place in ends:
                moments.append(moment)
    moments += _other_decisive(picture, [place for place in wanted if not _shown(place, moments)], year)
    # A mere time of day has no place among the others.
    return _thinned(sorted(moments, key=lambda moment: (moment.told == "time", moment.time)), most)


def _thinned(moments: list[Moment], most: int) -> list[Moment]:
    """What is decisive stays; of the rest as many as fit, evenly."""
    if len(moments) <= most:
        return moments
    others = [number for number, moment in enumerate(moments) if not moment.decisive]
    room = max(0, most - (len(moments) - len(others)))
    kept = {others[number * len(others) // room] for number in range(room)} if room < len(others) else set(others)
    return [moment for number, moment in enumerate(moments) if moment.decisive or number in kept]


def _among(place: Place, wanted: Iterable[Place]) -> bool:
    return any(
        place.source == other.source and place.first <= other.last and other.first <= place.last for other in wanted
    )


def _shown(place: Place, moments: Iterable[Moment]) -> bool:
    return any(moment.decisive and _among(moment.place, (place,)) for moment in moments)


def _other_decisive(picture: Picture, places: list[Place], year: _Year) -> Iterator[Moment]:
    """Decisive lines that are no log: files, containers, certificates and events know when, too; or the line does."""
    for place in places:
        facts = [*_dated(picture, place)]
        yield from facts[:1] or _written(picture, place, year)


def _dated(picture: Picture, place: Place) -> Iterator[Moment]:
    def told(when: float | None, whose: str, text: str, at: Place) -> Iterator[Moment]:
        if when is not None and _among(at, (place,)):
            yield Moment(when, whose or at.source, " ".join(text.split()), "", at, decisive=True)

    for file in picture.of(HostFile):
        yield from told(file.modified, file.host, f"{file.folder.rstrip('/')}/{file.name}", file.place)
    for box in picture.of(Container):
        last = f"{box.pod} {box.name} {box.last_state} {box.last_reason}"
        yield from told(box.last_finished, "", last, box.place)
        yield from told(box.started, "", f"{box.pod} {box.name} {box.state} {box.reason}", box.place)
    for condition in picture.of(Condition):
        text = f"{condition.owner} {condition.kind}={condition.status} {condition.reason}"
        yield from told(condition.transition, condition.owner, text, condition.place)
    for paper in picture.of(Certificate):
        yield from told(paper.not_after, "", f"{paper.subject or paper.endpoint} notAfter", paper.place)
    for clock in picture.of(Clock):
        yield from told(clock.time, clock.host, "date", clock.place)
    now = max((clock.time for clock in picture.of(Clock) if clock.time is not None), default=None)
    for event in picture.of(Event) if now is not None else ():
        if now is not None and event.age_s is not None:
            yield from told(now - event.age_s, event.host, f"{event.reason} {event.message}", event.place)


def _written(picture: Picture, place: Place, year: _Year) -> Iterator[Moment]:
    """The first time that stands in the lines themselves."""
    for exhibit in picture.exhibits:
        if exhibit.source != place.source:
            continue
        for index, line in enumerate(exhibit.lines):
            if place.first <= exhibit.number(index) <= place.last and (found := _time_in(line[:_TIME_WITHIN], year)):
                when, told = found
                clock = exhibit.host or place.source
                yield Moment(when, clock, " ".join(line.split()), "", place, decisive=True, told=told)
                return


def _time_in(text: str, year: _Year) -> tuple[float, Told] | None:
    match = _DATE.search(text)
    found = full(text, match.start()) if match else None
    if found and (when := found[0].epoch()) is not None:
        return when, "date"
    match = _DAY.search(text)
    if match and match["month"] in MONTHS:
        hour, minute, second = clock_of(match["clock"])
        named = int(match["year"] or 0)
        moment = Day(named, month_of(match["month"]), int(match["day"]), hour, minute, second)
        when = moment.epoch(_SOME_YEAR)
        if when is not None:
            return (when, "date") if named else (year.near(when), "date" if year.known else "day")
    match = _CLOCK.search(text)
    if match:
        hour, minute, second = clock_of(match.group())
        return hour * 3600 + minute * 60 + second, "time"
    return None


class _Year:
    """Of times that name none (klog, the journal): the one that brings them nearest to what is dated."""

    def __init__(self, picture: Picture) -> None:
        facts: tuple[LogLine | Clock, ...] = (*picture.of(LogLine), *picture.of(Clock))
        self._latest = max((fact.time for fact in facts if fact.time is not None), default=None)
        self.known = self._latest is not None

    def of(self, line: LogLine) -> float | None:
        if line.time is not None or line.of_some_year is None:
            return line.time
        return self.near(line.of_some_year)

    def near(self, of_some_year: float) -> float:
        latest = self._latest
        if latest is None:
            return of_some_year
        year = datetime.fromtimestamp(latest, UTC).year
        told = datetime.fromtimestamp(of_some_year, UTC)
        second = of_some_year % 86400
        near = [days(one, told.month, told.day) * 86400 + second for one in (year - 1, year, year + 1)]
        return min(near, key=lambda when: abs(when - latest))


def start(picture: Picture) -> Start | None:
    """The last run of start-up that the evidence shows."""
    lines = [line for line in picture.of(LogLine) if line.program == "startup" and line.time is not None]
    if not lines:
        return None
    lines.sort(key=lambda line: line.time or 0.0)
    run = [lines[-1]]
    for line in reversed(lines[:-1]):
        if (run[-1].time or 0.0) - (line.time or 0.0) > _PAUSE_S:
            break
        run.append(line)
    run.reverse()
    probe = picture.probe("liveness")
    window = ProbeWindow(probe.initial_delay_s, probe.period_s, probe.failure) if probe else None
    moments = tuple(_moment(line, line.clock, line.time or 0.0) for line in run)
    return Start(moments[0].time, moments[-1].time, moments, window, probe)


def _moment(line: LogLine, clock: str, when: float) -> Moment:
    return Moment(when, clock, line.message, line.level, line.place)
