"""A node for tests of the plugin: a process that serves it without the rest of an agent, over a store of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tests.support.documents import document
from tests.support.netns import Namespace
from tests.support.runtime import CALICO, DEADLINE_S, NODE, Failed, Network, Pod, called, install

from tortie.model.names import host_interface
from tortie.model.wire import encode
from tortie.store.contract import Store, put
from tortie.store.resources import Resources

T = TypeVar("T")

ETCD = "http://127.0.0.1:2379"  # in the namespace of a node, where nobody else listens
ENDPOINTS = "/calico/resources/v3/projectcalico.org/workloadendpoints/"
HANDLES = "/calico/ipam/v2/handle/"
CLUSTER = "/calico/resources/v3/projectcalico.org/clusterinformations/default"


class CniNode:
    """A node's namespace with a process in it that serves the plugin, over a store of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        etcd: bool = False,
        pools: tuple[str, ...] = ("10.65.0.0/16", "fd65::/112"),
        registered: bool = True,
    ) -> None:
        self.net = Namespace("node")
        self.root = folder / "node"
        self.path = ""  # where its plugins are
        self.store = ETCD if etcd else str(folder / "store.db")
        self.pools = pools
        self.registered = registered
        self._etcd: subprocess.Popen[str] | None = None
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> CniNode:
        self.net.__enter__()
        try:
            self._prepare()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self.stop_store()
        self.net.delete()

    def _prepare(self) -> None:
        self.net.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.net.dummy("up0")
        self.net.ip("addr", "add", "192.0.2.1/24", "dev", "up0")
        self.net.ip("addr", "add", "2001:db8::1/64", "dev", "up0", "nodad")
        self.path = install(self.root)
        if self.store == ETCD:
            self.start_store()
        self.ask(lambda store: seed(store, self.pools))
        self.start()

    @property
    def socket(self) -> Path:
        return self.root / "run/tortie/cni.sock"

    @property
    def pending(self) -> list[str]:
        folder = self.root / "var/lib/tortie/cni/pending"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    @property
    def log(self) -> str:
        path = self.root / "log"
        return path.read_text() if path.exists() else ""

    def start(self) -> None:
        with (self.root / "log").open("a") as log:
            self._process = self.net.popen(
                *(sys.executable, "-m", "tests.support.cni_node", self.root, self.store, int(self.registered)),
                stdout=log,
                stderr=log,
                cwd=Path(__file__).parent.parent.parent,
            )
        self.wait("the agent's socket", lambda: self.socket.exists() and self.answers())

    def answers(self) -> bool:
        try:
            self.plugin("calico", b'{"cniVersion":"1.1.0","name":"n"}', {"CNI_COMMAND": "STATUS"})
        except Failed as failure:
            return "does not answer" not in failure.text
        return True

    def kill(self) -> None:
        """kill -9, as for a process that ran out of memory."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def start_store(self) -> None:
        self._etcd = self.net.popen(
            *("etcd", "--data-dir", self.root / "etcd", "--unsafe-no-fsync", "--log-level", "error"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def answers() -> bool:
            with contextlib.suppress(Exception):
                self.ask(lambda store: store.get("/", timeout_s=2))
                return True
            return False

        self.wait("etcd", answers)

    def stop_store(self) -> None:
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait()
            self._etcd = None

    def ask(self, question: Callable[[Store], Awaitable[T]]) -> T:
        """Something of the store, from within the node."""

        async def asked() -> T:
            async with opened(self.store) as store:
                return await question(store)

        return self.net.call(lambda: asyncio.run(asked()))

    def keys(self, prefix: str) -> list[str]:
        async def scanned(store: Store) -> list[str]:
            return [entry.key for entry in (await store.scan(prefix)).entries]

        return self.ask(scanned)

    def value(self, key: str) -> Any:
        async def read(store: Store) -> bytes | None:
            entry = await store.get(key)
            return entry.value if entry else None

        value = self.ask(read)
        return json.loads(value) if value is not None else None

    def network(self, version: str = "1.0.0", *plugins: dict[str, Any], **calico: Any) -> Network:
        own = {**CALICO, **calico}
        return Network(
            self.net, self.path, {"name": "k8s-pod-network", "cniVersion": version, "plugins": list(plugins) or [own]}
        )

    def plugin(self, name: str, config: bytes, variables: dict[str, str]) -> dict[str, Any]:
        return called(self.net, self.path, name, config, variables)

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + DEADLINE_S
        while not is_so():
            assert time.monotonic() < until, f"no {what}; the agent says:\n{self.log}"
            time.sleep(0.02)


def nothing_left(node: CniNode, pod: Pod) -> None:
    """Neither in IPAM, nor an endpoint, nor a cable."""
    assert not any(pod.container in key for key in node.keys(HANDLES))
    assert not any(pod.name.replace("-", "--") in key for key in node.keys(ENDPOINTS))
    assert host_interface(pod.namespace, pod.name) not in [link["ifname"] for link in node.net.json("link", "show")]


async def seed(store: Store, pools: tuple[str, ...]) -> None:
    resources = Resources(store)
    await resources.create(document("Node", NODE, {"bgp": {"ipv4Address": "192.0.2.1/24"}}))
    await put(store, CLUSTER, encode(document("ClusterInformation", "default", {"datastoreReady": True})))
    for number, cidr in enumerate(pools):
        await resources.create(document("IPPool", f"pool-{number}", {"cidr": cidr, "natOutgoing": True}))


@contextlib.asynccontextmanager
async def opened(where: str) -> AsyncIterator[Store]:
    from tortie.store.embedded import EmbeddedStore
    from tortie.store.embedded.offload import in_thread
    from tortie.store.etcd import EtcdConfig, EtcdStore

    store: Store = (
        EtcdStore(EtcdConfig(endpoints=(where,))) if "://" in where else EmbeddedStore(where, offload=in_thread)
    )
    try:
        yield store
    finally:
        await store.close()


async def serve(root: str, where: str, registered: bool) -> None:
    from tortie.cni.server import CniServer
    from tortie.cni.service import CniService, Standing
    from tortie.ipam.allocator import Allocator

    def now() -> datetime:
        return datetime.now(UTC)

    def say(text: str) -> None:
        print(text, flush=True)

    async with opened(where) as store:
        allocator = Allocator(store, NODE, clock=now, keep=True)
        standing = Standing(registered, "" if registered else "the datastore has not answered yet")
        service = CniService(NODE, store, allocator, clock=now, root=root, say=say, standing=lambda: standing)
        server = CniServer(service, os.path.join(root, "run/tortie/cni.sock"), say=say)
        await asyncio.gather(_for_ever(allocator.watch), service.tend(), server.run())


async def _for_ever(work: Callable[[], Awaitable[None]]) -> None:
    """As the agent does it with its loops: what fails begins anew."""
    while True:
        with contextlib.suppress(Exception):
            await work()
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], sys.argv[3] == "1"))
