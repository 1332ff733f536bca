"""What the ends of sessions say about each other's AS number, as far as it still holds."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import node_at, same_host, session_node
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

BAD_AS: Final = Sign("trt1010-bad-as", "Bad peer AS(: <n>)?")
BIRD_BAD_AS: Final = Sign("trt1010-bird-bad-as", "<name>: (Received|Error): Bad peer AS(: <n>)?")
ROUTER_BAD_AS: Final = Sign("trt1010-router", "bad AS number")
ROUTER_WRONG_AS: Final = Sign("trt1010-router-wrong", "peer in wrong AS")
ROUTER_EXPECTED: Final = Sign("trt1010-router-expected", "remote AS is <n_sent>, expected <n_due>")
ROUTER_CLAIMS: Final = Sign("trt1010-router-claims", "bad peer AS number…claims <n_sent>, <n_due> configured")
ROUTER_NEXUS: Final = Sign("trt1010-router-nexus", "bad remote-as, expecting <n_due> received <n_sent>")
ROUTER: Final = (ROUTER_BAD_AS, ROUTER_WRONG_AS, ROUTER_EXPECTED, ROUTER_CLAIMS, ROUTER_NEXUS)
_CUT: Final = lazily(r"\bbad peer as\b|\bbad peer a?\W*$", re.IGNORECASE)
AS_SIGNS: Final = (BAD_AS, BIRD_BAD_AS, *ROUTER)
NO_PEERS: Final = "trt1012-no-peers"  # said by a node without any session


def bad_as(info: str) -> bool:
    """In a table, whose last column a terminal may have cut."""
    return bool(_CUT.search(info))


def as_errors(picture: Picture) -> list[Hit]:
    return [hit for hit in picture.hits(BIRD_BAD_AS, BAD_AS, *ROUTER) if not _is_over(picture, hit)]


def peer_address(name: str) -> str:
    """Mesh_10_0_0_1 is 10.0.0.1."""
    parts = name.split("_")
    return ".".join(parts[1:5]) if len(parts) >= 5 else name


def _is_over(picture: Picture, hit: Hit) -> bool:
    """The session stands by now, or its node shows all of its sessions and none with this error."""
    address = peer_address(hit.value("name"))
    if any(s.peer == address and s.state == "up" for s in picture.sessions()):
        return True
    node = node_at(picture, hit.place, hit.host)
    shown = [s for s in picture.sessions() if same_host(session_node(picture, s), node)]
    none = [h for h in picture.hits(NO_PEERS) if same_host(node_at(picture, h.place, h.host), node)]
    return bool(shown or none) and not any(bad_as(s.info) for s in shown)
