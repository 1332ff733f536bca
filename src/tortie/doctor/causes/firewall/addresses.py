"""Where addresses lie."""

from __future__ import annotations

from ipaddress import ip_address, ip_network


def inside(address: str, network: str) -> bool:
    try:
        return ip_address(address) in ip_network(network, strict=False)
    except ValueError:
        return False


def public(address: str) -> bool:
    """On the internet: neither of pods nor of nodes that know each other by private addresses."""
    try:
        return ip_address(address).is_global
    except ValueError:
        return False
