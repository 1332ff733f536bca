"""This node as a router: the id it has, where it listens, and what it says about pools, services and prefixes. Pure.

Settings of the node itself (the BGPConfiguration node.<name>) come before those of the cluster (default).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from ipaddress import IPv4Address
from typing import Final, TypeVar

from tortie.bgp.cluster import Cluster, in_order
from tortie.bgp.entries import Speaker
from tortie.bgp.plan import Advertisement, Encapsulation, Pool, Refusal
from tortie.model.fields import BadField
from tortie.model.network import Family, Network
from tortie.model.resources.bgp import BGPConfigurationSpec, CommunityValue, ServiceBlock
from tortie.model.resources.ippool import IPPoolSpec

T = TypeVar("T")

EXCLUDED_FROM_SERVICES: Final = "node.kubernetes.io/exclude-from-external-load-balancers"

_NORMAL_PRIORITY: Final = 1024
_ENCAPSULATED: Final = ("Always", "CrossSubnet")


def chosen_router_id(node: str, wish: str, me: Speaker | None, refusals: list[Refusal]) -> IPv4Address:
    """`wish` is what CALICO_ROUTER_ID says: an address, `hash`, or nothing.

    Calico has no id for a node with IPv6 alone, unless it is told `hash`; here such a node gets the hash by itself.
    """
    if wish and wish != "hash":
        try:
            told = IPv4Address(wish)
        except ValueError:
            told = IPv4Address(0)
        if int(told):
            return told
        why = f"CALICO_ROUTER_ID is {wish!r}, which is neither an IPv4 address nor the word hash"
        what, fix = "the router id is not the one that was asked for", "correct it, or leave it unset"
        refusals.append(Refusal(what, why, fix, "resource"))
    if wish != "hash" and me is not None and me.ipv4 is not None:
        return me.ipv4
    return hashed_id(node)


def hashed_id(node: str) -> IPv4Address:
    """An id out of the node's name, the same one that Calico finds; never among the addresses above 223."""
    first, *rest = sha256(node.encode(errors="surrogateescape")).digest()[:4]
    return IPv4Address(bytes((first - 32 if first > 223 else first, *rest)))


def first_set(own: T | None, default: T | None) -> T | None:
    return own if own is not None else default


def log_level(cluster: Cluster) -> str:
    level = first_set(cluster.own_configuration.logSeverityScreen, cluster.configuration.logSeverityScreen)
    return {None: "info", "Info": "info", "Debug": "debug", "Trace": "debug"}.get(level, "none")


def normal_priority(cluster: Cluster) -> dict[Family, int]:
    own, default = cluster.own_configuration, cluster.configuration
    return {
        4: own.ipv4NormalRoutePriority or default.ipv4NormalRoutePriority or _NORMAL_PRIORITY,
        6: own.ipv6NormalRoutePriority or default.ipv6NormalRoutePriority or _NORMAL_PRIORITY,
    }


def ignored_interfaces(cluster: Cluster, refusals: list[Refusal]) -> tuple[str, ...]:
    patterns = cluster.own_configuration.ignoredInterfaces or cluster.configuration.ignoredInterfaces
    if "*" in patterns:
        why = "with the pattern * BIRD would have no interface at all"
        what, fix = "ignoredInterfaces: * is passed over", "name interfaces, such as docker*"
        refusals.append(Refusal(what, why, fix, "resource"))
    return tuple(pattern for pattern in patterns if pattern != "*")


def pools(
    known: Mapping[str, IPPoolSpec], has_ipip: bool, own_dataplane: bool, refusals: list[Refusal]
) -> tuple[Pool, ...]:
    found = [_pool(name, spec, refusals) for name, spec in known.items()]
    if own_dataplane:
        refusals += (_no_ipip(pool, in_kernel=has_ipip) for pool in found if pool.encapsulation == "ipip")
    return tuple(sorted(found, key=lambda pool: (in_order(pool.cidr), pool.name)))


def _pool(name: str, spec: IPPoolSpec, refusals: list[Refusal]) -> Pool:
    encapsulation: Encapsulation = "none"
    mode = ""
    if spec.vxlanMode in _ENCAPSULATED:
        encapsulation, mode = "vxlan", spec.vxlanMode
    elif spec.ipipMode in _ENCAPSULATED and spec.cidr.version == 4:
        encapsulation, mode = "ipip", spec.ipipMode
    elif spec.ipipMode in _ENCAPSULATED:
        why = f"{spec.cidr} is an IPv6 range, and IPIP carries IPv4 only"
        what, fix = f"IPPool({name}) is not encapsulated", "set vxlanMode instead of ipipMode"
        refusals.append(Refusal(what, why, fix, "pool"))
    return Pool(name, spec.cidr, encapsulation, mode == "CrossSubnet", not spec.disableBGPExport)


def _no_ipip(pool: Pool, *, in_kernel: bool) -> Refusal:
    """BIRD leaves these routes to whoever makes the tunnels. As long as Tortie makes no such ones, it says so."""
    which = "on nodes of other networks" if pool.cross_subnet else "on other nodes"
    lacking = "" if in_kernel else "; nor has this kernel IPIP (CONFIG_NET_IPIP, the module ipip)"
    return Refusal(
        f"IPPool({pool.name}): pods of {pool.cidr} {which} cannot be reached by IPIP",
        f"this version of Tortie makes no IPIP tunnels yet{lacking}",
        "set ipipMode: Never, and vxlanMode to Always or CrossSubnet unless the network between the nodes carries"
        " addresses of pods as they are; or let Calico's Felix make the tunnels and set CALICO_DISABLE_FELIX",
        "pool",
    )


def services(cluster: Cluster, me: Speaker | None) -> tuple[Network, ...]:
    """The ranges that all nodes announce alike. Single addresses belong to single services, and so not here."""
    if me is None or me.labels.get(EXCLUDED_FROM_SERVICES) == "true":
        return ()
    spec = cluster.configuration
    found = {block.cidr for block in spec.serviceClusterIPs if block.cidr is not None}
    found |= _ranges(spec.serviceExternalIPs)
    if spec.serviceLoadBalancerAggregation != "Disabled":
        found |= _ranges(spec.serviceLoadBalancerIPs)
    return tuple(sorted(found, key=in_order))


def _ranges(blocks: tuple[ServiceBlock, ...]) -> set[Network]:
    return {block.cidr for block in blocks if block.cidr is not None and block.cidr.num_addresses > 1}


def advertisements(cluster: Cluster, refusals: list[Refusal]) -> tuple[Advertisement, ...]:
    own = bool(cluster.own_configuration.prefixAdvertisements)
    spec = cluster.own_configuration if own else cluster.configuration
    where = "of this node" if own else "default"
    return tuple(
        Advertisement(advertised.cidr, values)
        for advertised in spec.prefixAdvertisements
        if (values := _communities(advertised.communities, spec, f"BGPConfiguration {where}", refusals))
    )


def _communities(
    asked: tuple[str, ...], spec: BGPConfigurationSpec, where: str, refusals: list[Refusal]
) -> tuple[str, ...]:
    named: dict[str, str] = {community.name: str(community.value) for community in reversed(spec.communities)}
    values: list[str] = []
    for community in asked:
        try:
            values.append(named.get(community) or str(CommunityValue.parse(community)))
        except BadField as bad:
            why = f"it is no name out of communities, and as a value it {bad}"
            fix = f"define it in communities of the {where}, or write a value such as 65000:100"
            what = f"prefixes are advertised without the community {community!r}"
            refusals.append(Refusal(what, why, fix, "resource"))
    return tuple(dict.fromkeys(values))
