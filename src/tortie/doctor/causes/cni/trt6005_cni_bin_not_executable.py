"""TRT6005: the plugin's binary is there and cannot run, mostly because of a noexec mount."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.cni_evidence import (
    AVC,
    BIN_DIR,
    CP_DENIED,
    CP_DENIED_GNU,
    Mount,
    carrier,
    mounted,
    node_of,
    selinux,
)
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.cni.runtimes import restarted
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

DENIED: Final = Sign("cni-bin-denied", "cni/bin/<binary>: permission denied")
DENIED_EXEC: Final = Sign("cni-bin-denied-exec", "fork/exec <path>: permission denied")
# Before a path these words mean writing it, not running it.
WRITING: Final = ("open ", "create ", "mkdir ", "rename ", "chmod ", "copy ", "remove ")
_PLUGINS: Final = (f"{BIN_DIR}/calico", f"{BIN_DIR}/calico-ipam")
_BINARIES: Final = (Culprit("folder", BIN_DIR), Culprit("file", f"{BIN_DIR}/calico"))


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = [hit for hit in picture.hits(DENIED, DENIED_EXEC) if _of_a_plugin(hit) and not _writing(hit)]
        self.noexec = mounted(picture, "noexec", BIN_DIR, f"/host{BIN_DIR}")
        self.mode = selinux(picture)
        self.node = node_of(self.hits, picture)

    @cached_property
    def may_run(self) -> Mount | None:
        """The file system that the plugins lie on, where it is shown and lets programs run."""
        mount = carrier(self.picture, BIN_DIR)
        return mount if mount and "noexec" not in mount.options else None

    @cached_property
    def with_x(self) -> list[HostFile]:
        files = [file for file in self.picture.of(HostFile) if f"{file.folder.rstrip('/')}/{file.name}" in _PLUGINS]
        return [file for file in files if file.mode.startswith("-") and "x" in file.mode]

    @cached_property
    def without_x(self) -> list[HostFile]:
        """Plugins that lack the executable bit."""
        plugins = ("calico", "calico-ipam", "install")
        files = [file for file in self.picture.of(HostFile) if file.name in plugins and "bin" in file.folder]
        plain = [file for file in files if len(file.mode) >= 10 and file.mode.startswith("-")]
        return [file for file in plain if "x" not in file.mode]


def _of_a_plugin(hit: Hit) -> bool:
    return hit.sign == DENIED.key or "cni" in hit.value("path") or "calico" in hit.value("path")


def _writing(hit: Hit) -> bool:
    before = hit.line.lower().partition(hit.text.lower())[0]
    path = before.rpartition(" ")[2]  # the sign begins inside the path
    return before.removesuffix(path).endswith(WRITING)


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, seen.hits)
    return ruled_out(running[:2]) if running else None


def noexec(seen: Seen) -> Finding | None:
    mount = seen.noexec
    if not mount or not (seen.hits or mount.path.startswith("/opt")):
        return None
    # The answer about a path, without the mount point, names the path that was asked for.
    known = mount.path if mount.path not in ("", BIN_DIR, f"/host{BIN_DIR}") else ""
    blamed = culprits(
        named("folder", BIN_DIR, mount.path), Culprit("setting", "noexec"), _BINARIES, named("node", seen.node)
    )
    evidence = (mount, *seen.hits[:2])
    return found(PROVEN if seen.hits else LIKELY, blamed, evidence, mount=known or BIN_DIR, node=seen.node)


def no_x_bit(seen: Seen) -> Finding | None:
    if not seen.hits or not seen.without_x:
        return None
    file = seen.without_x[0]
    path = f"{file.folder.rstrip('/') or BIN_DIR}/{file.name}"
    blamed = culprits(Culprit("file", path), _BINARIES, named("node", seen.node))
    return found(PROVEN, blamed, (file, *seen.hits[:2]), path=path, mode=file.mode, node=seen.node)


def selinux_denies(seen: Seen) -> Finding | None:
    denied = seen.picture.hits(AVC)
    enforced = seen.mode is None or seen.mode.word == "enforcing"
    return ruled_out(denied[:1]) if seen.hits and denied and enforced else None


def not_even_written(seen: Seen) -> Finding | None:
    """A directory that is mounted noexec can be written."""
    written = seen.picture.hits(CP_DENIED, CP_DENIED_GNU)
    return ruled_out(written[:1]) if seen.hits and written else None


def nothing_forbids(seen: Seen) -> Finding | None:
    if not seen.hits or not seen.may_run or not seen.with_x or seen.without_x:
        return None
    return ruled_out((seen.may_run, seen.with_x[0]))


def refused(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    if seen.may_run:
        return found(POSSIBLE, (*_BINARIES, *named("node", seen.node)), seen.hits[:2], node=seen.node)
    strength = LIKELY if seen.mode is None else POSSIBLE if seen.mode.word == "enforcing" else STRONG
    return found(strength, (*_BINARIES, *named("node", seen.node)), seen.hits[:2], node=seen.node)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule == "no-x-bit":
        yield do("mode")
    else:
        yield do("look")
        yield do("remount")
        yield do("keep")
    yield from restarted(picture, finding.value("node"))


def _by_mount(_picture: Picture, finding: Finding) -> bool:
    return finding.rule != "no-x-bit"


CAUSE = Cause(
    module=__name__,
    id="cni-bin-not-executable",
    code="TRT6005",
    severity="medium",
    explains=("sandbox-failed", "pod-pending", "node-not-ready", "init-crash", "no-address", "log-errors"),
    signs=(DENIED, DENIED_EXEC, AVC, CP_DENIED, CP_DENIED_GNU),
    look=Seen,
    rules=(served, noexec, no_x_bit, selinux_denies, not_even_written, nothing_forbids, refused),
    fix=fix,
    prevents={"exempt": _by_mount},
)
