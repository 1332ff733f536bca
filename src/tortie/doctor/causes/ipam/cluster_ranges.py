"""Ranges of pods and services as settings, pools and commands give them, and which of them meet."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from tortie.doctor.causes.datastore.api_evidence import vips
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, Pod, Pool
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

POD_SUBNET: Final = Sign("trt5008-pod-subnet", "podSubnet: <cidr>")
SERVICE_SUBNET: Final = Sign("trt5008-service-subnet", "serviceSubnet: <cidr>")
SERVICE_FLAG: Final = Sign("trt5008-service-flag", "service-cluster-ip-range=<cidr>")
CLUSTER_FLAG: Final = Sign("trt5008-cluster-flag", "cluster-cidr=<cidr>")
POOL_NAMES: Final = ("CALICO_IPV4POOL_CIDR", "podSubnet", "cluster-cidr", "clusterCIDR", "podCIDR")
SERVICE_NAMES: Final = ("serviceSubnet", "service-cluster-ip-range", "serviceCIDR", "serviceClusterIPRange")
# Links that never carry the node's own network.
VIRTUAL: Final = lazily(
    r"^(lo|cali|tunl|vxlan|docker|br-|veth|kube-ipvs|nodelocaldns|flannel|cni|dummy|virbr|wireguard|ipvl|kube-bridge|weave)"
)
_CIDR: Final = lazily(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}/\d{1,2}(?!\d)")
_INIT: Final = lazily(r"--pod-network-cidr[= ]{1,2}[\"']?((?:\d{1,3}\.){3}\d{1,3}/\d{1,2})(?!\d)")
_SHORT: Final = 400  # lines; a longer exhibit is a log


Network = IPv4Network | IPv6Network


class Range(NamedTuple):
    network: Network
    place: Place
    name: str = ""  # of the pool or the setting


class Overlap(NamedTuple):
    kind: str  # pods-nodes, pods-gateway, pods-outside, pods-beyond, services-nodes, services-pods, pods-service
    range: str
    other: str  # address or range inside it
    places: tuple[Place, ...]
    name: str = ""
    node: str = ""

    @property
    def pool(self) -> str:
        return "" if self.name in (*POOL_NAMES, *SERVICE_NAMES) else self.name


def network_of(text: str) -> Network | None:
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return network if network.prefixlen < network.max_prefixlen - 1 else None


def _ranges(picture: Picture, names: tuple[str, ...], *signs: Sign) -> list[Range]:
    texts = [(s.value, s.place, s.name) for name in names for s in picture.settings(name)]
    texts += [(hit.value("cidr"), hit.place, "") for hit in picture.hits(*signs)]
    return [Range(n, place, name) for text, place, name in texts for part in text.split(",") if (n := network_of(part))]


def _pool_ranges(picture: Picture) -> Iterator[Range]:
    """Of the pools themselves; where they are not read as such, whatever their list shows."""
    pools = [pool for pool in picture.of(Pool) if pool.disabled is not True and network_of(pool.cidr)]
    yield from (Range(n, pool.place, pool.name) for pool in pools if (n := network_of(pool.cidr)))
    # Felix keeps the ranges of all pools in a set of the kernel's.
    listed = [*picture.commands("ippool"), *picture.commands("all-ipam-pools")]
    for exhibit in [] if pools else listed:
        for index, line in enumerate(exhibit.lines[:100]):
            match = _CIDR.search(line)
            if match and (network := network_of(match[0])):
                yield Range(network, exhibit.place(index))


def _init_ranges(picture: Picture) -> list[Range]:
    """What kubeadm was started with, typed or told: one range only, and no pod that has its address elsewhere."""
    rows = [
        (line, exhibit.place(max(at, 0)))
        for exhibit in picture.exhibits
        if len(exhibit.lines) <= _SHORT
        for at, line in [(-1, exhibit.command), *enumerate(exhibit.lines)]
        if "--pod-network-cidr" in line
    ]
    told = [Range(n, place) for line, place in rows for m in _INIT.finditer(line[:1000]) if (n := network_of(m[1]))]
    hosts = {address for address, _, _ in host_addresses(picture)}
    pods = [pod.ip for pod in picture.pods_now() if pod.ip and pod.ip not in hosts]
    one = len({item.network for item in told}) == 1
    fits = one and (not pods or any(lies_in(address, told[0].network) for address in pods))
    return told[:1] if fits else []


def pod_ranges(picture: Picture) -> list[Range]:
    ranges = [*_pool_ranges(picture), *_ranges(picture, POOL_NAMES, POD_SUBNET, CLUSTER_FLAG)]
    ranges = ranges or [Range(n, s.place, "") for s in picture.settings("cidr", "ippool") if (n := network_of(s.value))]
    ranges = ranges or _init_ranges(picture)
    return list({r.network: r for r in reversed(ranges)}.values())


def service_ranges(picture: Picture) -> list[Range]:
    return list({r.network: r for r in _ranges(picture, SERVICE_NAMES, SERVICE_SUBNET, SERVICE_FLAG)}.values())


def host_addresses(picture: Picture) -> list[tuple[str, str, Place]]:
    """(address, node, place) of what the machines themselves carry."""
    nodes = [(n.internal_ip, n.name, n.place) for n in picture.nodes_now().values() if n.internal_ip]
    # Of two families the second one stands beside the first.
    nodes += [
        (address, n.name, n.place)
        for n in picture.nodes_now().values()
        for kind, address in n.addresses
        if kind == "InternalIP" and address != n.internal_ip
    ]
    agents = [(p.ip or p.host_ip, p.node, p.place) for p in picture.agents_now() if p.ip or p.host_ip]
    links = [
        (address.split("/")[0], link.host, link.place)
        for link in picture.of(Interface)
        if not VIRTUAL.match(link.name)
        for address in link.addresses
        if not address.endswith(("/32", "/128")) and not address.lower().startswith("fe80")
    ]
    return [*nodes, *agents, *links]


def _name_servers(picture: Picture) -> list[tuple[str, str, Place]]:
    """Those that machines are told to ask; clouds have them in ranges that look free, like 100.64.0.0/10."""
    pods = {pod.ip for pod in picture.of(Pod)}
    return [(s.value, "", s.place) for s in picture.settings("nameserver", "resolv.conf") if s.value not in pods]


def lies_in(address: str, network: Network) -> bool:
    try:
        return ip_address(address) in network
    except ValueError:
        return False


def _meet(one: Network, other: Network) -> bool:
    if isinstance(one, IPv4Network):
        return isinstance(other, IPv4Network) and one.overlaps(other)
    return isinstance(other, IPv6Network) and one.overlaps(other)


def overlaps(picture: Picture) -> list[Overlap]:
    pods, services, hosts = pod_ranges(picture), service_ranges(picture), host_addresses(picture)
    return [
        *_over_nodes("pods-nodes", pods, hosts),
        *_over_nodes("pods-outside", pods, _name_servers(picture)),
        *_over_nodes("services-nodes", services, hosts),
        *_over_services(picture, pods, services),
        *_pods_in_services(picture, services, {address for address, _, _ in hosts}),
    ]


def _over_nodes(kind: str, ranges: list[Range], hosts: list[tuple[str, str, Place]]) -> Iterator[Overlap]:
    for item in ranges:
        inside = next(((a, n, p) for a, n, p in hosts if lies_in(a, item.network)), None)
        if inside:
            address, node, place = inside
            yield Overlap(kind, str(item.network), address, (item.place, place), item.name, node)


def _over_services(picture: Picture, pods: list[Range], services: list[Range]) -> Iterator[Overlap]:
    for pod in pods:
        for service in services:
            if _meet(pod.network, service.network):
                places = (service.place, pod.place)
                yield Overlap("services-pods", str(service.network), str(pod.network), places, pod.name)
        vip = next((v for v in vips(picture) if lies_in(v, pod.network)), None)
        if vip and not services:
            yield Overlap("pods-service", str(pod.network), vip, (pod.place,), pod.name)


def _pods_in_services(picture: Picture, services: list[Range], hosts: set[str]) -> Iterator[Overlap]:
    networked = [pod for pod in picture.of(Pod) if pod.ip and pod.ip not in hosts]
    for service in services:
        stray = next((pod for pod in networked if lies_in(pod.ip, service.network)), None)
        if stray:
            yield Overlap("services-pods", str(service.network), stray.ip, (service.place, stray.place))
