"""`kubectl describe` of pods, nodes and workloads, whole or any part of it that tail, grep and sed leave."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import event_lines
from tortie.doctor.reading.readers.bounds import bounded
from tortie.doctor.reading.readers.described import Described
from tortie.doctor.reading.readers.described_containers import Containers
from tortie.doctor.reading.readers.described_resources import described_resources

_SIGNS: Final = lazily(
    r"^[ \t]*(?:Name|Node|Image|State|Last State|Ready|Restart Count|Exit Code|Liveness|Readiness|Startup|Annotations|"
    r"Taints|Start Time|Kernel Version|Kubelet Version|Container Runtime Version|InternalIP|Status|Host Port|"
    r"Desired Number of Nodes Scheduled|Number of Nodes Misscheduled|PodCIDR|Limits|Conditions|Reason)s?:\s",
    re.MULTILINE,
)
_EVENTS: Final = lazily(r"^[ \t]*(?:- )?\"?kind\"?: \"?Event\b", re.MULTILINE)  # documents say it themselves
_CONDITION: Final = ("Pressure ", "NetworkUnavailable ", "Ready  ", "ContainersReady", "PodScheduled", "Initialized ")
_SUBJECT: Final = (
    r"\bdescribe\s+(?:-[^\s=]++(?:=\S++| (?!-)[\w.-]++)?\s++){0,20}?"
    r"(\w+)[ /]+(?:-n[ =]?[\w-]+\s+)?(?:\w+/)?([a-z0-9][\w.-]*)"
)
_KINDS: Final = {"po": "pod", "pods": "pod", "no": "node", "nodes": "node", "daemonset": "ds", "deployment": "deploy"}


def read(exhibit: Exhibit) -> Iterator[Fact]:
    exhibit = bounded(exhibit)
    text = exhibit.text
    kind, name = subject(exhibit.command)
    if "API Version:" in text and "Name:" in text:
        yield from described_resources(exhibit)
    if _SIGNS.search(text) or any(sign in text for sign in _CONDITION):
        yield from _parts(exhibit, kind, name)
    elif event_lines.may_have(text) and not _EVENTS.search(text):
        yield from event_lines.events(exhibit, f"{kind}/{name}" if name else "")


def _parts(exhibit: Exhibit, kind: str, name: str) -> Iterator[Fact]:
    """Each described thing begins with its name in the first column."""
    starts = [i for i, line in enumerate(exhibit.lines) if line.startswith("Name:") and line[5:].strip()]
    bounds = sorted({0, *starts, len(exhibit.lines)})
    for start, stop in pairwise(bounds):
        described = Described(exhibit, start, stop, kind, name)
        containers = Containers(described)
        facts = [*containers.facts()]
        yield from described.facts(containers)
        yield from facts
        part = exhibit._replace(
            first=exhibit.number(start), lines=exhibit.lines[start:stop], numbers=exhibit.numbers[start:stop]
        )
        yield from event_lines.events(part, described.subject)


def subject(command: str) -> tuple[str, str]:
    """Kind and name that a describe command asks for: (pod, calico-node-x)."""
    if "describe" not in command:
        return "", ""
    match = _compiled(_SUBJECT).search(command)
    if not match:
        return "", ""
    return _KINDS.get(match[1], match[1]), match[2]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
