"""What to set when autodetection comes to nothing, so that the next start finds an address.

A way is tried on paper before it is told: advice that leads to another address is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_interface
from typing import Final

from tortie.addressing.calico import choose_like_calico
from tortie.addressing.choice import Rejected, Surroundings
from tortie.addressing.decision import variable
from tortie.addressing.methods import Agreed, BadMethod, parse_method
from tortie.addressing.patterns import exactly
from tortie.addressing.standing import address_fault, interface_fault, is_real
from tortie.addressing.versions import LATEST, CalicoVersion
from tortie.model.network import CIDR, Family, Interface

# Trying a way costs a walk over all interfaces, and nobody reads a hundred of them.
_WAYS_MAX: Final = 6


def ways_to(
    address: CIDR,
    interface: str,
    surroundings: Surroundings,
    version: CalicoVersion = LATEST,
    *,
    shares_interface: bool = False,
) -> list[str]:
    """Settings that lead to the address, as a person writes them; the last one, the address itself, always does.

    An interface that several candidates share is no way to tell them apart, whichever of them comes first today.
    """
    family: Family = 4 if address.version == 4 else 6
    forms = [] if shares_interface else [f"interface={interface}", f"interface={exactly(interface)}"]
    good = [form for form in forms if _leads_to(form, address, interface, family, surroundings, version)][:1]
    if _leads_to(by_network := f"cidr={address.network}", address, interface, family, surroundings, version):
        good.append(by_network)
    return [*(f"{variable(family)}_AUTODETECTION_METHOD={form}" for form in good), f"{variable(family)}={address}"]


def say_which(tied: Iterable[Rejected], surroundings: Surroundings, version: CalicoVersion = LATEST) -> str:
    """A way for each of the candidates that are equally good."""
    candidates = [(ip_interface(each.address), each.interface) for each in tied]
    interfaces = [interface for _, interface in candidates]
    ways = []
    for cidr, name in candidates[:_WAYS_MAX]:
        way = ways_to(cidr, name, surroundings, version, shares_interface=interfaces.count(name) > 1)[0]
        ways.append(f"{way} for {cidr}")
    more = f", and so on for {len(candidates) - _WAYS_MAX} more" if len(candidates) > _WAYS_MAX else ""
    return f"say which: {', or '.join(ways)}{more}"


def when_nothing_suits(
    family: Family, rejected: Iterable[Rejected], pending: tuple[str, ...], surroundings: Surroundings
) -> str:
    name = variable(family)
    in_pool = next((each for each in rejected if each.reason.startswith("it lies in the pool")), None)
    if in_pool:
        return f"the pool overlaps the network of this node: replace it, or insist with {name}={in_pool.address}"
    dark = next((name for name in pending if _has_address(surroundings.network.named(name), family)), "")
    if dark:
        way = (
            f"{dark} has an address, but no carrier: look at its cable or at the other end; the node notices by itself"
        )
    elif pending:
        way = f"give {pending[0]} an IPv{family} address; the node notices by itself"
    else:
        by_hand = f"{name}_AUTODETECTION_METHOD=interface=<name>"
        way = f"give an interface an IPv{family} address, or name one that was passed over: {by_hand}"
    alone = only_the_other_family(family, surroundings)
    return f"{alone}; or {way}" if alone else way


def _has_address(interface: Interface | None, family: Family) -> bool:
    return interface is not None and any(
        address.cidr.version == family and not address.cidr.ip.is_link_local for address in interface.addresses
    )


def only_the_other_family(family: Family, surroundings: Surroundings) -> str:
    """The settings for a machine that has no address of this family, but a good one of the other; "" otherwise."""
    network = surroundings.network
    # A container bridge has an IPv4 address on an IPv6-only machine, too; and every interface a link-local IPv6 one.
    own = (
        address.cidr.ip
        for interface in network.interfaces
        if is_real(interface, network)
        for address in interface.addresses
        if address.cidr.version == family
    )
    if any(family == 4 or not ip.is_link_local for ip in own):
        return ""
    if not _has_good_address(6 if family == 4 else 4, surroundings):
        return ""
    if family == 4:
        return "this machine has IPv6 alone: set IP=none and IP6=autodetect, and for Calico CALICO_ROUTER_ID=hash"
    return "this machine has IPv4 alone: set IP6=none"


def _has_good_address(family: Family, surroundings: Surroundings) -> bool:
    network, pools = surroundings.network, surroundings.pools
    return any(
        address.cidr.version == family and not address_fault(address, interface, pools)
        for interface in network.interfaces
        if not interface_fault(interface, network)
        for address in interface.addresses
    )


def _leads_to(
    form: str, address: CIDR, interface: str, family: Family, surroundings: Surroundings, version: CalicoVersion
) -> bool:
    try:
        method = parse_method(form)
    except BadMethod:
        return False  # a name may hold brackets or a comma
    if isinstance(method, Agreed) or str(method) != form:
        return False
    found = choose_like_calico(method, family, surroundings, version)
    return (found.chosen, found.interface) == (address, interface)
