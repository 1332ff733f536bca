"""TRT3005: the kernel kills the agent at its memory limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.announced import announced
from tortie.doctor.causes.agent.speakers import is_ours, of_another, owner_at
from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, node_of, sick_names
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import set_agent_limits
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container, Pod, Probe
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Hit, Sign

OOM_KILLED: Final = Sign("oom-reason", "OOMKilled")
CGROUP: Final = Sign("oom-cgroup", "Memory cgroup out of memory: <verb> process <pid> \\(<program>\\)")
GLOBAL: Final = Sign("oom-global", "Out of memory: <verb> process <pid> \\(<program>\\)")
KILLED_PROCESS: Final = Sign("oom-killed-process", "Killed process <pid> \\(<program>\\)")
OURS: Final = ("calico", "felix", "bird", "confd", "canal", "typha", "kube-controllers", "check-status")
TASK: Final = Sign("oom-task", "oom-kill:constraint=<list>task=<program>,pid=<n_pid>")
AT_LIMIT: Final = Sign("oom-at-limit", "memory: usage <used>, limit <limit>, failcnt <n_fails>")
AGENT: Final = "calico-node"
AGENT_PROBE: Final = "[/bin/calico-node"
DEPLOYMENTS: Final = ("calico-kube-controllers", "calico-typha")


_DENIED: Final = lazily(r'"?OOMKilled"?[:=] ?"?false', re.IGNORECASE)  # how docker and podman print their state
_NUMBER: Final = lazily(r"\b[0-9a-f]{12,64}\b")
_ROWS: Final = 200  # of one listing


class Seen:
    """Who was killed for memory, in the words of kubelet and of the kernel."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.boxes = [
            box
            for box in picture.containers()
            if "OOMKilled" in (box.reason, box.last_reason)
            and (_ours(box) or _row_of(picture, box) or announced(picture, box))
        ]
        self.rows = [row for box in self.boxes if (row := _row_of(picture, box))]
        self.kernel = [hit for hit in picture.hits(CGROUP, GLOBAL, TASK, KILLED_PROCESS) if _our_program(hit)]
        words = [hit for hit in picture.hits(OOM_KILLED) if not _DENIED.search(hit.line)]
        self.words = [hit for hit in words if _about_us(picture, hit)]
        self.limit = _memory_limit(picture, self.boxes, bool(self.kernel))

    @cached_property
    def programs(self) -> list[str]:
        return [hit.value("program") for hit in self.kernel]

    @property
    def who(self) -> str:
        return next(
            (name for name in (*(box.name for box in self.boxes[:1]), *self.programs, *map(_part, self.rows)) if name),
            AGENT,
        )

    @property
    def in_its_cgroup(self) -> bool:
        return any(hit.sign == CGROUP.key or "CONSTRAINT_MEMCG" in hit.line for hit in self.kernel)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        picture, boxes = self.picture, self.boxes
        killed = {box.pod for box in boxes}
        nodes = [pod.node for pod in picture.pods_now() if pod.node and pod.name in killed]
        others = [*hosts_of(picture, *self.kernel[:2], *(() if boxes else self.words[:2]))]
        return culprits(
            named("container", *(box.name for box in boxes)),
            named("program", *self.programs),
            named("pod", *(box.pod for box in boxes), *(row.name for row in self.rows)),
            named("setting", f"memory: {self.limit}" if self.limit else "resources.limits.memory"),
            as_culprits([*nodes, *others, *(() if boxes else sick_names(picture))]),
        )

    @property
    def evidence(self) -> tuple[Container | Hit, ...]:
        return (*self.boxes[:2], *self.kernel[:2], *self.words[:2])

    def found(self, strength: float, say: str, more: tuple[Pod, ...] = (), *, aside: bool = False) -> Finding:
        box = self.boxes[0] if self.boxes else None
        return found(
            strength, self.culprits, (*self.evidence, *more), say=say, aside=aside, who=self.who, limit=self.limit,
            container=box.name if box else "", workload=_deployment(box, self.rows) if box else "",
            node=node_of(self.picture, self.culprits), scope="host" if say == "host-full" else "",
        )  # fmt: skip


def over(seen: Seen) -> Finding | None:
    """It happened once, all agents are ready, and nobody says that it goes on."""
    picture = seen.picture
    pods = [pod for pod in picture.agents_now() if pod.containers is not None]
    again = (
        picture.said("keeps-restarting")
        or len({hit.value("pid") or hit.value("n_pid") for hit in seen.kernel}) > 1
        or any((box.restarts or 0) > 1 for box in seen.boxes)
        or any((pod.restarts or 0) > 1 for pod in pods)
        or any(pod.status == "OOMKilled" and is_ours(pod.name) for pod in picture.pods_now())
    )
    if seen.evidence and pods and not again and all(pod.all_ready for pod in pods):
        return seen.found(POSSIBLE / 3, say="over", more=tuple(pods[:1]), aside=True)
    return None


def killed(seen: Seen) -> Finding | None:
    if not (seen.boxes or seen.words) or _only_suspected(seen):
        return None
    proven = seen.kernel or (seen.boxes and seen.limit)
    return seen.found(PROVEN if proven else STRONG, say="killed")


def _only_suspected(seen: Seen) -> bool:
    """A person names it, and the container that is shown was ended with another reason."""
    if seen.boxes or not all(hit.prose for hit in seen.words):
        return False
    return any(137 in (box.exit_code, box.last_exit_code) for box in seen.picture.containers())


def killed_by_kernel(seen: Seen) -> Finding | None:
    if not seen.kernel:
        return None
    if seen.in_its_cgroup:
        proven = seen.picture.hits(AT_LIMIT) or seen.limit
        return seen.found(PROVEN if proven else STRONG, say="killed-by-kernel")
    host = any(hit.sign == GLOBAL.key or "CONSTRAINT_NONE" in hit.line for hit in seen.kernel)
    return seen.found(LIKELY, say="host-full" if host else "killed-by-kernel")


def ended_otherwise(seen: Seen) -> Finding | None:
    boxes = seen.picture.containers()
    ended = [box for box in boxes if 137 in (box.exit_code, box.last_exit_code) and _ours(box)]
    return ruled_out(ended[:1], reason=ended[0].last_reason or ended[0].reason or "Error") if ended else None


def someone_else(seen: Seen) -> Finding | None:
    others = seen.picture.hits(CGROUP, GLOBAL)
    if not others:
        return None
    program = others[0].value("program")
    return found(POSSIBLE / 3, named("program", program), others[:1], aside=True, program=program)


def _ours(box: Container) -> bool:
    return is_agent(box.pod) or any(word in f"{box.pod} {box.name}" for word in OURS)


def _row_of(picture: Picture, box: Container) -> Pod | None:
    """A part of `describe` without a name, beside the row of a Deployment of Calico's restarted as often."""
    asked = [probe.action for probe in picture.of(Probe)]
    if box.pod or box.name or not box.restarts or not all("check-status" in action for action in asked):
        return None
    rows = [pod for pod in picture.pods_now() if pod.restarts == box.restarts]
    return rows[0] if len(rows) == 1 and rows[0].name.startswith(DEPLOYMENTS) else None


def _our_program(hit: Hit) -> bool:
    return any(word in hit.value("program").lower() for word in OURS)


def _about_us(picture: Picture, hit: Hit) -> bool:
    """The word alone names nobody: its line, command or the probes beside it must, or Calico is all that is shown."""
    owner = owner_at(picture, hit.place)  # of a row; what the command searched for says nothing of it then
    text = (owner or f"{hit.line} {hit.command}").lower()
    if any(word in text for word in OURS):
        return True
    if of_another(picture, hit):
        return False
    if _container_of_ours(picture, hit.command):
        return True
    exhibit = exhibit_at(picture, hit.place)
    if exhibit and not exhibit.prose and any(AGENT_PROBE in line for line in exhibit.lines):
        return True
    if any(box.state or box.last_state or box.image for box in picture.containers()) or hit.command:
        return False
    return bool(picture.agents()) and not hit.prose


def _container_of_ours(picture: Picture, command: str) -> bool:
    """The command asks about a container by the number that a listing shows beside a name of ours."""
    numbers = [word[:12] for word in _NUMBER.findall(command)]
    lines = (line.lower() for exhibit in picture.exhibits for line in exhibit.lines[:_ROWS] if numbers)
    return any(line.startswith(tuple(numbers)) and any(word in line for word in OURS) for line in lines)


def _memory_limit(picture: Picture, boxes: list[Container], killed: bool) -> str:
    shown = [box for box in picture.containers(init=False) if _ours(box) or not (box.pod or box.name)]
    for box in (*boxes, *shown):
        if memory := dict(box.limits).get("memory", ""):
            return memory
    reached = picture.hit(AT_LIMIT) if killed else None
    kilobytes = reached.value("limit").lower().removesuffix("kb") if reached else ""
    return f"{int(kilobytes) // 1024}Mi" if kilobytes.isdecimal() else ""


def _deployment(box: Container, rows: list[Pod]) -> str:
    """Which of Calico's Deployments the container is of; empty for the agent."""
    pods = (box.pod, *(row.name for row in rows))
    return next((f"deploy/{name}" for name in DEPLOYMENTS for pod in pods if pod.startswith(f"{name}-")), "")


def _part(row: Pod) -> str:
    return next((name for name in DEPLOYMENTS if row.name.startswith(f"{name}-")), "")


def _doubled(limit: str) -> str:
    match = re.fullmatch(r"(\d{1,9})(Ki|Mi|Gi|k|)", limit)
    return f"{2 * int(match[1])}{match[2]}" if match else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    quantity = _doubled(finding.value("limit"))
    if finding.value("scope") == "host":
        yield do("host")
        return
    if finding.value("workload"):
        yield do("raise-deployment", quantity=quantity)
    elif finding.value("container", AGENT) == AGENT:
        yield from set_agent_limits(picture, "memory", quantity)
    else:
        yield do("raise-container", quantity=quantity)
    yield do("watch")


CAUSE = Cause(
    module=__name__,
    id="oom-killed",
    code="TRT3005",
    severity="medium",
    # Between two kills the pod looks well; what Felix has not written meanwhile is missing.
    explains=("restarts", "crash-loop", "not-ready", "traffic-dead", "controllers-failing", "typha-down"),
    signs=(OOM_KILLED, CGROUP, GLOBAL, KILLED_PROCESS, TASK, AT_LIMIT),
    look=Seen,
    rules=(over, killed, killed_by_kernel, ended_otherwise, someone_else),
    fix=fix,
)
