"""VXLAN: this node's device, the way to each other node's, and routes to the blocks behind them. Pure.

In a pool with CrossSubnet, nodes of this node's own network are reached without a tunnel. Where a pool has no tunnel at
all, routes and blackholes are BIRD's, and nothing is said about them here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_interface, ip_network
from typing import Final, NamedTuple

from tortie.dataplane.known import State
from tortie.dataplane.mtu import tunnel_mtu
from tortie.dataplane.records import Block, Peer, Pool
from tortie.dataplane.things import BOOT, FELIX, TUNNELS, Concern, Device, DeviceAddress, Forwarding, Neighbour, Route
from tortie.model.network import IP, Family, Interface, Network

# IPv6 takes 0 for 1024, which is BIRD's: a blackhole of both for the same block would be one route with two masters.
METRICS: Final[dict[Family, int]] = {4: 0, 6: 512}


class Tunnel(NamedTuple):
    """All that one family's tunnel is made of."""

    family: Family
    device: Device | None = None
    undecided: bool = False  # what there is stays as it is
    address: DeviceAddress | None = None
    neighbours: Mapping[Neighbour, str] = {}
    forwardings: Mapping[Forwarding, str] = {}
    concerns: tuple[Concern, ...] = ()

    @property
    def usable(self) -> bool:
        return self.device is not None or self.undecided


def wanted(state: State, family: Family) -> bool:
    """Whether any pool, or a person, asks for it."""
    asked = any(pool.vxlan for pool in state.pools if pool.cidr.version == family)
    if state.felix.vxlan_enabled is not None:
        return asked and state.felix.vxlan_enabled
    return asked and (family == 4 or state.felix.ipv6)


def tunnel(state: State, family: Family, links: Sequence[Interface], host: int) -> Tunnel:
    """`host` is the MTU of the machine's links."""
    name, me = TUNNELS[family], state.me
    if not wanted(state, family):
        return Tunnel(family, concerns=_switched_off(state, family))
    there = any(link.name == name for link in links)
    own, vtep = (me.address(family), me.vtep(family)) if me else (None, None)
    neighbours, forwardings = _ways(state, family)
    if me is None or own is None:
        why = f"this node has no IPv{family} address"
        fix = f"give it one: {'IP' if family == 4 else 'IP6'}=autodetect"
        return Tunnel(family, undecided=there, concerns=(Concern(f"{name} cannot be made", why, fix),))
    known = Tunnel(family, None, there, None, neighbours, forwardings)
    if vtep is None:
        why = "this node has no address for the tunnel yet"
        fix = "it is taken from a pool that allows tunnels; the log says what keeps it from that"
        return known._replace(concerns=(Concern(f"{name} is not made", why, fix),))
    parent = next((link for link in links if any(each.cidr.ip == own.ip for each in link.addresses)), None)
    if parent is None:
        why = f"the address of this node, {own.ip}, is on no link"
        fix = "give it to a link, or let the node find another one: IP=autodetect"
        return known._replace(concerns=(Concern(f"{name} cannot be made", why, fix),))
    felix, (ip, mac) = state.felix, vtep
    mtu = tunnel_mtu(host, family, felix)
    device = Device(name, felix.vxlan_vni, felix.vxlan_port, own.ip, parent.name, mac, mtu)
    return known._replace(device=device, undecided=False, address=DeviceAddress(name, ip_interface(ip)))


def _switched_off(state: State, family: Family) -> tuple[Concern, ...]:
    pools = [pool.name for pool in state.pools if pool.cidr.version == family and pool.vxlan]
    if not pools:
        return ()
    what = f"pods of the pool {pools[0]} on other nodes are not reached by VXLAN"
    if state.felix.vxlan_enabled is False:
        return (Concern(what, "vxlanEnabled is false", "leave vxlanEnabled unset: the pools tell what is needed"),)
    return (Concern(what, "ipv6Support is false", "set FELIX_IPV6SUPPORT=true, or delete the pool"),)


def _ways(state: State, family: Family) -> tuple[dict[Neighbour, str], dict[Forwarding, str]]:
    neighbours: dict[Neighbour, str] = {}
    forwardings: dict[Forwarding, str] = {}
    taken: set[object] = set()
    for peer in _others(state):
        address, vtep = peer.address(family), peer.vtep(family)
        if address is None or vtep is None:
            continue
        ip, mac = vtep
        if ip in taken or mac in taken:  # two nodes with the same: the first by name has it, as everywhere
            continue
        taken |= {ip, mac}
        neighbours[Neighbour(TUNNELS[family], ip, mac)] = f"the tunnel of {peer.name}"
        forwardings[Forwarding(TUNNELS[family], mac, address.ip)] = f"the tunnel of {peer.name}"
    return neighbours, forwardings


def routes(
    state: State, tunnels: Mapping[Family, Tunnel], links: Sequence[Interface]
) -> Iterator[tuple[int, Route, str]]:
    """With their rank: where two lead to the same destination, the lower one is meant."""
    me = state.me
    if me is None:
        return
    ways = [_Way(me, tunnels[family], pool, _carriers(me, links)) for family, pool in _tunnelled(state)]
    for block in state.blocks:
        way = next((way for way in ways if way.holds(block.cidr)), None)
        if way is None:
            continue
        if block.host == state.node:
            yield from _own(block)
        elif block.host in state.nodes:
            yield from way.to(block.cidr, state.nodes[block.host], f"block of {block.host}")
        for ip, borrower in block.lent:
            if borrower != state.node and borrower in state.nodes:
                yield from way.to(ip_network(ip), state.nodes[borrower], f"{borrower} uses it out of {block.cidr}")


def _tunnelled(state: State) -> Iterator[tuple[Family, Pool]]:
    needed = {family for family in TUNNELS if wanted(state, family)}
    return ((pool.cidr.version, pool) for pool in state.pools if pool.vxlan and pool.cidr.version in needed)


def _carriers(me: Peer, links: Sequence[Interface]) -> dict[IP, str]:
    """Which link has which of this node's addresses."""
    ours = {address.ip for address in (me.ipv4, me.ipv6) if address}
    return {each.cidr.ip: link.name for link in links for each in link.addresses if each.cidr.ip in ours}


def _own(block: Block) -> Iterator[tuple[int, Route, str]]:
    if block.cidr.prefixlen < block.cidr.max_prefixlen:
        family = block.cidr.version
        yield 8, Route(block.cidr, METRICS[family], FELIX), "own block: nothing of it leaves this node"


class _Way(NamedTuple):
    """To other nodes, for addresses of one pool."""

    me: Peer
    tunnel: Tunnel
    pool: Pool
    carriers: Mapping[IP, str]

    def holds(self, cidr: Network) -> bool:
        pool = self.pool.cidr
        return cidr.version == pool.version and cidr.prefixlen >= pool.prefixlen and cidr.network_address in pool

    def to(self, destination: Network, peer: Peer, why: str) -> Iterator[tuple[int, Route, str]]:
        family = self.tunnel.family
        own, theirs, vtep = self.me.address(family), peer.address(family), peer.vtep(family)
        if own is None or theirs is None:
            return
        if self.pool.vxlan == "CrossSubnet" and theirs.ip in own.network:
            if parent := self.carriers.get(own.ip):
                route = Route(destination, METRICS[family], FELIX, parent, theirs.ip, on_link=True)
                yield 3, route, f"{why}, in the same network"
        elif vtep is not None and self.tunnel.usable:
            yield 4, self._through(destination, vtep[0]), f"{why}, through VXLAN"

    def _through(self, destination: Network, vtep: IP) -> Route:
        family = self.tunnel.family
        name = TUNNELS[family]
        if destination.prefixlen == destination.max_prefixlen and destination.network_address == vtep:
            # The other tunnel's own address: it is the neighbour itself.
            return Route(destination, METRICS[family], BOOT, name, this_link=family == 4)
        return Route(destination, METRICS[family], BOOT, name, vtep, on_link=True)


def _others(state: State) -> Iterator[Peer]:
    return (peer for name, peer in state.nodes.items() if name != state.node)
