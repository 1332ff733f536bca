"""Every decision of a start, from what is known to what shall be: pure, so that `explain` shows what `run` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_network
from typing import Any, NamedTuple

from tortie.addressing.choice import Choice, Message, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.conflicts import (
    Conflict,
    Evidence,
    Verdict,
    conflicts_of,
    judge,
    same_name_notice,
    unreadable_notice,
)
from tortie.addressing.decision import AUTODETECT, UNSET, AddressDecision, decide, wants_choice
from tortie.addressing.exclusions import excluded_by
from tortie.addressing.methods import Agreed, CanReach
from tortie.addressing.pools import PoolChoice, choose_default_pool, created_message, pool_document
from tortie.addressing.versions import LATEST
from tortie.model.network import CIDR, IP, Family, HostNetwork, Network
from tortie.node.picture import Picture, addresses_of, key_of, machine_of
from tortie.node.registration import Intent, NewPool
from tortie.node.settings import NodeSettings

FAMILIES: tuple[Family, ...] = (4, 6)


class Addressed(NamedTuple):
    """One family's address: what autodetection made of it, if it ran, and what was decided."""

    family: Family
    choice: Choice | None
    decision: AddressDecision


def can_reach_destinations(settings: NodeSettings) -> list[tuple[str, Family]]:
    """What the kernel has to be asked before an address can be chosen."""
    wanted = []
    for family in FAMILIES:
        method = settings.method(family)
        if isinstance(method, CanReach):
            wanted.append((method.destination, family))
    return wanted


def surroundings_of(network: HostNetwork, picture: Picture, reach: dict[tuple[str, Family], IP | str]) -> Surroundings:
    return Surroundings(
        network,
        others={node.name: node.addresses for node in picture.others},
        stored=addresses_of(picture.node.document) if picture.node else (),
        pools=picture.pools,
        reach=reach,
    )


def choose_addresses(settings: NodeSettings, surroundings: Surroundings) -> tuple[Addressed, ...]:
    """For both families; none of them when Calico is not to manage networking.

    Where nothing is configured at all, the address is chosen at every start: a registered one that was wrong, such as
    a docker bridge's, would stay wrong for ever. Calico chooses again only with IP=autodetect.
    """
    if settings.backend.value == "none":
        return ()
    addressed = []
    for family in FAMILIES:
        setting, method = settings.address(family), settings.method(family)
        if family == 4 and setting is UNSET and isinstance(method, Agreed):
            setting = AUTODETECT
        stored = next((cidr for cidr in surroundings.stored if cidr.version == family), None)
        choice = choose(method, family, surroundings, LATEST) if wants_choice(family, setting, stored) else None
        if choice is None and family == 6 and stored is None and not settings.wants_address(6):
            continue
        decision = decide(family, setting, stored, choice, surroundings.network)
        addressed.append(Addressed(family, choice, decision))
    return tuple(addressed)


def keep_addresses(settings: NodeSettings, surroundings: Surroundings) -> tuple[Addressed, ...] | None:
    """What was registered, if it still is an address that could be chosen: running pods are worth more than votes."""
    calm = surroundings._replace(others={}, network=surroundings.network._replace(routes=()))
    kept = choose_addresses(settings, calm)
    usable = kept and all(each.decision.confirmed and not each.decision.changed for each in kept)
    return kept if usable else None


def chosen(addressed: Iterable[Addressed], family: Family) -> CIDR | None:
    return next((each.decision.address for each in addressed if each.family == family), None)


def find_conflicts(
    settings: NodeSettings, name: str, addressed: Iterable[Addressed], picture: Picture
) -> tuple[Conflict, ...]:
    """Only a new address is compared with the others', as in Calico; a node that is at home anywhere stays there."""
    if settings.disable_node_ip_check.value:
        return ()
    fresh = tuple(each.decision.address for each in addressed if each.decision.changed and each.decision.address)
    return conflicts_of(name, fresh, picture.others)


class Judged(NamedTuple):
    conflict: Conflict
    verdict: Verdict


def judge_conflicts(
    name: str, conflicts: Iterable[Conflict], evidence: Callable[[Conflict], Evidence]
) -> tuple[Judged, ...]:
    return tuple(Judged(conflict, judge(name, conflict, evidence(conflict))) for conflict in conflicts)


def notices(name: str, addressed: Iterable[Addressed], picture: Picture, machine: str) -> tuple[Message, ...]:
    """What is odd about the records found, though it stops nothing."""
    messages: list[Message] = list(unreadable_notice(picture.unreadable))
    addressed = tuple(addressed)
    settled = tuple(each.decision.address for each in addressed if each.decision.address and not each.decision.changed)
    messages += [
        Message("warning", f"Calico node '{each.other}' is already using the IPv{each.ip.version} address {each.ip}.")
        for each in conflicts_of(name, settled, picture.others)
    ]
    if picture.node:
        writer = machine_of(picture.node.document)
        for stored in addresses_of(picture.node.document):
            family: Family = 4 if stored.version == 4 else 6
            messages += same_name_notice(name, stored, chosen(addressed, family), writer, machine)
    return tuple(messages)


def choose_pools(
    settings: NodeSettings,
    addressed: Iterable[Addressed],
    network: HostNetwork,
    picture: Picture,
    random_ula: Callable[[], Network],
    *,
    kernel_has_ipv6: bool,
) -> dict[Family, PoolChoice]:
    """Calico makes an IPv6 pool wherever the kernel has IPv6, also on a node without an IPv6 address."""
    if settings.no_default_pools.value:
        return {}
    addressed = tuple(addressed)
    nodes = tuple(cidr for node in picture.others for cidr in node.addresses)
    own = tuple(each.decision.address for each in addressed if each.decision.address)
    choices = {}
    for family in FAMILIES:
        choices[family] = choose_default_pool(
            family,
            settings.pool(family),
            host=network,
            existing=picture.pools,
            service_ranges=service_ranges(settings, picture),
            node_addresses=nodes + own,
            random_ula=random_ula,
            unsupported=_why_no_ipv6(settings, kernel_has_ipv6) if family == 6 else "",
            unreadable=picture.unreadable_pools,
        )
    return choices


def _why_no_ipv6(settings: NodeSettings, kernel_has_ipv6: bool) -> str:
    if not settings.ipv6_support.value:
        return "FELIX_IPV6SUPPORT is false"
    return "" if kernel_has_ipv6 else "the kernel has no IPv6"


def service_ranges(settings: NodeSettings, picture: Picture) -> tuple[Network, ...]:
    """As far as they are known here: what BGP advertises as service addresses, and the API's own."""
    bgp = picture.documents.get(key_of("BGPConfiguration", "default"))
    spec: Any = (bgp.document.get("spec") if bgp else None) or {}
    texts = [settings.kubernetes_service_host.value or ""]
    for field in ("serviceClusterIPs", "serviceExternalIPs", "serviceLoadBalancerIPs"):
        blocks = spec.get(field) if isinstance(spec, dict) else None
        texts += [str(block.get("cidr", "")) for block in blocks or [] if isinstance(block, dict)]
    networks = []
    for text in texts:
        try:
            networks.append(ip_network(text, strict=False))
        except ValueError:
            continue
    return tuple(networks)


def told_interfaces(network: HostNetwork, families: Iterable[Family]) -> tuple[tuple[str, tuple[IP, ...]], ...]:
    """The interfaces that the Node record tells others about: those that Calico would not exclude."""
    wanted = set(families)
    told = []
    for interface in sorted(network.interfaces, key=lambda interface: interface.name):
        ips = tuple(
            address.cidr.ip
            for address in interface.addresses
            if address.cidr.version in wanted and address.scope == "global" and not address.cidr.ip.is_link_local
        )
        if ips and not excluded_by(interface.name, LATEST):
            told.append((interface.name, ips))
    return tuple(told)


def intent_of(
    settings: NodeSettings,
    name: str,
    machine: str,
    network: HostNetwork,
    addressed: tuple[Addressed, ...],
    judged: Iterable[Judged],
    pools: dict[Family, PoolChoice],
) -> Intent:
    return Intent(
        name,
        ipv4=chosen(addressed, 4),
        ipv6=chosen(addressed, 6),
        as_number=settings.as_number.value,
        k8s_node_ref=settings.k8s_node_ref.value or "",
        interfaces=told_interfaces(network, (each.family for each in addressed if each.decision.address)),
        machine=machine,
        pools=tuple(
            NewPool(
                pool_document(family, pool.cidr, settings.pool(family)),
                created_message(family, pool.cidr, settings.pool(family)).text,
            )
            for family, pool in pools.items()
            if pool.cidr
        ),
        cluster_types=settings.cluster_type.value,
        retire=tuple(dict.fromkeys(each.conflict.other for each in judged if each.verdict.take_over)),
        networking=settings.backend.value != "none",
    )
