"""Which pods a node shall run: the lab's DaemonSet and Deployment, and the manifests in the node's own folder."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Final, NamedTuple

from tortie.lab.kubelet.jobs import KubeletJob, Paths
from tortie.lab.kubelet.objects import Object
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
    """Looks at the files again only when they have changed. A file that cannot be read counts as it did before."""

    def __init__(self, job: KubeletJob) -> None:
        self._job = job
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
            wanted: Wanted | None = _parsed(os.path.basename(path), text, static=static)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            wanted = known[1] if known else None  # somebody writes it at this moment, or wrote nonsense
        self._known[path] = (mark, wanted)
        return wanted


def _parsed(name: str, text: bytes, *, static: bool) -> Wanted:
    origin = json.loads(text)
    if static:
        assert_pod(origin)
        return Wanted(f"static/{name}", hashlib.sha256(text).hexdigest()[:16], origin, True)
    assert_pod(origin["spec"]["template"])
    return Wanted(name, str(origin["metadata"].get("generation", 1)), origin, False)


def assert_pod(pod: Object) -> None:
    """ValueError if it has no container that could be run."""
    containers = pod["spec"]["containers"]
    if not containers or not all(each["name"] for each in containers):
        raise ValueError("no containers")
