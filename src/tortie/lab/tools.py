"""What people type on a node of a cluster, for nodes whose lab has kubelets: kubectl, crictl, systemctl and others."""

from __future__ import annotations

import os
from typing import Final

from tortie.host.files import write_whole
from tortie.lab.registry import LabFolder

NAMES: Final = ("kubectl", "crictl", "systemctl", "journalctl", "swapoff")


def tools_folder(folder: LabFolder) -> str:
    return os.path.join(folder.path, "bin")


def put_tools(folder: LabFolder) -> None:
    """Each is a line of shell that asks the lab."""
    os.makedirs(tools_folder(folder), exist_ok=True)
    for name in NAMES:
        _put(folder, name, f"tortie lab tool {name} --")
    _put(folder, "calicoctl", "tortie")  # it takes the same words


def _put(folder: LabFolder, name: str, command: str) -> None:
    text = f'#!/bin/sh\nexec {command} "$@"\n'
    write_whole(os.path.join(tools_folder(folder), name), text.encode(), 0o755)
