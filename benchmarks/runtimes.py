"""A container runtime's part, for benchmarks: it calls a CNI plugin with fork and exec, variables and standard input.

Both plugins are called by the very same code, each in the network namespace of a host of its own. A call's time runs
from before the fork until the process has ended; its output goes to a file in memory.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.netns import Namespace

DEBIAN = Path("/usr/lib/cni")


class Plugin(NamedTuple):
    """What is called, where, and with what configuration."""

    name: str
    program: Path
    path: str  # CNI_PATH
    config: dict[str, Any]
    host: Namespace

    def call(self, verb: str, pods: Sequence[Pod], at_once: int) -> list[float]:
        """Seconds of each call, so many of them at a time."""
        return self.host.call(_called, str(self.program), self.path, json.dumps(self.config), verb, pods, at_once)


class Pod(NamedTuple):
    name: str
    netns: str


def _called(program: str, path: str, config: str, verb: str, pods: Sequence[Pod], at_once: int) -> list[float]:
    """In the host's namespace. Whoever ends makes room for the next."""
    ahead, took = list(reversed(pods)), []
    running: dict[int, tuple[Pod, int, float]] = {}
    with tempfile.TemporaryFile(dir="/dev/shm") as given:
        given.write(config.encode())
        given.flush()
        while ahead or running:
            while ahead and len(running) < at_once:
                pod = ahead.pop()
                output = os.memfd_create(pod.name)
                began = time.perf_counter()
                pid = _spawned(program, path, f"/proc/self/fd/{given.fileno()}", output, verb, pod)
                running[pid] = (pod, output, began)
            pid, status = os.wait()
            ended = time.perf_counter()
            pod, output, began = running.pop(pid)
            if status:
                said = os.pread(output, 4096, 0).decode()
                raise AssertionError(
                    f"{program} {verb} {pod.name} ended with {os.waitstatus_to_exitcode(status)}: {said}"
                )
            os.close(output)
            took.append(ended - began)
    return took


def _spawned(program: str, path: str, given: str, output: int, verb: str, pod: Pod) -> int:
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "CNI_COMMAND": verb,
        "CNI_CONTAINERID": pod.name,
        "CNI_NETNS": pod.netns,
        "CNI_IFNAME": "eth0",
        "CNI_PATH": path,
        "CNI_ARGS": f"IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod.name}",
    }
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, output, 2),
    ]
    return os.posix_spawn(program, [program], environment, file_actions=actions)


@contextmanager
def pods(count: int, topic: str) -> Iterator[list[Pod]]:
    """As many network namespaces, empty."""
    with ExitStack() as stack:
        names = [stack.enter_context(Namespace(f"p{topic}")).name for _ in range(count)]
        yield [Pod(name, f"/var/run/netns/{name}") for name in names]


def ptp(host: Namespace, folder: Path) -> Plugin:
    """Debian's, with host-local: one address, a veth, a default route in the pod, a route to it on the host."""
    config = {
        "cniVersion": "0.3.1",
        "name": "bench-ptp",
        "type": "ptp",
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.99.0.0/16"}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(folder / "host-local"),
        },
    }
    return Plugin("ptp, host-local", DEBIAN / "ptp", str(DEBIAN), config, host)
