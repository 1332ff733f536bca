"""What the router of a lab with racks tells its BIRD: learn every node's blocks, and tell nobody anything.

Nodes peer with each other directly, as Calico's mesh does. A packet to a pod in another rack goes to the router first,
which has to know the blocks, too: each node has it as a BGPPeer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.lab.plan import LabPlan, Machine
from tortie.model.network import IP


def router_text(plan: LabPlan) -> str:
    """A configuration for BIRD 2. Empty when there is nothing to learn: no racks, or tunnels between them."""
    return "\n".join(_lines(plan)) + "\n" if plan.router_learns else ""


def protocol_name(peer: IP) -> str:
    """As Calico names the sessions of one node."""
    return "Node_" + re.sub(r"[.:]", "_", str(peer))


def _lines(plan: LabPlan) -> Iterator[str]:
    families = sorted({address.version for nic in plan.router.nics for address in nic.addresses})
    yield f"# The router between the racks of the lab {plan.name}; written by tortie lab up."
    yield "log stderr { warning, error, fatal, bug };"
    yield 'timeformat protocol "%Y-%m-%dT%H:%M:%S";'
    yield f"router id {plan.router.address};"
    yield ""
    yield "protocol device {"
    yield "}"
    for family in families:
        yield from ("", f"protocol kernel kernel{family} {{", f"  ipv{family} {{")
        yield from ("    import none;", "    export where source = RTS_BGP;", "  };", "}")
    for family in families:
        yield from ("", f"template bgp node{family} {{", f"  local as {plan.as_number};", "  direct;", "  passive on;")
        yield from (f"  ipv{family} {{", "    import all;", "    export none;", "  };", "}")
    for node in plan.nodes:
        yield ""
        yield from _sessions(plan, node)


def _sessions(plan: LabPlan, node: Machine) -> Iterator[str]:
    for address in _one_of_each_family(node):
        yield f"protocol bgp {protocol_name(address)} from node{address.version} {{  # {node.name}"
        yield f"  neighbor {address} as {plan.as_number};"
        yield "}"


def _one_of_each_family(node: Machine) -> list[IP]:
    """The addresses that the node registers: the first of each family of its NIC in the rack."""
    first: dict[int, IP] = {}
    for address in node.nics[0].addresses:
        first.setdefault(address.version, address.ip)
    return list(first.values())
