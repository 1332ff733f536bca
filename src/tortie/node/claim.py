"""One agent for one root: the second waits, and says for whom."""

from __future__ import annotations

import fcntl
import os

from tortie.model.errors import TortieError
from tortie.node.paths import Paths


class Claim:
    """Held as long as the process lives; the kernel gives it up for one that was killed."""

    def __init__(self, paths: Paths) -> None:
        self._path = paths.below("/run/tortie/node.lock")
        self._descriptor: int | None = None

    def take(self) -> None:
        """Raises TortieError while another agent has it. Where no lock file can be made, nobody can be told apart."""
        if self._descriptor is not None:
            return
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return  # a folder that cannot be written is told when the node needs it
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise TortieError(
                "another agent runs for the same node",
                f"the process {holder} holds {self._path}",
                "stop that one, or give this one a --root of its own; it goes on by itself when the other ends",
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
