"""A command's side of the conversation with the keeper of a lab."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, Final

from tortie.lab.failures import LabFailure, from_message
from tortie.lab.protocol import Channel, Closed, connected
from tortie.lab.registry import LabFolder

ANSWER_S: Final = 10.0

Progress = Callable[[dict[str, Any]], None]


class KeeperClient:
    def __init__(self, folder: LabFolder, channel: Channel, pid: int) -> None:
        self._folder = folder
        self._channel = channel
        self.pid = pid

    @classmethod
    def connect(cls, folder: LabFolder) -> KeeperClient | None:
        """None when no keeper is there."""
        channel = connected(folder.socket)
        return cls(folder, channel, channel.peer_pid) if channel else None

    def fileno(self) -> int:
        return self._channel.fileno()

    def ask(
        self, do: str, *, deadline: float | None = None, on_progress: Progress | None = None, **fields: object
    ) -> dict[str, Any]:
        """What the keeper has done; what it could not do is raised."""
        if deadline is None:
            deadline = time.monotonic() + ANSWER_S
        began = time.monotonic()
        try:
            self._channel.send({"do": do, **fields})
            while message := self._channel.receive(deadline):
                if "done" in message:
                    done: dict[str, Any] = message["done"]
                    return done
                if "failure" in message:
                    raise from_message(message["failure"])
                if on_progress:
                    on_progress(message.get("progress", {}))
        except Closed:
            raise LabFailure("taken-down", name=self._folder.name) from None
        seconds = f"{time.monotonic() - began:.0f}"
        raise LabFailure("keeper-silent", name=self._folder.name, pid=self.pid, seconds=seconds, log=self._folder.log)

    def way_into(self, machine: str) -> tuple[dict[str, Any], list[int]]:
        """What is to be known about a machine, and the descriptors of its namespaces."""
        told = self.ask("enter", machine=machine)
        return told, self._channel.taken_descriptors()

    def way_into_pod(self, label: str) -> tuple[dict[str, Any], list[int]]:
        told = self.ask("enter", pod=label)
        return told, self._channel.taken_descriptors()

    def wait_end(self, timeout_s: float) -> bool:
        """Whether the keeper's process has ended in that time."""
        return _ended(self.pid, timeout_s)

    def kill(self, timeout_s: float) -> bool:
        """For one that does not answer; everything of its lab dies with it."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return True
        return _ended(self.pid, timeout_s)

    def close(self) -> None:
        self._channel.close()


def _ended(pid: int, timeout_s: float) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)
