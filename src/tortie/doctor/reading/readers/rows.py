"""Rows of kubectl tables known by their shape alone, for tables whose header was cut away by grep, awk or a person."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, Node, Pod
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.tables import words
from tortie.doctor.reading.readers.times import age_s, event_ages, is_age, is_cut

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.*_-]{0,252}[A-Za-z0-9*])?"
POD: Final = lazily(
    rf"\s*(?:(?P<namespace>[a-z0-9][a-z0-9-]{{0,62}})\s+)?(?:pods?/)?(?P<name>{_NAME})\s+(?:●\s+)?(?P<ready>\d{{1,3}})/(?P<all>\d{{1,3}})"
    r"\s+(?P<status>[A-Z][A-Za-z]+(?::\S+)?(?:\s\(\d+\))?)(?:\s+(?P<rest>\S.*))?\s*$"
)
NODE: Final = lazily(
    rf"\s*(?:node/)?(?P<name>{_NAME})\s+(?P<status>(?:Not)?Ready(?:,SchedulingDisabled)?)\s+(?:(?P<roles>\S+)\s+)?"
    r"(?P<age>(?:\d+[ydhms]){1,3})\s+(?P<version>v\d\S*)(?:\s+(?P<rest>\S.*))?$"
)
EVENT: Final = lazily(
    r"\s*(?:(?P<namespace>[a-z0-9][a-z0-9-]{0,62})\s+)?(?P<age>(?:\d+[ydhms]){1,3}(?:\s+\(x\d+\s+over\s+\w+\))?|<unknown>|<invalid>)\s+"
    r"(?P<type>Normal|Warning)\s+(?P<reason>[A-Z]\w+)\s+(?P<object>[A-Za-z.]+/\S+)(?:\s+(?P<message>\S.*))?$"
)
_ADDRESS: Final = lazily(r"(?:\d{1,3}\.){3}\d{1,3}$|[0-9a-fA-F]*:[0-9a-fA-F:]+$|(?:[xX*]{1,3}\.){3}[xX*\d]{1,3}$")
_RESTARTED: Final = lazily(r"\d+ \((\w+) ago\)")
NONE: Final = "<none>"


def pod_row(place: Place, line: str) -> Pod | None:
    """`calico-node-x  0/1  Running  3  29d  10.0.0.1  node`, with any of the cells after the status missing.

    k9s has a mark behind the name where ports are forwarded.
    """
    match = POD.match(line)
    if not match:
        return None
    restarts, age, address, node = _pod_rest(words(match["rest"] or ""))
    last = _RESTARTED.match(match["rest"] or "")
    return Pod(
        place, match["name"], match["namespace"] or "", int(match["ready"]), int(match["all"]),
        match["status"], restarts, age, address, node, restarted_s=age_s(last[1]) if last else None,
    )  # fmt: skip


def _pod_rest(cells: list[str]) -> tuple[int | None, float | None, str, str]:
    restarts: int | None = None
    age: float | None = None
    address = node = ""
    for index, cell in enumerate(cells[:6]):
        if restarts is None and cell.split(" ")[0].isdecimal() and age is None:
            restarts = int(cell.split(" ")[0])
        elif age is None and is_age(cell) and not address:
            age = age_s(cell)
        elif not address and _ADDRESS.match(cell):
            address = cell
        elif cell == NONE and index < 3 and not address:
            continue
        elif cell != NONE and not node and (address or age is not None or index == 0 or restarts is not None):
            node = cell if re.match(_NAME, cell) and not is_age(cell) else ""
    return restarts, age, address, node


def node_row(place: Place, line: str) -> Node | None:
    match = NODE.match(line)
    if not match:
        return None
    roles = match["roles"] or ""
    rest = re.split(r"\s{2,}|\t", match["rest"] or "")
    address = next((cell for cell in rest if _ADDRESS.match(cell)), "")
    runtime = next((cell for cell in rest if "://" in cell), "")
    kernel = rest[rest.index(runtime) - 1] if runtime and len(rest) > 1 else ""
    return Node(
        place, match["name"], match["status"], "" if roles == NONE else roles, match["age"], match["version"], address,
        kernel=kernel, runtime=runtime,
    )  # fmt: skip


def event_row(place: Place, line: str) -> Event | None:
    match = EVENT.match(line)
    if not match:
        return None
    ages, message = event_ages(match["age"]), (match["message"] or "").strip()
    return Event(
        place, match["reason"], message, match["type"], match["object"],
        age_s=ages.last_s, count=ages.times, over_s=ages.over_s, cut=is_cut(message),
    )  # fmt: skip


def is_address(text: str) -> bool:
    return bool(_ADDRESS.match(text))
