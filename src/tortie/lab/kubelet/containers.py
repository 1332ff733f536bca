"""The containers of a node as its runtime keeps them: processes, how they ended, and the record that others read."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.lab.launch import Life, Place, become_command, become_program, fork_all
from tortie.lab.notes import read_note, write_note

RUNNING: Final = "CONTAINER_RUNNING"
EXITED: Final = "CONTAINER_EXITED"
_UNKNOWN: Final = 255  # the exit code of a container whose end nobody saw


class Container:
    """One attempt to run one container of a pod."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.id = str(record["id"])
        self.pod = str(record["pod"])
        self.namespace = str(record["namespace"])
        self.uid = str(record["uid"])
        self.container = str(record["container"])
        self.attempt = int(record["attempt"])
        self.image = str(record.get("image", ""))
        self.log = str(record["log"])
        self.pid = int(record.get("pid") or 0)
        self.state = str(record.get("state", RUNNING))
        self.started_at = float(record.get("started_at") or 0.0)
        self.finished_at = float(record.get("finished_at") or 0.0)
        self.exit_code: int | None = record.get("exit_code")
        self.signal: int | None = record.get("signal")
        self.reason = str(record.get("reason", ""))

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @property
    def runs(self) -> bool:
        return self.state == RUNNING

    def end(self, code: int, number: int | None, at: float) -> None:
        self.state, self.finished_at = EXITED, at
        self.exit_code, self.signal = code, number
        self.reason = "Completed" if code == 0 else "Error"

    def lost(self, at: float) -> None:
        """Its end was not seen, because the runtime itself was gone."""
        self.state, self.finished_at, self.exit_code, self.reason = EXITED, at, _UNKNOWN, "Unknown"


class Shell(NamedTuple):
    """How processes of containers come to be."""

    command: Callable[[Sequence[str]], int]
    cgroup: str
    files_max: tuple[int, int] | None

    def fork(self, words: Sequence[str], environment: Mapping[str, str], output: str) -> int:
        def become() -> int:
            join(self.cgroup)
            if words[0] == "tortie":
                return become_command(self.command, words[1:])
            return become_program(words)

        (pid,) = fork_all((Life(Place({}, output, environment, files_max=self.files_max), become),))
        return pid


def join(cgroup: str) -> None:
    """A cgroup that is gone or closed to us is the fault of nobody here: the container runs outside of it."""
    for name in ("cgroup.procs", "tasks") if cgroup else ():
        with suppress(OSError), open(os.path.join(cgroup, name), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
            return


def reaped() -> list[tuple[int, int]]:
    """Children that have ended, with their status. What they started ends with them, as in a container it would."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return found
        if ended is None:
            return found
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(ended.si_pid, signal.SIGKILL)  # not yet reaped: the number is still its own
        found.append(os.waitpid(ended.si_pid, 0))


def code_of(status: int) -> tuple[int, int | None]:
    """Exit code as a shell and Kubernetes count it, and the signal."""
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (128 - code, -code)


def kill_family(pid: int) -> None:
    """A child leads a process group of its own, except in its very first moments."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def read_record(path: str) -> list[Container]:
    """Of a runtime that was here before; all that ran died with it."""
    try:
        found = [Container(record) for record in read_note(path)["containers"]]
    except (KeyError, TypeError):
        return []
    for container in found:
        if container.runs:
            container.lost(time.time())
    return found


def write_record(path: str, containers: Sequence[Container]) -> None:
    """On a full disk nobody does; who asks the runtime itself still gets the truth."""
    write_note(path, json.dumps({"containers": [container.as_json() for container in containers]}))


def prepare_log(root: str, container: Container, *, kept: int = 3) -> None:
    """Its file; those of attempts long ago go. `<root>/log` is that of the node's own agent."""
    folder = os.path.dirname(container.log)
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        number = name.removesuffix(".log")
        if number.isdigit() and int(number) <= container.attempt - kept:
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))
    with open(container.log, "ab"):
        pass
    if container.container == "calico-node":
        link = os.path.join(root, "log")
        with suppress(OSError):
            beside = f"{link}.new"
            with suppress(FileNotFoundError):
                os.unlink(beside)
            os.symlink(os.path.relpath(container.log, root), beside)
            os.rename(beside, link)
