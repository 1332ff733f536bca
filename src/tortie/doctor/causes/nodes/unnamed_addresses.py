"""Registered addresses of which nothing says whose they are: `kubectl get node -o yaml | grep IPv4Address`; and
peers of the mesh that lie elsewhere than the InternalIPs that people tell of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG
from tortie.doctor.causes.nodes.bgp_addresses import Seen, near, registrations
from tortie.doctor.causes.nodes.bgp_evidence import Peer, missing_peers
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at

_ADDRESS = lazily(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")


def foreign(picture: Picture) -> Iterator[tuple[float, Seen]]:
    """Addresses that no node has, where the nodes' own ones are shown.

    One that several nodes have registered is that of a bridge or of a NAT card. One of its kind among right ones is
    wrong, too. A list in which every node has another network's address of its own may be a decision.
    """
    ips = set(picture.internal_ips().values())
    if len(ips) < 2:
        return
    lists: dict[int, list[Seen]] = defaultdict(list)
    for seen in registrations(picture):
        exhibit = exhibit_at(picture, seen.place)
        if exhibit and not seen.node and seen.via == "annotation" and ":" not in seen.address:
            lists[id(exhibit)].append(seen)
    missed = {peer.address for peer in missing_peers(picture)}
    for rows in lists.values():
        strange = [row for row in rows if row.address not in ips]
        addresses = [row.address for row in strange]
        for row in strange:
            if not all(not near(row.address, ip, row.length or 24) for ip in ips):
                continue
            if addresses.count(row.address) > 1:
                yield PROVEN, row
            elif row.address in missed or len(strange) < len(rows):
                yield STRONG, row


def beside_the_told(picture: Picture) -> Iterator[tuple[float, Peer, Statement]]:
    """All peers that are missing lie in another network than every InternalIP that is told."""
    if picture.internal_ips():
        return
    told = [(said, _ADDRESS.findall(said.text)) for said in picture.said("internal-ip-told")]
    known = [address for _, addresses in told for address in addresses]
    missing = missing_peers(picture)
    if not known or any(near(peer.address, address, 24) for peer in missing for address in known):
        return
    for peer in missing:
        if not any(session.peer == peer.address and session.state == "up" for session in picture.sessions()):
            yield (STRONG if len(missing) > 1 else LIKELY), peer, told[0][0]
