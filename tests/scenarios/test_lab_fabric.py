"""The network of a lab as `ip` finds it in each machine, and as packets find it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.support.fabric import ip, pings, run

from tortie.host.events import Events
from tortie.host.namespaces import Inside, get_sysctl
from tortie.host.netlink import Netlink, Request
from tortie.lab.fabric import Fabric
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.planning import plan as planned
from tortie.lab.topology import from_flags, read_topology
from tortie.lab.traces import remains
from tortie.lab.wires import link_names
from tortie.model.errors import TortieError
from tortie.model.network import CIDR

RICH = """
apiVersion: tortie/v1
kind: Lab
networks:
- {name: storage, cidr: 192.168.50.0/24, mtu: 1400}
- {name: a-network-with-a-very-long-name, cidr: 192.168.60.0/24}
nodes:
- name: node-1
  nics: [{name: eth1, network: storage}]
  bridges: [{name: br-3a10a9384428, address: 172.18.0.1/16}, {name: docker0, address: 172.17.0.1/16}]
- name: a-node-with-a-very-long-name.example.com
  nics: [{name: storage-nic, network: storage}, {name: eth2, network: a-network-with-a-very-long-name}]
- name: node-3
  nics: [{name: eth1, network: a-network-with-a-very-long-name}]
"""
QUIET_S = 1.0  # the kernel tells of a link's state a second late at most
LONG = "a-node-with-a-very-long-name.example.com"


@pytest.fixture
def fabric() -> Iterator[Fabric]:
    fabric = Fabric()
    yield fabric
    fabric.close()


def lab(nodes: int = 3, racks: int = 0, *, ipv6: bool = False) -> LabPlan:
    return planned(from_flags(nodes, racks, ipv6=ipv6), "lab")


def described(text: str) -> LabPlan:
    return planned(read_topology(text, "lab.yaml"), "lab")


def link(fabric: Fabric, machine: str, name: str) -> Any:
    links = ip(fabric.places[machine].namespaces, "addr")
    return next((each for each in links if each["ifname"] == name), None)


def addresses(fabric: Fabric, machine: str, name: str) -> list[str]:
    found = link(fabric, machine, name)["addr_info"]
    return [f"{each['local']}/{each['prefixlen']}" for each in found if each["scope"] == "global"]


def routes(fabric: Fabric, machine: str, *words: str) -> set[tuple[str, str]]:
    found = ip(fabric.places[machine].namespaces, *words, "route")
    return {(route["dst"], route["gateway"]) for route in found if "gateway" in route}


def neighbours(fabric: Fabric, machine: str) -> dict[str, tuple[str, str]]:
    found = ip(fabric.places[machine].namespaces, "neigh", "show", "nud", "permanent")
    return {entry["dst"]: (entry["dev"], entry["lladdr"]) for entry in found}


def reaches(fabric: Fabric, machine: str, target: str) -> bool:
    return pings(fabric.places[machine].namespaces, target)


def listening(fabric: Fabric, machine: str) -> Events:
    """The kernel's news there, from the moment when links and addresses have come to rest."""
    with Inside(fabric.places[machine].namespaces):
        listener = Events()
    deadline = time.monotonic() + 60
    # Silence alone is not enough: a busy kernel takes longer for what it still has to tell.
    while not is_settled(fabric, machine) or listener.wait(QUIET_S):
        assert time.monotonic() < deadline, f"{machine} does not come to rest"
    return listener


def is_settled(fabric: Fabric, machine: str) -> bool:
    """Whether the kernel has worked out the state of all links and addresses there, which it does on its own time."""
    links = ip(fabric.places[machine].namespaces, "addr")
    carrying = [each for each in links if "LOWER_UP" in each["flags"]]
    tentative = [address for each in links for address in each["addr_info"] if address.get("tentative")]
    return not tentative and all(each["operstate"] in ("UP", "UNKNOWN") for each in carrying)


def owners(machine: Machine) -> dict[str, tuple[CIDR, ...]]:
    """What has addresses in a machine."""
    nics = {nic.name: nic.addresses for nic in machine.nics}
    return nics | {bridge.name: bridge.addresses for bridge in machine.bridges}


def is_as_planned(fabric: Fabric, plan: LabPlan) -> None:
    """By `ip`, machine by machine."""
    assert set(fabric.places) == {machine.name for machine in plan.machines}
    for machine in plan.machines:
        for nic in machine.nics:
            found = link(fabric, machine.name, nic.name)
            assert (found["address"], found["mtu"]) == (nic.mac, nic.mtu)
            assert {"UP", "LOWER_UP"} <= {*found["flags"]}
        for name, cidrs in owners(machine).items():
            assert addresses(fabric, machine.name, name) == [str(cidr) for cidr in cidrs]
        wanted = {str(entry.address): (entry.nic, entry.mac) for entry in machine.neighbours}
        assert neighbours(fabric, machine.name) == wanted
        default = {("default" if network.prefixlen == 0 else str(network), str(via)) for network, via in machine.routes}
        assert routes(fabric, machine.name) | routes(fabric, machine.name, "-6") == default


def test_three_nodes_and_a_router_on_one_switch(fabric: Fabric) -> None:
    plan = lab()
    done = fabric.apply(plan)
    assert done.new_machines == ("node-1", "node-2", "node-3", "router")
    is_as_planned(fabric, plan)
    assert addresses(fabric, "node-1", "eth0") == ["10.77.0.1/24"]
    assert routes(fabric, "node-1") == {("default", "10.77.0.254")}
    assert set(neighbours(fabric, "node-1")) == {"10.77.0.2", "10.77.0.3", "10.77.0.254"}
    for machine in ("node-1", "node-3"):
        for target in ("10.77.0.2", "10.77.0.254"):
            assert reaches(fabric, machine, target)
    with Inside(fabric.places["node-2"].namespaces):
        assert socket.gethostname() == "node-2"
        assert get_sysctl("net.ipv4.ip_forward") == get_sysctl("net.ipv6.conf.all.forwarding") == "1"
        with socket.create_server(("127.0.0.1", 0)) as server:  # the loopback carries something, too
            socket.create_connection(server.getsockname(), timeout=5).close()
    assert socket.gethostname() != "node-2"


def test_nobody_asks_for_addresses(fabric: Fabric) -> None:
    """The kernel's table of neighbours is one for all labs of a machine; permanent entries do not count in it."""
    fabric.apply(lab(2))
    assert reaches(fabric, "node-1", "10.77.0.2")
    entries = ip(fabric.places["node-1"].namespaces, "-4", "neigh")
    assert {(entry["dst"], *entry["state"]) for entry in entries} == {
        ("10.77.0.2", "PERMANENT"),
        ("10.77.0.254", "PERMANENT"),
    }


def test_racks_are_reached_through_the_router(fabric: Fabric) -> None:
    plan = lab(4, racks=2, ipv6=True)
    fabric.apply(plan)
    is_as_planned(fabric, plan)
    by_name = {machine.name: machine for machine in plan.machines}
    first, last = by_name["node-1"], by_name["node-4"]
    assert (first.rack, last.rack) == ("rack-1", "rack-2")
    for cidr in last.nics[0].addresses:
        assert reaches(fabric, "node-1", str(cidr.ip))
    path = ip(fabric.places["node-1"].namespaces, "route", "get", last.address)[0]
    assert path["gateway"] == str(first.routes[0][1])
    run(fabric.places["router"].namespaces, "ip", "link", "set", "eth1", "down")
    assert not pings(fabric.places["node-1"].namespaces, str(last.address), timeout_s=0.5)
    assert reaches(fabric, "node-1", str(by_name["node-2"].address))


def test_addresses_of_ipv6_are_usable_at_once(fabric: Fabric) -> None:
    fabric.apply(lab(2, ipv6=True))
    assert addresses(fabric, "node-1", "eth0") == ["10.77.0.1/24", "fd77::1/64"]
    for address in link(fabric, "node-1", "eth0")["addr_info"]:
        # The address of the link itself is the kernel's, which looks for twins of it for a moment.
        assert address["scope"] == "link" or not address.get("tentative")
    assert reaches(fabric, "node-1", "fd77::2")


def test_more_nics_bridges_and_long_names(fabric: Fabric) -> None:
    plan = described(RICH)
    fabric.apply(plan)
    is_as_planned(fabric, plan)
    bridge = link(fabric, "node-1", "br-3a10a9384428")
    assert bridge["linkinfo"]["info_kind"] == "bridge"
    assert "UP" in bridge["flags"]
    by_name = {machine.name: machine for machine in plan.machines}
    storage = by_name[LONG].nics[1]
    assert storage.mtu == 1400
    assert reaches(fabric, "node-1", str(storage.addresses[0].ip))
    assert reaches(fabric, LONG, str(by_name["node-3"].nics[1].addresses[0].ip))
    with Inside(fabric.places[LONG].namespaces):
        assert socket.gethostname() == LONG


def test_applying_again_changes_nothing(fabric: Fabric) -> None:
    plan = described(RICH)
    fabric.apply(plan)
    with ExitStack() as stack:
        listeners = [stack.enter_context(listening(fabric, name)) for name in fabric.places]
        assert not fabric.apply(plan)
        assert [listener.drain() for listener in listeners] == [False] * len(listeners)


def test_nodes_come_and_go_and_the_others_stay(fabric: Fabric) -> None:
    fabric.apply(lab(3))
    index = link(fabric, "node-1", "eth0")["ifindex"]
    gone = fabric.places["node-3"].mark
    with listening(fabric, "node-1") as listener:
        done = fabric.apply(lab(5))
        assert done.new_machines == ("node-4", "node-5")
        is_as_planned(fabric, lab(5))
        assert reaches(fabric, "node-5", "10.77.0.1")
        done = fabric.apply(lab(2))
        assert done.obsolete_machines == ("node-3", "node-4", "node-5")
        is_as_planned(fabric, lab(2))
        assert not listener.drain()  # nothing that an agent on node-1 would have to think about
    assert set(neighbours(fabric, "node-1")) == {"10.77.0.2", "10.77.0.254"}
    assert link(fabric, "node-1", "eth0")["ifindex"] == index
    assert not remains("/nonexistent", [gone])
    fabric.apply(lab(3))  # the same name again
    is_as_planned(fabric, lab(3))


def test_a_lab_gets_other_nics_bridges_networks_and_racks(fabric: Fabric) -> None:
    plain, rich, racks = lab(3), described(RICH), lab(4, racks=2)
    for plan in (plain, rich, racks, rich, plain, racks, plain):
        fabric.apply(plan)
        is_as_planned(fabric, plan)
        for machine in plan.machines:
            links = {each["ifname"] for each in ip(fabric.places[machine.name].namespaces, "link")}
            assert links == {"lo", *owners(machine)}
    assert reaches(fabric, "node-1", "10.77.0.3")


BREAKS = {
    "a cable is pulled": "ip link del eth0",
    "a NIC is down": "ip link set eth0 down",
    "a NIC has another MAC": "ip link set eth0 address 02:00:00:00:00:99",
    "a NIC has another MTU": "ip link set eth0 mtu 1300",
    "a NIC has another name": "ip link set eth0 down; ip link set eth0 name lan0",
    "another link has taken the name": "ip link del eth0; ip link add eth0 type bridge",
    "a bridge is gone": "ip link del docker0",
    "an address is gone": "ip addr del 10.77.0.1/24 dev eth0",
    "all addresses are gone": "ip addr flush dev eth0; ip addr flush dev docker0",
    "a route is gone": "ip route del default",
    "a route leads elsewhere": "ip route replace default via 10.77.0.3",
    "a neighbour is gone": "ip neigh flush all nud permanent",
    "a neighbour has another MAC": "ip neigh replace 10.77.0.3 lladdr 02:00:00:00:00:99 dev eth0 nud permanent",
    "forwarding is off": "echo 0 > /proc/sys/net/ipv4/ip_forward",
    "the loopback is down": "ip link set lo down",
}


@pytest.mark.parametrize("command", BREAKS.values(), ids=BREAKS)
def test_what_somebody_broke_is_mended(fabric: Fabric, command: str) -> None:
    plan = described(RICH)
    fabric.apply(plan)
    namespaces = fabric.places["node-1"].namespaces
    run(namespaces, "sh", "-c", command)
    done = fabric.apply(plan)
    assert [changed.machine for changed in done.changed] == ["node-1"]
    is_as_planned(fabric, plan)
    assert reaches(fabric, "node-1", "10.77.0.3")
    with Inside(namespaces):
        assert get_sysctl("net.ipv4.ip_forward") == "1"
    assert "UP" in link(fabric, "node-1", "lo")["flags"]
    assert not fabric.apply(plan)


def test_what_others_made_in_a_machine_is_left_alone(fabric: Fabric) -> None:
    fabric.apply(lab(3))
    namespaces = fabric.places["node-1"].namespaces
    for command in (
        "link add cali0 type bridge",
        "link set cali0 up",
        "addr add 10.77.0.77/24 dev eth0",
        "route add 10.244.0.64/26 via 10.77.0.2 proto bird",
        "route add blackhole 10.244.0.0/26 proto bird",
        "neigh add 10.77.0.200 lladdr 02:00:00:00:00:01 dev eth0 nud permanent",
    ):
        run(namespaces, "ip", *command.split())
    assert not fabric.apply(lab(3))
    fabric.apply(lab(4))
    assert "UP" in link(fabric, "node-1", "cali0")["flags"]
    assert addresses(fabric, "node-1", "eth0") == ["10.77.0.1/24", "10.77.0.77/24"]
    assert routes(fabric, "node-1") == {("default", "10.77.0.254"), ("10.244.0.64/26", "10.77.0.2")}
    assert "blackhole 10.244.0.0/26" in run(namespaces, "ip", "route")
    assert "10.77.0.200" in neighbours(fabric, "node-1")


class Cut(Exception):
    pass


@pytest.mark.parametrize("before", [None, lab(2)], ids=["a new lab", "a lab that exists"])
def test_a_build_cut_off_anywhere_can_be_repeated(before: LabPlan | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by another plan: nothing of the first is left then."""
    whole = Netlink.request_all
    plan, other = described(RICH), lab(3)
    survived = 0
    for cut in range(100):
        calls = iter(range(1000))

        def request_all(kernel: Netlink, requests: list[Request], deadline: float) -> Any:
            if next(calls) == cut:  # noqa: B023
                whole(kernel, requests[: len(requests) // 2], deadline)
                raise Cut
            return whole(kernel, requests, deadline)

        fabric = Fabric()
        try:
            if before:
                fabric.apply(before)
            monkeypatch.setattr(Netlink, "request_all", request_all)
            try:
                fabric.apply(plan)
            except Cut:
                survived += 1
            else:
                break
            finally:
                monkeypatch.undo()
            if cut % 2:
                fabric.apply(plan)
                assert not fabric.apply(plan)
            fabric.apply(other)
            is_as_planned(fabric, other)
        finally:
            fabric.close()
    assert survived > 5


def test_a_plan_that_the_kernel_refuses_is_told_and_harms_nobody(fabric: Fabric) -> None:
    fabric.apply(lab(2))
    machine = lab(3).machines[2]
    impossible = machine._replace(nics=(machine.nics[0]._replace(mac="01:00:00:00:00:01"),))  # a group's, nobody's own
    with pytest.raises(TortieError) as caught:
        fabric.apply(lab(3)._replace(machines=(*lab(2).machines, impossible)))
    assert caught.value.what == "cannot add the cable from node-3_eth0 to eth0"
    assert reaches(fabric, "node-1", "10.77.0.2")
    fabric.apply(lab(3))
    is_as_planned(fabric, lab(3))


def test_after_the_end_nothing_is_left() -> None:
    fabric = Fabric()
    plan = lab(3)
    fabric.apply(plan)
    marks = fabric.marks
    assert len({mark.inode for mark in marks}) == len(plan.machines) + 1
    descriptors = len(os.listdir("/proc/self/fd"))
    fabric.close()
    assert len(os.listdir("/proc/self/fd")) < descriptors
    deadline = time.monotonic() + 60
    while found := remains("/nonexistent", marks, link_names(plan)):
        assert time.monotonic() < deadline, found


def test_many_labs_do_not_know_each_other() -> None:
    fabrics = [Fabric() for _ in range(3)]
    try:
        for count, fabric in enumerate(fabrics, 1):
            fabric.apply(lab(count))
        for count, fabric in enumerate(fabrics, 1):
            is_as_planned(fabric, lab(count))
        assert len({mark for fabric in fabrics for mark in fabric.marks}) == sum(2 + count for count in (1, 2, 3))
        assert not pings(fabrics[0].places["node-1"].namespaces, "10.77.0.3", timeout_s=0.3)
    finally:
        for fabric in fabrics:
            fabric.close()


def test_descriptors_do_not_pile_up(fabric: Fabric) -> None:
    fabric.apply(lab(2))
    before = len(os.listdir("/proc/self/fd"))
    for count in (3, 2, 4, 2, 2):
        fabric.apply(lab(count))
    assert len(os.listdir("/proc/self/fd")) == before


def test_fifty_nodes_know_each_other(fabric: Fabric) -> None:
    fabric.apply(lab(50))
    assert len(neighbours(fabric, "node-50")) == 50
    assert reaches(fabric, "node-50", "10.77.0.1")
