"""What etcd's members say of themselves: `endpoint status`, reads of one key member by member, their disks."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Pod, Process, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.host_commands import segments
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple

_ENDPOINT = lazily(r"(?<![\w.-])(?:https?://)?([\w.-]{1,253}|\[[0-9a-f:]{2,40}\]):(?:2379|2380|4001)\b")
_SIZE = lazily(r"(\d+(?:\.\d+)?) ?([kMG])i?B")
_SCALE: Final = {"k": 1e-3, "M": 1.0, "G": 1e3}
_KLOG = lazily(r"[IWE]\d{4} \d\d:\d\d:\d\d")  # how programs of Kubernetes begin a line
_LINES: Final = 200  # of one answer
_LEADERS: Final = 3  # one after the other: between two elections requests succeed
RESTLESS_TERM: Final = 100  # elections; a quiet cluster has a handful in years
BUSY_PERCENT: Final = 90.0
SLOW_MS: Final = 50.0  # a write that takes longer delays every commit


Server = Pod | Unit | Setting  # of the control plane: a pod, a unit, a container as its runtime lists it
_PODS: Final = ("etcd-", "kube-apiserver")
_UNITS: Final = ("etcd", "kube-apiserver")
_CONTAINERS: Final = ("etcd", "kube-apiserver", "k8s_etcd", "k8s_kube-apiserver")


def brief_elections(picture: Picture) -> frozenset[Place]:
    """etcd had no leader: said once, in a program's log, above what kubectl was served. That is how an election looks,
    as when a member is started again; who gets it as an answer, or sees it twice, has more of it.
    """
    hits = picture.hits("trt2001-no-leader")
    if len({hit.place for hit in hits}) != 1 or not _KLOG.match(hits[0].line.lstrip()):
        return frozenset()
    said = hits[0].place
    served = [exhibit.place(0) for exhibit in picture.commands("kubectl", "get") if len(exhibit.lines) > 1]
    above = any(place.source == said.source and place.first > said.last for place in served)
    return frozenset((said,)) if above else frozenset()


def leaders_lost(picture: Picture) -> bool:
    """It had none again and again."""
    return len({hit.place for hit in picture.hits("trt2001-no-leader")}) > 1


def servers_down(picture: Picture) -> list[Server]:
    """etcd or API server pods, units and containers that do not run now."""
    pods = [pod for part in _PODS for pod in _too_many_down(picture.pods_now(part))]
    units = [unit for unit in picture.of(Unit) if unit.name.startswith(_UNITS) and unit.active != "active"]
    # Where it runs as a pod the unit of the package is off on purpose.
    dead = [unit for unit in units if not any(pod.all_ready for pod in picture.pods_now(_program(unit)))]
    return [*pods, *dead, *_containers_ended(picture)]


def _too_many_down(pods: list[Pod]) -> list[Pod]:
    """Those that do not run; none while others of them serve: one API server suffices, and most members of etcd."""
    down = [pod for pod in pods if pod.status not in ("", "Running") or pod.ready == 0]
    needed = len(pods) // 2 + 1 if pods and pods[0].name.startswith("etcd") else 1
    return [] if len(pods) - len(down) >= needed else down


def _program(unit: Unit) -> str:
    return next(part for part in _PODS if unit.name.startswith(part.rstrip("-")))


def _containers_ended(picture: Picture) -> list[Setting]:
    states = [s for s in picture.of(Setting) if s.scope == "runtime-container" and s.name.startswith(_CONTAINERS)]
    running = {(s.name, s.host) for s in states if s.value.startswith(("Running", "Up"))}
    return [s for s in states if s.value.startswith("Exited") and (s.name, s.host) not in running]


class Status(NamedTuple):
    """One member's row of `etcdctl endpoint status`, as table or with commas."""

    address: str
    megabytes: float | None
    term: int | None
    place: Place


def statuses(picture: Picture) -> list[Status]:
    found: dict[str, Status] = {}
    for exhibit in picture.commands("endpoint status"):
        column = -1
        for index, line in enumerate(exhibit.lines[:_LINES]):
            cells = [cell.strip() for cell in re.split(r"[|,]", line.strip().strip("|"))]
            if "RAFT TERM" in cells:
                column = cells.index("RAFT TERM")
            elif match := _ENDPOINT.search(cells[0]):
                size = next((m for cell in cells[1:] if (m := _SIZE.fullmatch(cell))), None)
                numbers = [cell for cell in cells[4:] if cell.isdecimal()]
                term = cells[column] if 0 <= column < len(cells) else numbers[0] if numbers else ""
                megabytes = float(size[1]) * _SCALE[size[2]] if size else None
                number = int(term) if term.isdecimal() else None
                found[match[1]] = Status(match[1], megabytes, number, exhibit.place(index))
    return list(found.values())


def leaders_in_turn(picture: Picture) -> list[Hit]:
    """The elections in the members' own logs, one for each term; none where there are only those of a start or two."""
    terms = {hit.value("n"): hit for hit in picture.hits("trt2006-elected")}
    return list(terms.values()) if len(terms) >= _LEADERS else []


class Reading(NamedTuple):
    """What one member answered to the same question that others were asked."""

    address: str
    text: str
    place: Place


def odd_reading(picture: Picture) -> Reading | None:
    """A loop that reads one key from each member on its own, and the only answer that differs."""
    for exhibit in picture.commands("etcdctl"):
        readings = _readings(exhibit)
        common = Counter(reading.text for reading in readings).most_common(1)
        if len(readings) > 2 and common[0][1] == len(readings) - 1:
            return next(reading for reading in readings if reading.text != common[0][0])
    return None


def _readings(exhibit: Exhibit) -> list[Reading]:
    if " get " not in exhibit.command or "for " not in exhibit.command:
        return []
    asked = [m[1] for part in segments(exhibit.command) if "etcdctl" in part and (m := _ENDPOINT.search(part))]
    said = [(index, line) for index, line in enumerate(exhibit.lines[:_LINES]) if line.strip()]
    if len(asked) != len(said) or len(set(asked)) != len(asked):
        return []
    answers = zip(asked, said, strict=True)
    return [Reading(address, " ".join(line.split()), exhibit.place(index)) for address, (index, line) in answers]


def odd_size(picture: Picture) -> Status | None:
    """The member whose store is much smaller or larger than all the others, which are alike."""
    known = sorted((s for s in statuses(picture) if s.megabytes), key=lambda s: s.megabytes or 0.0)
    if len(known) < 3:
        return None
    sizes = [s.megabytes or 0.0 for s in known]
    if sizes[-1] < 1.05 * sizes[1] and sizes[0] < 0.9 * sizes[1]:
        return known[0]
    if sizes[-2] < 1.05 * sizes[0] and sizes[-1] > 1.1 * sizes[-2]:
        return known[-1]
    return None


def slow_disks(picture: Picture) -> list[Setting]:
    """Disks that are busy all the time, whose requests wait long, on a machine where etcd is."""
    hosts = {exhibit.host for exhibit in picture.exhibits if "etcd" in exhibit.command}
    hosts |= {process.host for process in picture.of(Process) if "etcd" in process.command}
    disks = (s for s in picture.of(Setting) if s.scope == "disk-busy" and s.host in hosts)
    return [s for s in disks if float(s.value) >= BUSY_PERCENT and _waited(s.owner) >= SLOW_MS]


def _waited(text: str) -> float:
    match = re.search(r"[\d.]+", text)
    return float(match[0]) if match else 0.0


class Identity(NamedTuple):
    """How etcd calls a member; both may be empty."""

    id: str = ""
    name: str = ""


_IDENTIFIER = lazily(r"(?<![\w.])([0-9a-f]{12,16})(?![\w.])")
_STARTED = lazily(r"\b(?:un)?started[,|\s]+([\w.-]+)|\bname=([\w.-]+)")


def identity(picture: Picture, host: str) -> Identity:
    """As the list of members has it; `endpoint status` knows the id, too."""
    found = Identity()
    for asked in ("member list", "endpoint status"):
        for exhibit in picture.commands(asked):
            lines = [line for line in exhibit.lines[:_LINES] if re.search(rf"(?<![\w.-]){re.escape(host)}:", line)]
            for line in lines:
                number, name = _IDENTIFIER.search(line), _STARTED.search(line)
                found = Identity(found.id or (number[1] if number else ""), found.name or _either(name))
    return found


def _either(match: re.Match[str] | None) -> str:
    return (match[1] or match[2]) if match else ""
