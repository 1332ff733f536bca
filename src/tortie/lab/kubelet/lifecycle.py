"""What kubelet does with one pod: a pure step from what there is to what has to be done, and the status to be shown.

The order is kubelet's. Init containers run one after the other, each until it has succeeded; then all main containers
run. A container that ended is started again when its back-off is over. One whose liveness or startup probe has failed
is killed; whether it may come back at once is decided by how its *previous* attempt ended, since kubelet looks at the
pod as it was before the kill. That is why the first kills of a crash loop are not followed by any wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from tortie.lab.kubelet.backoff import CRASH_LOOP, BackOff, after, back_off_note, in_back_off, policy, waiting_message
from tortie.lab.kubelet.events import Note, killing
from tortie.lab.kubelet.objects import Object, init_containers, main_containers, named
from tortie.lab.kubelet.pod_status import Attempt, Waiting, attempts_of, pod_status, result, target
from tortie.lab.kubelet.probes import Worker

__all__ = ["Attempt", "Kill", "Memory", "Rules", "Start", "Sync", "remembered", "start_failed", "sync", "target"]

MINIMUM_GRACE_S: Final = 2.0  # kubelet never gives less, whatever the pod says
RETRY_S: Final = 10.0  # after a sync that failed or was held up
_DEFAULT_GRACE_S: Final = 30


class Rules(NamedTuple):
    hurry: int = 1
    minor: int = 29  # the Kubernetes release: texts differ


class Memory(NamedTuple):
    """What kubelet remembers of a pod from one sync to the next. The dicts are replaced, never changed."""

    back_offs: dict[str, BackOff] = {}  # noqa: RUF012
    waiting: dict[str, Waiting] = {}  # noqa: RUF012
    ordered: dict[str, int] = {}  # noqa: RUF012 # attempts that have to be there soon
    killed: frozenset[str] = frozenset()  # ids of containers whose end was ordered
    at_once: frozenset[str] = frozenset()  # names of containers that come back without a wait after their kill
    noted: dict[str, float] = {}  # noqa: RUF012 # when its back-off was told last
    seen: frozenset[str] = frozenset()  # ids of containers that were running
    conditions: tuple[Object, ...] = ()
    counts: dict[str, int] = {}  # noqa: RUF012 # the highest attempt of each container, even if the runtime lost it


class Start(NamedTuple):
    container: str
    attempt: int
    init: bool


class Kill(NamedTuple):
    """SIGTERM, and SIGKILL when the grace period is over."""

    container: str
    container_id: str
    message: str
    grace_s: float
    why: Literal["liveness", "startup", "deleted"]


class Sync(NamedTuple):
    memory: Memory
    actions: tuple[Start | Kill, ...]
    notes: tuple[Note, ...]
    status: Object
    wake_at: float | None  # nothing changes by itself before then
    trigger: tuple[str, ...]  # containers whose readiness is to be asked out of turn
    finished: bool  # of a pod that is deleted: nothing of it runs any more


def remembered(status: Object) -> Memory:
    """After a restart of kubelet: what the API server has is read back; back-offs are forgotten."""
    known = (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or [])
    counts = {one["name"]: int(one["restartCount"]) for one in known if one.get("containerID")}
    return Memory(conditions=tuple(status.get("conditions") or ()), counts=counts)


def start_failed(memory: Memory, container: str, reason: str, message: str, now: float) -> Memory:
    """The runtime could not make or start it; it is tried again a little later."""
    ordered = {name: attempt for name, attempt in memory.ordered.items() if name != container}
    return memory._replace(ordered=ordered, waiting={**memory.waiting, container: Waiting(reason, message, now)})


class _Step:
    """One sync in the making."""

    def __init__(self, pod: Object, memory: Memory, attempts: Sequence[Attempt], now: float, rules: Rules) -> None:
        self.pod, self.attempts, self.now, self.rules = pod, attempts, now, rules
        self.policy = policy(rules.hurry)
        self.retry_s = RETRY_S / rules.hurry
        self.back_offs, self.waiting, self.noted = dict(memory.back_offs), dict(memory.waiting), dict(memory.noted)
        self.ordered = {name: n for name, n in memory.ordered.items() if not self._arrived(name, n)}
        self.counts = dict(memory.counts)
        for one in attempts:
            self.counts[one.name] = max(one.attempt, self.counts.get(one.name, 0))
        alive = {one.container_id for one in attempts if one.state != "exited"}
        self.killed = memory.killed & alive
        self.at_once = set(memory.at_once)
        self.actions: list[Start | Kill] = []
        self.notes: list[Note] = []
        self.wakes: list[float] = []

    def _arrived(self, name: str, attempt: int) -> bool:
        return any(one.name == name and one.attempt >= attempt for one in self.attempts)

    def newest(self, name: str) -> Attempt | None:
        return next(iter(attempts_of(self.attempts, name)), None)

    def start(self, name: str, *, init: bool) -> None:
        """Start a container that does not run, unless it has to wait."""
        if name in self.ordered:
            return
        newest = self.newest(name)
        if newest is None:
            failed = self.waiting.get(name)
            if failed and self.now < failed.since + self.retry_s:
                self.wakes.append(failed.since + self.retry_s)
                return
        elif name in self.at_once:
            self.at_once.discard(name)
        elif not self._past_back_off(name, newest.finished_at):
            return
        self.waiting.pop(name, None)
        attempt = self.counts.get(name, -1) + 1
        self.ordered[name] = attempt
        self.actions.append(Start(name, attempt, init))

    def _past_back_off(self, name: str, ended_at: float) -> bool:
        """Whether its wait is over; then the next one is twice as long. Else it is told that it waits."""
        entry = self.back_offs.get(name)
        failed = self.waiting.get(name)
        if entry is not None and in_back_off(entry, ended_at, self.now, self.policy):
            due = self.noted.get(name, float("-inf")) + self.retry_s
            if self.now >= due or failed is None:
                self.notes.append(back_off_note(self.pod, name, self.rules.minor))
                self.noted[name] = self.now
                due = self.now + self.retry_s
            since = failed.since if failed else self.now
            self.waiting[name] = Waiting(CRASH_LOOP, waiting_message(self.pod, name, entry.wait_s), since)
            self.wakes += [ended_at + entry.wait_s, due]
            return False
        if failed and failed.reason != CRASH_LOOP and self.now < failed.since + self.retry_s:
            self.wakes.append(failed.since + self.retry_s)
            return False
        self.back_offs[name] = after(entry, ended_at, self.now, self.policy)
        return True

    def kill(self, attempt: Attempt, why: Literal["liveness", "startup", "deleted"], message: str) -> None:
        if attempt.container_id in self.killed:
            return
        self.killed |= {attempt.container_id}
        grace_s = max(_grace_s(self.pod, attempt.name, why), MINIMUM_GRACE_S / self.rules.hurry)
        note = killing(attempt.name, message)
        self.notes.append(note)
        self.actions.append(Kill(attempt.name, attempt.container_id, note.message, grace_s, why))

    def kill_for_probe(self, attempt: Attempt, why: Literal["liveness", "startup"]) -> None:
        """The pod as it was before the kill decides about the wait: by the end of the attempt before this one."""
        if attempt.container_id in self.killed:
            return
        again = self.pod["spec"].get("restartPolicy", "Always") != "Never"
        text = f"Container {attempt.name} failed {why} probe"
        self.kill(attempt, why, f"{text}, will be restarted" if again else text)
        if not again or attempt.name in self.at_once:  # its kill was ordered before, and did not come about
            return
        ended = [one for one in attempts_of(self.attempts, attempt.name)[1:] if one.state == "exited"]
        if not ended or self._past_back_off(attempt.name, ended[0].finished_at):
            self.at_once.add(attempt.name)


def sync(
    pod: Object, memory: Memory, attempts: Sequence[Attempt], workers: Sequence[Worker], now: float, rules: Rules
) -> Sync:
    """What is to be done now. The same again, without anything having changed, orders nothing twice."""
    step = _Step(pod, memory, attempts, now, rules)
    finished = False
    if pod["metadata"].get("deletionTimestamp"):
        alive = [one for one in attempts if one.state != "exited"]
        for attempt in alive:
            step.kill(attempt, "deleted", "")
        finished = not alive
    elif _initialized(step):
        for container in main_containers(pod):
            _main(step, container["name"], workers)
    running = frozenset(one.container_id for one in attempts if one.state == "running")
    fresh = [one.name for one in attempts if one.container_id in running - memory.seen]
    trigger = tuple(name for name in fresh if any(one["name"] == name for one in main_containers(pod)))
    status = pod_status(pod, attempts, workers, step.waiting, step.counts, memory.conditions, now)
    kept = Memory(
        step.back_offs,
        step.waiting,
        step.ordered,
        step.killed,
        frozenset(step.at_once),
        step.noted,
        running,
        tuple(status["conditions"]),
        step.counts,
    )
    wake_at = min(step.wakes, default=None)
    return Sync(kept, tuple(step.actions), tuple(step.notes), status, wake_at, trigger, finished)


def _initialized(step: _Step) -> bool:
    """Whether the main containers may run; starts the init container whose turn it is."""
    inits = init_containers(step.pod)
    if not inits or any(step.newest(one["name"]) for one in main_containers(step.pod)):
        return True
    for position in reversed(range(len(inits))):
        name = inits[position]["name"]
        newest = step.newest(name)
        if newest is None:
            continue
        if newest.state != "exited":
            return False
        if newest.succeeded:
            if position + 1 == len(inits):
                return True
            step.start(inits[position + 1]["name"], init=True)
        elif step.pod["spec"].get("restartPolicy", "Always") != "Never":
            step.start(name, init=True)
        return False
    step.start(inits[0]["name"], init=True)
    return False


def _main(step: _Step, name: str, workers: Sequence[Worker]) -> None:
    newest = step.newest(name)
    if newest is None:
        step.start(name, init=False)
    elif newest.state == "exited":
        restart = step.pod["spec"].get("restartPolicy", "Always")
        if restart == "Always" or (restart == "OnFailure" and not newest.succeeded):
            step.start(name, init=False)
    elif newest.state == "running":
        step.waiting.pop(name, None)
        for why in ("liveness", "startup"):
            if result(workers, name, why, newest.container_id) == "failure":
                step.kill_for_probe(newest, why)
                break


def _grace_s(pod: Object, container: str, why: str) -> float:
    """A probe may have its own; the pod's counts otherwise."""
    metadata, spec = pod["metadata"], pod["spec"]
    asked = metadata.get("deletionGracePeriodSeconds")
    if asked is not None:
        return float(asked)
    probe = named(pod, container).get(f"{why}Probe") or {}
    own = probe.get("terminationGracePeriodSeconds")
    usual = spec.get("terminationGracePeriodSeconds")
    return float(own if own is not None else usual if usual is not None else _DEFAULT_GRACE_S)
