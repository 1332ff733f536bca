"""Addresses that nodes chose or stored, and the links that carry them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import (
    BIND_FAILED,
    is_address,
    node_at,
    node_called,
    remembered,
    same_host,
)
from tortie.doctor.causes.shared import AUTODETECTED, AUTODETECTED_MATCHING, AUTODETECTED_REACHING
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, Node, Setting, Statement
from tortie.doctor.picture.picture import Picture, carries_services
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

IN_CIDRS: Final = Sign(
    "autodetected-cidr", "Using autodetected IPv4 address <cidr> on interface <interface> matching cidrs"
)
# The method finds the host's link with the InternalIP and takes its length; some releases take its network with it.
WITH_LENGTH: Final = Sign(
    "trt1018-with-length", 'Including CIDR information from host interface. CIDR="<cidr>"'
)  # right releases say it too: only what is registered afterwards counts
TWO: Final = 31  # the length of a link between two machines: both of its addresses are of hosts
ADDRESS_SIGNS: Final = (AUTODETECTED, AUTODETECTED_MATCHING, AUTODETECTED_REACHING, IN_CIDRS)

ANNOTATION: Final = "projectcalico.org/IPv4Address"

# Links that programs make for themselves; no network between machines ever hangs on them.
_INNER = lazily(
    r"(br-[0-9a-f]{6,12}$|docker|virbr|lxcbr|lxdbr|incusbr|podman|cni\d|cni-|cbr\d|flannel|kube-ipvs|kube-bridge|kube-dummy"
    r"|nodelocaldns|dummy|vboxnet|vmnet|weave|cilium|veth|cali|tunl\d|vxlan|mpqemubr|k3d-|kind)"
)
_SESSION = lazily(r"(tun\d|tap\d|ppp\d|wg\d|wg-|utun|tailscale|zt[0-9a-z]{6}|ipsec|cscotun|vpn)")
# Where docker, libvirt, podman and VirtualBox put themselves on every machine.
_GATEWAY = lazily(
    r"(172\.(1[7-9]|2\d|3[01])\.0\.1|192\.168\.122\.1|10\.88\.0\.1|10\.0\.2\.15|192\.168\.(16|32|48|64|80|96)\.1)"
)
_NETWORK = lazily(r"(?<![\d.])((?:\d{1,3}\.){2}\d{1,3})\.(?:\d|[xX*])")


class Seen(NamedTuple):
    """An address that a node chose or stores."""

    place: Place
    node: str
    address: str
    length: int
    interface: str
    via: str


def inner_link(name: str) -> bool:
    return bool(_INNER.match(name))


def session_link(name: str) -> bool:
    return bool(_SESSION.match(name))


def gateway_like(address: str) -> bool:
    return bool(_GATEWAY.fullmatch(address))


def near(one: str, other: str, length: int = 16) -> bool:
    """In one network of that length; addresses of different families never are."""
    first, second = one.split("."), other.split(".")
    if len(first) != 4 or len(second) != 4:
        return one.split(":")[:4] == other.split(":")[:4] and ":" in one
    whole, rest = divmod(max(0, min(length, 32)), 8)
    if first[:whole] != second[:whole]:
        return False
    return rest == 0 or int(first[whole]) >> (8 - rest) == int(second[whole]) >> (8 - rest)


def told_old(picture: Picture, address: str) -> list[Statement]:
    """Where people say that addresses changed, and name this one or its network as it was before."""
    network = address.rpartition(".")[0]
    return [one for one in picture.said("ip-changed") if network and _names_first(one.text, network)]


def _names_first(text: str, network: str) -> bool:
    """Of a change from one network to another the old one comes first."""
    named = _NETWORK.findall(text)
    return len(set(named)) > 1 and named[0] == network


@remembered
def registrations(picture: Picture) -> list[Seen]:
    """In the order of the evidence, each place once."""
    seen: dict[tuple[str, int, str], Seen] = {}
    for fact in picture.registered():
        node = fact.node or node_at(picture, fact.place)
        key = (fact.place.source, fact.place.first, fact.address)
        seen[key] = Seen(fact.place, node_called(picture, node) if node else "", fact.address, fact.length or 0,
                         fact.interface, fact.via)  # fmt: skip
    for noted in _annotated(picture):
        seen.setdefault((noted.place.source, noted.place.first, noted.address), noted)
    for hit in picture.hits(*ADDRESS_SIGNS):
        address, _, length = hit.value("cidr").partition("/")
        key = (hit.place.source, hit.place.first, address)
        known = seen.get(key)
        node = (known.node if known else "") or node_at(picture, hit.place, hit.host)
        seen[key] = Seen(hit.place, node, address, int(length or 0), hit.value("interface").rstrip(":"), "log")
    return sorted(seen.values(), key=lambda s: (s.place.source, s.place.first))


def _annotated(picture: Picture) -> Iterator[Seen]:
    """What is left of a described node in front of which `grep` cut everything else away."""
    told = {(fact.node, fact.address) for fact in picture.registered()}
    for node in picture.of(Node):
        address, _, length = dict(node.annotations).get(ANNOTATION, "").partition("/")
        if is_address(address) and length.isdecimal() and (node.name, address) not in told:
            yield Seen(node.place, node_called(picture, node.name), address, int(length), "", "annotation")


@remembered
def _carriers(picture: Picture) -> dict[str, list[Interface]]:
    links: dict[str, list[Interface]] = {}
    for link in picture.of(Interface):
        for address in link.addresses if not carries_services(link.name) else ():
            links.setdefault(address.split("/")[0], []).append(link)
    return links


def link_with(picture: Picture, address: str, node: str = "") -> Interface | None:
    """The link that carries an address, one of that node first."""
    links = _carriers(picture).get(address, [])
    own = [link for link in links if node and same_host(link.host, node)]
    return next(iter(own or links), None)


def link_under_tunnel(picture: Picture, address: str) -> str:
    """The link on which Felix made its tunnel for this address: `local <address> dev <link>` of `ip -d link`."""
    details = [one for one in picture.of(Setting) if one.scope == "link"]
    places = {one.place for one in details if one.name == "local" and one.value == address}
    return next((one.value for one in details if one.name == "dev" and one.place in places), "")


def links_shown(picture: Picture, node: str) -> list[Interface]:
    return [link for link in picture.of(Interface) if link.addresses and (not link.host or same_host(link.host, node))]


def masked(picture: Picture, stored: Seen) -> bool:
    """The first address of a link of two, of which the node itself has the other one: its release cut it off.

    On longer links that address is nobody's, which its length alone tells.
    """
    if stored.length != TWO or ":" in stored.address:
        return False
    links = [link for link in links_shown(picture, stored.node) if link.addresses]
    own = [address for link in links for address in link.addresses]
    own += [hit.value("cidr") for hit in picture.hits(WITH_LENGTH)]
    return f"{stored.address}/{TWO}" not in own and any(first_of_two(cidr) == stored.address for cidr in own)


def first_of_two(cidr: str) -> str:
    """The other address of such a link, where this one is not the first itself."""
    address, _, length = cidr.partition("/")
    head, _, last = address.rpartition(".")
    return f"{head}.{int(last) - 1}" if length == str(TWO) and last.isdecimal() and int(last) % 2 else ""


def gone_from_host(picture: Picture, node: str, address: str) -> bool:
    """Binding failed, or the host's links are shown, with its InternalIP and without the stored address."""
    if link_with(picture, address, node):
        return False
    internal = picture.internal_ips().get(node, "")
    shown = [a.split("/")[0] for link in links_shown(picture, node) for a in link.addresses]
    own = all_addresses(picture, node)
    if address in own:
        return False
    shown += own
    return bool(picture.hits(BIND_FAILED)) or bool(internal and internal in shown)


def all_addresses(picture: Picture, node: str) -> list[str]:
    """`hostname -I`: every address of a host but those of its loopback."""
    asked = [one for word in ("hostname -I", "hostname --all-ip-addresses") for one in picture.commands(word)]
    answers = [one.lines[0] for one in asked if one.host and node_called(picture, one.host) == node and one.lines]
    return [word for line in answers for word in line.split() if is_address(word)]
