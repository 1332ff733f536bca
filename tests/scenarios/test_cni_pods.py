"""Pods through the plugin as a runtime calls it: every command in every version, wired in a real kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.support.cni_node import ENDPOINTS, HANDLES, CniNode, nothing_left
from tests.support.netns import Namespace
from tests.support.runtime import CALICO, NODE, Failed, Network, Pod, address, pods

from tortie.ipam.allocator import Allocator
from tortie.ipam.request import Request

pytestmark = pytest.mark.timeout(300)

VERSIONS = ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
DUAL = {"type": "calico-ipam", "assign_ipv4": "true", "assign_ipv6": "true"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CniNode]:
    with CniNode(tmp_path_factory.mktemp("cni")) as node:
        yield node


@pytest.fixture
def pod() -> Iterator[Pod]:
    with Pod() as pod:
        yield pod


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pod_lives_and_goes_in_every_version(node: CniNode, pod: Pod, version: str) -> None:
    network = node.network(version)
    result = network.add(pod)
    name = "cali" + hashlib.sha1(f"default.{pod.name}".encode()).hexdigest()[:11]
    assert result["cniVersion"] == version
    assert [(each["name"], each.get("sandbox")) for each in result["interfaces"]] == [(name, None), ("eth0", pod.path)]
    assert result["interfaces"][0]["mac"] == "ee:ee:ee:ee:ee:ee"
    (ip,) = result["ips"]
    assert (ip["interface"], ip["address"][-3:]) == (1, "/32")
    assert ip.get("version") == ("4" if version < "1.0.0" else None)
    assert pod.ping("192.0.2.1")
    if version >= "0.4.0":
        network.check(pod)
    network.delete(pod)
    nothing_left(node, pod)
    network.delete(pod)


def test_the_cable_is_as_calico_lays_it(node: CniNode, pod: Pod) -> None:
    result = node.network(mtu=1440).add(pod)
    name = result["interfaces"][0]["name"]
    ip = address(result)
    (outside,) = node.net.json("link", "show", "dev", name)
    assert (outside["address"], outside["mtu"], outside["linkinfo"]["info_kind"]) == ("ee:ee:ee:ee:ee:ee", 1440, "veth")
    (route,) = node.net.json("route", "show", ip)
    assert (route["dev"], route["scope"], route["protocol"], route["metric"]) == (name, "link", "boot", 1024)
    for setting in ("proxy_arp", "forwarding", "route_localnet"):
        assert node.net.run("cat", f"/proc/sys/net/ipv4/conf/{name}/{setting}").stdout == "1\n"
    assert node.net.run("cat", f"/proc/sys/net/ipv4/neigh/{name}/proxy_delay").stdout == "0\n"
    assert node.net.run("cat", f"/proc/sys/net/ipv6/conf/{name}/accept_ra").stdout == "0\n"
    (inside,) = pod.net.json("addr", "show", "dev", "eth0")
    assert inside["address"] == result["interfaces"][1]["mac"]
    assert int(inside["address"][:2], 16) & 3 == 2
    assert [(a["local"], a["prefixlen"]) for a in inside["addr_info"] if a["family"] == "inet"] == [(ip, 32)]
    routes = {(route["dst"], route.get("gateway")) for route in pod.net.json("route", "show")}
    assert routes == {("default", "169.254.1.1"), ("169.254.1.1", None)}
    assert pod.net.run("cat", "/proc/sys/net/ipv4/ip_forward").stdout == "0\n"
    (neighbour,) = pod.net.json("neigh", "show", "169.254.1.1")
    assert (neighbour["lladdr"], neighbour["state"]) == ("ee:ee:ee:ee:ee:ee", ["PERMANENT"])


def test_what_calico_would_find_in_the_datastore(node: CniNode, pod: Pod) -> None:
    result = node.network().add(pod)
    name = f"{NODE.replace('-', '--')}-k8s-{pod.name.replace('-', '--')}-eth0"
    endpoint = node.value(f"{ENDPOINTS}default/{name}")
    ip, mac = address(result), result["interfaces"][1]["mac"]
    assert endpoint["metadata"]["labels"] == {
        "projectcalico.org/namespace": "default",
        "projectcalico.org/orchestrator": "k8s",
    }
    assert endpoint["spec"] == {
        "orchestrator": "k8s",
        "node": NODE,
        "containerID": pod.container,
        "pod": pod.name,
        "endpoint": "eth0",
        "ipNetworks": [f"{ip}/32"],
        "profiles": ["kns.default"],
        "interfaceName": result["interfaces"][0]["name"],
        "mac": mac,
    }
    handle = node.value(f"{HANDLES}k8s-pod-network.{pod.container}")
    (cidr,) = handle["block"]
    block = node.value(f"/calico/ipam/v2/assignment/ipv4/block/{cidr.replace('/', '-')}")
    (attribute,) = [each for each in block["attributes"] if each["handle_id"] == f"k8s-pod-network.{pod.container}"]
    assert {**attribute["secondary"], "timestamp": ""} == {
        "node": NODE,
        "namespace": "default",
        "pod": pod.name,
        "timestamp": "",
    }


def test_pods_of_both_families_reach_each_other_and_the_node(node: CniNode) -> None:
    network = node.network(ipam=DUAL)
    with pods("left", "right") as (left, right):
        there = {pod: network.add(pod) for pod in (left, right)}
        for family in (4, 6):
            assert left.ping(address(there[right], family))
            assert right.ping(address(there[left], family))
        assert left.ping("192.0.2.1")
        assert left.ping("2001:db8::1")
        network.check(left)
        for pod in (left, right):
            network.delete(pod)
            nothing_left(node, pod)


def test_a_pod_with_ipv6_alone(node: CniNode, pod: Pod) -> None:
    network = node.network(ipam={"type": "calico-ipam", "assign_ipv4": "false", "assign_ipv6": "true"})
    result = network.add(pod)
    assert len(result["ips"]) == 1
    assert pod.ping("2001:db8::1")
    network.check(pod)


def test_who_repeats_an_add_gets_the_same_address(node: CniNode, pod: Pod) -> None:
    network = node.network()
    first, second = network.add(pod), network.add(pod)
    assert address(first) == address(second)
    assert pod.ping("192.0.2.1")
    network.check(pod)
    network.delete(pod)
    nothing_left(node, pod)


def test_two_interfaces_of_one_pod(node: CniNode, pod: Pod) -> None:
    """Each has its own address and its own cable, and the second does not cut the first."""
    network = node.network()
    first = network.add(pod)
    network.check(pod)
    pod.ifname = "net1"
    second = network.add(pod)
    network.check(pod)
    assert address(first) != address(second)
    assert first["interfaces"][0]["name"] != second["interfaces"][0]["name"]
    network.delete(pod)
    pod.ifname = "eth0"
    assert pod.ping("192.0.2.1")
    network.delete(pod)
    nothing_left(node, pod)


def test_an_address_that_was_asked_for(node: CniNode, pod: Pod) -> None:
    network = node.network()
    network.variables["CNI_ARGS"] = f"{pod.arguments};IP=10.65.200.7;MAC=02:11:22:33:44:55"
    result = network.add(pod)
    assert (address(result), result["interfaces"][1]["mac"]) == ("10.65.200.7", "02:11:22:33:44:55")
    with Pod() as other:
        network.variables["CNI_ARGS"] = f"{other.arguments};IP=10.65.200.7"
        with pytest.raises(Failed) as failed:
            network.add(other)
    assert failed.value.code == 102
    assert pod.container in failed.value.details


def test_annotations_that_the_runtime_passes_on(node: CniNode, pod: Pod) -> None:
    annotations = {
        "cni.projectcalico.org/ipAddrs": '["10.65.201.9"]',
        "cni.projectcalico.org/hwAddr": "0a:00:00:00:00:01",
    }
    network = node.network(capabilities={"io.kubernetes.cri.pod-annotations": True})
    network.runtime["io.kubernetes.cri.pod-annotations"] = annotations
    result = network.add(pod)
    assert (address(result), result["interfaces"][1]["mac"]) == ("10.65.201.9", "0a:00:00:00:00:01")


def test_a_container_without_kubernetes(node: CniNode, pod: Pod) -> None:
    network = node.network()
    network.variables["CNI_ARGS"] = ""
    result = network.add(pod)
    assert result["interfaces"][0]["name"] == f"cali{pod.container[:11]}"
    endpoint = node.value(f"{ENDPOINTS}default/node--1-cni-{pod.container}-eth0")
    assert endpoint["spec"]["profiles"] == ["k8s-pod-network"]
    assert node.value("/calico/resources/v3/projectcalico.org/profiles/k8s-pod-network")
    network.check(pod)
    network.delete(pod)
    assert node.value(f"{ENDPOINTS}default/node--1-cni-{pod.container}-eth0") is None


def test_addresses_alone_for_another_plugin(node: CniNode, pod: Pod) -> None:
    """Debian's bridge with our IPAM."""
    network = node.network("1.0.0", {"type": "bridge", "bridge": "br0", "ipam": {"type": "calico-ipam"}})
    result = network.add(pod)
    assert address(result).startswith("10.65.")
    assert node.value(f"{HANDLES}k8s-pod-network.{pod.container}")
    network.check(pod)
    network.delete(pod)
    assert node.value(f"{HANDLES}k8s-pod-network.{pod.container}") is None


def test_addresses_of_another_plugin(node: CniNode, pod: Pod, tmp_path: Path) -> None:
    """Our cable with Debian's host-local."""
    ranges = [[{"subnet": "10.77.0.0/24"}]]
    ipam = {"type": "host-local", "ranges": ranges, "dataDir": str(tmp_path), "routes": [{"dst": "0.0.0.0/0"}]}
    network = node.network(ipam=ipam)
    result = network.add(pod)
    assert address(result).startswith("10.77.0.")
    assert pod.ping("192.0.2.1")
    network.check(pod)
    network.delete(pod)
    assert not list((tmp_path / "k8s-pod-network").glob("10.77.*"))
    nothing_left(node, pod)


def test_an_address_that_ipam_took_over_goes_with_its_pod(node: CniNode, pod: Pod, tmp_path: Path) -> None:
    """A runtime that remembers the configuration of the pod's start asks for host-local's address to be freed."""
    ranges = [[{"subnet": "10.65.9.0/24"}]]
    network = node.network(ipam={"type": "host-local", "ranges": ranges, "dataDir": str(tmp_path)})
    ip = ip_address(address(network.add(pod)))
    handle = f"k8s-pod-network.{pod.container}"
    wanted = Request(NODE, handle, {"node": NODE}, given=(ip,))
    node.ask(lambda store: Allocator(store, NODE, clock=lambda: datetime.now(UTC)).assign(wanted))
    assert node.value(HANDLES + handle)
    network.delete(pod)
    assert node.value(HANDLES + handle) is None
    nothing_left(node, pod)


def test_garbage_is_collected_and_nothing_else(node: CniNode) -> None:
    network = node.network("1.1.0")
    with pods("stays", "leaks") as (stays, leaks):
        kept = network.add(stays)
        network.add(leaks)
        network.collect(stays)
        nothing_left(node, leaks)
        network.check(stays)
        assert stays.ping("192.0.2.1")
        assert address(kept)
        network.delete(stays)


def test_garbage_of_a_runtime_that_has_no_pod_at_all(node: CniNode, pod: Pod) -> None:
    """libcni writes an empty list as null."""
    network = node.network("1.1.0")
    network.add(pod)
    with pytest.raises(Failed, match="valid-attachments"):
        network.call("GC", CALICO, None, None)
    network.call("GC", CALICO, None, None, more={"cni.dev/valid-attachments": None, "cni.dev/attachments": None})
    nothing_left(node, pod)


def test_what_the_log_says(node: CniNode, pod: Pod) -> None:
    network = node.network()
    result = network.add(pod)
    ip, link = address(result), result["interfaces"][0]["name"]
    node.wait("a line about the pod", lambda: f"CNI ADD default/{pod.name}: {ip} on {link}\n" in node.log)
    pod.net.ip("link", "set", "eth0", "down")
    with pytest.raises(Failed):
        network.check(pod)
    network.delete(pod)
    network.delete(pod)
    with pytest.raises(Failed):
        node.network(device_type="netkit").add(pod)
    lines = [line for line in node.log.splitlines() if f"default/{pod.name}" in line][1:]
    assert lines[0].startswith(f"CNI CHECK default/{pod.name} failed with code 103: ")
    assert "eth0 in the pod is down" in lines[0]
    assert lines[1:] == [
        f"CNI DEL default/{pod.name}: {ip} freed",
        f"CNI DEL default/{pod.name}: done, IPAM had no address of it",
        f"CNI ADD default/{pod.name} failed with code 2: device_type 'netkit' is not supported: "
        "pods are wired with veth",
    ]


def test_status_and_version(node: CniNode) -> None:
    node.network("1.1.0").status()
    answer = node.plugin("tortie", b'{"cniVersion":"1.0.0"}', {"CNI_COMMAND": "VERSION"})
    assert answer == {"cniVersion": "1.0.0", "supportedVersions": list(VERSIONS)}


def test_what_makes_no_sense_is_refused_by_its_number(node: CniNode, pod: Pod) -> None:
    good = node.network()
    with Namespace("other"):
        cases: list[tuple[int, Network, dict[str, str]]] = [
            (1, node.network("0.9.9"), {}),
            (4, good, {"CNI_CONTAINERID": "a/b"}),
            (4, good, {"CNI_NETNS": ""}),
            (4, good, {"CNI_IFNAME": "far-too-long-for-a-link"}),
            (3, good, {"CNI_NETNS": "/var/run/netns/not-there"}),
            (7, node.network(nodename="somebody-else"), {}),
            (7, node.network(ipam={}), {}),
            (101, node.network(ipam={"type": "calico-ipam", "ipv4_pools": ["10.99.0.0/16"]}), {}),
            (8, good, {"CNI_NETNS": f"/var/run/netns/{node.net.name}"}),
        ]
        for code, network, variables in cases:
            network.variables = variables
            with pytest.raises(Failed) as failed:
                network.add(pod)
            assert failed.value.code == code, failed.value
            assert failed.value.text
            good.variables = {}
    nothing_left(node, pod)
