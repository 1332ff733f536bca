"""The other containers of classic mode: upgrade-ipam, install-cni, kube-controllers; and what ours do instead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.cli import COMMAND, Ran, Tortie, key_of, node, resource
from tests.support.etcd_server import running_etcd

pytestmark = pytest.mark.timeout(180)

FOLDER = "var/lib/cni/networks/k8s-pod-network"


class Machine:
    """A node's root with host-local's folder, a store, and the kubelet's list of objects."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Tortie(root, TORTIE_STORE=str(root / "store.db"))
        self.data = root / FOLDER

    def lease(self, name: str, container: str = "0123456789ab") -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        (self.data / name).write_text(f"{container}\r\neth0")

    def kubernetes(self, **spec: str) -> None:
        path = self.root / "var/lib/kubelet/objects.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        item = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}, "spec": spec}
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}))

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join((str(COMMAND.parent), "/usr/bin", "/bin"))
        return {"PATH": path, "HOME": str(self.root), "TORTIE_CONFIG": "", "KUBERNETES_NODE_NAME": "n1"} | (
            self.store.variables
        )

    def run(self, *words: str) -> Ran:
        done = subprocess.run(
            [str(COMMAND), *words, "--root", str(self.root)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def running(self, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], str]]]:
        log = self.root / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [str(COMMAND), *words, "--root", str(self.root)],
                env=self.environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        try:
            yield process, log.read_text
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def wait_for(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_upgrade_ipam_with_nothing_to_do(machine: Machine) -> None:
    ran = machine.run("ipam", "migrate", "--classic", "3.20")
    said = [line.split(": ", 1)[1] for line in ran.stdout.splitlines()[1:]]
    assert (ran.code, said) == (
        0,
        [
            "migrating from host-local to calico-ipam...",
            "checking host-local IPAM data dir dir existence...",
            "host-local IPAM data dir dir not found; no migration necessary, successfully exiting...",
            'migration from host-local to calico-ipam complete node="n1"',
        ],
    )


def test_upgrade_ipam_without_a_pod_cidr_never_ends_until_the_folder_is_gone(machine: Machine) -> None:
    machine.lease("10.244.0.5")
    machine.kubernetes()
    failed = (
        "failed to migrate ipam, retrying... error=PodCIDR  did not parse successfully: invalid CIDR address:  "
        'node="n1"'
    )
    with machine.running("ipam", "migrate", "--classic", "3.11") as (process, log):
        wait_for("three attempts", lambda: log().count(f"] ipam_plugin.go 95: {failed}") >= 3)
        assert process.poll() is None
        machine.data.rename(machine.root / "aside")
        assert process.wait(60) == 0
    assert "no migration necessary, successfully exiting..." in log()


@pytest.mark.parametrize(
    ("version", "pod_cidr", "error"),
    [
        (
            "3.20",
            "10.244.3.0/24",
            "failed to get add IPIP tunnel addr 10.244.3.1: The provided IP address is not in a configured pool",
        ),
        ("3.20", "10.5.0.0/24", "failed to parse IP 10.244.0.5.bak"),
        ("3.28", "nonsense", "PodCIDR nonsense did not parse successfully: invalid CIDR address: nonsense"),
    ],
)
def test_what_else_makes_it_repeat_itself(machine: Machine, version: str, pod_cidr: str, error: str) -> None:
    machine.store.put(key_of("ippools", "p"), resource("IPPool", "p", {"cidr": "10.5.0.0/16", "blockSize": 26}))
    machine.store.put(key_of("nodes", "n1"), node("n1"))
    machine.lease("10.244.0.5.bak")
    machine.kubernetes(podCIDR=pod_cidr)
    with machine.running("ipam", "migrate", "--classic", version) as (process, log):
        wait_for(error, lambda: log().count(f'retrying... error={error} node="n1"') >= 2)
        assert process.poll() is None


def test_ours_never_keeps_a_node_from_starting(machine: Machine) -> None:
    """The same folder; an address that a pod uses and that no pool has."""
    machine.lease("10.244.0.5")
    pods = machine.root / "pods.json"
    pod = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running", "podIP": "10.244.0.5"},
    }
    pods.write_text(json.dumps({"kind": "List", "items": [pod]}))
    refused = machine.run("ipam", "migrate", "--pods", str(pods))
    assert refused.code == 1
    ran = machine.run("ipam", "migrate", "--or-leave", "--pods", str(pods))
    assert ran.code == 0
    assert ran.stdout.startswith(
        "WARNING: host-local's addresses were not taken over, and the node starts without them"
    )
    assert str(machine.data) in ran.stdout
    assert ran.stdout.rstrip().endswith("Then: tortie ipam migrate")
    assert (machine.data / "10.244.0.5").exists()
    told = machine.run("ipam", "migrate", "--or-leave", "--pods", str(pods), "-o", "json")
    assert (told.code, told.json["state"]) == (0, "left")
    assert machine.run("ipam", "migrate", "--or-leave", "--timeout", "soon").code == 2


def test_install_cni_in_the_words_of_a_release(machine: Machine) -> None:
    ran = machine.run("cni", "install", "--classic", "3.20")
    assert ran.code == 0
    assert "cni-installer/<nil> <nil>: Installed /host/opt/cni/bin/calico" in ran.stdout
    assert ran.stdout.rstrip().endswith("Done configuring CNI.  Sleep= false")
    assert (machine.root / "etc/cni/net.d/10-calico.conflist").exists()
    old = machine.run("cni", "install", "--classic", "3.9")
    assert (old.code, old.stdout.splitlines()[-1]) == (0, "Done configuring CNI.  Sleep=false")


def test_install_cni_without_a_place_for_plugins(machine: Machine) -> None:
    (machine.root / "opt").write_text("not a folder")
    ran = machine.run("cni", "install", "--classic", "3.20")
    assert ran.code == 1
    assert "/host/opt/cni/bin is not writeable, skipping" in ran.stdout
    assert ran.stdout.rstrip().endswith("[FATAL][1] cni-installer/<nil> <nil>: found no writeable directory, exiting")


def test_kube_controllers_say_what_one_member_of_etcd_says(machine: Machine) -> None:
    with running_etcd() as etcd:
        machine.store.variables = {"ETCD_ENDPOINTS": etcd.endpoint, "DATASTORE_TYPE": "etcdv3"}
        with machine.running("controllers", "run", "--classic", "3.9", "--port", "0") as (process, log):
            wait_for("readiness", lambda: machine.run("controllers", "check", "--classic", "3.9", "-r").code == 0)
            etcd.stop()
            wait_for("trouble", lambda: "main.go 202: Failed to verify datastore error=" in log())
            assert (
                'client.go 255: Error getting cluster information config ClusterInformation="default" error=' in log()
            )
            wait_for("the status", lambda: machine.run("controllers", "check", "--classic", "3.9", "-r").code == 1)
            said = machine.run("controllers", "check", "--classic", "3.9", "-r").stdout
            assert said.startswith("Error verifying datastore: ")
            assert "connection refused" in said
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        again = machine.run("controllers", "run", "--classic", "3.9", "--port", "0")
        assert again.code == 1
        assert "[FATAL]" in again.stdout
        assert "Failed to initialize Calico datastore" in again.stdout
