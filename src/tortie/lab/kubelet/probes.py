"""Kubelet's probe worker as a pure state machine: when it asks, what an answer means, and what is told about it.

One worker for each pod, container and kind. It ticks with the probe's period from the moment in which the pod was
taken up, whatever its containers do; at a tick it looks at the container and either asks or waits for the next one.
That is why the first probe comes up to one period after the initial delay.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tortie.lab.kubelet.events import Note
from tortie.lab.kubelet.objects import Object

Kind = Literal["liveness", "readiness", "startup"]
Result = Literal["success", "failure", "unknown"]
Outcome = Literal["success", "warning", "failure", "error"]

KINDS: Final[tuple[Kind, ...]] = ("liveness", "readiness", "startup")
# before the first answer a container counts as live and as not ready
_AT_FIRST: Final[dict[Kind, Result]] = {"liveness": "success", "readiness": "failure", "startup": "unknown"}


class HttpGet(NamedTuple):
    """A GET; 200 to 399 is good."""

    host: str  # "" is the pod's own address
    port: int
    path: str = "/"
    scheme: str = "http"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


class Exec(NamedTuple):
    """A command in the container; exit code 0 is good."""

    command: tuple[str, ...]


class Probe(NamedTuple):
    """A probe of a container with all of its numbers."""

    kind: Kind
    container: str
    handler: HttpGet | Exec
    initial_delay_s: int = 0
    period_s: int = 10
    timeout_s: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    grace_s: int | None = None  # instead of the pod's, when this probe has the container killed


def probes_of(container: Object) -> tuple[Probe, ...]:
    """The probes of a container of a pod, with Kubernetes's defaults where it says nothing."""
    found = []
    for kind in KINDS:
        spec = container.get(f"{kind}Probe")
        handler = _handler(spec, container) if spec else None
        if spec and handler:
            found.append(
                Probe(
                    kind,
                    container["name"],
                    handler,
                    initial_delay_s=spec.get("initialDelaySeconds") or 0,
                    period_s=spec.get("periodSeconds") or 10,
                    timeout_s=spec.get("timeoutSeconds") or 1,
                    success_threshold=spec.get("successThreshold") or 1,
                    failure_threshold=spec.get("failureThreshold") or 3,
                    grace_s=spec.get("terminationGracePeriodSeconds"),
                )
            )
    return tuple(found)


def _handler(spec: Object, container: Object) -> HttpGet | Exec | None:
    if "exec" in spec:
        return Exec(tuple(spec["exec"]["command"]))
    if "httpGet" in spec:
        get = spec["httpGet"]
        headers = tuple((one["name"], one.get("value") or "") for one in get.get("httpHeaders") or [])
        scheme = str(get.get("scheme") or "HTTP").lower()
        port = _port(get["port"], container)
        return HttpGet(get.get("host") or "", port, get.get("path") or "/", scheme, headers)
    return None


def _port(port: int | str, container: Object) -> int:
    """It may be called by the name that the container gives it."""
    names = {each.get("name"): each.get("containerPort", 0) for each in container.get("ports") or []}
    return int(names.get(port, port))


class Target(NamedTuple):
    """What a worker sees of its container; nothing at all before the first one was made."""

    container_id: str
    running: bool
    started_at: float = 0.0
    started: bool = False  # running, and the startup probe, if there is one, has succeeded


class Worker(NamedTuple):
    probe: Probe
    tick_at: float
    container_id: str = ""
    result: Result | None = None  # what counts for `container_id`
    last: Result | None = None  # what the last probe said, and how many said so in a row
    run: int = 0
    on_hold: bool = False  # the container is doomed: nothing is asked until there is a new one
    stopped: bool = False


class Turn(NamedTuple):
    worker: Worker
    ask: bool


def new_worker(probe: Probe, now: float, jitter_s: float = 0.0) -> Worker:
    """For a pod that is taken up; after its own restart kubelet spreads the first tick over a period by chance."""
    return Worker(probe, now + jitter_s)


def turn(worker: Worker, target: Target | None, now: float, *, deleting: bool = False) -> Turn:
    """A tick, or a look out of turn, which does not shift the ticks. To be called again when `tick_at` has come."""
    if worker.stopped:
        return Turn(worker, False)
    worker = worker._replace(tick_at=_next_tick(worker, now))
    if target is None or not target.container_id:
        return Turn(worker, False)
    probe = worker.probe
    if worker.container_id != target.container_id:
        # the run of equal results is not forgotten here: kubelet carries it over, too
        at_first = _AT_FIRST[probe.kind]
        worker = worker._replace(container_id=target.container_id, result=at_first, on_hold=False)
    if worker.on_hold:
        return Turn(worker, False)
    if not target.running:
        return Turn(worker._replace(result="failure"), False)
    if deleting and probe.kind != "readiness":
        return Turn(worker._replace(result="success", stopped=True, tick_at=float("inf")), False)
    if int(now - target.started_at) < probe.initial_delay_s:
        return Turn(worker, False)
    return Turn(worker, target.started is (probe.kind != "startup"))


def _next_tick(worker: Worker, now: float) -> float:
    """Ticks that were missed while a probe took long are not made up for."""
    if now < worker.tick_at:
        return worker.tick_at
    missed = int((now - worker.tick_at) // worker.probe.period_s)
    return worker.tick_at + (missed + 1) * worker.probe.period_s


class Answer(NamedTuple):
    """What came of asking. `error`: it could not be asked at all, which counts as nothing."""

    outcome: Outcome
    output: str = ""


class Told(NamedTuple):
    worker: Worker
    note: Note | None


def answered(worker: Worker, answer: Answer, minor: int = 29) -> Told:
    """The worker after an answer, and the event that it gives."""
    probe = worker.probe
    note = _note(probe, answer, minor)
    if answer.outcome == "error":
        return Told(worker, note)
    result: Result = "failure" if answer.outcome == "failure" else "success"
    worker = worker._replace(last=result, run=worker.run + 1 if worker.last == result else 1)
    threshold = probe.failure_threshold if result == "failure" else probe.success_threshold
    if worker.run < threshold:
        return Told(worker, note)
    worker = worker._replace(result=result)
    if result == "failure" and probe.kind != "readiness":
        worker = worker._replace(on_hold=True, run=0)
    return Told(worker, note)


def _note(probe: Probe, answer: Answer, minor: int) -> Note | None:
    what = f"{probe.kind.capitalize()} probe"
    match answer.outcome:
        case "success":
            return None
        case "warning":
            return Note("Warning", "ProbeWarning", f"{what} warning: {answer.output}", probe.container)
        case "failure":
            return Note("Warning", "Unhealthy", f"{what} failed: {answer.output}", probe.container)
        case "error":
            errored = "errored and resulted in unknown state" if minor >= 31 else "errored"
            return Note("Warning", "Unhealthy", f"{what} {errored}: {answer.output}", probe.container)
