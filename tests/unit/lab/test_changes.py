"""What `up` on a lab that exists would do."""

from __future__ import annotations

import pytest
from tests.support.topologies import planned

from tortie.lab.changes import Changes, Refused, changes

THREE = "nodes: [node-1, node-2, node-3]"


def names(found: Changes) -> dict[str, list[str]]:
    return {
        "removed": [machine.name for machine in found.removed],
        "rebuilt": [machine.name for machine in found.rebuilt],
        "added": [machine.name for machine in found.added],
        "changed": [change.name for change in found.changed if change.visible],
    }


def test_nothing() -> None:
    found = changes(planned(THREE), planned(nodes=3))
    assert not found
    assert found == Changes()


def test_more_nodes() -> None:
    found = changes(planned(nodes=2), planned(nodes=4))
    assert names(found) == {"removed": [], "rebuilt": [], "added": ["node-3", "node-4"], "changed": []}
    first = found.changed[0]
    assert first.name == "node-1"
    assert [str(entry.address) for entry in first.neighbours_added] == ["10.77.0.3", "10.77.0.4"]
    assert not first.restart
    assert not found.router, "it has no BIRD without racks"


def test_fewer_nodes() -> None:
    found = changes(planned(nodes=3), planned("nodes: [node-1, node-3]"))
    assert names(found) == {"removed": ["node-2"], "rebuilt": [], "added": [], "changed": []}
    assert [str(entry.address) for entry in found.changed[0].neighbours_removed] == ["10.77.0.2"]


def test_a_nic_a_bridge_a_setting_and_a_label() -> None:
    after = planned(
        """\
        nodes:
        - name: node-1
          nics: [{name: eth1, address: 10.0.0.66/24}]
        - name: node-2
          bridges: [{name: br0, address: 172.18.0.1/16}]
        - name: node-3
          settings: {IP: autodetect}
          labels: {a: b}
        """
    )
    found = changes(planned(THREE), after)
    assert names(found)["changed"] == ["node-1", "node-2", "node-3"]
    first, second, third = found.changed
    assert [nic.name for nic in first.nics_added] == ["eth1"]
    assert [segment.name for segment in found.segments_added] == ["net-10-0-0-0-24"]
    assert [bridge.name for bridge in second.bridges_added] == ["br0"]
    assert third.settings == ("IP",)
    assert third.restart
    assert third.labels
    assert not first.restart
    back = changes(after, planned(THREE))
    assert [nic.name for nic in back.changed[0].nics_removed] == ["eth1"]
    assert [segment.name for segment in back.segments_removed] == ["net-10-0-0-0-24"]


def test_a_nic_with_another_address_is_made_anew() -> None:
    def one(address: str) -> str:
        return f"nodes: [{{name: a, nics: [{{name: eth1, address: {address}/24}}]}}]"

    (change,) = changes(planned(one("10.0.0.1")), planned(one("10.0.0.2"))).changed
    assert [str(nic.addresses[0]) for nic in change.nics_removed] == ["10.0.0.1/24"]
    assert [str(nic.addresses[0]) for nic in change.nics_added] == ["10.0.0.2/24"]


def test_a_node_with_another_address_or_rack_is_built_anew() -> None:
    found = changes(planned("nodes: [a, b]"), planned("nodes: [{name: a, address: 10.77.0.77}, b]"))
    assert names(found)["rebuilt"] == ["a"]
    found = changes(planned(nodes=6, racks=2), planned(nodes=8, racks=2))
    assert names(found) == {"removed": [], "rebuilt": ["node-4"], "added": ["node-7", "node-8"], "changed": []}
    assert found.router


def test_another_rack_is_another_nic_of_the_router() -> None:
    found = changes(planned(nodes=4, racks=2), planned(nodes=4, racks=4))
    router = next(change for change in found.changed if change.name == "router")
    assert [nic.name for nic in router.nics_added] == ["eth3", "eth4"]
    assert {entry.nic for entry in router.neighbours_added} >= {"eth3", "eth4"}


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("nodes: 3\nstore: etcd", "the store is embedded and would be etcd (etcd-1)"),
        ("nodes: 3\nracks: 1", "0 racks"),
        ("nodes: 300", "the network fabric is 10.77.0.0/24 and would be 10.77.0.0/16"),
        ("nodes: 3\nnetworks: [{name: fabric, mtu: 1400}]", "would be 10.77.0.0/24 MTU 1400"),
        ("nodes: 3\npool: {blockSize: 24}", "the pool is 10.244.0.0/16 /26"),
        ("nodes: 3\nipv6: true", "would be 10.77.0.0/24 fd77::/64"),
    ],
)
def test_what_needs_a_new_lab(after: str, why: str) -> None:
    found = changes(planned(nodes=3), planned(after))
    error = Refused("lab", found.refused)
    assert why in error.why
    assert "tortie lab down --name lab" in error.fix
    assert names(found) == {"removed": [], "rebuilt": [], "added": [], "changed": []}
    assert error.told("zh")[0] != error.told("en")[0]


def test_all_reasons_against_it_are_told() -> None:
    found = changes(planned(nodes=3), planned(nodes=3, racks=2, store="etcd"))
    assert [refusal.key for refusal in found.refused] == ["store", "racks"]
