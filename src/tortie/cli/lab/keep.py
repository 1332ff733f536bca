"""The keeper's process. Only `tortie lab up` starts it: python -m tortie.cli.lab.keep FOLDER NODES PADDING."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from tortie.host.namespaces import Kind, user_namespace
from tortie.lab.ending import sweep
from tortie.lab.failures import LabFailure, as_message
from tortie.lab.keeper import Keeper
from tortie.lab.protocol import Channel
from tortie.lab.raising import CHANNEL
from tortie.lab.registry import LabFolder, locked, remove
from tortie.lab.running import RunningLab, Shipped
from tortie.lab.title import show_as
from tortie.model.errors import TortieError

_CAP_SYS_ADMIN: Final = 21
_OF_AN_AGENT: Final = (
    "tortie.cli.entry",
    "tortie.cli.main",
    "tortie.cli.commands.node",
    "tortie.cli.node.run",
    "tortie.cli.node.assembly",
    "tortie.node.settings.early",
    "tortie.store.embedded",
    "concurrent.futures.thread",
    "getopt",
    "gettext",
    "queue",
)
_MANY: Final = 10  # agents, from which on it pays to rehearse their start


def main() -> int:
    folder = LabFolder(sys.argv[1])
    os.chdir("/")
    os.umask(0o022)
    show_as(("tortie", "lab", "keep", folder.path))
    starter = Channel(socket.socket(fileno=CHANNEL))
    try:
        above = _become_root()
        if int(sys.argv[2]) >= _MANY:
            _rehearse(folder)
        lab = RunningLab(folder, Shipped(run_command, preload), os.environ["PATH"], above)
    except TortieError as error:
        starter.send({"failure": as_message(error)})
        return 1
    abandoned = Keeper(folder, starter, lab).run()
    if abandoned:
        _remove(folder)
    return 0


def _rehearse(folder: LabFolder) -> None:
    """Whatever goes wrong with it, agents start all the same, only a little later and larger."""
    from tortie.cli.lab.rehearsal import rehearse

    preload()
    from tortie.cli.node import run

    try:
        rehearse(run_command, folder, os.environ["PATH"])
    except Exception as error:
        sys.stdout.write(f"no rehearsal: {error!r}\n")
    run._told_to_stop.clear()  # else every agent would believe that it was told so


def _become_root() -> dict[Kind, int]:
    """Who may not make namespaces makes one first in which everybody may; what has to be entered to follow us there."""
    if _may_make_namespaces():
        return {}
    user_namespace()
    return {"user": os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC)}


def _may_make_namespaces() -> bool:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        rights = next(line for line in file if line.startswith("CapEff:"))
    return bool(int(rights.split()[1], 16) >> _CAP_SYS_ADMIN & 1)


def _remove(folder: LabFolder) -> None:
    """Unless somebody else has begun to do something with it."""
    try:
        with locked(folder, time.monotonic(), lambda: None):
            sweep(folder)
            remove(folder)
    except (LabFailure, OSError):
        pass


def run_command(words: Sequence[str]) -> int:
    """As the installed command would, in this process."""
    from tortie.cli.entry import entry

    sys.argv = ["tortie", *words]
    try:
        entry()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def preload() -> None:
    """Everything that `tortie node run` imports sooner or later: all agents of the lab share it."""
    for name in _OF_AN_AGENT:
        import_module(name)


if __name__ == "__main__":
    sys.exit(main())
