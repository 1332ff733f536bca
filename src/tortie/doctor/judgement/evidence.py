"""Quotes of a diagnosis, numbered in the order they are first used, and the lines that nobody understood."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.diagnosis import Quote
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place

# Frames and heads of tables, and lines that only announce what follows: nothing to understand.
_FRAME: Final = re.compile(
    r"[-+=|_*#~<>. \t]+|[-A-Z0-9 ()%/:._#+|]+|Type +Status|Type +Reason +Age .*"
    r"|(?:IPv[46] BGP status|total \d+|Events:(?: +<none>)?|Conditions:|Volumes:|\.\.\.|…+)"
    r"|(?:Filesystem|USER|State|Netid|Proto|COMMAND|Active Internet connections)\b.*|\^C"
)
# What every description of a pod or node has, and says nothing about its trouble.
_ROUTINE: Final = re.compile(
    r"(?:Type|Path|HostPathType|SecretName|Optional|Ports?|Host Ports?|Image ID|Container ID|Command|Args|Environment"
    r"|Environment Variables from|Mounts|Labels|Annotations|Priority(?: Class Name)?|Status|IPs?|Controlled By"
    r"|QoS Class|Node-Selectors|Tolerations|Volumes|Init Containers|Containers|Capacity|Allocatable|System Info"
    r"|Allocated resources|Non-terminated Pods"
    r"|Machine ID|System UUID|Boot ID|Lease|HolderIdentity|AcquireTime|CreationTimestamp"
    r"|Unschedulable|ConfigMapName|TokenExpirationSeconds|DownwardAPI|Addresses|Roles|Hostname)\b ?:.*"
    r"|\S+:No(?:Schedule|Execute)\b.*|CriticalAddonsOnly.*|\S+ from \S+ \((?:ro|rw)[^)]*\)|[a-z0-9-]+:"
    r"|(?:cpu|memory|pods|hugepages-\S+|ephemeral-storage)\b.*|\{\"collected\": .*"
    # Lists without a word of their own, and what surrounds the line that counts: of ping, ls, free, `ipam check`.
    r"|apiVersion: \S+|kind: \w*List|metadata:|items:(?: \[\])?|resourceVersion: \S+"
    r"|PING \S+ .*|\d+ bytes from .*|--- \S+ ping statistics ---|rtt min/avg/max.*"
    r"|d[-rwxstST]{9}\S? .* \.{1,2}|/[\w./-]+:|total +used +free\b.*"
    r"|(?:Checking IPAM|Loading all|Scanning for|Looking for top|Comparing the two places)\b.*|Found 0 .*"
    r"|\S+ has \d+ allocations|Node with most allocations has .*"
    r"|No resources found\b.*|(?:Client|Kustomize) Version: v[\d.]+|(?:\S*:\S+|\S+) op=Exists(?: for \d+s)?"
    r"|raft\d{4}/\S+ \S+ INFO: .*|\[WARNING\] Deprecated '--logger=.*"
    r"|[●○×*] \S+\.service(?: - .*)?|[├└]─.*|(?:Drop-In|Docs|Main PID|Tasks|Memory|CPU|CGroup): .*"
)
# Lines that a quote of a long piece keeps: states, times, reasons, windows, addresses.
_TELLING: Final = re.compile(
    r"\b(?:State|Started|Finished|Reason|Exit Code|Start Time|Node|Restart Count|Ready|Liveness|Readiness|Message"
    r"|failureThreshold|initialDelaySeconds|periodSeconds|timeoutSeconds|memory|inet|mtu|address|cidr)\b"
)
LINES_QUOTED: Final = 6
COLUMNS_QUOTED: Final = 400


class Quotes:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self._ids: dict[Place, str] = {}
        self._lines: dict[str, dict[int, str]] = {}
        for exhibit in picture.exhibits:
            lines = self._lines.setdefault(exhibit.source, {})
            for index, line in enumerate(exhibit.lines):
                lines[exhibit.number(index)] = line

    def id_of(self, place: Place) -> str:
        return self._ids.setdefault(place, f"e{len(self._ids) + 1}")

    def all(self) -> tuple[Quote, ...]:
        return tuple(Quote(id_, place, self.text(place)) for place, id_ in self._ids.items())

    def text(self, place: Place) -> str:
        lines = self._lines.get(place.source, {})
        wanted = [lines[number] for number in range(place.first, place.last + 1) if lines.get(number, "").strip()]
        shown = wanted if len(wanted) <= LINES_QUOTED else _chosen(wanted)
        return "\n".join(line[:COLUMNS_QUOTED] + ("…" if len(line) > COLUMNS_QUOTED else "") for line in shown)


def _chosen(lines: list[str]) -> list[str]:
    """The first line, and of the others those that tell most; what is left out is marked."""
    telling = [number for number, line in enumerate(lines) if number and _TELLING.search(line)][: LINES_QUOTED - 1]
    kept = [0, *(telling or range(1, LINES_QUOTED - 1))]
    shown: list[str] = []
    for index, number in enumerate(kept):
        if index and number != kept[index - 1] + 1:
            shown.append("…")
        shown.append(lines[number])
    return shown if kept[-1] == len(lines) - 1 else [*shown, "…"]


def not_understood(picture: Picture) -> tuple[Place, ...]:
    """Runs of lines, outside of prose, that no reader and no sign took."""
    taken = picture.lines_taken()
    runs: list[Place] = []
    for exhibit in picture.exhibits:
        if not exhibit.prose:
            runs.extend(_runs(exhibit, taken.get(exhibit.source, set())))
    return tuple(runs)


def _runs(exhibit: Exhibit, taken: set[int]) -> list[Place]:
    runs: list[Place] = []
    start = end = 0
    for index, line in enumerate(exhibit.lines):
        number = exhibit.number(index)
        if number in taken:
            if start:
                runs.append(Place(exhibit.source, start, end))
            start = 0
        elif (text := line.strip()[:COLUMNS_QUOTED]) and not _FRAME.fullmatch(text) and not _ROUTINE.fullmatch(text):
            start, end = start or number, number
    if start:
        runs.append(Place(exhibit.source, start, end))
    return runs
