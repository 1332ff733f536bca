"""Keeps the record of this start up to date while it goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

from tortie import __version__
from tortie.health.health import Health
from tortie.health.state import RUNNING as STARTED
from tortie.model.errors import TortieError
from tortie.node.timeline import RUNNING, PhaseRecord, StartRecord, Timeline


class Recorder:
    """A record that cannot be written is said once, and keeps nobody from starting."""

    def __init__(
        self,
        timeline: Timeline,
        health: Health,
        complain: Callable[[str], None],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.node = ""
        self._timeline = timeline
        self._health = health
        self._complain = complain
        age_s = health.report().start_age_s
        self._began = datetime.fromtimestamp(now() - age_s, UTC).isoformat(timespec="milliseconds")
        self._finished = False
        self._complained = False

    def open(self, warn: Callable[[str], None]) -> None:
        """Reads what earlier starts left, and says so when the last one ended without a word."""
        unfinished = self._timeline.open()
        if unfinished:
            phase = unfinished.phases[-1].name if unfinished.phases else "launch"
            warn(
                f"The last start (pid {unfinished.pid}, {unfinished.began}) did not end by itself: it was killed, "
                f"or the machine went down, in phase {phase}, last seen after {unfinished.seconds:.1f} s"
            )

    def update(self) -> None:
        if not self._finished:
            self._write(RUNNING)

    def finish(self, outcome: str) -> None:
        if not self._finished:
            self._write(outcome)
            self._finished = True

    def _write(self, outcome: str) -> None:
        try:
            self._timeline.write(self._record(outcome))
        except TortieError as error:
            if not self._complained:
                self._complained = True
                self._complain(f"The record of this start cannot be written: {error}. {error.fix}")

    def _record(self, outcome: str) -> StartRecord:
        report = self._health.report()
        phases = {phase.name: PhaseRecord(*phase) for phase in report.phases}
        if report.phase != STARTED:
            before = phases.get(report.phase, PhaseRecord(report.phase, 0.0, 0))
            phases[report.phase] = before._replace(
                seconds=before.seconds + report.phase_age_s, round_trips=before.round_trips + report.round_trips
            )
        if report.last and report.last.phase in phases:
            phases[report.last.phase] = phases[report.last.phase]._replace(trouble=report.last.trouble.what)
        took_s = report.start_age_s if report.start_took_s is None else report.start_took_s
        return StartRecord(self.node, os.getpid(), self._began, outcome, took_s, tuple(phases.values()), __version__)
