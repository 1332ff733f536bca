"""Tunnels that end in a network of the machines which is not the one that Kubernetes knows them by."""

from __future__ import annotations

from tortie.doctor.causes.nodes.bgp_addresses import Seen
from tortie.doctor.causes.nodes.tunnel_ends import tunnel_ends
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Ping, Route
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple


class Elsewhere(NamedTuple):
    """An end in a network of its own, the link that leads there, and a ping to such an end in vain."""

    end: Seen
    link: Route
    silent: Ping | None


def elsewhere(picture: Picture) -> Elsewhere | None:
    """All ends lie there, and no InternalIP: the machines have another link, and registered that one."""
    ends = [end for end in tunnel_ends(picture) if ":" not in end.address]
    internal = [ip for ip in picture.internal_ips().values() if ":" not in ip]
    if len({end.address for end in ends}) < 2 or not internal:
        return None
    for link in picture.of(Route):
        if link.protocol != "kernel" or "/" not in link.destination or link.via:
            continue
        there = all(inside(end.address, link.destination) for end in ends)
        if there and not any(inside(ip, link.destination) for ip in internal):
            pings = [ping for ping in picture.of(Ping) if any(ping.address == end.address for end in ends)]
            silent = next((ping for ping in pings if not ping.ok), None)
            return None if pings and not silent else Elsewhere(ends[0], link, silent)
    return None
