"""Which pods a node shall run: the lab's DaemonSet and Deployment, and the manifests in the node's own folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tortie.lab.kubelet.jobs import KubeletJob, Paths
from tortie.lab.kubelet.manifest import Invalid, check_pod, check_template
from tortie.lab.kubelet.objects import Object
from tortie.lab.kubelet.probes import probes_of
from tortie.lab.kubelet.template import pod_of, static_pod

DAEMONSET: Final = "daemonset.json"
DEPLOYMENT: Final = "deployment.json"

_Mark = tuple[int, int, int]


class Wanted(NamedTuple):
    """One pod that shall run; of another version, it is made anew."""

    source: str
    version: str
    origin: Object
    static: bool

    def pod(self, job: KubeletJob, now: float, serial: int) -> Object:
        if self.static:
            return static_pod(self.origin, job.node, job.address, now)
        return pod_of(self.origin, job.node, job.address, now, serial)


class Sources:
    """Looks at the files again only when they have changed. One that cannot be used counts as it did before."""

    def __init__(self, job: KubeletJob, refuse: Callable[[str, str], None]) -> None:
        """`refuse` hears of a manifest that nobody could run: its path on the node, and why."""
        self._job = job
        self._refuse = refuse
        self._manifests = Paths(job.root).manifests
        self._known: dict[str, tuple[_Mark, Wanted | None]] = {}

    def wanted(self) -> dict[str, Wanted]:
        """By source."""
        found: dict[str, Wanted] = {}
        for path, static in self._files():
            if wanted := self._read(path, static=static):
                found[wanted.source] = wanted
        return found

    def _files(self) -> list[tuple[str, bool]]:
        names = [DAEMONSET, *([DEPLOYMENT] if self._job.deployment else [])]
        files = [(os.path.join(self._job.folder, name), False) for name in names]
        try:
            manifests = sorted(name for name in os.listdir(self._manifests) if name.endswith(".json"))
        except OSError:
            manifests = []
        return files + [(os.path.join(self._manifests, name), True) for name in manifests if name[0] != "."]

    def _read(self, path: str, *, static: bool) -> Wanted | None:
        try:
            at = os.stat(path)
            mark = (at.st_mtime_ns, at.st_ino, at.st_size)
        except OSError:
            self._known.pop(path, None)
            return None
        known = self._known.get(path)
        if known and known[0] == mark:
            return known[1]
        try:
            with open(path, "rb") as file:
                text = file.read()
            wanted: Wanted | None = _tried(_parsed(os.path.basename(path), text, static=static), self._job)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            wanted = known[1] if known else None  # somebody writes it at this moment, or wrote nonsense
            if static:
                self._refuse(*_refusal(path.removeprefix(self._job.root), error))
        self._known[path] = (mark, wanted)
        return wanted


def _parsed(name: str, text: bytes, *, static: bool) -> Wanted:
    origin: Any = json.loads(text)
    if static:
        return Wanted(f"static/{name}", hashlib.sha256(text).hexdigest()[:16], check_pod(origin), True)
    origin = check_template(origin)
    return Wanted(name, str(origin["metadata"].get("generation", 1)), origin, False)


def _tried(wanted: Wanted, job: KubeletJob) -> Wanted:
    """Whoever takes it up later does the same, and has no way back then."""
    for container in wanted.pod(job, 0.0, 0)["spec"]["containers"]:
        probes_of(container)
    return wanted


def _refusal(path: str, error: Exception) -> tuple[str, str]:
    if isinstance(error, Invalid):
        return path, f"invalid pod: {error}"
    if isinstance(error, OSError):
        return path, f"open {path}: {(error.strerror or str(error)).lower()}"
    return path, f"{path}: couldn't parse as pod({error}), please check config file"
