"""A pod's status in Kubernetes's form, from what the runtime knows of its containers and what the probes say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from tortie.lab.kubelet.objects import Object, init_containers, main_containers, stamp
from tortie.lab.kubelet.probes import Kind, Result, Target, Worker

INITIALIZING: Final = "PodInitializing"
CREATING: Final = "ContainerCreating"


class Attempt(NamedTuple):
    """One container of the runtime: the n-th that was made for a container of a pod."""

    name: str
    attempt: int
    container_id: str  # with its scheme: containerd://…
    state: Literal["created", "running", "exited"]
    created_at: float
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    reason: str = ""  # the runtime's own, such as OOMKilled or StartError
    message: str = ""

    @property
    def succeeded(self) -> bool:
        return self.state == "exited" and self.exit_code == 0


class Waiting(NamedTuple):
    """Why a container does not run, since when."""

    reason: str
    message: str
    since: float


def attempts_of(attempts: Sequence[Attempt], name: str) -> list[Attempt]:
    """The newest first."""
    return sorted((one for one in attempts if one.name == name), key=lambda one: -one.attempt)


def result(workers: Sequence[Worker], name: str, kind: Kind, container_id: str) -> Result | None:
    """What a probe says of exactly this container; nothing if it is not probed, or not yet."""
    for worker in workers:
        if worker.probe.container == name and worker.probe.kind == kind and worker.container_id == container_id:
            return worker.result
    return None


def probed(workers: Sequence[Worker], name: str, kind: Kind) -> bool:
    return any(worker.probe.container == name and worker.probe.kind == kind for worker in workers)


def started(workers: Sequence[Worker], attempt: Attempt) -> bool:
    """Running, and past its startup probe if it has one."""
    if attempt.state != "running":
        return False
    return not probed(workers, attempt.name, "startup") or (
        result(workers, attempt.name, "startup", attempt.container_id) == "success"
    )


def ready(workers: Sequence[Worker], attempt: Attempt) -> bool:
    if not started(workers, attempt):
        return False
    return not probed(workers, attempt.name, "readiness") or (
        result(workers, attempt.name, "readiness", attempt.container_id) == "success"
    )


def target(attempts: Sequence[Attempt], workers: Sequence[Worker], name: str) -> Target | None:
    """What the workers of a container see of it."""
    newest = next(iter(attempts_of(attempts, name)), None)
    if newest is None:
        return None
    return Target(newest.container_id, newest.state == "running", newest.started_at, started(workers, newest))


def pod_status(
    pod: Object,
    attempts: Sequence[Attempt],
    workers: Sequence[Worker],
    waiting: Mapping[str, Waiting],
    counts: Mapping[str, int],
    before: Sequence[Object],
    now: float,
) -> Object:
    """`before` are the conditions so far: one that stays as it is keeps its transition time."""
    inits, mains = init_containers(pod), main_containers(pod)
    init_states = [_container_status(pod, one, attempts, workers, waiting, counts, init=True) for one in inits]
    main_states = [_container_status(pod, one, attempts, workers, waiting, counts, init=False) for one in mains]
    old = pod.get("status") or {}
    address = old.get("hostIP", "")
    status: Object = {
        "phase": phase(pod, init_states, main_states),
        "conditions": _conditions(init_states, main_states, before, now),
    }
    if address:
        status |= {"hostIP": address, "podIP": address, "podIPs": [{"ip": address}]}
    status["startTime"] = old.get("startTime") or pod["metadata"].get("creationTimestamp") or stamp(now)
    if init_states:
        status["initContainerStatuses"] = init_states
    status["containerStatuses"] = main_states
    status["qosClass"] = qos_class(pod)
    return status


def _container_status(
    pod: Object,
    container: Object,
    attempts: Sequence[Attempt],
    workers: Sequence[Worker],
    waiting: Mapping[str, Waiting],
    counts: Mapping[str, int],
    *,
    init: bool,
) -> Object:
    name, image = container["name"], container["image"]
    known = attempts_of(attempts, name)
    newest = known[0] if known else None
    reason = waiting.get(name)
    last: Object = {}
    if newest is None:
        idle = INITIALIZING if init_containers(pod) else CREATING
        state: Object = {"waiting": _waiting(reason) if reason else {"reason": idle}}
    elif newest.state == "exited" and reason and not (init and newest.succeeded):
        state, last = {"waiting": _waiting(reason)}, {"terminated": _terminated(newest)}
    else:
        state = _state(newest)
        dead = next((one for one in known[1:] if one.state == "exited"), None)
        last = {"terminated": _terminated(dead)} if dead else {}
    if init:
        is_ready, is_started = newest is not None and newest.succeeded, newest is not None and newest.state == "running"
    else:
        is_ready, is_started = newest is not None and ready(workers, newest), bool(newest and started(workers, newest))
    return {
        "name": name,
        "state": state,
        "lastState": last,
        "ready": is_ready,
        "restartCount": counts.get(name, 0),
        "image": image,
        "imageID": image if newest else "",
        **({"containerID": newest.container_id} if newest else {}),
        "started": is_started,
    }


def _waiting(reason: Waiting) -> Object:
    return {"reason": reason.reason, **({"message": reason.message} if reason.message else {})}


def _state(attempt: Attempt) -> Object:
    if attempt.state == "running":
        return {"running": {"startedAt": stamp(attempt.started_at)}}
    if attempt.state == "exited":
        return {"terminated": _terminated(attempt)}
    return {"waiting": {"reason": CREATING}}


def _terminated(attempt: Attempt) -> Object:
    return {
        "exitCode": attempt.exit_code,
        "reason": attempt.reason or ("Completed" if attempt.exit_code == 0 else "Error"),
        **({"message": attempt.message} if attempt.message else {}),
        "startedAt": stamp(attempt.started_at),
        "finishedAt": stamp(attempt.finished_at),
        "containerID": attempt.container_id,
    }


def phase(pod: Object, inits: Sequence[Object], mains: Sequence[Object]) -> str:
    """Kubernetes's rule; a pod in CrashLoopBackOff is Running by it."""
    always = pod["spec"].get("restartPolicy", "Always")
    if always == "Never" and any(_exit_code(one) not in (None, 0) for one in inits):
        return "Failed"
    if any(not one["ready"] for one in inits) and not any("containerID" in one for one in mains):
        return "Pending"
    if any("waiting" in one["state"] and not one["lastState"] for one in mains):
        return "Pending"
    if any("running" in one["state"] for one in mains) or always == "Always":
        return "Running"
    codes = [_exit_code(one) for one in mains]
    if all(code == 0 for code in codes):
        return "Succeeded"
    return "Failed" if always == "Never" else "Running"


def _exit_code(status: Object) -> int | None:
    ended = status["state"].get("terminated")
    return int(ended["exitCode"]) if ended else None


def _conditions(inits: Sequence[Object], mains: Sequence[Object], before: Sequence[Object], now: float) -> list[Object]:
    running = any("containerID" in one for one in mains)
    incomplete = [] if running else [one["name"] for one in inits if not one["ready"]]
    unready = [one["name"] for one in mains if not one["ready"]]
    incomplete_text = f"containers with incomplete status: [{' '.join(incomplete)}]" if incomplete else ""
    unready_text = f"containers with unready status: [{' '.join(unready)}]" if unready else ""
    wanted = (
        ("Initialized", "ContainersNotInitialized", incomplete_text),
        ("Ready", "ContainersNotReady", unready_text),
        ("ContainersReady", "ContainersNotReady", unready_text),
        ("PodScheduled", "", ""),
    )
    known = {one["type"]: one for one in before}
    found = []
    for kind, reason, text in wanted:
        value = "False" if text else "True"
        old = known.get(kind)
        since = old["lastTransitionTime"] if old and old["status"] == value else stamp(now)
        why = {"reason": reason, "message": text} if text else {}
        found.append({"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": since} | why)
    return found


def qos_class(pod: Object) -> str:
    """Guaranteed needs limits of everything; nothing in a lab has them, so a request decides."""
    resources = [one.get("resources") or {} for one in main_containers(pod) + init_containers(pod)]
    if any(one.get("requests") or one.get("limits") for one in resources):
        return "Burstable"
    return "BestEffort"
