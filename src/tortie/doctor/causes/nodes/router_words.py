"""What routers beside the cluster say of nodes that call them."""

from __future__ import annotations

from typing import Final

from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

# It knows no such neighbor: Arista, Junos, FRR, GoBGP.
UNCONFIGURED: Final = (
    Sign("trt1012-unconfigured", "Rejected connection from unconfigured peer <ip>"),
    Sign("trt1012-no-group", "no group for <ip>…found \\(unconfigured peer\\)"),
    Sign("trt1012-not-dynamic", "not configured and not valid for dynamic"),
    Sign("trt1012-no-passive", "Can't find configuration for a new passive connection from:<ip>"),
)


def refused(picture: Picture) -> list[Hit]:
    """Where the callers are named, nodes only: a stranger may be a node behind a translation, or one with two links."""
    nodes = picture.internal_ips()
    hits = picture.hits(*UNCONFIGURED)
    return [hit for hit in hits if len(nodes) < 2 or not hit.value("ip") or picture.owner_of(hit.value("ip"))]
