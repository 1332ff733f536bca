"""A range of IPv6 that nobody else is likely to have, for the default pool."""

from __future__ import annotations

from ipaddress import IPv6Network
from secrets import randbits


def random_ula() -> IPv6Network:
    """fd, then 40 random bits: a network of one's own."""
    return IPv6Network(((0xFD << 40 | randbits(40)) << 80, 48))
