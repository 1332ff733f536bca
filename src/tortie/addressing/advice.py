"""What to tell whom one of Calico's methods failed: what the method itself lacks, and what would find an address."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from tortie.addressing.agreed import agreed_choice
from tortie.addressing.calico import CalicoMethod, since
from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.decision import variable
from tortie.addressing.exclusions import excluded_by
from tortie.addressing.methods import ByInterface, CanReach, InCIDRs, KubernetesInternalIP, SkipInterface
from tortie.addressing.patterns import Patterns
from tortie.addressing.remedies import only_the_other_family, say_which, ways_to
from tortie.addressing.versions import LATEST, CalicoVersion
from tortie.model.network import Family, HostNetwork

_NAMED_MAX: Final = 6


def advice(
    method: CalicoMethod, failed: Choice, family: Family, surroundings: Surroundings, version: CalicoVersion = LATEST
) -> str:
    """`failed` is what the method came to. What Tortie would have taken is the best that can be told."""
    lacking = _lacking(method, failed, family, surroundings, version)
    better = agreed_choice(family, surroundings)
    if better.chosen is not None:
        ways = ways_to(better.chosen, better.interface, surroundings, version)
        # A network fits other machines of the cluster, too; an interface's name may not.
        way = next((each for each in ways if "_METHOD=cidr=" in each), ways[0])
        other = f"choose what finds {better.chosen} on {better.interface}, such as {way}"
    elif better.tied:
        other = f"choose another method and {say_which(better.tied, surroundings, version)}"
    elif alone := only_the_other_family(family, surroundings):
        return f"{alone}; or {lacking}" if lacking else better.fix
    else:
        return lacking or better.fix
    return f"{lacking}; or {other}" if lacking else other


def _lacking(
    method: CalicoMethod, failed: Choice, family: Family, surroundings: Surroundings, version: CalicoVersion
) -> str:
    """What would make the method itself succeed; "" where it asks for nothing in particular."""
    if version < since(method):
        return f"run Calico {since(method)} or later, where {method.name} is known"
    network = surroundings.network
    match method:
        case ByInterface():
            wanted = Patterns(method.patterns)
            named = [each.name for each in network.interfaces if wanted.matching(each.name) is not None]
            if named:
                return f"give {named[0]} an IPv{family} address"
            return f"correct the pattern: {_interfaces(network)}"
        case SkipInterface() if failed.failure.endswith("no valid host interfaces found"):
            return f"skip fewer interfaces: {_interfaces(network)}"
        case InCIDRs():
            here = [each for each in method.networks if each.version == family]
            if not here:
                return f"name an IPv{family} network in {variable(family)}_AUTODETECTION_METHOD"
            return f"give an interface an address in {' or '.join(map(str, here))}"
        case CanReach():
            return _way_there(method.destination, family, surroundings)
        case KubernetesInternalIP():
            return _internal_ip(family, surroundings)
    return ""


def _interfaces(network: HostNetwork) -> str:
    names = [each.name for each in network.interfaces if not excluded_by(each.name)]
    if not names:
        return "this machine has none but the loopback and what containers use"
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"this machine has {', '.join(names[:_NAMED_MAX])}{more}"


def _way_there(destination: str, family: Family, surroundings: Surroundings) -> str:
    try:
        target = ip_address(destination)
    except ValueError:
        return f"write an IPv{family} address in place of the name {destination}, or make the name resolve"
    if target.version != family:
        return f"name an IPv{family} destination"
    if not isinstance(surroundings.reach.get((destination, family), ""), str):
        return f"name a destination to which this machine sends from an address of its own, not {destination}"
    return f"give this machine a route to {destination}"


def _internal_ip(family: Family, surroundings: Surroundings) -> str:
    if surroundings.internal_ips is None:
        return "run it on a Kubernetes node, whose InternalIP can be asked for"
    ip = next((ip for ip in surroundings.internal_ips if ip.version == family), None)
    if ip is None:
        return f"give the Kubernetes node an IPv{family} InternalIP (--node-ip of its kubelet)"
    return f"give {ip} to an interface of this machine, or correct the InternalIP (--node-ip of its kubelet)"
