"""Where a kubelet keeps what it tells everybody: its Node and the events, written down with the pods."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from tortie.lab.kubelet import machine
from tortie.lab.kubelet.conditions import NodeHealth, node_object, ready
from tortie.lab.kubelet.events import Note, kept, record
from tortie.lab.kubelet.jobs import KubeletJob
from tortie.lab.kubelet.objects import Object, node_reference, reference, seconds
from tortie.lab.kubelet.records import Known, Records, Recovered
from tortie.lab.kubelet.runtime import VERSION
from tortie.lab.kubelet.telling import Telling

_AGENT: Final = "calico-node"


class Desk:
    def __init__(self, job: KubeletJob, records: Records, before: Recovered, telling: Telling) -> None:
        self._job, self._records, self._telling = job, records, telling
        self._node, self._book = before.node, before.book
        self._created_at = seconds(before.node["metadata"]["creationTimestamp"]) if before.node else time.time()
        self.serials = before.serials
        self.changed = True
        self._cut_off = False  # its uplink is down

    def tell(self, pod: Object, note: Note, *, scheduler: bool = False) -> None:
        component, host = ("default-scheduler", "") if scheduler else ("kubelet", self._job.node)
        subject = reference(pod, note.container)
        self._book = record(self._book, note, subject, time.time(), component=component, host=host)
        self.changed = True

    def tell_node(self, note: Note) -> None:
        subject = node_reference(self._job.node)
        self._book = record(self._book, note, subject, time.time(), host=self._job.node)
        self.changed = True

    def report(self, runtime_seen_at: float | None, pods: Sequence[Object]) -> None:
        """The node's status, as kubelet sends it every ten seconds."""
        address = machine.address_now(self._job.address)
        self._cut_off = address is None
        if address is None:
            return
        now, before = time.time(), self._node
        agent = any(machine.says_ready(pod, _AGENT) for pod in pods)
        health = NodeHealth(
            runtime_seen_at=runtime_seen_at,
            pleg_seen_at=runtime_seen_at,
            network_ready=machine.network_ready(self._job.root),
            docker=machine.has_docker(self._job.classic),
            disk_pressure=machine.disk_pressure(self._job.root, self._job.folder),
            calico="up" if agent or machine.network_told(before) else None,
        )
        facts = machine.facts(self._job, address, self._created_at, VERSION)
        self._node = node_object(facts, health, before, now, self._job.hurry)
        was, is_now = bool(before and ready(before)), ready(self._node)
        if was != is_now:
            kind = "NodeReady" if is_now else "NodeNotReady"
            self.tell_node(Note("Normal", kind, f"Node {self._job.node} status is now: {kind}"))
            self._telling.node(kind, self._job.node)
        self._book = kept(self._book, now)
        self.changed = True

    def write(self, pods: Sequence[tuple[Known, Object]]) -> None:
        """If there is anything new; not before the node has a status, and not while nobody could hear of it."""
        if self.changed and self._node and not self._cut_off:
            self.changed = False
            self._records.write(self._node, pods, self._book, self.serials)
