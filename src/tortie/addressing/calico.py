"""Calico's own methods, as Calico runs them: what it takes, what it says, and what it does not look at.

Calico walks the interfaces from the highest index down, whatever their state, and takes the first address that is
not refused. Tortie offers the methods under the same names, and the doctor replays them for the release at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_interface
from typing import NamedTuple

from tortie.addressing.choice import Choice, Message, Rejected, Surroundings
from tortie.addressing.exclusions import exclusions
from tortie.addressing.methods import (
    ByInterface,
    CanReach,
    FirstFound,
    InCIDRs,
    KubernetesInternalIP,
    Method,
    SkipInterface,
)
from tortie.addressing.patterns import Patterns
from tortie.addressing.routing import Router
from tortie.addressing.versions import (
    CIDR_SINCE,
    INTERNAL_IP_SINCE,
    LATEST,
    CalicoVersion,
    invalid_method,
    loses_host_bits,
)
from tortie.model.network import CIDR, IP, Address, Family, HostNetwork, Interface

CalicoMethod = FirstFound | ByInterface | SkipInterface | CanReach | InCIDRs | KubernetesInternalIP

# From an interface or an address to why it is refused; empty when it is not.
_Refusal = Callable[[Interface, CIDR | None], str]


class _Found(NamedTuple):
    interface: Interface | None
    address: Address | None
    rejected: tuple[Rejected, ...]
    error: str  # in Calico's words; empty when an address was found


def choose_like_calico(
    method: CalicoMethod, family: Family, surroundings: Surroundings, version: CalicoVersion = LATEST
) -> Choice:
    network = surroundings.network
    match method:
        case FirstFound():
            excluded = Patterns(exclusions(version))
            return _walked(method, family, network, lambda interface, _: _excluded(interface, excluded))
        case SkipInterface():
            skipped = Patterns((*exclusions(version), *method.patterns))
            return _walked(method, family, network, lambda interface, _: _excluded(interface, skipped))
        case ByInterface():
            wanted = Patterns(method.patterns)
            return _walked(method, family, network, lambda interface, _: _unwanted(interface, wanted))
        case InCIDRs() if version >= since(method):
            return _walked(method, family, network, lambda _, cidr: _outside(cidr, method))
        case CanReach():
            return _reached(method, family, surroundings)
        case KubernetesInternalIP() if version >= since(method):
            return _internal(method, family, surroundings, version)
        case _:
            failure = invalid_method(str(method), version)
            return _failed(method, family, network, f"{version} does not know {method.name}", failure, "error")


def since(method: Method) -> CalicoVersion:
    """The first release that knows the method."""
    match method:
        case InCIDRs():
            return CIDR_SINCE
        case KubernetesInternalIP():
            return INTERNAL_IP_SINCE
        case _:
            return CalicoVersion(0, 0)


def not_global_unicast(ip: IP) -> str:
    """Why Go does not call it global unicast; private networks are, for Go."""
    if ip.is_unspecified:
        return "stands for no address at all"
    if ip.is_loopback:
        return "is a loopback address"
    if ip.is_multicast:
        return "is a multicast address"
    if ip.is_link_local:
        return "is link-local"
    return "is the broadcast address" if str(ip) == "255.255.255.255" else ""


def without_address(family: Family) -> str:
    return f"has no IPv{family} address"


def _excluded(interface: Interface, patterns: Patterns) -> str:
    pattern = patterns.matching(interface.name)
    return "" if pattern is None else f"excluded by {pattern}"


def _unwanted(interface: Interface, patterns: Patterns) -> str:
    if patterns.matching(interface.name) is not None:
        return ""
    return f"the name does not match {' or '.join(patterns.patterns)}"


def _outside(cidr: CIDR | None, method: InCIDRs) -> str:
    if cidr is None or any(cidr.ip in network for network in method.networks):
        return ""
    return f"not in {' or '.join(map(str, method.networks))}"


def _walk(network: HostNetwork, family: Family) -> Iterator[tuple[Interface, list[Address]]]:
    for interface in reversed(network.interfaces):
        yield interface, [address for address in interface.addresses if address.cidr.version == family]


def _enumerate(network: HostNetwork, family: Family, refusal: _Refusal) -> _Found:
    taken: tuple[Interface, Address] | None = None
    rejected = []
    considered = 0
    for interface, addresses in _walk(network, family):
        refused = refusal(interface, None)
        considered += not refused
        if not addresses:
            rejected.append(Rejected("", interface.name, refused or without_address(family)))
        for address in addresses:
            reason = refused or not_global_unicast(address.cidr.ip) or refusal(interface, address.cidr)
            if not reason and taken is None:
                taken = interface, address
            else:
                rejected.append(Rejected(str(address.cidr), interface.name, reason or _late(interface, taken)))
    if taken is not None:
        return _Found(*taken, tuple(rejected), "")
    error = f"no valid IPv{family} addresses found on the host interfaces"
    return _Found(None, None, tuple(rejected), error if considered else "no valid host interfaces found")


def _late(interface: Interface, taken: tuple[Interface, Address] | None) -> str:
    if taken is None:
        raise AssertionError("whatever comes late comes after something")
    first, address = taken
    if first is interface:
        return f"comes after {address.cidr}: Calico takes the first address of an interface"
    return f"interface {interface.name} comes after {first.name}: Calico takes the highest index first"


def _walked(method: CalicoMethod, family: Family, network: HostNetwork, refusal: _Refusal) -> Choice:
    found = _enumerate(network, family, refusal)
    if found.interface is None or found.address is None:
        failure = _failure_text(method, family, found.error)
        messages = (Message("warning", failure),)
        return Choice(family, str(method), None, "", (), found.rejected, failure=failure, messages=messages)
    interface, cidr = found.interface, found.address.cidr
    reasons = (_why_first(method, interface), *_overlooked(interface, found.address))
    messages = (Message("info", _success_text(method, family, interface.name, cidr)),)
    return Choice(family, str(method), cidr, interface.name, reasons, found.rejected, messages=messages)


def _why_first(method: CalicoMethod, interface: Interface) -> str:
    match method:
        case ByInterface():
            which = f"whose name matches {' or '.join(method.patterns)}"
        case InCIDRs():
            which = f"with an address in {' or '.join(map(str, method.networks))}"
        case _:
            which = "that are not excluded by name and have a global address"
    return f"{interface.name} has the highest index ({interface.index}) of the interfaces {which}"


def _overlooked(interface: Interface, address: Address) -> Iterator[str]:
    """What a person would want to know of a choice that Calico makes with its eyes closed."""
    if not interface.is_up:
        yield "the link is down, which Calico does not look at"
    for flag in ("secondary", "temporary", "deprecated", "tentative", "dadfailed"):
        if flag in address.flags:
            yield f"the address is {flag}, which Calico does not look at"


def _success_text(method: CalicoMethod, family: Family, name: str, cidr: CIDR) -> str:
    match method:
        case ByInterface():
            return f"Using autodetected IPv{family} address {cidr} on matching interface {name}"
        case SkipInterface():
            return (
                f"Using autodetected IPv{family} address on interface {name}: {cidr} while skipping matching interfaces"
            )
        case InCIDRs():
            cidrs = " ".join(map(str, method.networks))
            return f"Using autodetected IPv{family} address {cidr} on interface {name} matching cidrs [{cidrs}]"
        case _:
            return f"Using autodetected IPv{family} address on interface {name}: {cidr}"


def _failure_text(method: CalicoMethod, family: Family, error: str) -> str:
    match method:
        case ByInterface():
            how = f" using interface regexes [{' '.join(method.patterns)}]"
        case SkipInterface():
            how = f" while excluding [{' '.join(method.patterns)}]"
        case InCIDRs():
            how = f" using interface cidr [{' '.join(map(str, method.networks))}]"
        case _:
            how = ""
    return f"Unable to auto-detect an IPv{family} address{how}: {error}"


def _owner(network: HostNetwork, family: Family, ip: IP) -> tuple[Interface, Address] | None:
    """Who has the address, for Calico: the highest index first here too."""
    for interface, addresses in _walk(network, family):
        for address in addresses:
            if address.cidr.ip == ip:
                return interface, address
    return None


def _all_but(
    network: HostNetwork, family: Family, owner: tuple[Interface, Address] | None, why: str
) -> Iterator[Rejected]:
    for interface, addresses in _walk(network, family):
        if not addresses:
            yield Rejected("", interface.name, without_address(family))
        for address in addresses:
            if owner is None or interface is not owner[0] or address is not owner[1]:
                yield Rejected(str(address.cidr), interface.name, why)


def _failed(
    method: Method,
    family: Family,
    network: HostNetwork,
    why: str,
    failure: str,
    level: str = "warning",
    before: tuple[Message, ...] = (),
) -> Choice:
    rejected = tuple(_all_but(network, family, None, why))
    messages = (*before, Message(level, failure))
    return Choice(family, str(method), None, "", (), rejected, failure=failure, messages=messages)


def _reached(method: CanReach, family: Family, surroundings: Surroundings) -> Choice:
    destination, network = method.destination, surroundings.network
    source = _sender_to(destination, family, surroundings)
    prefix = f"Unable to auto-detect IPv{family} address by connecting to {destination}: "
    if isinstance(source, str):
        return _failed(method, family, network, f"{destination} cannot be reached", prefix + source)
    connected = f'Auto-detected address by connecting to remote Destination="{destination}" IP={source}'
    messages: tuple[Message, ...] = (Message("info", connected),)
    owner = _owner(network, family, source)
    not_sent_from = f"the kernel sends to {destination} from {source}"
    if owner is None:
        error = f"autodetected IPv{family} address does not match any addresses found on local interfaces: {source}"
        return _failed(method, family, network, not_sent_from, prefix + error, before=messages)
    interface, address = owner
    text = f"Using autodetected IPv{family} address {address.cidr}, detected by connecting to {destination}"
    return Choice(
        family,
        str(method),
        address.cidr,
        interface.name,
        (f"the kernel sends to {destination} from it",),
        tuple(_all_but(network, family, owner, not_sent_from)),
        messages=(*messages, Message("info", text)),
    )


def _sender_to(destination: str, family: Family, surroundings: Surroundings) -> IP | str:
    """What the kernel answered, else what its routes say."""
    if (answer := surroundings.reach.get((destination, family))) is not None:
        return answer
    try:
        target = ip_address(destination)
    except ValueError:
        return f"the address of {destination} is not known here"
    if target.version != family:
        return f"dial udp{family}: address {destination}: no suitable address found"
    source = Router(surroundings.network, family).source(target)
    if isinstance(source, str):
        shown = f"[{destination}]:80" if family == 6 else f"{destination}:80"
        return f"dial udp{family} {shown}: connect: {source}"
    return source


def _internal(
    method: KubernetesInternalIP, family: Family, surroundings: Surroundings, version: CalicoVersion
) -> Choice:
    network = surroundings.network
    if surroundings.internal_ips is None:
        failure = "Cannot use method 'kubernetes-internal-ip' when not running on a Kubernetes cluster"
        return _failed(method, family, network, "there is no Kubernetes node to ask", failure, "error")
    ip = next((ip for ip in surroundings.internal_ips if ip.version == family), None)
    if ip is None:
        failure = "Unable to parse CIDR  : invalid CIDR address: "
        return _failed(method, family, network, f"the Kubernetes node has no IPv{family} InternalIP", failure, "error")
    is_not_it = f"the InternalIP of the Kubernetes node is {ip}"
    owner = _owner(network, family, ip)
    if owner is None:
        unmatched = (Message("warning", f"Unable to find matching host interface for IP {ip}"),)
        failure = f"Unable to parse CIDR {ip} : invalid CIDR address: {ip}"
        return _failed(method, family, network, is_not_it, failure, "error", unmatched)
    interface, address = owner
    messages = (Message("info", f'Including CIDR information from host interface. CIDR="{address.cidr}"'),)
    rejected = tuple(_all_but(network, family, owner, is_not_it))
    chosen = address.cidr
    reasons: tuple[str, ...] = (f"{ip} is the InternalIP of the Kubernetes node",)
    if loses_host_bits(version) and chosen.ip != chosen.network.network_address:
        chosen = ip_interface(str(chosen.network))
        lost = f"{version} registers the network {chosen} in place of the address {address.cidr}"
        rejected = (Rejected(str(address.cidr), interface.name, lost), *rejected)
        reasons = (*reasons, lost)
    return Choice(family, str(method), chosen, interface.name, reasons, rejected, messages=messages)
