"""The router of a lab with racks, with the real BIRD: what nodes announce is in its kernel, and nothing comes back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.netns import Namespace
from tests.support.topologies import planned

from tortie.lab.router import router_text

DEADLINE_S = 30.0

# A node as far as the router sees it: one session for each family, from its own address, not bound to the link.
NODE = """
log stderr { error, fatal, bug };
router id 10.77.1.1;
protocol device { }
protocol direct { ipv4; ipv6; }
protocol static block4 { ipv4; route 10.244.0.0/26 blackhole; }
protocol static block6 { ipv6; route fd77:0:244::/122 blackhole; }
protocol bgp router4 {
  local 10.77.1.1 as 64512; neighbor 10.77.1.254 as 64512; multihop; connect delay time 1;
  ipv4 { import all; export where proto = "block4"; next hop self; };
}
protocol bgp router6 {
  local fd77:0:0:1::1 as 64512; neighbor fd77:0:0:1::fffe as 64512; multihop; connect delay time 1;
  ipv6 { import all; export where proto = "block6"; next hop self; };
}
"""


def test_the_router_learns_the_blocks_of_a_node(tmp_path: Path) -> None:
    plan = planned(nodes=2, racks=2, ipv6=True)
    (tmp_path / "router.cfg").write_text(router_text(plan))
    (tmp_path / "node.cfg").write_text(NODE)
    with Namespace("router") as router, Namespace("node") as node:
        node.veth("eth0", router, "eth1")
        for namespace, device, nic in ((node, "eth0", plan.nodes[0].nics[0]), (router, "eth1", plan.router.nics[1])):
            for address in nic.addresses:
                nodad = ("nodad",) if address.version == 6 else ()
                namespace.ip("addr", "add", address, "dev", device, *nodad)
        router.popen("bird", "-f", "-c", tmp_path / "router.cfg", "-s", tmp_path / "router.ctl")
        node.popen("bird", "-f", "-c", tmp_path / "node.cfg", "-s", tmp_path / "node.ctl")
        _wait_for_route(router, "10.244.0.0/26 via 10.77.1.1 dev eth1")
        _wait_for_route(router, "fd77:0:244::/122 via fd77:0:0:1::1 dev eth1")
        told = node.run("birdc", "-s", tmp_path / "node.ctl", "show", "route", "count", "protocol", "router4").stdout
        assert "0 of" in told, told


def _wait_for_route(namespace: Namespace, route: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    family = "-6" if ":" in route else "-4"
    while route not in (shown := namespace.ip(family, "route")):
        if time.monotonic() > deadline:
            pytest.fail(f"no route {route}:\n{shown}")
        time.sleep(0.05)
