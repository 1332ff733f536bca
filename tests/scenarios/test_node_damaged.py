"""Records that make no sense, put under a running agent: it goes on with the rest, and works again when they are right.

Nothing here may end the agent, nor even one of its loops; that a loop which fails all the same is run again is told by
the last tests, which make one fail.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator, Sequence
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie
from tests.support.damage import WHOLE, damages
from tests.support.dataplane import endpoint_name, key, resource
from tests.support.netns import Namespace, host_and_router

from tortie.ipam.records import BLOCKS
from tortie.model.keys import IPAM_CONFIG, block_key, host_affinity_key
from tortie.model.names import host_interface
from tortie.model.wire import encode
from tortie.store.contract import Delete, Operation, Put, Store

pytestmark = pytest.mark.timeout(300)

POOL = {"cidr": "10.244.0.0/16", "vxlanMode": "Always", "natOutgoing": True, "blockSize": 26, "nodeSelector": "all()"}
FOREIGN = {**POOL, "cidr": "10.99.0.0/16", "allowedUses": ["Workload", "Tunnel"]}
NODE_B = {
    "bgp": {"ipv4Address": "10.0.0.2/24"},
    "ipv4VXLANTunnelAddr": "10.244.2.1",
    "addresses": [{"address": "10.0.0.2"}],
}
BLOCK_B = "10.244.2.0/26"
LINK = host_interface("default", "one")
ENDPOINT = {"node": "n1", "orchestrator": "k8s", "pod": "one", "endpoint": "eth0", "interfaceName": LINK}


def _block(cidr: str, host: str) -> dict[str, Any]:
    attributes = [{"handle_id": "h", "secondary": {"node": "c"}}]
    return {
        **{"cidr": cidr, "affinity": f"host:{host}", "allocations": [0] + [None] * 63, "attributes": attributes},
        **{"unallocated": list(range(1, 64)), "strictAffinity": False, "deleted": False, "sequenceNumber": 1},
    }


FIRST: tuple[Put, ...] = (
    resource("IPPool", "pods", POOL),
    resource("IPPool", "foreign", FOREIGN),
    resource("Node", "b", NODE_B, labels={"rack": "1"}),
    resource("FelixConfiguration", "node.n1", {"natOutgoingAddress": "10.0.0.1", "vxlanPort": 4789}),
    resource("BGPConfiguration", "default", {"asNumber": 64512, "nodeToNodeMeshEnabled": False, "listenPort": 179}),
    resource("BGPPeer", "tor", {"peerIP": "10.0.0.254", "asNumber": 64513, "nodeSelector": "has(nothing)"}),
    resource("BGPFilter", "some", {"exportV4": [{"action": "Accept", "matchOperator": "In", "cidr": "10.0.0.0/8"}]}),
    resource("IPReservation", "some", {"reservedCIDRs": ["10.244.9.0/24"]}),
    Put(block_key(BLOCK_B), encode(_block(BLOCK_B, "b"))),
    Put(host_affinity_key("b", BLOCK_B), encode({"state": "confirmed", "deleted": False})),
    Put(host_affinity_key("n1", "10.244.7.0/26"), encode({"state": "pending", "deleted": False})),
    Put(IPAM_CONFIG, encode({"StrictAffinity": False, "AutoAllocateBlocks": True, "MaxBlocksPerHost": 0})),
    resource(
        "WorkloadEndpoint",
        endpoint_name("n1", "two"),
        {**ENDPOINT, "pod": "two", "interfaceName": "cali2", "ipNetworks": ["10.244.0.10/32"]},
        namespace="default",
    ),
)
# Of the others that an agent writes itself.
WRITTEN = (("ClusterInformation", "default"), ("FelixConfiguration", "default"), ("IPAMConfiguration", "default"))


class Node:
    """An agent with a pod, beside another node that is only a few records."""

    def __init__(self, folder: Path, host: Namespace, pod: Namespace, **variables: str) -> None:
        self.host = host
        self.agent = NodeAgent(folder, host, NODENAME="n1", NO_DEFAULT_POOLS="true", **variables)
        folder.mkdir(parents=True, exist_ok=True)
        self.store = Tortie(folder, TORTIE_STORE=self.agent.variables["TORTIE_STORE"])
        host.veth(LINK, pod, "eth0")
        spec = {**ENDPOINT, "ipNetworks": ["10.244.0.9/32"]}
        self.commit(*FIRST, resource("WorkloadEndpoint", endpoint_name("n1", "one"), spec, namespace="default"))

    def commit(self, *operations: Operation) -> None:
        self.store.with_store(lambda store: store.commit(operations))

    def routes(self) -> str:
        return self.host.ip("-4", "route")

    def wait_works(self) -> None:
        """A route that somebody takes away comes back."""
        self.wait_route(f"10.244.0.9 dev {LINK}")
        self.host.ip("route", "del", "10.244.0.9", "dev", LINK)
        self.wait_route(f"10.244.0.9 dev {LINK}")

    def wait_route(self, text: str) -> None:
        self.agent.wait(f"route {text}", lambda: text in self.routes())

    def wait_whole(self) -> None:
        self.agent.wait_ready()
        self.wait_route("10.244.2.0/26 via 10.244.2.1 dev vxlan.calico")
        self.wait_works()

    def host_is_empty(self) -> bool:
        """No process, not even BIRD."""
        return subprocess.run(["ip", "netns", "pids", self.host.name], capture_output=True, check=True).stdout == b""

    def reasons(self) -> list[str]:
        return [cause["name"] for cause in self.agent.health()["notReady"]]


@pytest.fixture
def wires() -> Iterator[tuple[Namespace, Namespace]]:
    with host_and_router("damage") as (host, _), Namespace("pod") as pod:
        yield host, pod


def _spoil(node: Node, records: dict[str, bytes], every: int = 80) -> None:
    """All of them at once, again and again, each time in another way."""
    ways = [[Put(at, value) for value in _some(good)] for at, good in records.items()]
    rounds = [[put for put in puts if put] for puts in zip_longest(*ways)]

    async def spoil(store: Store, some: Sequence[Sequence[Put]]) -> None:
        for puts in some:
            await store.commit(puts)
            await asyncio.sleep(0.01)  # for the agent to look at it

    for start in range(0, len(rounds), every):
        node.store.with_store(lambda store, some=rounds[start : start + every]: spoil(store, some))  # type: ignore[misc]
        node.wait_works()
    node.commit(*(Put(at, good) for at, good in records.items()))


def _some(good: bytes) -> list[bytes]:
    """Readers are given all of them by other tests."""
    values = list(damages(json.loads(good)))
    return [*values[: len(WHOLE)], *values[len(WHOLE) :: 2]]


def _assert_unharmed(agent: NodeAgent) -> None:
    assert agent.running
    for sign in ("has failed", "cannot be registered", "Traceback", "never retrieved"):
        assert sign not in agent.log, [line[:400] for line in agent.log.splitlines() if sign in line]


def test_whatever_a_record_becomes_the_agent_works(wires: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    node = Node(tmp_path, *wires)
    own = key("Node", "n1")
    with node.agent as agent:
        node.wait_whole()
        entries = node.store.entries()
        pools = {put.key: put.value for put in FIRST if "/ippools/" in put.key}
        others = {put.key: put.value for put in FIRST if put.key not in pools}
        written = {key(*each): entries[key(*each)] for each in WRITTEN}
        blocks = {at: value for at, value in entries.items() if at.startswith(BLOCKS)}
        for records in (others | written | blocks, pools, {own: entries[own]}):
            _spoil(node, records)
            node.wait_whole()
        _assert_unharmed(agent)
        assert agent.stop() == 0


def test_a_start_among_damaged_records_waits_for_its_own_alone(
    wires: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    node = Node(tmp_path, *wires)
    good = {put.key: put.value for put in FIRST if "/ippools/pods" not in put.key}
    wrong = [Put(at, value) for at, value in zip(good, cycle((b"5", b'{"spec":5}', b'{"metadata":5,"spec":{}}')))]
    node.commit(*wrong, Put(key("ClusterInformation", "default"), b'{"spec":5}'), Put(key("Node", "n1"), b"[1]"))
    with node.agent as agent:
        agent.wait_log("this node's own record, Node(n1), cannot be worked with")
        node.commit(Delete(key("Node", "n1")))
        agent.wait_log("Calico node started successfully")
        node.wait_works()
        node.commit(*(Put(at, value) for at, value in good.items()), Delete(key("ClusterInformation", "default")))
        node.wait_whole()
        _assert_unharmed(agent)


# A reader with a defect: it fails for as long as there is a node of a certain name.
_DEFECT = """
import tortie.dataplane.known as known
import tortie.bgp.cluster as cluster

def spoil(of):
    learn = of.learn
    def spoilt(self, key, value):
        if key.endswith("/nodes/poison") and value is not None:
            raise KeyError("poison")
        return learn(self, key, value)
    of.learn = spoilt

spoil(known.Known)
spoil(cluster.Known)
"""


def test_loops_that_fail_are_run_again_and_nothing_else_stops(
    wires: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "sitecustomize.py").write_text(_DEFECT)
    node = Node(tmp_path, *wires, PYTHONPATH=str(code))
    with node.agent as agent:
        node.wait_whole()
        bird = agent.log.count("bird started")
        node.commit(resource("Node", "poison", NODE_B))
        agent.wait("told", lambda: {"loop-dataplane", "loop-bgp"} <= set(node.reasons()))
        for name in ("dataplane", "bgp"):
            agent.wait_log(f"the loop {name} has failed: KeyError: 'poison'")
        assert agent.ask("/liveness")[0] in (200, 204)
        assert "Traceback" not in agent.log
        node.commit(Delete(key("Node", "poison")))
        node.wait_whole()
        assert agent.log.count("bird started") == bird
        assert agent.stop() == 0
    assert node.host_is_empty()
