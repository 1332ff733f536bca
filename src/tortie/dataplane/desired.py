"""What the store says, as the kernel shall have it: devices, routes, settings, NAT, each with its reason. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Final, NamedTuple

from tortie.dataplane.known import State
from tortie.dataplane.mtu import host_mtu, pod_mtu
from tortie.dataplane.nat import nat_tables
from tortie.dataplane.records import Endpoint
from tortie.dataplane.things import FELIX, TUNNELS, Concern, Desired, Forwarding, NatTable, Neighbour, Route, Setting
from tortie.dataplane.tunnelling import Tunnel, routes, tunnel
from tortie.model.network import IP, Family, Interface, Network

_FAMILIES: Final[tuple[Family, ...]] = (4, 6)


class Outward(NamedTuple):
    """What does not depend on pods: the way to other nodes, and NAT. On a large cluster it is nearly everything."""

    host: int  # the MTU of the machine's links
    tunnels: Mapping[Family, Tunnel]
    routes: Mapping[Route, str]
    by_destination: Mapping[Network, Route]
    neighbours: Mapping[Neighbour, str]
    forwardings: Mapping[Forwarding, str]
    tables: tuple[NatTable, ...]


def outward(state: State, links: Sequence[Interface]) -> Outward:
    """`links` with their addresses, as they are; those of pods may be left out."""
    host = host_mtu(links, state.felix.mtu_pattern)
    tunnels = {family: tunnel(state, family, links, host) for family in _FAMILIES}
    made = [each for each in tunnels.values() if each.usable]
    best: dict[Network, tuple[int, Route, str]] = {}
    for entry in routes(state, tunnels, links):
        known = best.setdefault(entry[1].destination, entry)
        if entry[0] < known[0]:
            best[entry[1].destination] = entry
    return Outward(
        host,
        tunnels,
        {route: why for _, route, why in best.values()},
        {destination: route for destination, (_, route, _) in best.items()},
        {key: why for each in made for key, why in each.neighbours.items()},
        {key: why for each in made for key, why in each.forwardings.items()},
        nat_tables(state, [each.family for each in made]),
    )


def desired(state: State, links: Sequence[Interface], rp_filter: str = "1", beyond: Outward | None = None) -> Desired:
    """`rp_filter` is what the kernel gives to new links; `beyond` is what `outward` says, where that is known."""
    beyond = beyond or outward(state, links)
    tunnels = beyond.tunnels.values()
    waiting, to_pods, neighbours, settings = _of_pods(state, {link.name: link for link in links}, rp_filter)
    all_routes = dict(beyond.routes)
    for route, why in to_pods.values():
        # Of two ways to one destination with different metrics the kernel would take the wrong one.
        if route.destination in beyond.by_destination:
            all_routes.pop(beyond.by_destination[route.destination], None)
        all_routes[route] = why
    return Desired(
        devices={each.device.name: each.device for each in tunnels if each.device},
        left_alone=frozenset(TUNNELS[each.family] for each in tunnels if each.undecided),
        addresses={each.address: "this node's address in the tunnel" for each in tunnels if each.address},
        routes=all_routes,
        neighbours={**beyond.neighbours, **neighbours},
        forwardings=beyond.forwardings,
        settings={**_of_machine(state), **settings},
        tables=beyond.tables,
        mtu=pod_mtu(beyond.host, state.pools, state.felix),
        workload_prefix=state.felix.interface_prefix,
        workloads=frozenset(endpoint.interface for endpoint in state.endpoints.values()),
        protocols=frozenset({state.felix.route_protocol, FELIX}),
        external_removed=state.felix.external_removed,
        waiting=waiting,
        concerns=(*_twice(state), *(concern for each in tunnels for concern in each.concerns)),
    )


def _of_pods(
    state: State, links: Mapping[str, Interface], rp_filter: str
) -> tuple[dict[str, str], dict[IP, tuple[Route, str]], dict[Neighbour, str], dict[Setting, str]]:
    waiting: dict[str, str] = {}
    to_pods: dict[IP, tuple[Route, str]] = {}
    neighbours: dict[Neighbour, str] = {}
    settings: dict[Setting, str] = {}
    for endpoint in state.endpoints.values():
        link = links.get(endpoint.interface)
        if link is None or "up" not in link.flags:
            waiting[endpoint.name] = f"{endpoint.interface} is {'not there' if link is None else 'down'}"
            continue
        why = f"pod {endpoint.name}"
        for ip in _ips(endpoint, state):
            to_pods.setdefault(ip, (_route_to(ip, endpoint.interface, state), why))
            if endpoint.mac:
                neighbours[Neighbour(endpoint.interface, ip, endpoint.mac)] = why
        settings |= dict.fromkeys(_of_link(endpoint.interface, rp_filter, state.felix.ipv6), why)
    return waiting, to_pods, neighbours, settings


def _ips(endpoint: Endpoint, state: State) -> Iterator[IP]:
    return (ip for ip in endpoint.ips if ip.version == 4 or state.felix.ipv6)


def _route_to(ip: IP, interface: str, state: State) -> Route:
    felix = state.felix
    if ip.version == 4:
        source: IP | None = felix.route_source4
        return Route(ip_network(ip), felix.priority4, felix.route_protocol, interface, this_link=True, source=source)
    return Route(ip_network(ip), felix.priority6, felix.route_protocol, interface, source=felix.route_source6)


def _of_link(name: str, rp_filter: str, ipv6: bool) -> Iterator[Setting]:
    """The machine answers for every address on the pod's side, and passes on what the pod sends."""
    yield Setting(f"net/ipv4/conf/{name}/route_localnet", "1")
    yield Setting(f"net/ipv4/neigh/{name}/proxy_delay", "0")
    yield Setting(f"net/ipv4/conf/{name}/proxy_arp", "1")
    yield Setting(f"net/ipv4/conf/{name}/forwarding", "1")
    yield Setting(f"net/ipv4/conf/{name}/rp_filter", rp_filter)
    yield Setting(f"net/ipv6/conf/{name}/accept_ra", "0")
    if ipv6:
        yield Setting(f"net/ipv6/conf/{name}/proxy_ndp", "1")
        yield Setting(f"net/ipv6/conf/{name}/forwarding", "1")


def _of_machine(state: State) -> dict[Setting, str]:
    """IPv6 only where this node has some: with forwarding, Linux no longer listens to routers' advertisements."""
    if not state.felix.forwarding:
        return {}
    why = "packets of pods pass through this machine"
    found = {Setting("net/ipv4/ip_forward", "1"): why}
    has_ipv6 = state.felix.ipv6 and any(pool.cidr.version == 6 for pool in state.pools)
    return found | ({Setting("net/ipv6/conf/all/forwarding", "1"): why} if has_ipv6 else {})


def _twice(state: State) -> Iterator[Concern]:
    """Two pods of this node with one address: the first by name has it."""
    owners: dict[IP, str] = {}
    for endpoint in state.endpoints.values():
        for ip in endpoint.ips:
            owner = owners.setdefault(ip, endpoint.name)
            if owner != endpoint.name:
                what = f"{ip} belongs to the pods {owner} and {endpoint.name}; packets go to {owner}"
                yield Concern(what, "both WorkloadEndpoints name it", "delete the one whose pod is gone")
