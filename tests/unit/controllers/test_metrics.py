"""Calico's metrics of IPAM, counted from a small cluster."""

from __future__ import annotations

from tests.support.address_world import World

from tortie.controllers.leaks import find_leaks
from tortie.controllers.metrics import count, ipam_metrics
from tortie.health.exposition import render
from tortie.ipam.usage import Users


def test_every_figure_of_a_small_cluster() -> None:
    it = World()
    it.node("n1")
    it.entries["/calico/resources/v3/projectcalico.org/ipreservations/r"] = (
        b'{"kind":"IPReservation","metadata":{"name":"r"},"spec":{"reservedCIDRs":["10.244.7.0/28","10.244.7.0/27","192.0.2.1"]}}'
    )
    it.block("10.244.0.0/26", "n1")
    it.block("10.244.1.0/26", None)
    it.block("10.99.0.0/26", "n1")
    it.pod("web", "n1", "10.244.0.1", "10.244.1.1")
    it.pod("guest", "n2", "10.244.0.2", endpoint=False)
    it.hold("10.244.0.3", "by-hand")
    it.hold("10.99.0.0", "windows-reserved-ipam-handle")
    census = it.census()
    leaks = find_leaks(census, Users(census), (), {}, 0.0, 900.0)
    text = render(ipam_metrics(count(census, leaks.candidates), {("pool", "n1"): 4}))
    samples = {
        line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in text.splitlines() if not line.startswith("#")
    }
    assert samples == {
        'ipam_allocations_in_use{ippool="pool",node="n1"}': "2",
        'ipam_allocations_in_use{ippool="pool",node="n2"}': "1",
        'ipam_allocations_in_use{ippool="pool",node="unknown_node"}': "1",
        'ipam_allocations_borrowed{ippool="pool",node="n2"}': "1",
        'ipam_blocks{ippool="pool",node="n1"}': "1",
        'ipam_blocks{ippool="pool",node="no_affinity"}': "1",
        'ipam_blocks{ippool="no_ippool",node="n1"}': "1",
        'ipam_allocations_gc_candidates{ippool="pool",node="n2"}': "1",
        'ipam_allocations_gc_reclamations{ippool="pool",node="n1"}': "4",
        'ipam_allocations_per_node{node="n1"}': "2",
        'ipam_allocations_per_node{node="n2"}': "1",
        'ipam_allocations_per_node{node="unknown_node"}': "1",
        'ipam_allocations_borrowed_per_node{node="n2"}': "1",
        'ipam_blocks_per_node{node="n1"}': "2",
        'ipam_blocks_per_node{node="no_affinity"}': "1",
        'ipam_ippool_size{ippool="pool"}': "65536",
        'ipam_ippool_reserved{ippool="pool"}': "32",
    }
