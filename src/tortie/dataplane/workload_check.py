"""Whether the cable of a pod is still as it was laid: every difference in words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from ipaddress import IPv4Interface, ip_network
from typing import Final

from tortie.dataplane.workload import GATEWAY4, GATEWAY6, HOST_MAC, TIMEOUT_S, Cable, settings_of
from tortie.host.links import observe
from tortie.host.namespaces import Inside
from tortie.host.netlink import Netlink
from tortie.host.pod_wires import link_named, route_to
from tortie.model.network import IP, HostNetwork, Interface, Network

_HOST4: Final = (("ipv4/conf", "proxy_arp"), ("ipv4/conf", "forwarding"), ("ipv4/conf", "route_localnet"))
_HOST6: Final = (("ipv6/conf", "proxy_ndp"), ("ipv6/conf", "forwarding"))


def differences(cable: Cable, namespace: int, *, timeout_s: float = TIMEOUT_S) -> list[str]:
    """None: it is as it was laid. `cable.mac` and `cable.mtu` are compared only if they are given."""
    deadline = time.monotonic() + timeout_s
    with Inside({"net": namespace}), Netlink() as kernel:
        inside = link_named(kernel, cable.inside, deadline)
        there = observe(timeout_s)
    with Netlink() as kernel:
        outside = link_named(kernel, cable.host, deadline)
        found = [*_links(cable, inside, outside)]
        if outside:
            found += _host(kernel, cable, outside, deadline)
    if inside:
        found += _pod(cable, inside, there)
    return found


def _links(cable: Cable, inside: Interface | None, outside: Interface | None) -> Iterator[str]:
    if inside is None:
        yield f"the pod has no interface {cable.inside}"
    elif cable.mac and inside.mac != cable.mac:
        yield f"{cable.inside} in the pod has the MAC {inside.mac}, not {cable.mac}"
    if inside and "up" not in inside.flags:
        yield f"{cable.inside} in the pod is down"
    if inside and cable.mtu and inside.mtu != cable.mtu:
        yield f"{cable.inside} in the pod has the MTU {inside.mtu}, not {cable.mtu}"
    if outside is None:
        yield f"the node has no interface {cable.host}"
    elif "up" not in outside.flags:
        yield f"{cable.host} is down"
    if outside and outside.mac != HOST_MAC:
        yield f"{cable.host} has the MAC {outside.mac}, not {HOST_MAC}"
    if inside and outside and (inside.parent, outside.parent) != (outside.index, inside.index):
        yield f"{cable.host} is not the other end of {cable.inside} in the pod"


def _host(kernel: Netlink, cable: Cable, outside: Interface, deadline: float) -> Iterator[str]:
    for ip in cable.ips if cable.host_routes else ():
        route = route_to(kernel, ip, deadline)
        if route is None or route.destination != ip_network(ip):
            yield f"the node has no route to {ip}"
        elif route.interface != outside.index:
            yield f"the node's route to {ip} leads to the interface {route.interface}, not to {cable.host}"
    versions = {ip.version for ip in cable.ips}
    wanted = (_HOST4 if 4 in versions else ()) + (_HOST6 if 6 in versions else ())
    for name, value in settings_of(cable.host, wanted).items():
        if value != "1":
            place, _, setting = name.rpartition("/")
            yield f"net.{place.replace('/', '.')}.{cable.host}.{setting} is {value}, not 1"


def _pod(cable: Cable, inside: Interface, there: HostNetwork) -> Iterator[str]:
    link = there.at(inside.index)
    own = {address.cidr.ip for address in link.addresses} if link else set()
    for ip in cable.ips:
        if ip not in own:
            yield f"{cable.inside} in the pod has no address {ip}"
    versions = {ip.version for ip in cable.ips}
    wanted: list[tuple[Network, IP | None]] = [(IPv4Interface(GATEWAY4).network, None)] if 4 in versions else []
    wanted += [(to, GATEWAY4 if to.version == 4 else GATEWAY6) for to in cable.destinations if to.version in versions]
    routes = {(route.destination, route.gateway) for route in there.routes if route.interface == inside.index}
    for destination, gateway in wanted:
        if (destination, gateway) not in routes:
            yield f"the pod has no route to {destination}" + (f" via {gateway}" if gateway else "")
