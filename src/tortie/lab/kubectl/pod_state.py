"""What `kubectl get pods` says of a pod in one word: READY, STATUS and RESTARTS out of its containers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tortie.lab.kubectl.kinds import at, condition, is_ready, items_at
from tortie.lab.kubectl.times import human, seconds_of

_FINISHED = ("Succeeded", "Failed")


class PodState(NamedTuple):
    ready: int
    total: int
    status: str
    restarts: int
    last_restart: float | None  # when the last container that was started again had ended

    def restarts_text(self, now: float) -> str:
        if not self.restarts or self.last_restart is None:
            return str(self.restarts)
        return f"{self.restarts} ({human(now - self.last_restart)} ago)"


class _Main(NamedTuple):
    ready: int
    status: str


def pod_state(pod: Mapping[str, Any]) -> PodState:
    starting = items_at(pod, "status", "initContainerStatuses")
    running = items_at(pod, "status", "containerStatuses")
    status = str(at(pod, "status", "reason") or at(pod, "status", "phase") or "")
    count = len(items_at(pod, "spec", "initContainers"))
    waits_for = _initializing(starting, count)
    told, ready = starting, 0
    if waits_for is None or (condition(pod, "Initialized") or {}).get("status") == "True":
        told = running
        ready, status = _main(pod, running, status)
    else:
        status = waits_for
    if at(pod, "metadata", "deletionTimestamp") and at(pod, "status", "phase") not in _FINISHED:
        status = "Unknown" if at(pod, "status", "reason") == "NodeLost" else "Terminating"
    restarts = sum(int(each.get("restartCount") or 0) for each in told)
    ended = [seconds_of(at(each, "lastState", "terminated", "finishedAt")) for each in told]
    last = max((each for each in ended if each is not None), default=None)
    return PodState(ready, len(items_at(pod, "spec", "containers")), status, restarts, last)


def _initializing(statuses: list[Any], count: int) -> str | None:
    """What the first init container that has not succeeded is at; None when all have."""
    for index, status in enumerate(statuses):
        ended, waiting = at(status, "state", "terminated"), at(status, "state", "waiting")
        if ended is not None:
            if not ended.get("exitCode"):
                continue
            return f"Init:{_ending(ended)}"
        reason = (waiting or {}).get("reason")
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{count}"
    return None


def _main(pod: Mapping[str, Any], statuses: list[Any], status: str) -> _Main:
    ready = 0
    for each in reversed(statuses):
        ended, waiting = at(each, "state", "terminated"), at(each, "state", "waiting")
        if (waiting or {}).get("reason"):
            status = waiting["reason"]
        elif ended is not None:
            status = _ending(ended)
        elif each.get("ready") and at(each, "state", "running") is not None:
            ready += 1
    if status == "Completed" and ready:
        status = "Running" if is_ready(pod) else "NotReady"
    return _Main(ready, status)


def _ending(ended: Mapping[str, Any]) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def pod_phases(pods: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Running, waiting, succeeded, failed: as a description of what owns them counts."""
    phases = [at(pod, "status", "phase") for pod in pods]
    return tuple(phases.count(each) for each in ("Running", "Pending", "Succeeded", "Failed"))  # type: ignore[return-value]
