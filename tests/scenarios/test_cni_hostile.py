"""The plugin and the agent against what nobody means well with: records, paths, names and numbers that lead astray."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cni_node import ENDPOINTS, HANDLES, CniNode, nothing_left
from tests.support.runtime import CALICO, Failed, Network, Pod, address, pods

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CniNode]:
    with CniNode(tmp_path) as node:
        yield node


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CniNode]:
    with CniNode(tmp_path_factory.mktemp("hostile")) as node:
        yield node


@pytest.fixture
def pod() -> Iterator[Pod]:
    with Pod() as pod:
        yield pod


def records(node: CniNode) -> Path:
    return node.root / "var/lib/tortie/cni/pending"


def named(node: CniNode, name: str, version: str = "1.1.0") -> Network:
    """A network of another name."""
    network = node.network(version)
    network.conflist["name"] = name
    return network


def links(node: CniNode) -> list[str]:
    return [link["ifname"] for link in node.net.json("link", "show")]


def test_no_record_holds_up_the_agent_or_the_others(node: CniNode, pod: Pod) -> None:
    network = node.network()
    network.add(pod)
    node.kill()
    network.delete(pod)
    strange = node.network(readiness_gates=5, mtu=10**30, args={"cni": {"labels": 5}})
    with Pod("strange") as other:
        strange.delete(other)
    head = b"TORTIE-CNI 1\0TORTIE_PLUGIN=calico\0CNI_COMMAND=ADD\0CNI_CONTAINERID=x\0CNI_IFNAME=eth0\0CNI_NETNS=/x\0\0"
    (records(node) / "0-add").write_bytes(head + b'{"cniVersion":"1.0.0","name":"n"}')
    (records(node) / "0-deep").write_bytes(head.replace(b"ADD", b"DEL") + b"[" * 100_000)
    (records(node) / "0-folder").mkdir()
    os.mkfifo(records(node) / "0-pipe")
    node.start()
    expected = ["0-add.unreadable", "0-deep.unreadable", "0-folder", "0-pipe"]
    node.wait("end of what can be finished", lambda: node.pending == expected)
    nothing_left(node, pod)
    assert node.log.count("'0-add'") == 1
    assert address(network.add(pod))


def test_a_record_does_not_lead_to_the_pod_that_has_the_path_by_now(node: CniNode) -> None:
    """A runtime uses the path of a namespace again for the next pod."""
    network = node.network()
    with pods("old", "new") as (old, new):
        network.add(old)
        network.add(new)
        node.kill()
        network.variables = {"CNI_NETNS": new.path}
        network.delete(old)
        network.variables = {}
        node.start()
        node.wait("end of what was left", lambda: not node.pending)
        nothing_left(node, old)
        assert new.ping("192.0.2.1")
        network.check(new)


def test_collecting_one_network_leaves_others_alone(shared: CniNode) -> None:
    """`net` is also how the handles of `net.blue` begin."""
    blue, net = named(shared, "net.blue"), named(shared, "net")
    with pods("blue", "red", "two") as (inside, gone, second):
        inside.container, second.ifname = "xcont", "net1"
        kept = address(blue.add(inside))
        net.add(gone)
        net.add(second)
        net.collect()
        assert address(blue.add(inside)) == kept
        blue.check(inside)
        assert not shared.keys(f"{HANDLES}net.{gone.container}")
        assert not shared.keys(f"{HANDLES}net.{second.container}")
        nothing_left(shared, gone)
        blue.collect(inside)
        blue.check(inside)
        blue.collect()
        nothing_left(shared, inside)


def test_addresses_that_another_plugin_was_given_are_left_alone(shared: CniNode) -> None:
    """As an IPAM plugin there is no endpoint that would tell whose they are."""
    config = {**CALICO, "cniVersion": "1.1.0", "name": "net.green"}
    variables = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "ycont", "CNI_NETNS": "/x", "CNI_IFNAME": "eth0"}
    shared.plugin("calico-ipam", json.dumps(config).encode(), {**variables, "CNI_PATH": shared.path})
    named(shared, "net").collect()
    assert shared.keys(f"{HANDLES}net.green.ycont")
    named(shared, "net.green").collect()
    assert not shared.keys(f"{HANDLES}net.green.ycont")


def test_an_add_that_fails_takes_nothing_from_who_had_it_before(shared: CniNode) -> None:
    """Two attachments whose handles read the same; the second one cannot have the address of the first."""
    with pods("first", "second") as (first, second):
        first.container, second.container = "zcont", "blue.zcont"
        blue, net = named(shared, "net.blue"), named(shared, "net")
        blue.add(first)
        with pytest.raises(Failed) as failed:
            net.add(second)
        assert failed.value.code == 102
        blue.check(first)
        assert first.ping("192.0.2.1")
        assert not [key for key in shared.keys(ENDPOINTS) if "-second-" in key]
        blue.delete(first)


def test_an_agent_without_descriptors_says_it_once_and_comes_back(node: CniNode, pod: Pod) -> None:
    assert node._process is not None
    number = node._process.pid
    before = resource.prlimit(number, resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir(f"/proc/{number}/fd")) + 1
    resource.prlimit(number, resource.RLIMIT_NOFILE, (used, before[1]))
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            caller = stack.enter_context(socket.socket(socket.AF_UNIX))
            caller.connect(str(node.socket))
        node.wait("word of it", lambda: "cannot be taken" in node.log)
        resource.prlimit(number, resource.RLIMIT_NOFILE, before)
    node.wait("an answer", node.answers)
    assert address(node.network().add(pod))
    assert node.log.count("cannot be taken") == 1  # a loop that turns for nothing says it a thousand times


@pytest.mark.parametrize("kind", ["pipe", "file", "folder", "device", "other namespace", "own"])
def test_a_path_that_leads_to_no_pod(shared: CniNode, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "netns"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "file":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    else:
        own = f"/var/run/netns/{shared.net.name}"
        path = Path({"device": "/dev/zero", "other namespace": "/proc/self/ns/uts", "own": own}[kind])
    network = shared.network()
    with Pod() as pod:
        network.variables = {"CNI_NETNS": str(path)}
        with pytest.raises(Failed) as failed:
            network.add(pod)
        assert failed.value.code == (8 if kind == "own" else 3)
        network.variables = {}
        network.add(pod)
        network.variables = {"CNI_NETNS": str(path)}
        network.delete(pod)
        network.delete(pod)
        nothing_left(shared, pod)


def test_an_ipam_plugin_that_never_began_has_nothing_to_give_back(shared: CniNode, pod: Pod) -> None:
    network = shared.network(ipam={"type": "nowhere"})
    with pytest.raises(Failed, match="failed to find plugin"):
        network.add(pod)
    assert shared.pending == []
    network.delete(pod)


def test_an_ipam_plugin_that_cannot_give_back_is_told_of_once(node: CniNode, pod: Pod) -> None:
    plugin = node.root / "opt/cni/bin/moody"
    plugin.write_text('#!/bin/sh\necho \'{"code": 7, "msg": "misconfigured"}\'\nexit 1\n')
    plugin.chmod(0o755)
    with pytest.raises(Failed, match="misconfigured"):
        node.network(ipam={"type": "moody"}).add(pod)
    assert len(node.pending) == 1
    node.kill()
    node.start()
    node.wait("word of it", lambda: "is tried again later" in node.log)
    plugin.write_text("#!/bin/sh\n")
    node.wait("end of what was left", lambda: not node.pending)
    assert node.log.count("is tried again later") == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"mtu": 10**30},
        {"num_queues": 10**6},
        {"readiness_gates": 5},
        {"readiness_gates": [5]},
        {"readiness_gates": ["file:///etc/passwd"]},
        {"args": {"cni": {"labels": 5}}},
        {"args": {"cni": {"annotations": {"cni.projectcalico.org/ipAddrs": "[" * 100_000}}}},
        {"args": {"cni": {"annotations": {"cni.projectcalico.org/hwAddr": 5}}}},
        *(
            {
                "feature_control": {"ip_addrs_no_ipam": True},
                "args": {"cni": {"annotations": {"cni.projectcalico.org/ipAddrsNoIpam": json.dumps([ip])}}},
            }
            for ip in ("0.0.0.0", "224.0.0.1", "127.0.0.1", "255.255.255.255", "::", "ff02::1", "::1", "fe80::1")
        ),
    ],
    ids=str,
)
def test_configurations_that_nobody_foresaw(shared: CniNode, pod: Pod, changed: dict[str, Any]) -> None:
    network = shared.network(**changed)
    with pytest.raises(Failed) as failed:
        network.add(pod)
    assert failed.value.code == 7
    nothing_left(shared, pod)
    network.delete(pod)


def test_labels_that_are_no_texts_are_passed_over(shared: CniNode, pod: Pod) -> None:
    network = shared.network(args={"cni": {"namespaceLabels": {"a": [1], "b": "c"}}})
    assert address(network.add(pod))
    network.delete(pod)


def test_two_containers_whose_ids_begin_alike(shared: CniNode) -> None:
    """Without Kubernetes their host interface would be the same one."""
    network = shared.network()
    network.variables = {"CNI_ARGS": ""}
    with pods("one", "two") as (one, two):
        one.container, two.container = "0123456789a-one", "0123456789a-two"
        network.add(one)
        with pytest.raises(Failed) as failed:
            network.add(two)
        assert failed.value.code == 4
        assert one.container in failed.value.text
        network.delete(two)
        assert "cali0123456789a" in links(shared)
        network.check(one)
        network.add(one)
        network.delete(one)
        network.add(two)
        network.delete(two)
        assert "cali0123456789a" not in links(shared)
