"""How large packets may be: what the host's links carry, less what tunnels add. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tortie.dataplane.felix import FelixSettings
from tortie.dataplane.records import Pool
from tortie.model.network import Family, Interface

NO_LINK: Final = 1460  # what Calico takes when it finds no link; the smallest of the large clouds
_ADDED: Final[dict[Family, int]] = {4: 50, 6: 70}  # by VXLAN, over IPv4 and over IPv6
_ADDED_BY_IPIP: Final = 20


def host_mtu(links: Sequence[Interface], pattern: str) -> int:
    """The smallest of the links that may lead to other machines."""
    names = re.compile(pattern)
    return min((link.mtu for link in links if link.is_up and link.mtu and names.search(link.name)), default=NO_LINK)


def tunnel_mtu(host: int, family: Family, felix: FelixSettings) -> int:
    given = felix.vxlan_mtu if family == 4 else felix.vxlan_mtu6
    return given or host - _ADDED[family]


def pod_mtu(host: int, pools: Sequence[Pool], felix: FelixSettings) -> int:
    """So that a packet of any pod fits into any tunnel that it may be sent through."""
    fitting = [tunnel_mtu(host, pool.cidr.version, felix) for pool in pools if pool.vxlan]
    if any(pool.ipip for pool in pools):
        fitting.append(felix.ipip_mtu or host - _ADDED_BY_IPIP)
    return min(fitting, default=host)
