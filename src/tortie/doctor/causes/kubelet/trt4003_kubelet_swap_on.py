"""TRT4003: kubelet refuses to run because swap is active, so what the API shows of that node is old."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import hosts_of, line_after
from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    do,
    found,
    ruled_out,
)  # fmt: skip
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, known_as, not_ready, silent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Node, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

SWAP_ON: Final = Sign("swap-on", "running with swap on is not")  # screens cut the rest
ACCEPTED: Final = Sign("swap-accepted", "failSwapOn: false")
ACCEPTED_FLAG: Final = Sign("swap-accepted-flag", "--fail-swap-on=false")
_DEVICE: Final = lazily(
    r"(/(?:dev|swap|var|mnt|home)[\w./-]{0,100}|/swap\w{0,60})\s+(?:partition|file)\b|\bswap\S{0,60}\s+(/dev/[\w./-]+)"
)
_ANY_DEVICE: Final = lazily(r"(/dev/(?:sd|vd|xvd|nvme|dm-|mapper/|zram)[\w./-]*|/swap[\w.]*)")
_FREE: Final = lazily(r"^Swap:\s+([\d.]+)", re.M)


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.refused = picture.hits(SWAP_ON)
        self.devices, self.shown = _devices(picture)
        kubelets = [unit for unit in picture.of(Unit) if unit.name.startswith("kubelet")]
        self.dead = [unit for unit in kubelets if unit.active != "active"]
        self.hosts = _hosts(picture, self.refused) or [unit.host for unit in self.dead if unit.host]
        self.gone = not_ready(picture)
        self.said = picture.said("swap-on")

    @cached_property
    def nodes(self) -> list[str]:
        known = [name for host in self.hosts for name in known_as(self.picture, host)]
        return known or [node.name for node in self.gone]

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("node", *self.nodes), named("file", *self.devices), Culprit("setting", "swap"),
            Culprit("unit", "kubelet"),
        )  # fmt: skip

    @cached_property
    def quiet(self) -> list[Condition]:
        """What the API says of the nodes at fault."""
        return [one for name, conditions in silent(self.picture).items() if name in self.nodes for one in conditions]

    @property
    def down(self) -> list[Node]:
        return [node for node in self.gone if node.name in self.nodes]

    @property
    def evidence(self) -> tuple[object, ...]:
        return (*self.refused[:1], *self.shown[:1], *self.dead[:1], *self.quiet[:1], *self.down[:1])

    @property
    def device(self) -> str:
        return self.devices[0] if self.devices else ""


def mended(seen: Seen) -> Finding | None:
    off = _mended(seen.picture)
    over = seen.refused and seen.hosts and all(host in off for host in seen.hosts)
    return ruled_out(seen.refused[:1]) if over else None


def back(seen: Seen) -> Finding | None:
    """It refused, and every node is Ready again."""
    nodes = list(seen.picture.nodes_now().values())
    over = seen.refused and nodes and not seen.gone and not seen.dead
    return ruled_out(nodes[:2]) if over else None


def refused(seen: Seen) -> Finding | None:
    if not seen.refused:
        return None
    node = seen.nodes[0] if seen.hosts else ""
    proven = seen.dead or seen.quiet or seen.down
    return found(PROVEN if proven else STRONG, seen.culprits, seen.evidence, node=node, device=seen.device)


def accepted(seen: Seen) -> Finding | None:
    told = seen.picture.hits(ACCEPTED, ACCEPTED_FLAG)
    return ruled_out(told[:1]) if told else None


def swap_and_dead_kubelet(seen: Seen) -> Finding | None:
    if (seen.shown or seen.said) and (seen.dead or seen.picture.said("kubelet-stopped")):
        # It ends again and again since a reboot, on a machine that was looked at and so is up.
        ends = [unit for unit in seen.dead if unit.host and re.search(r"exited [1-9]|exit-code", unit.detail)]
        again = bool(ends and seen.shown and seen.picture.said("rebooted"))
        return found(STRONG if again else LIKELY, seen.culprits, (*seen.said[:1], *seen.evidence), device=seen.device)
    return None


def swap_and_silent_node(seen: Seen) -> Finding | None:
    if (seen.shown or seen.said) and (silent(seen.picture) or seen.gone):
        return found(POSSIBLE, seen.culprits, (*seen.said[:1], *seen.evidence), device=seen.device)
    return None


def _mended(picture: Picture) -> set[str]:
    """Hosts whose kubelet runs, and whose /proc/swaps was looked at and lists nothing."""
    shown = [exhibit for exhibit in picture.commands("/proc/swaps") if exhibit.host]
    empty = {each.host for each in shown if each.lines and not any(_DEVICE.search(line) for line in each.lines)}
    kubelets = [unit for unit in picture.of(Unit) if unit.name.startswith("kubelet")]
    return empty & {unit.host for unit in kubelets if unit.active == "active"}


def _hosts(picture: Picture, refused: list[Hit]) -> list[str]:
    """Where kubelet refused: the journal's host, else the prompt's."""
    return [name for name in hosts_of(picture, *refused[:2]) if not name.startswith(("calico", "canal"))]


def _devices(picture: Picture) -> tuple[list[str], list[Place]]:
    """Swap devices: of kubelet's own list, /proc/swaps, swapon or lsblk; a non-zero total of free counts without a "
    "name."""
    devices: list[str] = []
    shown: list[Place] = []
    for hit in picture.hits(SWAP_ON):
        for line in (hit.line, line_after(picture, hit.place)):
            devices += _ANY_DEVICE.findall(line.partition("/proc/swaps")[2] or ("" if line is hit.line else line))
    for exhibit in picture.exhibits:
        if not re.search(r"/proc/swaps|swapon|\bfree\b|list-units.*swap|lsblk", exhibit.command):
            continue
        for index, line in enumerate(exhibit.lines):
            found_here = [one or two for one, two in _DEVICE.findall(line)]
            if re.search(r"\bswap\b.{0,200}\bactive\b|\[SWAP\]", line):
                found_here += _ANY_DEVICE.findall(line) or [line.split()[0].lstrip("●├─└ ")]
            total = _FREE.match(line)
            if found_here or (total and float(total[1]) > 0):
                devices += found_here
                shown.append(exhibit.place(index))
    return list(dict.fromkeys(devices)), shown


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("off")
    yield do("fstab")
    device = finding.value("device")
    # systemd's name of the unit: slashes are dashes, dashes are escaped
    unit = device.strip("/").replace("/", "-") + ".swap" if device and "-" not in device else ""
    yield do("mask", unit=unit)
    yield do("start")


CAUSE = Cause(
    module=__name__,
    id="kubelet-swap-on",
    code="TRT4003",
    severity="high",
    explains=("node-not-ready", "status-stale", "bgp-down", "not-ready", "pod-pending", "traffic-dead"),
    signs=(SWAP_ON, ACCEPTED, ACCEPTED_FLAG, *NODE_SIGNS),
    look=Seen,
    rules=(mended, back, refused, accepted, swap_and_dead_kubelet, swap_and_silent_node),
    fix=fix,
)
