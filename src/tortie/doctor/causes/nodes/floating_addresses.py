"""Registered addresses that a program moves from host to host (keepalived, kube-vip), as lengths and links tell them.

Such a VIP is put on a link as one address more, nearly always as a /32, and Calico's search finds it there like any
other. Nodes whose every address is a /32 are usual in clouds: only one that differs from its neighbours says something.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Final

from tortie.doctor.causes.nodes.bgp_addresses import Seen, inner_link, registrations
from tortie.doctor.causes.nodes.bgp_evidence import node_called, same_host
from tortie.doctor.causes.nodes.tunnel_ends import told_vip, tunnel_ends
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple

HOST: Final = 32
_OWN: Final = ("lo", "dummy")  # links of a host that routes to itself: its /32 there is wanted
_USUAL: Final = 24


class Floating(NamedTuple):
    """A node's registered address that is a VIP, the link it is on now, and the machine's own address beside it."""

    seen: Seen
    link: Interface | None
    own: str
    why: tuple[object, ...]  # what tells it


def floating(picture: Picture) -> Iterator[Floating]:
    ips = picture.internal_ips()
    if picture.value("IP") not in ("", "autodetect"):
        return  # somebody wrote it down, or has it from Kubernetes
    last = {seen.node or seen.place: seen for seen in registrations(picture) if ":" not in seen.address}
    known = {seen.address for seen in last.values()}
    ends = {seen.address: seen for seen in tunnel_ends(picture) if seen.address not in known}
    for seen in (*last.values(), *ends.values()):
        if seen.address in ips.values() or inner_link(seen.interface) or seen.interface.startswith(_OWN):
            continue
        link = _carrier(picture, seen.address)
        beside = _beside(link, seen.address) if link else ""
        here = link is not None and (not seen.node or not link.host or same_host(link.host, seen.node))
        among = _among_longer(picture, seen, list(last.values()))
        moved = link is not None and beside and not here and _is_other(picture, link, seen, list(last.values()))
        second = link is not None and beside and f"{seen.address}/{HOST}" in link.addresses
        told = told_vip(picture, seen.address) if not here else None  # while it stands there, nobody suffers
        if among or moved or second or told:
            own = ips.get(seen.node, "") or (beside if here and link and link.host else "")
            yield Floating(seen, link, own, (told, seen, link if second or moved else None, among))


def _carrier(picture: Picture, address: str) -> Interface | None:
    """The last host that shows it: a VIP may be shown before and after it moved."""
    there = [link for link in picture.interfaces() if any(a.split("/")[0] == address for a in link.addresses)]
    outer = [link for link in there if not inner_link(link.name) and not link.name.startswith(_OWN)]
    return outer[-1] if outer else None


def _beside(link: Interface, address: str) -> str:
    """An address of the same link that is the machine's own: one with a network."""
    others = (a.partition("/") for a in link.addresses if ":" not in a)
    return next((a for a, _, length in others if a != address and length.isdecimal() and int(length) < HOST), "")


def _among_longer(picture: Picture, seen: Seen, others: list[Seen]) -> Seen | str | None:
    """A /32 in the very network that others have registered with its real length, or in that of the nodes."""
    if seen.length != HOST:
        return None
    rest = [other for other in others if other.node != seen.node]
    if any(other.length == HOST for other in rest):
        return None
    for other in rest:
        if 0 < other.length < HOST and _within(seen.address, f"{other.address}/{other.length}"):
            return other
    ips = picture.internal_ips()
    told = seen.node in ips and any(_within(seen.address, f"{ip}/{_USUAL}") for ip in ips.values() if ":" not in ip)
    return seen.node if told and not rest else None


def _is_other(picture: Picture, link: Interface, seen: Seen, others: list[Seen]) -> bool:
    """The host that has the address now is another node, which is known by an address of its own."""
    host = node_called(picture, link.host)
    own = {other.address for other in others if other.node == host} | {picture.internal_ips().get(host, "")} - {""}
    there = {a.split("/")[0] for a in link.addresses}
    return bool(own & (there - {seen.address}))


def _within(address: str, network: str) -> bool:
    try:
        return ip_interface(address).ip in ip_interface(network).network
    except ValueError:
        return False
