"""A lab as a person has one: only the command line, in a folder of its own, and down again whatever happens.

with Lab(tmp_path) as lab:
    lab.up("--nodes", "3")
    lab("exec", "node-1", "--", "ip", "route")
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from tests.support.cli import COMMAND, Ran

from tortie.host.namespaces import Mark, mark

DEADLINE_S = 90.0


class Lab:
    """`before` is put in front of every command: whoever runs it, if not root."""

    def __init__(self, folder: Path, name: str = "demo", *, before: tuple[str, ...] = ()) -> None:
        self.name = name
        self.labs = folder / "labs"
        self.folder = self.labs / name
        self._before = before

    def __enter__(self) -> Self:
        if not self._before and os.geteuid() != 0:
            pytest.fail("these tests need root: run them as root, in a container or a virtual machine")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        done = self("down")
        if error is None:
            assert done.code == 0, done

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join((str(COMMAND.parent), "/usr/bin", "/bin", "/usr/sbin", "/sbin"))
        return {"PATH": path, "HOME": str(self.labs), "LANG": "C.UTF-8", "TORTIE_LAB_DIR": str(self.labs)}

    def words(self, command: str, *words: str) -> list[str]:
        return [*self._before, str(COMMAND), "lab", *command.split(), "--name", self.name, *words]

    def __call__(self, command: str, *words: str, stdin: str = "", **variables: str) -> Ran:
        """`tortie lab COMMAND` for this lab."""
        return self._run(self.words(command, *words), stdin, variables)

    def nameless(self, *words: str) -> Ran:
        """`tortie lab ...` without saying which lab is meant."""
        return self._run([*self._before, str(COMMAND), "lab", *words], "", {})

    def _run(self, words: list[str], stdin: str, variables: dict[str, str]) -> Ran:
        done = subprocess.run(
            words,
            input=stdin.encode(),
            capture_output=True,
            env=self.environment | variables,
            timeout=DEADLINE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, command: str, *words: str) -> subprocess.Popen[bytes]:
        """A command that the caller interrupts, or waits for."""
        return subprocess.Popen(
            self.words(command, *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
        )

    def up(self, *words: str) -> Ran:
        done = self("up", *words)
        assert done.code == 0, (done, self.logs())
        return done

    def status(self) -> Any:
        return self("status", "-o", "json").json

    def node(self, name: str) -> Any:
        return next(node for node in self.status()["nodes"] if node["name"] == name)

    def inside(self, machine: str, *command: str) -> str:
        """What a command prints that runs in a machine of the lab, and succeeds."""
        done = self("exec", machine, "--", *command)
        assert done.code == 0, done
        return done.stdout

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            assert time.monotonic() < deadline, f"not within {DEADLINE_S:.0f} s: {what}\n{self.logs()}"
            time.sleep(0.02)

    def wait_ready(self) -> None:
        self.wait("all nodes are ready", lambda: self("status").code == 0)

    def processes(self) -> list[str]:
        """Everything that runs for this lab, by its command line."""
        return processes_naming(str(self.folder))

    def namespaces(self) -> set[Mark]:
        """Of its machines and pods, as it has noted them."""
        return {Mark(*each) for each in json.loads((self.folder / "lab.json").read_text())["namespaces"]}

    def logs(self) -> str:
        found = sorted(self.folder.glob("nodes/*/log")) + sorted(self.folder.glob("*.log"))
        return "\n".join(f"== {path}\n{path.read_text(errors='replace')[-2000:]}" for path in found)

    def assert_gone(self) -> None:
        """No folder, no process."""
        assert not self.folder.exists(), sorted(self.folder.rglob("*"))
        assert self.processes() == []


def processes_naming(text: str) -> list[str]:
    """Command lines with this text in them, other than our own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in line:
                found.append(f"{entry.name} {line}")
    return found


def living(marks: Collection[Mark]) -> set[Mark]:
    """Those of these network namespaces that some process is in or holds. A number alone says little: the kernel gives
    it to another namespace as soon as it is free, and other labs come and go beside this one."""
    wanted, found = {mark.inode for mark in marks}, set()
    for link in (*Path("/proc").glob("[0-9]*/ns/net"), *Path("/proc").glob("[0-9]*/fd/*")):
        try:
            told = re.fullmatch(r"net:\[(\d+)\]", os.readlink(link))
            if told is None or int(told[1]) not in wanted:
                continue
            descriptor = os.open(link, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue  # it has ended meanwhile
        try:
            found.add(mark(descriptor))
        finally:
            os.close(descriptor)
    return found & set(marks)
