"""One described thing: its head, conditions, addresses and system information."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Fact, Node, Pod, Registered, Setting, Version, Workload
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.times import epoch

if TYPE_CHECKING:
    from tortie.doctor.reading.readers.described_containers import Containers

FIELD: Final = lazily(r"(\s*)([A-Za-z][\w ./()-]{0,60}?):(?:\s+(\S.*?))?\s*$")
_LISTS: Final = ("Labels", "Annotations", "Taints")
_MOMENT: Final = r"(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4})"
_CONDITION: Final = lazily(
    rf"\s+([A-Z][A-Za-z]+)\s+(True|False|Unknown)\s+{_MOMENT}\s+{_MOMENT}\s+([A-Z]\w+)(?:\s+(\S.*))?$"
)
_BARE_CONDITION: Final = lazily(
    r"\s+(Initialized|Ready|ContainersReady|PodScheduled|PodReadyToStartContainers|MemoryPressure|DiskPressure|PIDPressure|"
    r"NetworkUnavailable|Available|Progressing|OutOfDisk)\s+(True|False|Unknown)(?:\s+([A-Z]\w+))?\s*$"
)
_SYSTEM: Final = {
    "Kernel Version": "kernel", "Kubelet Version": "kubelet", "Container Runtime Version": "",
}  # fmt: skip


class Described:
    """Lines `start` to `stop` of an exhibit. What the command asked for counts when the name is not among them."""

    def __init__(self, exhibit: Exhibit, start: int, stop: int, kind: str, name: str) -> None:
        self.exhibit, self.start, self.stop = exhibit, start, stop
        self.fields: dict[str, tuple[str, int]] = {}  # first column's fields: value and line
        self.lists: dict[str, list[str]] = {}
        self._last = start
        self._read_head()
        self.named = "Name" in self.fields
        self.name = self.fields["Name"][0] if self.named else name
        self.kind = self._kind(kind)
        self.subject = f"{self.kind}/{self.name}" if self.name and self.kind else self.name

    def _read_head(self) -> None:
        current = ""
        for index in range(self.start, self.stop):
            line = self.exhibit.lines[index]
            if line[:1].isspace():
                if current and line.startswith("         "):
                    self.lists[current].append(line.strip())
                    self._last = index
                else:
                    current = ""
                continue
            current = ""
            match = FIELD.match(line)
            if match:
                key, value = match[2], match[3] or ""
                if key in _LISTS:
                    self.lists[key] = [value] if value and value != "<none>" else []
                    current = key
                self.fields.setdefault(key, (value, index))

    def _kind(self, kind: str) -> str:
        if "Node" in self.fields or "Start Time" in self.fields:
            return "pod"
        if {"Roles", "System Info", "Taints", "Unschedulable"} & self.fields.keys():
            return "node"
        if "Desired Number of Nodes Scheduled" in self.fields:
            return "ds"
        return kind or ("deploy" if "Replicas" in self.fields else "")

    def value(self, key: str) -> str:
        value = self.fields.get(key, ("", 0))[0]
        return "" if value in ("<none>", "<unset>") else value

    @property
    def place(self) -> Place:
        """The head: from the name to the last field of the first column that says something of the thing itself."""
        keys = ("Name", "Node", "Status", "IP", "Start Time", "Roles", "Taints", "Controlled By")
        lines = [self.fields[key][1] for key in keys if key in self.fields] or [self.start]
        return self.exhibit.place(min(lines), max(lines) + 1)

    def facts(self, containers: Containers) -> Iterator[Fact]:
        if self.kind == "node" and self.name:
            yield from self._node()
        elif self.kind == "pod" and self.named:
            yield self._pod(containers)
        elif self.kind in ("ds", "deploy") and self.named:
            yield from self._workload()
        yield from self._lines()

    def _pod(self, containers: Containers) -> Pod:
        node, _, host_ip = self.value("Node").partition("/")
        ready, of = containers.ready()
        return Pod(
            self.place, self.name, self.value("Namespace"), ready, of, containers.status(self.value("Status")),
            containers.restarts(), None, self.value("IP"), node, host_ip, epoch(self.value("Start Time")),
            self.value("Controlled By") or self.value("Controllers"),
        )  # fmt: skip

    def _node(self) -> Iterator[Fact]:
        inner = dict(self._inner())
        addresses = tuple((key, inner[key][0]) for key in ("InternalIP", "ExternalIP", "Hostname") if key in inner)
        annotations = tuple(_pairs(self.lists.get("Annotations", [])))
        condition = next((c for c in self._conditions() if c.kind == "Ready"), None)
        status = "" if condition is None else "Ready" if condition.status == "True" else "NotReady"
        if status and self.value("Unschedulable") == "true":
            status += ",SchedulingDisabled"

        def said(key: str) -> str:
            return inner.get(key, ("", 0))[0]

        yield Node(
            self.place, self.name, status, self.value("Roles"), "", said("Kubelet Version"), said("InternalIP"),
            addresses, annotations, tuple(_pairs(self.lists.get("Labels", []))), tuple(self.lists.get("Taints", [])),
            self.value("PodCIDR") or self.value("PodCIDRs"), said("OS Image"), said("Kernel Version"),
            said("Container Runtime Version"), said("Architecture"),
        )  # fmt: skip

    def _workload(self) -> Iterator[Fact]:
        desired = self.value("Desired Number of Nodes Scheduled")
        status = re.match(r"(\d+) desired.*?(\d+) available", self.value("Replicas"))
        running = re.match(r"(\d+) Running", self.value("Pods Status"))
        ready = self.value("Number of Nodes Scheduled with Available Pods")
        if desired.isdecimal():
            current = self.value("Current Number of Nodes Scheduled")
            yield Workload(
                self.place, "DaemonSet", self.name, self.value("Namespace"), int(desired),
                int(current) if current.isdecimal() else None,
                int(ready) if ready.isdecimal() else int(running[1]) if running else None,
            )  # fmt: skip
        elif status:
            yield Workload(
                self.place, "Deployment", self.name, self.value("Namespace"), int(status[1]), None, int(status[2])
            )

    def _inner(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """Indented fields (addresses, system information)."""
        for index in range(self.start, self.stop):
            match = FIELD.match(self.exhibit.lines[index])
            if match and match[1] and match[3]:
                yield match[2], (match[3], index)

    def _conditions(self) -> Iterator[Condition]:
        for index in range(self.start, self.stop):
            line = self.exhibit.lines[index]
            if not line[:1].isspace() or not ("True" in line or "False" in line or "Unknown" in line):
                continue
            place = self.exhibit.place(index)
            if match := _CONDITION.match(line):
                yield Condition(
                    place, self.name, match[1], match[2], match[5], match[6] or "", epoch(match[3]), epoch(match[4])
                )
            elif match := _BARE_CONDITION.match(line):
                yield Condition(place, self.name, match[1], match[2], match[3] or "")

    def _lines(self) -> Iterator[Fact]:
        """What single lines say, wherever they stand."""
        yield from self._conditions()
        host = self.name if self.kind == "node" else ""
        for index in range(self.start, self.stop):
            line = self.exhibit.lines[index]
            if "projectcalico.org/IPv4Address" in line and self.named:
                yield from annotated(self.exhibit.place(index), line, host)
            elif " Version:" in line and (match := FIELD.match(line)) and match[2] in _SYSTEM and match[3]:
                component, version = _SYSTEM[match[2]], match[3]
                if not component:
                    component, _, version = version.partition("://")
                yield Version(self.exhibit.place(index), component, version, host)
            elif line.lstrip().startswith("RenewTime:") and (match := FIELD.match(line)) and match[3]:
                yield Setting(self.exhibit.place(index), "lease", "RenewTime", match[3], host)


def annotated(place: Place, line: str, node: str) -> Iterator[Registered]:
    """The address of Calico's annotation in a line of describe, YAML or JSON."""
    match = re.search(r"projectcalico\.org/IPv4Address[\"']?\s*[:=]\s*[\"']?(\d+(?:\.\d+){3})(?:/(\d+))?", line)
    if match:
        yield Registered(place, node, match[1], int(match[2]) if match[2] else None, "annotation")


def _pairs(items: list[str]) -> Iterator[tuple[str, str]]:
    """`key: value` of annotations, `key=value` of labels and of annotations of old releases."""
    for item in items:
        match = re.match(r"([^\s=:]+(?::[^\s=]+)?)(?::\s*|=)(.*)$", item)
        if match:
            yield match[1].rstrip(":"), match[2].strip()
