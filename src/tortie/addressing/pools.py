"""The default pools: from which range pods get their addresses when nobody has said so.

Pure. Calico looks at this host's addresses alone, and takes 192.168.0.0/16 when nothing is free. Here a range that
overlaps anything known is not taken: not the networks of this host or of any registered node, not what is routed
from here, not the services' range. When nothing is left, none is chosen and the person is told what to set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any, Final, Literal, NamedTuple

from tortie.addressing.choice import Message
from tortie.model.kinds import API_VERSION
from tortie.model.network import CIDR, Family, HostNetwork, Network, Route

Mode = Literal["Never", "Always", "CrossSubnet"]

_CANDIDATES: Final = (
    "192.168.0.0/16",
    *(f"172.{second}.0.0/16" for second in range(16, 32)),
    *(f"10.{second}.0.0/16" for second in range(255, -1, -1)),
)
_ULA_TRIES: Final = 8
_BLOCK_SIZE: Final[dict[Family, int]] = {4: 26, 6: 122}

# Halves and quarters of everything are how VPNs write a default route; 2000::/3 is one, too.
_EVERYTHING_LENGTH_MAX: Final = 3
_NAMED_MAX: Final = 10


class PoolSettings(NamedTuple):
    """What CALICO_IPV4POOL_* or CALICO_IPV6POOL_* say, for one family."""

    cidr: Network | None = None
    disabled: bool = False  # the CIDR is `none`, or NO_DEFAULT_POOLS
    block_size: int = 0  # 0: the family's default
    ipip: Mode = "Never"
    vxlan: Mode = "Never"
    nat_outgoing: bool = True
    node_selector: str = ""
    disable_bgp_export: bool = False


DEFAULTS: Final[dict[Family, PoolSettings]] = {4: PoolSettings(), 6: PoolSettings(nat_outgoing=False)}


class PoolChoice(NamedTuple):
    """`cidr` is None when no pool is needed (`skipped` says why) or none could be chosen (`failure`)."""

    cidr: Network | None
    reasons: tuple[str, ...] = ()
    rejected: tuple[tuple[Network, str], ...] = ()
    messages: tuple[Message, ...] = ()
    skipped: str = ""
    failure: str = ""
    fix: str = ""
    random: bool = False  # drawn by chance: another start would have another


class _Taken(NamedTuple):
    """A range that is in use; as numbers, because thousands of nodes are compared with hundreds of candidates."""

    first: int
    last: int
    what: str


def choose_default_pool(
    family: Family,
    settings: PoolSettings,
    *,
    host: HostNetwork,
    existing: tuple[Network, ...],
    service_ranges: tuple[Network, ...],
    node_addresses: tuple[CIDR, ...],
    random_ula: Callable[[], Network],
    unsupported: str = "",
    unreadable: tuple[str, ...] = (),
) -> PoolChoice:
    """`existing` are the CIDRs of all pools of both families; one of this family is enough to need no other.

    `unsupported` says why this family cannot be used here; then there is no pool, whatever the settings ask for.
    `unreadable` are the names of pools whose CIDR cannot be read: each may be the one that is needed.
    """
    if settings.disabled:
        skipped = f"{_variable(family)} or NO_DEFAULT_POOLS asks for no pool"
        return PoolChoice(None, skipped=skipped, messages=(_skipping(family),))
    present = [pool for pool in existing if pool.version == family]
    if present:
        return PoolChoice(None, skipped=f"there is an IPv{family} pool: {', '.join(map(str, present[:3]))}")
    if unsupported:
        lost = (Message("warning", f"{_variable(family)}={settings.cidr} makes no pool: {unsupported}"),)
        return PoolChoice(None, skipped=unsupported, messages=lost if settings.cidr else ())
    if unreadable:
        return _undecidable(family, unreadable)
    taken = _taken(family, host, service_ranges, node_addresses)
    if settings.cidr is not None:
        return _explicit(family, settings.cidr, taken)
    if family == 4:
        return _first_free(4, (ip_network(candidate) for candidate in _CANDIDATES), taken)
    drawn = _first_free(6, (random_ula() for _ in range(_ULA_TRIES)), taken)
    reasons = ("nothing known overlaps it, and every cluster has another",)
    return drawn._replace(random=True, reasons=reasons) if drawn.cidr else drawn


def pool_document(family: Family, cidr: Network, settings: PoolSettings) -> dict[str, Any]:
    """The IPPool that stands for the choice. What is left out gets Calico's default when it is stored."""
    spec: dict[str, Any] = {
        "cidr": str(cidr),
        "vxlanMode": settings.vxlan,
        "ipipMode": settings.ipip if family == 4 else "Never",
        "blockSize": settings.block_size or _BLOCK_SIZE[family],
        "nodeSelector": settings.node_selector or "all()",
    }
    if settings.nat_outgoing:
        spec["natOutgoing"] = True
    if settings.disable_bgp_export:
        spec["disableBGPExport"] = True
    name = f"default-ipv{family}-ippool"
    return {"kind": "IPPool", "apiVersion": API_VERSION, "metadata": {"name": name}, "spec": spec}


def created_message(family: Family, cidr: Network, settings: PoolSettings) -> Message:
    ipip = settings.ipip if family == 4 else "Never"
    return Message(
        "info",
        f"Created default IPv{family} pool ({cidr}) with NAT outgoing {_go(settings.nat_outgoing)}. IPIP mode: {ipip}, "
        f"VXLAN mode: {settings.vxlan}, DisableBGPExport: {_go(settings.disable_bgp_export)}",
    )


def _explicit(family: Family, cidr: Network, taken: list[_Taken]) -> PoolChoice:
    name = _variable(family)
    if cidr.version != family:
        failure = f"{name}={cidr} is an IPv{cidr.version} range"
        return PoolChoice(None, failure=failure, fix=f"{_variable(6 if family == 4 else 4)}={cidr}")
    overlaps = list(_overlaps(cidr, taken))
    if len(overlaps) > _NAMED_MAX:
        overlaps[_NAMED_MAX:] = [f"{len(overlaps) - _NAMED_MAX:,} more ranges"]
    effect = "packets for those addresses may go to pods instead"
    return PoolChoice(
        cidr,
        reasons=(f"{name} says so", *(f"overlaps {what}" for what in overlaps)),
        messages=tuple(Message("warning", f"{name}={cidr} overlaps {what}: {effect}") for what in overlaps),
    )


def _undecidable(family: Family, unreadable: tuple[str, ...]) -> PoolChoice:
    """A second pool beside one that is only badly written could give out its addresses twice."""
    names = ", ".join(unreadable[:_NAMED_MAX])
    names += f" and {len(unreadable) - _NAMED_MAX:,} more" if len(unreadable) > _NAMED_MAX else ""
    skipped = f"the CIDR of {'a pool' if len(unreadable) == 1 else 'some pools'} cannot be read: {names}"
    fix = f"`tortie get ippool {unreadable[0]} -o yaml` shows what is wrong; correct it, or delete it if it is not used"
    text = f"No default IPv{family} pool is created, because {skipped}. To go on: {fix}."
    return PoolChoice(None, skipped=skipped, fix=fix, messages=(Message("warning", text),))


def _first_free(family: Family, candidates: Iterator[Network], taken: list[_Taken]) -> PoolChoice:
    rejected: list[tuple[Network, str]] = []
    for candidate in candidates:
        overlap = next(_overlaps(candidate, taken), None)
        if overlap is not None:
            rejected.append((candidate, f"overlaps {overlap}"))
            continue
        messages = [Message("info", f"Selected default IP pool is '{candidate}'")]
        reason = f"the first range that nothing known overlaps ({len(taken)} ranges are in use)"
        if rejected:
            passed_over, why = rejected[0]
            more = f", nor {len(rejected) - 1} ranges after it" if len(rejected) > 1 else ""
            messages.insert(0, Message("info", f"{passed_over} is not taken for pods{more}: it {why}"))
        return PoolChoice(candidate, (reason,), tuple(rejected), tuple(messages))
    name = _variable(family)
    what = "192.168.0.0/16, 172.16.0.0/12 and 10.0.0.0/8" if family == 4 else "the unique local range"
    first = f"{rejected[0][0]} {rejected[0][1]}" if rejected else ""
    failure = f"No default IPv{family} pool can be chosen: everything tried in {what} is in use; {first}"
    fix = f"set {name} to a range that only pods will have, or {name}=none if pools are made by hand"
    message = Message("error", f"{failure}. To go on: {fix}.")
    return PoolChoice(None, (), tuple(rejected), (message,), failure=failure, fix=fix)


def _overlaps(cidr: Network, taken: list[_Taken]) -> Iterator[str]:
    first, last = int(cidr.network_address), int(cidr.broadcast_address)
    return (each.what for each in taken if each.first <= last and first <= each.last)


def _taken(
    family: Family, host: HostNetwork, service_ranges: tuple[Network, ...], node_addresses: tuple[CIDR, ...]
) -> list[_Taken]:
    """One entry for each range, with the first and so the plainest word for it."""
    found: dict[Network, str] = {}
    for interface in host.interfaces:
        for address in interface.addresses:
            found.setdefault(_network_of(address.cidr), f"{address.cidr} of {interface.name}")
    for service_range in service_ranges:
        found.setdefault(service_range, f"the services' range {service_range}")
    for route in host.routes:
        if route.destination.prefixlen > _EVERYTHING_LENGTH_MAX and not _belongs_to_an_address(route):
            through = host.at(route.interface)
            to = f" through {through.name}" if through else f" ({route.kind})"
            found.setdefault(route.destination, f"the route to {route.destination}{to}")
    for node in node_addresses:
        found.setdefault(_network_of(node), f"the node address {node}")
    return [
        _Taken(int(network.network_address), int(network.broadcast_address), what)
        for network, what in found.items()
        if network.version == family
    ]


def _network_of(cidr: CIDR) -> Network:
    """An address that claims everything for its network stands for itself alone."""
    return cidr.network if cidr.network.prefixlen > _EVERYTHING_LENGTH_MAX else ip_network(cidr.ip)


def _belongs_to_an_address(route: Route) -> bool:
    """The kernel's own entries for an address and for its broadcast, which the address itself tells already."""
    return route.kind in ("local", "broadcast", "anycast") and route.destination.num_addresses == 1


def _skipping(family: Family) -> Message:
    return Message("info", f"Skipping IPv{family} pool configuration")


def _variable(family: Family) -> str:
    return f"CALICO_IPV{family}POOL_CIDR"


def _go(value: bool) -> str:
    return str(value).lower()
