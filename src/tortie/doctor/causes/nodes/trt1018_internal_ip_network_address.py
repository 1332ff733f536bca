"""TRT1018: releases whose method kubernetes-internal-ip registers the address of the whole network for every node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_interface
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.methods import METHOD
from tortie.doctor.causes.nodes.bgp_addresses import TWO, WITH_LENGTH, first_of_two, link_with, masked, registrations
from tortie.doctor.causes.nodes.bgp_addresses import Seen as Recorded
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS, conflicts, node_at, remembered
from tortie.doctor.causes.nodes.wrong_addresses import is_network
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

IN_USE_V6: Final = Sign("trt1018-in-use-v6", "Calico node '<other>' is already using the IPv6 address <ip>")
INTERNAL_IP: Final = "kubernetes-internal-ip"
# From, and the first that is right again.
SICK: Final = (((3, 22), (3, 22, 4)), ((3, 23), (3, 23, 2)))
_IPV6: Final = "IP6_AUTODETECTION_METHOD"


class Seen:
    """Addresses of whole networks that are registered or contested, and by which method."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.release = picture.version("calico")
        self.taken = picture.hits(WITH_LENGTH)
        self.contested = [hit for hit in (*conflicts(picture), *_conflicts_v6(picture)) if self._of_a_network(hit)]
        self.recorded = [one for one in _latest(picture) if one.length and _network(picture, one)]

    def _of_a_network(self, hit: Hit) -> bool:
        """By the length that the log told before it; else by what is usual."""
        address = hit.value("ip")
        if any(_network_of(cidr) == address for cidr in self.lengths):
            return True
        known = [one.length for one in registrations(self.picture) if one.address == address]
        return ":" not in address and is_network(address, known[-1] if known else 0)

    @cached_property
    def lengths(self) -> list[str]:
        return [hit.value("cidr") for hit in self.taken]

    @cached_property
    def addresses(self) -> list[str]:
        found = [hit.value("ip") for hit in self.contested] + [one.address for one in self.recorded]
        return list(dict.fromkeys(found))

    @cached_property
    def settings(self) -> list[Setting]:
        """What the method is said to be; the operator has a field of its own for each."""
        env = [s for name in (METHOD, _IPV6) for s in self.picture.settings(name) if s.value]
        fields = [s for s in self.picture.of(Setting) if s.scope == "installation" and "AddressAutodetection" in s.name]
        return [*env, *fields]

    @property
    def by_internal_ip(self) -> list[Setting]:
        return [s for s in self.settings if s.value == INTERNAL_IP or s.value == "NodeInternalIP"]

    @property
    def explained(self) -> list[Hit]:
        """Lines with a host's own address, of whose network the registered address is."""
        return [hit for hit in self.taken if _network_of(hit.value("cidr")) in self.addresses]

    @property
    def sick_release(self) -> bool:
        release = self.release
        return release is not None and any(since <= release < until for since, until in SICK)

    @cached_property
    def node(self) -> str:
        said = next((node_at(self.picture, hit.place, hit.host) for hit in self.contested), "")
        return said or next((one.node for one in self.recorded if one.node), "")


def _network_of(cidr: str) -> str:
    try:
        interface = ip_interface(cidr)
    except ValueError:
        return ""
    network = interface.network
    if network.prefixlen < network.max_prefixlen - 1:
        return str(network.network_address)
    return first_of_two(cidr)


@remembered
def _conflicts_v6(picture: Picture) -> list[Hit]:
    agents = picture.agents_now()
    return [] if agents and all(pod.all_ready for pod in agents) else picture.hits(IN_USE_V6)


def _network(picture: Picture, one: Recorded) -> bool:
    return is_network(one.address, one.length) or masked(picture, one)


def _latest(picture: Picture) -> list[Recorded]:
    """What each node has registered last; a node may have one address of each family."""
    last = {(one.node or str(one.place), ":" in one.address): one for one in registrations(picture)}
    return list(last.values())


def carried(seen: Seen) -> Finding | None:
    """A host really has that address: it is none of a network."""
    # Of a link of two the other end has that address, which is well.
    ends = {one.address for one in seen.recorded if masked(seen.picture, one)}
    links = [link for address in seen.addresses if address not in ends and (link := link_with(seen.picture, address))]
    shown = (*links, *_quoted(seen))
    return ruled_out(shown[:1], address=seen.addresses[0]) if shown else None


def _quoted(seen: Seen) -> list[Place]:
    """The line of a link by itself, as people put it into a sentence."""
    due = tuple(f"inet {address}/" for address in seen.addresses)
    lines = ((exhibit, index, line) for exhibit in seen.picture.exhibits for index, line in enumerate(exhibit.lines))
    return [exhibit.place(index) for exhibit, index, line in lines if any(part in line for part in due)] if due else []


def other_method(seen: Seen) -> Finding | None:
    if not seen.addresses or not seen.settings or seen.by_internal_ip or seen.explained:
        return None
    return ruled_out(seen.settings[:1], method=seen.settings[-1].value)


def network_registered(seen: Seen) -> Finding | None:
    if not seen.addresses:
        return None
    shown = seen.explained or seen.by_internal_ip
    proven = seen.explained or (seen.by_internal_ip and seen.sick_release)
    without = LIKELY if seen.release is None else POSSIBLE
    strength = PROVEN if proven else STRONG if shown or seen.sick_release else without
    others = [hit.value("other") for hit in seen.contested]
    who = culprits(
        named("address", *seen.addresses[:2]),
        Culprit("setting", INTERNAL_IP),
        named("node", seen.node, *others[:2]),
        named("version", *(version.version for version in seen.picture.versions("calico")[-1:])),
    )
    evidence = (*seen.by_internal_ip[:1], *seen.explained[:1], *seen.contested[:2], *seen.recorded[:2])
    own = next((hit.value("cidr") for hit in seen.explained), "")
    two = any(one.address == seen.addresses[0] and one.length == TWO for one in seen.recorded) or first_of_two(own)
    say = "of-two" if two else "" if shown or seen.sick_release else "network-only"
    return found(strength, who, evidence, say=say, address=seen.addresses[0], own=own, node=seen.node)


def right_release(seen: Seen) -> Finding | None:
    """The method is in use, and nodes have registered addresses of hosts."""
    last = _latest(seen.picture)
    return ruled_out(last[:2]) if seen.by_internal_ip and last and not seen.addresses else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("registered")
    family = 6 if ":" in finding.value("address") else 4
    yield from ways.set_autodetection(picture, _other_method(picture, finding), family)
    yield do("upgrade")


def _other_method(picture: Picture, finding: Finding) -> str:
    """A method that these releases get right: by the network of the hosts, where it is told."""
    own = finding.value("own")
    if finding.say == "of-two":  # each node has a network of its own
        link = next((one.interface for one in registrations(picture) if one.address == finding.value("address")
                     and one.interface), "")  # fmt: skip
        return f"interface={link}" if link else ""
    if own:
        return f"cidr={ip_interface(own).network}"
    recorded = [one for one in registrations(picture) if one.address == finding.value("address") and one.length]
    return f"cidr={recorded[-1].address}/{recorded[-1].length}" if recorded else ""


CAUSE = Cause(
    module=__name__,
    id="internal-ip-network-address",
    code="TRT1018",
    severity="high",
    explains=("start-terminated", "crash-loop", "bgp-down", "bird-not-ready", "not-ready", "traffic-dead",
              "controllers-failing", "others-failing", "log-errors"),
    signs=(*SHARED_SIGNS, WITH_LENGTH, IN_USE_V6),
    look=Seen,
    rules=(carried, other_method, network_registered, right_release),
    fix=fix,
)  # fmt: skip
