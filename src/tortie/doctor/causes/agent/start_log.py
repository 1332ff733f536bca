"""Start-up logs of calico-node: from which line to which they go, and whether they advance, fail or finish."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

from tortie.doctor.causes.shared import STARTED, TERMINATING
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple

BEGINS: Final = "Early log level"
AFTER_START: Final = ("felix", "confd", "bird", "bird6")  # run only when the start is over
OUTSIDE: Final = ("kubelet", "dockerd", "containerd", "kernel", "systemd", "etcd", "kube-proxy")
OTHER_PARTS: Final = (*OUTSIDE, "typha", "cni", "cni-installer", "kube-controllers")
SAME_START_S: Final = 300.0  # lines further apart belong to different starts
# A start that waits for something does not make progress; "Key not found error" and the like are normal.
_STALLED: Final = lazily(r"Hit error connecting|Unable to verify|Failed to |retry|Unable to (?:set|access|get|create)")


class StartLog(NamedTuple):
    """The lines of one start-up, from its first to its last."""

    first: LogLine
    last: LogLine
    lines: int
    longest_gap_s: float
    failed: bool  # it said why it ends, or what it waits for in vain
    finished: bool  # "Calico node started successfully", or Felix already writes

    @property
    def seconds(self) -> float:
        return _time(self.last) - _time(self.first)


@lru_cache(maxsize=1)  # several causes ask, and a bundle has many lines
def start_logs(picture: Picture) -> tuple[StartLog, ...]:
    """Every start-up whose lines carry times. Time tells the order, since exhibits may come in any."""
    owners: dict[tuple[str, str, str], list[LogLine]] = {}
    for line in picture.of(LogLine):
        if line.time is not None and line.program not in OTHER_PARTS:
            owners.setdefault((line.place.source, line.host, line.pod), []).append(line)
    return tuple(log for lines in owners.values() for log in _starts(picture, sorted(lines, key=_time)))


def _starts(picture: Picture, lines: list[LogLine]) -> Iterable[StartLog]:
    groups: list[list[LogLine]] = []
    finished: set[int] = set()
    for line in lines:
        near = bool(groups) and _time(line) - _time(groups[-1][-1]) <= SAME_START_S
        if line.program in AFTER_START:
            if near:
                finished.add(len(groups) - 1)
        elif near and BEGINS not in line.message:
            groups[-1].append(line)
        else:
            groups.append([line])
    return [_start_log(picture, group, i in finished) for i, group in enumerate(groups) if _is_start(group)]


def _is_start(group: list[LogLine]) -> bool:
    return any(
        line.program == "startup"
        or any(word in line.message for word in (BEGINS, "Get Key: /calico/", "check for conflicts"))
        for line in group
    )


def _start_log(picture: Picture, group: list[LogLine], followed: bool) -> StartLog:
    gaps = [_time(after) - _time(before) for before, after in pairwise(group)]
    failed = any(_is_failure(line) for line in group) or _near(group, (hit.place for hit in terminations(picture)))
    finished = followed or _near(group, (hit.place for hit in picture.hits(STARTED)))
    return StartLog(group[0], group[-1], len(group), max(gaps, default=0.0), failed, finished)


def _near(group: list[LogLine], places: Iterable[Place]) -> bool:
    """Whether one of the places is among these lines or right below them."""
    rows = {(line.place.source, line.place.last + below) for line in group for below in range(4)}
    return any((place.source, place.first) in rows for place in places)


def _is_failure(line: LogLine) -> bool:
    return line.level in ("ERROR", "FATAL", "PANIC") or bool(_STALLED.search(line.message))


def _time(line: LogLine) -> float:
    return line.time or 0.0


def fatal_lines(picture: Picture) -> list[LogLine]:
    """Where a part of the agent says why it cannot go on, or what it waits for in vain."""
    lines = [line for line in picture.of(LogLine) if line.level in ("FATAL", "PANIC") and line.program not in OUTSIDE]
    return [*lines, *(log.last for log in start_logs(picture) if log.failed)]


def terminations(picture: Picture) -> list[Hit]:
    """Where calico-node itself says that it gives up; the word in prose or as a pod's status is something else."""
    return [
        hit
        for hit in picture.hits(TERMINATING)
        if not hit.prose
        and hit.line.rstrip().rstrip('"').endswith("Terminating")
        and (hit.line.strip() == "Terminating" or "[" in hit.line or "level=" in hit.line)
    ]
