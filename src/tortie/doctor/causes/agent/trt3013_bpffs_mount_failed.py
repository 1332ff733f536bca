"""TRT3013: the init step that mounts the BPF file system or cgroup2 fails."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, node_of
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.picture.facts import Container, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Text

NOT_SHARED: Final = Sign(
    "bpffs-not-shared", 'path (")?<path>(")? is mounted on (")?<mount>(")? but it is not a shared mount'
)
NOT_SHARED_SLAVE: Final = Sign("bpffs-not-slave", "but it is not a shared or slave mount")
BPF_FAILED: Final = Sign("bpffs-failed", "mount BPF file( )?system")
CGROUP_FAILED: Final = Sign("bpffs-cgroup-failed", "Failed to mount cgroup2 file( )?system")
NO_CGROUP: Final = Sign(
    "bpffs-cgroup-not-seen", "failed to attach <program> to cgroup <path> <list>no such file or directory"
)
NO_FOLDER: Final = Sign("bpffs-no-folder", "hostPath type check failed: /sys/fs/bpf is not a directory")
NO_FLAG: Final = Sign("bpffs-no-flag", "flag provided but not defined: -best-effort")
FIRST_STEP: Final = "mount-bpffs"
STEPS: Final = (FIRST_STEP, "ebpf-bootstrap")
BPF, CGROUP, NETWORK = 2, 3, 4  # exit codes
WORDS: Final = {BPF: "word bpf", CGROUP: "word cgroup", NETWORK: "word network"}
BEST_EFFORT: Final = (3, 24)  # the release whose files have the step, and the flag with it


class Seen:
    """The init step's container, and what it or the runtime says of mounts."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        shared = [*picture.hits(NOT_SHARED), *picture.hits(NOT_SHARED_SLAVE)]
        self.shared = [hit for hit in shared if "/sys" in hit.line or any(step in hit.line for step in STEPS)]
        tried = [hit for hit in picture.hits(BPF_FAILED) if any(word in hit.line.lower() for word in ("fail", "error"))]
        self.failed = [*tried, *picture.hits(CGROUP_FAILED)]
        self.unseen = picture.hits(NO_CGROUP)
        self.no_folder = picture.hits(NO_FOLDER)
        self.steps = [box for box in picture.containers() if box.name in STEPS]
        self.boxes = [box for box in self.steps if _code(box) not in (None, 0)]
        self.code = next((code for box in self.boxes if (code := _code(box)) in WORDS), None)

    @property
    def cgroup(self) -> bool:
        said = any(hit.sign == CGROUP_FAILED.key for hit in self.failed)
        return said or bool(self.unseen) or any(_code(box) == CGROUP for box in self.boxes)

    @property
    def step(self) -> str:
        return self.boxes[0].name if self.boxes else FIRST_STEP

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        paths = [hit.value("path") for hit in (*self.shared, *self.unseen)]
        return culprits(
            named("file", *paths, "cgroup2" if self.cgroup else "/sys/fs/bpf"),
            named("container", *(box.name for box in self.boxes), FIRST_STEP),
            named("pod", *(box.pod for box in self.boxes)),
            as_culprits(hosts_of(self.picture, *self.shared[:1], *self.failed[:1], *self.unseen[:1])),
            Culprit("file", "/sys"),
        )

    @cached_property
    def pod(self) -> Pod | None:
        names = {one.name for one in self.culprits if one.kind == "pod"}
        return next((pod for pod in self.picture.agents_now() if pod.name in names), None)

    def found(self, strength: float, reason: Text | str = "") -> Finding:
        kind = WORDS.get(self.code or (CGROUP if self.cgroup else BPF), "").removeprefix("word ")
        node = self.pod.node if self.pod and self.pod.node else node_of(self.picture, self.culprits)
        evidence = (*self.shared[:2], *self.failed[:2], *self.unseen[:1], *self.boxes[:1])
        return found(
            strength, self.culprits, evidence, step=self.step, kind="bpf" if self.shared else kind, node=node,
            agent_pod=next((box.pod for box in self.boxes), ""), reason=reason,
        )  # fmt: skip


def flag_unknown(seen: Seen) -> Finding | None:
    skew = seen.picture.hits(NO_FLAG)
    return ruled_out(skew[:1]) if skew else None


def not_shared(seen: Seen) -> Finding | None:
    if not seen.shared:
        return None
    return seen.found(PROVEN if seen.boxes or seen.failed else STRONG)


def step_fails(seen: Seen) -> Finding | None:
    if not (seen.failed or seen.code):
        return None
    code = seen.code or (CGROUP if seen.cgroup else BPF)
    # A program of Go that is given a flag it does not know ends with the same number.
    unsure = code == BPF and not seen.failed and not _knows_flag(seen.picture)
    strength = PROVEN if seen.failed and seen.code else POSSIBLE if unsure else STRONG
    return seen.found(strength, reason=Text(__name__, WORDS[code]))


def cgroup_not_seen(seen: Seen) -> Finding | None:
    """The init step has mounted cgroup2, and the mount did not come through to the agent."""
    return seen.found(STRONG) if seen.unseen else None


def no_folder(seen: Seen) -> Finding | None:
    """kubelet looks for the mount point before anything of the pod runs; the kernel makes it, where it knows BPF."""
    if not seen.no_folder:
        return None
    hit = seen.no_folder[-1]
    pods = {pod.name: pod for pod in seen.picture.agents_now()}
    waiting = next((pod for name, pod in pods.items() if name in f"{hit.command} {hit.line}"), None)
    node = waiting.node if waiting else ""
    who = culprits(Culprit("file", "/sys/fs/bpf"), named("node", node), named("pod", waiting.name if waiting else ""))
    kernel = next((one.version for one in seen.picture.versions("kernel")), "")
    return found(STRONG, who, (hit,), kind="folder", node=node, kernel=kernel)


def ended_with_error(seen: Seen) -> Finding | None:
    if not seen.boxes:
        return None
    stuck = any(pod.status.startswith("Init:") for pod in seen.picture.agents_now())
    return seen.found(LIKELY if stuck else POSSIBLE)


def ended_well(seen: Seen) -> Finding | None:
    done = [box for box in seen.steps if _code(box) == 0]
    return ruled_out(done[:1], step=done[0].name) if done else None


def _knows_flag(picture: Picture) -> bool:
    version = picture.version("calico")
    return version is not None and version >= BEST_EFFORT


def _code(box: Container) -> int | None:
    """The exit code of the last run that ended."""
    return box.exit_code if box.exit_code is not None else box.last_exit_code


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    kind = finding.value("kind", "bpf")
    step = finding.value("step", FIRST_STEP)
    if kind == "folder":
        yield do("kernel")
        yield do("without" if not has_operator(picture) else "exclude")
        return
    if kind == "network":
        yield do("read", step=step)
    else:
        yield do("share-cgroup" if kind == "cgroup" else "share")
        yield do("keep", folder="/run" if kind == "cgroup" else "/sys")
    if finding.rule == "cgroup-not-seen":
        yield from restart_agent(picture, finding.value("node"))
    elif step == FIRST_STEP and _may_fail(picture):
        yield do("best-effort")


def _may_fail(picture: Picture) -> bool:
    """eBPF is not seen to be in use, and the files are those of a release that can let the step fail."""
    version = picture.version("calico")
    used = picture.value("bpfEnabled") == "true" or picture.value("FELIX_BPFENABLED") == "true"
    return not used and not has_operator(picture) and (version is None or version >= BEST_EFFORT)


CAUSE = Cause(
    module=__name__,
    id="bpffs-mount-failed",
    code="TRT3013",
    severity="medium",
    explains=("init-crash", "init-stuck", "not-ready", "crash-loop", "pod-pending", "log-errors"),
    signs=(NOT_SHARED, NOT_SHARED_SLAVE, BPF_FAILED, CGROUP_FAILED, NO_CGROUP, NO_FOLDER, NO_FLAG),
    look=Seen,
    rules=(flag_unknown, not_shared, step_fails, cgroup_not_seen, no_folder, ended_with_error, ended_well),
    fix=fix,
)
