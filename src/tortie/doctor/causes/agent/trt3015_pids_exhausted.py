"""TRT3015: no process or thread can be made any more: a limit of a pod, of a unit or of the node is reached."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import crash_looping
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.recovery import node_of, recovered, sick, writers
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

REJECTED: Final = Sign("pids-fork-rejected", "fork rejected by pids controller")
REJECTED_IN: Final = Sign("pids-fork-rejected-in", "fork rejected by pids controller in <group>")
THREAD: Final = Sign("pids-no-thread", "failed to create new OS thread \\(have <n_threads> already; errno=<n_errno>\\)")
THREAD_CUT: Final = Sign("pids-no-thread-cut", "failed to create new OS thread")
PTHREAD: Final = Sign("pids-pthread", "pthread_create failed: Resource temporarily unavailable")
FORK: Final = Sign("pids-fork-retry", "fork: (retry: )?Resource temporarily unavailable")
FORK_ZH: Final = Sign("pids-fork-retry-zh", "fork: (retry: )?资源暂时不可用")
EXEC: Final = Sign("pids-fork-exec", "fork/exec <path>: resource temporarily unavailable")
NO_MEMORY: Final = "12"  # ENOMEM; EAGAIN is a limit
FULL: Final = 0.95
_STATUS: Final = lazily(r"^\s*Tasks: (?P<current>\d+) \(limit: (?P<most>\d+)\)")  # systemctl status
_SHOW: Final = lazily(r"^(?:TasksCurrent=(?P<current>\d+)|TasksMax=(?P<most>\d+))$")
_FILES: Final = lazily(r"pids\.(current|max)")
_THREADS: Final = lazily(r"\bps\s+(?:-\S*L|\S*H|.*nlwp)")
_LOADAVG: Final = lazily(r"\d+\.\d+ \d+\.\d+ \d+\.\d+ \d+/(\d+) \d+$")
_ONE_POD: Final = lazily(r"pod[0-9a-f]{4,8}[_-]?[0-9a-f_-]*")
_UNIT: Final = lazily(r"/system\.slice/(?:system-[\w.@\\-]+\.slice/)?(?P<unit>[\w.@\\-]+\.service)")


class Tasks(NamedTuple):
    """How many processes and threads a group has, and may have."""

    place: Place
    current: int
    most: int
    unit: bool = False  # of a systemd unit: says nothing of pods


def _tasks_of(exhibit: Exhibit) -> Iterator[Tasks]:
    files = _FILES.findall(exhibit.command)
    numbers = [line.strip() for line in exhibit.lines if line.strip().isdecimal()]
    known = dict(zip(files, numbers, strict=False)) if len(files) == len(numbers) else {}
    of_unit = not files
    last = exhibit.place(0, len(exhibit.lines)) if exhibit.lines else None
    for index, line in enumerate(exhibit.lines):
        if status := _STATUS.match(line):
            yield Tasks(exhibit.place(index), int(status["current"]), max(1, int(status["most"])), True)
        elif show := _SHOW.match(line.strip()):
            known |= {"current": show["current"]} if show["current"] else {"max": show["most"]}
    if last and {"current", "max"} <= known.keys():
        yield Tasks(last, int(known["current"]), max(1, int(known["max"])), of_unit)


def _of_loadavg(picture: Picture) -> Iterator[tuple[Place, int]]:
    """`1.92 1.75 1.70 3/32702 31877`: behind the stroke all that there are."""
    for exhibit in picture.exhibits:
        if "loadavg" in exhibit.command and exhibit.lines and (match := _LOADAVG.match(exhibit.lines[0])):
            yield exhibit.place(0), int(match[1])


class Seen:
    """Who could not fork, in which group, and how many tasks there are and may be."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.rejected = picture.hits(REJECTED)
        counted = picture.hits(THREAD)
        self.memory = [hit for hit in counted if hit.value("n_errno") == NO_MEMORY]
        said = counted or picture.hits(THREAD_CUT)
        self.threads = [hit for hit in said if hit not in self.memory] + picture.hits(PTHREAD)
        self.forks = picture.hits(FORK, FORK_ZH, EXEC)

    @property
    def lines(self) -> list[Hit]:
        return [*self.rejected, *self.threads, *self.forks]

    @cached_property
    def group(self) -> str:
        return next((hit.value("group") for hit in self.picture.hits(REJECTED_IN)), "")

    @cached_property
    def unit(self) -> str:
        match = _UNIT.search(self.group)
        return match["unit"] if match else ""

    @cached_property
    def tasks(self) -> Tasks | None:
        """Of the fullest group that is shown."""
        shown = [tasks for exhibit in self.picture.exhibits for tasks in _tasks_of(exhibit)]
        shown += [self.of_node] if self.of_node else []
        return max(shown, key=lambda tasks: tasks.current / tasks.most, default=None)

    @cached_property
    def of_node(self) -> Tasks | None:
        """All threads of the machine, counted by ps or by the kernel, and the number that it can have."""
        most = self.picture.setting("kernel.pid_max")
        counted = [
            (one.place, one.value) for one in self.picture.numbers("ps ", "wc") if _THREADS.search(one.command)
        ] + [*_of_loadavg(self.picture)]
        if not counted or most is None or not most.value.isdecimal() or not int(most.value):
            return None
        return Tasks(*counted[-1], int(most.value))

    @property
    def filled(self) -> float | None:
        return self.tasks.current / self.tasks.most if self.tasks else None

    @property
    def current(self) -> str:
        return str(self.tasks.current) if self.tasks else ""

    @property
    def most(self) -> str:
        return str(self.tasks.most) if self.tasks else ""

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        whole = self.of_node is not None and self.of_node is self.tasks and (self.filled or 0) >= FULL
        limit = "podPidsLimit" if "kubepods" in self.group else "kernel.pid_max" if whole else ""
        return culprits(
            named("unit", self.unit),
            named("setting", limit),
            writers(self.picture, *self.lines[:3]),
            named("resource", self.group if not self.unit else ""),
        )


def out_of_memory(seen: Seen) -> Finding | None:
    return ruled_out(seen.memory[:1]) if seen.memory and not (seen.rejected or seen.threads) else None


def room(seen: Seen) -> Finding | None:
    """The group that was asked has room; the kernel's own line goes before that, as it names a group."""
    if seen.tasks is None or seen.tasks.unit or seen.rejected or not seen.lines:
        return None
    spare = seen.tasks.current < FULL / 2 * seen.tasks.most
    return ruled_out((seen.tasks,), current=seen.current, most=seen.most) if spare else None


def over(seen: Seen) -> Finding | None:
    """Only where nobody suffers: other pods of the node may be short while the agents are ready."""
    well = recovered(seen.picture, seen.lines) if seen.lines else []
    return ruled_out(well[:1]) if well and not seen.picture.said("suffers") else None


def rejected(seen: Seen) -> Finding | None:
    """The kernel's own line."""
    if not seen.rejected:
        return None
    evidence = (*seen.rejected[:1], seen.tasks, *seen.threads[:1], *seen.forks[:1])
    return found(
        _strength(seen), seen.culprits, evidence,
        group=seen.group, unit=seen.unit, node=node_of(seen.culprits), current=seen.current, most=seen.most,
    )  # fmt: skip


def _strength(seen: Seen) -> float:
    """A group of one pod or one user concerns the others only where these are shown to be short as well."""
    if seen.threads or seen.forks or (seen.filled is not None and seen.filled >= FULL):
        return PROVEN
    if "/user.slice" in seen.group:
        return HINT
    if _ONE_POD.search(seen.group):
        return LIKELY if sick(seen.picture) and crash_looping(seen.picture) else POSSIBLE
    return STRONG


def full(seen: Seen) -> Finding | None:
    if seen.filled is None or seen.filled < FULL or not seen.lines:
        return None
    evidence = (seen.tasks, *seen.lines[:2])
    return found(PROVEN, seen.culprits, evidence, node=node_of(seen.culprits), current=seen.current, most=seen.most)


def no_thread(seen: Seen) -> Finding | None:
    """Go and libc say it where they are refused; whose limit it is, is not shown."""
    if not seen.threads:
        return None
    node = node_of(seen.culprits)
    return found(STRONG if sick(seen.picture) or len(seen.threads) > 1 else LIKELY, seen.culprits,
                 (*seen.threads[:2], *seen.forks[:1]), node=node)  # fmt: skip


def no_fork(seen: Seen) -> Finding | None:
    return found(POSSIBLE, seen.culprits, seen.forks[:2], node=node_of(seen.culprits)) if seen.forks else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    group = finding.value("group")
    yield do("who")
    if finding.value("unit"):
        yield do("unit")
        yield do("keep-unit")
    elif "kubepods" in group:
        yield do("pod")
    else:
        yield do("pod")
        yield do("node")
        yield do("keep-node")
    yield do("leak")


CAUSE = Cause(
    module=__name__,
    id="pids-exhausted",
    code="TRT3015",
    severity="high",
    explains=(
        "crash-loop", "not-ready", "felix-not-ready", "bird-not-ready", "restarts", "killed-by-liveness",
        "sandbox-failed", "others-failing", "controllers-failing", "node-not-ready", "log-errors", "init-crash",
        "terminating-stuck",
    ),
    signs=(REJECTED, REJECTED_IN, THREAD, THREAD_CUT, PTHREAD, FORK, FORK_ZH, EXEC),
    look=Seen,
    rules=(out_of_memory, room, over, rejected, full, no_thread, no_fork),
    fix=fix,
)  # fmt: skip
