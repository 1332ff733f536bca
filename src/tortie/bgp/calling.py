"""Who of two nodes calls, and who waits: the mesh acts on it, the doctor reads other people's sessions by it."""

from __future__ import annotations


def waits(own: str, peer: str) -> bool:
    """Of two nodes one calls and the other waits, or a restart would be disturbed by a second connection.

    Calico compares the texts of the addresses: to wait for 10.0.0.9 is up to 10.0.0.10.
    """
    return peer > own
