"""The generated configuration in the real BIRD: three machines, two networks with a router between them.

A session that is up proves little. These tests look at the kernels: which routes stand there, and over which gateway.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any, NamedTuple

import pytest
from tests.support.bird_plans import addresses, networks, rules, session
from tests.support.birds import Bird, eventually, kernel_routes, running
from tests.support.netns import Namespace

from tortie.bgp.bird_text import bird_text, digest
from tortie.bgp.plan import Plan, Pool

POOLS = (
    Pool("plain", networks("10.244.0.0/16")[0]),
    Pool("kept", networks("10.245.0.0/16")[0], exported=False),
    Pool("vxlan", networks("10.246.0.0/16")[0], "vxlan"),
    Pool("ipip", networks("10.247.0.0/16")[0], "ipip"),
    Pool("across", networks("10.248.0.0/16")[0], "ipip", cross_subnet=True),
    Pool("plain-6", networks("fd77:244::/48")[0]),
)


class Machine(NamedTuple):
    """node-1 and node-2 are 10.77.0.1 and .2, node-3 is 10.78.0.3 behind the router."""

    number: int
    segment: int

    @property
    def ip(self) -> str:
        return f"10.{self.segment}.0.{self.number}"

    @property
    def ip6(self) -> str:
        return f"fd{self.segment}::{self.number}"

    @property
    def block(self) -> str:
        return f"10.244.{self.number}.0/26"

    @property
    def block6(self) -> str:
        return f"fd77:244:0:{self.number}::/122"


MACHINES = (Machine(1, 77), Machine(2, 77), Machine(3, 78))


def plan_of(machine: Machine, **fields: Any) -> Plan:
    """The node's part of a full mesh; every node has a block of each family."""
    sessions = []
    for other in MACHINES:
        if other != machine:
            common = {"peer_node": f"node-{other.number}", "passive": other.number > machine.number}
            sessions.append(session(other.ip, source=machine.ip, **common))
            sessions.append(session(other.ip6, source=machine.ip6, **common))
    given = {
        "node": f"node-{machine.number}",
        "router_id": IPv4Address(machine.ip),
        "as_number": 64512,
        "networks": addresses(f"{machine.ip}/24", f"{machine.ip6}/64"),
        "sessions": tuple(sessions),
        "blocks": networks(machine.block, machine.block6),
        "pools": POOLS,
    }
    return Plan(**{**given, **fields})


@contextlib.contextmanager
def fabric() -> Iterator[list[Namespace]]:
    with contextlib.ExitStack() as stack:
        router, *hosts = (stack.enter_context(Namespace("bird")) for _ in range(len(MACHINES) + 1))
        for namespace in (router, *hosts):
            namespace.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for segment in (77, 78):
            ports = [f"p{machine.number}" for machine in MACHINES if machine.segment == segment]
            for machine in (machine for machine in MACHINES if machine.segment == segment):
                hosts[machine.number - 1].veth("eth0", router, f"p{machine.number}")
            router.bridge(f"br{segment}", *ports)
            router.ip("addr", "add", f"10.{segment}.0.254/24", "dev", f"br{segment}")
            router.ip("addr", "add", f"fd{segment}::fe/64", "dev", f"br{segment}", "nodad")
        for machine, host in zip(MACHINES, hosts, strict=True):
            host.batch(
                f"addr add {machine.ip}/24 dev eth0",
                f"addr add {machine.ip6}/64 dev eth0 nodad",
                f"route add default via 10.{machine.segment}.0.254",
                f"route add default via fd{machine.segment}::fe",
            )
        yield hosts


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Bird]]:
    folder = tmp_path_factory.mktemp("birds")
    with fabric() as hosts, contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(running(host, folder / str(machine.number), bird_text(plan_of(machine))))
            for machine, host in zip(MACHINES, hosts, strict=True)
        ]


@pytest.fixture
def mesh(birds: list[Bird]) -> list[Bird]:
    """Every test begins with the plain mesh, whatever the one before has made of it."""
    for machine, bird in zip(MACHINES, birds, strict=True):
        bird.configure(bird_text(plan_of(machine)))
    blocks = {machine.block for machine in MACHINES}, {machine.block6 for machine in MACHINES}
    for bird in birds:
        eventually(bird.established, f"all sessions of {bird.namespace.name}")
    eventually(
        lambda: all((set(gateways(bird)), set(gateways(bird, 6))) == blocks for bird in birds), "each knows all blocks"
    )
    return birds


def gateways(bird: Bird, family: int = 4) -> dict[str, str]:
    """Where BIRD's routes in the kernel lead: a gateway, or what else they are."""
    return {
        destination: route.get("gateway") or route.get("type", "unicast")
        for destination, route in kernel_routes(bird.namespace, family).items()
        if route["protocol"] == "bird"
    }


def test_every_kernel_has_every_block_over_a_real_gateway(mesh: list[Bird]) -> None:
    near, _, far = mesh
    assert gateways(near) == {
        "10.244.1.0/26": "blackhole",
        "10.244.2.0/26": "10.77.0.2",
        "10.244.3.0/26": "10.77.0.254",
    }
    assert gateways(near, 6) == {
        "fd77:244:0:1::/122": "blackhole",
        "fd77:244:0:2::/122": "fd77::2",
        "fd77:244:0:3::/122": "fd77::fe",
    }
    assert gateways(far) == {
        "10.244.1.0/26": "10.78.0.254",
        "10.244.2.0/26": "10.78.0.254",
        "10.244.3.0/26": "blackhole",
    }
    assert {route["metric"] for route in kernel_routes(near.namespace).values() if route["protocol"] == "bird"} == {
        1024
    }


def answers(address: str) -> bool:
    """Whether a machine says that nobody listens there: a packet went there, and one came back."""
    try:
        socket.create_connection((address, 9), timeout=5).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def test_packets_to_an_address_of_another_block_arrive(mesh: list[Bird]) -> None:
    here, there, _ = mesh
    there.namespace.batch("addr add 10.244.2.5/32 dev lo", "addr add fd77:244:0:2::5/128 dev lo")
    assert here.namespace.call(answers, "10.244.2.5")
    assert here.namespace.call(answers, "fd77:244:0:2::5")
    assert not here.namespace.call(answers, "10.244.1.5")
    there.namespace.batch("addr del 10.244.2.5/32 dev lo", "addr del fd77:244:0:2::5/128 dev lo")


def test_blocks_go_out_and_the_addresses_inside_them_do_not(mesh: list[Bird]) -> None:
    here, there, _ = mesh
    there.namespace.dummy("cali1")
    there.namespace.dummy("vxlan.calico")
    there.namespace.batch(
        "route add 10.244.2.5 dev cali1",  # a pod
        "route add 10.244.2.6 dev cali1 metric 1024",  # a pod, as a newer Calico writes it
        "route add 10.244.2.7 dev cali1 metric 512",  # a pod that is moving to this node
        "route add 10.244.1.9 dev cali1",  # a pod whose address is out of the other node's block
        "route add 10.244.8.0/26 dev vxlan.calico",  # the way to a third node
        "route add 192.168.7.0/24 dev cali1",  # nothing of Calico's
        "route add fd77:244:0:2::5 dev cali1",
        "route add fd77:244:0:1::9 dev cali1",
    )
    told = {"10.244.1.9/32", "10.244.2.0/26", "10.244.2.7/32"}
    eventually(lambda: here.routes("protocol", "Mesh_10_77_0_2") >= told, f"{told} arrive")
    eventually(lambda: "fd77:244:0:1::9/128" in here.routes("protocol", "Mesh_fd77__2"), "the borrowed address arrives")
    kept = {"10.244.2.5/32", "10.244.2.6/32", "10.244.8.0/26", "192.168.7.0/24"}
    eventually(lambda: there.routes("protocol", "kernel4") >= kept, "the others are known where they are")
    assert here.routes("protocol", "Mesh_10_77_0_2") == told
    assert here.routes("protocol", "Mesh_fd77__2") == {"fd77:244:0:1::9/128", "fd77:244:0:2::/122"}
    assert kernel_routes(here.namespace)["10.244.1.9"]["gateway"] == "10.77.0.2"
    assert kernel_routes(here.namespace)["10.244.2.7"]["gateway"] == "10.77.0.2"
    there.namespace.batch("link del cali1", "link del vxlan.calico")
    eventually(lambda: "10.244.2.7" not in kernel_routes(here.namespace), "the route leaves the kernel again")


def test_a_pool_with_disable_bgp_export_stays_at_home(mesh: list[Bird]) -> None:
    here, there, _ = mesh
    blocks = networks("10.244.2.0/26", "10.244.2.64/26", "10.245.2.0/26")
    there.configure(bird_text(plan_of(MACHINES[1], blocks=blocks)))
    eventually(lambda: gateways(here).get("10.244.2.64/26") == "10.77.0.2", "the new block arrives")
    assert "10.245.2.0/26" in gateways(there)
    assert here.routes("protocol", "Mesh_10_77_0_2") == {"10.244.2.0/26", "10.244.2.64/26"}


def test_routes_into_tunnels_are_left_to_the_dataplane(mesh: list[Bird]) -> None:
    here, there, far = mesh
    blocks = ("10.244.2.0/26", "10.246.2.0/26", "10.247.2.0/26", "10.248.2.0/26")
    there.configure(bird_text(plan_of(MACHINES[1], blocks=networks(*blocks))))
    eventually(
        lambda: all(bird.routes("protocol", "Mesh_10_77_0_2") == set(blocks) for bird in (here, far)),
        "both know all blocks",
    )
    assert {block: gateways(here).get(block) for block in blocks} == {
        "10.244.2.0/26": "10.77.0.2",
        "10.246.2.0/26": None,
        "10.247.2.0/26": None,
        "10.248.2.0/26": "10.77.0.2",  # the next hop is on our own network
    }
    assert [block for block in blocks if block in gateways(far)] == ["10.244.2.0/26"]
    assert [gateways(there)[block] for block in blocks] == ["blackhole"] * 4


def test_services_are_advertised_but_stay_out_of_the_kernels(mesh: list[Bird]) -> None:
    here, there, _ = mesh
    services = networks("10.96.0.0/12", "fd77:96::/112")
    for machine, bird in zip(MACHINES[:2], (here, there), strict=True):
        bird.configure(bird_text(plan_of(machine, services=services)))
    eventually(lambda: "10.96.0.0/12" in here.routes("protocol", "Mesh_10_77_0_2"), "the services arrive")
    eventually(lambda: "fd77:96::/112" in here.routes("protocol", "Mesh_fd77__2"), "the services arrive")
    for bird in (here, there):
        assert "10.96.0.0/12" not in kernel_routes(bird.namespace)
        assert "fd77:96::/112" not in kernel_routes(bird.namespace, 6)


def test_what_an_import_filter_rejects_does_not_reach_the_kernel(mesh: list[Bird]) -> None:
    here = mesh[0]
    filters = {
        "not-2": rules(
            importV4=[{"cidr": "10.244.2.0/24", "matchOperator": "In", "action": "Reject"}],
            importV6=[{"cidr": "fd77:244:0:2::/64", "matchOperator": "In", "action": "Reject"}],
        )
    }
    plan = plan_of(MACHINES[0], filters=filters)
    filtered = tuple(session._replace(filters=("not-2",)) for session in plan.sessions)
    here.configure(bird_text(plan._replace(sessions=filtered)))
    expected = {"10.244.1.0/26": "blackhole", "10.244.3.0/26": "10.77.0.254"}
    expected6 = {"fd77:244:0:1::/122": "blackhole", "fd77:244:0:3::/122": "fd77::fe"}
    eventually(
        lambda: (gateways(here), gateways(here, 6)) == (expected, expected6), "only the routes of node-3 are left"
    )


def test_a_change_is_taken_over_without_losing_a_session(mesh: list[Bird]) -> None:
    here, there, _ = mesh
    losses = [bird.log().count("State changed to stop") for bird in mesh]
    blocks = networks("10.244.2.0/26", "10.244.2.128/26", "fd77:244:0:2::/122")
    text = bird_text(plan_of(MACHINES[1], blocks=blocks, services=networks("10.96.0.0/12")))
    there.configure(text)
    eventually(lambda: gateways(here).get("10.244.2.128/26") == "10.77.0.2", "the new block arrives")
    assert there.ask("eval", "tortie_digest").strip() == digest(text)
    there.configure(bird_text(plan_of(MACHINES[1])))
    eventually(lambda: "10.244.2.128/26" not in gateways(here), "the block that is gone leaves")
    assert [bird.log().count("State changed to stop") for bird in mesh] == losses
    assert all(bird.established() for bird in mesh)
