"""What is refused before anything is done, and how the seed decides what people leave open."""

from __future__ import annotations

import pytest
from tests.support.topologies import planned

from tortie.lab.failures import LabFailure
from tortie.lab.faults import refusals
from tortie.lab.faults.deeds import CoverFile, Deed, LimitCpu, SetKernel, WriteFile
from tortie.lab.faults.fault import Fault, Need, Scene
from tortie.lab.faults.refusals import Order, Situation, is_decoy, resolved
from tortie.lab.words import Pair

TEXT = Pair("it does something", "做点什么")


def _forwarding(scene: Scene) -> tuple[Deed, ...]:
    return (SetKernel(scene.node.name, "net.ipv4.ip_forward", "0"),)


def _also_forwarding(scene: Scene) -> tuple[Deed, ...]:
    return (SetKernel(scene.node.name, "net/ipv4/ip_forward", "0"), WriteFile(scene.node.name, "/x", "y"))


def _named(scene: Scene) -> tuple[Deed, ...]:
    return (WriteFile(scene.node.name, f"/{scene.random.randrange(10**9)}", "y"),)


def _covering(scene: Scene) -> tuple[Deed, ...]:
    return (CoverFile(scene.node.name, "/etc/hosts", "x"),)


def _limiting(scene: Scene) -> tuple[Deed, ...]:
    return (LimitCpu(scene.node.name, 5.0),)


FAULTS = {
    "forwarding": Fault("forwarding", "c", "TRT1", TEXT, TEXT, _forwarding),
    "again": Fault("again", "c", "TRT1", TEXT, TEXT, _also_forwarding),
    "named": Fault("named", "c", "TRT1", TEXT, TEXT, _named),
    "everywhere": Fault("everywhere", "c", "TRT1", TEXT, TEXT, _named, everywhere=True),
    "covering": Fault("covering", "c", "TRT1", TEXT, TEXT, _covering),
    "limiting": Fault("limiting", "c", "TRT1", TEXT, TEXT, _limiting),
}


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "fault_named", FAULTS.get)
    monkeypatch.setattr(refusals, "names", lambda: list(FAULTS))


def situation(nodes: int = 3) -> Situation:
    return Situation(planned(nodes=nodes))


def refused(*orders: Order, at: Situation | None = None) -> LabFailure:
    with pytest.raises(LabFailure) as caught:
        resolved(orders, at or situation(), 1)
    assert caught.value.exit_code == 2
    return caught.value


def test_a_name_that_is_nearly_right() -> None:
    failure = refused(Order("forwarding"), Order("forwardin"))
    assert failure.key == "misspelt-fault"
    assert "forwarding" in failure.why
    assert refused(Order("zzzzzzzzzzzz")).key == "unknown-fault"
    assert refused(Order("nois", decoy=True)).key == "unknown-decoy"


def test_nodes() -> None:
    assert refused(Order("forwarding", "node-9")).key == "fault-unknown-node"
    assert refused(Order("forwarding", "router")).key == "fault-unknown-node"
    assert refused(Order("everywhere", "node-1")).key == "fault-everywhere"
    (wanted,) = resolved([Order("everywhere")], situation(), 1)
    assert wanted.id == "everywhere"
    assert refused(*[Order("named")] * 4).key == "nobody-left"


def test_the_same_again() -> None:
    assert refused(Order("forwarding", "node-1"), Order("forwarding", "node-1")).key == "fault-active"
    there = situation()._replace(active={"forwarding@node-1": _forwarding_of("node-1")})
    assert refused(Order("forwarding", "node-1"), at=there).key == "fault-active"
    assert [each.id for each in resolved([Order("forwarding", "node-2")], there, 1)] == ["forwarding@node-2"]


def test_two_that_change_the_same_thing() -> None:
    failure = refused(Order("forwarding", "node-1"), Order("again", "node-1"))
    assert failure.key == "fault-collides"
    assert failure.told("en").why.startswith("both change node-1: sysctl net.ipv4.ip_forward,")
    assert failure.told("zh").why.startswith("两者都会改动 node-1：内核参数 net.ipv4.ip_forward，")
    there = situation()._replace(active={"forwarding@node-1": _forwarding_of("node-1")})
    assert refused(Order("again", "node-1"), at=there).key == "fault-collides"
    assert len(resolved([Order("forwarding", "node-1"), Order("again", "node-2")], situation(), 1)) == 2


def _forwarding_of(node: str) -> tuple[Deed, ...]:
    return (SetKernel(node, "net.ipv4.ip_forward", "0"),)


@pytest.mark.parametrize(
    ("need", "flags"),
    [
        ("kubelet", "--kubelet"),
        ("etcd", "--store etcd"),
        ("three-members", "--members 3"),
        ("tls", "--tls"),
        ("vxlan", "vxlan-racks.yaml"),
        ("two-nodes", "--nodes 2"),
        ("three-nodes", "--nodes 3"),
        ("bgp", "--nodes 3"),
    ],
)
def test_what_the_lab_lacks(need: Need, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needy = Fault("needy", "c", "TRT1", TEXT, TEXT, _named, needs=(need,))
    monkeypatch.setitem(FAULTS, "needy", needy)
    failure = refused(Order("needy"), at=situation(nodes=1))
    assert failure.key == f"needs-{need}"
    assert flags in failure.fix
    assert flags in failure.told("zh").fix


def test_what_the_lab_has(monkeypatch: pytest.MonkeyPatch) -> None:
    needs: tuple[Need, ...] = ("kubelet", "etcd", "three-members", "two-nodes", "three-nodes", "bgp", "cpu-limit")
    monkeypatch.setitem(FAULTS, "needy", Fault("needy", "c", "TRT1", TEXT, TEXT, _named, needs=needs))
    plan = planned(nodes=3, store="etcd", members=3)._replace(hurry=10)
    assert resolved([Order("needy")], Situation(plan), 1)
    assert refused(Order("needy"), at=Situation(plan, can_limit=False)).key == "needs-cpu-limit"


def test_deeds_that_could_not_be_kept_inside_the_node() -> None:
    assert refused(Order("covering")).key == "needs-kubelet"
    assert refused(Order("limiting"), at=situation()._replace(can_limit=False)).key == "needs-cpu-limit"


def test_the_same_seed_the_same_choice() -> None:
    orders = [Order("named"), Order("forwarding"), Order("everywhere"), Order("idle-bridge", decoy=True)]
    first = resolved(orders, situation(nodes=9), 7)
    assert first == resolved(orders, situation(nodes=9), 7)
    others = {tuple(each.id for each in resolved(orders, situation(nodes=9), seed)) for seed in range(20)}
    assert len(others) > 5


def test_decoys_keep_away_from_nodes_that_suffer() -> None:
    for seed in range(20):
        orders = [Order("named", "node-2"), Order("idle-bridge", decoy=True)]
        _, decoy = resolved(orders, situation(), seed)
        assert decoy.node != "node-2"
    (_, decoy) = resolved([Order("named"), Order("idle-bridge", decoy=True)], situation(nodes=1), 1)
    assert decoy.node == "node-1", "where else"
    assert is_decoy("idle-bridge")
