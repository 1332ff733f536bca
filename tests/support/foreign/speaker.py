"""What the speakers have in common: what they are told, what they are asked, how they start and end."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import pytest
from tests.support.birds import eventually

PATIENCE_S = 60.0  # for the slowest machine


class Start(Protocol):
    """Starts a command in the machine that the speaker shall be in; the process is the command itself."""

    def __call__(self, *command: str, **options: Any) -> subprocess.Popen[bytes]: ...


class Neighbours(NamedTuple):
    """Nodes, all of one address family and treated alike."""

    addresses: tuple[str, ...]
    as_number: int = 64512
    password: str = ""
    ttl_security: bool = False  # they are one hop away, and their packets have to prove it
    clients: bool = False  # routes of one are reflected to the others

    @property
    def family(self) -> int:
        return ip_address(self.addresses[0]).version


class Learnt(NamedTuple):
    """One way to a network, as a neighbour has told it."""

    next_hop: str
    as_path: tuple[int, ...]
    communities: frozenset[str] = frozenset()


class Speaker(ABC):
    """Runs from `start` to `stop`. A network is announced from `announce` to `withdraw`."""

    router_id: ClassVar = "10.77.0.254"

    def __init__(self, start: Start, folder: Path, neighbours: Neighbours, as_number: int = 65001) -> None:
        self.neighbours = neighbours
        self.as_number = as_number
        self.folder = folder
        self._start = start
        self._processes: list[subprocess.Popen[bytes]] = []
        folder.mkdir()
        self._write()

    def start(self) -> None:
        self.speak()

    @abstractmethod
    def speak(self) -> None:
        """Starts what speaks BGP."""

    @abstractmethod
    def announce(self, network: str) -> None: ...

    @abstractmethod
    def withdraw(self, network: str) -> None: ...

    @abstractmethod
    def learnt(self, network: str) -> set[Learnt]:
        """All ways to it, used or not."""

    @abstractmethod
    def hears_graceful_restart(self, address: str) -> bool:
        """Whether that neighbour says that it keeps forwarding while it restarts."""

    @abstractmethod
    def _write(self) -> None: ...

    def crash(self) -> None:
        """What speaks BGP is gone, without a goodbye; `speak` brings it back."""
        process = self._processes.pop()
        process.kill()
        process.wait()

    def stop(self) -> None:
        """As it should be: what it has written into the kernel goes with it."""
        while self._processes:
            self._processes[-1].terminate()
            try:
                self._processes[-1].wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.crash()
                raise
            self._processes.pop()

    def _run(self, *command: str, says: str) -> None:
        """Starts it, and waits for the file that tells that it answers."""
        sign = self.folder / says
        sign.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            # From the folder, because the paths of sockets have to be short.
            process = self._start("env", f"--chdir={self.folder}", *command, stdout=log, stderr=log)
        self._processes.append(process)

        def answers() -> bool:
            if process.poll() is not None:
                pytest.fail(
                    f"{command[0]} ended with {process.returncode}: {(self.folder / 'log').read_text()[-3000:]}"
                )
            return sign.exists()

        eventually(answers, f"{command[0]} answers", PATIENCE_S)

    def _ask(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder)},  # where FRR's shell writes down what it was told
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(f"{' '.join(command)} failed ({done.returncode}): {done.stderr}{done.stdout}")
        return done.stdout


def program(name: str, package: str, folder: str = "") -> str:
    found = shutil.which(name, path=folder or None)
    if found is None:
        pytest.fail(f"this test needs {name} of Debian's package {package}: `make setup` brings it")
    return found
