"""Nodes of a lab beside speakers that we did not write: FRR, GoBGP and BIRD 1.6 in the machine `router`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
import yaml
from tests.support.cli import resource
from tests.support.foreign import PATIENCE_S, SPEAKERS, Bird16, Frr, GoBgp, Learnt, Neighbours, Speaker
from tests.support.lab import Lab

S = TypeVar("S", bound=Speaker)

NODES = ("node-1", "node-2")
ADDRESSES = {4: ("10.77.0.1", "10.77.0.2"), 6: ("fd77::1", "fd77::2")}
ROUTER = {4: "10.77.0.254", 6: "fd77::fffe"}
BLOCKS = {4: ("10.244.0.0/26", "10.244.0.64/26"), 6: ("fd00:10:244::/122", "fd00:10:244::40/122")}
OUTSIDE = {4: "172.31.7.0/24", 6: "fd31:7::/48"}  # what the router announces
CLUSTER_AS, ROUTER_AS = 64512, 65001

TOPOLOGY = {
    "apiVersion": "tortie/v1",
    "kind": "Lab",
    "nodes": [{"name": "node-1"}, {"name": "node-2", "labels": {"edge": "yes"}}],
    "ipv6": True,
    "pool": {"cidr6": "fd00:10:244::/64", "blockSize6": 122},
}


class Cluster(Lab):
    """Two nodes, and the router beside them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "interop")
        self._applied: list[dict[str, Any]] = []

    def start_in_router(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        words = self.words("exec", "router", "--", *command)
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, env=self.environment, **options)

    def apply(self, *documents: dict[str, Any]) -> None:
        self._applied += documents
        self._edit("apply", documents)

    def forget(self) -> None:
        """Deletes what has been applied."""
        given = {(document["kind"], document["metadata"]["name"]): document for document in self._applied}
        self._applied.clear()
        if given:
            self._edit("delete", reversed(given.values()), "--skip-not-exists")

    def _edit(self, verb: str, documents: Iterable[dict[str, Any]], *flags: str) -> None:
        words = ("exec", "node-1", "--", "tortie", verb, "-f", "-", *flags)
        done = self(*words, stdin=yaml.safe_dump_all(documents))
        assert done.code == 0, done

    def sessions(self, node: str) -> dict[str, tuple[str, str]]:
        """The tables of `tortie node status`: which kind of peer, and what it says about the session."""
        lines = self("exec", node, "--", "tortie", "node", "status").stdout.splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
        return {row[0]: (row[1], row[4]) for row in rows if row[0] != "PEER ADDRESS"}

    def session(self, node: str, family: int = 4) -> tuple[str, str] | None:
        """The one with the router."""
        return self.sessions(node).get(ROUTER[family])

    def gateways(self, machine: str, network: str) -> set[str]:
        """Where the machine's kernel sends packets for exactly this network; none if they go nowhere."""
        family = "-6" if ":" in network else "-4"
        routes = json.loads(self.inside(machine, "ip", family, "-json", "route", "show", "exact", network) or "[]")
        hops = [hop for route in routes for hop in route.get("nexthops", [route])]
        return {hop["gateway"] for hop in hops if "gateway" in hop}

    def birds(self, node: str) -> list[int]:
        """Process ids of the node's BIRD."""
        mine = [line for line in self.processes() if f"/{node}/" in line and "/bird.cfg" in line]
        return [int(line.split()[0]) for line in mine]

    def goes_to_router(self, node: str, network: str) -> bool:
        """By any of its addresses: on a common link, a neighbour may tell the link-local one."""
        links = json.loads(self.inside("router", "ip", "-json", "address"))
        gateways = self.gateways(node, network)
        return bool(gateways) and gateways <= {address["local"] for link in links for address in link["addr_info"]}


class StartSpeaker(Protocol):
    """In the router; it is gone after the test."""

    def __call__(self, kind: type[S], neighbours: Neighbours, as_number: int = ROUTER_AS, **options: Any) -> S: ...


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("interop")
    topology = folder / "lab.yaml"
    topology.write_text(yaml.safe_dump(TOPOLOGY))
    cluster = Cluster(folder)
    with cluster:
        cluster.up("-f", str(topology))
        yield cluster
    cluster.assert_gone()


@pytest.fixture
def cluster(lab: Cluster) -> Iterator[Cluster]:
    """Nothing of a test is left in it for the next one."""
    yield lab
    lab.forget()
    for node, others in zip(NODES, reversed(list(zip(*ADDRESSES.values(), strict=True))), strict=True):
        becomes(partial(lab.sessions, node), dict.fromkeys(others, ("node-to-node mesh", "Established")))


@pytest.fixture
def speaker(cluster: Cluster, tmp_path: Path) -> Iterator[StartSpeaker]:
    with ExitStack() as stack:

        def start(kind: type[S], neighbours: Neighbours, as_number: int = ROUTER_AS, **options: Any) -> S:
            started = kind(cluster.start_in_router, tmp_path / "router", neighbours, as_number, **options)
            stack.callback(started.stop)
            started.start()
            return started

        yield start


def becomes(look: Callable[[], object], wanted: object) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (seen := look()) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    assert seen == wanted, f"after {PATIENCE_S:.0f} s"


def peer(name: str, family: int = 4, **spec: Any) -> dict[str, Any]:
    return resource("BGPPeer", name, {"peerIP": ROUTER[family], "asNumber": ROUTER_AS, **spec})


def told_by(*addresses: str) -> set[Learnt]:
    return {Learnt(address, (CLUSTER_AS,)) for address in addresses}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("kind", SPEAKERS)
def test_nodes_learn_and_announce(cluster: Cluster, speaker: StartSpeaker, kind: str, family: int) -> None:
    router = speaker(SPEAKERS[kind], Neighbours(ADDRESSES[family]))
    router.announce(OUTSIDE[family])
    cluster.apply(peer("uplink", family))
    for node in NODES:
        becomes(partial(cluster.session, node, family), ("global", "Established"))
        becomes(partial(cluster.goes_to_router, node, OUTSIDE[family]), True)
    for block in BLOCKS[family]:
        # Every node tells the blocks of all, as Calico's nodes do.
        becomes(partial(router.learnt, block), told_by(*ADDRESSES[family]))
    for address in ADDRESSES[family]:
        assert router.hears_graceful_restart(address)

    router.withdraw(OUTSIDE[family])
    for node in NODES:
        becomes(partial(cluster.gateways, node, OUTSIDE[family]), set())
        assert cluster.session(node, family) == ("global", "Established")


@pytest.mark.parametrize("kind", SPEAKERS)
def test_a_password_and_ttl_security_for_one_node(cluster: Cluster, speaker: StartSpeaker, kind: str) -> None:
    """Both sides want signed segments, and segments from the next machine; only nodes that the selector names call."""
    address, block = ADDRESSES[4][1], BLOCKS[4][1]
    router = speaker(SPEAKERS[kind], Neighbours((address,), password="Bridge-7", ttl_security=True))
    router.announce(OUTSIDE[4])
    folder = "$TORTIE_ROOT/etc/calico/secrets/uplink"
    cluster.inside("node-2", "sh", "-c", f"mkdir -p {folder} && printf Bridge-7 > {folder}/password")
    secret = {"secretKeyRef": {"name": "uplink", "key": "password"}}
    cluster.apply(peer("uplink", nodeSelector="edge == 'yes'", password=secret, ttlSecurity=1))
    becomes(partial(cluster.session, "node-2"), ("node specific", "Established"))
    becomes(partial(cluster.goes_to_router, "node-2", OUTSIDE[4]), True)
    becomes(partial(router.learnt, block), told_by(address))
    assert cluster.session("node-1") is None


def test_next_hops_of_other_nodes(cluster: Cluster, speaker: StartSpeaker) -> None:
    """A node that tells the blocks of others says that they are behind itself, unless it shall keep the next hop."""
    own, other = ADDRESSES[4]
    router = speaker(GoBgp, Neighbours((own,)))
    for spec, next_hop in (
        ({}, own),
        ({"keepOriginalNextHop": True}, other),
        ({"nextHopMode": "Self"}, own),
        ({"nextHopMode": "Keep"}, other),
    ):
        cluster.apply(peer("uplink", node="node-1", **spec))
        becomes(partial(router.learnt, BLOCKS[4][1]), told_by(next_hop))
        becomes(partial(router.learnt, BLOCKS[4][0]), told_by(own))


def test_filters(cluster: Cluster, speaker: StartSpeaker) -> None:
    """What is not wanted does not get into the kernel; what goes out is changed on its way, or stays."""
    unwanted = "172.31.8.0/24"
    router = speaker(Bird16, Neighbours(ADDRESSES[4]))
    for network in (OUTSIDE[4], unwanted):
        router.announce(network)
    marked = [{"addCommunity": {"value": "65000:100"}}, {"prependASPath": {"prefix": [CLUSTER_AS, CLUSTER_AS]}}]
    rules = {
        "importV4": [{"action": "Reject", "matchOperator": "In", "cidr": unwanted}],
        "exportV4": [
            {"action": "Reject", "matchOperator": "Equal", "cidr": BLOCKS[4][1]},
            {"action": "Accept", "matchOperator": "Equal", "cidr": BLOCKS[4][0], "operations": marked},
        ],
    }
    cluster.apply(resource("BGPFilter", "border", rules), peer("uplink", filters=["border"]))
    for node in NODES:
        becomes(partial(cluster.goes_to_router, node, OUTSIDE[4]), True)
        assert not cluster.gateways(node, unwanted)
    path, communities = (CLUSTER_AS,) * 3, frozenset({"65000:100"})
    becomes(partial(router.learnt, BLOCKS[4][0]), {Learnt(address, path, communities) for address in ADDRESSES[4]})
    assert router.learnt(BLOCKS[4][1]) == set()


def test_routes_outlive_restarts_on_both_sides(cluster: Cluster, speaker: StartSpeaker) -> None:
    """Packets go through while FRR's bgpd, and then a node's BIRD, is gone without a goodbye and comes back."""
    router = speaker(Frr, Neighbours(ADDRESSES[4]))
    router.announce(OUTSIDE[4])
    cluster.apply(peer("uplink", keepOriginalNextHop=True))
    becomes(partial(cluster.gateways, "router", BLOCKS[4][0]), {ADDRESSES[4][0]})
    becomes(partial(cluster.gateways, "node-1", OUTSIDE[4]), {ROUTER[4]})
    with ExitStack() as stack:
        for machine, address in (("router", "172.31.7.1/32"), ("node-1", "10.244.0.1/32")):
            cluster.inside(machine, "ip", "address", "add", address, "dev", "lo")
            stack.callback(cluster.inside, machine, "ip", "address", "del", address, "dev", "lo")
        ping = stack.enter_context(
            cluster.start_in_router("ping", "-q", "-i", "0.1", "-I", "172.31.7.1", "10.244.0.1", stdout=subprocess.PIPE)
        )
        stack.callback(ping.kill)

        router.crash()
        becomes(lambda: cluster.session("node-1") == ("global", "Established"), False)
        router.speak()
        becomes(partial(cluster.session, "node-1"), ("global", "Established"))
        becomes(partial(router.learnt, BLOCKS[4][0]), told_by(ADDRESSES[4][0]))

        (first,) = cluster.birds("node-1")
        os.kill(first, signal.SIGKILL)
        becomes(lambda: len(set(cluster.birds("node-1")) - {first}), 1)
        becomes(partial(cluster.session, "node-1"), ("global", "Established"))
        becomes(partial(router.learnt, BLOCKS[4][0]), told_by(ADDRESSES[4][0]))
        assert router.learnt("10.244.0.1/32") == set()  # an address inside a block is the node's own business

        ping.send_signal(signal.SIGINT)
        said = ping.communicate(timeout=PATIENCE_S)[0].decode()
    sent, received = map(int, re.findall(r"(\d+) packets transmitted, (\d+) received", said)[0])
    assert sent - received in (0, 1), said  # the very last may be under way still


def test_a_route_reflector_instead_of_the_mesh(cluster: Cluster, speaker: StartSpeaker) -> None:
    router = speaker(GoBgp, Neighbours(ADDRESSES[4], clients=True), as_number=CLUSTER_AS)
    cluster.apply(
        resource("BGPConfiguration", "default", {"nodeToNodeMeshEnabled": False}),
        peer("reflector", asNumber=CLUSTER_AS),
    )
    for node, other, block in zip(NODES, reversed(ADDRESSES[4]), reversed(BLOCKS[4]), strict=True):
        becomes(partial(cluster.sessions, node), {ROUTER[4]: ("global", "Established")})
        becomes(partial(cluster.gateways, node, block), {other})
    assert router.learnt(BLOCKS[4][0]) == {Learnt(ADDRESSES[4][0], ())}


def test_a_node_with_bird_1_6_is_one_of_the_mesh(cluster: Cluster, speaker: StartSpeaker) -> None:
    """As a node of Calico is configured; it calls, because its address is the greatest of all texts."""
    block = "10.244.9.0/26"
    options = ("multihop;", "gateway recursive;", "add paths on;")
    router = speaker(Bird16, Neighbours(ADDRESSES[4]), as_number=CLUSTER_AS, options=options)
    router.announce(block)
    cluster.apply(resource("Node", "calico-9", {"bgp": {"ipv4Address": f"{ROUTER[4]}/24"}}))
    for node in NODES:
        becomes(partial(cluster.session, node), ("node-to-node mesh", "Established"))
        becomes(partial(cluster.gateways, node, block), {ROUTER[4]})
    for address, own in zip(ADDRESSES[4], BLOCKS[4], strict=True):
        becomes(partial(router.learnt, own), {Learnt(address, ())})
