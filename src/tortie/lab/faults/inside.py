"""A function that runs inside a machine of the lab, in a child of its own; the caller stays where it is.

The child has the machine's network, hostname and, where the machine has such, mounts. What the function returns comes
back as JSON, what it raises is raised again here.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn, cast

from tortie.host.namespaces import Kind, enter
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure, as_message, at, from_message, phrase
from tortie.lab.launch import die_with
from tortie.model.errors import TortieError

INSIDE_S: Final = 30.0
_PIECE: Final = 1 << 16


def run_inside(
    keeper: KeeperClient, machine: str, work: Callable[[], Any], timeout_s: float = INSIDE_S, *, mounts: bool = False
) -> Any:
    """`work` may use what it was given before; of what it does to Python's own objects nothing comes back.

    `mounts`: it makes some, so it is done only where they are not those of the machine that runs the lab.
    """
    told, descriptors = keeper.way_into(machine)
    kinds = cast(list[Kind], told["namespaces"])
    try:
        if mounts and "mnt" not in kinds:
            raise LabFailure("deed-refused", deed=at(machine, phrase("mount")), why=phrase("no-own-mounts"))
        return run_apart(work, dict(zip(kinds, descriptors, strict=True)), machine, timeout_s)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def run_apart(work: Callable[[], Any], namespaces: dict[Kind, int], where: str, timeout_s: float = INSIDE_S) -> Any:
    """In a child with these namespaces; none: only apart, with an event loop of its own, say."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live(work, namespaces, writing, parent)
    os.close(writing)
    try:
        answer = _read(reading, time.monotonic() + timeout_s)
    finally:
        os.close(reading)
        _bury(child)
    if answer is None:
        raise LabFailure("inside-slow", machine=where, seconds=f"{timeout_s:.0f}")
    if not answer:
        raise LabFailure("inside-ended", machine=where)
    told = json.loads(answer)
    if "failure" in told:
        raise from_message(told["failure"])
    return told["done"]


def _live(work: Callable[[], Any], namespaces: dict[Kind, int], writing: int, parent: int) -> NoReturn:
    try:
        # The terminal's Ctrl-C is for the command, which lets us finish or ends us.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with(parent)
        answer: dict[str, Any]
        try:
            enter(namespaces)
            answer = {"done": work()}
        except TortieError as error:
            answer = {"failure": as_message(error)}
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            answer = {"failure": as_message(LabFailure("deed-failed", what=why))}
        rest = memoryview(json.dumps(answer).encode())
        while rest:
            rest = rest[os.write(writing, rest) :]
    finally:
        os._exit(0)


def _read(descriptor: int, deadline: float) -> bytes | None:
    """All until the end; None when that does not come in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    told = bytearray()
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return bytes(told)
        told += piece
    return None


def _bury(child: int) -> None:
    """It has answered, or is not waited for any longer."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
