"""TRT4001: docker or containerd hangs or lost its partner, so kubelet never sees what containers do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.agent.start_evidence import (
    Gap,
    created_to_started,
    hosts_of,
    pod_to_container,
    settled,
    sick_names,
    stuck_inits,
)
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import not_ready
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Event, Pod, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Seconds
from tortie.doctor.words import Words

PLEG: Final = Sign("runtime-pleg", "PLEG is not healthy")
PLEG_LIST: Final = Sign("runtime-pleg-list", "GenericPLEG: Unable to retrieve pods")
DEADLINE: Final = Sign("runtime-deadline", "code = DeadlineExceeded desc = context deadline exceeded")
NO_DOCKER: Final = Sign("runtime-no-docker", "Cannot connect to the Docker daemon")
NO_CONTAINERD: Final = Sign(
    "runtime-no-containerd", "containerd.sock: <list>connect: (connection refused|no such file or directory)"
)
DIAL_CONTAINERD: Final = Sign("runtime-dial-containerd", 'failed to dial "<list>containerd.sock"')
RUNTIME_DOWN: Final = Sign("runtime-down", "container runtime is down")
NETDEVICE: Final = Sign("runtime-netdevice", "unregister_netdevice: waiting for <device> to become free")
RETRYING: Final = Sign("runtime-ipam-retrying", "failed to migrate ipam, retrying")
CLEAR: Final = (PLEG, PLEG_LIST, NO_DOCKER, NO_CONTAINERD, DIAL_CONTAINERD, RUNTIME_DOWN)
SLOW_S: Final = 90.0  # between steps that take a second; ages of events are rounded to minutes
QUICK_S: Final = 2.0
_LISTING: Final = lazily(r"\bcrictl\s(?:.{0,100}\s)?(?:ps|pods|info)(?!\S)")
NO_DOCKERSHIM: Final = (1, 24)  # Kubernetes without its own way to docker


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.said = picture.said("runtime-broken")
        serving = _serving(picture)
        self.docker_off = _docker_is_off(picture)
        clear = [hit for hit in picture.hits(*CLEAR) if not _is_other_call(hit) and not _is_over(hit, serving)]
        self.clear = [hit for hit in clear if not (_at_a_start(hit) or (self.docker_off and hit.sign == NO_DOCKER.key))]
        self.hanging = _hanging(picture)
        units = [unit for unit in picture.of(Unit) if _is_runtime(unit) and unit.active not in ("active", "")]
        self.units = [unit for unit in units if not (self.docker_off and unit.name.startswith("docker"))]
        self.gaps = [*created_to_started(picture), *_unexplained(picture, pod_to_container(picture))]
        self.slow = [gap for gap in self.gaps if gap.seconds >= SLOW_S]
        self.stuck = stuck_inits(picture)
        self.weak = [hit for hit in picture.hits(DEADLINE, NETDEVICE) if not _is_other_call(hit)]

    @cached_property
    def described(self) -> list[Pod]:
        return [pod for pod in self.picture.of(Pod) if pod.started is not None and pod.node]

    @cached_property
    def program(self) -> str:
        runtime = " ".join(node.runtime for node in self.picture.nodes_now().values())
        asked = self.picture.hits(NO_DOCKER) and not self.docker_off
        return "docker" if "docker" in runtime or asked else "containerd"

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        conditions = [condition.owner for condition in self.picture.of(Condition) if "PLEG" in condition.message]
        hosts = [*(host for host, _ in self.hanging), *conditions, *(pod.node for pod in self.described)]
        hosts += [*hosts_of(self.picture, *[*self.clear, *self.weak][:3]), *(unit.host for unit in self.units[:1])]
        return culprits(
            named("node", *hosts),
            named("unit", *(unit.name for unit in self.units[:1])),
            named("program", *(value for one in self.said for value in one.values), self.program, "containerd"),
            named("container", *(gap.container for gap in self.slow)),
            named("pod", *(pod.name for pod in self.described), *sick_names(self.picture)),
            Culprit("program", "docker"),
        )

    @cached_property
    def evidence(self) -> list[object]:
        ends = (end for gap in self.slow[:2] for end in (gap.begin, gap.end))
        calls = (place for _, place in self.hanging[:1])
        return [*self.said[:1], *self.clear[:3], *calls, *self.units[:1], *ends, *self.stuck[:1]]

    @property
    def node(self) -> str:
        known = self.picture.nodes_now()
        names = [one.name for one in self.culprits if one.kind == "node"]
        return next((name for name in names if name in known), names[0] if names else "")


def migration_retries(seen: Seen) -> Finding | None:
    retrying = seen.picture.hits(RETRYING)
    return ruled_out(retrying[:1]) if retrying and not (seen.clear or seen.said) else None


def agents_ready(seen: Seen) -> Finding | None:
    pods = settled(seen.picture)
    # What the API says of pods is old where their node is not ready.
    told = seen.said or seen.clear or seen.hanging or (seen.units and not_ready(seen.picture))
    well = pods and (not told or _recovered(seen.picture))
    return ruled_out(pods[:2]) if well else None


def no_answer(seen: Seen) -> Finding | None:
    """Its own words, a dead unit, or a call that never came back."""
    if not (seen.said or seen.clear or seen.units or seen.hanging):
        return None
    strength = PROVEN if (seen.said or seen.units or seen.hanging) and (seen.clear or seen.slow) else STRONG
    texts = [*(one.text for one in seen.said), *(hit.text for hit in seen.clear), *(unit.name for unit in seen.units)]
    message = next(iter(texts), "timeout").strip()[:120]
    return found(strength, seen.culprits, seen.evidence, message=message, node=seen.node, program=seen.program)


def slow_starts(seen: Seen) -> Finding | None:
    if not seen.slow:
        return None
    gap = max(seen.slow, key=lambda one: one.seconds)
    created = isinstance(gap.begin, Event)
    begin = Words("its creation", "容器创建") if created else Words("the pod's start", "Pod 启动")
    return found(
        STRONG if seen.stuck or len(seen.slow) > 1 else LIKELY, seen.culprits, seen.evidence,
        container=gap.container, time=Seconds(gap.seconds), begin=begin, node=seen.node, program=seen.program,
    )  # fmt: skip


def calls_time_out(seen: Seen) -> Finding | None:
    if not seen.weak:
        return None
    ended = [pod for pod in seen.picture.of(Pod) if pod.status in ("Terminating", "ContainerCreating")]
    device = any(hit.sign == NETDEVICE.key for hit in seen.weak)
    strength = LIKELY if device and ended else POSSIBLE
    return found(strength, seen.culprits, seen.weak[:3], message=seen.weak[0].text, node=seen.node)


def quick_starts(seen: Seen) -> Finding | None:
    quick = [gap for gap in seen.gaps if gap.seconds <= QUICK_S]
    if not (seen.stuck and quick):
        return None
    first = quick[0]
    return ruled_out((first.begin, first.end), container=first.container, time=Seconds(max(round(first.seconds), 0)))


def init_without_end(seen: Seen) -> Finding | None:
    agents = seen.picture.agents_now()
    waiting = [pod for pod in agents if pod.status.startswith("Init:0/") and (pod.age_s or 0) > 600]
    if seen.stuck or waiting:
        return found(POSSIBLE, seen.culprits, (*seen.stuck[:1], *waiting[:1]), node=seen.node)
    return None


def _unexplained(picture: Picture, gaps: list[Gap]) -> list[Gap]:
    """A pod whose image was still being pulled, or whose volumes were missing, starts late without any fault of the "
    "runtime."""
    busy = picture.events("Pulling", "FailedMount", "Failed", "BackOff", "FailedCreatePodSandBox")
    return [gap for gap in gaps if gap.seconds < SLOW_S or not busy]


def _hanging(picture: Picture) -> list[tuple[str, Place]]:
    """Host and place of calls that `timeout` ended, or a person did, though they end by themselves; or crictl, which
    waits for two seconds for a list that takes none."""
    calls = [call for call in picture.of(Setting) if call.scope == "runtime"]
    over = [
        call for call in calls if call.value == "hangs" or (call.value == "deadline exceeded" and _lists(picture, call))
    ]
    return list(dict.fromkeys((call.host, call.place) for call in over))


def _lists(picture: Picture, call: Setting) -> bool:
    """Whether only a list was asked for; pulling an image may take its time."""
    exhibit = exhibit_at(picture, call.place)
    return exhibit is not None and _LISTING.search(exhibit.command[:300]) is not None


def _serving(picture: Picture) -> set[str]:
    """Hosts whose runtime lists its containers when somebody asks."""
    asked = [exhibit for exhibit in picture.commands("crictl ps") if exhibit.host]
    return {each.host for each in asked if any(line.lstrip().startswith("CONTAINER") for line in each.lines)}


def _is_over(hit: Hit, serving: set[str]) -> bool:
    """Nobody was there to connect to, as when kubelet is the first to start; by now somebody is."""
    return hit.host in serving and hit.sign in (PLEG_LIST.key, NO_CONTAINERD.key, DIAL_CONTAINERD.key)


def _docker_is_off(picture: Picture) -> bool:
    """Nodes run another runtime: whoever asks docker there asks nobody whom kubelet needs."""
    runtimes = [node.runtime for node in picture.nodes_now().values() if node.runtime]
    if runtimes:
        return not any("docker" in runtime for runtime in runtimes)
    kubernetes = picture.version("kubernetes") or picture.version("kubelet")
    shim = any("cri-docker" in unit.name for unit in picture.of(Unit))
    return kubernetes is not None and kubernetes >= NO_DOCKERSHIM and not shim


def _at_a_start(hit: Hit) -> bool:
    """Every kubelet says it once before it has listed its containers for the first time."""
    return hit.sign == PLEG.key and "yet to be successful" in hit.line


def _is_runtime(unit: Unit) -> bool:
    return unit.name.removesuffix(".service") in ("docker", "containerd", "crio", "cri-docker", "cri-o")


def _is_other_call(hit: Hit) -> bool:
    return any(word in hit.line.lower() for word in ("probe", "https://", "pull image", "pulling image"))


def _recovered(picture: Picture) -> bool:
    nodes = picture.nodes_now()
    return bool(nodes) and all(node.status.startswith("Ready") for node in nodes.values())


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield from ways.drain_node(picture, finding.value("node"))
    yield do("containerd")
    if finding.value("program") == "docker" or picture.hits(NO_DOCKER):
        yield do("docker")
    yield do("kubelet")


CAUSE = Cause(
    module=__name__,
    id="runtime-unresponsive",
    code="TRT4001",
    severity="high",
    explains=(
        "init-stuck", "node-not-ready", "terminating-stuck", "sandbox-failed", "not-ready", "pod-pending", "restarts",
    ),
    signs=(*CLEAR, DEADLINE, NETDEVICE, RETRYING),
    look=Seen,
    rules=(
        migration_retries, agents_ready, no_answer, slow_starts, calls_time_out, quick_starts, init_without_end,
    ),
    fix=fix,
)  # fmt: skip
