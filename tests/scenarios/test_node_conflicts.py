"""Two records with one address: judged with evidence from the wire, explained with both names, never a silent exit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of, node
from tests.support.netns import Namespace


@pytest.fixture
def lan() -> Iterator[tuple[Namespace, Namespace]]:
    """Two machines on one link, both with 10.0.0.1/24."""
    with Namespace("left") as left, Namespace("right") as right:
        left.veth("eth0", right, "eth0")
        left.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        yield left, right


def store_of(agent: NodeAgent) -> Tortie:
    return Tortie(agent.folder, TORTIE_STORE=agent.variables["TORTIE_STORE"])


def test_a_live_owner_of_the_address_is_found_on_the_wire(lan: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    left, right = lan
    right.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    mac = right.json("link", "show", "eth0")[0]["address"]
    agent = NodeAgent(tmp_path, left, NODENAME="n1")
    store_of(agent).put(key_of("nodes", "n2"), node("n2", "10.0.0.1/24"))
    with agent:
        agent.wait("the judgement", lambda: mac in agent.ask("/readiness?verbose")[1])
        status, text = agent.ask("/readiness?verbose")
        assert status == 503
        assert "n1" in text
        assert "n2" in text
        assert agent.ask("/liveness")[0] in (200, 204)
        agent.wait_log("Calico node 'n2' is already using the IPv4 address 10.0.0.1.")
        assert "Terminating" not in agent.log
        assert key_of("nodes", "n1") not in store_of(agent).entries()
        explained = agent.command("explain", "-o", "json")
        assert (explained.code, explained.json["conflicts"][0]["judgement"]) == (3, "duplicate")
        right.ip("addr", "del", "10.0.0.1/24", "dev", "eth0")
        assert store_of(agent).run("delete", "node", "n2").code == 0
        agent.wait_ready()


def test_a_left_over_record_blocks_until_somebody_deletes_it(lan: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    left, _ = lan
    agent = NodeAgent(tmp_path, left, NODENAME="n1")
    store_of(agent).put(key_of("nodes", "gone"), node("gone", "10.0.0.1/24"))
    with agent:
        agent.wait("the remedy", lambda: "tortie delete node gone" in agent.ask("/readiness?verbose")[1])
        assert agent.health()["notReady"]
        assert store_of(agent).run("delete", "node", "gone").code == 0
        agent.wait_ready()
    assert agent.log.count("is already using the IPv4 address") == 1


def test_a_renamed_machine_takes_its_address_along(lan: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    left, _ = lan
    with NodeAgent(tmp_path, left, NODENAME="old") as agent:
        agent.wait_ready()
        agent.stop()
    with NodeAgent(tmp_path, left, NODENAME="new") as agent:
        agent.wait_ready()
        stored = store_of(agent).entries()
        assert json.loads(stored[key_of("nodes", "new")])["spec"]["bgp"] == {"ipv4Address": "10.0.0.1/24"}
        assert "bgp" not in json.loads(stored[key_of("nodes", "old")])["spec"]
        assert "old" in agent.log
    assert (tmp_path / "var/lib/calico/nodename").read_bytes() == b"new"


def test_the_check_can_be_turned_off(lan: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    left, _ = lan
    agent = NodeAgent(tmp_path, left, NODENAME="n1", DISABLE_NODE_IP_CHECK="true")
    store_of(agent).put(key_of("nodes", "n2"), node("n2", "10.0.0.1/24"))
    with agent:
        agent.wait_ready()
