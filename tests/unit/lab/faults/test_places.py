"""Addresses that nobody has: of every network that a lab may be made of."""

from __future__ import annotations

from ipaddress import ip_interface
from random import Random

import pytest
from tests.support.topologies import planned

from tortie.lab.failures import LabFailure
from tortie.lab.faults.fault import Scene
from tortie.lab.faults.places import free_address, own_address
from tortie.lab.plan import LabPlan


def in_network(cidr: str, nodes: int) -> LabPlan:
    return planned(f"nodes: {nodes}\nnetworks:\n- name: fabric\n  cidr: {cidr}\n")


def scenes(plan: LabPlan) -> list[Scene]:
    return [Scene(plan, node, Random(7)) for node in plan.nodes]


@pytest.mark.parametrize(
    ("plan", "first"),
    [
        (planned(nodes=3), "10.77.0.240/24"),
        (planned(nodes=241), None),
        (in_network("172.17.72.0/22", 3), "172.17.75.240/22"),
        (in_network("10.1.0.0/16", 3), "10.1.255.240/16"),
        (in_network("10.1.2.64/26", 3), "10.1.2.112/26"),
        (in_network("10.1.2.16/28", 3), None),
    ],
    ids=lambda each: str(each.nodes[0].nics[0].addresses[0].network) if isinstance(each, LabPlan) else "",
)
def test_it_lies_in_the_network_of_the_node_and_is_nobody_s(plan: LabPlan, first: str | None) -> None:
    taken = {address.ip for machine in plan.machines for nic in machine.nics for address in nic.addresses}
    found = [free_address(scene) for scene in scenes(plan)]
    assert first in (None, found[0])
    assert len(set(found[:3])) == 3, "each node has its own"
    for scene, text in zip(scenes(plan), found, strict=True):
        chosen, network = ip_interface(text), own_address(scene.node).network
        assert chosen.network == network
        assert chosen.ip not in {*taken, network.network_address, network.broadcast_address}


def test_where_none_is_free_it_is_refused() -> None:
    plan = in_network("10.1.2.16/28", 3)
    node = plan.nodes[0]
    hosts = own_address(node).network.hosts()
    full = [ip_interface(f"{host}/28") for host in hosts]
    crowded = plan.router._replace(nics=(plan.router.nics[0]._replace(addresses=tuple(full)),))
    everybody = tuple(crowded if each.role == "router" else each for each in plan.machines)
    with pytest.raises(LabFailure) as caught:
        free_address(Scene(plan._replace(machines=everybody), node, Random(7)))
    assert caught.value.key == "no-free-address"
    assert "10.1.2.16/28" in str(caught.value)
