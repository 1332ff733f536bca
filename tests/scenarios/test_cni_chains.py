"""The plugin in chains with Debian's portmap and bandwidth, as `10-calico.conflist` has had them over the years."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.cni_node import CniNode, nothing_left
from tests.support.netns import Namespace
from tests.support.runtime import BANDWIDTH, CALICO, PORTMAP, Pod, address

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CniNode]:
    with CniNode(tmp_path_factory.mktemp("chain")) as node:
        yield node


@pytest.fixture
def pod() -> Iterator[Pod]:
    with Pod() as pod:
        yield pod


def reached(outside: Namespace, pod: Pod, port: int) -> str:
    """What a server on port 8080 of the pod answers to who asks the node's port from outside."""
    server = pod.net.popen("python3", "-IS", "-c", _SERVER)
    try:
        return outside.run("python3", "-IS", "-c", _CLIENT, port).stdout.strip()
    finally:
        server.kill()
        server.wait()


_SERVER = """
import socket
listener = socket.create_server(("", 8080))
while True:
    connection, sender = listener.accept()
    connection.sendall(b"hello")
    connection.close()
"""
_CLIENT = """
import socket, sys, time
until = time.monotonic() + 30
while True:
    try:
        with socket.create_connection(("198.51.100.1", int(sys.argv[1])), 5) as connection:
            print(connection.recv(100).decode())
            break
    except OSError:
        if time.monotonic() > until:
            raise
        time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def outside(node: CniNode) -> Iterator[Namespace]:
    with Namespace("outside") as outside:
        node.net.veth("eth0", outside, "eth0")
        node.net.ip("addr", "add", "198.51.100.1/24", "dev", "eth0")
        outside.ip("addr", "add", "198.51.100.2/24", "dev", "eth0")
        yield outside


@pytest.mark.parametrize("version", ["0.3.1", "1.0.0"])
def test_calico_then_portmap(node: CniNode, outside: Namespace, pod: Pod, version: str) -> None:
    network = node.network(version, CALICO, PORTMAP)
    network.runtime["portMappings"] = [{"hostPort": 8081, "containerPort": 8080, "protocol": "tcp"}]
    result = network.add(pod)
    assert address(result).startswith("10.65.")
    assert reached(outside, pod, 8081) == "hello"
    if version != "0.3.1":
        network.call("CHECK", CALICO, pod, result)  # portmap's own looks for IPv6 rules that it never made
    network.delete(pod)
    nothing_left(node, pod)


def test_the_chain_of_older_manifests_with_bandwidth(node: CniNode, pod: Pod) -> None:
    network = node.network("0.3.1", CALICO, PORTMAP, BANDWIDTH)
    network.runtime["bandwidth"] = {
        **{"ingressRate": 8_000_000, "ingressBurst": 800_000},
        **{"egressRate": 8_000_000, "egressBurst": 800_000},
    }
    result = network.add(pod)
    shaped: list[Any] = node.net.json("link", "show", "dev", result["interfaces"][0]["name"])
    assert shaped[0]["qdisc"] == "tbf"
    assert pod.ping("192.0.2.1")
    network.delete(pod)
    nothing_left(node, pod)


def test_a_plugin_before_ours(node: CniNode, pod: Pod) -> None:
    """Debian's loopback runs first, and what it says comes to us as prevResult."""
    network = node.network("1.0.0", {"type": "loopback"}, CALICO, PORTMAP)
    result = network.add(pod)
    assert pod.ping("192.0.2.1")
    assert address(result).startswith("10.65.")
    network.delete(pod)
    nothing_left(node, pod)
