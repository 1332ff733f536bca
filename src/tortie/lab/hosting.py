"""The pods of a lab that runs: made, wired through the node's own CNI plugins, held as descriptors, and taken away.

Part of the keeper, which does nothing that could take long itself: each plugin chain runs in a process of its own,
inside of the node, many at a time. A pod that a plugin wants to be tried again gets a new sandbox for that, as kubelet
makes one: whatever a plugin still does to the old one then cannot hit the new one.
"""

from __future__ import annotations

import json
import os
import secrets
import time
import uuid
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from tortie.host.namespaces import Mark, Namespaces, close
from tortie.lab.chain import TRY_LATER, UNKNOWN, Attachment, addresses_of, outer_interface
from tortie.lab.crew import Crew
from tortie.lab.errands import run_all
from tortie.lab.failures import LabFailure
from tortie.lab.launch import Life, Place
from tortie.lab.pods import Pod, PodName, Wanted
from tortie.lab.registry import LabFolder
from tortie.lab.runtime import UNDO_S, Job, attach, configurations, detach
from tortie.lab.sandbox import Sandboxes

_PAUSES_S: Final = (0.1, 0.2, 0.4, 0.8, 1.6)  # before another attempt; the last one stays
_MADE_AT_ONCE: Final = 8  # sandboxes, before the keeper listens to others again
_GRACE_S: Final = 5.0
_INSTALLED: Final = (0, 4)  # exit codes of `cni install`: 4 is a warning, and the pods will tell

Work = Generator[float, None, dict[str, Any]]
Outcome = dict[str, Any]
Tell = Callable[..., None]  # a step, and facts about it


class Ground(NamedTuple):
    """What the lab knows about its nodes."""

    root: Callable[[str], str]
    place: Callable[[str], Place]  # for whatever runs in a node on behalf of a pod
    install: Callable[[str], Life]  # puts the node's plugins and their configuration in place
    changed: Callable[[], None]  # called whenever pods have come or gone


class Hosted:
    """One pod, as long as it is there."""

    def __init__(self, pod: Pod, namespaces: Namespaces, mark: Mark) -> None:
        self.pod = pod
        self.namespaces = namespaces
        self.mark = mark
        self.began = time.monotonic()
        self.errand: int | None = None  # the process that wires it at this moment

    def as_json(self, now: float) -> dict[str, Any]:
        return self.pod.as_json(now - self.began)


class Hosting:
    def __init__(self, folder: LabFolder, crew: Crew, ground: Ground) -> None:
        self._folder = folder
        self._crew = crew
        self._ground = ground
        self._sandboxes = Sandboxes()
        self._pods: dict[PodName, Hosted] = {}

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(hosted.mark for hosted in self._pods.values())

    @property
    def names(self) -> list[str]:
        return [name.label for name in self._pods]

    def get(self, label: str) -> Hosted | None:
        return next((hosted for name, hosted in self._pods.items() if name.label == label), None)

    def node_of(self, name: PodName) -> str:
        """Empty for a pod that is not there."""
        return self._pods[name].pod.node if name in self._pods else ""

    def counts(self) -> dict[str, int]:
        """By node."""
        found: dict[str, int] = {}
        for hosted in self._pods.values():
            found[hosted.pod.node] = found.get(hosted.pod.node, 0) + 1
        return found

    def told(self) -> list[dict[str, Any]]:
        now = time.monotonic()
        return [hosted.as_json(now) for hosted in self._pods.values()]

    def leave(self, nodes: Collection[str]) -> None:
        """With a node its pods go; nobody is left who could run a plugin for them."""
        for name, hosted in list(self._pods.items()):
            if hosted.pod.node in nodes:
                if hosted.errand is not None:
                    self._crew.end_errand(hosted.errand)
                self._let_go([name])

    def close(self) -> None:
        self._let_go(list(self._pods))

    def run(self, wanted: Sequence[Wanted], timeout_s: float, tell: Tell) -> Work:
        deadline = time.monotonic() + timeout_s
        already, fresh = self._sorted(wanted)
        failed: dict[PodName, Outcome] = {}
        open_ones = list(fresh)
        try:
            yield from self._make(fresh.values())
            self._ground.changed()
            open_ones = self._still_there(open_ones, fresh, failed)
            unfit = yield from self._prepare({fresh[name].node for name in open_ones}, deadline)
            failed |= {name: unfit[fresh[name].node] for name in open_ones if fresh[name].node in unfit}
            open_ones = [name for name in open_ones if name not in failed]
            attempt = 0
            while open_ones := self._still_there(open_ones, fresh, failed):
                outcomes = yield from self._errands(open_ones, attach, deadline)
                pause_s = _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)]
                again = self._judge(outcomes, failed, may_try=time.monotonic() + pause_s < deadline)
                open_ones = again
                if again:
                    attempt += 1
                    tell("pods", waiting=[name.label for name in again], why=outcomes[again[0]]["why"])
                    yield from _wait(pause_s)
                    open_ones = self._still_there(again, fresh, failed)
                    self._let_go(open_ones)  # a sandbox is used once
                    yield from self._make([fresh[name] for name in open_ones])
                    self._ground.changed()
        except BaseException:
            self._let_go(open_ones)
            raise
        finally:
            self._let_go(name for name in failed if name in self._pods)
            self._ground.changed()
        now = time.monotonic()
        made = [self._pods[name].as_json(now) for name in fresh if name in self._pods]
        return {
            "pods": made,
            "already": [self._pods[name].as_json(now) for name in already if name in self._pods],
            "failed": [_failure(name, fresh[name].node, outcome) for name, outcome in failed.items()],
        }

    def delete(self, names: Sequence[PodName], timeout_s: float) -> Work:
        for name in names:
            if name not in self._pods:
                raise LabFailure("unknown-pod", lab=self._folder.name, pod=name.label, pods=self._listed())
            if self._pods[name].pod.state != "running":
                raise LabFailure("pod-busy", pod=name.label, state=self._pods[name].pod.state)
        names = list(dict.fromkeys(names))
        nodes = {name: self._pods[name].pod.node for name in names}
        for name in names:
            self._set(name, state="ending")
        outcomes: dict[PodName, Outcome] = {}
        try:
            outcomes = yield from self._errands(names, detach, time.monotonic() + timeout_s)
        finally:
            gone = [name for name, outcome in outcomes.items() if "result" in outcome]
            self._let_go(gone)
            for name in names:
                if name in self._pods:
                    self._set(name, state="running")
            self._ground.changed()
        failed = {name: outcome for name, outcome in outcomes.items() if name not in gone}
        return {
            "deleted": [{"name": name.name, "namespace": name.namespace, "node": nodes[name]} for name in gone],
            "failed": [_failure(name, nodes[name], outcome) for name, outcome in failed.items()],
        }

    def all_names(self) -> list[PodName]:
        return [name for name, hosted in self._pods.items() if hosted.pod.state == "running"]

    def _listed(self) -> str:
        names = self.names
        return ", ".join(names[:10]) + (", …" if len(names) > 10 else "") or "-"

    def _sorted(self, wanted: Sequence[Wanted]) -> tuple[list[PodName], dict[PodName, Wanted]]:
        """Those that are there as they are wanted, and the others."""
        already: list[PodName] = []
        fresh: dict[PodName, Wanted] = {}
        for each in wanted:
            hosted = self._pods.get(each.name)
            if hosted is None:
                fresh[each.name] = each
            elif hosted.pod.state != "running":
                raise LabFailure("pod-busy", pod=each.name.label, state=hosted.pod.state)
            elif each.node and hosted.pod.node != each.node:
                raise LabFailure("pod-elsewhere", pod=each.name.label, node=hosted.pod.node, wanted=each.node)
            else:
                already.append(each.name)
        return already, fresh

    def _make(self, wanted: Iterable[Wanted]) -> Generator[float, None, None]:
        made: list[PodName] = []
        try:
            for each in wanted:
                if each.name in self._pods:  # since we looked
                    raise LabFailure("pod-busy", pod=each.name.label, state=self._pods[each.name].pod.state)
                pod = Pod(each.name, each.node, secrets.token_hex(32), str(uuid.uuid4()))
                namespaces, mark = self._sandboxes.make(each.name.name)
                self._pods[each.name] = Hosted(pod, namespaces, mark)
                made.append(each.name)
                if len(made) % _MADE_AT_ONCE == 0:
                    yield 0.0
        except BaseException:
            self._let_go(made)
            raise

    def _still_there(
        self, names: Iterable[PodName], fresh: Mapping[PodName, Wanted], failed: dict[PodName, Outcome]
    ) -> list[PodName]:
        """Nodes may leave while their pods are being made."""
        there = [name for name in names if name in self._pods]
        failed |= {name: _gone(fresh[name].node) for name in names if name not in there}
        return there

    def _prepare(self, nodes: Collection[str], deadline: float) -> Generator[float, None, dict[str, Outcome]]:
        """Where no pod has been before, the plugins are installed first. Returns where that failed, and why."""
        bare = [node for node in nodes if not configurations(self._ground.root(node))]
        lives = {node: self._ground.install(node) for node in bare}
        ended = yield from run_all(self._crew, lives, deadline + _GRACE_S)
        return {
            node: {"plugin": "", "code": UNKNOWN, "why": _last_words(lives[node].place.log)}
            for node, how in ended.items()
            if how is None or how.code not in _INSTALLED
        }

    def _errands(
        self, names: Iterable[PodName], become: Callable[[Job], int], deadline: float
    ) -> Generator[float, None, dict[PodName, Outcome]]:
        folder = os.path.join(self._folder.path, "pods")
        os.makedirs(folder, exist_ok=True)
        jobs = {}
        for name in names:
            hosted = self._pods[name]
            pod = hosted.pod
            netns = f"/proc/{os.getpid()}/fd/{hosted.namespaces['net']}"
            attachment = Attachment(pod.container, netns, name.name, name.namespace, pod.uid)
            outcome = os.path.join(folder, f"{pod.container}.json")
            jobs[name] = Job(attachment, self._ground.root(pod.node), deadline, outcome)
        lives = {
            name: Life(self._ground.place(self._pods[name].pod.node), partial(become, job))
            for name, job in jobs.items()
        }
        try:
            yield from run_all(self._crew, lives, deadline + UNDO_S + _GRACE_S, self._note)
            return {name: self._outcome(name, job) for name, job in jobs.items()}
        finally:
            for job in jobs.values():
                with suppress(OSError):
                    os.unlink(job.outcome)

    def _outcome(self, name: PodName, job: Job) -> Outcome:
        try:
            with open(job.outcome, encoding="utf-8") as file:
                outcome: Outcome = json.load(file)
                return outcome
        except (OSError, ValueError):
            if name not in self._pods:
                return _gone(os.path.basename(job.root))
            return {"plugin": "", "code": UNKNOWN, "why": "the process that ran its plugins was ended"}

    def _note(self, name: PodName, errand: int | None) -> None:
        hosted = self._pods.get(name)
        if hosted:
            hosted.errand = errand

    def _judge(
        self, outcomes: Mapping[PodName, Outcome], failed: dict[PodName, Outcome], *, may_try: bool
    ) -> list[PodName]:
        """Takes note of what came of it; returns those that are to be tried again."""
        again = []
        for name, outcome in outcomes.items():
            result = outcome.get("result")
            if name not in self._pods:
                failed[name] = outcome if result is None else _gone("its node")
            elif result is not None:
                addresses, interface = addresses_of(result), outer_interface(result)
                self._set(name, state="running", addresses=addresses, interface=interface)
            elif outcome["code"] == TRY_LATER and may_try:
                again.append(name)
            else:
                failed[name] = outcome
        return again

    def _set(self, name: PodName, **facts: Any) -> None:
        hosted = self._pods[name]
        hosted.pod = hosted.pod._replace(**facts)

    def _let_go(self, names: Iterable[PodName]) -> None:
        """The kernel then removes the namespace with its end of the cable, and so the other end."""
        for name in list(names):
            hosted = self._pods.pop(name, None)
            if hosted:
                close(hosted.namespaces)


def _wait(seconds: float) -> Generator[float, None, None]:
    until = time.monotonic() + seconds
    while (left_s := until - time.monotonic()) > 0:
        yield left_s


def _gone(node: str) -> Outcome:
    return {"plugin": "", "code": UNKNOWN, "why": f"{node} has left the lab"}


def _failure(name: PodName, node: str, outcome: Outcome) -> dict[str, Any]:
    told = {key: outcome[key] for key in ("plugin", "code", "why")}
    return {"name": name.name, "namespace": name.namespace, "node": node, **told}


def _last_words(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().splitlines()[-3:]) or "`tortie cni install` wrote nothing"
    except OSError:
        return "`tortie cni install` wrote nothing"
