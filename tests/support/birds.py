"""The real BIRD in a network namespace, with whatever configuration it is given, asked through birdc."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.support.netns import Namespace

T = TypeVar("T")

CONVERGENCE_S = 60.0  # for the slowest machine; sessions usually need one second


def bird_command(name: str = "bird") -> str:
    command = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if command is None:
        pytest.fail(f"these tests need the real {name}: install bird2")
    return command


def complaint(text: str, folder: Path) -> str:
    """What BIRD has against a configuration; "" if it is fine, without even a warning."""
    path = folder / "checked.conf"
    path.write_text(text)
    checked = subprocess.run(
        [bird_command(), "-p", "-c", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CONVERGENCE_S,
        check=False,
    )
    return checked.stdout + checked.stderr + ("" if checked.returncode == 0 else f"exit code {checked.returncode}")


class Bird:
    """One running BIRD."""

    def __init__(self, namespace: Namespace, folder: Path, text: str) -> None:
        self.namespace = namespace
        self._folder = folder
        folder.mkdir()
        self._write(text)
        self._log = (folder / "log").open("w")
        self._process = namespace.popen(
            *(bird_command(), "-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"),
            cwd=folder,
            stdout=self._log,
            stderr=self._log,
        )
        # Its socket is there before anybody listens on it, and before its configuration is read.
        eventually(lambda: "up and running" in self.ask("show", "status"), f"BIRD in {namespace.name} answers")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def _write(self, text: str) -> None:
        (self._folder / "bird.conf").write_text(text)

    def ask(self, *words: str) -> str:
        """What birdc prints for a command, without its greeting."""
        asked = subprocess.run(
            [bird_command("birdc"), "-s", "bird.ctl", *words],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CONVERGENCE_S,
            check=False,
        )
        return asked.stdout.partition("\n")[2]

    def configure(self, text: str) -> None:
        self._write(text)
        said = self.ask("configure")
        assert "Reconfigur" in said, said

    def states(self) -> dict[str, str]:
        """The BGP sessions: what stands in the column info."""
        rows = (line.split(None, 5) for line in self.ask("show", "protocols").splitlines())
        return {row[0]: row[5].strip() if len(row) > 5 else "" for row in rows if row[1:2] == ["BGP"]}

    def established(self) -> bool:
        states = self.states()
        return bool(states) and all(state == "Established" for state in states.values())

    def routes(self, *words: str) -> set[str]:
        """The networks of `show route …`."""
        return set(re.findall(r"^([0-9a-f.:]+/\d+) ", self.ask("show", "route", *words), re.MULTILINE))

    def log(self) -> str:
        return (self._folder / "log").read_text()


@contextlib.contextmanager
def running(namespace: Namespace, folder: Path, text: str) -> Iterator[Bird]:
    bird = Bird(namespace, folder, text)
    try:
        yield bird
    finally:
        bird.stop()


def eventually(look: Callable[[], T], what: str, timeout_s: float = CONVERGENCE_S) -> T:
    """The first true thing that is seen; fails with the last one."""
    deadline = time.monotonic() + timeout_s
    while not (seen := look()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {timeout_s:.0f} s: {what}; seen last: {seen!r}")
        time.sleep(0.05)
    return seen


def kernel_routes(namespace: Namespace, family: int = 4) -> dict[str, dict[str, Any]]:
    """The kernel's main table by destination, as `ip -json route` tells it; of several the preferred one."""
    found: dict[str, dict[str, Any]] = {}
    for route in namespace.json(f"-{family}", "route", "show", "table", "main"):
        found.setdefault(route["dst"], route)
    return found
