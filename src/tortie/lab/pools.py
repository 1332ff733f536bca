"""The lab's IP pools, and the block of each node."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from tortie.lab.forms import Encapsulation, Topology
from tortie.lab.plan import Mode, PoolPlan
from tortie.model.network import Network
from tortie.model.resources.ippool import IPPoolSpec

_CIDR6: Final = IPv6Network("fd77:0:244::/64")
_BLOCK_SIZE6: Final = 122
_MODES: Final[dict[Encapsulation, tuple[Mode, Mode]]] = {  # IPIP, VXLAN
    "None": ("Never", "Never"),
    "IPIP": ("Always", "Never"),
    "IPIPCrossSubnet": ("CrossSubnet", "Never"),
    "VXLAN": ("Never", "Always"),
    "VXLANCrossSubnet": ("Never", "CrossSubnet"),
}


def pools_of(topology: Topology) -> tuple[PoolPlan, ...]:
    """Named as a node would name its default pools, so that none makes another."""
    said = topology.pool
    ipip, vxlan = _MODES[said.encapsulation]
    pool = PoolPlan("default-ipv4-ippool", said.cidr, said.blockSize, ipip, vxlan, said.natOutgoing)
    if not topology.ipv6:
        return (pool,)
    # IPIP carries no IPv6, and IPv6 is not masqueraded by default.
    size = _BLOCK_SIZE6 if said.blockSize6 is None else said.blockSize6
    return pool, PoolPlan("default-ipv6-ippool", said.cidr6 or _CIDR6, size, "Never", vxlan, nat_outgoing=False)


def pool_spec(pool: PoolPlan) -> IPPoolSpec:
    return IPPoolSpec(
        cidr=pool.cidr,
        ipipMode=pool.ipip,
        vxlanMode=pool.vxlan,
        natOutgoing=pool.nat_outgoing,
        blockSize=pool.block_size,
    )


def blocks_of(pool: PoolPlan, numbers: Sequence[int]) -> list[Network]:
    """To each node the block of its number, if the pool has so many; to the others the free ones, in order."""
    count = 1 << (pool.block_size - pool.cidr.prefixlen)
    dealt = {number: number for number in numbers if number <= count}
    free = (number for number in range(1, count + 1) if number not in dealt)
    size = 1 << (pool.cidr.max_prefixlen - pool.block_size)
    blocks = []
    for number in numbers:
        place = dealt[number] if number in dealt else next(free)
        first = int(pool.cidr.network_address) + (place - 1) * size
        blocks.append(_network(first, pool.block_size, pool.cidr.version))
    return blocks


def _network(first: int, length: int, version: int) -> Network:
    return IPv6Network((first, length)) if version == 6 else IPv4Network((first, length))
