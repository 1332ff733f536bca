"""When things happened, over all sources, each on its own clock; and one start against the window of its probe."""

from __future__ import annotations

from typing import NamedTuple

from tortie.doctor.picture.facts import LogLine, Probe
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.health.window import ProbeWindow

_WORTH = ("WARNING", "ERROR", "FATAL", "PANIC")
_MOST = 60
_PAUSE_S = 600.0  # a longer silence is another run


class Moment(NamedTuple):
    time: float
    clock: str  # whose: a host, or the source where no host is known
    text: str
    level: str
    place: Place


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


def timeline(picture: Picture) -> list[Moment]:
    """Warnings and worse, and the first and last line of every clock; at most a screenful."""
    lines = [line for line in picture.of(LogLine) if line.time is not None]
    by_clock: dict[str, list[LogLine]] = {}
    for line in lines:
        by_clock.setdefault(line.clock or line.host or line.place.source, []).append(line)
    moments: list[Moment] = []
    for clock, ticked in by_clock.items():
        ticked.sort(key=lambda line: line.time or 0.0)
        ends = {ticked[0].place, ticked[-1].place}
        moments += [_moment(line, clock) for line in ticked if line.level in _WORTH or line.place in ends]
    moments.sort(key=lambda moment: moment.time)
    if len(moments) > _MOST:
        step = len(moments) / _MOST
        moments = [moments[int(number * step)] for number in range(_MOST)]
    return moments


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
    moments = tuple(_moment(line, line.clock) for line in run)
    return Start(moments[0].time, moments[-1].time, moments, window, probe)


def _moment(line: LogLine, clock: str) -> Moment:
    return Moment(line.time or 0.0, clock, line.message[:160], line.level, line.place)
