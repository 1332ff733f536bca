"""A cluster with one real agent in it, for benchmarks: registered nodes, a start that is timed, memory that is read.

Everything happens in a network namespace of its own, where the agent's ports are free and its addresses nobody's.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tortie.model.wire import encode
from tortie.store.contract import Put, Store

COMMAND = str(Path(sys.executable).with_name("tortie"))
NODES = "/calico/resources/v3/projectcalico.org/nodes/"
HEALTH_PORT = 9099

_INSIDE = "TORTIE_BENCHMARK_INSIDE"
_OWN_ADDRESS, _GATEWAY = "10.0.0.2/16", "10.0.0.1"
_BATCH = 100
_LOOK_AGAIN_S = 0.002
_READY_S = 120.0
_STOP_S = 10.0


def enter_own_network(argv: Sequence[str]) -> int | None:
    """Runs the script again inside a new network namespace and returns its exit code; None when inside already."""
    if os.environ.get(_INSIDE):
        return None
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    environment = os.environ | {_INSIDE: "1"}
    return subprocess.run([*unshare, sys.executable, *argv], env=environment, check=False).returncode


def give_it_a_network() -> None:
    """A machine with one interface, an address and a default route."""
    if not os.environ.get(_INSIDE):
        raise AssertionError("this would change the network of the machine itself; run it by enter_own_network")
    _ip("link", "set", "lo", "up")
    # A cable to another namespace: what a container has for a network card.
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    atexit.register(holder.kill)
    _wait_for_own_network(holder.pid)
    _ip("link", "add", "eth0", "type", "veth", "peer", "name", "cable0", "netns", str(holder.pid))
    subprocess.run(["nsenter", f"--net=/proc/{holder.pid}/ns/net", "ip", "link", "set", "cable0", "up"], check=True)
    _ip("address", "add", _OWN_ADDRESS, "dev", "eth0")
    _ip("link", "set", "eth0", "up")
    _ip("route", "add", "default", "via", _GATEWAY)


def _wait_for_own_network(pid: int) -> None:
    deadline = time.monotonic() + _STOP_S
    while os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        if time.monotonic() > deadline:
            raise AssertionError("no second network namespace")
        time.sleep(_LOOK_AGAIN_S)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


async def register(store: Store, first: int, count: int) -> None:
    """Nodes as Kubernetes and Calico leave them, about 900 bytes each, a hundred to a commit."""
    for start in range(first, count, _BATCH):
        await store.commit([_node(number) for number in range(start, min(start + _BATCH, count))])


def _node(number: int) -> Put:
    name = f"node-{number:05}.example.internal"
    address = f"10.0.{1 + number // 250}.{1 + number % 250}"
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
    }
    document: dict[str, Any] = {
        "kind": "Node",
        "apiVersion": "projectcalico.org/v3",
        "metadata": {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels,
            "annotations": {"projectcalico.org/kube-labels": json.dumps(labels, separators=(",", ":"))},
        },
        "spec": {
            "addresses": [{"address": f"{address}/16", "type": "CalicoNodeIP"}],
            "bgp": {"ipv4Address": f"{address}/16", "ipv4IPIPTunnelAddr": f"10.244.{number & 255}.1"},
            "orchRefs": [{"nodeName": name, "orchestrator": "k8s"}],
        },
        "status": {"podCIDRs": [f"10.244.{number & 255}.0/24"]},
    }
    return Put(NODES + name, encode(document))


class Start(NamedTuple):
    """Seconds from exec."""

    answering_s: float  # the health port has said something
    ready_s: float
    round_trips: int  # as the agent counts them
    rss_mb: float


class Agent:
    """A running `tortie node run`, ready."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._root = tempfile.mkdtemp(prefix="bench-agent-")
        # BIRD would take the port and the routes of the machine itself; bench_lab.py has it, in namespaces.
        own = {"NODENAME": "bench-agent", "CALICO_NETWORKING_BACKEND": "vxlan"}
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **own, **settings}
        log = Path(self._root, "log")
        with log.open("wb") as output:
            began = time.perf_counter()
            self.process = subprocess.Popen(
                [COMMAND, "node", "run", "--root", self._root], stdout=output, stderr=output, env=environment
            )
        try:
            answering_s = self._wait(began, lambda status: status != 0)
            ready_s = self._wait(began, lambda status: status in (200, 204))
        except BaseException:
            sys.stderr.write(log.read_text(errors="replace"))
            self.stop()
            raise
        self.start = Start(answering_s, ready_s, self._round_trips(), self.rss_mb())

    def _wait(self, began: float, good: Any) -> float:
        while not good(_readiness()):
            if self.process.poll() is not None or time.perf_counter() - began > _READY_S:
                raise AssertionError("the agent ended, or never became ready; its log is above")
            time.sleep(_LOOK_AGAIN_S)
        return time.perf_counter() - began

    def _round_trips(self) -> int:
        """Written a moment after the agent says that it is ready."""
        until = time.monotonic() + _STOP_S
        while True:
            record = self._last_start()
            if record.get("outcome") == "ready":
                return int(record["roundTrips"])
            if time.monotonic() > until:
                raise AssertionError(f"the start left no record: {record}")
            time.sleep(_LOOK_AGAIN_S)

    def _last_start(self) -> dict[str, Any]:
        command = [COMMAND, "node", "timeline", "--root", self._root, "-o", "json"]
        done = subprocess.run(command, capture_output=True, check=False)
        found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found

    def rss_mb(self) -> float:
        return rss_mb(self.process.pid)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self._root, ignore_errors=True)


@contextmanager
def running_agent(settings: Mapping[str, str]) -> Iterator[Agent]:
    agent = Agent(settings)
    try:
        yield agent
    finally:
        agent.stop()


def rss_mb(pid: int) -> float:
    """Resident memory in MB of a million bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


def _readiness() -> int:
    """The status code of the page; 0 when nobody answers. By hand, because a heavier client would be in the figure."""
    try:
        with socket.create_connection(("127.0.0.1", HEALTH_PORT), timeout=2) as connection:
            connection.sendall(b"GET /readiness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            words = connection.recv(4096).split(b" ", 2)
    except OSError:
        return 0
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
