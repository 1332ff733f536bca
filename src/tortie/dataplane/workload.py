"""The cable of a pod: a veth whose one end is in the pod and whose other end, on the node, answers for everything.

The pod has its address with a prefix of full length and sends all it has to a gateway that exists nowhere
(169.254.1.1, or the link-local address that follows from the host's MAC); the node has one route to each address of the
pod. Neighbours are entered on both sides, so that nobody has to ask: a node without a default route would not answer.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_network
from socket import if_nametoindex
from typing import Final, NamedTuple

from tortie.host.namespaces import Inside
from tortie.host.netlink import Netlink, NetlinkError, Request
from tortie.host.pod_wires import add_pod_cable, route_for_pods, route_to
from tortie.host.wiring import (
    GONE,
    add_address,
    add_route,
    delete_link,
    even_if_gone,
    even_if_there,
    set_link,
    set_neighbour,
)
from tortie.model.errors import TortieError
from tortie.model.network import CIDR, IP, Network, Route

HOST_MAC: Final = "ee:ee:ee:ee:ee:ee"
GATEWAY4: Final = IPv4Address("169.254.1.1")
GATEWAY6: Final = IPv6Address("fe80::ecee:eeff:feee:eeee")
EVERYWHERE: Final = (ip_network("0.0.0.0/0"), ip_network("::/0"))

FIRST: Final = "eth0"  # the interface of a pod that has its default route
BOOT: Final = 3  # the protocol of routes that Felix and its CNI plugin write for pods
METRIC: Final = 1024  # as Felix writes them; so nobody has to write them again

# Of the node's end. Answers for neighbours, no search for duplicates: its address is the same at every pod.
_SETTINGS6: Final = (("disable_ipv6", "0"), ("accept_dad", "0"), ("proxy_ndp", "1"), ("forwarding", "1"))

TIMEOUT_S: Final = 10.0
DELETE_TIMEOUT_S: Final = 20.0

Warn = Callable[[str], None]


class Cable(NamedTuple):
    host: str  # name of the node's end
    inside: str  # name of the pod's end
    mac: str  # of the pod's end
    ips: tuple[IP, ...]
    destinations: tuple[Network, ...] = EVERYWHERE  # what the pod reaches through the node
    mtu: int = 0  # 0: as the kernel likes
    queues: int = 0
    forwarding: bool = False  # whether the pod may pass on what is not for it
    host_routes: bool = True


class AddressTaken(TortieError):
    """The node has a route for the pod's address that leads to somebody else."""

    code = "address-taken"

    def __init__(self, ip: IP, host: str, index: int, other: str, route: Route) -> None:
        self.ip = ip
        super().__init__(
            f"route (Ifindex: {index}, Dst: {route.destination}, Scope: link) already exists for an interface other "
            f"than '{host}': route (Ifindex: {route.interface}, Dst: {route.destination}, Scope: link, Iface: {other})",
            f"{ip} is held by this pod in IPAM, and {other} still has it on this node",
            f"see whose it is: ip route show {ip}; if the other pod is gone: ip link delete {other}",
        )


def lay(cable: Cable, namespace: int, *, warn: Warn, timeout_s: float = TIMEOUT_S) -> None:
    """Makes the cable, whatever was there of that name before. Whole, or not at all.

    In one go: whoever else looks after links and routes on the same thread never meets a cable that is half laid.
    """
    deadline = time.monotonic() + timeout_s
    has6 = any(ip.version == 6 for ip in cable.ips)
    # With IPv6 it stays down until it is told not to look for duplicates of its own address.
    pair = add_pod_cable(
        *(cable.host, HOST_MAC, cable.inside, cable.mac, namespace),
        mtu=cable.mtu,
        queues=cable.queues,
        up=not has6,
    )
    with Netlink() as host:
        try:
            host.request_all([even_if_gone(delete_link(cable.host)), pair, route_for_pods(cable.host)], deadline)
            index = _index_of(cable.host)
            _settle_host(host, cable, index, has6, warn, deadline)
            if cable.host_routes:
                _lead_there(host, cable, index, deadline)
            _settle_pod(cable, namespace, has6, warn, deadline)
        except BaseException:
            with suppress(TortieError):
                host.request_all([even_if_gone(delete_link(cable.host))], time.monotonic() + DELETE_TIMEOUT_S)
            raise


def _settle_host(host: Netlink, cable: Cable, index: int, has6: bool, warn: Warn, deadline: float) -> None:
    _set("ipv4/neigh", cable.host, "proxy_delay", "0", warn)
    _set("ipv6/conf", cable.host, "accept_ra", "0", warn)
    if has6:
        for name, value in _SETTINGS6:
            _set("ipv6/conf", cable.host, name, value)
        # The kernel makes the address of the MAC, unless the machine is told to make up other ones.
        address = even_if_there(add_address(index, IPv6Interface((GATEWAY6, 64))))
        host.request_all([set_link(index, up=True), address], deadline)


def _lead_there(host: Netlink, cable: Cable, index: int, deadline: float) -> None:
    """Felix, or another agent, may have read of the pod in the datastore, and have written the same already."""
    neighbours = [set_neighbour(index, ip, cable.mac) for ip in cable.ips]
    try:
        host.request_all([*_routes(cable, index, replace=False), *neighbours], deadline)
    except NetlinkError as error:
        if error.number != errno.EEXIST:
            raise
        _blame(host, cable, index, deadline)
        host.request_all([*_routes(cable, index, replace=True), *neighbours], deadline)


def _routes(cable: Cable, index: int, *, replace: bool) -> list[Request]:
    return [add_route(_alone(ip), index=index, metric=METRIC, protocol=BOOT, replace=replace) for ip in cable.ips]


def _index_of(name: str) -> int:
    try:
        return if_nametoindex(name)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise NetlinkError(f"the cable's end {name} is gone", why, "find who deleted it", error.errno or 0) from None


def _blame(host: Netlink, cable: Cable, index: int, deadline: float) -> None:
    """Says whose the route is that is in the way."""
    for ip in cable.ips:
        route = route_to(host, ip, deadline)
        if route and route.interface not in (None, index) and route.destination == _alone(ip):
            raise AddressTaken(ip, cable.host, index, _name_of(route.interface), route)


def _name_of(index: int | None) -> str:
    from socket import if_indextoname

    try:
        return if_indextoname(index or 0)
    except OSError:
        return str(index)


def _settle_pod(cable: Cable, namespace: int, has6: bool, warn: Warn, deadline: float) -> None:
    with Inside({"net": namespace}), Netlink() as pod:
        index = _index_of(cable.inside)
        if has6:
            for place in ("all", "default", "lo"):
                if _get("ipv6/conf", place, "disable_ipv6") != "0":
                    _set("ipv6/conf", place, "disable_ipv6", "0")
            _set("ipv6/conf", cable.inside, "accept_dad", "0")
        for place in ("ipv4/conf", "ipv6/conf") if has6 else ("ipv4/conf",):
            _set(place, "all", "forwarding", "1" if cable.forwarding else "0", warn)
        pod.request_all(_inside(index, cable), deadline)


def _inside(index: int, cable: Cable) -> list[Request]:
    requests = [set_link(index, up=True)]
    metric = 0 if cable.inside == FIRST else METRIC + index  # a second one is there for who asks for it
    for version, gateway in ((4, GATEWAY4), (6, GATEWAY6)):
        mine = [ip for ip in cable.ips if ip.version == version]
        if not mine:
            continue
        requests += [add_address(index, _with_full_length(ip)) for ip in mine]
        requests.append(set_neighbour(index, gateway, HOST_MAC))
        if version == 4:
            requests.append(add_route(_alone(gateway), index=index, metric=metric, protocol=BOOT))
        requests += [
            add_route(destination, via=gateway, index=index, metric=metric, protocol=BOOT)
            for destination in cable.destinations
            if destination.version == version
        ]
    return requests


def cut_inside(inside: str, namespace: int, *, timeout_s: float = DELETE_TIMEOUT_S) -> bool:
    """Removes the cable from the pod's end, so that nobody else's can be meant; False if there was none."""
    with Inside({"net": namespace}), Netlink() as pod:
        return _delete(pod, inside, timeout_s)


def cut_outside(host: str, *, timeout_s: float = DELETE_TIMEOUT_S) -> bool:
    """Removes the cable from the node's end: for a pod whose namespace is out of reach."""
    with Netlink() as kernel:
        return _delete(kernel, host, timeout_s)


def _delete(kernel: Netlink, name: str, timeout_s: float) -> bool:
    try:
        kernel.request_all([delete_link(name)], time.monotonic() + timeout_s)
    except NetlinkError as error:
        if error.number in GONE:
            return False
        raise
    return True


def _alone(ip: IP) -> Network:
    return ip_network(ip)


def _with_full_length(ip: IP) -> CIDR:
    return IPv4Interface((ip, 32)) if isinstance(ip, IPv4Address) else IPv6Interface((ip, 128))


def _set(place: str, interface: str, name: str, value: str, warn: Warn | None = None) -> None:
    """A setting of one interface, in the network namespace of the thread. With `warn` it is no failure."""
    path = f"/proc/sys/net/{place}/{interface}/{name}"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        if warn is None:
            fix = "mount /proc/sys writable" if error.errno == errno.EROFS else "use a kernel with IPv6 switched on"
            raise TortieError(f"cannot set {path} to {value}", os.strerror(error.errno or 0), fix) from None
        if error.errno != errno.ENOENT and _get(place, interface, name) != value:
            warn(f"Cannot set {path} to {value}: {os.strerror(error.errno or 0)}")


def _get(place: str, interface: str, name: str) -> str | None:
    try:
        descriptor = os.open(f"/proc/sys/net/{place}/{interface}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 64).decode().strip()
    finally:
        os.close(descriptor)


def settings_of(interface: str, names: Sequence[tuple[str, str]]) -> dict[str, str | None]:
    """As the kernel has them, by `place/name`, in the network namespace of the thread."""
    return {f"{place}/{name}": _get(place, interface, name) for place, name in names}
