"""Stops a node's container runtime just while an init container runs, so that nobody learns that it has ended.

The order matters: stopped a moment earlier the container does not exist, a moment later its end is known. So a new pod
is asked for, the container itself is held as soon as it appears, and only when kubelet has seen it run is the runtime
stopped and the container let go. When this process is told to end, the runtime goes on.

Signals that ask for the end stay blocked and are taken where it waits: none is missed because it came a moment before,
and none comes between something that is stopped and the note that it has to go on.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, Final

from tortie.lab.kubelet.jobs import Paths
from tortie.lab.notes import read_note
from tortie.lab.protocol import Closed, connected

_ATTEMPTS: Final = 20
_APPEAR_S: Final = 60.0  # the old pod has to end first
_SEEN_S: Final = 20.0
_ANSWER_S: Final = 10.0
_LOOK_S: Final = 0.002  # an init container that finds nothing to do ends within some hundredths of a second
_PATIENCE_S: Final = 0.1  # so long nobody looks whether the end was asked for
_RUNNING: Final = "CONTAINER_RUNNING"
_ENDS: Final = frozenset((signal.SIGTERM, signal.SIGINT))


class _Ended(Exception):
    """Somebody asked for the end."""


def hold_init(container: str, root: str) -> int:
    """A process's life. 1 if it could not be done; then nothing is stopped."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    paths, stopped = Paths(root), 0
    try:
        for _ in range(_ATTEMPTS):
            if stopped := _hold(container, paths):
                signal.sigwait(_ENDS)
                return 0
    except _Ended:
        return 0
    finally:
        if stopped:
            _send(stopped, signal.SIGCONT)
    return 1


def _pause(seconds: float) -> None:
    """_Ended when the end is asked for, or was before."""
    if signal.sigtimedwait(_ENDS, seconds) is not None:
        raise _Ended


def _hold(container: str, paths: Paths) -> int:
    """The runtime's process, which is stopped now; 0 when the container was quicker."""
    before = {each["id"] for each in _containers(paths)}
    if not _new_pod(container, paths):
        _pause(1.0)
        return 0
    held = _appeared(container, before, paths)
    if not held or not _send(held["pid"], signal.SIGSTOP):
        return 0
    try:
        if not _seen(container, held["uid"], paths):
            return 0
        runtime = _number(paths.runtime_pid)
        return runtime if runtime and _send(runtime, signal.SIGSTOP) else 0
    finally:
        _send(held["pid"], signal.SIGCONT)


def _new_pod(container: str, paths: Paths) -> bool:
    pods = [each for each in _items(paths, "Pod") if container in _init_states(each)]
    channel = connected(paths.kubelet_socket) if pods else None
    if channel is None:
        return False
    name = pods[0]["metadata"]
    with closing(channel):
        try:
            channel.send({"do": "delete-pod", "namespace": name["namespace"], "name": name["name"]})
            deadline = time.monotonic() + _ANSWER_S
            while time.monotonic() < deadline:
                if channel.receive(time.monotonic() + _PATIENCE_S) is not None:
                    return True
                _pause(0.0)
            return False
        except Closed:
            return False


def _appeared(container: str, before: set[str], paths: Paths) -> dict[str, Any] | None:
    deadline = time.monotonic() + _APPEAR_S
    while time.monotonic() < deadline:
        for each in _containers(paths):
            if each["container"] == container and each["id"] not in before:
                return each if each["state"] == _RUNNING and each["pid"] else None
        _pause(_LOOK_S)
    return None


def _seen(container: str, uid: str, paths: Paths) -> bool:
    """Whether kubelet knows that it runs."""
    deadline = time.monotonic() + _SEEN_S
    while time.monotonic() < deadline:
        for pod in _items(paths, "Pod"):
            if pod["metadata"]["uid"] == uid:
                state = _init_states(pod).get(container, {})
                if "running" in state:
                    return True
                if "terminated" in state:
                    return False
        _pause(0.02)
    return False


def _init_states(pod: Mapping[str, Any]) -> dict[str, Any]:
    statuses = pod.get("status", {}).get("initContainerStatuses") or ()
    return {each["name"]: each.get("state", {}) for each in statuses}


def _items(paths: Paths, kind: str) -> Iterator[dict[str, Any]]:
    return (each for each in read_note(paths.objects).get("items", ()) if each.get("kind") == kind)


def _containers(paths: Paths) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_note(paths.containers).get("containers", [])
    return found


def _number(path: str) -> int:
    with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
        return int(file.read())
    return 0


def _send(pid: int, number: signal.Signals) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False
