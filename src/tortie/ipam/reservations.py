"""Addresses that are never given out from now on. Pure.

Ranges are kept merged and in order, so that even a pool that is reserved as a whole is passed over in one step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from tortie.model.network import CIDR, IP, Network


class Reservations:
    def __init__(self, cidrs: Iterable[CIDR | Network] = ()) -> None:
        networks = [cidr.network if hasattr(cidr, "network") else cidr for cidr in cidrs]
        self._ranges = {family: _merged(net for net in networks if net.version == family) for family in (4, 6)}
        self._starts = {family: [first for first, _ in ranges] for family, ranges in self._ranges.items()}

    def __bool__(self) -> bool:
        return any(self._ranges.values())

    def has(self, ip: IP) -> bool:
        return self.end_of(ip.version, int(ip)) is not None

    def end_of(self, family: int, number: int) -> int | None:
        """The last address of the reserved range that an address, as a number, is in; None if it is in none."""
        place = bisect_right(self._starts[family], number) - 1
        if place < 0:
            return None
        last = self._ranges[family][place][1]
        return last if number <= last else None

    def cover(self, cidr: Network) -> bool:
        """All of its addresses are reserved."""
        last = self.end_of(cidr.version, int(cidr.network_address))
        return last is not None and last >= int(cidr.broadcast_address)

    def touch(self, cidr: Network) -> bool:
        """Some of its addresses are reserved."""
        if not self._ranges[cidr.version]:
            return False
        place = bisect_right(self._starts[cidr.version], int(cidr.broadcast_address)) - 1
        return place >= 0 and self._ranges[cidr.version][place][1] >= int(cidr.network_address)

    def count(self, cidr: Network) -> int:
        """How many of its addresses are reserved."""
        low, high = int(cidr.network_address), int(cidr.broadcast_address)
        overlaps = (min(high, last) - max(low, first) + 1 for first, last in self._ranges[cidr.version])
        return sum(overlap for overlap in overlaps if overlap > 0)


def _merged(networks: Iterable[Network]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted((int(net.network_address), int(net.broadcast_address)) for net in networks):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


NOTHING = Reservations()
