"""What a plan means for each machine, and what is to be done about the difference."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, ip_address, ip_interface, ip_network

import pytest

from tortie.lab.plan import Bridge, LabPlan, Machine, Neighbour, Nic, Segment, StorePlan
from tortie.lab.wires import (
    Cable,
    Changed,
    Differences,
    Observed,
    Wires,
    differences,
    lacking,
    link_names,
    port_name,
    seen_wires,
    switch_name,
    wires,
)
from tortie.model.network import Address, HostNetwork, Interface, Route

DEFAULT = ip_network("0.0.0.0/0")
GATEWAY = ip_address("10.77.0.254")


def nic(number: int, name: str = "eth0", segment: str = "fabric") -> Nic:
    return Nic(name, f"02:77:0a:4d:00:{number:02x}", (ip_interface(f"10.77.0.{number}/24"),), segment)


def neighbour(number: int) -> Neighbour:
    return Neighbour("eth0", ip_address(f"10.77.0.{number}"), f"02:77:0a:4d:00:{number:02x}")


def node(number: int, *others: int) -> Machine:
    return Machine(
        f"node-{number}",
        "node",
        "",
        (nic(number),),
        routes=((DEFAULT, GATEWAY),),
        neighbours=tuple(map(neighbour, others)),
        forwarding=True,
    )


def plan(*machines: Machine, segments: Iterable[str] = ("fabric",)) -> LabPlan:
    networks = tuple(Segment(name, IPv4Network(f"10.77.{place}.0/24")) for place, name in enumerate(segments))
    return LabPlan("lab", networks, machines, StorePlan("embedded"), ())


def built(*plans: LabPlan) -> Observed:
    """As it is when all is done."""
    last = plans[-1]
    return Observed(
        frozenset(segment.name for segment in last.segments),
        {machine.name: wires(machine) for machine in last.machines},
    )


TWO = plan(node(1, 2), node(2, 1))


def test_what_a_machine_shall_have() -> None:
    machine = node(1, 2)._replace(bridges=(Bridge("docker0", (ip_interface("172.17.0.1/16"),)),))
    wanted = wires(machine)
    assert wanted == Wires(
        settings=(
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv6.conf.all.forwarding", "1"),
            ("net.ipv6.conf.default.accept_dad", "0"),
        ),
        cables=(Cable("eth0", "02:77:0a:4d:00:01", 1500, "fabric"),),
        bridges=("docker0",),
        up=("lo", "eth0", "docker0"),
        addresses=(("eth0", ip_interface("10.77.0.1/24")), ("docker0", ip_interface("172.17.0.1/16"))),
        routes=((DEFAULT, GATEWAY),),
        neighbours=(neighbour(2),),
    )
    assert wires(machine._replace(forwarding=False), ipv6=False).settings == (("net.ipv4.ip_forward", "0"),)


def test_a_new_lab_is_all_difference() -> None:
    assert differences(TWO, Observed(frozenset(), {})) == Differences(
        new_segments=("fabric",), new_machines=("node-1", "node-2")
    )


def test_a_lab_as_planned_has_none() -> None:
    found = differences(TWO, built(TWO), [TWO])
    assert found == Differences()
    assert not found


def test_a_machine_more_and_a_machine_less() -> None:
    three = plan(node(1, 2, 3), node(2, 1, 3), node(3, 1, 2))
    more = differences(three, built(TWO), [TWO])
    assert more == Differences(
        new_machines=("node-3",),
        changed=tuple(Changed(f"node-{number}", Wires(), Wires(neighbours=(neighbour(3),))) for number in (1, 2)),
    )
    less = differences(TWO, built(three), [three])
    assert less == Differences(
        obsolete_machines=("node-3",),
        changed=tuple(Changed(f"node-{number}", Wires(neighbours=(neighbour(3),)), Wires()) for number in (1, 2)),
    )


def test_segments_come_and_go() -> None:
    more = TWO._replace(segments=(*TWO.segments, Segment("storage", IPv4Network("192.168.0.0/24"))))
    assert differences(more, built(TWO), [TWO]) == Differences(new_segments=("storage",))
    assert differences(TWO, built(more), [more]) == Differences(obsolete_segments=("storage",))


def test_only_what_a_plan_put_there_is_obsolete() -> None:
    there = wires(TWO.machines[0])
    there = there._replace(
        bridges=("mine",),
        up=(*there.up, "mine"),
        addresses=(*there.addresses, ("eth0", ip_interface("10.77.0.99/24"))),
        routes=(*there.routes, (ip_network("10.244.0.0/26"), GATEWAY)),
        neighbours=(*there.neighbours, neighbour(99)),
    )
    observed = Observed(frozenset({"fabric"}), {"node-1": there, "node-2": wires(TWO.machines[1])})
    assert differences(TWO, observed, [TWO]) == Differences()


def test_a_nic_a_bridge_an_address_and_a_route_that_the_plan_has_no_more() -> None:
    rich = node(1, 2)._replace(
        nics=(nic(1), nic(11, "eth1")),
        bridges=(Bridge("docker0", ()),),
        routes=((DEFAULT, ip_address("10.77.0.253")),),
    )
    before = plan(rich, node(2, 1))
    (changed,) = differences(TWO, built(before), [before]).changed
    assert changed.machine == "node-1"
    assert changed.obsolete == Wires(
        cables=(Cable("eth1", "02:77:0a:4d:00:0b", 1500, "fabric"),),
        bridges=("docker0",),
        addresses=(("eth1", ip_interface("10.77.0.11/24")),),
        routes=((DEFAULT, ip_address("10.77.0.253")),),
    )
    assert changed.missing == Wires(routes=((DEFAULT, GATEWAY),))


def test_a_nic_that_changes_is_made_anew_and_not_also_called_obsolete() -> None:
    moved = plan(node(1, 2)._replace(nics=(nic(1, segment="storage"),)), node(2, 1), segments=("fabric", "storage"))
    (changed,) = differences(moved, built(TWO), [TWO]).changed
    assert changed == Changed("node-1", Wires(), Wires(cables=(Cable("eth0", "02:77:0a:4d:00:01", 1500, "storage"),)))


def test_a_neighbour_with_another_mac_is_replaced_and_not_removed() -> None:
    other = neighbour(2)._replace(mac="02:00:00:00:00:99")
    after = plan(node(1)._replace(neighbours=(other,)), node(2, 1))
    (changed,) = differences(after, built(TWO), [TWO]).changed
    assert changed == Changed("node-1", Wires(), Wires(neighbours=(other,)))


def test_of_plans_that_were_begun_and_not_finished_nothing_is_forgotten() -> None:
    first = plan(node(1, 2)._replace(bridges=(Bridge("one", ()),)), node(2, 1))
    second = plan(node(1, 2)._replace(bridges=(Bridge("two", ()),)), node(2, 1))
    (changed,) = differences(TWO, built(first), [first, second]).changed
    assert changed.obsolete == Wires(bridges=("one", "two"))


def test_what_is_seen_of_a_machine() -> None:
    network = HostNetwork(
        (
            Interface(1, "lo"),
            Interface(
                *(2, "eth0", "veth"),
                mac="02:77:0a:4d:00:01",
                addresses=(Address(ip_interface("10.77.0.1/24")), Address(ip_interface("fe80::1/64"), "link")),
            ),
            Interface(3, "eth1", "veth", flags=frozenset(), mac="02:77:0a:4d:00:0b"),
            Interface(4, "cali1", "veth", mac="ee:ee:ee:ee:ee:ee"),
            Interface(5, "docker0", "bridge"),
        ),
        (
            Route(DEFAULT, 2, GATEWAY),
            Route(ip_network("10.77.0.0/24"), 2),
            Route(ip_network("10.0.0.0/8"), 2, GATEWAY, table=100),
        ),
    )
    ports = {"node-1_eth0": "fabric", "node-1_eth1": "storage", "node-2_cali1": "fabric"}
    seen = seen_wires("node-1", network, [neighbour(2)], [("net.ipv4.ip_forward", "0")], ports)
    assert seen.cables == (
        Cable("eth0", "02:77:0a:4d:00:01", 1500, "fabric"),
        Cable("eth1", "02:77:0a:4d:00:0b", 1500, "storage"),
    )
    assert seen.bridges == ("docker0",)
    assert seen.up == ("lo", "eth0", "cali1", "docker0")
    assert ("eth0", ip_interface("10.77.0.1/24")) in seen.addresses
    assert seen.routes == ((DEFAULT, GATEWAY),)
    missing = lacking(wires(node(1, 2)), seen)
    assert missing == Wires(settings=wires(node(1)).settings)


@pytest.mark.parametrize(
    ("machine", "name", "port"),
    [("node-1", "eth0", "node-1_eth0"), ("node-1000", "eth99", "node-1000_eth99"), ("a.b", "c", "a.b_c")],
)
def test_a_port_is_called_after_what_is_plugged_in(machine: str, name: str, port: str) -> None:
    assert port_name(machine, name) == port


def test_long_names_are_cut_and_still_differ() -> None:
    machines = [f"a-node-with-a-long-name-{number}" for number in range(1000)]
    ports = {port_name(machine, name) for machine in machines for name in ("eth0", "eth1")}
    assert len(ports) == 2000
    assert {len(port) for port in ports} == {15}
    assert all(port.startswith("a-no_") for port in ports)
    assert len(switch_name("a-network-with-a-long-name")) == 15
    assert port_name("node-1", "storage-nic-01") != port_name("node-1", "storage-nic-02")


def test_names_of_different_things_never_meet() -> None:
    """Machines may have dots in their names, NICs underscores, too."""
    pairs = [("a", "b.c"), ("a.b", "c"), ("a", "b_c"), ("a-b", "c"), ("a", "b-c")]
    assert len({port_name(*pair) for pair in pairs} | {switch_name("a-b-c"), switch_name("a")}) == len(pairs) + 2


def test_the_names_of_a_labs_links() -> None:
    assert link_names(TWO) == {"fabric", "node-1_eth0", "node-2_eth0"}
