"""TRT3012: a path of the host that this release needs is not mounted into the agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import as_culprits, crash_looping, hosts_of, node_of, sick_names
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.shared import NODENAME_MISSING, STARTED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import apply_release
from tortie.doctor.picture.facts import Pod
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NO_SOCKET: Final = Sign("mount-control-socket", "Cannot create control socket <path>: No such file or directory")
EXPECTED: Final = Sign("mount-expected", "Expected <path> to be mounted into the container but it wasn't present")
MODULES: Final = Sign("mount-modules", "can't change directory to '/lib/modules'")
LOCK: Final = Sign("mount-xtables-lock", "can't open lock file <path>: No such file or directory")
NAMED: Final = Sign("mount-name-told", "Using NODENAME environment for node name")
STARTING_S: Final = 180.0  # an agent needs so long, and ages are rounded
FOLDERS: Final = ("/var/lib/calico", "/var/run/calico", "/lib/modules", "/run/xtables.lock", "/sys/fs")
SHARED: Final = "/var/lib/calico"  # where the agent leaves the node's name for the CNI plugin


class Seen:
    """What the agent misses by its own words, and the file that the CNI plugin misses."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.own = picture.hits(NO_SOCKET, EXPECTED, LOCK)
        self.modules = picture.hits(MODULES)
        self.absent = _absent_mounts(picture)
        self.paths = [*(_folder(hit) for hit in self.own), *(["/lib/modules"] if self.modules else [])]
        complaints = [] if self.paths else picture.hits(NODENAME_MISSING)
        self.nodename = [hit for hit in complaints if not _of_a_probe(hit)]

    @cached_property
    def agents(self) -> list[Pod]:
        return self.picture.agents_now() if self.nodename else []

    @cached_property
    def there(self) -> list[Pod]:
        return _agents_there(self.picture, self.nodename, self.agents)

    @cached_property
    def plugins(self) -> tuple[Culprit, ...]:
        """Who is named where the plugin misses the file."""
        return culprits(
            named("file", SHARED, f"{SHARED}/nodename"),
            Culprit("setting", "hostPath"),
            as_culprits(hosts_of(self.picture, *self.nodename[:2])),
        )


def mounted(seen: Seen) -> Finding | None:
    if not seen.paths:
        return None
    path = seen.paths[0]
    boxes = seen.picture.containers(init=False)
    have = [box for box in boxes if path in box.mounts and (not box.pod or is_agent(box.pod))]
    return ruled_out(have[:1], path=path) if have else None


def started_all_the_same(seen: Seen) -> Finding | None:
    """It only warns that its name may be lost: it was told its name, it started, and no plugin misses the file."""
    warned = seen.own and all(hit.sign == EXPECTED.key for hit in seen.own)
    started = seen.picture.hits(STARTED)
    told = seen.picture.hits(NAMED)
    if not (warned and started and told) or seen.picture.hits(NODENAME_MISSING):
        return None
    return ruled_out((*started[:1], *told[:1]))


def not_mounted(seen: Seen) -> Finding | None:
    if not seen.paths:
        return None
    picture, path = seen.picture, seen.paths[0]
    sick = sick_names(picture)
    blamed = culprits(
        named("file", *seen.paths, *(hit.value("path") for hit in seen.own)),
        as_culprits([*hosts_of(picture, *seen.own[:2], *seen.modules[:1]), *sick]),
        Culprit("setting", "hostPath"),
        Culprit("container", "calico-node"),
    )
    # Modules may be built in: only an agent that does not stay up has missed one.
    falls = sick and crash_looping(picture)
    strength = PROVEN if path in seen.absent else STRONG if seen.own else LIKELY if falls else POSSIBLE
    evidence = (*seen.own[:2], *seen.modules[:1])
    return found(strength, blamed, evidence, path=path, node=node_of(picture, blamed))


def agent_not_shown(seen: Seen) -> Finding | None:
    """The file is missing for kubelet's plugin: a consequence, unless the agent there has long been ready."""
    if not seen.nodename or seen.agents:
        return None
    served = served_since(seen.picture, seen.nodename)
    if served:
        return ruled_out((*seen.nodename[:1], *served[:1]), say="before-the-start")
    return found(POSSIBLE / 2, seen.plugins, seen.nodename[:2], path=SHARED)


def not_on_every_node(seen: Seen) -> Finding | None:
    """Fewer agents than nodes, and nothing says which node complains: it may be the one without."""
    nodes = seen.picture.nodes_now()
    fewer = seen.nodename and len(seen.agents) < len(nodes) and len(seen.there) == len(seen.agents)
    return found(POSSIBLE / 2, seen.plugins, seen.nodename[:2], say="agent-not-shown", path=SHARED) if fewer else None


def agent_not_started(seen: Seen) -> Finding | None:
    if seen.nodename and not (seen.there and all(pod.all_ready for pod in seen.there)):
        return ruled_out((*seen.there[:1], *seen.nodename[:1]))
    return None


def before_the_start(seen: Seen) -> Finding | None:
    if not seen.nodename:
        return None
    if _over(seen.picture, seen.nodename, seen.there):
        return ruled_out((*seen.nodename[:1], *seen.there[:1]))
    served = served_since(seen.picture, seen.nodename) or _came_up_below(seen.picture, seen.nodename, seen.there)
    return ruled_out((*seen.nodename[:1], *served[:1])) if served else None


def _came_up_below(picture: Picture, nodename: list[Hit], there: list[Pod]) -> list[Pod]:
    """The same agents stand above the complaint, and were not ready yet: ages below are those of a later look."""
    rows = [pod for pod in picture.of(Pod) if not pod.all_ready and is_agent(pod.name)]
    first, source = nodename[0].place.first, nodename[0].place.source
    above = {pod.name for pod in rows if pod.place.source == source and pod.place.first < first}
    below = [pod for pod in there if pod.place.source == source and pod.place.first > first and pod.name in above]
    return below if len(below) == len(there) else []


def not_shared(seen: Seen) -> Finding | None:
    if not seen.nodename:
        return None
    nodes = [pod.node for pod in seen.there] + [pod.name for pod in seen.there]
    blamed = culprits(seen.plugins, as_culprits(nodes))
    strength = PROVEN if SHARED in seen.absent else STRONG
    node = node_of(seen.picture, blamed)
    return found(strength, blamed, (*seen.there[:1], *seen.nodename[:2]), path=SHARED, node=node)


def _of_a_probe(hit: Hit) -> bool:
    """The agent's own readiness while it starts: it has not written the file yet, and no plugin misses it."""
    return "is not ready" in hit.line or "probe" in hit.line.lower()


def _agents_there(picture: Picture, nodename: list[Hit], agents: list[Pod]) -> list[Pod]:
    """Agents of the nodes that complain; all when nothing says which nodes these are."""
    known = {pod.node for pod in agents if pod.node}
    rows = {pod.name: pod.node for pod in picture.of(Pod) if pod.node}
    named = {hit.host for hit in nodename if "kubectl" not in hit.command} & known
    for hit in nodename:
        words = re.split(r"[\s,\"/():]+", hit.line)
        named |= {word for word in words if word in known}
        named |= {rows[word] for word in words if word in rows}
    return [pod for pod in agents if pod.node in named] if named else agents


def _over(picture: Picture, nodename: list[Hit], there: list[Pod]) -> bool:
    """Whether every complaint is of a pod that is ready by now, or older than the start of the agent there."""
    at = {hit.place for hit in nodename}
    events = [event for event in picture.events() if event.place in at]
    ready = {pod.name for pod in picture.pods_now() if pod.all_ready}
    told = {event.place for event in events}
    if not all(hit.place in told or _about_any(hit, ready) for hit in nodename):
        return False
    young = min((pod.age_s for pod in there if pod.age_s is not None), default=None)
    return all(
        event.object.rpartition("/")[2] in ready
        or (event.age_s is not None and young is not None and event.age_s >= young - STARTING_S)
        for event in events
    )


def _about_any(hit: Hit, pods: set[str]) -> bool:
    """A line of kubelet's own log, about one of these pods."""
    return any(word in pods for word in re.split(r"[\s,\\\"/():=_]+", hit.line))


def _folder(hit: Hit) -> str:
    path = hit.value("path")
    return next((folder for folder in FOLDERS if path.startswith(folder)), path.rpartition("/")[0] or path)


def _absent_mounts(picture: Picture) -> list[str]:
    """Paths that no shown agent container mounts; empty when no mounts are shown."""
    boxes = [
        box for box in picture.containers(init=False) if box.mounts and (is_agent(box.pod) or box.name == "calico-node")
    ]
    have = {mount.rstrip("/") for box in boxes for mount in box.mounts}
    return [folder for folder in FOLDERS if folder not in have] if boxes else []


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    path = finding.value("path", SHARED)
    if picture.commands("docker run") or picture.commands("nerdctl run"):
        yield do("by-hand", path=path)
        return
    yield do("look")
    yield do("whole", path=path)
    yield from apply_release(picture)


CAUSE = Cause(
    module=__name__,
    id="missing-mount",
    code="TRT3012",
    severity="medium",
    explains=(
        "not-ready", "bird-not-ready", "felix-not-ready", "crash-loop", "sandbox-failed", "init-crash", "log-errors",
    ),
    signs=(NO_SOCKET, EXPECTED, MODULES, LOCK, NODENAME_MISSING, STARTED, NAMED),
    look=Seen,
    rules=(
        mounted, started_all_the_same, not_mounted, agent_not_shown, agent_not_started, not_on_every_node,
        before_the_start, not_shared,
    ),
    fix=fix,
    yields_to=("kernel-module-missing", "ipset-kernel-mismatch"),
)  # fmt: skip
