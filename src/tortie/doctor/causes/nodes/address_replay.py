"""What a release of Calico would choose on a host whose links are shown: its own decision, run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tortie.doctor.causes.nodes.bgp_addresses import Seen, links_shown
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

if TYPE_CHECKING:
    from tortie.model.network import Interface as Link


def skipped_by(picture: Picture, interface: str) -> str | None:
    """The pattern by which first-found passes over a link; empty when it looks at it, None when nothing says."""
    version = picture.version("calico")
    if not version or not interface:
        return None
    from tortie.addressing.exclusions import excluded_by
    from tortie.addressing.versions import CalicoVersion

    return excluded_by(interface, CalicoVersion(*(*version, 0, 0)[:3])) or ""


def remark(picture: Picture, interface: str) -> Words:
    """Why first-found takes such a link, or that it cannot have been first-found."""
    pattern = skipped_by(picture, interface)
    if pattern is None or picture.value("IP_AUTODETECTION_METHOD") not in ("", "first-found"):
        return Words("", "")
    if pattern:
        return Words(
            f" first-found of this release skips {interface} ({pattern}): it is a stored value, or another method's.",
            f"该版本的 first-found 会跳过 {interface}（{pattern}）：这是旧的存储值，或由别的方法选出。",
        )
    return Words(
        f" first-found of this release does not skip {interface}.", f"该版本的 first-found 不会跳过 {interface}。"
    )


def would_choose(picture: Picture, node: str) -> Seen | None:
    """First-found's choice, when release, method and the host's links are known well enough."""
    version = picture.version("calico")
    links = [link for link in links_shown(picture, node) if link.host and link.index is not None]
    if not version or len(links) < 2 or picture.value("IP_AUTODETECTION_METHOD") not in ("", "first-found"):
        return None
    from tortie.addressing.calico import choose_like_calico
    from tortie.addressing.choice import Surroundings
    from tortie.addressing.methods import FIRST_FOUND
    from tortie.addressing.versions import CalicoVersion
    from tortie.model.network import HostNetwork

    network = HostNetwork(tuple(_kernels(link) for link in sorted(links, key=lambda link: link.index or 0)))
    choice = choose_like_calico(FIRST_FOUND, 4, Surroundings(network), CalicoVersion(*(*version, 0, 0)[:3]))
    if choice.chosen is None:
        return None
    place = next(link.place for link in links if link.name == choice.interface)
    address, length = str(choice.chosen.ip), choice.chosen.network.prefixlen
    return Seen(place, node, address, length, choice.interface, "replay")


def _kernels(link: Interface) -> Link:
    from ipaddress import ip_interface

    from tortie.model.network import Address
    from tortie.model.network import Interface as Kernels

    cidrs = []
    for text in link.addresses:
        try:
            cidrs.append(Address(ip_interface(text)))
        except ValueError:
            continue  # redacted or cut
    return Kernels(link.index or 0, link.name, addresses=tuple(cidrs))
