"""What is broken is written down before it is broken, and read again whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.lab.failures import LabFailure
from tortie.lab.faults import deeds
from tortie.lab.faults.deed_forms import KINDS, as_json, from_json, made_links, on_made_link, spread, touched
from tortie.lab.faults.deeds import Deed
from tortie.lab.faults.doing import _DOERS
from tortie.lab.faults.ledger import Ledger, Step, Struck
from tortie.lab.registry import LabFolder

EACH: tuple[Deed, ...] = (
    deeds.AddBridge("node-1", "docker0", "172.17.0.1/16"),
    deeds.AddNic("node-1", "eth1", "10.0.0.66/24"),
    deeds.AddAddress("node-1", "eth0", "10.77.0.9/24"),
    deeds.RemoveAddress("node-1", "eth0", "10.77.0.1/24"),
    deeds.SetLink("node-1", "eth0", up=False),
    deeds.Filter("node-1", "table inet {table} { }"),
    deeds.SetKernel("node-1", "net.ipv4.ip_forward", "0"),
    deeds.WriteFile("node-1", "/etc/cni/net.d/00.conf", "{}"),
    deeds.RemoveFile("node-1", "/opt/cni/bin/calico"),
    deeds.CoverFile("node-1", "/etc/hosts", "1.2.3.4 localhost\n"),
    deeds.FillDisk("node-1", "/var/lib/calico"),
    deeds.SealFolder("node-1", "/opt/cni/bin"),
    deeds.RunHelper("node-1", "hog", ("hog", "2"), starved=True),
    deeds.SendSignal("node-1", "bird", "STOP", "CONT"),
    deeds.LimitCpu("node-1", 5.0),
    deeds.SetVariable("node-1", "IP", None),
    deeds.RestartNode("node-1"),
    deeds.RestartUnit("node-1", "kubelet"),
    deeds.HaltMachine("node-1"),
    deeds.PutResource({"kind": "IPPool", "metadata": {"name": "p"}}),
    deeds.PatchResource("Node", "node-1", {"spec": {"bgp": None}}),
    deeds.RemoveResource("Node", "node-1"),
    deeds.PutKey("/calico/x", "y"),
    deeds.RunPods("node-1", "filler", 3),
)


def test_all_kinds_are_here_and_can_be_done() -> None:
    assert {type(deed).__name__ for deed in EACH} == set(KINDS)
    assert set(_DOERS) == set(KINDS.values())


@pytest.mark.parametrize("deed", EACH, ids=lambda deed: type(deed).__name__)
def test_a_deed_is_the_same_after_json(deed: Deed, tmp_path: Path) -> None:
    assert from_json(as_json(deed)) == deed
    ledger = Ledger(LabFolder(str(tmp_path)))
    ledger.before = {"machines": {}, "ready": {"node-1": True}}
    ledger.struck = [Struck("f", "node-1", 7, 12.5, [Step(deed, {"before": "1"}, "doing"), Step(deed)])]
    ledger.write()
    again = Ledger.read(LabFolder(str(tmp_path)))
    assert [each.as_json() for each in again.struck] == [each.as_json() for each in ledger.struck]
    assert again.before == ledger.before
    assert [step.begun for step in again.steps()] == [True, False]
    assert again.struck[0].id == "f@node-1"


def test_nothing_to_remember_leaves_no_file(tmp_path: Path) -> None:
    folder = LabFolder(str(tmp_path))
    ledger = Ledger.read(folder)
    ledger.struck = [Struck("f", "", 1, 0.0, [])]
    ledger.write()
    assert (tmp_path / "faults.json").exists()
    ledger.struck = []
    ledger.write()
    ledger.write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"struck": 1}', '{"before": null, "struck": [{}]}'])
def test_a_damaged_one_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "faults.json").write_text(text)
    with pytest.raises(LabFailure) as caught:
        Ledger.read(LabFolder(str(tmp_path)))
    assert caught.value.key == "ledger-damaged"


def test_the_overlay_is_what_is_begun(tmp_path: Path) -> None:
    ledger = Ledger(LabFolder(str(tmp_path)))
    ledger.struck = [
        Struck("a", "node-1", 1, 0.0, [Step(deeds.SetVariable("node-1", "IP", "none"), {}, "done")]),
        Struck("b", "node-1", 1, 0.0, [Step(deeds.SetVariable("node-1", "X", None), {}, "doing")]),
        Struck("c", "node-1", 1, 0.0, [Step(deeds.SetVariable("node-1", "Y", "1"))]),
        Struck("d", "node-2", 1, 0.0, [Step(deeds.SetVariable("node-2", "Z", "1"), {}, "done")]),
    ]
    assert ledger.overlay("node-1") == {"IP": "none", "X": None}


def test_every_node() -> None:
    planned: list[Deed] = [deeds.RestartNode(deeds.ALL), deeds.PutKey("/calico/x", None), deeds.RestartNode("node-9")]
    assert list(spread(planned, ["a", "b"])) == [
        deeds.RestartNode("a"),
        deeds.RestartNode("b"),
        planned[1],
        planned[2],
    ]


def test_what_is_touched() -> None:
    assert touched(deeds.SetKernel("n", "net/ipv4/ip_forward", "0")) == touched(
        deeds.SetKernel("n", "net.ipv4.ip_forward", "1")
    )
    assert touched(deeds.PutResource({"kind": "Node", "metadata": {"name": "n"}})) == touched(
        deeds.RemoveResource("Node", "n")
    )
    assert touched(deeds.Filter("n", "")) == ""
    made = made_links(EACH)
    assert made == {("node-1", "docker0"), ("node-1", "eth1")}
    assert on_made_link(deeds.SetKernel("node-1", "net/ipv4/conf/eth1/rp_filter", "1"), made)
    assert on_made_link(deeds.AddAddress("node-1", "eth1", "10.1.1.1/24"), made)
    assert not on_made_link(deeds.AddAddress("node-2", "eth1", "10.1.1.1/24"), made)
