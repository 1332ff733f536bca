"""TRT6007: SELinux (or AppArmor) denies an init container writing to a host path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.cni_evidence import (
    APPARMOR,
    AVC,
    BIN_DIR,
    CP_DENIED,
    CP_DENIED_GNU,
    READ_ONLY,
    mounted,
    node_of,
    selinux,
)
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.cni.runtimes import restarted
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import edit_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

OPEN_DENIED: Final = Sign("host-open-denied", "open /host/<path>: permission denied")
MKDIR_DENIED: Final = Sign("host-mkdir-denied", "mkdir /host/<path>: permission denied")
CREATE_DENIED: Final = Sign("host-create-denied", "create /host/<path>: permission denied")
STATE_DENIED: Final = Sign("state-open-denied", "open /var/(lib|run)/calico/<path>: permission denied")
MV_DENIED: Final = Sign(
    "mv-denied", "mv: inter-device move failed: '<from>' to '<path>'; unable to remove target: Permission denied"
)
WRITES: Final = (MV_DENIED, CP_DENIED, CP_DENIED_GNU, OPEN_DENIED, MKDIR_DENIED, CREATE_DENIED, STATE_DENIED)
# What Calico's containers and their files are called in an audit record.
CONCERNED: Final = (
    'comm="cp"', 'comm="install', 'comm="calico', 'comm="flexvol', 'comm="mv"', 'comm="touch"', 'name="bin"',
    'name="net.d"', "calico", "cni", "nodeagent", "kubelet-plugins", 'comm="bird',
)  # fmt: skip


# Who copies files copies others, too: only these names are Calico's.
OWN_NAMES: Final = ("calico", "cni", "nodeagent", "kubelet-plugins", 'name="bin"', 'name="net.d"', 'comm="bird')
CHANGES: Final = frozenset(
    ("write", "create", "add_name", "remove_name", "unlink", "rename", "append", "setattr", "link", "rmdir", "mkdir",
     "mounton", "relabelto", "reparent", "mknod", "open", "rename_dest", "rename_src", "truncate", "chmod", "mount")
)  # fmt: skip


class Seen:
    """Writes that were refused, records of who refused them, and whether SELinux enforces at all."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.writes = picture.hits(*WRITES)
        self.audits = [hit for hit in picture.hits(AVC, APPARMOR) if any(word in hit.line for word in CONCERNED)]
        self.mode = selinux(picture)
        self.guard = "AppArmor" if self.audits and self.audits[0].sign == APPARMOR.key else "SELinux"

    @cached_property
    def path(self) -> str:
        """As the container calls it."""
        return next((_whole(hit) for hit in self.writes if hit.value("path")), "")

    @cached_property
    def changes(self) -> list[Hit]:
        """Records that alone say what cannot be written; whoever may not read something mostly does without."""
        own = [hit for hit in self.audits if any(name in hit.line for name in OWN_NAMES)]
        return [hit for hit in own if CHANGES.intersection(hit.value("op").split())]

    @property
    def strength(self) -> float:
        if self.writes and self.audits:
            return PROVEN
        if not self.writes and not self.changes:
            return POSSIBLE
        if self.mode or any("permissive=0" in hit.line for hit in self.audits):
            return STRONG
        return LIKELY if self.writes else POSSIBLE


def _whole(hit: Hit) -> str:
    path = hit.value("path")
    if path.startswith("/"):
        return path
    return f"/host/{path}" if "/host/" in hit.text else f"/var/lib/calico/{path}"


def not_enforcing(seen: Seen) -> Finding | None:
    if not seen.mode or seen.mode.word == "enforcing" or seen.picture.hits(APPARMOR):
        return None
    return ruled_out((seen.mode,), mode=seen.mode.word)


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, [*seen.writes, *seen.audits])
    return ruled_out(running[:2]) if running else None


def read_only(seen: Seen) -> Finding | None:
    if not seen.writes or seen.audits:
        return None
    hits, mount = seen.picture.hits(READ_ONLY), mounted(seen.picture, "ro", BIN_DIR)
    return ruled_out(hits[:1] or (mount,)) if hits or mount else None


def denied(seen: Seen) -> Finding | None:
    if not seen.writes and not seen.audits:
        return None
    node = node_of([*seen.audits, *seen.writes], seen.picture)
    on_host = seen.path.removeprefix("/host")
    folder = on_host.rpartition("/")[0]
    blamed = culprits(
        named("folder", folder),
        named("file", on_host, seen.path),
        named("folder", seen.path.rpartition("/")[0]),
        Culprit("program", seen.guard),
        named("setting", "Enforcing" if seen.mode else ""),
        named("node", node),
    )
    return found(
        seen.strength, blamed, (seen.mode, *seen.audits[:2], *seen.writes[:2]), guard=seen.guard, path=on_host,
        operation=seen.audits[0].value("op").strip() if seen.audits else "", folder=folder or BIN_DIR, node=node,
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    folder = finding.value("folder", BIN_DIR)
    apparmor = finding.value("guard") == "AppArmor"
    yield do("profile" if apparmor else "label", folder=folder)
    yield from restarted(picture, finding.value("node"))
    yield do("unconfined" if apparmor else "privileged")
    yield from edit_agent(picture)


def _by_selinux(_picture: Picture, finding: Finding) -> bool:
    return finding.value("guard") != "AppArmor"


CAUSE = Cause(
    module=__name__,
    id="selinux-denied",
    code="TRT6007",
    severity="high",
    explains=("node-not-ready", "init-crash", "init-stuck", "sandbox-failed", "pod-pending", "not-ready", "log-errors"),
    signs=(*WRITES, AVC, APPARMOR, READ_ONLY),
    look=Seen,
    rules=(not_enforcing, served, read_only, denied),
    fix=fix,
    prevents={"module": _by_selinux},
)
