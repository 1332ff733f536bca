"""Packets on a node's uplink that show by themselves that a range of pods covers a network of machines.

Nobody tried anything as far as is shown; a capture has the pod's own address as the source, and no answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.ipam.bare_sources import Bare, bare_sources, pairs_seen
from tortie.doctor.causes.ipam.cluster_ranges import lies_in, network_of
from tortie.doctor.causes.ipam.swallowed import machine_networks, within
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Pool, Route
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple


class Captured(NamedTuple):
    """A packet of a pod's towards a machine that is on a link of the node, while a pool holds all of that network."""

    bare: Bare
    pool: Pool
    network: str
    place: Place  # what shows the network


def captured_outside(picture: Picture, pools: list[Pool]) -> Iterator[Captured]:
    answered = pairs_seen(picture)
    networks = [(name, known, place) for name, place in _networks(picture) if (known := network_of(name))]
    for bare in bare_sources(picture):
        own = next((pool for pool in pools if inside(bare.source, pool.cidr) and not pool.disabled), None)
        pool = next((pool for pool in pools if inside(bare.target, pool.cidr)), None)
        if own is None or pool is None or (bare.target, bare.source) in answered:
            continue
        if any(lies_in(bare.source, known) for _, known, _ in networks):
            continue  # a machine's own address: its packet was translated, or is its own
        for name, known, place in networks:
            if lies_in(bare.target, known) and within(name, pool.cidr):
                yield Captured(bare, pool, name, place)
                break


def _networks(picture: Picture) -> Iterator[tuple[str, Place]]:
    routes = [route for route in picture.of(Route) if not route.host.startswith(OF_POD)]
    return ((network, place) for network, _, place in machine_networks(picture, routes))
