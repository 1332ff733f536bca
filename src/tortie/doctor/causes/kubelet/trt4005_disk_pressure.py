"""TRT4005: the node's disk is full, so kubelet evicts pods, and images and files cannot be written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import is_ours, of_another
from tortie.doctor.causes.agent.start_evidence import hosts_of
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Disk, Event, Node, Pod
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

LOW: Final = Sign("disk-low-on", "node was low on resource: <resource>")
LOW_LIST: Final = Sign("disk-low-on-list", "node was low on resource: [<resource>]")  # up to Kubernetes 1.15
NO_SPACE: Final = Sign("disk-no-space", "no space left on device")
FREE_FAILED: Final = Sign("disk-free-failed", "FreeDiskSpaceFailed")
HAS_PRESSURE: Final = Sign("disk-has-pressure", "KubeletHasDiskPressure")
NODE_HAS: Final = Sign("disk-node-has", "status is now: NodeHasDiskPressure")
RECLAIM: Final = Sign("disk-reclaim", "eviction manager: attempting to reclaim <resource>")
IMAGE_GC: Final = Sign("disk-image-gc", "failed to garbage collect required amount of images")
# Of the scheduler; what pods tolerate is written without these brackets.
REFUSED: Final = Sign("disk-taint-refused", "taint( |s ){node.kubernetes.io/disk-pressure")
RELIEVED: Final = Sign("disk-relieved", "status is now: NodeHasNoDiskPressure")
DISKS: Final = ("ephemeral-storage", "inodes", "nodefs", "imagefs", "disk", "diskpressure")
FULL: Final = 95  # percent; kubelet's own limits are 85 (images) and 90 (eviction)
TIGHT: Final = 85
# The kernel says the same of watches, maps, groups, name spaces and tables.
NOT_DISKS: Final = (
    "inotify", "fsnotify", "watch", "bpf", "shm", "sysfs", "cgroup", "rtnetlink", "ipset", "tables-restore", "unshare",
)  # fmt: skip
IRRELEVANT: Final = ("/snap", "/boot", "/mnt", "/media", "/run", "/sys", "/dev/shm", "/proc")
NOT_OURS: Final = ("/mnt", "/media", "/sys", "/dev/shm", "/proc")  # what is written there is nothing of kubelet's

_PATH: Final = lazily(r"(?<![\w./-])(/[\w./-]{1,300}+)'?: no space left", re.I)


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        hits = picture.hits(LOW, LOW_LIST, RECLAIM)
        self.low = [hit for hit in hits if hit.value("resource").rstrip(".").lower() in DISKS]
        self.memory = [hit for hit in hits if hit.value("resource").lower().startswith("memory")]
        lines = [hit for hit in picture.hits(NO_SPACE) if not of_another(picture, hit)]
        self.written = [hit for hit in lines if _on_a_disk(hit.line)]
        self.kubelet = picture.hits(HAS_PRESSURE, NODE_HAS, FREE_FAILED, IMAGE_GC, REFUSED)
        conditions = [condition for condition in picture.of(Condition) if condition.kind == "DiskPressure"]
        self.pressed = [condition for condition in conditions if condition.status == "True"]
        self.fine = [condition for condition in conditions if condition.status == "False"]
        self.disks = [disk for disk in picture.of(Disk) if not disk.mount.startswith(IRRELEVANT)]
        self.evicted = [pod for pod in picture.pods_now() if pod.status == "Evicted"]
        self.said = picture.said("disk-full")

    @cached_property
    def tainted(self) -> list[Node]:
        nodes = self.picture.nodes_now().values()
        return [node for node in nodes if any("disk-pressure" in taint for taint in node.taints)]

    @cached_property
    def full(self) -> list[Disk]:
        """The fullest first."""
        some = [disk for disk in self.disks if disk.used_percent >= FULL]
        return sorted(some, key=lambda disk: -disk.used_percent)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        others = [*self.written, *self.kubelet]
        nodes = [*(one.owner for one in self.pressed), *(node.name for node in self.tainted)]
        nodes += [*(pod.node for pod in self.picture.of(Pod) if pod.status == "Evicted"), *(d.host for d in self.full)]
        return culprits(
            named("node", *nodes),
            named("file", *(disk.mount for disk in self.full)),
            named("resource", *(hit.value("resource").rstrip(".") for hit in self.low)),
            named("node", *hosts_of(self.picture, *self.low[:2], *others[:2])),
            Culprit("resource", "DiskPressure"),
            named("pod", *(pod.name for pod in self.evicted[:2])),
            Culprit("resource", "ephemeral-storage"),
            named("message", "no space left on device" if others else ""),
        )

    @cached_property
    def evidence(self) -> tuple[object, ...]:
        shown = (*self.full[:2], *self.pressed[:1], *self.low[:2], *self.kubelet[:1], *self.written[:2])
        return (*shown, *self.tainted[:1], *self.evicted[:1], *self.said[:1])

    @property
    def node(self) -> str:
        named_ones = [*(one.owner for one in self.pressed), *(node.name for node in self.tainted)]
        return next((name for name in named_ones if name), "")

    @property
    def room(self) -> str:
        return f"{self.full[0].mount} {self.full[0].used_percent} %" if self.full else ""

    @property
    def now(self) -> bool:
        """Something says that the disk is full at present."""
        return bool(self.full or self.pressed or self.tainted or self.written)

    @property
    def kinds(self) -> int:
        """How many kinds of evidence speak of it."""
        groups = (self.low, self.kubelet, self.pressed or self.tainted, self.full, self.written, self.said)
        return sum(map(bool, groups))


def over(seen: Seen) -> Finding | None:
    if seen.fine and not seen.now and (seen.low or seen.kubelet):
        return found(POSSIBLE, seen.culprits, seen.evidence)
    return None


def relieved(seen: Seen) -> Finding | None:
    """kubelet says last that there is room again, nothing speaks against it, and every node that is shown is well."""
    said = [hit for hit in seen.picture.hits(RELIEVED) if _is_later(seen.picture, hit, (*seen.kubelet, *seen.low))]
    nodes = seen.picture.nodes_now().values()
    well = bool(nodes) and all(node.status.startswith("Ready") for node in nodes) and not seen.evicted
    roomy = bool(seen.disks) and all(disk.used_percent < TIGHT for disk in seen.disks)
    return ruled_out((said[-1], *seen.disks[:1])) if said and not seen.now and (well or roomy) else None


def no_pressure(seen: Seen) -> Finding | None:
    return ruled_out(seen.fine[:1]) if seen.fine and not seen.now and not seen.evicted else None


def room_shown(seen: Seen) -> Finding | None:
    """Something could not be written or was evicted, and the disks that are shown have room: inodes, a disk of somebody
    else, or another day."""
    alone = (seen.written or seen.low) and not (seen.full or seen.kubelet or seen.pressed or seen.tainted)
    if not alone or not _has_room(seen):
        return None
    ours = any(is_ours(hit.line) or "/var/lib/" in hit.line for hit in seen.written)
    return found(LIKELY if ours else POSSIBLE, seen.culprits, seen.evidence, say="full", node=seen.node)


def full(seen: Seen) -> Finding | None:
    told = seen.low or seen.kubelet or seen.pressed or seen.tainted or seen.written
    if not (told or seen.kinds > 1):
        return None
    strength = PROVEN if seen.kinds > 1 else STRONG
    return found(strength, seen.culprits, seen.evidence, node=seen.node, room=seen.room)


def seems_full(seen: Seen) -> Finding | None:
    """Only df, or a person, says so."""
    if not (seen.full or seen.said):
        return None
    strength = LIKELY if seen.evicted else POSSIBLE
    return found(strength, seen.culprits, seen.evidence, say="full", node=seen.node, room=seen.room)


def memory(seen: Seen) -> Finding | None:
    return ruled_out(seen.memory[:1]) if seen.memory else None


def room_left(seen: Seen) -> Finding | None:
    return ruled_out(seen.disks[:1]) if _has_room(seen) else None


def _is_later(picture: Picture, relief: Hit, others: Iterable[Hit]) -> bool:
    """Every kubelet says that at its start, too: what came after it is not over by that."""
    ages = {event.place: event.age_s for event in picture.of(Event)}
    mine = ages.get(relief.place)
    for other in others:
        its = ages.get(other.place)
        if mine is not None and its is not None:
            if mine >= its:
                return False
        elif (relief.place.source, relief.place.first) <= (other.place.source, other.place.first):
            return False
    return True


def _has_room(seen: Seen) -> bool:
    root = [disk for disk in seen.disks if disk.mount == "/" and not disk.inodes]
    return bool(root) and all(disk.used_percent < TIGHT for disk in seen.disks)


def _on_a_disk(line: str) -> bool:
    """Written to a file of the node's own disks, as far as the line names one."""
    path = _PATH.search(line)
    return not any(word in line.lower() for word in NOT_DISKS) and not (path and path[1].startswith(NOT_OURS))


def agent_evicted(seen: Seen) -> Finding | None:
    if not any(is_agent(pod.name) for pod in seen.evicted):
        return None
    where = named("node", *(pod.node for pod in seen.evicted)) or named("pod", *(pod.name for pod in seen.evicted))
    return found(POSSIBLE, culprits(Culprit("resource", "DiskPressure"), where), seen.evicted[:2])


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    inodes = any(disk.inodes and disk.used_percent >= FULL for disk in picture.of(Disk))
    yield do("inodes" if inodes else "space")
    docker = any("docker" in node.runtime for node in picture.nodes_now().values())
    yield do("docker-images" if docker else "images")
    yield do("journal")
    yield do("evicted")


CAUSE = Cause(
    module=__name__,
    id="disk-pressure",
    code="TRT4005",
    severity="high",
    explains=(
        "evicted", "image-pull", "not-ready", "pod-pending", "pod-not-created", "init-crash", "crash-loop",
        "node-not-ready",
    ),
    signs=(LOW, LOW_LIST, NO_SPACE, FREE_FAILED, HAS_PRESSURE, NODE_HAS, RECLAIM, IMAGE_GC, REFUSED, RELIEVED),
    look=Seen,
    rules=(over, relieved, no_pressure, room_shown, full, seems_full, memory, room_left, agent_evicted),
    fix=fix,
)  # fmt: skip
