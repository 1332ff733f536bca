"""The life of the worker `node-1/kubelet`. It ends without its containers; the next one finds them again."""

from __future__ import annotations

from typing import Final

from tortie.lab.kubelet.jobs import KubeletJob, Paths
from tortie.lab.kubelet.journal import Klog
from tortie.lab.kubelet.kubelet import Kubelet
from tortie.lab.kubelet.machine import swap_on
from tortie.lab.kubelet.telling import SWAP_ON
from tortie.lab.title import show_as

FATAL: Final = 255  # what klog exits with


def run_kubelet(job: KubeletJob) -> int:
    """Its exit code: 0 when it was told to end, 255 when the node has swap."""
    show_as(("tortie", "lab", "kubelet", job.root))
    paths = Paths(job.root)
    paths.make()
    paths.note_pid(paths.kubelet_pid)
    if swaps := swap_on(job.swaps_outside):
        Klog(paths.kubelet_log).fatal("server.go:274", SWAP_ON.format(swaps=swaps))
        return FATAL
    return Kubelet(job).run()
