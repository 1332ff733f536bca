"""TRT6006: the runtime watches a directory that was deleted, and never loads the new configuration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    CONFIG_UNINITIALIZED,
    DIRECTORY_SIGNS,
    FIND_PLUGIN_CUT,
    NO_NETWORK_CONFIG,
    NO_NETWORKS,
    NOT_INITIALIZED,
    OWN_FILE,
    agents_fine,
    conf_files,
    is_own,
    node_of,
    runtime_conf_dirs,
)
from tortie.doctor.causes.cni.runtime_start import ACTIVE_SINCE, Compared, compared, too_old
from tortie.doctor.causes.cni.runtimes import restart_runtime, runtime_of
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

RELOAD: Final = Sign(
    "cni-reload-failed",
    "failed to reload cni configuration after receiving fs change event\\(<list_event>\\)",
)
RELOAD_CUT: Final = Sign("cni-reload-failed-cut", "failed to reload cni configuration after receiving fs change event")
WATCH_GONE: Final = Sign("cni-watch-gone", "cni watching dir is deleted")
BROKEN_FILE: Final = Sign("cni-conf-broken", "error parsing configuration")
_DIRECTORY: Final = lazily(r"net\.d/?\\*[\"'’]|cni-network/?\\*[\"']|net\.d/?\s*$")
SIGNS: Final = (
    BROKEN_FILE, RELOAD, RELOAD_CUT, WATCH_GONE, ACTIVE_SINCE, NOT_INITIALIZED, CONFIG_UNINITIALIZED, NO_NETWORKS,
    NO_NETWORK_CONFIG, FIND_PLUGIN_CUT,
)  # fmt: skip


class Seen:
    """`unloaded` is the runtime's own word that it has no configuration; without it nothing here is judged."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        events = [hit for hit in picture.hits(RELOAD) if _of_directory(hit.value("list_event"))]
        self.removed = [*events, *picture.hits(WATCH_GONE)]
        self.reload = self.removed or picture.hits(RELOAD_CUT)
        self.symptom = picture.hits(NOT_INITIALIZED, CONFIG_UNINITIALIZED, NO_NETWORKS, NO_NETWORK_CONFIG)
        self.unloaded = bool(self.reload or self.symptom)
        self.ready = agents_fine(picture)
        self.node = node_of(self.symptom, picture)

    @cached_property
    def files(self) -> list[HostFile]:
        return [file for file in conf_files(self.picture) if is_own(file.name)]

    @cached_property
    def compared(self) -> Compared | None:
        """The file against the runtime's start."""
        return compared(self.picture, self.files)

    @property
    def newer(self) -> Compared | None:
        return self.compared if self.compared and self.compared.newer_s > 0 else None

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        unit = runtime_of(self.picture, self.node).unit
        file = Culprit("file", f"{CONF_DIR}/{self.files[0].name if self.files else OWN_FILE}")
        return culprits(Culprit("unit", unit), Culprit("folder", CONF_DIR), file, named("node", self.node))

    @property
    def evidence(self) -> tuple[object, ...]:
        said = (self.reload or self.symptom)[:2]
        return (*self.removed[:1], *self.files[:1], self.newer, *said, *self.symptom[:1])


def _of_directory(event: str) -> bool:
    """`REMOVE "/etc/cni/net.d"`, later `"/etc/cni/net.d": REMOVE`; a file that comes and goes in it is normal."""
    gone = "remove" in event.lower() or "rename" in event.lower()
    return gone and _DIRECTORY.search(event) is not None


def file_broken(seen: Seen) -> Finding | None:
    broken = seen.picture.hits(BROKEN_FILE)
    return ruled_out(broken[-1:]) if seen.unloaded and broken else None


def plugin_missing(seen: Seen) -> Finding | None:
    missing = seen.picture.hits(FIND_PLUGIN_CUT)
    return ruled_out(missing[:1]) if seen.unloaded and missing else None


def agent_starting(seen: Seen) -> Finding | None:
    return ruled_out(seen.symptom[:1]) if seen.unloaded and seen.ready is False else None


def nodes_ready(seen: Seen) -> Finding | None:
    nodes = [node for node in seen.picture.nodes_now().values() if node.status]
    well = nodes and all(node.status.split(",")[0] == "Ready" for node in nodes)
    return ruled_out(nodes[:1]) if seen.unloaded and well else None


def other_directory(seen: Seen) -> Finding | None:
    other = [directory for directory in runtime_conf_dirs(seen.picture) if directory.path != CONF_DIR]
    return ruled_out(other[:1], path=other[0].path) if seen.unloaded and other else None


def kubelet_reads(seen: Seen) -> Finding | None:
    """Where kubelet, or cri-dockerd, calls plugins itself, it reads the directory anew every few seconds."""
    said = seen.picture.hits(CONFIG_UNINITIALIZED)
    others = seen.reload or seen.picture.hits(NOT_INITIALIZED, NO_NETWORK_CONFIG)
    return ruled_out(said[:1]) if said and not others else None


def started_later(seen: Seen) -> Finding | None:
    """The runtime was started when the file was there: it looked at the directory as it is."""
    one = seen.compared
    return ruled_out((one,)) if seen.unloaded and not seen.removed and one is not None and too_old(one) else None


def directory_deleted(seen: Seen) -> Finding | None:
    if not seen.removed:
        return None
    strength = PROVEN if seen.files and seen.symptom else STRONG
    return found(strength, seen.culprits, seen.evidence, node=seen.node)


def file_not_loaded(seen: Seen) -> Finding | None:
    if not seen.unloaded or not seen.files:
        return None
    fine = seen.ready is True
    sure = fine and seen.newer is not None and seen.newer.sure
    strength = (PROVEN if sure else STRONG) if seen.newer else LIKELY if fine else POSSIBLE
    return found(
        strength, seen.culprits, seen.evidence, say="newer-file-not-loaded" if seen.newer else "file-not-loaded",
        name=seen.files[0].name, node=seen.node,
    )  # fmt: skip


def nothing_loaded(seen: Seen) -> Finding | None:
    return found(POSSIBLE, seen.culprits, seen.evidence, node=seen.node) if seen.unloaded else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule != "directory-deleted":
        yield do("look")
    yield from restart_runtime(picture, finding.value("node"))


CAUSE = Cause(
    module=__name__,
    id="runtime-cni-watch-lost",
    code="TRT6006",
    severity="medium",
    explains=("node-not-ready", "sandbox-failed", "pod-pending", "no-address", "log-errors"),
    signs=(*SIGNS, *DIRECTORY_SIGNS),
    look=Seen,
    rules=(
        plugin_missing, file_broken, agent_starting, nodes_ready, other_directory, kubelet_reads, started_later,
        directory_deleted, file_not_loaded, nothing_loaded,
    ),
    fix=fix,
    yields_to=("cni-conf-dir-mismatch", "cni-binary-missing", "stale-cni-config"),
)  # fmt: skip
