"""Quotes of a diagnosis, numbered in the order they are first used, and the lines that nobody understood."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tortie.doctor.diagnosis import Quote
from tortie.doctor.judgement.quoting import Part, Span, joined, place_of, place_of_name, shortened
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign

# Frames and heads of tables, and lines that only announce what follows: nothing to understand.
_FRAME: Final = lazily(
    r"[-+=|_*#~<>. \t]+|[-A-Z0-9 ()%/:._#+|]+|Type +Status|Type +Reason +Age .*"
    r"|(?:IPv[46] BGP status|total \d+|Events:(?: +<none>)?|Conditions:|Volumes:|\.\.\.|…+)"
    r"|(?:Filesystem|USER|State|Netid|Proto|COMMAND|Active Internet connections)\b.*|\^C"
)
# What every description of a pod or node has, and says nothing about its trouble.
_ROUTINE: Final = lazily(
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
_TELLING: Final = lazily(
    r"\b(?:State|Started|Finished|Reason|Exit Code|Start Time|Node|Restart Count|Ready|Liveness|Readiness|Message"
    r"|failureThreshold|initialDelaySeconds|periodSeconds|timeoutSeconds|memory|inet|mtu|address|cidr)\b"
)
LINES_QUOTED: Final = 6
COLUMNS_QUOTED: Final = 400
COLUMNS_JOINED: Final = 160  # messages of one line that are no farther apart are quoted as one


class Quotes:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self._ids: dict[Place, str] = {}
        self._decided: dict[Place, tuple[frozenset[str], tuple[str, ...]]] = {}  # keys of signs, and names
        self._lines: dict[str, dict[int, str]] = {}
        for exhibit in picture.exhibits:
            lines = self._lines.setdefault(exhibit.source, {})
            for index, line in enumerate(exhibit.lines):
                lines[exhibit.number(index)] = line

    def id_of(self, place: Place, signs: Iterable[Sign] = (), names: Iterable[str] = ()) -> str:
        """`signs` and `names` say what mattered to whoever quotes it: messages of a cause, culprits."""
        known = self._ids.setdefault(place, f"e{len(self._ids) + 1}")
        keys, named = frozenset(sign.key for sign in signs), tuple(names)
        if keys or named:
            self._decided.setdefault(place, (keys, named))
        return known

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(self._ids)

    def all(self) -> tuple[Quote, ...]:
        hits: dict[Place, list[Hit]] = {}
        for hit in self.picture.all_hits():
            if hit.place in self._ids:
                hits.setdefault(hit.place, []).append(hit)
        return tuple(self._quote(id_, place, hits.get(place, [])) for place, id_ in self._ids.items())

    def _quote(self, id_: str, place: Place, hits: list[Hit]) -> Quote:
        lines = self._lines.get(place.source, {})
        wanted = [lines[number] for number in range(place.first, place.last + 1) if lines.get(number, "").strip()]
        span = self._span(place, hits, "\n".join(wanted))
        parts = _parts(wanted, span)
        shown = parts if len(parts) <= LINES_QUOTED else _chosen(parts)
        spans, offset = [], 0
        for part in shown:
            if part.span:
                spans.append((offset + part.span[0], offset + part.span[1]))
            offset += len(part.text) + 1
        return Quote(id_, place, "\n".join(part.text for part in shown), tuple(spans))

    def _span(self, place: Place, hits: list[Hit], text: str) -> Span | None:
        """What decided: the message of the cause that quotes it, else a culprit's name, else any known message."""
        keys, names = self._decided.get(place, (frozenset(), ()))
        own = [place_of(hit.text, text) for hit in hits if hit.sign in keys]
        named = [place_of_name(name, text) for name in names]
        other = [place_of(hit.text, text) for hit in hits]
        for found in (own, named, other):
            span = joined((span for span in found if span), COLUMNS_JOINED)
            if span:
                return span
        return None


def _parts(lines: list[str], span: Span | None) -> list[Part]:
    """Each line by itself, with what of the span stands in it."""
    parts: list[Part] = []
    offset = 0
    for line in lines:
        own = (max(0, span[0] - offset), min(len(line), span[1] - offset)) if span else None
        parts.append(shortened(line, COLUMNS_QUOTED, own if own and own[0] < own[1] else None))
        offset += len(line) + 1
    return parts


def _chosen(lines: list[Part]) -> list[Part]:
    """The first line, and of the others those that decided or tell most; what is left out is marked."""
    rest = range(1, len(lines))
    decisive = [number for number in rest if lines[number].span]
    telling = [number for number in rest if _TELLING.search(lines[number].text)]
    best = list(dict.fromkeys([*decisive, *telling]))[: LINES_QUOTED - 1]
    kept = [0, *(sorted(best) or range(1, LINES_QUOTED - 1))]
    shown: list[Part] = []
    for index, number in enumerate(kept):
        if index and number != kept[index - 1] + 1:
            shown.append(Part("…"))
        shown.append(lines[number])
    return shown if kept[-1] == len(lines) - 1 else [*shown, Part("…")]


def not_understood(quotes: Quotes) -> tuple[Place, ...]:
    """Runs of lines, outside of prose, that no reader and no sign took, and that no answer quotes."""
    picture, taken = quotes.picture, quotes.picture.lines_taken()
    for place in quotes.places:
        taken.setdefault(place.source, set()).update(range(place.first, place.last + 1))
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
