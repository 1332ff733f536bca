"""TRT2015: the files with which Calico shows itself to etcd are not there."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import node_at
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.picture.facts import HostFile, Pod, Setting
from tortie.doctor.picture.owner import owner
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

CLIENT: Final = Sign(
    "etcd-cert-no-client",
    "could not initialize etcdv3 client: open <path>: (no such file or directory|not a directory)",
)
# Before v3.0 the words in front of it were other ones.
OLD: Final = Sign("etcd-cert-old", "Error accessing the Calico datastore: open <path>: no such file or directory")
NO_SECRET: Final = Sign("etcd-cert-no-secret", 'secret(s)? "calico-etcd-secrets" not found')
NO_KEY: Final = Sign("etcd-cert-no-key", "references non-existent secret key: <key>")
SIGNS: Final = (CLIENT, OLD, NO_SECRET, NO_KEY)
SECRET: Final = "calico-etcd-secrets"
MOUNTED: Final = "/calico-secrets"  # where the manifests mount the Secret, or kubespray its folder
COPIED: Final = "/etc/cni/net.d/calico-tls"  # where install-cni copies them for the plugin
FOLDER: Final = "/etc/calico/certs"
_KEYS: Final = ("etcd-ca", "etcd-cert", "etcd-key")
_OF_PLUGIN: Final = ("plugin", "sandbox")
_OF_CALICO: Final = ("calico-node", "calico-kube-controllers", "canal")


class Seen:
    """The file that could not be opened, and where such files are and are not."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.opened = picture.hits(CLIENT, OLD)
        self.unmounted = [hit for hit in picture.hits(NO_SECRET, NO_KEY) if self._of_etcd(hit)]
        self.hits = [*self.opened, *self.unmounted]

    @staticmethod
    def _of_etcd(hit: Hit) -> bool:
        return hit.sign == NO_SECRET.key or hit.value("key").rstrip(".") in _KEYS

    @cached_property
    def path(self) -> str:
        return next((hit.value("path") for hit in reversed(self.opened)), "")

    @cached_property
    def node(self) -> str:
        said = (node_at(self.picture, hit.place, hit.host) for hit in self.hits)
        return next((node for node in (*said, *(setting.host for setting in self.absent)) if node), "")

    @cached_property
    def absent(self) -> list[Setting]:
        """Somebody looked for it: the file itself, its folder, or the host's folder that is mounted there."""
        wanted = {self.path, posixpath.dirname(self.path)} - {""}
        if self.path.startswith(MOUNTED):
            wanted |= {FOLDER, f"{FOLDER}/{posixpath.basename(self.path)}"}
        return [s for s in self.picture.of(Setting) if s.scope == "file" and s.value == "missing" and s.name in wanted]

    @cached_property
    def elsewhere(self) -> list[HostFile]:
        """A machine that has the file."""
        gone = {setting.host for setting in self.absent}
        name = posixpath.basename(self.path)
        return [file for file in self.picture.of(HostFile) if name and file.name == name and file.host not in gone]

    @cached_property
    def pods(self) -> list[Pod]:
        return [pod for pod in self.picture.pods_now(*_OF_CALICO) if pod.containers is not None]

    def found(self, strength: float, evidence: tuple[object, ...]) -> Finding:
        of_secret = self.path.startswith((MOUNTED, COPIED)) and not (self.absent or self.elsewhere)
        by_secret = bool(self.unmounted) or of_secret
        who = culprits(
            named("file", self.path),
            named("node", self.node),
            Culprit("resource", f"secret/{SECRET}") if by_secret else (),
            named("file", *(setting.name for setting in self.absent)),
        )
        sick = next((pod.name for pod in self.pods if not pod.all_ready), "")
        return found(
            strength, who, (*evidence, *self.elsewhere[:1]), path=self.path, node=self.node, pod=sick,
            by="secret" if by_secret else "host",
            folder=FOLDER if self.path.startswith(MOUNTED) else posixpath.dirname(self.path),
        )  # fmt: skip


def started_since(seen: Seen) -> Finding | None:
    """A program that cannot open it ends at once; those that are ready have it."""
    by_plugin = any(word in hit.line.lower() for hit in seen.hits for word in _OF_PLUGIN)
    ready = seen.pods and all(pod.all_ready for pod in seen.pods)
    return ruled_out(seen.pods[:1]) if seen.hits and ready and not by_plugin else None


def not_there(seen: Seen) -> Finding | None:
    if not seen.opened:
        return None
    shown = seen.absent or seen.unmounted
    return seen.found(PROVEN if shown else STRONG, (seen.opened[-1], *seen.absent[:1], *seen.unmounted[:1]))


def not_mounted(seen: Seen) -> Finding | None:
    if not seen.unmounted:
        return None
    of_secret = any(hit.sign == NO_SECRET.key for hit in seen.unmounted)
    return seen.found(STRONG if of_secret else LIKELY, tuple(seen.unmounted[-1:]))


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if owner(picture).platform == "kubespray":
        yield do("see-host")
        yield do("kubespray")
        return
    if finding.value("by") == "host":
        yield do("see-host")
        yield do("copy")
    else:
        yield do("see-secret")
        yield do("secret")
        yield do("names")
    yield from restart_agent(picture, finding.value("node"))


CAUSE = Cause(
    module=__name__,
    id="etcd-client-cert-missing",
    code="TRT2015",
    severity="high",
    explains=(
        "crash-loop", "init-crash", "start-terminated", "datastore-error", "not-ready", "sandbox-failed", "init-stuck",
        "log-errors", "restarts",
    ),
    signs=SIGNS,
    look=Seen,
    rules=(started_since, not_there, not_mounted),
    fix=fix,
)  # fmt: skip
