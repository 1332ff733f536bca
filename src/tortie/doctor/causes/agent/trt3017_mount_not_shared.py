"""TRT3017: a host path has to pass mounts on between host and container, and the mount it lies on is private."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import of_another
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.recovery import node_of, sick, writers
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

NOT_SHARED: Final = Sign(
    "mount-not-shared", 'path (")?<path>(")? is mounted on (")?<mount>(")? but it is not a shared( or slave)? mount'
)
CUT: Final = Sign("mount-not-shared-cut", "but it is not a shared or slave mount")
# What mounts /sys/fs/bpf has a cause of its own.
BPF: Final = "/sys"
_FINDMNT: Final = lazily(r"^(?:[├└│─\s|`-]*)(?P<target>/\S*)\s+(?:.*\s)?(?P<how>private|shared|slave)(?:,\S+)?\s*$")


class Propagation(NamedTuple):
    place: Place
    target: str
    how: str  # private, shared, slave


class Seen:
    """The runtime's word, and how mounts of the host are passed on."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        every = picture.hits(NOT_SHARED)
        self.bpf = [hit for hit in every if _below(hit.value("mount"), BPF)]
        self.hits = [hit for hit in every if hit not in self.bpf]
        cut = [] if every else picture.hits(CUT)
        self.cut = [hit for hit in cut if "/sys" not in hit.line]

    @cached_property
    def path(self) -> str:
        return next((hit.value("path") for hit in self.hits), "")

    @cached_property
    def mount(self) -> str:
        return next((hit.value("mount") for hit in self.hits), "")

    @cached_property
    def propagation(self) -> Propagation | None:
        """Of the mount that the runtime names, as findmnt shows it last."""
        shown = None
        for exhibit in self.picture.exhibits:
            if "findmnt" not in exhibit.command:
                continue
            for index, line in enumerate(exhibit.lines):
                match = _FINDMNT.match(line)
                if match and match["target"] == self.mount:
                    shown = Propagation(exhibit.place(index), match["target"], match["how"])
        return shown

    @cached_property
    def pods(self) -> list[Pod]:
        """Those that the runtime refused, by the events that say so; as they are shown now."""
        places = {hit.place for hit in (*self.hits, *self.cut)}
        told = [event.object.rpartition("/")[2] for event in self.picture.of(Event) if event.place in places]
        return [pod for pod in self.picture.pods_now() if pod.name in told]

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        written = writers(self.picture, *self.hits[:2], *self.cut[:1])
        nodes = named("node", *(pod.node for pod in self.pods))
        return culprits(
            named("file", self.path, self.mount), nodes, written, named("pod", *(p.name for p in self.pods))
        )


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def about_bpf(seen: Seen) -> Finding | None:
    return ruled_out(seen.bpf[:1]) if seen.bpf and not seen.hits else None


def shared_now(seen: Seen) -> Finding | None:
    shown = seen.propagation
    return ruled_out((shown,), mount=seen.mount) if seen.hits and shown and shown.how == "shared" else None


def started_since(seen: Seen) -> Finding | None:
    well = bool(seen.pods) and all(pod.all_ready for pod in seen.pods)
    return ruled_out(seen.pods[:1]) if well else None


def not_shared(seen: Seen) -> Finding | None:
    """The runtime has looked at the mounts itself before it says so."""
    if not seen.hits:
        return None
    # True of that pod; agents that run and are not ready have been started, and have another trouble.
    started = [pod for pod in sick(seen.picture) if pod.status == "Running"]
    if started and all(of_another(seen.picture, hit) for hit in seen.hits):
        return found(POSSIBLE, seen.culprits, seen.hits[:2], path=seen.path, mount=seen.mount)
    private = seen.propagation is not None
    proven = private or any(not hit.prose for hit in seen.hits)
    return found(
        PROVEN if proven else STRONG, seen.culprits, (seen.propagation, *seen.hits[:2], *seen.pods[:1]),
        path=seen.path, mount=seen.mount, node=node_of(seen.culprits),
    )  # fmt: skip


def path_cut(seen: Seen) -> Finding | None:
    return found(LIKELY, seen.culprits, seen.cut[:2], node=node_of(seen.culprits)) if seen.cut else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    # The root is no path that a command takes from evidence; these are written for it.
    yield do("see-root" if finding.value("path") == "/" else "see")
    yield do("share-root" if finding.value("mount") == "/" else "share")
    yield do("keep")
    if any("docker" in exhibit.command for exhibit in picture.exhibits) or picture.versions("docker"):
        yield do("docker")
    yield do("inner")
    refused = [one.name for one in finding.culprits if one.kind == "pod"] or [pod.name for pod in sick(picture)]
    yield do("again", pod=refused[0] if refused else "")


CAUSE = Cause(
    module=__name__,
    id="mount-not-shared",
    code="TRT3017",
    severity="medium",
    explains=(
        "init-crash", "init-stuck", "crash-loop", "not-ready", "pod-pending", "others-failing", "sandbox-failed",
        "controllers-failing", "operator-degraded",
    ),
    signs=(NOT_SHARED, CUT),
    look=Seen,
    rules=(about_bpf, shared_now, started_since, not_shared, path_cut),
    fix=fix,
)  # fmt: skip
