"""What a kubelet finds out about its node: kernel, size, disks, CNI configuration, and swap that it was not told of."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from tortie.host.links import addressed_links
from tortie.host.netlink import Netlink
from tortie.lab.kubelet.conditions import NodeFacts
from tortie.lab.kubelet.jobs import KubeletJob
from tortie.lab.kubelet.objects import Object, condition, made_hex
from tortie.lab.kubelet.template import kubelet_version, kubernetes_minor
from tortie.lab.runtime import configurations
from tortie.model.errors import TortieError

UPLINK: Final = "eth0"  # the first NIC of every machine of a lab
_ASK_S: Final = 2.0
DOCKER_UNTIL: Final = 22  # the last release of Kubernetes whose clusters mostly had Docker
_SWAPS: Final = "/proc/swaps"
_FREE_LEAST: Final = 0.1  # nodefs.available<10%
_STATE: Final = ("", "var", "var/lib", "var/lib/kubelet", "var/lib/calico", "var/lib/cni", "var/log", "run")


def has_docker(classic: str) -> bool:
    return kubernetes_minor(classic) <= DOCKER_UNTIL


def address_now(planned: str) -> str | None:
    """The node's InternalIP: as planned while a link has it, else the first one of its uplink.

    None while the uplink is down: the API server is not to be reached, and nobody hears of this node.
    """
    try:
        with Netlink() as kernel:
            found = addressed_links(kernel, time.monotonic() + _ASK_S)
    except (OSError, TortieError):
        return planned
    uplink = next((link for link in found if link.name == UPLINK), None)
    if uplink is None or "up" not in uplink.flags:
        return None
    addresses = [str(each.cidr.ip) for each in uplink.addresses if each.cidr.version == 4]
    return planned if planned in addresses or not addresses else addresses[0]


def facts(job: KubeletJob, address: str, created_at: float, runtime_version: str) -> NodeFacts:
    kernel = os.uname()
    runtime = "docker://19.3.15" if has_docker(job.classic) else f"containerd://{runtime_version}"
    return NodeFacts(
        name=job.node,
        address=address,
        created_at=created_at,
        kernel=kernel.release,
        os_image=_os_image(),
        architecture={"x86_64": "amd64", "aarch64": "arm64"}.get(kernel.machine, kernel.machine),
        kubelet_version=kubelet_version(job.classic),
        runtime_version=runtime,
        cpus=os.cpu_count() or 1,
        memory_kib=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024,
        pod_cidr=job.pod_cidr,
        labels=dict(job.labels),
        machine_id=made_hex(32, job.lab, job.node),
    )


def _os_image() -> str:
    with suppress(OSError), open("/etc/os-release", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip().strip('"')
    return "Linux"


def swap_on(outside: str) -> str | None:
    """The lines of /proc/swaps joined as kubelet does, if the node has swap that is not just the machine's own."""
    try:
        with open(_SWAPS, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    return " ".join(text.strip().splitlines()) if _swaps(text) - _swaps(outside) else None


def _swaps(text: str) -> set[tuple[str, ...]]:
    """Name, type and size of each; how much of it is used changes all the time."""
    return {tuple(line.split()[:3]) for line in text.strip().splitlines()[1:]}


def network_ready(root: str) -> bool:
    return bool(configurations(root))


def disk_pressure(root: str, lab: str) -> bool:
    """Only of what was mounted for the node alone: how full the machine's own disk is says nothing about the lab."""
    with suppress(OSError):
        outside = os.stat(lab).st_dev
        for name in _STATE:
            path = os.path.join(root, name)
            with suppress(FileNotFoundError):
                if os.stat(path).st_dev != outside:
                    space = os.statvfs(path)
                    if space.f_bavail < space.f_blocks * _FREE_LEAST:
                        return True
    return False


def says_ready(pod: Mapping[str, object], container: str) -> bool:
    status = pod.get("status")
    statuses = status.get("containerStatuses") or [] if isinstance(status, dict) else []
    return any(each["name"] == container and each.get("ready") for each in statuses)


def network_told(node: Object | None) -> bool:
    """Whether calico-node has said before that the network is there: that stays when it is gone."""
    return node is not None and condition(node, "NetworkUnavailable") is not None
