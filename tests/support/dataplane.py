"""Machines as network namespaces on real cables, each with a dataplane of its own and pods behind it.

The pods are wired by hand, as the CNI plugin wires them, so that these tests need nothing but the dataplane.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from tests.support.netns import Namespace

from tortie.ipam.block import new_block
from tortie.ipam.records import write_block
from tortie.model.keys import ResourceKey, block_key, host_affinity_key
from tortie.model.kinds import BY_NAME
from tortie.model.names import EndpointName, host_interface
from tortie.model.wire import Document, decode, encode
from tortie.store.contract import Delete, Operation, Put, Store
from tortie.store.embedded import EmbeddedStore

DEADLINE_S = 60.0
MAC = "ee:ee:ee:ee:ee:ee"


def key(kind: str, name: str, namespace: str | None = None) -> str:
    return str(ResourceKey(BY_NAME[kind], name, namespace))


def resource(kind: str, name: str, spec: Document, **metadata: Any) -> Put:
    document = {
        "kind": kind,
        "apiVersion": "projectcalico.org/v3",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }
    return Put(key(kind, name, metadata.get("namespace")), encode(document))


class Machine:
    """A node: its namespace, its folder, and the process that runs its dataplane."""

    def __init__(self, name: str, address: str, folder: Path, namespace: Namespace, store: Path) -> None:
        self.name = name
        self.address = address  # with the length of its network's prefix
        self.folder = folder / name
        self.ns = namespace
        self.pods: dict[str, Namespace] = {}
        self._store = store
        self._process: subprocess.Popen[str] | None = None

    @property
    def ip(self) -> str:
        return self.address.partition("/")[0]

    def start(self, **variables: str) -> None:
        (self.folder / "var/lib/calico").mkdir(parents=True, exist_ok=True)
        log = (self.folder / "log").open("a")
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **variables}
        words = (sys.executable, "-m", "tests.support.dataplane_process", self.name, self.folder, self._store)
        with log:
            self._process = self.ns.popen(*words, stdout=log, stderr=log, env=environment)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(DEADLINE_S)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def is_ready(self) -> bool:
        told = [line for line in self.log.splitlines() if line == "ready" or line.startswith("not ready")]
        return bool(told) and told[-1] == "ready"

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name}: not {what}; its routes:\n{self.routes()}\nits log:\n{self.log}")
            time.sleep(0.02)

    def routes(self, family: int = 4) -> str:
        return self.ns.ip(f"-{family}", "-details", "route", "show")

    def wait_route(self, *words: str, family: int = 4) -> None:
        """Until one line has all these words."""
        self.wait(f"a route with {words}", lambda: _has(self.routes(family), words))

    def wait_no_route(self, *words: str, family: int = 4) -> None:
        self.wait(f"rid of a route with {words}", lambda: not _has(self.routes(family), words))

    def forwarding(self) -> str:
        return self.ns.run("bridge", "fdb", "show", "dev", "vxlan.calico", check=False).stdout

    def neighbours(self, device: str) -> str:
        return self.ns.run("ip", "neigh", "show", "dev", device, check=False).stdout

    def nft(self, family: str = "ip") -> str:
        return self.ns.run("nft", "list", "table", family, "calico", check=False).stdout

    def add_pod(self, name: str, ip: str, namespace: Namespace) -> Put:
        """Its cable and its inside; and the record of it, which the caller puts into the store."""
        interface = host_interface("default", name)
        length = ip_address(ip).max_prefixlen
        gateway = "169.254.1.1" if length == 32 else "fe80::ecee:eeff:feee:eeee"
        self.ns.veth(interface, namespace, "eth0", up=False)
        self.ns.batch(f"link set {interface} address {MAC}", f"link set {interface} up")
        mac = namespace.json("link", "show", "dev", "eth0")[0]["address"]
        namespace.batch(
            f"addr add {ip}/{length} dev eth0 {'' if length == 32 else 'nodad'}",
            "link set eth0 up",
            f"neigh replace {gateway} lladdr {MAC} dev eth0 nud permanent",
            *([f"route add {gateway} dev eth0 scope link"] if length == 32 else []),
            f"route add default via {gateway} dev eth0",
        )
        self.pods[name] = namespace
        spec = {
            "node": self.name,
            "orchestrator": "k8s",
            "pod": name,
            "endpoint": "eth0",
            "interfaceName": interface,
            "mac": mac,
            "ipNetworks": [f"{ip}/{length}"],
        }
        return resource("WorkloadEndpoint", endpoint_name(self.name, name), spec, namespace="default")


def endpoint_name(node: str, pod: str) -> str:
    return str(EndpointName(node, "k8s", pod, "eth0"))


def _has(lines: str, words: Sequence[str]) -> bool:
    return any(all(word in f" {line} " for word in words) for line in lines.splitlines())


class World:
    """A switch for each network, a router between them, machines, and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store.db"
        self.machines: dict[str, Machine] = {}
        self.router = Namespace("router")
        self._namespaces: list[Namespace] = []

    def __enter__(self) -> World:
        self.router.__enter__()
        self.router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in reversed(self._namespaces):
            namespace.delete()
        self.router.delete()

    def namespace(self, topic: str) -> Namespace:
        made = Namespace(topic)
        made.__enter__()
        self._namespaces.append(made)
        return made

    def network(self, name: str, *gateways: str) -> None:
        """A switch; the router has these addresses on it."""
        self.router.bridge(name)
        for gateway in gateways:
            self.router.ip("addr", "add", gateway, "dev", name, *(["nodad"] if ":" in gateway else []))

    def machine(self, name: str, address: str, network: str, *, ipv6: str = "") -> Machine:
        namespace = self.namespace(name)
        namespace.veth("eth0", self.router, f"port-{name}")
        self.router.ip("link", "set", f"port-{name}", "master", network)
        namespace.ip("addr", "add", address, "dev", "eth0")
        gateway = str(ip_network(address, strict=False).broadcast_address - 1)
        namespace.ip("route", "add", "default", "via", gateway)
        if ipv6:
            namespace.ip("addr", "add", ipv6, "dev", "eth0", "nodad")
            namespace.ip("-6", "route", "add", "default", "via", str(ip_network(ipv6, strict=False)[0xFE]))
        made = Machine(name, address, self.folder, namespace, self.store)
        self.machines[name] = made
        bgp = {"ipv4Address": address} | ({"ipv6Address": ipv6} if ipv6 else {})
        self.commit(resource("Node", name, {"bgp": bgp}))
        return made

    def pod(self, machine: Machine, name: str, ip: str) -> Namespace:
        namespace = self.namespace("pod")
        self.commit(machine.add_pod(name, ip, namespace))
        return namespace

    def give_block(self, machine: Machine, cidr: str) -> None:
        """As IPAM gives a node a block."""
        from datetime import UTC, datetime

        block = new_block(ip_network(cidr), f"host:{machine.name}", datetime.now(UTC))
        affinity = encode({"state": "confirmed", "deleted": False})
        self.commit(Put(block_key(cidr), write_block(block)), Put(host_affinity_key(machine.name, cidr), affinity))

    def commit(self, *operations: Operation) -> None:
        async def write(store: Store) -> None:
            await store.commit(operations)

        self._with_store(write)

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        self.commit(Delete(key(kind, name, namespace)))

    def read(self, at: str) -> Document | None:
        async def get(store: Store) -> Document | None:
            entry = await store.get(at)
            return decode(entry.value, at) if entry else None

        found: Document | None = self._with_store(get)
        return found

    def _with_store(self, work: Callable[[Store], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            store = EmbeddedStore(self.store)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(whole())


def reaches(pod: Namespace, target: str, *, size: int = 56) -> bool:
    """Whether an echo comes back, unfragmented, of that size."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        words = ("ping", "-n", "-c", 1, "-W", 2, "-M", "do", "-s", size, target)
        if pod.run(*words, check=False).returncode == 0:
            return True
    return False


@contextmanager
def world(folder: Path) -> Iterator[World]:
    with World(folder) as made:
        yield made
