"""The loop of a node's kubelet: looks at the runtime, probes, decides with the pure core, acts, and writes it down.

Without threads. Whatever waits for somebody else waits beside everything else: requests to the runtime and probes are
taken up again when an answer has come or their time is over.
"""

from __future__ import annotations

import selectors
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from tortie.lab.kubelet import machine
from tortie.lab.kubelet.bell import Bell
from tortie.lab.kubelet.desk import Desk
from tortie.lab.kubelet.events import Note, created, pulled, scheduled, start_error, started
from tortie.lab.kubelet.jobs import KubeletJob, Paths
from tortie.lab.kubelet.journal import Klog
from tortie.lab.kubelet.lifecycle import Kill, Memory, Rules, Start, remembered, start_failed, sync, target
from tortie.lab.kubelet.objects import named, stamp
from tortie.lab.kubelet.prober import Key, Prober
from tortie.lab.kubelet.probes import Answer, answered, turn
from tortie.lab.kubelet.records import Known, Records
from tortie.lab.kubelet.requests import Requests
from tortie.lab.kubelet.runtime_client import RuntimeFailure
from tortie.lab.kubelet.sources import Sources, Wanted
from tortie.lab.kubelet.telling import Telling
from tortie.lab.kubelet.template import kubelet_version, kubernetes_minor
from tortie.lab.kubelet.tended import Tended, attempts_from, superfluous
from tortie.lab.protocol import Channel, Closed, Message, listening

_LOOK_S: Final = 0.4  # at files
_RELIST_S: Final = 1.0
_RELIST_LEAST_S: Final = 0.3
_SYNC_S: Final = 1.0
_RUNTIME_S: Final = 120.0
_PLEG_S: Final = 180.0
_STATUS_S: Final = 10.0
_COMPLAIN_S: Final = 5.0

Told = dict[str, Any] | RuntimeFailure


class Kubelet:
    def __init__(self, job: KubeletJob) -> None:
        self._job, self._paths = job, Paths(job.root)
        self._minor = kubernetes_minor(job.classic)
        self._rules = Rules(job.hurry, self._minor)
        self._scheme = "docker" if machine.has_docker(job.classic) else "containerd"
        self._selector = selectors.DefaultSelector()
        self._requests = Requests(self._selector, self._paths.runtime_socket)
        self._prober = Prober(self._selector, self._paths.runtime_socket, job.address, self._minor, job.hurry)
        self._telling = Telling(Klog(self._paths.kubelet_log), self._minor)
        self._sources = Sources(job, self._telling.bad_manifest)
        records, now = Records(self._paths), time.time()
        before = records.read()
        self._desk = Desk(job, records, before, self._telling)
        self._tended = {
            pod["metadata"]["uid"]: Tended(known, pod, remembered(pod.get("status") or {}), now, spread=True)
            for known, pod in before.pods
        }
        self._began = now
        self._listing = False
        self._listed_at = float("-inf")  # when the list was asked for that counts
        self._list_next = self._look_next = self._status_next = self._complain_next = 0.0
        self._pleg_at: float | None = None
        self._removing: set[str] = set()

    def run(self) -> int:
        bell = Bell()
        listener = listening(self._paths.kubelet_socket)
        self._selector.register(listener, selectors.EVENT_READ, listener)
        self._selector.register(bell.fileno(), selectors.EVENT_READ, bell)
        self._telling.begins(kubelet_version(self._job.classic), self._job.node)
        self._desk.tell_node(Note("Normal", "Starting", "Starting kubelet."))
        while True:
            for key, _ in self._selector.select(self._pause_s()):
                if key.data is bell and bell.rung():
                    self._telling.ends()
                    return 0
                if key.data is listener:
                    with suppress(OSError):
                        channel = Channel(listener.accept()[0])
                        self._selector.register(channel, selectors.EVENT_READ, channel)
                elif isinstance(key.data, Channel):
                    self._listen_to(key.data)
            self._step()

    def _pause_s(self) -> float:
        now, clock = time.time(), time.monotonic()
        walls = [worker.tick_at for each in self._tended.values() for worker in each.workers.values()]
        walls += [each.wake_at for each in self._tended.values() if not each.busy]
        clocks = [self._look_next, self._list_next, self._status_next]
        clocks += [each for each in (self._prober.deadline(), self._requests.deadline()) if each is not None]
        return min(_LOOK_S, max(0.02, min([*(wall - now for wall in walls), *(each - clock for each in clocks)])))

    def _step(self) -> None:
        self._requests.step()
        for key, answer in self._prober.step():
            self._hear(key, answer)
        if time.monotonic() >= self._look_next:
            self._look_next = time.monotonic() + _LOOK_S
            self._look_at_sources()
        if time.monotonic() >= self._status_next and not self._too_early():
            self._status_next = time.monotonic() + _STATUS_S / self._job.hurry
            self._desk.report(self._pleg_at, [each.pod for each in self._tended.values()])
        self._relist()
        self._write_down()  # containers that are about to start may read it
        if self._healthy():
            for tended in list(self._tended.values()):
                self._sync_if_due(tended)
        for tended in list(self._tended.values()):
            self._tick(tended)
        self._write_down()

    def _write_down(self) -> None:
        self._desk.write([(each.known, each.pod) for each in self._tended.values()])

    def _too_early(self) -> bool:
        """A node is not told to be unready just because its kubelet has not yet had the time to look."""
        return self._pleg_at is None and time.time() - self._began < _LOOK_S

    # the control socket

    def _listen_to(self, channel: Channel) -> None:
        try:
            for message in channel.arrived():
                channel.send(self._answer(message))
        except Closed:
            self._selector.unregister(channel)
            channel.close()

    def _answer(self, message: Message) -> Message:
        match message.get("do"):
            case "sync":
                self._look_next = self._list_next = self._status_next = 0.0
                return {"done": {}}
            case "delete-pod":
                name, namespace = message.get("name"), message.get("namespace", "kube-system")
                found = [each for each in self._tended.values() if each.is_called(str(namespace), str(name))]
                for tended in found:
                    self._delete(tended)
                if found:
                    return {"done": {"deleted": [each.pod["metadata"]["name"] for each in found]}}
                return {"failure": {"what": f'pods "{name}" not found'}}
            case other:
                return {"failure": {"what": f"kubelet cannot do '{other}'"}}

    # which pods there shall be

    def _look_at_sources(self) -> None:
        wanted = self._sources.wanted()
        for tended in list(self._tended.values()):
            want = wanted.get(tended.known.source)
            if want is None or want.version != tended.known.version:
                self._delete(tended)
        there = {tended.known.source for tended in self._tended.values()}
        for source, want in wanted.items():
            if source not in there:
                self._take_up(want)

    def _take_up(self, want: Wanted) -> None:
        now = time.time()
        serial = self._desk.serials.get(want.source, 0)
        pod = want.pod(self._job, now, serial)
        self._desk.serials[want.source] = serial + 1
        tended = Tended(Known(want.source, want.version), pod, Memory(), now, spread=False)
        self._tended[tended.uid] = tended
        self._telling.loop("ADD", "file" if want.static else "api", pod)
        if not want.static:
            self._desk.tell(pod, scheduled(pod, self._job.node), scheduler=True)
        self._desk.changed = True

    def _delete(self, tended: Tended) -> None:
        if tended.deleting:
            return
        grace_s = tended.pod["spec"].get("terminationGracePeriodSeconds", 30)
        gone = {"deletionTimestamp": stamp(time.time() + grace_s), "deletionGracePeriodSeconds": grace_s}
        tended.pod = {**tended.pod, "metadata": {**tended.pod["metadata"], **gone}}
        self._telling.loop("DELETE", "api", tended.pod)
        tended.dirty = self._desk.changed = True

    def _forget(self, tended: Tended) -> None:
        self._telling.loop("REMOVE", "api", tended.pod)
        del self._tended[tended.uid]
        for container, kind in tended.workers:
            self._prober.drop(Key(tended.uid, container, kind))
        shutil.rmtree(tended.logs(self._job.root), ignore_errors=True)
        self._look_next = self._list_next = 0.0  # its place is free, its containers can go
        self._desk.changed = True

    # what the runtime says

    def _relist(self) -> None:
        clock = time.monotonic()
        if self._listing or clock < self._list_next:
            return
        self._listing = True
        self._requests.ask("list", _RUNTIME_S / self._job.hurry, partial(self._listed, clock))

    def _listed(self, asked_at: float, told: Told) -> None:
        self._listing = False
        self._list_next = time.monotonic() + max(_RELIST_LEAST_S, _RELIST_S / self._job.hurry)
        if isinstance(told, RuntimeFailure):
            if time.monotonic() >= self._complain_next:
                self._complain_next = time.monotonic() + _COMPLAIN_S / self._job.hurry
                self._telling.runtime(str(told))
            return
        if self._pleg_at is None:
            self._status_next = 0.0
        self._listed_at, self._pleg_at = asked_at, time.time()
        containers = told["containers"]
        for tended in self._tended.values():
            self._compare(tended, attempts_from(containers, tended.uid, self._scheme))
        for spare in superfluous(containers, set(self._tended)):
            self._clean_up(spare)

    def _compare(self, tended: Tended, attempts: tuple[Any, ...]) -> None:
        if attempts == tended.attempts:
            return
        before = {(each.container_id, each.state) for each in tended.attempts}
        for each in attempts:
            if (each.container_id, each.state) not in before:
                kind = "ContainerStarted" if each.state == "running" else "ContainerDied"
                self._telling.lived(kind, tended.pod, each.container_id.partition("://")[2])
        tended.attempts, tended.dirty = attempts, True

    def _clean_up(self, container: Mapping[str, Any]) -> None:
        ident = str(container["id"])
        if ident in self._removing:
            return
        self._removing.add(ident)
        timeout_s = _RUNTIME_S / self._job.hurry
        do, more = ("remove", {}) if container["state"] != "CONTAINER_RUNNING" else ("stop", {"grace_s": 0.2})
        self._requests.ask(do, timeout_s, lambda _: self._removing.discard(ident), id=ident, **more)

    def _healthy(self) -> bool:
        """Whether the runtime was seen; while it was not, nothing is decided, and records stay as they are."""
        limit_s = _PLEG_S / self._job.hurry
        age_s = None if self._pleg_at is None else time.time() - self._pleg_at
        if age_s is not None and age_s <= limit_s:
            return True
        if time.monotonic() >= self._complain_next and (age_s is not None or time.time() - self._began > 1.0):
            self._complain_next = time.monotonic() + _COMPLAIN_S / self._job.hurry
            self._telling.skips(age_s, limit_s)
        return False

    # one pod

    def _sync_if_due(self, tended: Tended) -> None:
        now = time.time()
        if tended.busy or self._listed_at <= tended.acted_at or not (tended.dirty or now >= tended.wake_at):
            return
        done = sync(tended.pod, tended.memory, tended.attempts, tuple(tended.workers.values()), now, self._rules)
        self._desk.changed |= done.status != tended.pod.get("status")
        tended.memory, tended.dirty = done.memory, False
        tended.pod = {**tended.pod, "status": done.status}
        tended.wake_at = min(now + _SYNC_S, done.wake_at if done.wake_at is not None else now + _SYNC_S)
        for note in done.notes:
            self._desk.tell(tended.pod, note)
            if note.reason == "BackOff" and (waiting := tended.memory.waiting.get(note.container)):
                self._telling.cannot_start(tended.pod, note.container, waiting.reason, waiting.message)
        for action in done.actions:
            self._kill(tended, action) if isinstance(action, Kill) else self._start(tended, action)
        for container in done.trigger:
            self._turn(tended, (container, "readiness"))
        if done.finished:
            self._forget(tended)

    def _start(self, tended: Tended, start: Start) -> None:
        name = start.container
        spec, words = named(tended.pod, name), tended.words(name)
        if not words:
            self._could_not(tended, name, "CreateContainerError", "Error response from daemon: No command specified")
            return
        self._desk.tell(tended.pod, pulled(str(spec.get("image", "")), name))
        metadata = tended.pod["metadata"]
        tended.busy += 1
        self._requests.ask(
            "run",
            _RUNTIME_S / self._job.hurry,
            partial(self._started, tended, name),
            pod=metadata["name"],
            namespace=metadata["namespace"],
            uid=metadata["uid"],
            container=name,
            attempt=start.attempt,
            image=str(spec.get("image", "")),
            words=words,
            environment=tended.environment(name, self._job),
            log=tended.log(self._job.root, name, start.attempt),
        )

    def _started(self, tended: Tended, name: str, told: Told) -> None:
        self._acted(tended)
        if isinstance(told, RuntimeFailure):
            self._could_not(tended, name, "RunContainerError", told.desc)
            return
        self._desk.tell(tended.pod, created(name, self._minor))
        self._desk.tell(tended.pod, started(name))

    def _could_not(self, tended: Tended, name: str, reason: str, message: str) -> None:
        tended.memory = start_failed(tended.memory, name, reason, message, time.time())
        self._desk.tell(tended.pod, start_error(name, message))
        self._telling.cannot_start(tended.pod, name, reason, message)
        tended.dirty = True

    def _kill(self, tended: Tended, kill: Kill) -> None:
        self._telling.kills(tended.pod, kill)
        tended.busy += 1
        self._requests.ask(
            "stop",
            kill.grace_s + _RUNTIME_S / self._job.hurry,
            partial(self._killed, tended, kill),
            id=kill.container_id.partition("://")[2],
            grace_s=kill.grace_s,
        )

    def _killed(self, tended: Tended, kill: Kill, told: Told) -> None:
        self._acted(tended)
        if isinstance(told, RuntimeFailure) and told.code != "NotFound":
            # It is ordered again: kubelet tries until it is done.
            tended.memory = tended.memory._replace(killed=tended.memory.killed - {kill.container_id})
            self._desk.tell(tended.pod, Note("Warning", "FailedKillPod", f"error killing pod: {told}"))

    def _acted(self, tended: Tended) -> None:
        tended.busy -= 1
        tended.acted_at = time.monotonic()
        tended.dirty = True
        self._list_next = 0.0

    # probes

    def _tick(self, tended: Tended) -> None:
        now = time.time()
        for place, worker in tended.workers.items():
            if now >= worker.tick_at:
                self._turn(tended, place)

    def _turn(self, tended: Tended, place: tuple[str, str]) -> None:
        worker, key = tended.workers.get(place), Key(tended.uid, *place)
        if worker is None or self._prober.asks(key):
            return
        seen = target(tended.attempts, tuple(tended.workers.values()), place[0])
        took = turn(worker, seen, time.time(), deleting=tended.deleting)
        tended.workers[place] = took.worker
        tended.dirty |= took.worker.result != worker.result
        if took.ask and seen:
            ident = seen.container_id.partition("://")[2]
            self._prober.ask(key, worker.probe, ident, tended.environment(place[0], self._job))

    def _hear(self, key: Key, answer: Answer) -> None:
        tended = self._tended.get(key.uid)
        if tended is None:
            return
        place = (key.container, key.kind)
        before = tended.workers[place]
        told = answered(before, answer, self._minor)
        tended.workers[place] = told.worker
        if told.note:
            self._desk.tell(tended.pod, told.note)
            self._telling.probe(key.kind, tended.pod, key.container, answer.outcome, answer.output)
        tended.dirty |= told.worker.result != before.result
