"""The plugin while things are away or broken: no agent, no datastore, no namespace, no address, a stranger's route."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cni_node import CLUSTER, ENDPOINTS, HANDLES, CniNode, nothing_left
from tests.support.documents import document
from tests.support.runtime import Failed, Pod, address, pods

from tortie.cni.shim import shim
from tortie.model.wire import encode
from tortie.store.contract import Store, put

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CniNode]:
    with CniNode(tmp_path) as node:
        yield node


@pytest.fixture
def pod() -> Iterator[Pod]:
    with Pod() as pod:
        yield pod


def test_without_the_agent_adding_waits_and_deleting_does_not(node: CniNode, pod: Pod) -> None:
    network = node.network("1.1.0")
    network.add(pod)
    node.kill()
    with Pod() as other, pytest.raises(Failed) as failed:
        network.add(other)
    assert (failed.value.code, failed.value.answer["cniVersion"]) == (11, "1.1.0")
    assert "tortie node run" in failed.value.details
    with pytest.raises(Failed) as failed:
        network.status()
    assert failed.value.code == 50
    with pytest.raises(Failed, match="does not answer"):
        network.check(pod)
    network.delete(pod)
    network.delete(pod)
    assert len(node.pending) == 1
    node.start()
    node.wait("end of what was left", lambda: not node.pending)
    nothing_left(node, pod)


def test_a_record_that_makes_no_sense_is_set_aside(node: CniNode, pod: Pod) -> None:
    network = node.network()
    network.add(pod)
    node.kill()
    network.delete(pod)
    folder = node.root / "var/lib/tortie/cni/pending"
    (folder / "broken").write_bytes(b"\xff\x00 no request")
    node.start()
    node.wait("end of what was left", lambda: node.pending == ["broken.unreadable"])
    nothing_left(node, pod)


def test_an_add_makes_an_older_record_void(node: CniNode, pod: Pod) -> None:
    """The agent was away for the DEL; the runtime made the same sandbox anew before the record was looked at."""
    network = node.network()
    first = network.add(pod)
    node.kill()
    network.delete(pod)
    (record,) = (node.root / "var/lib/tortie/cni/pending").iterdir()
    kept = record.read_bytes()
    record.unlink()
    node.start()
    record.write_bytes(kept)
    again = network.add(pod)
    assert address(again) == address(first)
    node.wait("end of the record", lambda: not node.pending)
    network.check(pod)


@pytest.mark.parametrize("moment_s", [0.0, 0.006, 0.01, 0.012, 0.014, 0.02])
def test_an_agent_that_is_killed_while_it_adds_leaves_nothing_for_good(
    node: CniNode, pod: Pod, moment_s: float
) -> None:
    network = node.network()
    plugin = network.conflist["plugins"][0]
    config = json.dumps({**plugin, "cniVersion": "1.0.0", "name": "k8s-pod-network"}).encode()
    variables = {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": pod.container,
        "CNI_NETNS": pod.path,
        "CNI_IFNAME": "eth0",
        "CNI_ARGS": pod.arguments,
        "CNI_PATH": node.path,
    }
    adding = node.net.popen(
        node.root / "opt/cni/bin/calico", stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
    )
    assert adding.stdin
    adding.stdin.write(config.decode())
    adding.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        adding.wait(moment_s)
    node.kill()
    adding.wait()
    node.start()
    network.delete(pod)
    nothing_left(node, pod)
    assert address(network.add(pod))
    assert pod.ping("192.0.2.1")


def test_deleting_without_namespace_or_for_a_pod_that_never_was(node: CniNode) -> None:
    network = node.network()
    with Pod("here") as pod:
        network.add(pod)
        network.delete(pod, netns=False)
        nothing_left(node, pod)
    with Pod("gone") as pod:
        network.add(pod)
    network.delete(pod)
    nothing_left(node, pod)
    network.delete(Pod("never"), netns=False)


@pytest.mark.parametrize(
    "changed",
    [
        {"device_type": "netkit"},
        {"mtu": "wide", "dataplane_options": {"type": "grpc"}, "args": {"cni": 1}, "readiness_gates": 7},
        {"nodename": "somebody-else", "runtimeConfig": [], "ipam": {"type": "calico-ipam", "ipv4_pools": "none"}},
        {"ipam": []},
        {"ipam": {"type": "nixipam"}},
        {"ipam": {"type": "../no\0thing"}},
    ],
)
def test_a_pod_ends_under_a_configuration_with_which_none_could_start(
    shared: CniNode, pod: Pod, changed: dict[str, Any]
) -> None:
    shared.network().add(pod)
    with Pod() as other, pytest.raises(Failed):
        shared.network(**changed).add(other)
    shared.network("0.2.0", **changed).delete(pod)
    nothing_left(shared, pod)
    assert shared.pending == []
    assert "eth0" not in [link["ifname"] for link in pod.net.json("link", "show")]


def test_an_ipam_plugin_that_is_not_there_any_more(node: CniNode, pod: Pod, tmp_path: Path) -> None:
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.77.0.0/24"}]], "dataDir": str(tmp_path / "leases")}
    node.network(ipam=ipam).add(pod)
    folder = node.root / "opt/cni/bin"
    (folder / "no-program").write_bytes(b"\x7fELF of another machine")
    (folder / "no-program").chmod(0o755)
    (folder / "refuses").write_text('#!/bin/sh\necho \'{"code": 77, "msg": "the lease is locked"}\'\nexit 1\n')
    (folder / "refuses").chmod(0o755)
    # One that was asked and could not is another matter: the runtime has to come back.
    with pytest.raises(Failed, match="the lease is locked"):
        node.network(ipam={"type": "refuses"}).delete(pod)
    node.network(ipam={**ipam, "type": "no-program"}).delete(pod)
    nothing_left(node, pod)
    assert f"no-program could not be asked to free what default/{pod.name} may have of it" in node.log
    node.network(ipam={**ipam, "type": "nixipam"}).delete(pod)
    assert "nixipam could not be asked" in node.log
    assert node.pending == []


def test_deleting_where_the_namespace_is_the_nodes_or_none(node: CniNode, pod: Pod, tmp_path: Path) -> None:
    """Whoever could not start because of that has to be able to end; and the node keeps its own interfaces."""
    node.net.dummy("eth0")
    stale = tmp_path / "unmounted"
    stale.touch()
    network = node.network()
    for path, code in ((f"/var/run/netns/{node.net.name}", 8), (str(stale), 3)):
        network.variables = {"CNI_NETNS": path}
        with pytest.raises(Failed) as failed:
            network.add(pod)
        assert failed.value.code == code
        network.variables = {}
        network.add(pod)
        network.variables = {"CNI_NETNS": path, "CNI_ARGS": f"{pod.arguments};nonsense"}
        network.delete(pod)
        nothing_left(node, pod)
    assert "eth0" in [link["ifname"] for link in node.net.json("link", "show")]


def test_the_endpoint_of_a_newer_container_is_left_alone(node: CniNode) -> None:
    """A pod of a StatefulSet comes back with its name before the old sandbox is deleted."""
    network = node.network()
    with pods("db-0", "db-0") as (old, new):
        network.add(old)
        result = network.add(new)
        network.delete(old)
        (key,) = [key for key in node.keys(ENDPOINTS) if "db--0" in key]
        assert node.value(key)["spec"]["containerID"] == new.container
        assert node.value(f"{HANDLES}k8s-pod-network.{old.container}") is None
        assert new.ping("192.0.2.1")
        network.check(new)
        assert address(result)


def test_a_node_that_is_not_registered_yet(tmp_path: Path, pod: Pod) -> None:
    with CniNode(tmp_path, registered=False) as node:
        with pytest.raises(Failed) as failed:
            node.network().add(pod)
        assert failed.value.code == 11
        assert failed.value.text.startswith("stat /var/lib/calico/nodename: no such file or directory: check that")
        with pytest.raises(Failed) as failed:
            node.network("1.1.0").status()
        assert failed.value.code == 50


def test_a_datastore_that_is_locked(node: CniNode, pod: Pod) -> None:
    locked = encode(document("ClusterInformation", "default", {"datastoreReady": False}))
    node.ask(lambda store: put(store, CLUSTER, locked))
    network = node.network("1.1.0")
    with pytest.raises(Failed) as failed:
        network.status()
    assert (failed.value.code, failed.value.text) == (50, "Calico is currently not ready to process requests")
    with pytest.raises(Failed) as failed:
        network.add(pod)
    assert (failed.value.code, failed.value.text) == (11, "Calico is currently not ready to process requests")


def test_a_datastore_that_is_away(tmp_path: Path, pod: Pod) -> None:
    with CniNode(tmp_path, etcd=True) as node:
        network = node.network("1.1.0")
        network.add(pod)
        node.stop_store()
        with pytest.raises(Failed) as failed:
            network.status()
        assert failed.value.code == 50
        network.delete(pod)
        assert "eth0" not in [link["ifname"] for link in pod.net.json("link", "show")]
        assert len(node.pending) == 1
        with Pod() as other:
            with pytest.raises(Failed) as failed:
                network.add(other)
            assert failed.value.code == 11
            assert "datastore unreachable" in failed.value.text
            node.start_store()
            node.wait("end of what was left", lambda: not node.pending)
            nothing_left(node, pod)
            assert address(network.add(other))


def test_no_address_left(tmp_path: Path) -> None:
    with CniNode(tmp_path, pools=("10.65.0.0/26",)) as node:
        blocks = "10.65.0.0/26"

        async def reserve(store: Store) -> None:
            from tortie.store.resources import Resources

            rest = [f"10.65.0.{number}/32" for number in range(2, 64)]
            await Resources(store).create(document("IPReservation", "most", {"reservedCIDRs": rest}))

        node.ask(reserve)
        network = node.network()
        with pods("one", "two", "three") as made:
            network.add(made[0])
            network.add(made[1])
            with pytest.raises(Failed) as failed:
                network.add(made[2])
            assert failed.value.code == 101
            assert blocks in failed.value.text + failed.value.details
            assert "tortie ipam" in failed.value.details
            nothing_left(node, made[2])
            network.delete(made[0])
            assert address(network.add(made[2]))


def test_a_route_that_is_somebody_elses(node: CniNode, pod: Pod) -> None:
    """Nothing is left of the attempt, and the message says who has it."""
    node.net.dummy("strange0")
    node.net.ip(*("route", "add", "10.65.77.1/32", "dev", "strange0", "metric", 1024))
    network = node.network()
    network.variables["CNI_ARGS"] = f"{pod.arguments};IP=10.65.77.1"
    with pytest.raises(Failed) as failed:
        network.add(pod)
    assert failed.value.code == 102
    assert "already exists for an interface other than 'cali" in failed.value.text
    assert "strange0" in failed.value.text
    nothing_left(node, pod)
    assert "eth0" not in [link["ifname"] for link in pod.net.json("link", "show")]


def test_a_pod_whose_interface_is_taken(node: CniNode, pod: Pod) -> None:
    pod.net.dummy("eth0")
    with pytest.raises(Failed) as failed:
        node.network().add(pod)
    assert failed.value.code == 104
    nothing_left(node, pod)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("pod: ip link del eth0", "has no interface eth0"),
        ("pod: ip link set eth0 address 02:00:00:00:00:01", "has the MAC 02:00:00:00:00:01"),
        ("pod: ip link set eth0 down", "eth0 in the pod is down"),
        ("pod: ip addr flush dev eth0", "has no address 10.65"),
        ("pod: ip route del default", "no route to 0.0.0.0/0"),
        ("node: ip route flush dev CALI", "the node has no route to 10.65"),
        ("node: ip link set CALI down", "is down"),
        ("node: sysctl -qw net.ipv4.conf.CALI.proxy_arp=0", "proxy_arp is 0"),
        ("store: endpoint", "no WorkloadEndpoint"),
        ("store: handle", "IPAM has no handle"),
    ],
)
def test_check_finds_every_damage(shared: CniNode, pod: Pod, damage: str, said: str) -> None:
    network = shared.network("1.0.0")
    result = network.add(pod)
    network.check(pod)
    place, _, command = damage.partition(": ")
    words = command.replace("CALI", result["interfaces"][0]["name"]).split()
    if place == "store":
        wanted = {"endpoint": pod.name.replace("-", "--"), "handle": pod.container}[command]
        keys = [key for key in [*shared.keys(ENDPOINTS), *shared.keys(HANDLES)] if wanted in key]

        async def drop(store: Store) -> None:
            from tortie.store.contract import Delete

            await store.commit([Delete(keys[0])])

        shared.ask(drop)
    else:
        (pod.net if place == "pod" else shared.net).run(*words)
    with pytest.raises(Failed) as failed:
        network.check(pod)
    assert failed.value.code == 103
    assert said in failed.value.details
    network.delete(pod)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CniNode]:
    with CniNode(tmp_path_factory.mktemp("check")) as node:
        yield node


def test_a_socket_that_somebody_took_away_comes_back(node: CniNode, pod: Pod) -> None:
    node.socket.unlink()
    node.wait("the socket again", node.socket.exists)
    node.wait("an answer", node.answers)
    assert oct(node.socket.stat().st_mode & 0o777) == "0o600"
    assert address(node.network().add(pod))


def test_a_plugin_whose_socket_has_a_long_path(tmp_path: Path, pod: Pod) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with CniNode(deep) as node:
        assert len(str(node.socket)) > 107
        assert address(node.network().add(pod))


def test_an_agent_that_hangs_is_not_waited_for_without_end(node: CniNode, pod: Pod) -> None:
    network = node.network()
    program = node.root / "opt/cni/bin/calico"
    state = str(node.root / "var/lib/tortie/cni")
    program.write_bytes(shim(str(node.socket), state, patience_s=0.5).content)
    network.add(pod)
    node.signal(signal.SIGSTOP)
    with Pod() as other, pytest.raises(Failed) as failed:
        network.add(other)
    assert failed.value.code == 11
    network.delete(pod)
    assert len(node.pending) == 1
    node.signal(signal.SIGCONT)
    node.kill()
    node.start()
    node.wait("end of what was left", lambda: not node.pending)
    nothing_left(node, pod)
