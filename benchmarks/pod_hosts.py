"""A host of ours for the benchmarks of pods: an agent in a network namespace, and the plugin installed beside it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.agent import NodeAgent
from tests.support.cli import COMMAND, Tortie, pool
from tests.support.netns import Namespace, host_and_router

from runtimes import Plugin
from tortie.cni.shim import shim

_CONFIG = {
    "cniVersion": "0.3.1",
    "name": "k8s-pod-network",
    "type": "calico",
    "log_level": "info",
    "ipam": {"type": "calico-ipam"},
}


@contextmanager
def agent_host(folder: Path, *, etcd: bool = False, compiled: bool = True) -> Iterator[Plugin]:
    """The real agent, ready, on the embedded store or an etcd; its plugin as `tortie cni install` writes it."""
    with ExitStack() as stack:
        host, _ = stack.enter_context(host_and_router("bench"))
        variables = {"TORTIE_STORE": str(folder / "store.db")}
        if etcd:
            variables = {"ETCD_ENDPOINTS": stack.enter_context(_etcd_at(host, folder)), "DATASTORE_TYPE": "etcdv3"}
        tortie = Tortie(folder, **variables)
        file = tortie.file("pool.yaml", pool("default-ipv4-ippool", "10.96.0.0/16"))
        words = (f"{name}={value}" for name, value in variables.items())
        made = host.run("env", *words, COMMAND, "apply", "-f", file, check=False)
        if made.returncode != 0:
            raise SystemExit(f"the pool was refused: {made.stderr}")
        node = {"NODENAME": "bench", "IP": "autodetect", "NO_DEFAULT_POOLS": "true"}
        agent = stack.enter_context(NodeAgent(folder, host, **variables, **node))
        agent.wait_ready()
        agent.wait("the socket for the plugin", (folder / "run/tortie/cni.sock").exists)
        yield _plugin(folder, host, compiled=compiled)


@contextmanager
def _etcd_at(host: Namespace, folder: Path) -> Iterator[str]:
    """Beside the agent, where its loopback leads to; on a disk that is as real as the embedded store's."""
    with (folder / "etcd.log").open("w") as log:
        process = host.popen("etcd", "--data-dir", folder / "etcd", "--log-level", "error", stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while host.run("etcdctl", "endpoint", "health", check=False).returncode:
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"etcd did not start: {(folder / 'etcd.log').read_text()}")
        yield "http://127.0.0.1:2379"
    finally:
        process.kill()
        process.wait()


@contextmanager
def bare_host(folder: Path, *, compiled: bool = True) -> Iterator[Plugin]:
    """Only what serves the plugin, on the embedded store."""
    with host_and_router("bench") as (host, _):
        tortie = Tortie(folder)
        node = {"apiVersion": "projectcalico.org/v3", "kind": "Node", "metadata": {"name": "bench"}, "spec": {}}
        made = tortie.run("apply", "-f", tortie.file("host.yaml", pool("default", "10.96.0.0/16"), node))
        if made.code != 0:
            raise SystemExit(f"the pool was refused: {made.stderr}")
        program = Path(__file__).with_name("cni_host.py")
        process = host.popen(sys.executable, program, folder, "bench", folder / "store.db")
        while not (folder / "run/tortie/cni.sock").exists():
            if process.poll() is not None:
                raise SystemExit("the server of the plugin did not start")
            time.sleep(0.01)
        yield _plugin(folder, host, compiled=compiled)


def _plugin(folder: Path, host: Namespace, *, compiled: bool) -> Plugin:
    programs = folder / "opt/cni/bin"
    programs.mkdir(parents=True, exist_ok=True)
    made = shim(str(folder / "run/tortie/cni.sock"), str(folder / "var/lib/tortie/cni"), compiled=compiled)
    if compiled and made.form != "compiled":
        raise SystemExit(f"the plugin is not compiled: {made.why}; `make setup`, or measure with --python")
    for name in ("calico", "calico-ipam", "tortie"):
        (programs / name).write_bytes(made.content)
        os.chmod(programs / name, 0o755)
    return Plugin(f"tortie, {made.form}", programs / "calico", str(programs), json.loads(json.dumps(_CONFIG)), host)
