"""TRT6004: the runtime looks for a plugin's binary where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.chained import absent
from tortie.doctor.causes.cni.cni_evidence import (
    AVC,
    BIN_DIR,
    CONFIG_UNINITIALIZED,
    CP_DENIED,
    DIRECTORY_SIGNS,
    FIND_PLUGIN,
    FIND_PLUGIN_CUT,
    READ_ONLY,
    conf_files,
    is_own,
    node_of,
    runtime_bin_dirs,
)
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.cni.runtimes import restart_runtime, restarted, runtime_of
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NOT_WRITEABLE: Final = Sign("cni-bin-not-writeable", "/host/opt/cni/bin is (not |non-)writeable, skipping")
NO_DIRECTORY: Final = Sign("cni-no-writeable-directory", "found no writeable directory, exiting")
NO_SUCH_BINARY: Final = Sign("cni-no-such-binary", "<path>/calico: no such file or directory")
# Whoever loads a configuration looks for its plugins first: the file is there, and one of them is not.
NO_VALID_NETWORKS: Final = Sign("cni-no-valid-networks", "no valid networks found in <dir>")
INVALID_LIST: Final = Sign("cni-invalid-list", "Error validating CNI config (list|file)")
# Calico's own, and those that its configuration chains.
PLUGINS: Final = (
    "calico", "calico-ipam", "portmap", "bandwidth", "loopback", "tuning", "host-local", "tortie", "tortie-ipam",
)  # fmt: skip


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = picture.hits(FIND_PLUGIN) or picture.hits(FIND_PLUGIN_CUT)
        self.ours = [hit for hit in self.hits if hit.value("plugin") in PLUGINS]
        self.runtime = runtime_bin_dirs(picture)
        self.blocked = picture.hits(NOT_WRITEABLE, NO_DIRECTORY)
        self.absent_plugin = absent(picture)
        self.invalid = picture.hits(NO_VALID_NETWORKS, INVALID_LIST)

    @cached_property
    def binaries(self) -> list[HostFile]:
        files = self.picture.of(HostFile)
        return [file for file in files if file.name in ("calico", "calico-ipam") and "bin" in file.folder]

    @cached_property
    def unready(self) -> list[Hit]:
        """Kubelet's own words, which looks for plugins when it loads a file."""
        return self.picture.hits(CONFIG_UNINITIALIZED)

    @cached_property
    def files(self) -> list[HostFile]:
        return [file for file in conf_files(self.picture) if is_own(file.name)]

    @cached_property
    def absent(self) -> list[Hit]:
        """`ls` said that the binary is not there."""
        return [hit for hit in self.picture.hits(NO_SUCH_BINARY) if "ls:" in hit.line or "stat" in hit.line]


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, seen.ours)
    return ruled_out(running[:2]) if running else None


def not_found(seen: Seen) -> Finding | None:
    if not seen.ours:
        return None
    hit = seen.ours[-1]
    plugin, node = hit.value("plugin"), node_of(seen.ours, seen.picture)
    paths = hit.value("list_dirs").replace(",", " ").split()
    looked = list(dict.fromkeys(path.rstrip("/") for path in paths))
    there = [file for file in seen.binaries if file.folder.rstrip("/") not in looked]
    where = there[0].folder.rstrip("/") if there else ""
    here = BIN_DIR if BIN_DIR in looked and not where else looked[0] if looked else ""
    blamed = culprits(
        named("folder", *looked),
        named("program", plugin),
        named("folder", where),
        named("file", *(f"{one}/{plugin}" for one in looked), f"{BIN_DIR}/{plugin}"),
        Culprit("setting", runtime_of(seen.picture, node).bin_key),
        named("node", node),
    )
    sure = looked and (there or seen.absent or any(directory.path in looked for directory in seen.runtime))
    evidence = (*there[:1], *seen.absent[:1], *seen.runtime[-1:], *seen.ours[:2])
    return found(
        PROVEN if sure else STRONG, blamed, evidence, plugin=plugin, folders=looked,
        looked=here, where=where, node=node,
    )  # fmt: skip


def chained_absent(seen: Seen) -> Finding | None:
    """The configuration calls a plugin that a list of all binaries does not have."""
    one = seen.absent_plugin
    if one is None or any(directory.path != one.folder for directory in seen.runtime):
        return None
    failing = seen.invalid or seen.unready
    if not one.shown and not seen.invalid:
        return None
    blamed = culprits(
        named("program", one.plugin), named("folder", one.folder), named("file", f"{one.folder}/{one.plugin}"),
        named("node", one.host),
    )  # fmt: skip
    return found(
        (PROVEN if one.shown else STRONG) if seen.invalid else STRONG if seen.unready else POSSIBLE, blamed,
        (*one.places, *failing[:2]), say="chained-absent" if one.shown else "usual-absent",
        plugin=one.plugin, folders=[one.folder], looked=one.folder, where="", node=one.host,
    )  # fmt: skip


def invalid_list(seen: Seen) -> Finding | None:
    """A plugin is not there, or the file is broken; which of them, a list of the binaries says."""
    if not seen.invalid:
        return None
    return found(POSSIBLE, culprits(named("folder", BIN_DIR)), seen.invalid[:2], node=seen.invalid[0].host)


def another_plugin(seen: Seen) -> Finding | None:
    return ruled_out(seen.hits[:1], plugin=seen.hits[0].value("plugin")) if seen.hits else None


def nowhere_to_write(seen: Seen) -> Finding | None:
    if not seen.blocked:
        return None
    explained = seen.picture.hits(AVC, CP_DENIED, READ_ONLY)
    blamed = (*named("folder", BIN_DIR, f"/host{BIN_DIR}"), *named("container", "install-cni"))
    node = node_of(seen.blocked, seen.picture)
    return found(POSSIBLE if explained else LIKELY, blamed, seen.blocked[:2], node=node)


def elsewhere(seen: Seen) -> Finding | None:
    folders = {file.folder.rstrip("/"): file for file in seen.binaries}
    if not seen.runtime or not folders or any(directory.path in folders for directory in seen.runtime):
        return None
    reads, binary = seen.runtime[-1], seen.binaries[0]
    where, node = binary.folder.rstrip("/"), reads.host
    key = runtime_of(seen.picture, node).bin_key
    blamed = culprits(named("folder", reads.path, where), Culprit("setting", key), named("node", node))
    return found(
        _felt(seen), blamed, (reads, binary, *seen.files[:1], *(seen.invalid or seen.unready)[:2]),
        looked=reads.path, where=where, node=node,
    )  # fmt: skip


def _felt(seen: Seen) -> float:
    """A file that is there and not valid calls plugins that are not found; kubelet has other words for the same."""
    if seen.invalid:
        return PROVEN
    return STRONG if seen.unready and seen.files else POSSIBLE


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node = finding.value("node")
    looked, where = finding.value("looked"), finding.value("where", BIN_DIR)
    where = looked if finding.rule == "chained-absent" else where
    if finding.rule and looked in ("", where):  # the directory is right, the binary is gone
        yield do("log", folder=where)
        yield from restarted(picture, node)
        return
    runtime = runtime_of(picture, node)
    yield do("compare", config=runtime.config, setting=runtime.bin_key, where=where)
    yield do("align", config=runtime.config, setting=runtime.bin_key, where=where)
    yield from restart_runtime(picture, node)
    if not finding.value("where"):  # nobody has seen the binary
        yield from restarted(picture, node)


CAUSE = Cause(
    module=__name__,
    id="cni-binary-missing",
    code="TRT6004",
    severity="high",
    explains=("sandbox-failed", "pod-pending", "node-not-ready", "no-address", "terminating-stuck", "log-errors"),
    signs=(
        FIND_PLUGIN,
        FIND_PLUGIN_CUT,
        NOT_WRITEABLE,
        NO_DIRECTORY,
        NO_SUCH_BINARY,
        NO_VALID_NETWORKS,
        INVALID_LIST,
        *DIRECTORY_SIGNS,
    ),
    look=Seen,
    rules=(served, not_found, chained_absent, another_plugin, nowhere_to_write, elsewhere, invalid_list),
    fix=fix,
    yields_to=("selinux-denied", "host-path-readonly", "cni-bin-not-executable"),
)
