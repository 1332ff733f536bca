"""kubectl, asked: every question with a deadline, every word passed as a word of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final, NamedTuple

from tortie.model.errors import TortieError

TIMEOUT_S: Final = 20.0
# As `timeout` has it, so that whoever reads the number knows it.
TIMED_OUT: Final = 124


class Answer(NamedTuple):
    code: int
    out: str
    error: str

    @property
    def why(self) -> str:
        """Of a refusal, in one line."""
        lines = self.error.strip().splitlines() or self.out.strip().splitlines()
        return lines[-1] if lines else f"kubectl ended with {self.code}"


class Kubectl:
    def __init__(self, program: str, *, kubeconfig: str = "", context: str = "") -> None:
        self._words = [program]
        self._words += [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
        self._words += [f"--context={context}"] if context else []

    def ask(self, *words: str, timeout_s: float = TIMEOUT_S) -> Answer:
        """Never raises: what cannot be run, or takes too long, has a code and a reason as well."""
        try:
            done = subprocess.run(
                [*self._words, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
                encoding="utf-8",
                errors="replace",
            )
        except subprocess.TimeoutExpired as late:
            said = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else ""
            return Answer(TIMED_OUT, said, f"no answer within {timeout_s:g} s")
        except OSError as error:
            return Answer(127, "", error.strerror or str(error))
        return Answer(done.returncode, done.stdout, done.stderr)


def find_kubectl(environment: Mapping[str, str] = os.environ) -> str | None:
    return shutil.which("kubectl", path=environment.get("PATH"))


def need_kubectl(purpose: str) -> str:
    """Its path; raises TortieError if there is none."""
    if program := find_kubectl():
        return program
    raise TortieError("kubectl executable not found in PATH", f"{purpose} asks Kubernetes by it", "install kubectl")
