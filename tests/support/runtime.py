"""A container runtime in small: calls plugins as libcni does for containerd, and a node that serves the plugin.

with CniNode(tmp_path) as node, Pod() as pod:
    node.network().add(pod)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tests.support.documents import document
from tests.support.netns import NAMED, Namespace

from tortie.cni.shim import shim_text
from tortie.model.names import host_interface
from tortie.model.wire import encode
from tortie.store.contract import Store, put
from tortie.store.resources import Resources

T = TypeVar("T")

DEBIAN = "/usr/lib/cni"
ETCD = "http://127.0.0.1:2379"  # in the namespace of a node, where nobody else listens
DEADLINE_S = 60.0
NODE = "node-1"
ENDPOINTS = "/calico/resources/v3/projectcalico.org/workloadendpoints/"
HANDLES = "/calico/ipam/v2/handle/"
CLUSTER = "/calico/resources/v3/projectcalico.org/clusterinformations/default"

# As Calico's manifests have it, with its placeholders filled in.
CALICO: dict[str, Any] = {
    "type": "calico",
    "log_level": "info",
    "log_file_path": "/var/log/calico/cni/cni.log",
    "datastore_type": "kubernetes",
    "nodename": NODE,
    "mtu": 0,
    "ipam": {"type": "calico-ipam"},
    "policy": {"type": "k8s"},
    "kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"},
}
PORTMAP: dict[str, Any] = {"type": "portmap", "snat": True, "capabilities": {"portMappings": True}}
BANDWIDTH: dict[str, Any] = {"type": "bandwidth", "capabilities": {"bandwidth": True}}


class Failed(AssertionError):
    """A plugin refused: the error it printed."""

    def __init__(self, plugin: str, command: str, answer: dict[str, Any], errors: str) -> None:
        super().__init__(f"{plugin} {command}: {answer} {errors}")
        self.code = answer.get("code")
        self.text = answer.get("msg", "")
        self.details = answer.get("details", "")
        self.answer = answer


class Pod:
    """A sandbox as a runtime makes it: a named network namespace with its loopback up, and an id."""

    def __init__(self, name: str = "", namespace: str = "default", ifname: str = "eth0") -> None:
        self.net = Namespace("pod")
        self.container = secrets.token_hex(32)
        self.name = name or f"web-{self.container[:6]}"
        self.namespace = namespace
        self.ifname = ifname

    def __enter__(self) -> Pod:
        self.net.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.net.delete()

    @property
    def path(self) -> str:
        return str(NAMED / self.net.name)

    def ping(self, address: str) -> bool:
        command = ("ping", "-6" if ":" in address else "-4", "-c", "1", "-W", "5", address)
        return self.net.run(*command, check=False).returncode == 0

    @property
    def arguments(self) -> str:
        return (
            f"IgnoreUnknown=1;K8S_POD_NAMESPACE={self.namespace};K8S_POD_NAME={self.name};"
            f"K8S_POD_INFRA_CONTAINER_ID={self.container};K8S_POD_UID=1b4e28ba-2fa1-11d2-883f-0016d3cca427"
        )


class Network:
    """A conflist. `add` and the rest do what libcni's `AddNetworkList` and the rest do."""

    def __init__(self, node: CniNode, conflist: dict[str, Any], extra: dict[str, str] | None = None) -> None:
        self._node = node
        self.conflist = conflist
        self.runtime: dict[str, Any] = {}  # what the runtime knows for capabilities
        self.variables = extra or {}
        self._results: dict[str, Any] = {}

    def add(self, pod: Pod) -> dict[str, Any]:
        result: dict[str, Any] | None = None
        for plugin in self.conflist["plugins"]:
            result = self.call("ADD", plugin, pod, result)
        assert result is not None
        self._results[pod.container] = result
        return result

    def check(self, pod: Pod) -> None:
        for plugin in self.conflist["plugins"]:
            self.call("CHECK", plugin, pod, self._results[pod.container])

    def delete(self, pod: Pod, *, netns: bool = True) -> None:
        """In the opposite order, with the result if it is still known."""
        for plugin in reversed(self.conflist["plugins"]):
            self.call("DEL", plugin, pod, self._results.get(pod.container), netns=netns)

    def collect(self, *in_use: Pod) -> None:
        valid = [{"containerID": pod.container, "ifname": pod.ifname} for pod in in_use]
        for plugin in self.conflist["plugins"]:
            self.call("GC", plugin, None, None, more={"cni.dev/valid-attachments": valid, "cni.dev/attachments": valid})

    def status(self) -> None:
        self.call("STATUS", self.conflist["plugins"][0], None, None)

    def call(
        self,
        command: str,
        plugin: dict[str, Any],
        pod: Pod | None,
        previous: dict[str, Any] | None,
        *,
        netns: bool = True,
        more: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        config = {key: value for key, value in plugin.items() if key != "capabilities"}
        config |= {"cniVersion": self.conflist["cniVersion"], "name": self.conflist["name"], **(more or {})}
        wanted = {key: self.runtime[key] for key in plugin.get("capabilities", {}) if key in self.runtime}
        if wanted:
            config["runtimeConfig"] = wanted
        if previous is not None:
            config["prevResult"] = previous
        variables = {"CNI_COMMAND": command, "CNI_PATH": self._node.path}
        if pod is not None:
            variables |= {"CNI_CONTAINERID": pod.container, "CNI_IFNAME": pod.ifname, "CNI_ARGS": pod.arguments}
            variables["CNI_NETNS"] = pod.path if netns else ""
        return self._node.plugin(plugin["type"], json.dumps(config).encode(), {**variables, **self.variables})


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
        (self.root / "opt/cni/bin").mkdir(parents=True)
        text = shim_text(str(self.socket), str(self.root / "var/lib/tortie/cni"))
        for name in ("tortie", "calico", "calico-ipam"):
            program = self.root / "opt/cni/bin" / name
            program.write_text(text)
            program.chmod(0o755)
        if self.store == ETCD:
            self.start_store()
        self.ask(lambda store: seed(store, self.pools))
        self.start()

    @property
    def socket(self) -> Path:
        return self.root / "run/tortie/cni.sock"

    @property
    def path(self) -> str:
        return f"{self.root}/opt/cni/bin:{DEBIAN}"

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
                *(sys.executable, "-m", "tests.support.runtime", self.root, self.store, int(self.registered)),
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
        return Network(self, {"name": "k8s-pod-network", "cniVersion": version, "plugins": list(plugins) or [own]})

    def plugin(self, name: str, config: bytes, variables: dict[str, str]) -> dict[str, Any]:
        folders = self.path.split(":")
        program = next(os.path.join(folder, name) for folder in folders if os.path.exists(os.path.join(folder, name)))
        done = subprocess.run(
            ["ip", "netns", "exec", self.net.name, program],
            input=config,
            capture_output=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **variables},
            timeout=DEADLINE_S,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
        if done.returncode:
            raise Failed(name, variables["CNI_COMMAND"], answer, done.stderr.decode())
        return answer

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + DEADLINE_S
        while not is_so():
            assert time.monotonic() < until, f"no {what}; the agent says:\n{self.log}"
            time.sleep(0.02)


@contextlib.contextmanager
def pods(*names: str) -> Iterator[list[Pod]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Pod(name)) for name in names]


def address(result: dict[str, Any], family: int = 4) -> str:
    """The first of a family in a result."""
    found = [str(ip["address"]).split("/")[0] for ip in result["ips"]]
    return next(ip for ip in found if (":" in ip) == (family == 6))


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
