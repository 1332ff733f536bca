"""Where addresses lie."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ipaddress


def inside(address: str, network: str) -> bool:
    """Of an address with or without its length; what is no address lies nowhere."""
    if not network:
        return False
    import ipaddress  # costs milliseconds that most cases need not pay

    try:
        return ipaddress.ip_address(address.partition("/")[0]) in _network(network)
    except ValueError:
        return False


def public(address: str) -> bool:
    """On the internet: neither of pods nor of nodes that know each other by private addresses."""
    import ipaddress

    try:
        return ipaddress.ip_address(address).is_global
    except ValueError:
        return False


@cache
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    import ipaddress

    return ipaddress.ip_network(text, strict=False)
