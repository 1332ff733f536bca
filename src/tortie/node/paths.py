"""Where a node keeps its files: Calico's places, all below one root, so that a lab can have many nodes."""

from __future__ import annotations

import os
from typing import NamedTuple


class Paths(NamedTuple):
    root: str = "/"

    def below(self, path: str) -> str:
        return path if self.root in ("", "/") else os.path.join(self.root, path.lstrip("/"))

    @property
    def starts(self) -> str:
        """The record of the last starts."""
        return self.below("/var/lib/tortie/starts.json")

    @property
    def status_socket(self) -> str:
        """Where the agent tells whoever asks how it is."""
        return self.below("/run/tortie/agent.sock")

    @property
    def cni_socket(self) -> str:
        """Where the CNI plugin finds the agent."""
        return self.below("/run/tortie/cni.sock")

    @property
    def store(self) -> str:
        return self.below("/var/lib/tortie/store.db")

    def folders(self, *, backend: str, file_logging: bool) -> tuple[str, ...]:
        """What has to be there before other parts of a node can work."""
        wanted = ["/var/lib/calico"]
        if backend == "bird":
            wanted.insert(0, "/var/run/calico")
        if file_logging:
            wanted.append("/var/log/calico")
        return tuple(self.below(folder) for folder in wanted)
