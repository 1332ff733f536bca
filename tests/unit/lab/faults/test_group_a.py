"""The faults of addresses, BGP, BIRD, probes and the dataplane: what each does, told purely."""

from __future__ import annotations

import unicodedata
from ipaddress import ip_interface
from random import Random

import pytest

from tortie.doctor.causes.catalogue import all_causes
from tortie.lab.faults import addresses, bgp, bird, dataplane, probes
from tortie.lab.faults.deeds import (
    AddAddress,
    AddBridge,
    AddNic,
    CoverFile,
    Deed,
    Filter,
    HaltMachine,
    PutResource,
    RemoveAddress,
    RemoveFile,
    RemoveResource,
    RestartNode,
    RunHelper,
    SendSignal,
    SetKernel,
    SetLink,
    SetVariable,
    WriteFile,
)
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.planning import plan
from tortie.lab.topology import from_flags

FAULTS: dict[str, Fault] = {
    fault.name: fault for group in (addresses, bgp, bird, probes, dataplane) for fault in group.FAULTS
}
CODES = {cause.id: cause.code for cause in all_causes()}


def scene(seed: int = 7, nodes: int = 3) -> Scene:
    made = plan(from_flags(nodes, kubelet=True), "unit")
    return Scene(made, made.nodes[1], Random(seed))


def deeds(name: str, seed: int = 7) -> tuple[Deed, ...]:
    return FAULTS[name].plan(scene(seed))


def kinds(name: str) -> list[str]:
    return [type(deed).__name__ for deed in deeds(name)]


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_is_well_told(fault: Fault) -> None:
    assert CODES[fault.cause] == fault.code
    for text in fault.summary:
        assert columns(text) <= 70
    assert fault.shows.en.endswith(".")
    assert fault.shows.zh.endswith("。")


@pytest.mark.parametrize("name", FAULTS)
def test_the_same_seed_gives_the_same_deeds(name: str) -> None:
    assert deeds(name, 3) == deeds(name, 3)


@pytest.mark.parametrize("name", FAULTS)
def test_a_restart_comes_last(name: str) -> None:
    assert "RestartNode" not in kinds(name)[:-1]


# A secret that was changed everywhere but on the node.
OF_ALL = ("bgp-password",)


@pytest.mark.parametrize(
    "name", [name for name, fault in FAULTS.items() if not fault.everywhere and name not in OF_ALL]
)
def test_only_the_node_the_store_and_the_switch_are_touched(name: str) -> None:
    assert {machine for deed in deeds(name) if (machine := getattr(deed, "machine", ""))} <= {"node-2", "switch"}


def test_docker_s_bridge_looks_like_docker_s() -> None:
    bridge, restart = deeds("docker-bridge")
    assert isinstance(bridge, AddBridge)
    assert (len(bridge.link), bridge.link[:3], bridge.address) == (15, "br-", "172.18.0.1/16")
    assert bridge.mac.startswith("02:42:")
    assert len(bridge.mac) == 17
    assert restart == RestartNode("node-2")
    assert deeds("docker-bridge", 8)[0] != bridge


def test_the_second_nic() -> None:
    assert deeds("second-nic") == (AddNic("node-2", "eth1", "10.0.0.66/24"), RestartNode("node-2"))


def test_a_duplicate_takes_the_place_of_the_own_address() -> None:
    assert deeds("duplicate-address") == (
        SetVariable("node-2", "IP", "autodetect"),
        RemoveAddress("node-2", "eth0", "10.77.0.2/24"),
        AddAddress("node-2", "eth0", "10.77.0.1/24"),
        RestartNode("node-2"),
    )


def test_the_old_name_s_record_is_there_before_the_new_one_s_goes() -> None:
    assert kinds("renamed-node") == ["SetVariable", "PutResource", "RemoveResource", "RestartNode"]
    record = deeds("renamed-node")[1]
    assert isinstance(record, PutResource)
    assert record.document["spec"] == {"bgp": {"ipv4Address": "10.77.0.2/24"}}
    assert deeds("renamed-node")[2] == RemoveResource("Node", "node-2")


def test_a_changed_address_is_nobody_s() -> None:
    setting, removed, added, _ = deeds("address-changed")
    assert setting == SetVariable("node-2", "IP", "10.77.0.2")
    assert isinstance(removed, RemoveAddress)
    assert isinstance(added, AddAddress)
    taken = {str(nic.addresses[0].ip) for machine in scene().plan.machines for nic in machine.nics}
    new = ip_interface(added.address)
    assert str(new.ip) not in taken
    assert new.network == ip_interface(removed.address).network


def test_methods_that_find_nothing_or_are_none() -> None:
    assert SetVariable("node-2", "IP_AUTODETECTION_METHOD", "interface=ens.*") in deeds("no-address")
    assert RemoveResource("Node", "node-2") in deeds("no-address")
    assert SetVariable("node-2", "IP_AUTODETECTION_METHOD", "eth0") in deeds("wrong-method")


def test_filters_stand_where_they_should() -> None:
    port, _ = deeds("bgp-port-dropped")
    assert isinstance(port, Filter)
    assert (port.machine, port.family) == ("node-2", "inet")
    assert "tcp dport 179" in port.rules
    path, _ = deeds("one-way-filter")
    assert isinstance(path, Filter)
    assert (path.machine, path.family) == ("switch", "bridge")
    assert "ip daddr 10.77.0.2" in path.rules
    assert "ip saddr" not in path.rules
    (hole,) = deeds("mtu-black-hole")
    assert isinstance(hole, Filter)
    assert (hole.machine, hole.family) == ("switch", "bridge")
    assert "ip length > 1400" in hole.rules
    (tunnel,) = deeds("vxlan-port-dropped")
    assert isinstance(tunnel, Filter)
    assert "udp dport 4789" in tunnel.rules
    for each in (port, path, hole, tunnel):
        assert each.rules.startswith(f"table {each.family} {{table}} {{")


def specs(name: str) -> list[dict[str, object]]:
    found = [deed.document for deed in deeds(name) if isinstance(deed, PutResource)]
    return [spec for document in found if isinstance(spec := document["spec"], dict)]


def test_every_session_of_the_node_expects_another_as() -> None:
    assert [spec["peerIP"] for spec in specs("as-mismatch")] == ["10.77.0.1", "10.77.0.3"]
    assert {spec["node"] for spec in specs("as-mismatch")} == {"node-2"}
    assert all(spec["asNumber"] != 64512 for spec in specs("as-mismatch"))


def test_the_node_signs_otherwise_than_its_peers() -> None:
    written = [deed for deed in deeds("bgp-password") if isinstance(deed, WriteFile)]
    assert [deed.machine for deed in written] == ["node-2", "node-1", "node-3"]
    assert {(deed.path, deed.mode) for deed in written} == {("/etc/calico/secrets/bgp-secrets/mesh", 0o600)}
    own, one, other = (deed.text for deed in written)
    assert own != one == other
    assert all("password" in spec and spec["asNumber"] == 64512 for spec in specs("bgp-password"))


def test_the_mesh_is_off_for_all() -> None:
    (configuration,) = deeds("peer-misconfigured")
    assert isinstance(configuration, PutResource)  # whole: older releases have none to patch
    assert configuration.document["kind"] == "BGPConfiguration"
    assert specs("peer-misconfigured")[0]["nodeToNodeMeshEnabled"] is False
    assert FAULTS["peer-misconfigured"].everywhere


def test_machines_and_links_go_away() -> None:
    assert deeds("link-down") == (SetLink("node-2", "eth0", up=False),)
    assert deeds("node-down") == (HaltMachine("node-2"),)
    assert deeds("loopback-down") == (SetLink("node-2", "lo", up=False),)


def test_what_is_done_to_bird() -> None:
    assert deeds("bird-stopped") == (RunHelper("node-2", "bird-stopped", ("stop-again", "bird")),)
    killed = SendSignal("node-2", "bird", "KILL")
    assert deeds("bird-socket-gone") == (RemoveFile("node-2", "/var/run/calico"), killed)
    (edited,) = deeds("bird-config-invalid")
    assert isinstance(edited, RunHelper)
    assert edited.words[:3] == ("edit-again", "/etc/calico/confd/config/bird.cfg", "bird")
    assert "rr client" in edited.words[3]
    assert kinds("bird-killed") == ["PutResource", "RunHelper"]
    assert deeds("port-179-taken") == (
        RunHelper("node-2", "port-179", ("listen", "179", "0.0.0.0", "gobgpd")),
        killed,
    )


def test_what_probes_die_of() -> None:
    taken = deeds("port-9099-taken")[0]
    assert taken == RunHelper("node-2", "port-9099", ("listen", "9099", "::", "node_exporter"))
    hosts = deeds("localhost-elsewhere")[0]
    assert isinstance(hosts, CoverFile)
    assert "10.77.0.254 localhost" in hosts.text
    assert "127.0.0.1" not in hosts.text


def test_settings_of_the_kernel() -> None:
    assert SetKernel("node-2", "net.ipv4.conf.all.rp_filter", "2") in deeds("rp-filter")
    off, again = deeds("forwarding-off")
    assert off == SetKernel("node-2", "net.ipv4.ip_forward", "0")
    assert isinstance(again, RunHelper)
    assert again.words == ("sysctl-again", "net.ipv4.ip_forward", "0")
