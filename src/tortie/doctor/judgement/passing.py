"""Whether what an event or a log complains about is over: starts complain, too, and ready may be but a moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tortie.doctor.judgement.standing import Standing, operator_content, ready
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Clock, Event, LogLine, Pod, Probe
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place

_RECENT_S: Final = 600.0
_OFTEN: Final = 3
_LASTING_S: Final = 600.0  # longer than any start-up complains
_PROBES: Final = 3  # that have gone well since: what was is over
_START: Final = 6  # probes' periods, within which a new pod may complain as often as it likes
_PERIOD_S: Final = 10.0  # kubelet's default, and Calico's
_ZONES_S: Final = 900.0
_DIFFER_S: Final = 60.0
_STARTED: Final = ("Started container", "[Normal] Started container")
_LONG_AGO_S: Final = 3600.0  # as long as an API server keeps events: what was not seen again since is history
_COMES_UP_S: Final = 120.0  # that a new agent may need to pull its images and start
_MANY: Final = 5  # restarts; a pod with more of them is ready only for a moment
# By program: how its pods are called, and how it tells of a work that needs the API server.
_WENT_ON: Final = {
    "kube-controllers": (
        "calico-kube-controllers",
        (
            "Got initial config snapshot",
            "Node controller is now running",
            "Starting controller",
            "Starting status report",
        ),
    ),
    "kube-proxy": ("kube-proxy", ("Successfully retrieved node IP", "Caches are synced")),
}
# No agent's words: those of an API server, which agents live without for a while.
_SERVERS: Final = lazily(
    r"\"(?:Unhandled Error\" err=\"apiserver |Post-timeout activity)|apiserver (?:received|was unable)"
)
_NODE_EVENTS: Final = ("NodeNotReady", "NodeNotSchedulable", "Rebooted", "Starting", "InvalidDiskCapacity")
# Programs inside the agent's pod: what they complained about is over when the pod is ready.
OWN: Final = ("", "startup", "felix", "confd", "bird", "bird6", "calico-node", "tunnel-ip-allocator",
               "monitor-addresses", "cni-installer", "install-cni", "ipam", "upgrade-ipam", "cni-config-monitor",
               "status-reporter")  # fmt: skip


@remembered
def went_past(picture: Picture) -> frozenset[Place]:
    """Lines of kube-controllers and kube-proxy that they have got past: the log goes on to a work that needs the API
    server, and the pod is ready."""
    past: set[Place] = set()
    for program, (pods, served) in _WENT_ON.items():
        well = {pod.name for pod in picture.pods_now(pods) if ready(pod) and _calm(pod)}
        logs: dict[tuple[str, str], list[LogLine]] = {}
        for line in picture.of(LogLine):
            if line.program == program and line.pod in (well or (None,)):
                logs.setdefault((line.place.source, line.pod), []).append(line)
        for lines in logs.values():
            past |= _before_success(lines, served)
    return frozenset(past)


def _before_success(lines: list[LogLine], served: tuple[str, ...]) -> set[Place]:
    """Nothing, where the last error comes after the last success."""
    good = [line.place.first for line in lines if line.level == "INFO" and line.message.lstrip('"').startswith(served)]
    last = max((line.place.first for line in lines if line.level in ("ERROR", "FATAL", "PANIC")), default=0)
    if not good or max(good) < last:
        return set()
    return {line.place for line in lines if line.place.first < max(good)}


def _calm(pod: Pod) -> bool:
    return (pod.restarts or 0) < _MANY or not _restarted_lately(pod)


def is_settled(line: LogLine, picture: Picture, standing: Standing) -> bool:
    """Whether the program that complained is shown to have got past it: its pod is ready, its work is done."""
    if line.program == "operator":
        return operator_content(picture)
    if line.program in _WENT_ON:
        return line.place in went_past(picture)
    return standing.agents_well and line.program in OWN and not (not line.program and _SERVERS.match(line.message))


class Passing:
    def __init__(self, picture: Picture, standing: Standing) -> None:
        self._standing = standing
        self._pods = {pod.name: pod for pod in picture.pods_now()}
        self._probes = picture.of(Probe)
        self._clocks = {clock.host: clock.time for clock in picture.of(Clock) if clock.time is not None}
        self._lines = picture.of(LogLine)
        self._nodes = picture.nodes_now()
        self._started: dict[str, float] = {}  # by object, how long ago one of its containers was last started
        for event in picture.events("Started"):
            if event.object and event.age_s is not None:
                self._started[event.object] = min(event.age_s, self._started.get(event.object, event.age_s))
        self._scheduled: dict[tuple[str, str], float] = {}
        for event in picture.events("Scheduled"):
            if event.age_s is not None:
                self._scheduled[event.place.source, event.object] = event.age_s
        self._pulled: dict[tuple[str, str], float] = {}
        for event in picture.events("Pulled"):
            if event.age_s is not None:
                self._pulled[event.place.source, event.object] = event.age_s
        self._failed_probes: dict[str, list[Event]] = {}
        for event in picture.events("Unhealthy"):
            self._failed_probes.setdefault(event.object.rpartition("/")[2], []).append(event)
        self._starts_told: dict[str, list[float]] = {}  # by source, when a log told that a container was started
        for line in self._lines:
            if line.time is not None and line.message.startswith(_STARTED):
                self._starts_told.setdefault(line.place.source, []).append(line.time)
        self._youngest_s = min((pod.age_s for pod in picture.agents_now() if pod.age_s is not None), default=None)

    def pod(self, event: Event) -> Pod | None:
        return self._pods.get(event.object.rpartition("/")[2])

    def is_over(self, event: Event) -> bool:
        """The pod it speaks of is ready now; or it speaks of no pod that is shown, and all agents are."""
        pod = self.pod(event)
        often = event.age_s is not None and event.count >= _OFTEN
        if often and not self._starts(event, pod):
            age_s = event.age_s or 0.0
            just_now = age_s <= _PROBES * self._period_s(event, pod)
            if just_now or (age_s <= _RECENT_S and (event.over_s or 0.0) - age_s > _LASTING_S):
                return False  # again and again, and just now: ready is only the moment between two of them
        if pod is not None and pod.containers is not None:
            return ready(pod) and not self._comes_back(event, pod)
        about_agents = not event.object or is_agent(event.object.rpartition("/")[2])
        known = event.reason in ("Unhealthy", "Killing", "BackOff", "FailedMount", "")
        return self._standing.agents_well and about_agents and known

    def _comes_back(self, event: Event, pod: Pod) -> bool:
        """A probe that fails a pod now and then, long after its start: ready is what it is in between."""
        if event.reason != "Unhealthy" or event.age_s is None or event.age_s > _RECENT_S:
            return False
        if pod.age_s is None or pod.age_s < _LONG_AGO_S or _restarted_lately(pod):
            return False
        same = (e.age_s for e in self._failed_probes.get(event.object.rpartition("/")[2], ()) if e.age_s is not None)
        spread = [age_s for age_s in same if age_s <= _LONG_AGO_S]
        return len(spread) > 1 and max(spread) - min(spread) > _PROBES * self._period_s(event, pod)

    def is_past(self, event: Event) -> bool:
        """Over; or said long ago, or of a node that is ready now, while all that is shown is well."""
        if self.is_over(event):
            return True
        pod = self.pod(event)
        if not self._standing.well or (pod is not None and pod.containers is not None and not ready(pod)):
            return False
        node = self._nodes.get(event.object.rpartition("/")[2])
        if node is not None and event.reason in _NODE_EVENTS and "NotReady" not in node.status:
            return True
        return event.age_s is not None and (event.age_s > _LONG_AGO_S or self._came_up_since(event, event.age_s))

    def _came_up_since(self, event: Event, age_s: float) -> bool:
        """A pod without network whose container was started later, or from before the newest agent was up.

        A pod that waited for a node waits no more when it was scheduled later.
        """
        if event.reason == "FailedCreate":  # whoever makes the agents has made them since
            return self._standing.agents_well and is_agent(event.object.rpartition("/")[2])
        if event.reason == "Failed":
            pulled = self._pulled.get((event.place.source, event.object))
            return pulled is not None and pulled <= age_s
        if event.reason == "FailedScheduling":
            placed = self._scheduled.get((event.place.source, event.object))
            return placed is not None and placed <= age_s
        if event.reason != "FailedCreatePodSandBox":
            return False
        started = self._started.get(event.object) if event.object else None
        if started is not None and started <= age_s:
            return True
        return self._youngest_s is not None and age_s >= self._youngest_s - _COMES_UP_S

    def started_since(self, place: Place) -> bool:
        """A log that told of a pod without network goes on to tell that its container was started."""
        if not self._standing.well or not self._starts_told:
            return False
        told = next((line for line in self._lines if line.place == place), None)
        if told is None or told.time is None:
            return False
        return any(0 <= time - told.time <= _LONG_AGO_S for time in self._starts_told.get(place.source, ()))

    def is_history(self, places: Iterable[Place]) -> bool:
        """Only said in logs, and some probes ago: whoever collects logs collects what was before it was mended, too.

        Told only where the logs' machine shows its clock, and everything else is well.
        """
        if not self._knows_history:
            return False
        wanted = set(places)
        lines = [line for line in self._lines if line.place in wanted]
        return len({line.place for line in lines}) == len(wanted) and all(self._is_old(line) for line in lines)

    def is_old(self, line: LogLine) -> bool:
        """The same of one line."""
        return self._knows_history and self._is_old(line)

    @property
    def _knows_history(self) -> bool:
        now = self._standing
        return now.well and now.agents_shown and now.nodes_ready and bool(self._clocks)

    def _is_old(self, line: LogLine) -> bool:
        clock = self._clocks.get(line.host, min(self._clocks.values()))
        periods = [probe.period_s for probe in self._probes if probe.kind == "readiness" and is_agent(probe.owner)]
        age_s = clock - line.time if line.time is not None else _least_age_s(clock, line.of_some_year)
        return age_s > _PROBES * max(periods, default=_PERIOD_S)

    def _starts(self, event: Event, pod: Pod | None) -> bool:
        """Readiness of a pod that has only just begun, and has not been restarted."""
        if pod is None or pod.age_s is None or pod.restarts != 0 or not ready(pod):
            return False
        return "Liveness" not in event.message and pod.age_s <= _START * self._period_s(event, pod)

    def _period_s(self, event: Event, pod: Pod | None) -> float:
        """How often the probe is asked, if it is shown; other clusters than a hurried lab have the usual period."""
        kind = "liveness" if "Liveness" in event.message else "readiness"
        for probe in self._probes:
            if pod and probe.kind == kind and probe.owner and _belongs(pod.name, probe.owner):
                return probe.period_s
        return _PERIOD_S


def _least_age_s(now: float, then: float | None) -> float:
    """In whichever year and zone that was: those differ by quarters of an hour, or by many. 0 where clocks may only
    differ a little.
    """
    if then is None:
        return 0.0
    age_s = (now - then) % _ZONES_S
    return age_s if age_s < _ZONES_S - _DIFFER_S else 0.0


def _restarted_lately(pod: Pod) -> bool:
    """Restarts that nobody dates may be of just now."""
    return bool(pod.restarts) and (pod.restarted_s is None or pod.restarted_s < _LONG_AGO_S)


def _belongs(pod: str, owner: str) -> bool:
    return pod == owner or pod.startswith(f"{owner}-")
