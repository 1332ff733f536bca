"""Labs for benchmarks: brought up by the command, looked into from outside, and taken down whatever happens."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, NamedTuple

from agents import COMMAND
from bare_mesh import is_learnt, wait_for_routes
from processes import Usage, descendants, name_of, usage_of
from tortie.host.links import routes_in
from tortie.host.namespaces import Inside
from tortie.host.netlink import Netlink, messages_in
from tortie.lab.observe import ask_agents
from tortie.lab.plan import LabPlan
from tortie.lab.planning import plan
from tortie.lab.registry import LabFolder
from tortie.lab.topology import from_flags
from tortie.model.keys import host_affinity_key
from tortie.model.network import IP, Network
from tortie.model.wire import encode
from tortie.node.paths import Paths
from tortie.node.timeline import read_records
from tortie.store.contract import Delete, Operation, Put
from tortie.store.embedded import EmbeddedStore, inline

_COMMAND_S = 600.0
_ARRIVAL_S = 30.0
_BETWEEN_CHANGES_S = 0.5
_ROUTES_OF_IPV4 = 0x40  # a multicast group of the kernel
_NEW_ROUTE = 24
_BUFFER = 1 << 20


class Up(NamedTuple):
    wall_s: float
    routes_s: float  # from then until every kernel has all routes
    phases: dict[str, float]
    started_s: list[float]  # by node, from the beginning of its agent to its registration
    reloads: list[int]  # of each BIRD
    keeper: Usage
    agents: Usage
    birds: Usage


class Lab:
    def __init__(self, labs: Path, nodes: int) -> None:
        self._labs = labs
        self._name = f"bench-{os.getpid()}"
        self._nodes = nodes
        self.folder = LabFolder(str(labs / self._name))
        self.plan: LabPlan = plan(from_flags(nodes), self._name)

    def up(self) -> Up:
        began = time.perf_counter()
        told = json.loads(self._run("up", "--nodes", str(self._nodes), "-o", "json"))
        wall_s = time.perf_counter() - began
        keeper, agents, birds = self.usage()
        self._await_all_routes()
        routes_s = time.perf_counter() - began - wall_s
        phases = told["seconds"]
        phases["command"] = wall_s - phases["total"]  # Python's start, mostly
        return Up(wall_s, routes_s, phases, self._started_s(), self._reloads(), keeper, agents, birds)

    def usage(self) -> tuple[Usage, Usage, Usage]:
        """Of the keeper, of all agents, of all BIRDs."""
        keeper = self._keeper
        below = descendants(keeper)
        birds = [pid for pid in below if name_of(pid) == "bird"]
        return usage_of([keeper]), usage_of(set(below) - set(birds)), usage_of(birds)

    def down(self) -> float:
        began = time.perf_counter()
        self._run("down")
        return time.perf_counter() - began

    def pids(self) -> dict[str, int]:
        """Of the agents, by node."""
        told = json.loads(self._run("status", "-o", "json"))
        return {node["name"]: node["pid"] for node in told["nodes"]}

    def _await_all_routes(self) -> None:
        kernels = [kernel_of(pid) for pid in self.pids().values()]
        wait_for_routes(kernels, self._nodes - 1)
        for kernel in kernels:
            kernel.close()

    @property
    def _keeper(self) -> int:
        return int((self.folder.read() or {})["pid"])

    def _started_s(self) -> list[float]:
        paths = [Paths(self.folder.machine(node.name)) for node in self.plan.nodes]
        return [read_records(each.starts)[-1].seconds for each in paths]

    def _reloads(self) -> list[int]:
        sockets = {node.name: self.folder.agent_socket(node.name) for node in self.plan.nodes}
        answers: dict[str, Any] = ask_agents(sockets, "/status", 10.0)
        return [answer["bgp"]["bird"]["reloads"] for answer in answers.values() if answer and answer["bgp"]]

    def _run(self, command: str, *words: str) -> str:
        line = [COMMAND, "lab", command, "--name", self._name, *words]
        environment = os.environ | {"TORTIE_LAB_DIR": str(self._labs)}
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=_COMMAND_S, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(line)} ended with {done.returncode}\n{done.stderr}{done.stdout}")
        return done.stdout


@contextmanager
def labs_folder() -> Iterator[Path]:
    """On the file system where labs are without being told otherwise."""
    with tempfile.TemporaryDirectory(prefix="tortie-bench-", dir="/run") as folder:
        yield Path(folder)


@contextmanager
def lab_of(labs: Path, nodes: int) -> Iterator[Lab]:
    lab = Lab(labs, nodes)
    try:
        yield lab
    finally:
        lab.down()


def change_blocks(lab: Lab, changes: int) -> tuple[list[float], list[float]]:
    """A node gets one more block. Seconds until each other kernel has it, and until all have."""
    watches = {name: RouteWatch(pid) for name, pid in lab.pids().items()}
    store = EmbeddedStore(lab.folder.store, offload=inline)
    arrivals: list[float] = []
    last: list[float] = []
    try:
        for number in range(changes):
            node = lab.plan.nodes[number % len(lab.plan.nodes)]
            block = IPv4Network((0x0AF4FF00 - 256 * number, 26))  # from the end of the lab's pool
            key = host_affinity_key(node.name, str(block))
            others = {watch.fileno(): watch for name, watch in watches.items() if name != node.name}
            began = time.perf_counter()
            asyncio.run(_commit(store, Put(key, encode({"state": "confirmed", "deleted": False}))))
            taken = _await_route(others, block, node.address, began)
            arrivals += taken
            last.append(max(taken))
            asyncio.run(_commit(store, Delete(key)))
            time.sleep(_BETWEEN_CHANGES_S)
    finally:
        for watch in watches.values():
            watch.close()
        asyncio.run(store.close())
    return arrivals, last


async def _commit(store: EmbeddedStore, operation: Operation) -> None:
    await store.commit([operation])


def _await_route(watches: dict[int, RouteWatch], block: IPv4Network, gateway: IP, began: float) -> list[float]:
    poll = select.poll()
    for descriptor in watches:
        poll.register(descriptor, select.POLLIN)
    waiting, taken = dict(watches), []
    while waiting:
        ready = poll.poll(_ARRIVAL_S * 1000)
        if not ready:
            raise SystemExit(f"{len(waiting)} kernels have not got {block} within {_ARRIVAL_S:.0f} s")
        for descriptor, _ in ready:
            if waiting[descriptor].came(block, gateway):
                taken.append(time.perf_counter() - began)
                poll.unregister(descriptor)
                del waiting[descriptor]
    return taken


def kernel_of(pid: int, groups: int = 0) -> Netlink:
    """Of the network namespace that a process lives in."""
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        with Inside({"net": namespace}):
            return Netlink(groups)
    finally:
        os.close(namespace)


class RouteWatch:
    """The kernel of one namespace tells when a route comes."""

    def __init__(self, pid: int) -> None:
        self._kernel = kernel_of(pid, _ROUTES_OF_IPV4)
        self._kernel.socket.setblocking(False)

    def fileno(self) -> int:
        return self._kernel.socket.fileno()

    def close(self) -> None:
        self._kernel.close()

    def came(self, destination: Network, gateway: IP) -> bool:
        """Whether that route is in what the kernel has told since the last call."""
        found = False
        while True:
            try:
                datagram = self._kernel.socket.recv(_BUFFER)
            except BlockingIOError:
                return found
            for message in messages_in(datagram):
                for route in routes_in(message) if message.kind == _NEW_ROUTE else ():
                    found |= is_learnt(route) and route.destination == destination and route.gateway == gateway
