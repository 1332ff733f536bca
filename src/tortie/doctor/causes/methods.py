"""Methods by which calico-node finds its address: since when each is known, and how the operator spells it. Pure."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.way_table import Release, release_of
from tortie.doctor.picture.picture import Picture

SINCE: Final[dict[str, Release]] = {"cidr": (3, 16), "kubernetes-internal-ip": (3, 22)}
# Fields of the Installation's nodeAddressAutodetectionV4 and ...V6.
FIELDS: Final = {
    "first-found": "firstFound",
    "interface": "interface",
    "skip-interface": "skipInterface",
    "can-reach": "canReach",
    "cidr": "cidrs",
    "kubernetes-internal-ip": "kubernetes",
}


def kind_of(method: str) -> str:
    return method.partition("=")[0]


def is_known(method: str, release: Release | None) -> bool:
    """Whether that release has the method; a release that nobody named is taken for a recent one."""
    return release is None or release >= SINCE.get(kind_of(method), ())


def fitting(picture: Picture, method: str) -> str:
    """The method itself; where the release shown is too old for it, one that finds the same address there."""
    if is_known(method, release_of(picture)):
        return method
    ips = list(picture.internal_ips().values())
    links = {link.name for ip in ips if (link := picture.interface_with(ip))}
    if len(links) == 1:
        return f"interface={links.pop()}"
    return f"can-reach={ips[0]}" if ips else ""
