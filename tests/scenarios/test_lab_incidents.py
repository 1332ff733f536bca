"""Incidents 2 and 6 in a real lab: told by the nodes that suffer from them, avoided by a node that is left alone."""

from __future__ import annotations

from pathlib import Path

from tests.support.lab import Lab

EXAMPLES = Path(__file__).parents[2] / "examples" / "lab"


def test_a_bridge_taken_for_the_nodes_address_is_named_and_healed(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        wrong = lab("up", "-f", str(EXAMPLES / "wrong-address.yaml"), "--timeout", "6s")
        assert wrong.code == 3
        lab.wait("node-1 has registered", lambda: lab.node("node-1")["address"] == "172.18.0.1")
        lab.wait("its peers miss it", lambda: missing(lab, "node-2") == missing(lab, "node-3") == "172.18.0.1")
        check = lab("exec", "node-2", "--", "tortie", "node", "check", "--ready")
        assert check.stdout.startswith(
            "calico/node is not ready: BIRD is not ready: BGP not established with 172.18.0.1\n"
        )
        assert "whose fault: a peer; for " in check.stdout

        def odd_one() -> bool:
            return "node-1 (172.18.0.1) is the odd one" in cluster(lab)

        lab.wait("the odd one is named", odd_one)
        healed = lab.up("-f", str(EXAMPLES / "docker-bridge.yaml"))
        assert "changed node-1" in healed.stdout
        assert {node["name"]: node["address"] for node in lab.status()["nodes"]} == {
            "node-1": "10.77.0.1",
            "node-2": "10.77.0.2",
            "node-3": "10.77.0.3",
        }
        lab.wait("all see each other", lambda: "all 3 sessions between 3 nodes are up" in cluster(lab))


def missing(lab: Lab, name: str) -> str:
    reasons = [reason["what"] for reason in lab.node(name)["not_ready"]]
    return reasons[0].removeprefix("BIRD is not ready: BGP not established with ") if reasons else ""


def cluster(lab: Lab) -> str:
    return lab("exec", "node-2", "--", "tortie", "node", "status", "--cluster").stdout


def test_a_second_nic_is_not_taken_for_the_nodes_address(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        lab.up("-f", str(EXAMPLES / "second-nic.yaml"))
        addresses = [node["address"] for node in lab.status()["nodes"]]
        assert len(addresses) == 3
        assert "10.0.0.66" not in addresses
        with_two = [
            node["name"] for node in lab.status()["nodes"] if "10.0.0.66" in lab.inside(node["name"], "ip", "addr")
        ]
        assert len(with_two) == 1
