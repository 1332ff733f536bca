"""How a further pool has to be made so that its pods reach those of the pool that is there."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.ipam.ipam_evidence import numbers
from tortie.doctor.picture.facts import Pool
from tortie.doctor.picture.picture import Picture

_NEVER: Final = "Never"


def like_the_first(picture: Picture) -> dict[str, str]:
    """Values for its manifest: the encapsulation and NAT of the pool that is shown; empty where nothing tells."""
    pools = [pool for pool in (numbers(picture).pool, *picture.of(Pool)) if pool]
    ipip = next((pool.ipip for pool in pools if pool.ipip), "")
    vxlan = next((pool.vxlan for pool in pools if pool.vxlan), "")
    nat = next((pool.nat for pool in pools if pool.nat is not None), True)
    # A pool has one of both at most.
    return {
        "ipip_mode": ipip or (_NEVER if _on(vxlan) else ""),
        "vxlan_mode": vxlan or (_NEVER if _on(ipip) else ""),
        "nat_outgoing": "true" if nat else "false",
    }


def _on(mode: str) -> bool:
    return mode.lower() in ("always", "crosssubnet")
