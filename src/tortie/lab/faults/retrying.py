"""Asks for a pod again and again while it gets no network, as kubelet does: who looks finds failures of this moment."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Final

from tortie.lab.client import KeeperClient
from tortie.lab.registry import LabFolder
from tortie.model.errors import TortieError

_POD_S: Final = 5.0


def retry_pod(pod: str, root: str, pause_s: float) -> None:
    """Until this process is ended, or the pod has its network; whoever undoes the fault removes it then."""
    folder, node = LabFolder(os.path.dirname(os.path.dirname(root))), os.path.basename(root)
    wanted = [{"name": pod, "namespace": "default", "node": node}]
    while True:
        keeper = KeeperClient.connect(folder)
        if keeper is None:
            return
        with closing(keeper):
            try:
                deadline = time.monotonic() + _POD_S + 5.0
                if not keeper.ask("pod-run", deadline=deadline, pods=wanted, timeout_s=_POD_S)["failed"]:
                    return
            except TortieError:
                pass  # busy with something else
        time.sleep(pause_s)
