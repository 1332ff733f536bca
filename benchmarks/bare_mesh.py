"""The floor of a lab: the same network, and in every namespace a BIRD with the text that an agent would give it.

No agents, no datastore, nobody who looks after anything. What such a mesh needs to converge, no lab can do without. An
idle BIRD 2.0.12 sends what it has for a new neighbour only when something wakes it up, which may be two seconds later.
So it is woken up here now and then, as an agent that asks for its sessions does.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from processes import Usage, usage_of
from tortie.bgp.bird_text import bird_text
from tortie.bgp.cluster import Known
from tortie.bgp.sessions import plan as bgp_plan
from tortie.host.links import routes_in
from tortie.host.namespaces import Inside
from tortie.host.netlink import Netlink
from tortie.lab.fabric import Fabric
from tortie.lab.launch import die_with
from tortie.lab.plan import LabPlan
from tortie.lab.planning import plan as lab_plan
from tortie.lab.seeds import Stamp, seeds
from tortie.lab.topology import from_flags
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.network import Network, Route
from tortie.model.wire import encode

_CONVERGED_S = 120.0
_LOOK_AGAIN_S = 0.005
_WAKE_S = 0.2
_GET_ROUTE = 26


class BareMesh:
    """Everything is written down beforehand; the clock runs from the first namespace to the last route."""

    def __init__(self, nodes: int, folder: Path) -> None:
        self._plan = lab_plan(from_flags(nodes), "bare")
        self._folder = folder
        self._birds: list[subprocess.Popen[bytes]] = []
        for name, text in texts(self._plan):
            (folder / name).mkdir()
            (folder / name / "bird.cfg").write_text(text)

    def converge(self) -> tuple[float, Usage]:
        """Seconds, and what the BIRDs have used until then."""
        fabric = Fabric()
        try:
            began = time.perf_counter()
            fabric.apply(self._plan)
            kernels = [self._start(fabric, node.name) for node in self._plan.nodes]
            wait_for_routes(kernels, len(kernels) - 1, self._wake_all)
            seconds = time.perf_counter() - began
            used = usage_of(bird.pid for bird in self._birds)
            for kernel in kernels:
                kernel.close()
            return seconds, used
        finally:
            for bird in self._birds:
                bird.kill()
            for bird in self._birds:
                bird.wait()
            fabric.close()

    def _start(self, fabric: Fabric, name: str) -> Netlink:
        parent = os.getpid()
        command = ["bird", "-f", "-c", "bird.cfg", "-s", "bird.ctl"]
        with Inside(fabric.places[name].namespaces):
            bird = subprocess.Popen(
                command,
                cwd=self._folder / name,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: die_with(parent),  # this process has no threads
            )
            self._birds.append(bird)
            return Netlink()

    def _wake_all(self) -> None:
        for node in self._plan.nodes:
            with socket.socket(socket.AF_UNIX) as control, suppress(OSError):
                control.connect(str(self._folder / node.name / "bird.ctl"))


def texts(planned: LabPlan) -> Iterable[tuple[str, str]]:
    """By node, what its agent would tell BIRD once all nodes are registered."""
    stamp = Stamp(time.time_ns(), lambda: str(uuid.uuid4()))
    entries = dict(seeds(planned, stamp))
    for node in planned.nodes:
        spec = {"bgp": {"ipv4Address": str(node.nics[0].addresses[0])}}
        document = {"metadata": {"name": node.name, "labels": node.labels}, "spec": spec}
        entries[str(ResourceKey(BY_NAME["Node"], node.name))] = encode(document)
    for node in planned.nodes:
        known = Known(node.name)
        for key, value in entries.items():
            known.learn(key, value)
        yield node.name, bird_text(bgp_plan(node.name, known.cluster(), secrets={}))


def wait_for_routes(kernels: Sequence[Netlink], count: int, wake: Callable[[], None] = lambda: None) -> None:
    """One after the other: who is asked again and again is disturbed in what is measured."""
    deadline = time.monotonic() + _CONVERGED_S
    next_wake = time.monotonic() + _WAKE_S
    for kernel in kernels:
        while len(learnt_routes(kernel)) < count:
            now = time.monotonic()
            if now > deadline:
                raise SystemExit(f"not converged after {_CONVERGED_S:.0f} s")
            if now > next_wake:
                wake()
                next_wake = now + _WAKE_S
            time.sleep(_LOOK_AGAIN_S)


def learnt_routes(kernel: Netlink) -> set[Network]:
    """Destinations with a next hop that come from BIRD."""
    messages = kernel.dump(_GET_ROUTE, bytes(12), "the routes", time.monotonic() + 5)
    return {route.destination for message in messages for route in routes_in(message) if is_learnt(route)}


def is_learnt(route: Route) -> bool:
    return route.protocol == "bird" and route.kind == "unicast" and route.gateway is not None
