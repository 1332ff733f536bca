"""TRT6008: a host directory that Calico needs cannot be created or written."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.cni_evidence import BIN_DIR, CP_DENIED, READ_ONLY, carrier, mounted, node_of
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.cni.runtimes import restart_runtime, restarted, runtime_of
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.causes.ways import edit_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

SETUP: Final = Sign("host-path-setup", 'MountVolume.SetUp failed for volume "<volume>" : <rest>')
INSTALL_BUSY: Final = Sign("host-path-busy", "<path>: text file busy")
INSTALL_COPY: Final = Sign("host-path-copy", "copy_file_range: bad file descriptor")
INSTALL_COPY_OTHER: Final = Sign(
    "host-path-copy-other", "copy_file_range: (operation not permitted|invalid argument|function not implemented)"
)
CP_READ_ONLY: Final = Sign("host-path-cp", "cp: can't create '<path>': Read-only file system")
CP_READ_ONLY_GNU: Final = Sign(
    "host-path-cp-gnu", "cp: cannot create (regular file|directory) '<path>': Read-only file system"
)
READ_ONLY_ALONE: Final = Sign("host-path-read-only-alone", "read-only file system")
PATHS: Final = (
    "/usr/libexec", "/opt/cni", "/opt/libexec", "/opt/bin", "/host/", "/etc/cni", "/var/lib/calico", "/var/lib/cni",
    "kubelet-plugins", "cni", "/var/log/calico", "flexvol",
)  # fmt: skip
KERNEL: Final = ("/proc/sys", "/sys/")  # sysctls and bpffs are other causes
SIGNS: Final = (
    READ_ONLY, SETUP, INSTALL_BUSY, INSTALL_COPY, INSTALL_COPY_OTHER, CP_READ_ONLY, CP_READ_ONLY_GNU, READ_ONLY_ALONE,
    CP_DENIED,
)  # fmt: skip
_FLEXVOL: Final = "/usr/libexec"


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        with_path = picture.hits(READ_ONLY, CP_READ_ONLY, CP_READ_ONLY_GNU)
        others = {hit.place for hit in with_path if not _ours(hit)}  # their lines speak of somebody else's path
        alone = [hit for hit in picture.hits(READ_ONLY_ALONE) if _ours_by_line(hit) and hit.place not in others]
        self.read_only = [hit for hit in with_path if _ours(hit)] or alone
        busy = picture.hits(INSTALL_BUSY)
        self.busy = [hit for hit in busy if "cni" in hit.value("path") or "calico" in hit.value("path")]
        self.copy = picture.hits(INSTALL_COPY, INSTALL_COPY_OTHER)

    @cached_property
    def volume(self) -> str:
        refused = (hit for hit in self.picture.hits(SETUP) if "read-only" in hit.line)
        return next((hit.value("volume") for hit in refused), "")


def _ours(hit: Hit) -> bool:
    """By its path; what else stands on the line may be of anybody."""
    path = hit.value("path")
    if not path.strip("'\"").startswith("/"):
        return _ours_by_line(hit)
    return any(part in path for part in PATHS) and not _kernel(path)


def _ours_by_line(hit: Hit) -> bool:
    return any(part in hit.line for part in PATHS) and not _kernel(hit.line)


def _kernel(text: str) -> bool:
    return any(part in text for part in KERNEL)


def _path_in(hit: Hit, beginning: str) -> str:
    """The path of the message, else the first of its line."""
    words = (word.strip("'\":,") for word in hit.line.split() if beginning in word)
    return hit.value("path") or next((word for word in words if word.startswith("/") or beginning != "/"), "")


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, [*seen.read_only, *seen.busy, *seen.copy])
    return ruled_out(running[:2]) if running else None


def writable_now(seen: Seen) -> Finding | None:
    """The path's own file system was asked for, and is not read-only; `/` says nothing about what is mounted below."""
    path = _path_in(seen.read_only[0], "/").removeprefix("/host") if seen.read_only else ""
    mount = carrier(seen.picture, path) if path else None
    writable = mount and mount.path != "/" and "rw" in mount.options
    return ruled_out((mount,), path=mount.path) if mount and writable else None


def read_only(seen: Seen) -> Finding | None:
    if not seen.read_only:
        return None
    path = _path_in(seen.read_only[0], "/")
    on_host = path.removeprefix("/host")
    mount = mounted(seen.picture, "ro", *filter(None, (on_host, _FLEXVOL, BIN_DIR)))
    node = node_of(seen.read_only, seen.picture)
    blamed = culprits(
        named("folder", on_host, path),
        named("resource", seen.volume),
        named("folder", path.rpartition("/")[0], mount.path if mount else ""),
        named("node", node),
    )
    evidence = (mount, *seen.read_only[:3])
    return found(
        PROVEN if mount else STRONG, blamed, evidence, say="read-only" if on_host else "read-only-somewhere",
        path=on_host, volume=seen.volume, node=node,
    )  # fmt: skip


def busy(seen: Seen) -> Finding | None:
    return _not_replaced(seen, seen.busy) if seen.busy else None


def not_copied(seen: Seen) -> Finding | None:
    return _not_replaced(seen, seen.copy) if seen.copy else None


def _not_replaced(seen: Seen, hits: list[Hit]) -> Finding:
    path = (_path_in(hits[0], "/host/") or f"/host{BIN_DIR}").rpartition("=")[2]
    on_host, node = path.removeprefix("/host"), node_of(hits, seen.picture)
    blamed = culprits(
        named("file", on_host, path), Culprit("folder", BIN_DIR), Culprit("container", "install-cni"),
        named("node", node),
    )  # fmt: skip
    return found(STRONG, blamed, hits[:2], path=on_host, node=node)


def denied(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(CP_DENIED)
    return ruled_out(hits[:1]) if hits else None


def mounted_read_only(seen: Seen) -> Finding | None:
    mount = mounted(seen.picture, "ro", BIN_DIR, _FLEXVOL)
    if not mount or not any(pod.status.startswith("Init") for pod in seen.picture.agents_now()):
        return None
    return found(LIKELY, named("folder", mount.path, BIN_DIR), (mount,), path=mount.path)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node = finding.value("node")
    if finding.rule == "busy":
        yield from restart_runtime(picture, node)
    elif finding.rule == "not-copied":
        yield do("kernel")
    elif _flexvol(picture, finding):
        yield do("without-flexvol" if has_operator(picture) else "move-flexvol")
        if not has_operator(picture):
            yield from edit_agent(picture)
    else:
        runtime = runtime_of(picture, node)
        yield do("move", config=runtime.config, setting=runtime.bin_key)
        yield from edit_agent(picture)
    yield from restarted(picture, node)


def _flexvol(_picture: Picture, finding: Finding) -> bool:
    path = finding.value("path")
    return "flexvol" in finding.value("volume") or "libexec" in path or "kubelet-plugins" in path


def _unwritable(_picture: Picture, finding: Finding) -> bool:
    return finding.rule in ("read-only", "mounted-read-only")


CAUSE = Cause(
    module=__name__,
    id="host-path-readonly",
    code="TRT6008",
    severity="high",
    explains=("init-stuck", "init-crash", "pod-pending", "node-not-ready", "not-ready", "sandbox-failed", "log-errors"),
    signs=SIGNS,
    look=Seen,
    rules=(served, writable_now, read_only, busy, not_copied, denied, mounted_read_only),
    fix=fix,
    prevents={"paths": _unwritable},
)
