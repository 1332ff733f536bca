"""A machine whose pods got their addresses from host-local, and the command that takes them over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.support.cli import Ran, Tortie, key_of, node, pool, resource

from tortie.ipam.records import BLOCKS, read_block

NETWORK = "k8s-pod-network"
CLUSTER = key_of("clusterinformations", "default")


class HostLocalMachine:
    """Its root folder lies in `folder`; with variables that name an etcd its cluster is there, else in a file."""

    def __init__(self, folder: Path, name: str = "node-1", **variables: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.root = folder / "root"
        self.networks = self.root / "var/lib/cni/networks"
        self.data = self.networks / NETWORK
        self.shell = Tortie(folder, **(variables or {"TORTIE_STORE": str(folder / "store.db")}))

    def lease(self, ip: str, container: str, content: str | bytes | None = None) -> Path:
        """As host-local writes it, unless the content is given."""
        self.data.mkdir(parents=True, exist_ok=True)
        for name in ("lock", "last_reserved_ip.0"):
            (self.data / name).touch()
        text = f"{container}\r\neth0" if content is None else content
        (self.data / ip).write_bytes(text.encode() if isinstance(text, str) else text)
        return self.data / ip

    def pods(self, *pods: tuple[str, Sequence[str]], **more: Any) -> str:
        """A list as kubectl prints it: names and addresses of pods that run here; returns the file."""
        items = [
            {
                "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
                "spec": {"nodeName": self.name, "serviceAccountName": "sa", **more},
                "status": {"phase": "Running", "podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]},
            }
            for name, ips in pods
        ]
        file = self.shell.folder / "pods.json"
        file.write_text(json.dumps({"kind": "List", "items": items}))
        return str(file)

    def cluster(self, *cidrs: str, registered: bool = True, status: dict[str, Any] | None = None, **spec: Any) -> None:
        """Pools, this node, and a cluster that is ready."""
        document = node(self.name)
        documents = [pool(f"pool-{number}", cidr, **spec) for number, cidr in enumerate(cidrs)]
        documents += [document] if registered else []
        ready = resource("ClusterInformation", "default", {"clusterGUID": "a" * 32, "datastoreReady": True})
        self.shell.put(CLUSTER, ready)
        for number, each in enumerate(documents):
            ran = self.shell("apply", "-f", self.shell.file(f"cluster-{number}.yaml", each))
            assert ran.code == 0, ran
        if status:
            key = key_of("nodes", self.name)
            stored = json.loads(self.shell.entries(key)[key])
            self.shell.put(key, {**stored, "status": status})

    def migrate(self, *words: str) -> Ran:
        """Without the lines that only say that it still works: they are there when a machine is slow."""
        ran = self.shell("ipam", "migrate", *self.words, *words)
        lines = ran.stderr.splitlines(keepends=True)
        return ran._replace(stderr="".join(line for line in lines if not line.startswith("still ")))

    @property
    def words(self) -> tuple[str, ...]:
        return ("--root", str(self.root), "--node", self.name)

    def handles(self) -> dict[str, str]:
        """Who holds which address, straight from the blocks."""
        held = {}
        for key, value in self.shell.entries(BLOCKS).items():
            for holding in read_block(key, value).holdings():
                held[str(holding.ip)] = str(holding.attribute.handle)
        return dict(sorted(held.items(), key=lambda each: (":" in each[0], int(ip_address(each[0])))))

    def attributes(self, ip: str) -> dict[str, str]:
        for key, value in self.shell.entries(BLOCKS).items():
            for holding in read_block(key, value).holdings():
                if str(holding.ip) == ip:
                    return dict(holding.attribute.secondary or {})
        raise AssertionError(f"nobody holds {ip}")

    def everything(self) -> dict[str, bytes]:
        """The whole cluster, to see that nothing of it changed."""
        return self.shell.entries("/")

    def files(self) -> dict[str, bytes]:
        """All that host-local has, wherever it is now, apart from its lock."""
        return {
            str(path.relative_to(self.networks)): path.read_bytes()
            for path in sorted(self.networks.rglob("*"))
            if path.is_file() and path.name != "lock"
        }


def handle(container: str) -> str:
    return f"{NETWORK}.{container}"
