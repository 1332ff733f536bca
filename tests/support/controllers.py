"""Real controllers, `tortie controllers run`, in processes of their own, and the store that they share."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

from tests.support.cli import COMMAND, Ran, Tortie

from tortie.health.probe import ask

DEADLINE_S = 60.0


class ControllersProcess:
    """One instance. Its files lie below `folder`, its log in `folder/log`; without `port` it has no page."""

    def __init__(self, folder: Path, shell: Tortie, *words: str, port: int = 0, **variables: str) -> None:
        self.folder = folder
        self.shell = shell
        self.port = port
        self.words = words
        self.variables = variables
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ControllersProcess:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        where = ("--root", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(COMMAND), "controllers", "run", *where, *self.words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.shell.environment | self.variables,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def lines(self, text: str) -> list[str]:
        return [line for line in self.log.splitlines() if text in line]

    def wait_log(self, text: str, *, times: int = 1) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while len(self.lines(text)) < times:
            if time.monotonic() > deadline or not self.running:
                raise AssertionError(f"no {text!r} in the log (running: {self.running}):\n{self.log}")
            time.sleep(0.02)

    def check(self) -> Ran:
        return self.shell.run("controllers", "check", "--root", str(self.folder))

    def page(self, path: str) -> str:
        return ask("127.0.0.1", self.port, path, DEADLINE_S).body

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(DEADLINE_S)

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
