"""A container runtime in small: calls plugins as libcni does for containerd, for pods with a namespace of their own.

The node is `tests.support.cni_node`, or a real agent:

with CniNode(tmp_path) as node, Pod() as pod:
    node.network().add(pod)
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.netns import NAMED, Namespace

from tortie.cni.shim import shim

DEBIAN = "/usr/lib/cni"
DEADLINE_S = 60.0
NODE = "node-1"

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

    def __init__(
        self, net: Namespace, folders: str, conflist: dict[str, Any], extra: dict[str, str] | None = None
    ) -> None:
        """`net`: the node's; `folders`: where its plugins are."""
        self._net = net
        self._folders = folders
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
        variables = {"CNI_COMMAND": command, "CNI_PATH": self._folders}
        if pod is not None:
            variables |= {"CNI_CONTAINERID": pod.container, "CNI_IFNAME": pod.ifname, "CNI_ARGS": pod.arguments}
            variables["CNI_NETNS"] = pod.path if netns else ""
        given = json.dumps(config).encode()
        return called(self._net, self._folders, plugin["type"], given, {**variables, **self.variables})


def called(
    net: Namespace, folders: str, name: str, config: bytes, variables: dict[str, str], deadline_s: float = DEADLINE_S
) -> dict[str, Any]:
    """A plugin found in one of the folders, with fork and exec, in the namespace of a node."""
    programs = [os.path.join(folder, name) for folder in folders.split(":")]
    done = subprocess.run(
        ["ip", "netns", "exec", net.name, next(program for program in programs if os.path.exists(program))],
        input=config,
        capture_output=True,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **variables},
        timeout=deadline_s,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
    if done.returncode:
        raise Failed(name, variables["CNI_COMMAND"], answer, done.stderr.decode())
    return answer


def install(root: Path) -> str:
    """The plugin's programs below a root, as they are installed; returns the folders to look for plugins in."""
    folder = root / "opt/cni/bin"
    folder.mkdir(parents=True)
    made = shim(str(root / "run/tortie/cni.sock"), str(root / "var/lib/tortie/cni"))
    for name in ("tortie", "calico", "calico-ipam"):
        (folder / name).write_bytes(made.content)
        (folder / name).chmod(0o755)
    return f"{folder}:{DEBIAN}"


@contextlib.contextmanager
def pods(*names: str) -> Iterator[list[Pod]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Pod(name)) for name in names]


def address(result: dict[str, Any], family: int = 4) -> str:
    """The first of a family in a result."""
    found = [str(ip["address"]).split("/")[0] for ip in result["ips"]]
    return next(ip for ip in found if (":" in ip) == (family == 6))
