"""The machine under the agent: its load against its cores, and whether its kubelet still reports."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.nodes.failing_nodes import elsewhere, failing
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Load, Node, Ping, PortTest, Process, Setting, Statement
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

CPU_SHARES: Final = Sign(
    "node-cpu-shares", "%Cpu\\(s\\): <n_us> us, <n_sy> sy, <n_ni> ni, <n_id> id, <n_wa> wa"
)  # a line of top
STOPPED_POSTING: Final = Sign("node-stopped-posting", "Kubelet stopped posting node status")
NODE_SIGNS: Final = (CPU_SHARES, STOPPED_POSTING)

MANY_TIMES: Final = 2.5  # load per core from which a host counts as starved
CALM: Final = 1.2  # load per core up to which it does not
HUGE: Final = 100.0  # a load that no usual number of cores explains
APART: Final = 8.0  # times another node's load
BUSY: Final = 90.0  # percent of the time in which a disk had work
HOG_M: Final = 1000.0  # millicores from which a pod is worth naming
SSH: Final = 22
REACHED: Final = ("open", "refused", "http", "tls")
UNREACHED: Final = ("timeout", "unreachable")
_LOADED: Final = lazily(r"load|cpu|\bi/?o\b|disk|负载|磁盘|空闲|idle", re.I)


class Strain(NamedTuple):
    """Evidence that a host is starved, or that it is not."""

    high: bool
    host: str
    text: str  # "load 212.4 on 16 cores"
    places: tuple[Place, ...]
    said: bool = False  # by a person


@remembered
def strains(picture: Picture) -> list[Strain]:
    """Everything that speaks about load, numbers before words."""
    return [*_by_numbers(picture), *_by_top(picture), *_by_kubectl(picture), *_by_words(picture)]


def overload(picture: Picture) -> list[Strain]:
    """Starved hosts, but for those on which no agent fails: their load is somebody else's trouble."""
    return [s for s in strains(picture) if s.high and not elsewhere(picture, s.host)]


def calm(picture: Picture) -> list[Strain]:
    """Hosts seen to be idle enough; empty when any host that matters is overloaded."""
    if overload(picture):
        return []
    seen = [strain for strain in strains(picture) if not strain.high]
    sick = {name.lower() for name in failing(picture)}
    return [s for s in seen if s.host.lower() in sick] or [s for s in seen if not elsewhere(picture, s.host)]


def _by_numbers(picture: Picture) -> list[Strain]:
    loads = picture.of(Load)
    least: dict[str, float] = {}
    for load in loads:
        least[load.host] = min(load.one, least.get(load.host, load.one))
    calmest = sorted(least, key=lambda host: least[host])[:2]
    found = []
    for load in loads:
        cores = load.cores or cores_of(picture, load.host)
        worst = max(load.one, load.five or 0.0)
        others = [least[host] for host in calmest if host != load.host]
        if cores:
            text = f"load {load.one:g} / {cores} cores"
            high: bool | None = _grade(worst / cores)
        else:
            text = f"load {load.one:g}"
            apart = bool(others) and worst >= 10 and worst >= APART * max(min(others), 0.5)
            high = True if worst >= HUGE or apart else False if load.one <= 2.0 else None
        if high is not None:
            found.append(Strain(high, load.host, text, (load.place,)))
    return found


def _grade(per_core: float) -> bool | None:
    return True if per_core >= MANY_TIMES else False if per_core <= CALM else None


def cores_of(picture: Picture, host: str) -> int | None:
    """The answer to nproc, lscpu or a count of /proc/cpuinfo on that host, alone or among other answers."""
    return _cores(picture).get(host)


@remembered
def _cores(picture: Picture) -> dict[str, int]:
    found: dict[str, int] = {}
    for exhibit in (*picture.commands("nproc"), *picture.commands("cpuinfo"), *picture.commands("lscpu")):
        if exhibit.host in found:
            continue
        for line in exhibit.lines:
            words = line.removeprefix("CPU(s):").strip()
            if words.isdecimal() and 0 < int(words) < 2048:
                found[exhibit.host] = int(words)
                break
    return found


def _by_top(picture: Picture) -> list[Strain]:
    found = []
    for hit in picture.hits(CPU_SHARES):
        idle, wait = float(hit.value("n_id")), float(hit.value("n_wa"))
        if idle <= 2.0 or wait >= 50.0:
            found.append(Strain(True, hit.host, f"{idle:g} % idle, {wait:g} % wait", (hit.place,)))
        elif idle >= 60.0:
            found.append(Strain(False, hit.host, f"{idle:g} % idle", (hit.place,)))
    return found


def _by_kubectl(picture: Picture) -> list[Strain]:
    """Rows of `kubectl top nodes`; those of pods have no percentages."""
    found = []
    for row in picture.of(Setting):
        share = row.value.rstrip("%")
        if (row.scope, row.name) == ("top", "cpu%") and share.isdecimal() and not 50 < int(share) < 95:
            found.append(Strain(int(share) >= 95, row.owner, f"CPU {share} %", (row.place,)))
    return found if any(strain.high for strain in found) else found[:1]


def hogs(picture: Picture, hosts: list[str]) -> list[str]:
    """What takes the time of starved hosts: disks that are busy all the time, the greediest programs, and pods."""
    disks = [
        row.name
        for row in picture.of(Setting)
        if row.scope == "disk-busy" and float(row.value) >= BUSY and (row.host in hosts or not row.host)
    ]
    running = [one for one in picture.of(Process) if (one.cpu or 0) >= 5 and (one.host in hosts or not one.host)]
    running.sort(key=lambda one: -(one.cpu or 0))
    programs = [one.command.split()[0].rpartition("/")[2] for one in running[:3]]
    used = [
        (float(row.value.rstrip("m")), row.owner)
        for row in picture.of(Setting)
        if (row.scope, row.name) == ("top", "cpu") and row.value.rstrip("m").isdecimal() and row.owner not in hosts
    ]
    nodes = picture.nodes_now()
    pods = [owner for use, owner in sorted(used, reverse=True) if use >= HOG_M and owner not in nodes]
    return [*disks, *programs, *pods[:2]]


def _by_words(picture: Picture) -> list[Strain]:
    return [_said(statement) for statement in picture.said("load-high", "load-normal")]


def _said(statement: Statement) -> Strain:
    word = _LOADED.search(statement.text)
    before = statement.text[: word.start()] if word else ""
    # "On a the agent fails, b is loaded": whose load it is stands right before the word.
    host = max(statement.values, key=lambda name: before.rfind(name), default="")
    text = f'"{statement.text.strip()[:100]}"'
    return Strain(statement.kind == "load-high", host, text, (statement.place,), said=True)


def not_ready(picture: Picture) -> list[Node]:
    return [node for node in picture.nodes_now().values() if "NotReady" in node.status]


def silent(picture: Picture) -> dict[str, list[Condition]]:
    """Nodes whose kubelet stopped reporting, with the conditions that say so."""
    nodes: dict[str, list[Condition]] = {}
    for condition in picture.of(Condition):
        if condition.status == "Unknown" or "stopped posting" in condition.message:
            nodes.setdefault(condition.owner, []).append(condition)
    return nodes


def answers(picture: Picture, *names: str) -> tuple[bool | None, list[Place]]:
    """Whether these hosts answer pings or connections; None when nobody tried. An answer outweighs silence."""
    wanted = {name.lower() for name in names if name}
    pings = [ping for ping in picture.of(Ping) if ping.address.lower() in wanted]
    ports = [test for test in picture.of(PortTest) if test.address.lower() in wanted]
    alive = [p.place for p in pings if p.ok] + [t.place for t in ports if t.result.startswith(REACHED)]
    # Who types commands on a host has reached it.
    alive += [
        one.place(0) for one in picture.exhibits if one.command_lines and one.lines and one.host.lower() in wanted
    ]
    if alive:
        return True, alive[:1]
    # A port that is silent may be filtered; SSH on a node hardly is.
    dead = [p.place for p in pings] + [t.place for t in ports if t.port == SSH and t.result in UNREACHED]
    if dead:
        return False, dead[:1]
    for statement in picture.said("ping-works", "ping-fails", "machine-off"):
        if not statement.values or any(value.lower() in wanted for value in statement.values):
            return statement.kind == "ping-works", [statement.place]
    return None, []


def known_as(picture: Picture, host: str) -> list[str]:
    """A host as kubectl names it, and as its own prompt does: kubelet lower-cases names."""
    if not host:
        return []
    low = host.lower()
    names = [name for name in picture.nodes_now() if name.lower() in (low, low.split(".")[0])]
    return list(dict.fromkeys([*names, low, host]))
