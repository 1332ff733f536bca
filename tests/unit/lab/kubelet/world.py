"""A machine with a clock of its own, on which one pod lives: a runtime in memory, and the pure core around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tortie.lab.kubelet.lifecycle import Attempt, Kill, Memory, Rules, Start, Sync, sync, target
from tortie.lab.kubelet.probes import Answer, Worker, answered, new_worker, probes_of, turn

GOOD, BAD = Answer("success"), Answer("failure", "no")


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"tortie/{name}:1", **more}


def pod(*mains: dict[str, Any], inits: tuple[str, ...] = (), **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "calico-node-x7k2p", "namespace": "kube-system", "uid": "abc"},
        "spec": {
            "containers": list(mains) or [container("main")],
            "initContainers": [container(name) for name in inits],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
        "status": {"hostIP": "10.0.0.1"},
    }


class Fate(NamedTuple):
    """How an attempt ends by itself, and with what it ends when it is told to."""

    after_s: float | None = None
    code: int = 0
    on_term: int | None = 143  # nothing: it does not listen, and is killed


Fates = Callable[[str, int], Fate]
Answers = Callable[[str, str, float], Answer]


class World:
    def __init__(
        self,
        pod: dict[str, Any],
        fates: Fates = lambda _name, _attempt: Fate(),
        answers: Answers = lambda _name, _kind, _age: GOOD,
        rules: Rules | None = None,
    ) -> None:
        self.pod, self.fates, self.answers, self.rules = pod, fates, answers, rules or Rules()
        self.now = 0.0
        self.memory = Memory()
        self.attempts: list[Attempt] = []
        self.workers: list[Worker] = [
            new_worker(one, 0.0) for each in pod["spec"]["containers"] for one in probes_of(each)
        ]
        self.due: list[tuple[float, str, int]] = []  # ends of attempts: when, of which, with what code
        self.story: list[tuple[float, str]] = []
        self.last: Sync | None = None

    @property
    def status(self) -> dict[str, Any]:
        assert self.last is not None
        return self.last.status

    def main(self, name: str = "main") -> dict[str, Any]:
        return next(dict(one) for one in self.status["containerStatuses"] if one["name"] == name)

    def init(self, name: str) -> dict[str, Any]:
        return next(dict(one) for one in self.status["initContainerStatuses"] if one["name"] == name)

    def said(self, start: str) -> list[tuple[float, str]]:
        return [(at, text) for at, text in self.story if text.startswith(start)]

    def run(self, until: float) -> None:
        """Everything that happens up to then, in its order."""
        self._settle()
        while (moment := self._next()) <= until:
            self.now = moment
            self._end_what_is_due()
            self._probe()
            self._settle()
        self.now = until

    def _next(self) -> float:
        wake = self.last.wake_at if self.last else None
        moments = [at for at, _, _ in self.due] + [worker.tick_at for worker in self.workers if not worker.stopped]
        return min([*moments, *([wake] if wake is not None else [])], default=float("inf"))

    def _end_what_is_due(self) -> None:
        for at, name, code in sorted(one for one in self.due if one[0] <= self.now):
            self._replace(name, state="exited", finished_at=at, exit_code=code)
        self.due = [one for one in self.due if one[0] > self.now]

    def _replace(self, container_id: str, **values: Any) -> None:
        self.attempts = [
            one._replace(**values) if one.container_id == container_id and one.state == "running" else one
            for one in self.attempts
        ]

    def _probe(self, only: tuple[str, ...] = ()) -> None:
        for position, worker in enumerate(self.workers):
            name = worker.probe.container
            out_of_turn = name in only and worker.probe.kind == "readiness"
            if not out_of_turn and worker.tick_at > self.now:
                continue
            seen = target(self.attempts, self.workers, name)
            worker, ask = turn(worker, seen, self.now, deleting="deletionTimestamp" in self.pod["metadata"])
            if ask and seen:
                worker, note = answered(worker, self.answers(name, worker.probe.kind, self.now - seen.started_at))
                if note:
                    self.story.append((self.now, f"{note.reason} {note.message}"))
            self.workers[position] = worker

    def _settle(self) -> None:
        """Syncs until there is nothing to be done at this moment."""
        for _ in range(20):
            self.last = sync(self.pod, self.memory, self.attempts, self.workers, self.now, self.rules)
            self.memory = self.last.memory
            for note in self.last.notes:
                self.story.append((self.now, f"{note.reason} {note.message}"))
            for action in self.last.actions:
                self._do(action)
            if self.last.trigger:
                self._probe(self.last.trigger)
            if not self.last.actions and not self.last.trigger:
                return
        raise AssertionError("it never comes to rest")

    def _do(self, action: Start | Kill) -> None:
        if isinstance(action, Start):
            made = f"containerd://{action.container}-{action.attempt}"
            dead = [one for one in self.attempts if one.name == action.container]
            for one in dead[:-1]:  # the runtime keeps the last one only
                self.attempts.remove(one)
            self.attempts.append(Attempt(action.container, action.attempt, made, "running", self.now, self.now))
            fate = self.fates(action.container, action.attempt)
            if fate.after_s is not None:
                self.due.append((self.now + fate.after_s, made, fate.code))
            self.story.append((self.now, f"start {action.container} {action.attempt}"))
            return
        fate = self.fates(action.container, int(action.container_id.rpartition("-")[2]))
        code, late = (fate.on_term, 0.0) if fate.on_term is not None else (137, action.grace_s)
        self.due.append((self.now + late, action.container_id, code))
        self.story.append((self.now, f"kill {action.container} {action.why} {action.grace_s:g}"))
