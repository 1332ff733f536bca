"""The plugin beside somebody who keeps routes and neighbours of pods right: both want the same, and either comes first.

That is the dataplane of the agent itself, or Felix while a cluster moves from Calico.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from pathlib import Path
from socket import if_nametoindex
from typing import Any

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, pool
from tests.support.netns import Namespace, host_and_router
from tests.support.runtime import CALICO, Network, Pod, address, install, pods

from tortie.dataplane import workload
from tortie.dataplane.workload import BOOT, METRIC, AddressTaken, Cable, lay
from tortie.host.netlink import Netlink
from tortie.host.wiring import add_route, set_neighbour

pytestmark = pytest.mark.timeout(300)

IPS = (ip_address("10.65.3.4"), ip_address("fd65::34"))
CABLE = Cable("cali0123456789a", "eth0", "02:00:00:00:00:01", IPS)
PODS = 110  # what Kubernetes allows on a node by default


@pytest.fixture
def node() -> Iterator[Namespace]:
    with Namespace("node") as net:
        net.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        yield net


def _lay_after(intruder: Callable[[], None], path: str) -> str:
    """Lays the cable; as soon as the link is there, somebody else has a moment. Returns what was refused."""
    settle: Callable[..., None] = workload._settle_host

    def settle_then_wait(*args: Any) -> None:
        settle(*args)
        intruder()

    vars(workload)["_settle_host"] = settle_then_wait  # in a process of its own: nobody else notices
    descriptor = os.open(path, os.O_RDONLY)
    try:
        lay(CABLE, descriptor, warn=lambda _: None)
    except AddressTaken as taken:
        return taken.what
    return ""


def _write(link: str) -> None:
    index = if_nametoindex(link)
    with Netlink() as kernel:
        for ip in IPS:
            requests = [
                add_route(ip_network(ip), index=index, metric=METRIC, protocol=BOOT, replace=True),
                set_neighbour(index, ip, "02:00:00:00:00:99"),
            ]
            kernel.request_all(requests, time.monotonic() + 10)


def test_routes_and_neighbours_that_are_there_already_are_as_wanted(node: Namespace) -> None:
    with Pod() as pod:
        assert node.call(_lay_after, lambda: _write(CABLE.host), pod.path) == ""
        for ip, family in zip(IPS, ("-4", "-6"), strict=True):
            (route,) = node.json(family, "route", "show", str(ip))
            assert (route["dev"], route["protocol"], route["metric"]) == (CABLE.host, "boot", METRIC)
            (neighbour,) = node.json(family, "neigh", "show", str(ip), "dev", CABLE.host)
            assert neighbour["lladdr"] == CABLE.mac
        node.ip("addr", "add", "192.0.2.1/24", "dev", "lo")
        assert pod.ping("192.0.2.1")


def test_a_route_that_leads_elsewhere_is_not_taken_away(node: Namespace) -> None:
    node.dummy("strange0")
    with Pod() as pod:
        refused = node.call(_lay_after, lambda: _write("strange0"), pod.path)
        assert "already exists for an interface other than" in refused
        assert "strange0" in refused
        (route,) = node.json("route", "show", str(IPS[0]))
        assert route["dev"] == "strange0"
        assert CABLE.host not in [link["ifname"] for link in node.json("link", "show")]


def test_a_node_is_filled_and_emptied_beside_the_dataplane(tmp_path: Path) -> None:
    """The agent learns of each pod from the datastore while the plugin still works on others."""
    tortie = Tortie(tmp_path)
    made = tortie.run("apply", "-f", tortie.file("pool.yaml", pool("default-ipv4-ippool", "10.96.0.0/16")))
    assert made.code == 0, made.stderr
    with host_and_router("filled") as (host, _):
        variables = {"NODENAME": "node-1", "IP": "autodetect", "NO_DEFAULT_POOLS": "true"}
        with NodeAgent(tmp_path, host, **tortie.variables, **variables) as agent:
            agent.wait_ready()
            agent.wait("the socket for the plugin", (tmp_path / "run/tortie/cni.sock").exists)
            conflist = {"name": "k8s-pod-network", "cniVersion": "1.0.0", "plugins": [CALICO]}
            network = Network(host, install(tmp_path), conflist)
            with pods(*(f"web-{number}" for number in range(PODS))) as some, ThreadPoolExecutor(10) as runtime:
                ips = [address(result) for result in runtime.map(network.add, some)]
                assert len(set(ips)) == PODS
                routes = {route["dst"]: route.get("dev", "") for route in host.json("route", "show")}
                assert all(routes[ip].startswith("cali") for ip in ips)
                list(runtime.map(network.check, some))
                list(runtime.map(network.delete, some))
            assert not [link for link in host.json("link", "show") if link["ifname"].startswith("cali")]
            log = (tmp_path / "log").read_text()
            assert not [line for line in log.splitlines() if "cali" in line and "warning" in line.lower()]
            assert "cannot set" not in log
