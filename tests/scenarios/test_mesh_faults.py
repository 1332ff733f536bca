"""What can go wrong with BGP in a cluster that carries traffic: the user is told, traffic goes on, it heals by itself.

One lab for all, with etcd as its store. Each test begins with a cluster that is well, and breaks node-2; packets run
between node-1 and node-2 in both directions all along, over routes that BGP has brought. Where it says `lost_s == 0`,
not a single packet may be missing, because both the kernel here and the peers keep their routes over a restart.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.cli import Ran
from tests.support.lab import Lab
from tests.support.traffic import Traffic, Witness

NODE = "node-2"
# The first address of each node's block, which stands for a pod.
PODS = {"node-1": "10.244.0.1", "node-2": "10.244.0.65", "node-3": "10.244.0.129"}
OUTAGE_S = 60.0
FOREIGN = "log stderr all;\nrouter id 1.2.3.4;\nprotocol device {}\n"


class Scene(NamedTuple):
    lab: Lab
    witness: Witness
    to_node: Traffic  # its peers' routes
    from_node: Traffic  # its own routes

    @property
    def lost_s(self) -> float:
        """After the traffic has ended."""
        assert min(self.to_node.received, self.from_node.received) > 0
        return max(self.to_node.lost_s, self.from_node.lost_s)

    def below(self, path: str) -> Path:
        return self.lab.folder / "nodes" / NODE / path

    @property
    def log(self) -> str:
        return self.lab("logs", NODE).stdout

    def tortie(self, *words: str, stdin: str = "") -> Ran:
        return self.lab("exec", NODE, "--", "tortie", *words, stdin=stdin)

    def check(self, *words: str) -> Ran:
        return self.tortie("node", "check", *words)

    def birdc(self, *words: str) -> str:
        socket = self.below("var/run/calico/bird.ctl")
        # The path may be longer than a socket's address; BIRD's client takes what the shell's folder makes short.
        script = 'cd "$1" && shift && birdc -s bird.ctl "$@"'
        return self.lab.inside(NODE, "sh", "-c", script, "sh", str(socket.parent), *words)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("faults"), "faults") as lab:
        lab.up("--nodes", "3", "--store", "etcd")
        for node, address in PODS.items():
            lab.inside(node, "ip", "addr", "add", f"{address}/32", "dev", "lo")
        yield lab


@pytest.fixture
def scene(lab: Lab) -> Iterator[Scene]:
    """A cluster that is well, and traffic. Afterwards it is well again, or the next test would suffer."""

    def is_well() -> bool:
        status = lab("status", "-o", "json")
        return status.code == 0 and all(
            node["sessions"] == {"up": 2, "expected": 2} and node["routes"] == 2 for node in status.json["nodes"]
        )

    lab.wait("the cluster is well", is_well)
    with (
        Witness(lab, NODE) as witness,
        Traffic(lab, "node-1", PODS[NODE]) as to_node,
        Traffic(lab, NODE, PODS["node-1"]) as from_node,
    ):
        witness.wait_well()
        yield Scene(lab, witness, to_node, from_node)
    lab.wait("the cluster is well again", is_well)


@pytest.fixture
def steady(scene: Scene) -> Iterator[Scene]:
    """The same, for faults that must not cost a packet."""
    yield scene
    for traffic in (scene.to_node, scene.from_node):
        traffic.end()
    assert scene.lost_s == 0, (scene.to_node, scene.from_node, scene.log)


def test_bird_killed(steady: Scene) -> None:
    bird = steady.witness.bird
    os.kill(bird, signal.SIGKILL)
    told = steady.witness.wait_said("BIRD is not ready: BIRD does not run: it was killed by signal 9; it is started")
    assert told == "this node"
    steady.witness.wait_well(other_bird_than=bird)
    assert f"bird (pid {bird}) was killed by signal 9; starting it again in 0.2 s" in steady.log


def test_bird_killed_again_and_again(scene: Scene) -> None:
    """Also while it recovers. A peer that has not heard all of it again forgets its routes: so BGP has it."""
    witness = scene.witness
    for _ in range(3):
        bird = witness.bird
        os.kill(bird, signal.SIGKILL)
        witness.wait("another BIRD", lambda told: told["bgp"]["bird"]["pid"] not in (bird, None))  # noqa: B023
    witness.wait_well()
    assert [wait for wait in ("0.4 s", "0.8 s") if f"; starting it again in {wait}" not in scene.log] == []


def test_bird_stopped(steady: Scene) -> None:
    bird = steady.witness.bird
    os.kill(bird, signal.SIGSTOP)
    told = steady.witness.wait_said(f"BIRD does not answer: somebody has stopped the process {bird} (SIGSTOP)")
    assert told == "this node"
    steady.witness.wait_well()
    assert steady.witness.bird == bird
    assert f"bird (pid {bird}) was stopped; waking it up" in steady.log


def test_control_socket_removed(steady: Scene) -> None:
    bird = steady.witness.bird
    socket = steady.below("var/run/calico/bird.ctl")
    socket.unlink()
    assert steady.witness.wait_said(f"BIRD cannot be asked: {socket} is gone") == "this node"
    steady.witness.wait_well(other_bird_than=bird)
    assert socket.is_socket()
    assert f"bird (pid {bird}) is replaced: its control socket {socket} is gone" in steady.log


def test_configuration_file_corrupted(steady: Scene) -> None:
    bird = steady.witness.bird
    file = steady.below("etc/calico/confd/config/bird.cfg")
    right = file.read_text()
    file.write_text("protocol bgp { neighbor of mine")
    steady.lab.wait("the file is right again", lambda: file.read_text() == right)
    assert f"{file} was changed by somebody else; writing it again" in steady.log
    steady.witness.wait_well()
    assert steady.witness.bird == bird


def test_configuration_file_removed_and_bird_killed(steady: Scene) -> None:
    bird = steady.witness.bird
    file = steady.below("etc/calico/confd/config/bird.cfg")
    file.unlink()
    os.kill(bird, signal.SIGKILL)
    steady.witness.wait_well(other_bird_than=bird)
    assert f"{file} is gone; writing it again" in steady.log


@pytest.mark.parametrize("number", ["KILL", "TERM"])
def test_agent_ended_and_started_again(steady: Scene, number: str) -> None:
    bird, lab = steady.witness.bird, steady.lab
    assert lab("stop", NODE, "--signal", number).code == 0
    lab.wait("BIRD is gone with it", lambda: not Path(f"/proc/{bird}").exists())
    status = lab("status")
    assert status.code == 3
    assert f"{NODE}: the agent " in status.stdout
    assert ("was killed by signal 9" if number == "KILL" else "exit code 0") in status.stdout
    peer = lab("exec", "node-1", "--", "tortie", "node", "status")
    assert peer.code == 3
    assert "10.77.0.2 (node-2) is not established for" in peer.stdout
    assert lab("start", NODE).code == 0
    steady.witness.wait_well(other_bird_than=bird)
    assert "to recover its routes" in steady.log


def test_store_gone_for_a_minute(steady: Scene) -> None:
    """BIRD is killed in the middle of it, and comes back with what is known."""
    lab, witness = steady.lab, steady.witness
    bird = witness.bird
    assert lab("stop", "etcd-1", "--signal", "STOP").code == 0
    try:
        witness.wait("the outage is told", lambda told: told["last_error"])
        page = steady.check("-o", "json").json["report"]
        assert page["ready"]
        assert page["lastError"]["fault"] == "the datastore"
        said = {part["name"]: part["detail"] for part in page["components"]}
        assert said["datastore"].startswith("out of reach, BGP goes on with what is known: ")
        assert lab("status").code == 0
        os.kill(bird, signal.SIGKILL)
        witness.wait_well(other_bird_than=bird)
        steady.to_node.wait_sent(OUTAGE_S)
        assert lab("status").code == 0
        assert witness.now["last_error"]
    finally:
        lab("stop", "etcd-1", "--signal", "CONT")
    witness.wait("the outage is over", lambda told: not told["last_error"])
    log = steady.log
    assert log.count("BGP goes on with what is known") == 1
    assert log.count("The datastore answers again") == 1
    # What is written now is acted upon.
    ghost = '{"apiVersion": "projectcalico.org/v3", "kind": "Node", "metadata": {"name": "ghost"}, '
    ghost += '"spec": {"bgp": {"ipv4Address": "10.77.0.99/24"}}}'
    assert steady.tortie("apply", "-f", "-", stdin=ghost).code == 0
    witness.wait("a session more", lambda told: told["bgp"]["expected"] == 3)
    assert steady.tortie("delete", "node", "ghost").code == 0
    witness.wait_well()


def test_another_configuration_loaded_by_hand(scene: Scene) -> None:
    """It ends all sessions, so packets are lost until ours is back."""
    bird = scene.witness.bird
    other = scene.below("other.cfg")
    other.write_text(FOREIGN)
    assert "Reconfigur" in scene.birdc("configure", f'"{other}"')
    assert scene.witness.wait_said("BIRD is not ready: BGP not established with 10.77.0.1,10.77.0.3") == "this node"
    scene.witness.wait_well()
    assert scene.witness.bird == bird
    assert "bird was given another configuration by somebody else; loading ours again" in scene.log


def test_session_disabled_by_hand(scene: Scene) -> None:
    """Its routes are withdrawn, so packets are lost until it is back."""
    assert "disabled" in scene.birdc("disable", "Mesh_10_77_0_1")
    scene.witness.wait_said("BIRD has disabled Mesh_10_77_0_1: somebody has told it so, with birdc")
    scene.witness.wait_well()
    assert "BIRD has disabled Mesh_10_77_0_1" in scene.log


def test_own_record_deleted(scene: Scene) -> None:
    """Its peers may act upon that before it is written again, and end their sessions: packets may be lost."""
    assert scene.tortie("delete", "node", NODE).code == 0
    scene.lab.wait("it is noticed", lambda: f"Node({NODE}) was deleted from the datastore" in scene.log)
    # The notice comes before the write, and meanwhile the node looks as well as before.
    scene.lab.wait("it is written again", lambda: NODE in scene.tortie("get", "nodes").stdout)
    scene.witness.wait_well()


def test_link_down(scene: Scene) -> None:
    """Sessions live longer than links: they are established, and their routes lead nowhere."""
    lab, witness = scene.lab, scene.witness
    lab.inside(NODE, "ip", "link", "set", "eth0", "down")
    try:
        told = witness.wait_said("BIRD is not ready: no next hop for 10.244.0.0/26,10.244.0.128/26")
        assert told == "the network"
        assert witness.now["bgp"]["up"] == 2
        ran = scene.tortie("node", "status")
        assert ran.code == 3
        assert "no next hop for 10.244.0.0/26,10.244.0.128/26" in ran.stdout
    finally:
        lab.inside(NODE, "ip", "link", "set", "eth0", "up")
        lab.inside(NODE, "ip", "route", "replace", "default", "via", "10.77.0.254")
    witness.wait_well()


def test_peer_behind_a_firewall(scene: Scene) -> None:
    """Its peer drops BGP. A young BIRD waits for all; the one session that is left makes no whole mesh."""
    lab, witness = scene.lab, scene.witness
    bird = witness.bird
    lab.inside("node-3", "nft", "add", "table", "inet", "wall")
    chain = "{ type filter hook input priority 0 ; }"
    lab.inside("node-3", "nft", f"add chain inet wall in {chain}")
    try:
        lab.inside("node-3", "nft", "add rule inet wall in ip saddr 10.77.0.2 meta l4proto tcp drop")
        os.kill(bird, signal.SIGKILL)
        witness.wait_said("BIRD is not ready: BGP not established with 10.77.0.3: 10.77.0.3 (node-3) for ")
        ran = scene.check()
        assert ran.code == 3
        assert "BIRD is not ready: BGP not established with 10.77.0.3" in ran.stdout + ran.stderr
    finally:
        lab.inside("node-3", "nft", "delete", "table", "inet", "wall")
    witness.wait_well(other_bird_than=bird)
