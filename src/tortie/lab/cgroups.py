"""How much CPU the programs of a node get together: a control group for each node, below one of the lab's own.

Version 2 where the kernel hands out CPU through it, else version 1. Who may not make control groups has none; a fault
that needs one is then refused. Nothing above the lab's own group is changed.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final

from tortie.lab.traces import cgroup_name

_ROOT: Final = "/sys/fs/cgroup"
_V1: Final = ("cpu", "cpu,cpuacct")
_PERIOD_US: Final = 100_000
_GONE_S: Final = 2.0
_STEP_S: Final = 0.01


class Cgroups:
    def __init__(self, lab: str) -> None:
        """`lab`: its folder."""
        self._lab = lab
        self._parent: str | None = None  # "" when there is none to be had

    @property
    def available(self) -> bool:
        """Whether there are some to be had; nothing is made for it."""
        with suppress(OSError):
            if "cpu" in _read(_ROOT, "cgroup.subtree_control").split():
                return os.access(_ROOT, os.W_OK)
        homes = [os.path.join(_ROOT, name) for name in _V1]
        return any(os.path.exists(os.path.join(home, "tasks")) and os.access(home, os.W_OK) for home in homes)

    def folder(self, node: str) -> str:
        """Of a node; made if needed. Empty when there are none to be had."""
        if self._parent is None:
            self._parent = _made(self._lab)
        if not self._parent:
            return ""
        path = os.path.join(self._parent, node)
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            return ""
        return path

    def limit(self, node: str, percent: float | None) -> bool:
        """So much of one core; None: as much as there is. Whether that could be said."""
        path = self.folder(node)
        if not path:
            return False
        quota = None if percent is None else max(1000, int(_PERIOD_US * percent / 100))
        try:
            if os.path.exists(os.path.join(path, "cpu.max")):
                _write(path, "cpu.max", f"{'max' if quota is None else quota} {_PERIOD_US}")
            else:
                _write(path, "cpu.cfs_period_us", str(_PERIOD_US))
                _write(path, "cpu.cfs_quota_us", str(-1 if quota is None else quota))
        except OSError:
            return False
        return True

    def percent(self, node: str) -> float | None:
        """What it is limited to."""
        path = os.path.join(self._parent or "", node)
        try:
            if os.path.exists(os.path.join(path, "cpu.max")):
                quota, period = _read(path, "cpu.max").split()
            else:
                quota, period = _read(path, "cpu.cfs_quota_us"), _read(path, "cpu.cfs_period_us")
        except OSError:
            return None
        return None if quota in ("max", "-1") else 100 * int(quota) / int(period)

    def join(self, node: str, pid: int) -> bool:
        path = self.folder(node)
        if not path:
            return False
        try:
            _write(path, "cgroup.procs", str(pid))
        except OSError:
            return False
        return True

    def close(self) -> None:
        remove(self._lab)


def remove(lab: str) -> None:
    """All groups of a lab whose processes have ended, or are just about to."""
    deadline = time.monotonic() + _GONE_S
    for parent in _parents(lab):
        for path, _, _ in os.walk(parent, topdown=False):
            while os.path.isdir(path):
                with suppress(OSError):
                    os.rmdir(path)
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(_STEP_S)


def _parents(lab: str) -> list[str]:
    homes = [_ROOT, *(os.path.join(_ROOT, name) for name in _V1)]
    found = [os.path.join(home, cgroup_name(lab)) for home in homes]
    return [path for path in found if os.path.isdir(path)]


def _made(lab: str) -> str:
    with suppress(OSError):
        if "cpu" in _read(_ROOT, "cgroup.subtree_control").split():
            path = os.path.join(_ROOT, cgroup_name(lab))
            os.makedirs(path, exist_ok=True)
            _write(path, "cgroup.subtree_control", "+cpu")
            return path
    for name in _V1:
        home = os.path.join(_ROOT, name)
        if os.path.exists(os.path.join(home, "tasks")):
            with suppress(OSError):
                path = os.path.join(home, cgroup_name(lab))
                os.makedirs(path, exist_ok=True)
                if os.path.exists(os.path.join(path, "cpu.cfs_quota_us")):
                    return path
                os.rmdir(path)
    return ""


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.read().strip()
