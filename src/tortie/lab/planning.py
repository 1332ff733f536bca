"""From a topology to the plan of a lab: machines with NICs, MACs, addresses, routes, neighbours, settings and blocks.

Pure and deterministic: the same topology gives the same plan, on every machine and at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_network
from typing import Final

from tortie.lab.forms import LabNode, Topology
from tortie.lab.layout import FABRIC, SERVICES, Layout, Spot, gateway, lay_out, store_address, with_length
from tortie.lab.plan import (
    Bridge,
    LabPlan,
    Machine,
    Neighbour,
    Nic,
    PoolPlan,
    Segment,
    StorePlan,
)
from tortie.lab.pools import blocks_of, pools_of
from tortie.lab.rules import RACK_LABEL
from tortie.model.network import CIDR, IP, Network

ROUTER: Final = "router"


def plan(topology: Topology, name: str) -> LabPlan:
    layout = lay_out(topology)
    pools = pools_of(topology)
    blocks = [blocks_of(pool, layout.numbers) for pool in pools]
    stores = _stores(topology, layout)
    classic = str(topology.classic).removeprefix("v")
    shared = usual_settings(pools, classic=classic)
    nodes = [
        _node(topology, index, layout, shared, tuple(each[index] for each in blocks))
        for index in range(len(topology.nodes))
    ]
    return LabPlan(
        name,
        layout.segments,
        with_neighbours([*nodes, *stores, _router(layout)]),
        StorePlan(topology.store.kind, tuple(store.name for store in stores), topology.store.tls),
        pools,
        layout.racks,
        classic=classic,
        hurry=topology.kubelet.hurry if topology.kubelet else 0,
    )


def with_neighbours(machines: Iterable[Machine]) -> tuple[Machine, ...]:
    """Every machine knows everybody else in its segments.

    The kernel's table of neighbours is one for all namespaces and has room for about 1,000; permanent entries do not
    count. In a large lab the entries are many, so machines share them.
    """
    machines = tuple(machines)
    present: dict[str, list[Nic]] = {}
    for nic in (nic for machine in machines for nic in machine.nics):
        present.setdefault(nic.segment, []).append(nic)
    entries: dict[tuple[str, str], list[Neighbour]] = {}
    result = []
    for machine in machines:
        own = {nic.mac for nic in machine.nics}
        known: list[Neighbour] = []
        for nic in machine.nics:
            key = (nic.segment, nic.name)
            if key not in entries:
                entries[key] = [
                    Neighbour(nic.name, cidr.ip, other.mac)
                    for other in present[nic.segment]
                    for cidr in other.addresses
                ]
            known += [entry for entry in entries[key] if entry.mac not in own]
        result.append(machine._replace(neighbours=tuple(known)))
    return tuple(result)


def _node(
    topology: Topology, index: int, layout: Layout, shared: dict[str, str], blocks: tuple[Network, ...]
) -> Machine:
    node: LabNode = topology.nodes[index]
    rack = layout.rack_of[index]
    names = ["eth0", *(str(nic.name) for nic in node.nics)]
    nics = []
    for place, name in enumerate(names):
        spot = Spot(index, place)
        nics.append(_nic(name, layout.segment(layout.segment_of[spot]), layout.addresses[spot]))
    bridges = (Bridge(str(bridge.name), tuple(bridge.given.values())) for bridge in node.bridges)
    settings = shared | _texts(topology.settings) | _texts(node.settings) | {"NODENAME": str(node.name)}
    return Machine(
        str(node.name),
        "node",
        rack,
        tuple(nics),
        tuple(bridges),
        routes=_default_routes(layout.segment(nics[0].segment)),
        forwarding=True,
        settings=settings,
        labels=dict(node.labels) | ({RACK_LABEL: rack} if rack else {}),
        blocks=blocks,
    )


def _nic(name: str, segment: Segment, addresses: Sequence[CIDR]) -> Nic:
    """The MAC holds the IPv4 address: no two machines of a lab have the same, and it is easily read."""
    first = addresses[0].ip
    mac = (b"\x02\x77" + first.packed[:4]).hex(":")
    return Nic(name, mac, tuple(addresses), segment.name, segment.mtu)


def _default_routes(segment: Segment) -> tuple[tuple[Network, IP], ...]:
    routes: list[tuple[Network, IP]] = [(ip_network("0.0.0.0/0"), gateway(segment.network))]
    if segment.network6:
        routes.append((ip_network("::/0"), gateway(segment.network6)))
    return tuple(routes)


def _stores(topology: Topology, layout: Layout) -> list[Machine]:
    if topology.store.kind == "embedded":
        return []
    segment = layout.segment(SERVICES if layout.racks else FABRIC)
    stores = []
    for member in range(1, topology.store.members + 1):
        addresses = [with_length(store_address(network, member), network) for network in _networks(segment)]
        nic = _nic("eth0", segment, addresses)
        stores.append(Machine(f"etcd-{member}", "store", "", (nic,), routes=_default_routes(segment)))
    return stores


def _router(layout: Layout) -> Machine:
    nics = []
    for place, segment in enumerate(layout.segments[: layout.routed]):
        addresses = [with_length(gateway(network), network) for network in _networks(segment)]
        nics.append(_nic(f"eth{place}", segment, addresses))
    return Machine(ROUTER, "router", "", tuple(nics), forwarding=True)


def _networks(segment: Segment) -> tuple[Network, ...]:
    return (segment.network, segment.network6) if segment.network6 else (segment.network,)


def usual_settings(pools: Sequence[PoolPlan], *, classic: str) -> dict[str, str]:
    """What all nodes of the lab are told. The pools are there already; a node that had to make them makes the same.

    A lab without IPv6 has no pool for it; what old releases make of that is theirs.
    """
    settings = {"CALICO_NETWORKING_BACKEND": "bird", "FELIX_LOGSEVERITYSCREEN": "info"}
    for pool in pools:
        stem = f"CALICO_IPV{pool.cidr.version}POOL_"
        settings |= {
            f"{stem}CIDR": str(pool.cidr),
            f"{stem}BLOCK_SIZE": str(pool.block_size),
            f"{stem}VXLAN": pool.vxlan,
            f"{stem}NAT_OUTGOING": str(pool.nat_outgoing).lower(),
        }
        if pool.cidr.version == 4:
            settings[f"{stem}IPIP"] = pool.ipip
    if any(pool.cidr.version == 6 for pool in pools):
        settings["IP6"] = "autodetect"  # without it a node takes no IPv6 address
    elif not classic:
        settings["CALICO_IPV6POOL_CIDR"] = "none"
    return settings


def _texts(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}
