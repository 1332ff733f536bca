"""Methods by which calico-node finds its address: since when each is known, how it is spelled, which one to advise."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, collapse_addresses
from typing import Final

from tortie.doctor.causes.nodes.bgp_addresses import inner_link, link_with
from tortie.doctor.causes.way_table import Release, release_of
from tortie.doctor.picture.picture import Picture

METHOD: Final = "IP_AUTODETECTION_METHOD"
# The first release that knows a method, and the oldest Kubernetes which that release was made for.
SINCE: Final[dict[str, Release]] = {"cidr": (3, 16), "kubernetes-internal-ip": (3, 22)}
_KUBERNETES: Final[dict[str, Release]] = {"cidr": (1, 16), "kubernetes-internal-ip": (1, 21)}
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


def method_for(picture: Picture, internal: str = "", interface: str = "", refused: str = "") -> str:
    """By address where that can be: names of links differ between hosts. Empty where the evidence names nothing.

    `refused` is a method that this release turned out not to know.
    """
    if _likely_known(picture, "kubernetes-internal-ip") and not refused:
        return "kubernetes-internal-ip"
    ips = [ip for ip in (*picture.internal_ips().values(), internal) if _is_ipv4(ip)]
    if _likely_known(picture, "cidr") and ips and not refused.startswith("cidr="):
        return f"cidr={_networks(picture, ips)}"
    if ips:
        return f"can-reach={ips[0]}"  # every release knows it, and the link that leads to a node is the right one
    if inner_link(interface):
        return f"skip-interface={','.join(dict.fromkeys((_stem(interface), 'docker')))}"
    return ""


def method_beside(picture: Picture, interface: str) -> str:
    """One that cannot take an address which this link has for a time beside its own; empty where there is none."""
    if _likely_known(picture, "kubernetes-internal-ip"):
        return "kubernetes-internal-ip"
    links = {link.name for ip in picture.internal_ips().values() if (link := picture.interface_with(ip))}
    other = len(links) == 1 and interface and interface not in links
    return f"interface={link_name(links.pop())}" if other else ""


def widened(picture: Picture, patterns: str, interface: str) -> str:
    """The patterns that other hosts need, and this host's link; empty where they cannot be written without quoting."""
    if _likely_known(picture, "kubernetes-internal-ip") and picture.version("calico"):
        return "kubernetes-internal-ip"
    plain = [_unquoted(pattern) for pattern in patterns.split(",") if pattern]
    if not all(re.fullmatch(r"[A-Za-z0-9._-]+", pattern) for pattern in plain):
        return ""
    return f"interface={','.join(dict.fromkeys((*plain, link_name(interface))))}"


def plainly(method: str) -> str:
    """The same method without letters that a shell would take for more, as far as that can be."""
    name, _, patterns = method.partition("=")
    if name not in ("interface", "skip-interface"):
        return method
    return f"{name}={','.join(map(_unquoted, patterns.split(',')))}"


def _unquoted(pattern: str) -> str:
    """A pattern may match anywhere in a name, so that `eth.*` and `eth` mean the same."""
    return pattern.strip().removesuffix(".*")


def link_name(interface: str) -> str:
    """`eth0` of `eth0@if7`."""
    return interface.partition("@")[0]


def _likely_known(picture: Picture, kind: str) -> bool:
    """By the release that runs; where nothing says which, by the age of Kubernetes."""
    if calico := picture.version("calico"):
        return calico >= SINCE[kind]
    kubernetes = picture.version("kubernetes") or picture.version("kubelet")
    return not kubernetes or kubernetes >= _KUBERNETES[kind]


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:  # of the other family, redacted or cut
        return False
    return True


def _networks(picture: Picture, ips: list[str]) -> str:
    return ",".join(map(str, sorted(collapse_addresses(_network(picture, ip) for ip in ips))))


def _network(picture: Picture, ip: str) -> IPv4Network:
    """As long as the link that carries the address says, else what is usual."""
    link = link_with(picture, ip)
    shown = next((address for address in link.addresses if address.startswith(f"{ip}/")), "") if link else ""
    try:
        return IPv4Interface(shown or f"{ip}/24").network
    except ValueError:  # cut
        return IPv4Interface(f"{ip}/24").network


def release_matters(picture: Picture, method: str) -> bool:
    """Nothing says which release runs, and not all of them know this method."""
    return picture.version("calico") is None and kind_of(method) in SINCE


def _stem(interface: str) -> str:
    return "br-" if interface.startswith("br-") else interface.rstrip("0123456789")
