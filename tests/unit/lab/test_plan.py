"""From a topology to a plan: which machine has which addresses, and how they find each other."""

from __future__ import annotations

import json

from tests.support.topologies import planned, read

from tortie.lab.plan import LabPlan, Neighbour
from tortie.lab.plan_json import as_json, from_json
from tortie.lab.planning import plan
from tortie.lab.topology import from_flags


def addresses(found: LabPlan) -> dict[str, str]:
    return {
        machine.name: " ".join(f"{nic.name}={address}" for nic in machine.nics for address in nic.addresses)
        for machine in found.machines
    }


def test_three_nodes_in_one_segment() -> None:
    found = planned()
    assert addresses(found) == {
        "node-1": "eth0=10.77.0.1/24",
        "node-2": "eth0=10.77.0.2/24",
        "node-3": "eth0=10.77.0.3/24",
        "router": "eth0=10.77.0.254/24",
    }
    node = found.nodes[0]
    assert node.nics[0].mac == "02:77:0a:4d:00:01"
    assert [(str(destination), str(gateway)) for destination, gateway in node.routes] == [("0.0.0.0/0", "10.77.0.254")]
    assert [str(block) for each in found.nodes for block in each.blocks] == [
        "10.244.0.0/26",
        "10.244.0.64/26",
        "10.244.0.128/26",
    ]
    assert node.forwarding
    assert found.router.forwarding
    assert not found.stores


def test_everybody_in_a_segment_is_a_permanent_neighbour() -> None:
    found = planned()
    assert found.nodes[0].neighbours == tuple(
        Neighbour("eth0", machine.address, machine.nics[0].mac) for machine in found.machines[1:]
    )


def test_racks_are_segments_behind_the_router_and_nodes_are_dealt_out_side_by_side() -> None:
    found = planned(nodes=5, racks=2, store="etcd", members=3)
    assert [node.rack for node in found.nodes] == ["rack-1", "rack-1", "rack-1", "rack-2", "rack-2"]
    assert addresses(found) == {
        "node-1": "eth0=10.77.1.1/24",
        "node-2": "eth0=10.77.1.2/24",
        "node-3": "eth0=10.77.1.3/24",
        "node-4": "eth0=10.77.2.4/24",
        "node-5": "eth0=10.77.2.5/24",
        "etcd-1": "eth0=10.77.0.251/24",
        "etcd-2": "eth0=10.77.0.252/24",
        "etcd-3": "eth0=10.77.0.253/24",
        "router": "eth0=10.77.0.254/24 eth1=10.77.1.254/24 eth2=10.77.2.254/24",
    }
    assert str(found.nodes[4].routes[0][1]) == "10.77.2.254"
    assert {str(neighbour.address) for neighbour in found.nodes[4].neighbours} == {"10.77.2.4", "10.77.2.254"}
    assert found.nodes[4].labels == {"rack": "rack-2"}
    assert not found.stores[0].forwarding
    assert str(found.stores[0].routes[0][1]) == "10.77.0.254"


def test_ipv6_numbers_are_read_as_they_are_written() -> None:
    found = planned(nodes=12, racks=2, ipv6=True)
    assert [str(address) for address in found.nodes[11].nics[0].addresses] == ["10.77.2.12/24", "fd77:0:0:2::12/64"]
    assert [str(gateway) for _, gateway in found.nodes[11].routes] == ["10.77.2.254", "fd77:0:0:2::fffe"]
    assert [str(block) for block in found.nodes[11].blocks] == ["10.244.2.192/26", "fd77:0:244::2c0/122"]
    assert found.nodes[0].settings["IP6"] == "autodetect"


def test_a_large_lab_gets_a_large_segment() -> None:
    found = planned(nodes=241)
    assert str(found.segments[0].network) == "10.77.0.0/16"
    assert str(found.nodes[240].address) == "10.77.0.241"
    assert str(found.router.address) == "10.77.255.254"
    assert str(planned(nodes=240).segments[0].network) == "10.77.0.0/24"


def test_a_node_keeps_its_place_when_another_one_goes() -> None:
    before, after = planned("nodes: [node-1, node-2, node-3]"), planned("nodes: [node-3, node-1]")
    for name in ("node-1", "node-3"):
        stood, stands = before.machine(name), after.machine(name)
        assert stood
        assert stands
        assert (stood.nics, stood.blocks) == (stands.nics, stands.blocks)


def test_names_without_a_number_get_the_free_ones_in_order() -> None:
    found = planned("nodes: [alpha, node-2, beta, {name: gamma, address: 10.77.0.3}, delta]")
    assert [str(node.address) for node in found.nodes] == [
        "10.77.0.1",
        "10.77.0.2",
        "10.77.0.4",
        "10.77.0.3",
        "10.77.0.5",
    ]


def test_an_address_that_was_asked_for_is_kept_from_others() -> None:
    found = planned("nodes: [node-1, {name: node-2, address: 10.77.0.1}]")
    assert [str(node.address) for node in found.nodes] == ["10.77.0.2", "10.77.0.1"]


def test_nics_in_the_same_network_share_a_segment() -> None:
    found = planned(
        """\
        networks:
        - {name: storage, cidr: 10.0.0.0/24, cidr6: "fd00::/64", mtu: 9000}
        nodes:
        - name: node-1
          nics:
          - {name: eth1, network: storage}
          - {name: eth2, address: 192.168.7.1/28}
        - name: node-2
          nics:
          - {name: ens7, address: 10.0.0.66}
          - {name: ens8, address: 192.168.7.2}
        """
    )
    assert addresses(found)["node-1"] == ("eth0=10.77.0.1/24 eth1=10.0.0.1/24 eth1=fd00::1/64 eth2=192.168.7.1/28")
    assert addresses(found)["node-2"] == "eth0=10.77.0.2/24 ens7=10.0.0.66/24 ens7=fd00::2/64 ens8=192.168.7.2/28"
    assert found.nodes[0].nics[1].segment == found.nodes[1].nics[1].segment == "storage"
    assert found.nodes[0].nics[2].segment == found.nodes[1].nics[2].segment == "net-192-168-7-0-28"
    assert found.nodes[0].nics[1].mtu == 9000
    assert {str(each.address) for each in found.nodes[0].neighbours if each.nic == "eth1"} == {"10.0.0.66", "fd00::2"}
    assert len(found.nodes[0].routes) == 1, "a NIC beside eth0 leads to its own network only"
    assert all(nic.segment == "fabric" for nic in found.router.nics)


def test_bridges_are_inside_a_node_and_may_be_alike_on_many() -> None:
    found = planned("nodes: [{name: a, bridges: [{name: docker0, address: 172.17.0.1/16}]}, "
                    "{name: b, bridges: [{name: docker0, address: 172.17.0.1/16}, {name: empty0}]}]")  # fmt: skip
    assert [str(address) for address in found.nodes[0].bridges[0].addresses] == ["172.17.0.1/16"]
    assert found.nodes[1].bridges[1].addresses == ()
    assert not any(str(each.address) == "172.17.0.1" for each in found.nodes[0].neighbours)


def test_networks_of_the_lab_itself_can_be_chosen() -> None:
    found = planned("nodes: 2\nnetworks: [{name: fabric, cidr: 172.17.72.0/22, mtu: 1400}]")
    assert str(found.nodes[1].address) == "172.17.72.2"
    assert str(found.router.address) == "172.17.75.254"
    assert found.nodes[1].nics[0].mtu == found.router.nics[0].mtu == 1400


def test_settings_of_a_node_win_over_those_of_all() -> None:
    found = planned(
        """\
        settings: {FELIX_LOGSEVERITYSCREEN: debug, A: all}
        nodes:
        - {name: a, settings: {A: own, CALICO_NETWORKING_BACKEND: none}}
        - b
        """
    )
    first, second = (node.settings for node in found.nodes)
    assert (first["A"], second["A"]) == ("own", "all")
    assert (first["CALICO_NETWORKING_BACKEND"], second["CALICO_NETWORKING_BACKEND"]) == ("none", "bird")
    assert first["FELIX_LOGSEVERITYSCREEN"] == "debug"
    assert (first["NODENAME"], second["NODENAME"]) == ("a", "b")
    assert second["CALICO_IPV4POOL_CIDR"] == "10.244.0.0/16"
    assert second["CALICO_IPV4POOL_IPIP"] == "Never"


def test_encapsulation_of_the_pools() -> None:
    found = planned("nodes: 1\nipv6: true\npool: {cidr: 10.10.0.0/16, blockSize: 24, encapsulation: IPIPCrossSubnet}")
    assert [(str(pool.cidr), pool.block_size, pool.ipip, pool.vxlan) for pool in found.pools] == [
        ("10.10.0.0/16", 24, "CrossSubnet", "Never"),
        ("fd77:0:244::/64", 122, "Never", "Never"),
    ]
    assert [pool.vxlan for pool in planned("nodes: 1\nipv6: true\npool: {encapsulation: VXLAN}").pools] == [
        "Always",
        "Always",
    ]


def test_the_same_topology_gives_the_same_plan() -> None:
    text = "nodes: [b, a, {name: node-7, nics: [{name: eth1, address: 10.9.0.1/24}]}]\nracks: 2\nipv6: true"
    assert planned(text) == plan(read(text), "lab")


def test_a_plan_survives_json() -> None:
    for found in (
        planned(nodes=4, racks=2, store="etcd", members=3, ipv6=True),
        planned("nodes: [{name: a, labels: {x: y}, bridges: [{name: b, address: 172.18.0.1/16}], settings: {A: 1}}]"),
    ):
        assert from_json(json.loads(json.dumps(as_json(found)))) == found


def test_json_of_a_large_lab_does_not_hold_every_pair_of_nodes() -> None:
    def size(nodes: int) -> int:
        return len(json.dumps(as_json(plan(from_flags(nodes), "lab"))))

    assert size(200) < 2.5 * size(100)
