"""TRT6002: install-cni writes one directory, the runtime reads another one with old files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    DIRECTORY_SIGNS,
    KUBECONFIG,
    NO_NETWORK_CONFIG,
    NO_NETWORKS,
    NOT_INITIALIZED,
    Directory,
    is_conf_dir,
    is_own,
    kubeconfigs,
    mounted_conf_dirs,
    node_of,
    runtime_conf_dirs,
)
from tortie.doctor.causes.cni.file_times import SOME_YEAR, written_at
from tortie.doctor.causes.cni.runtimes import restart_runtime, runtime_of
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.shared import UNAUTHORIZED
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

ERRORS: Final[tuple[Sign, ...]] = (UNAUTHORIZED, NOT_INITIALIZED, NO_NETWORKS, NO_NETWORK_CONFIG)
APART_S: Final = 3_600.0  # two copies written by one install-cni are seconds apart


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.runtime = runtime_conf_dirs(picture)
        self.mounted = mounted_conf_dirs(picture)
        self.errors = picture.hits(*ERRORS)

    @cached_property
    def copies(self) -> tuple[HostFile, HostFile] | None:
        """Two kubeconfigs of one host in two directories, the older first."""
        kept = kubeconfigs(self.picture)
        files = [(file, at) for file in kept if file.folder and (at := written_at(self.picture, file, SOME_YEAR))]
        for one, earlier in files:
            for two, later in files:
                apart = later - earlier > APART_S
                if apart and one.folder.rstrip("/") != two.folder.rstrip("/") and one.host == two.host:
                    return one, two
        return None

    @cached_property
    def unlinked(self) -> tuple[HostFile, HostFile] | None:
        """A folder that is a link on one machine, and a folder of its own on another."""
        paths = [file for file in self.picture.of(HostFile) if is_conf_dir(_path(file)) and file.mode]
        links = [file for file in paths if file.mode.startswith("l") and file.link_to]
        for link in links:
            for file in paths:
                apart = file.host != link.host or not file.host
                if file.mode.startswith("d") and apart and _path(file) == _path(link):
                    return file, link
        return None

    @cached_property
    def fresh(self) -> list[Directory]:
        """The runtime reads the older one of two kubeconfigs: the younger one is what install-cni writes now."""
        if not (self.errors and self.copies and self.runtime):
            return []
        old, new = self.copies
        return [_folder(new)] if old.folder.rstrip("/") == self.runtime[-1].path else []

    @cached_property
    def written(self) -> Directory | None:
        """Where install-cni writes: by the DaemonSet, by the younger copy, by where Calico's files lie at all."""
        every = self.mounted or self.fresh or _own_files(self.picture)
        return every[-1] if every else None


def _path(file: HostFile) -> str:
    return (file.name if file.name.startswith("/") else f"{file.folder.rstrip('/')}/{file.name}").rstrip("/")


def _folder(file: HostFile) -> Directory:
    return Directory(file.folder.rstrip("/"), file.place, file.host)


def _own_files(picture: Picture) -> list[Directory]:
    """Where Calico's files lie, when the DaemonSet is not shown and there is just one such place."""
    folders = {f.folder.rstrip("/"): f for f in picture.of(HostFile) if is_conf_dir(f.folder) and is_own(f.name)}
    read = {directory.path for directory in runtime_conf_dirs(picture)}
    elsewhere = [Directory(folder, file.place) for folder, file in folders.items() if folder not in read]
    if len(folders) == 1 and not elsewhere:
        return [Directory(folder, file.place) for folder, file in folders.items()]
    return elsewhere[-1:]


def one_directory(seen: Seen) -> Finding | None:
    if not seen.runtime or not seen.written:
        return None
    reads = seen.runtime[-1]
    same = _same(reads.path, seen.written.path, _links(seen.picture, reads.host))
    return ruled_out((reads, seen.written), path=reads.path) if same else None


def reads_another(seen: Seen) -> Finding | None:
    if not seen.runtime or not seen.written:
        return None
    strength = PROVEN if seen.mounted else STRONG if seen.fresh else LIKELY
    return _mismatch(seen, strength, seen.runtime[-1], seen.written)


def two_copies(seen: Seen) -> Finding | None:
    if not seen.copies:
        return None
    old, new = seen.copies
    return _mismatch(seen, STRONG if seen.errors else POSSIBLE, _folder(old), _folder(new))


def link_lost(seen: Seen) -> Finding | None:
    """On good machines the folder is a link to where install-cni writes; on the bad one it is a folder of its own."""
    if not seen.unlinked:
        return None
    real, link = seen.unlinked
    reads = Directory(_path(real), real.place, real.host)
    writes = Directory(link.link_to.rstrip("/"), link.place, link.host)
    return _mismatch(seen, STRONG if seen.errors else POSSIBLE, reads, writes)


def unusual_directory(seen: Seen) -> Finding | None:
    other = [directory for directory in seen.runtime if directory.path != CONF_DIR]
    if not (other and seen.errors):
        return None
    return _mismatch(seen, POSSIBLE, other[-1], Directory(CONF_DIR, other[-1].place))


def _mismatch(seen: Seen, strength: float, reads: Directory, writes: Directory) -> Finding:
    node = node_of(seen.picture.hits(UNAUTHORIZED, NOT_INITIALIZED), seen.picture) or reads.host
    blamed = culprits(
        named("folder", reads.path, writes.path),
        Culprit("setting", runtime_of(seen.picture, node).conf_key),
        Culprit("file", f"{reads.path}/{KUBECONFIG}"),
        named("node", node),
    )
    evidence = (reads, writes, *seen.errors[:2])
    return found(strength, blamed, evidence, reads=reads.path, writes=writes.path, node=node)


def _links(picture: Picture, host: str) -> dict[str, str]:
    """Links of the machine whose runtime is asked; how it is on a good machine says nothing about this one."""
    links = {}
    for file in picture.of(HostFile):
        if file.link_to and (not host or not file.host or file.host == host):
            links[_path(file)] = file.link_to.rstrip("/")
    return links


def _same(one: str, two: str, links: dict[str, str]) -> bool:
    return one == two or links.get(one) == two or links.get(two) == one


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node = finding.value("node")
    runtime = runtime_of(picture, node)
    if finding.rule == "link-lost":
        yield do("relink")
        yield from restart_runtime(picture, node)
        return
    yield do("link")
    yield do("align", setting=runtime.conf_key, config=runtime.config)
    yield from restart_runtime(picture, node)


CAUSE = Cause(
    module=__name__,
    id="cni-conf-dir-mismatch",
    code="TRT6002",
    severity="high",
    explains=("sandbox-failed", "pod-pending", "terminating-stuck", "unauthorized", "node-not-ready", "no-address"),
    signs=(*ERRORS, *DIRECTORY_SIGNS),
    look=Seen,
    rules=(one_directory, reads_another, link_lost, two_copies, unusual_directory),
    fix=fix,
)
