"""One record of Calico's that several machines write: its address is another one each time it is shown."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import same_host
from tortie.doctor.picture.facts import Interface, Node, Registered
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple

TUNNELS: Final = ("tunl0", "vxlan.calico", "wireguard.cali")
_UNNAMED: Final = ("localhost", "localhost4", "template", "ubuntu", "debian", "centos", "rocky", "host", "vm")


def unnamed(name: str) -> bool:
    """What a machine is called before anybody names it: several may have that name."""
    return name.partition(".")[0].lower() in _UNNAMED


class Turn(NamedTuple):
    name: str
    addresses: tuple[str, ...]  # in the order they were first shown
    shown: tuple[Registered | Node, ...]
    back: bool  # an earlier address came back: no change of a machine's address does that by itself
    both: bool  # each address is seen to be alive as that of a machine of its own


def turns(picture: Picture) -> list[Turn]:
    """Tables and annotations only: a log of one machine may tell of two addresses of its own."""
    rows: dict[tuple[str, str], list[tuple[str, Registered | Node]]] = {}
    for seen in picture.of(Registered):
        if seen.node and seen.via in ("calicoctl", "annotation"):
            rows.setdefault((seen.node, seen.via), []).append((seen.address, seen))
    for node in picture.of(Node):
        if node.internal_ip:
            rows.setdefault((node.name, "kubernetes"), []).append((node.internal_ip, node))
    got = []
    for (name, _), some in rows.items():
        order = [address for address, _ in some]
        steps = [one for one, before in zip(order, ["", *order], strict=False) if one != before]
        addresses = tuple(dict.fromkeys(steps))
        if len(addresses) > 1:
            both = all(_alive(picture, address) for address in addresses[:2]) and not _of_one(picture, addresses)
            firsts = tuple(next(fact for one, fact in some if one == address) for address in addresses)
            got.append(Turn(name, addresses, firsts, len(steps) > len(addresses), both))
    return got


def one_tunnel(picture: Picture) -> list[Interface]:
    """Two hosts with one tunnel address, which belongs to one record."""
    seen: dict[str, Interface] = {}
    for link in picture.of(Interface):
        for address in link.addresses if link.name in TUNNELS and link.host else ():
            other = seen.setdefault(address, link)
            if not same_host(other.host, link.host) and "." in address:
                return [other._replace(addresses=(address,)), link]
    return []


def _alive(picture: Picture, address: str) -> bool:
    """Some machine is spoken of by this address, or shown with it."""
    if picture.interface_with(address) or address in picture.internal_ips().values():
        return True
    return any(address in said.values for said in picture.said("cloned-vm", "complains", "one-node-only"))


def _of_one(picture: Picture, addresses: tuple[str, ...]) -> bool:
    """Two cards of one machine."""
    links = [link for address in addresses[:2] if (link := picture.interface_with(address))]
    if len(links) < 2:
        return False
    return same_host(links[0].host, links[1].host) and links[0].name != links[1].name
