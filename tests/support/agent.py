"""A real agent, `tortie node run`, in a process of its own: in a network namespace, or beside the test."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.cli import COMMAND, Ran
from tests.support.netns import Namespace

from tortie.health.probe import ask

DEADLINE_S = 60.0
ANSWER_S = 30.0  # on a machine that is busy, or with an agent that a test slows down


class NodeAgent:
    """Its files lie below `folder`, its log in `folder/log`. Ports are the usual ones inside a namespace."""

    def __init__(self, folder: Path, namespace: Namespace | None = None, *words: str, **variables: str) -> None:
        self.folder = folder
        self.namespace = namespace
        self.words = words
        # In the machine's own namespace no BIRD and no NAT: its port, its routes and its filters belong to the machine.
        modest = {"CALICO_NETWORKING_BACKEND": "vxlan", "CALICO_IPV4POOL_NAT_OUTGOING": "false"}
        self.variables = {"TORTIE_STORE": str(folder / "store.db"), **({} if namespace else modest), **variables}
        if "ETCD_ENDPOINTS" in variables:
            del self.variables["TORTIE_STORE"]
        self.log_path = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> NodeAgent:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join((str(COMMAND.parent), "/usr/bin", "/bin", "/usr/sbin", "/sbin"))
        return {"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8", "TORTIE_CONFIG": "", **self.variables}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._inside(str(COMMAND), "node", "run", "--root", str(self.folder), *self.words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
            )

    def command(self, *words: str) -> Ran:
        """`tortie node ...` for the same node, where the agent is."""
        where = ["--root", str(self.folder)] if words[0] != "check" else []
        done = subprocess.run(
            self._inside(str(COMMAND), "node", *words, *where),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environment,
            timeout=DEADLINE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _inside(self, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace.name, *command] if self.namespace else list(command)

    def ask(self, path: str) -> tuple[int, str]:
        """The health page's status and text; (0, reason) while nobody answers."""
        return self._ask(int(self.variables.get("FELIX_HEALTHPORT", "9099")), path)

    def _ask(self, port: int, path: str) -> tuple[int, str]:
        def question() -> tuple[int, str]:
            try:
                answer = ask("127.0.0.1", port, path, ANSWER_S)
                return answer.status, answer.body
            except Exception as error:
                return 0, str(error)

        return self.namespace.call(question) if self.namespace else question()

    def health(self) -> Any:
        """The page as JSON, once it answers."""
        self.wait("the health page", lambda: self.ask("/readiness?format=json")[0] != 0)
        return json.loads(self.ask("/readiness?format=json")[1])

    def metrics(self) -> str:
        return self._ask(int(self.variables.get("FELIX_PROMETHEUSMETRICSPORT", "9091")), "/metrics")[1]

    def wait_ready(self) -> None:
        self.wait("readiness", lambda: self.ask("/readiness")[0] in (200, 204))

    def wait_log(self, text: str, *, times: int = 1) -> None:
        self.wait(f"{text!r} in the log", lambda: self.log.count(text) >= times)

    def wait(self, what: str, is_so: Any) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            if time.monotonic() > deadline or not self.running:
                raise AssertionError(f"no {what} (running: {self.running}); the log says:\n{self.log}")
            time.sleep(0.02)

    @property
    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait_end(self) -> int:
        assert self._process is not None
        return self._process.wait(DEADLINE_S)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait_end()

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
