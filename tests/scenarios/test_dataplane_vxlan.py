"""Pods of three machines in two networks, over VXLAN: they reach each other, and what is taken away comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.dataplane import Machine, World, endpoint_name, key, reaches, resource, world
from tests.support.netns import Namespace

pytestmark = pytest.mark.timeout(300)

POOL = {"cidr": "10.244.0.0/16", "vxlanMode": "Always", "natOutgoing": True}
PODS = {"a": "10.244.0.10", "b": "10.244.1.10", "c": "10.244.2.10"}


class Cluster:
    """a and b in one network, c in another one; a pod on each."""

    def __init__(self, made: World, pool: dict[str, object]) -> None:
        self.world = made
        made.network("rack1", "10.0.1.254/24")
        made.network("rack2", "10.0.2.254/24")
        places = (("a", "10.0.1.1/24", "rack1"), ("b", "10.0.1.2/24", "rack1"), ("c", "10.0.2.1/24", "rack2"))
        made.commit(resource("IPPool", "pods", pool))
        self.pods: dict[str, Namespace] = {}
        for number, place in enumerate(places):
            machine = made.machine(*place)
            made.give_block(machine, f"10.244.{number}.0/26")
            machine.start()
        for name, ip in PODS.items():
            self.pods[name] = made.pod(made.machines[name], f"pod-{name}", ip)

    def __getitem__(self, name: str) -> Machine:
        return self.world.machines[name]

    def wait_whole(self) -> None:
        """Until every machine has a way to every other one, and says that it is ready."""
        for machine in self.world.machines.values():
            for number in range(len(self.world.machines)):
                machine.wait_route(f"10.244.{number}.0/26")
            machine.wait("ready", lambda machine=machine: machine.is_ready)  # type: ignore[misc]


@pytest.fixture(scope="module")
def always(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with world(tmp_path_factory.mktemp("always")) as made:
        yield Cluster(made, POOL)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def test_pods_reach_each_other_with_packets_as_large_as_they_may_be(always: Cluster) -> None:
    for name, pod in always.pods.items():
        for other, ip in PODS.items():
            assert reaches(pod, ip), f"{name} to {other}:\n{always[name].log}"
    mtu = int((always["a"].folder / "var/lib/calico/mtu").read_text())
    assert mtu == 1450
    assert reaches(always.pods["a"], PODS["c"], size=mtu - 28)


def test_a_machine_reaches_pods_of_others_from_its_address_in_the_tunnel(always: Cluster) -> None:
    assert reaches(always["a"].ns, PODS["c"])
    always["a"].wait("in its own record", lambda: _tunnel_address(always, "a") != "")
    assert _tunnel_address(always, "a") in always["a"].ns.ip("-4", "addr", "show", "dev", "vxlan.calico")


def _tunnel_address(always: Cluster, name: str) -> str:
    document = always.world.read(key("Node", name)) or {}
    return str(document["spec"].get("ipv4VXLANTunnelAddr", ""))


TAKEN = {
    "a route to a block": ("ip", "route", "del", "10.244.1.0/26", "dev", "vxlan.calico"),
    "the route to a pod": ("ip", "route", "del", "10.244.0.10", "metric", "1024"),
    "a blackhole": ("ip", "route", "del", "blackhole", "10.244.0.0/26"),
    "the address of the tunnel": ("ip", "addr", "flush", "dev", "vxlan.calico", "scope", "global"),
    "the tunnel": ("ip", "link", "del", "vxlan.calico"),
    "the tunnel, set down": ("ip", "link", "set", "vxlan.calico", "down"),
    "the MTU of the tunnel": ("ip", "link", "set", "vxlan.calico", "mtu", "1400"),
    "the table of NAT": ("nft", "delete", "table", "ip", "calico"),
    "rules of NAT": ("nft", "flush", "chain", "ip", "calico", "nat-cali-nat-outgoing"),
    "a pool in NAT": ("nft", "flush", "set", "ip", "calico", "cali40masq-ipam-pools"),
}


@pytest.mark.parametrize("what", TAKEN)
def test_what_somebody_takes_away_comes_back(always: Cluster, what: str) -> None:
    always.wait_whole()
    before = _kernel(always["a"])
    done = always["a"].ns.run(*TAKEN[what], check=False)
    assert done.returncode == 0, done.stderr
    always["a"].wait(f"as before: {what}", lambda: _kernel(always["a"]) == before)
    assert reaches(always.pods["a"], PODS["b"])


def test_forwarding_and_neighbours_come_back_and_wrong_ones_go(always: Cluster) -> None:
    always.wait_whole()
    machine = always["a"]
    before = _kernel(machine)
    mac, _, rest = machine.forwarding().splitlines()[0].partition(" dst ")
    machine.ns.run("bridge", "fdb", "del", mac, "dev", "vxlan.calico", "dst", rest.split()[0])
    ip = machine.neighbours("vxlan.calico").splitlines()[0].split()[0]
    machine.ns.ip("neigh", "del", ip, "dev", "vxlan.calico")
    machine.ns.ip(*("neigh", "add", "10.244.77.0", "lladdr", "66:00:00:00:00:01", "dev", "vxlan.calico"))
    machine.ns.ip("route", "add", "10.244.77.0/26", "via", "10.244.77.0", "dev", "vxlan.calico", "onlink")
    machine.ns.ip("route", "add", "blackhole", "10.250.0.0/24", "proto", "80")
    machine.wait("as before", lambda: _kernel(machine) == before)


def test_routes_of_others_stay(always: Cluster) -> None:
    always.wait_whole()
    machine = always["a"]
    machine.ns.ip("route", "add", "172.31.0.0/24", "via", "10.0.1.254", "proto", "static")
    machine.ns.ip("route", "add", "172.31.1.0/24", "via", "10.0.1.254", "proto", "bird", "metric", "1024")
    machine.ns.ip("link", "set", "vxlan.calico", "mtu", "1400")
    machine.wait("put right", lambda: "mtu 1450" in machine.ns.ip("link", "show", "vxlan.calico"))
    assert "172.31.0.0/24" in machine.routes()
    assert "172.31.1.0/24" in machine.routes()


def test_what_leaves_the_pools_has_the_address_of_its_machine(always: Cluster) -> None:
    always.wait_whole()
    always.world.router.ip("addr", "replace", "192.0.2.1/32", "dev", "lo")
    assert _source_seen(always, "192.0.2.1") == "10.0.1.1"
    # Inside of the pools nothing is changed.
    assert _heard_by(always.pods["c"], always.pods["a"], PODS["c"]) == PODS["a"]


def test_traffic_goes_on_while_the_agent_is_dead_and_comes_back(always: Cluster) -> None:
    always.wait_whole()
    machine = always["a"]
    lost: list[str] = []
    ping = threading.Thread(target=lambda: lost.append(_ping_flow(always.pods["a"], PODS["c"])))
    ping.start()
    machine.kill()
    assert reaches(always.pods["b"], PODS["a"])
    before = _kernel(machine)
    machine.ns.ip("route", "del", "10.244.1.0/26")
    machine.start()
    machine.wait("as before", lambda: _kernel(machine) == before)
    ping.join()
    assert " 0% packet loss" in lost[0], lost


def test_pods_and_nodes_that_go_leave_nothing(own: World) -> None:
    cluster = Cluster(own, POOL)
    a, c = cluster["a"], cluster["c"]
    assert reaches(cluster.pods["a"], PODS["c"])
    c.kill()
    own.delete("Node", "c")
    a.wait_no_route("10.244.2.0/26")
    a.wait("rid of the tunnel of c", lambda: "10.0.2.1" not in a.forwarding())
    assert "10.244.1.0/26" in a.routes()
    own.delete("WorkloadEndpoint", endpoint_name("a", "pod-a"), "default")
    a.wait_no_route("10.244.0.10 ")
    own.delete("IPPool", "pods")
    a.wait("rid of the tunnel", lambda: "vxlan.calico" not in a.ns.ip("link", "show"))
    a.wait("rid of NAT", lambda: a.nft() == "")
    a.wait_no_route("blackhole")
    a.wait("back", lambda: "ipv4VXLANTunnelAddr" not in (own.read(key("Node", "a")) or {})["spec"])


def test_across_networks_only(own: World) -> None:
    cluster = Cluster(own, {**POOL, "vxlanMode": "CrossSubnet"})
    for name, pod in cluster.pods.items():
        for other, ip in PODS.items():
            assert reaches(pod, ip), f"{name} to {other}:\n{cluster[name].log}"
    cluster["a"].wait_route("10.244.1.0/26", "via 10.0.1.2", "dev eth0", "proto 80", "onlink")
    cluster["a"].wait_route("10.244.2.0/26", "dev vxlan.calico", "onlink")
    # What is changed about the pool is changed about the routes.
    own.commit(resource("IPPool", "pods", POOL))
    cluster["a"].wait_route("10.244.1.0/26", "dev vxlan.calico")
    assert reaches(cluster.pods["a"], PODS["b"])


def _kernel(machine: Machine) -> str:
    """All that the dataplane has made, in an order of its own."""
    address = machine.ns.run("ip", "-4", "-o", "addr", "show", "dev", "vxlan.calico", check=False).stdout
    link = machine.ns.run("ip", "-d", "link", "show", "vxlan.calico", check=False).stdout
    told = (
        *sorted(machine.routes().splitlines()),
        *sorted(machine.forwarding().splitlines()),
        *sorted(machine.neighbours("vxlan.calico").splitlines()),
        *sorted(line for line in machine.nft().splitlines() if "counter" not in line),
        str(machine.nft().count("counter")),
        *(word for word in ("mtu 1450", "UP,LOWER_UP", "nolearning", "id 4096") if word in link),
        *address.split()[2:4],
    )
    return "\n".join(told)


def _ping_flow(pod: Namespace, target: str) -> str:
    return pod.run("ping", "-n", "-q", "-i", "0.05", "-c", "60", target, check=False).stdout


def _source_seen(always: Cluster, target: str) -> str:
    router = always.world.router
    router.ip("route", "replace", "10.244.0.0/26", "via", "10.0.1.1")
    return _heard_by(router, always.pods["a"], target)


def _heard_by(listener: Namespace, sender: Namespace, target: str) -> str:
    """From whose address a datagram comes."""
    code = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('0.0.0.0', 7777));"
        "print('listening', flush=True); s.settimeout(60); print(s.recvfrom(100)[1][0])"
    )
    process = listener.popen("python3", "-c", code, stdout=-1)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "listening"
    send = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{target}', 7777))"
    sender.run("python3", "-c", send)
    out, _ = process.communicate(timeout=60)
    return out.strip()
