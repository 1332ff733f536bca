"""States that were counted instead of shown: `kubectl get nodes | … | uniq -c`, `grep -vc ' Ready'`, `grep -v Running`.

Large clusters are pasted like that. A tally says how many are well and how many are not; nobody knows which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Number
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_NODES: Final = lazily(r"\b(?:kubectl|oc|k|kc)\s(?:-\S+ +(?:\S+ +)?){0,3}get +(?:no|nodes?)\b(?!/)")
_PODS: Final = lazily(r"\b(?:kubectl|oc|k|kc)\s(?:-\S+ +(?:\S+ +)?){0,3}get +(?:po|pods?)\b(?!/)")
_AGENTS: Final = lazily(r"calico-node|\bcanal\b|grep +(?:-\w{1,20} +){0,6}[\"']?calico\b|-n +calico-system\b")
# "13 1/1 Running 0": how many, how much of each is ready, the state, how often it was started again.
_COUNTED: Final = lazily(r"^\s*(\d{1,6})\s+(?:(\d+)/(\d+)\s+)?([A-Z][\w,:]*)(?:\s+\d+)?\s*$")
_LEFT_OUT: Final = lazily(r"grep +(?:-\w*v\w*|-\w+ +-\w*v\w*)\b")  # only what is not like this is shown
_NOT_READY: Final = lazily(r"grep +(?:-\w*v\w*|-\w+ +-\w*v\w*) +[\"']?(?:1/1|2/2)")
_ONLY_BAD: Final = lazily(r"grep +(?:-\w{1,20} +){0,6}[\"']?(?:NotReady|Not Ready)")
_NOTHING: Final = lazily(
    r"^\s*(?:$|[(（<]?(?:nothing|none|empty|no output|无输出?|没有输出|空)[)）>]?$|NAMESPACE +NAME|NAME +READY)"
)
_HEADINGS: Final = ("STATUS", "READY")  # counted along with the rows
_WELL: Final = {
    "nodes": ("Ready", "Ready,SchedulingDisabled"),
    "pods": ("Running", "Completed", "Succeeded"),
    "agents": ("Running",),
}


class Tally(NamedTuple):
    well: int  # 0 where only the others were counted
    unwell: int
    place: Place


def tally(picture: Picture, what: str) -> Tally | None:
    """The last count of "nodes", "pods" or "agents", if any. Agents may be counted with Calico's other pods."""
    last = None
    for last in _tallies(picture, what):  # noqa: B007
        pass
    return last


def _tallies(picture: Picture, what: str) -> Iterator[Tally]:
    asked = _NODES if what == "nodes" else _PODS
    numbers = {number.place: number for number in picture.of(Number)}
    for exhibit in picture.exhibits:
        if exhibit.prose or "get" not in exhibit.command or not asked.search(exhibit.command):
            continue
        if what != "agents" or (_AGENTS.search(exhibit.command) and _unready_counted(exhibit.command)):
            yield from _of(exhibit, what, numbers)
        elif "uniq" in exhibit.command and _AGENTS.search(exhibit.command):
            # Without how much of each is ready a count says little: Running is also who fails its probes.
            yield from (one for one in _of(exhibit, what, numbers) if any(_ready(line) for line in exhibit.lines))


def _unready_counted(command: str) -> bool:
    """`grep calico-node | grep -vc 1/1`, or with `wc -l` behind it; nothing else is left out before."""
    return _NOT_READY.search(command) is not None and len(_LEFT_OUT.findall(command)) == 1


def _ready(line: str) -> bool:
    match = _COUNTED.match(line)
    return match is not None and match[2] is not None


def _of(exhibit: Exhibit, what: str, numbers: dict[Place, Number]) -> Iterator[Tally]:
    command = exhibit.command
    if "uniq" in command:
        counted = [match for line in exhibit.lines if (match := _COUNTED.match(line)) and match[4] not in _HEADINGS]
        well = sum(int(match[1]) for match in counted if match[4] in _WELL[what] and match[2] == match[3])
        if counted:
            yield Tally(well, sum(int(match[1]) for match in counted) - well, exhibit.place(0))
        return
    rest = _LEFT_OUT.search(command) is not None and any(word in command for word in _WELL[what])
    rest = rest or _unready_counted(command)
    if not rest and not _ONLY_BAD.search(command) and "!=" not in command:
        return
    for index in range(len(exhibit.lines)):
        number = numbers.get(exhibit.place(index))
        if number is not None:
            yield Tally(0, number.value, number.place)
            return
    if all(_NOTHING.match(line) for line in exhibit.lines):
        yield Tally(0, 0, exhibit.place(0))
