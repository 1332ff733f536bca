"""Asks containers how they are, all of them beside each other: over HTTP from here, or with a command in them."""

from __future__ import annotations

import selectors
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from tortie.lab.kubelet.answers import enforces_exec_timeout, exec_answer, exec_timed_out
from tortie.lab.kubelet.http_probe import HttpProbe
from tortie.lab.kubelet.probes import Answer, Exec, HttpGet, Probe
from tortie.lab.kubelet.runtime_client import DEADLINE, Asking, RuntimeFailure

_RUNTIME_S: Final = 120.0  # what kubelet grants the runtime beside the command's own time
_NEVER_S: Final = 86400.0


class Key(NamedTuple):
    """Which worker's question it is."""

    uid: str
    container: str
    kind: str


class _Question(NamedTuple):
    probe: Probe
    way: HttpProbe | Asking


class Prober:
    def __init__(self, selector: selectors.BaseSelector, runtime: str, address: str, minor: int, hurry: int) -> None:
        """`runtime`: its socket; `address`: of pods whose probes name no host."""
        self._selector = selector
        self._runtime = runtime
        self._address = address
        self._minor = minor
        self._longer_s = _RUNTIME_S / hurry
        self._open: dict[Key, _Question] = {}
        self._early: list[tuple[Key, Answer]] = []  # those that needed no waiting

    def asks(self, key: Key) -> bool:
        return key in self._open

    def ask(self, key: Key, probe: Probe, container_id: str, environment: Mapping[str, str]) -> None:
        """`container_id`: as the runtime knows it."""
        if isinstance(probe.handler, HttpGet):
            get = probe.handler if probe.handler.host else probe.handler._replace(host=self._address)
            way: HttpProbe | Asking = HttpProbe(get, probe.timeout_s, self._minor)
            if isinstance(way, HttpProbe) and way.result:
                way.close()
                self._early.append((key, way.result))
                return
        else:
            timeout_s = probe.timeout_s if enforces_exec_timeout(self._minor) else _NEVER_S
            try:
                way = Asking(
                    self._runtime,
                    "exec",
                    timeout_s + self._longer_s,
                    id=container_id,
                    words=list(probe.handler.command),
                    environment=dict(environment),
                    timeout_s=timeout_s,
                )
            except RuntimeFailure as failure:
                self._early.append((key, Answer("error", str(failure))))
                return
        self._open[key] = _Question(probe, way)
        events = selectors.EVENT_WRITE if isinstance(way, HttpProbe) else selectors.EVENT_READ
        self._selector.register(way, events, way)

    def step(self) -> list[tuple[Key, Answer]]:
        """Answers that have come, and questions whose time is over."""
        found, self._early = self._early, []
        for key, question in list(self._open.items()):
            answer = _looked_at(question, self._minor, self._selector)
            if answer is not None:
                self.drop(key)
                found.append((key, answer))
        return found

    def deadline(self) -> float | None:
        return min((question.way.deadline for question in self._open.values()), default=None)

    def drop(self, key: Key) -> None:
        """Nobody wants to know any more."""
        if question := self._open.pop(key, None):
            with suppress(KeyError, ValueError):
                self._selector.unregister(question.way)
            question.way.close()


def _looked_at(question: _Question, minor: int, selector: selectors.BaseSelector) -> Answer | None:
    way = question.way
    if isinstance(way, HttpProbe):
        answer = way.step()
        if answer is None and not way.wants_to_write:
            selector.modify(way, selectors.EVENT_READ, way)
        return answer
    assert isinstance(question.probe.handler, Exec)
    descriptor = way.fileno()
    try:
        done = way.answer()
    except RuntimeFailure as failure:
        _forget(selector, descriptor)
        if failure.code == DEADLINE and time.monotonic() < way.deadline:
            return exec_timed_out(question.probe.handler.command, question.probe.timeout_s, minor)
        return Answer("error", str(failure))
    if done is None:
        return None
    _forget(selector, descriptor)
    return exec_answer(int(done["code"]), str(done["output"]).encode())


def _forget(selector: selectors.BaseSelector, descriptor: int) -> None:
    with suppress(KeyError, ValueError):
        selector.unregister(descriptor)
