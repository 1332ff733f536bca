"""Conditions of a document whose beginning is not shown, or of which grep left some lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Fact, ResourceCondition
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.times import epoch

_FIELD: Final = lazily(
    r"\s*(?P<dash>- )?\"?(?P<key>type|status|reason|message|lastTransitionTime|lastHeartbeatTime|observedGeneration)"
    r"\"?: *(?P<value>\S.*)?$"
)
_OF_NODE: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_OF_OTHERS: Final = ("Degraded", "Available", "Progressing")
_STATES: Final = ("True", "False", "Unknown")
_ASKED: Final = lazily(r"\b(?:get|describe)\s+(\w+)(?:\.[a-z.]+)?[ /]+([a-z0-9][\w.-]*)")
_KINDS: Final = {"tigerastatus": "TigeraStatus", "installation": "Installation", "apiservice": "APIService"}
_MOST: Final = 3_000  # lines


def conditions_alone(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if "type" not in text or "status" not in text or not any(word in text for word in (*_OF_NODE, *_OF_OTHERS)):
        return
    asked = _ASKED.search(exhibit.command)
    kind, name = (asked[1], asked[2]) if asked else ("", "")
    said: dict[str, str] = {}
    first = last = -2
    for index, line in enumerate(exhibit.lines[:_MOST]):
        match = _FIELD.match(line)
        if match is None:
            if said and last == index - 1 and line.strip() not in ("{", "},", "}") and _goes_on(said, line):
                last = index
            continue
        if said and (match["dash"] or last != index - 1 or match["key"] in said):
            yield from _condition(exhibit, first, last, said, kind, name)
            said = {}
        first = index if not said else first
        last = index
        said[match["key"]] = (match["value"] or "").strip().rstrip(",").strip("\"'")
    yield from _condition(exhibit, first, last, said, kind, name)


def _goes_on(said: dict[str, str], line: str) -> bool:
    """A folded message."""
    if list(said)[-1] != "message" or ":" in line.split(" ")[0]:
        return False
    said["message"] = f"{said['message']} {line.strip()}".strip("'\" ")
    return True


def _condition(
    exhibit: Exhibit, first: int, last: int, said: dict[str, str], kind: str, name: str
) -> Iterator[Condition | ResourceCondition]:
    state, status = said.get("type", ""), said.get("status", "")
    if status not in _STATES:
        return
    place = exhibit.place(first, last + 1)
    reason, message, changed = (said.get(key, "") for key in ("reason", "message", "lastTransitionTime"))
    if state in _OF_NODE and kind.rstrip("s") in ("node", "no"):
        yield Condition(place, name, state, status, reason, message, None, epoch(changed))
    elif state in _OF_OTHERS:
        resource = _KINDS.get(kind) or _KINDS.get(kind.rstrip("s"), "")
        yield ResourceCondition(place, resource, name if resource else "", state, status, reason, message)
