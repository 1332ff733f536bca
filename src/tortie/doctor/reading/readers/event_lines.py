"""Events as lines: rows of a describe's Events table, old and new, and kubelet's messages pasted alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.times import age_s, event_ages

_AGE: Final = r"(?:(?:\d+[ydhms]){1,3}|<unknown>|<invalid>)"
ROW: Final = lazily(
    rf"\s*(?P<type>Normal|Warning)\s+(?P<reason>[A-Z]\w+)\s+(?P<age>{_AGE}(?:\s+\(x\d+(?:\s+over\s+\w+)?\))?)\s+"
    r"(?P<source>[\w./-]+)(?:,\s?(?P<host>[\w.-]+))?(?:\s+(?P<message>\S.*))?\s*$"
)
# FirstSeen LastSeen Count From SubObjectPath Type Reason Message: describe of Kubernetes 1.8 and before.
OLD_ROW: Final = lazily(
    rf"\s*(?P<first>{_AGE})\s+(?P<last>{_AGE})\s+(?P<count>\d+)\s+(?P<source>[\w./-]+)(?:,\s?(?P<host>[\w.-]+))?\s+"
    r"(?:spec\.\S+\s+)?(?P<type>Normal|Warning)\s+(?P<reason>[A-Z]\w+)(?:\s+(?P<message>\S.*))?\s*$"
)
# What kubelet's and the scheduler's events say, and under which reason.
MESSAGES: Final = (
    ("probe failed", "Unhealthy"),
    ("probe errored", "Unhealthy"),
    ("ailed to create pod sandbox", "FailedCreatePodSandBox"),
    ("ailed create pod sandbox", "FailedCreatePodSandBox"),
    ("failed liveness probe, will be restarted", "Killing"),
    ("ack-off restarting failed container", "BackOff"),
    ("ack-off pulling image", "BackOff"),
    ("ailed to pull image", "Failed"),
    ("nodes are available", "FailedScheduling"),
    ("network is not ready: ", "NetworkNotReady"),
    ("MountVolume.SetUp failed", "FailedMount"),
    ("Unable to attach or mount volumes", "FailedMount"),
    ("Unable to mount volumes for pod", "FailedMount"),
    ("System OOM encountered", "SystemOOM"),
    ("Error: failed to ", "Failed"),
    ("rror killing pod", "FailedKillPod"),
    ("The node was low on resource", "Evicted"),
)
_STARTS: Final = {
    "Unhealthy": r"(?:\(combined from similar events\):?\s*)?(?:Readiness|Liveness|Startup) probe (?:failed|errored)",
    "FailedCreatePodSandBox": r"(?:\(combined from similar events\):?\s*)?Failed (?:to )?create pod sandbox:",
    "Killing": r"Container \S+ failed liveness probe, will be restarted|(?:Killing container with id )",
    "BackOff": r"Back-off (?:restarting failed container|pulling image)",
    "Failed": r"Failed to pull image \S+|Error: failed to (?:create|start|generate|reserve|get|prepare)\b",
    "FailedScheduling": r"\d+/\d+ nodes are available",
    "NetworkNotReady": r"network is not ready: ",
    "FailedMount": r"MountVolume\.SetUp failed|Unable to (?:attach or )?mount volumes",
    "SystemOOM": r"System OOM encountered",
    "FailedKillPod": r"[Ee]rror killing pod",
    "Evicted": r"The node was low on resource",
}
_LOG: Final = lazily(
    r"\s*(?:[IWEF]\d{4} |[A-Z][a-z]{2} +\d+ \d\d:|\d{4}-\d\d-\d\d|time=|\{|\[\w{3} )|.{0,60}\[(?:INFO|WARN|ERROR|FATAL)"
)
_ENDS: Final = lazily(
    r"\s*(?:```|[+|]|Normal\s|Warning\s|\S{0,60}[$#] |[A-Z][A-Z]+\s+[A-Z]|[A-Z][\w ()-]{0,40}:(?:\s{2,}|$)|"
    r"---|\S+\s+\d+/\d+\s)"
)
_CONTINUED: Final = 8
_ROWS: Final = (" pod/", " Pod/", " node/", " Node/")


def events(exhibit: Exhibit, subject: str = "") -> Iterator[Event]:
    """Every event row of the exhibit, with the lines its message runs on to, then messages that stand alone."""
    lines = exhibit.lines
    index = 0
    while index < len(lines):
        line = lines[index]
        if ("Normal" in line or "Warning" in line) and (match := ROW.match(line) or OLD_ROW.match(line)):
            stop = _stop(lines, index)
            yield _event(exhibit, index, stop, match, subject)
            index = stop
            continue
        if (event := _alone(exhibit, index, subject)) is not None:
            yield event
            index = max(index + 1, index + 1 + event.place.last - event.place.first)
            continue
        index += 1


def may_have(text: str) -> bool:
    return "Normal " in text or "Warning " in text or any(needle in text for needle, _ in MESSAGES)


def _stop(lines: tuple[str, ...], index: int) -> int:
    """Where the message ends: it may contain line ends, and a terminal may have wrapped it."""
    stop = index + 1
    while stop < len(lines) and stop - index <= _CONTINUED:
        line = lines[stop]
        if not line.strip() or _ENDS.match(line) or ROW.match(line) or OLD_ROW.match(line):
            break
        stop += 1
    else:
        return index + 1 if stop - index > _CONTINUED else stop
    return stop


def _event(exhibit: Exhibit, index: int, stop: int, match: re.Match[str], subject: str) -> Event:
    groups = match.groupdict()
    message = "\n".join([groups["message"] or "", *(line.strip() for line in exhibit.lines[index + 1 : stop])]).strip()
    if "age" in groups:
        ages = event_ages(groups["age"])
        last, count, over = ages.last_s, ages.times, ages.over_s
    else:
        last, count, over = age_s(groups["last"]), int(groups["count"]), age_s(groups["first"])
    return Event(
        exhibit.place(index, stop), groups["reason"], message, groups["type"], subject, groups["source"],
        groups["host"] or "", last, count, over,
    )  # fmt: skip


def _alone(exhibit: Exhibit, index: int, subject: str) -> Event | None:
    """A message without its row, as people quote it."""
    line = exhibit.lines[index]
    needle, reason = next((pair for pair in MESSAGES if pair[0] in line), ("", ""))
    if not needle:
        return None
    if (
        any(row in line for row in _ROWS)
        or line.lstrip(' "').startswith(("message:", 'message":'))
        or (needle[0] != "p" and _LOG.match(line))
    ):
        return None  # a row of `get events` or a document: read elsewhere; a log line: not kubelet's event
    match = re.search(_STARTS[reason], line)
    if not match:
        return None
    kind = next((word for word in ("Warning", "Normal") if word in line[: match.start()]), "")
    stop = _stop(exhibit.lines, index) if not exhibit.prose and reason == "Unhealthy" else index + 1
    rest = [text.strip() for text in exhibit.lines[index + 1 : stop]]
    message = "\n".join([line[match.start() :].strip().rstrip("`"), *rest])
    ages = re.search(rf"({_AGE}(?: \(x\d+ over \w+\))?)\s", line[: match.start()])
    seen = event_ages(ages[1]) if ages else event_ages("")
    return Event(
        exhibit.place(index, stop),
        reason,
        message,
        kind,
        subject,
        age_s=seen.last_s,
        count=seen.times,
        over_s=seen.over_s,
    )
