"""One pod of which a kubelet takes care, and what it sees of it in the runtime."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from tortie.lab.kubelet.jobs import KubeletJob, Paths
from tortie.lab.kubelet.lifecycle import Attempt, Memory
from tortie.lab.kubelet.objects import Object, made_hex, main_containers, named
from tortie.lab.kubelet.probes import Worker, new_worker, probes_of
from tortie.lab.kubelet.records import Known
from tortie.lab.kubelet.template import environment_of
from tortie.lab.notes import read_note


class Tended:
    def __init__(self, known: Known, pod: Object, memory: Memory, now: float, *, spread: bool) -> None:
        """`spread`: a kubelet that finds pods running does not probe all of them in the same moment."""
        self.known = known
        self.pod = pod
        self.memory = memory
        self.attempts: tuple[Attempt, ...] = ()
        self.workers: dict[tuple[str, str], Worker] = {}
        self.busy = 0  # requests under way: no sync meanwhile, as kubelet has one worker for each pod
        self.acted_at = float("-inf")  # what was listed before then is out of date
        self.wake_at = now
        self.dirty = True
        for container in main_containers(pod):
            for probe in probes_of(container):
                part = int(made_hex(4, self.uid, probe.container, probe.kind), 16) / 0x10000
                worker = new_worker(probe, now, part * probe.period_s if spread else 0.0)
                self.workers[probe.container, probe.kind] = worker

    @property
    def uid(self) -> str:
        return str(self.pod["metadata"]["uid"])

    def is_called(self, namespace: str, name: str) -> bool:
        """By its own name, or by that of the DaemonSet or Deployment that it belongs to."""
        metadata = self.pod["metadata"]
        stem = str(metadata.get("generateName", "")).removesuffix("-")
        # A Deployment's pods have its revision between the two.
        names = {metadata["name"], stem, stem.rpartition("-")[0] if "pod-template-hash" in _labels(metadata) else stem}
        return metadata["namespace"] == namespace and name != "" and name in names

    @property
    def deleting(self) -> bool:
        return bool(self.pod["metadata"].get("deletionTimestamp"))

    def log(self, root: str, container: str, attempt: int) -> str:
        return os.path.join(self.logs(root), container, f"{attempt}.log")

    def logs(self, root: str) -> str:
        metadata = self.pod["metadata"]
        name = f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"
        return os.path.join(Paths(root).pod_logs, name)

    def words(self, container: str) -> list[str]:
        spec = named(self.pod, container)
        return [str(word) for word in (*(spec.get("command") or ()), *(spec.get("args") or ()))]

    def environment(self, container: str, job: KubeletJob) -> dict[str, str]:
        """The node's, then what the pod says, then what the keeper was told to change."""
        found = dict(job.environment) | environment_of(named(self.pod, container), self.pod)
        for name, value in read_note(Paths(job.root).overlay).items():
            found.pop(name, None)
            if value is not None:
                found[name] = str(value)
        return found


def _labels(metadata: Object) -> Mapping[str, str]:
    return metadata.get("labels") or {}


def attempts_from(records: Iterable[Mapping[str, Any]], uid: str, scheme: str) -> tuple[Attempt, ...]:
    """The containers of one pod, as the runtime lists them; of each name those that run and the last that ended."""
    newest: dict[str, Attempt] = {}
    running: list[Attempt] = []
    for record in records:
        if record["uid"] != uid:
            continue
        attempt = _attempt(record, scheme)
        if attempt.state == "running":
            running.append(attempt)
        elif attempt.name not in newest or newest[attempt.name].attempt < attempt.attempt:
            newest[attempt.name] = attempt
    return tuple(sorted((*running, *newest.values()), key=lambda each: (each.started_at, each.name)))


def _attempt(record: Mapping[str, Any], scheme: str) -> Attempt:
    runs = record["state"] == "CONTAINER_RUNNING"
    return Attempt(
        name=record["container"],
        attempt=record["attempt"],
        container_id=f"{scheme}://{record['id']}",
        state="running" if runs else "exited",
        created_at=record["started_at"],
        started_at=record["started_at"],
        finished_at=0.0 if runs else record["finished_at"],
        exit_code=0 if runs else record["exit_code"] or 0,
        reason="Unknown" if record.get("reason") == "Unknown" else "",
    )


def superfluous(records: Iterable[Mapping[str, Any]], uids: set[str]) -> list[Mapping[str, Any]]:
    """Containers that nobody needs any more: those of pods that are gone, and ends before the last one."""
    last: dict[tuple[str, str], int] = {}
    every = list(records)
    for record in every:
        if record["state"] != "CONTAINER_RUNNING":
            key = (record["uid"], record["container"])
            last[key] = max(last.get(key, -1), record["attempt"])
    return [
        record
        for record in every
        if record["uid"] not in uids
        or (record["state"] != "CONTAINER_RUNNING" and record["attempt"] < last[record["uid"], record["container"]])
    ]
