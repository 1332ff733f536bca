"""`tortie node status --cluster` on a datastore that others have filled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Ran, Tortie, assert_three_lines, key_of, node, resource

ADDRESSES = {"node-1": "10.77.0.1", "node-2": "10.77.0.2", "node-3": "10.77.0.3"}


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    shell = Tortie(tmp_path)
    nodes = (node(name, f"{address}/24") for name, address in ADDRESSES.items())
    assert shell("apply", "-f", shell.file("nodes.yaml", *nodes)).code == 0
    return shell


def report(tortie: Tortie, name: str, **states: str) -> None:
    """The states of the other nodes by name, `node_2="Active"`; Established unless something else is said."""
    peers = [
        {
            "peerIP": address,
            "type": "NodeMesh",
            "state": states.get(other.replace("-", "_"), "Established"),
            "since": "2026-11-16T03:00:00Z",
        }
        for other, address in ADDRESSES.items()
        if other != name and states.get(other.replace("-", "_")) != ""
    ]
    spec = {"node": name, "classes": ["Agent", "BGP"], "updatePeriodSeconds": 10}
    status: dict[str, Any] = {"lastUpdated": "2026-11-16T03:30:00Z", "agent": {}, "bgp": {"peersV4": peers}}
    tortie.put(key_of("caliconodestatuses", name), {**resource("CalicoNodeStatus", name, spec), "status": status})


def status(tortie: Tortie, *words: str) -> Ran:
    return tortie("node", "status", "--cluster", *words)


def test_all_see_all(tortie: Tortie) -> None:
    for name in ADDRESSES:
        report(tortie, name)
    ran = status(tortie)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("IPv4: all 3 sessions between 3 nodes are up.\n")
    assert status(tortie, "-o", "json").json["healthy"] is True


def test_one_that_nobody_sees(tortie: Tortie) -> None:
    report(tortie, "node-1", node_3="Connect")
    report(tortie, "node-2", node_3="Connect")
    ran = status(tortie)
    assert ran.code == 3
    assert "node-3 (10.77.0.3) is the odd one" in ran.stdout
    body = status(tortie, "-o", "json").json
    assert (body["healthy"], [odd["name"] for odd in body["families"][0]["odd"]]) == (False, ["node-3"])


def test_which_sessions_are_expected_is_what_the_nodes_decide(tortie: Tortie) -> None:
    """Without the mesh, a BGPPeer for one node: the other end has a session because of it, and the third has none."""
    configuration = resource("BGPConfiguration", "default", {"nodeToNodeMeshEnabled": False})
    peer = resource("BGPPeer", "one-two", {"node": "node-1", "peerIP": "10.77.0.2", "asNumber": 64512})
    router = resource("BGPPeer", "router", {"node": "node-3", "peerIP": "10.77.0.254", "asNumber": 65001})
    assert tortie("apply", "-f", tortie.file("bgp.yaml", configuration, peer, router)).code == 0
    report(tortie, "node-1", node_3="")
    report(tortie, "node-2", node_3="")
    report(tortie, "node-3", node_1="", node_2="")
    ran = status(tortie)
    assert ran.code == 3
    assert ran.stdout.startswith("IPv4: the session between 3 nodes is up.\n")
    assert "node-1  .       up      -\n" in ran.stdout
    assert ran.stdout.splitlines()[-1].split() == ["node-3", "10.77.0.254", "-", "none", "-"]


def test_ports_of_the_cluster_and_of_its_peers_are_named(tortie: Tortie) -> None:
    configuration = resource("BGPConfiguration", "default", {"listenPort": 1179})
    routers = [
        resource("BGPPeer", f"router-{port}", {"node": "node-1", "peerIP": f"10.77.0.88:{port}", "asNumber": 65001})
        for port in (1790, 1791)
    ]
    assert tortie("apply", "-f", tortie.file("bgp.yaml", configuration, *routers)).code == 0
    report(tortie, "node-1", node_3="Connect")
    report(tortie, "node-2", node_3="Connect")
    report(tortie, "node-3", node_1="Connect", node_2="Connect")
    ran = status(tortie)
    assert ran.code == 3
    assert [line.split()[1] for line in ran.stdout.splitlines()[-2:]] == ["10.77.0.88:1790", "10.77.0.88:1791"]
    outside = status(tortie, "-o", "json").json["families"][0]["others"]
    assert [(each["peer"], each["port"]) for each in outside] == [("10.77.0.88", 1790), ("10.77.0.88", 1791)]


def test_a_password_that_only_nodes_can_read_changes_nothing(tortie: Tortie) -> None:
    password = {"secretKeyRef": {"name": "bgp", "key": "password"}}
    configuration = resource("BGPConfiguration", "default", {"nodeMeshPassword": password})
    assert tortie("apply", "-f", tortie.file("bgp.yaml", configuration)).code == 0
    for name in ADDRESSES:
        report(tortie, name)
    assert status(tortie).stdout.startswith("IPv4: all 3 sessions between 3 nodes are up.\n")


def test_what_cannot_be_read_is_told_and_hides_nothing(tortie: Tortie) -> None:
    for name in ADDRESSES:
        report(tortie, name)
    tortie.put(key_of("caliconodestatuses", "strange"), b"{")
    tortie.put(key_of("nodes", "odd"), {"spec": {"bgp": {"ipv4Address": "nowhere"}}})
    ran = status(tortie)
    assert ran.code == 3
    assert ran.stdout.startswith("IPv4: all 3 sessions between 3 nodes are up.\n")
    assert "\nCannot be read:\n" in ran.stdout
    assert "Node(odd)" in ran.stdout
    assert "caliconodestatuses/strange" in ran.stdout
    assert len(status(tortie, "-o", "json").json["unreadable"]) == 2


def test_an_empty_datastore_is_not_a_healthy_cluster(tmp_path: Path) -> None:
    ran = status(Tortie(tmp_path))
    assert (ran.code, ran.stdout) == (3, "There is no node in this datastore.\n")
    assert "there is no embedded store" in ran.stderr


def test_a_datastore_that_cannot_be_read(tmp_path: Path) -> None:
    shell = Tortie(tmp_path)
    shell.store.write_text("no database at all, but long enough to be looked at" * 100)
    assert_three_lines(status(shell), 1)


def test_words_that_make_no_sense(tortie: Tortie) -> None:
    assert_three_lines(tortie("node", "status", "-o", "yaml"), 2)
    assert_three_lines(tortie("node", "status", "--all"), 2)


def test_the_store_below_the_root_is_the_one_that_is_meant(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "var/lib/tortie").mkdir(parents=True)
    shell = Tortie(tmp_path, TORTIE_STORE=str(root / "var/lib/tortie/store.db"))
    assert shell("apply", "-f", shell.file("nodes.yaml", node("a", "10.0.0.1/24"), node("b", "10.0.0.2/24"))).code == 0
    ran = Tortie(tmp_path, NOTHING="at all")("node", "status", "--cluster", "--root", str(root))
    assert "No node has reported yet" in ran.stdout
