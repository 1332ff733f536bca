"""The agent when things go wrong around it: lost datastores, kills, taken ports, full disks, links that flap."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of, node
from tests.support.delay import Proxy
from tests.support.etcd_server import EtcdServer, free_port, running_cluster, running_etcd
from tests.support.netns import Namespace, host_and_router

GOOD = (200, 204)
ATTEMPTS = 5  # at a moment that a busy machine may let pass

# Deadlines that a test can wait for, put on PYTHONPATH: 15 s for a call and 10 s for DHCP are long.
_HASTY = """
import tortie.node.phases as bounds
bounds.CALL_S, bounds.BOUND_S = 1.0, 3.0
import tortie.node.converge as waits
waits.SETTLE_S = 1.0
"""


def hasty(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_HASTY)
    return {"PYTHONPATH": str(folder)}


@pytest.fixture
def wires() -> Iterator[tuple[Namespace, Namespace]]:
    with host_and_router("fault") as both:
        yield both


@pytest.fixture
def host(wires: tuple[Namespace, Namespace]) -> Namespace:
    return wires[0]


@pytest.fixture(scope="module")
def member() -> Iterator[EtcdServer]:
    with running_etcd() as server:
        yield server


@pytest.fixture
def etcd(member: EtcdServer, tmp_path: Path) -> EtcdServer:
    """Empty, whoever used it before."""
    Tortie(tmp_path, ETCD_ENDPOINTS=member.endpoint).clear()
    return member


def beside(folder: Path, etcd: str, name: str = "n1", address: str = "10.99.0.1/24", **variables: str) -> NodeAgent:
    """An agent in this network namespace: its address is given, its ports are free ones."""
    ports = {"FELIX_HEALTHPORT": str(free_port()), "FELIX_PROMETHEUSMETRICSPORT": str(free_port())}
    return NodeAgent(folder, None, NODENAME=name, IP=address, ETCD_ENDPOINTS=etcd, **ports, **variables)


def store_of(agent: NodeAgent) -> Tortie:
    return Tortie(agent.folder, TORTIE_STORE=agent.variables["TORTIE_STORE"])


def bgp_of(agent: NodeAgent, name: str = "n1") -> Any:
    return json.loads(store_of(agent).entries()[key_of("nodes", name)])["spec"].get("bgp")


RANDOM_POOL = r"fd[0-9a-f]{2}(:[0-9a-f]{1,4}){0,2}::/48"


def normal(entries: dict[str, bytes]) -> dict[str, Any]:
    """What two undisturbed starts on empty datastores have in common."""
    documents = {key: json.loads(value) for key, value in entries.items()}
    for document in documents.values():
        for field in ("uid", "creationTimestamp"):
            document["metadata"][field] = bool(document["metadata"].get(field))
        if "clusterGUID" in document["spec"]:
            document["spec"]["clusterGUID"] = bool(document["spec"]["clusterGUID"])
        if re.fullmatch(RANDOM_POOL, document["spec"].get("cidr", "")):
            document["spec"]["cidr"] = "a random range"
    return documents


def wait_one_story(agent: NodeAgent, *reasons: str) -> None:
    """Page and metrics agree, and what is missing is what it should be; the start itself is left out."""

    def told() -> bool:
        page, metrics = agent.health(), agent.metrics()
        named = {cause["name"] for cause in page["notReady"]}
        return (
            f"tortie_node_live {int(page['live'])}\n" in metrics
            and f"tortie_node_ready {int(page['ready'])}\n" in metrics
            and set(re.findall(r'tortie_node_not_ready_reason\{name="([^"]+)"', metrics)) == named
            and named - {"start-up"} == set(reasons)
            and page["live"] is True
            and page["ready"] is not bool(named)
        )

    agent.wait(f"one story about {reasons or 'nothing'}", told)


def test_a_datastore_that_goes_away_after_the_start_is_not_missed(host: Namespace, tmp_path: Path) -> None:
    """In the namespace, so that an address can change meanwhile."""

    def started() -> subprocess.Popen[str]:
        return host.popen("etcd", "--data-dir", str(tmp_path / "etcd"), stdout=quiet, stderr=quiet)

    def registered() -> Any:
        return json.loads(host.run("etcdctl", "get", "--print-value-only", key_of("nodes", "n1")).stdout)["spec"]["bgp"]

    with (tmp_path / "etcd.log").open("wb") as quiet:
        server = started()
        variables = {"NODENAME": "n1", "ETCD_ENDPOINTS": "http://127.0.0.1:2379"} | hasty(tmp_path / "code")
        with NodeAgent(tmp_path, host, **variables) as agent:
            agent.wait_ready()
            assert registered() == {"ipv4Address": "10.0.0.1/24"}
            server.kill()
            server.wait()
            host.ip("addr", "add", "10.5.0.1/24", "dev", "eth0")
            agent.wait("the error", lambda: "datastore unreachable" in agent.ask("/readiness?verbose")[1])
            assert agent.ask("/liveness")[0] in GOOD
            assert agent.ask("/readiness")[0] in GOOD, "registered rightly, it can do without"
            host.ip("addr", "del", "10.5.0.1/24", "dev", "eth0")
            host.ip("addr", "del", "10.0.0.1/24", "dev", "eth0")
            host.ip("addr", "add", "10.0.0.2/24", "dev", "eth0")
            agent.wait("unreadiness", lambda: agent.ask("/readiness")[0] == 503)
            assert agent.ask("/liveness")[0] in GOOD
            wait_one_story(agent, "datastore")
            started()
            agent.wait("the new address", lambda: 'address="10.0.0.2/24"' in agent.metrics())
            assert registered() == {"ipv4Address": "10.0.0.2/24"}
            wait_one_story(agent)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_write_of_which_nobody_knows_whether_it_happened(arrives: bool, etcd: EtcdServer, tmp_path: Path) -> None:
    store = Tortie(tmp_path, ETCD_ENDPOINTS=etcd.endpoint)
    with beside(tmp_path / "calm", etcd.endpoint) as agent:
        agent.wait_ready()
    calm = normal(store.entries())
    for turn in range(ATTEMPTS):
        store.clear()
        with (
            Proxy("127.0.0.1", etcd.port, round_trip_s=1.0) as proxy,
            beside(tmp_path / f"node{turn}", proxy.endpoint) as agent,
        ):
            agent.wait("the write", lambda agent=agent: agent.health()["phase"]["name"] in ("register", "running"))
            if arrives:
                agent.wait("its arrival", lambda: len(store.entries()) > 1)
            proxy.cut()
            found = len(store.entries())
            proxy.round_trip_s = 0.0
            proxy.mend()
            agent.wait_ready()
            wait_one_story(agent)
        assert normal(store.entries()) == calm
        if (found > 0) is arrives:
            break  # else this test came too late, and the write had arrived
    assert (found > 0) is arrives


def test_a_datastore_that_hangs_in_the_middle_of_the_write(etcd: EtcdServer, tmp_path: Path) -> None:
    store = Tortie(tmp_path, ETCD_ENDPOINTS=etcd.endpoint)
    code = hasty(tmp_path / "code")
    told = "Reading again to see whether it was written"
    for turn in range(ATTEMPTS):
        store.clear()
        with (
            Proxy("127.0.0.1", etcd.port, round_trip_s=0.4) as proxy,
            beside(tmp_path / f"node{turn}", proxy.endpoint, **code) as agent,
        ):
            agent.wait("the write", lambda agent=agent: agent.health()["phase"]["name"] in ("register", "running"))
            etcd.pause()
            try:
                agent.wait(told, lambda agent=agent: told in agent.log or agent.ask("/readiness")[0] in GOOD)
                hung = told in agent.log
                if hung:
                    assert agent.ask("/liveness")[0] in GOOD
                    assert agent.ask("/readiness")[0] == 503
            finally:
                etcd.resume()
            agent.wait_ready()
            wait_one_story(agent)
        assert [key for key in store.entries() if "/nodes/" in key] == [key_of("nodes", "n1")]
        assert len(store.entries()) == 12
        if hung:
            break  # else this test came too late, and the write was over
    assert hung


def test_a_leader_that_dies_while_nodes_start(tmp_path: Path) -> None:
    with running_cluster(3) as cluster:
        endpoints = ",".join(cluster.endpoints)
        agents = [beside(tmp_path / f"n{i}", endpoints, f"n{i}", f"10.99.0.{i}/24") for i in range(1, 5)]
        leader = cluster.leader()
        try:
            for agent in agents:
                agent.start()
            agents[0].wait_log("Starting node n1")
            leader.stop()
            for agent in agents:
                agent.wait_ready()
                wait_one_story(agent)
        finally:
            for agent in agents:
                agent.kill()
        survivor = next(each for each in cluster.members if each is not leader)
        stored = normal(Tortie(tmp_path, ETCD_ENDPOINTS=survivor.endpoint).entries())
    nodes = {key: document["spec"]["bgp"] for key, document in stored.items() if "/nodes/" in key}
    assert nodes == {key_of("nodes", f"n{i}"): {"ipv4Address": f"10.99.0.{i}/24"} for i in range(1, 5)}
    pools = [key for key in stored if "/ippools/" in key]
    assert pools == [key_of("ippools", f"default-ipv{family}-ippool") for family in (4, 6)]


def test_a_start_that_is_killed_at_any_moment_leaves_nothing_that_matters(etcd: EtcdServer, tmp_path: Path) -> None:
    store = Tortie(tmp_path, ETCD_ENDPOINTS=etcd.endpoint)
    begun = time.monotonic()
    with beside(tmp_path / "calm", etcd.endpoint) as agent:
        agent.wait_ready()
        usual_s = time.monotonic() - begun
        agent.stop()
    calm = normal(store.entries())
    store.clear()
    disturbed = beside(tmp_path / "killed", etcd.endpoint)
    name = tmp_path / "killed/var/lib/calico/nodename"
    rounds = 24
    for index in range(rounds):
        if index % 2:  # every second one meets what the one before it left behind
            store.clear()
        with disturbed:
            time.sleep(usual_s * index / (rounds - 2))
        assert not name.exists() or name.read_bytes() == b"n1"
        assert set(normal(store.entries())) in (set(), set(calm))
    with disturbed:
        disturbed.wait_ready()
        assert name.read_bytes() == b"n1"
        wait_one_story(disturbed)
    assert normal(store.entries()) == calm
    assert sorted(path.name for path in name.parent.iterdir() if path.name.startswith(".")) == []
    assert "Traceback" not in disturbed.log


_SQUATTER = """
import socket, time
taken = socket.create_server(("127.0.0.1", 9099))
print(9099, flush=True)
time.sleep(600)
"""


def test_a_taken_health_port_keeps_nobody_from_starting(host: Namespace, tmp_path: Path) -> None:
    squatter = host.popen("python3", "-c", _SQUATTER, stdout=subprocess.PIPE)
    assert squatter.stdout is not None
    assert squatter.stdout.readline() == "9099\n"
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_log("Calico node started successfully")
        agent.wait_log("the health page cannot listen on 127.0.0.1:9099")
        assert str(squatter.pid) in agent.log
        assert bgp_of(agent) == {"ipv4Address": "10.0.0.1/24"}
        squatter.kill()
        squatter.wait()
        agent.wait_ready()
        wait_one_story(agent)
    assert agent.log.count("the health page cannot listen on 127.0.0.1:9099") == 1


def test_a_loopback_that_is_down_is_told_and_used_once_it_is_up(host: Namespace, tmp_path: Path) -> None:
    host.ip("link", "set", "lo", "down")
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_log("Calico node started successfully")
        agent.wait_log("ip link set lo up")
        host.ip("link", "set", "lo", "up")
        agent.wait_ready()
        wait_one_story(agent)


@contextmanager
def mounted(folder: Path, options: str, filled: int) -> Iterator[Callable[..., None]]:
    def mount(*words: str) -> None:
        subprocess.run(["mount", *words, str(folder)], check=True, capture_output=True)

    folder.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", options, "tmpfs")
    try:
        if filled:
            (folder / "full").write_bytes(b"x" * filled)
        yield lambda options: mount("-o", f"remount,{options}")
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("options", "filled", "mended", "why"),
    [
        ("size=64k,ro", 0, "rw", "ead-only"),
        ("size=64k,nr_inodes=1", 0, "nr_inodes=9", "o space"),
        ("size=4k", 4096, "size=64k", "o space"),
    ],
)
def test_a_folder_that_cannot_be_written(
    options: str, filled: int, mended: str, why: str, etcd: EtcdServer, tmp_path: Path
) -> None:
    folder = tmp_path / "var/lib/calico"
    with mounted(folder, options, filled) as remount, beside(tmp_path, etcd.endpoint) as agent:
        agent.wait("the reason", lambda: why in agent.ask("/readiness?verbose")[1])
        status, text = agent.ask("/readiness?verbose")
        assert (status, agent.ask("/liveness")[0] in GOOD) == (503, True)
        assert str(folder / "nodename") in text
        wait_one_story(agent, "files")
        remount(mended)
        agent.wait_ready()
        wait_one_story(agent)
        assert {path.name for path in folder.iterdir()} - {"full"} == {"nodename", "mtu"}
        assert (folder / "nodename").read_bytes() == b"n1"


def test_an_address_that_flaps_is_judged_once_it_is_quiet(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        before, written = agent.log, store_of(agent).with_store(lambda store: store.scan("")).revision
        flap = ("addr del 10.0.0.1/24 dev eth0", "addr add 10.0.0.1/24 dev eth0")
        host.batch(*flap * 100, flap[0], "addr add 10.0.0.2/24 dev eth0", "route add default via 10.0.0.254")
        agent.wait("the last address", lambda: bgp_of(agent) == {"ipv4Address": "10.0.0.2/24"})
        wait_one_story(agent)
        agent.wait("the metric", lambda: 'address="10.0.0.2/24"' in agent.metrics())
        assert store_of(agent).with_store(lambda store: store.scan("")).revision <= written + 3
        assert len(agent.log.splitlines()) <= len(before.splitlines()) + 15


def test_a_link_that_goes_down_and_comes_back(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1", **hasty(tmp_path / "code")) as agent:
        agent.wait_ready()
        host.ip("link", "set", "eth0", "down")
        agent.wait("unreadiness", lambda: agent.ask("/readiness")[0] == 503)
        assert "eth0" in agent.ask("/readiness?verbose")[1]
        wait_one_story(agent, "address")
        assert bgp_of(agent) == {"ipv4Address": "10.0.0.1/24"}
        host.ip("link", "set", "eth0", "up")
        wait_one_story(agent)
        assert bgp_of(agent) == {"ipv4Address": "10.0.0.1/24"}


def test_a_link_gets_its_carrier_its_address_and_its_route_one_after_the_other(
    wires: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    """As with a bond or DHCP. Meanwhile a bridge of docker's is the only one that has an address."""
    host, router = wires
    host.ip("addr", "flush", "dev", "eth0")
    router.ip("link", "set", "port0", "down")
    host.bridge("docker0")
    host.ip("addr", "add", "172.17.0.1/16", "dev", "docker0")
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_log("Waiting up to")
        wait_one_story(agent)
        router.ip("link", "set", "port0", "up")
        host.ip("addr", "add", "10.0.0.7/24", "dev", "eth0")
        host.ip("route", "add", "default", "via", "10.0.0.254")
        agent.wait_ready()
        assert bgp_of(agent) == {"ipv4Address": "10.0.0.7/24"}
        wait_one_story(agent)


def test_an_ipv6_address_counts_once_the_kernel_knows_that_nobody_else_has_it(
    wires: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    host, router = wires
    router.ip("addr", "add", "fd00::1/64", "dev", "port0", "nodad")
    host.ip("addr", "add", "fd00::1/64", "dev", "eth0")  # the kernel will find the router
    host.ip("addr", "add", "fd00::2/64", "dev", "eth0")
    variables = {"IP6": "autodetect", "FELIX_IPV6SUPPORT": "true"}
    with NodeAgent(tmp_path, host, NODENAME="n1", **variables) as agent:
        assert "tentative" in host.ip("addr", "show", "dev", "eth0")
        wanted = {"ipv4Address": "10.0.0.1/24", "ipv6Address": "fd00::2/64"}
        agent.wait("both", lambda: key_of("nodes", "n1") in store_of(agent).entries() and bgp_of(agent) == wanted)
        agent.wait_ready()
        assert "dadfailed" in host.ip("addr", "show", "dev", "eth0")
        agent.wait("the metric", lambda: 'address="fd00::2/64"' in agent.metrics())
        wait_one_story(agent)


def test_a_move_to_an_address_that_another_node_has_is_not_ready(host: Namespace, tmp_path: Path) -> None:
    """What is registered is on no interface then, and what is on one is another node's."""
    with NodeAgent(tmp_path, host, NODENAME="n1", CALICO_NETWORKING_BACKEND="vxlan") as agent:  # n2 speaks no BGP
        agent.wait_ready()
        store_of(agent).put(key_of("nodes", "n2"), node("n2", "10.0.0.254/24"))
        host.ip("addr", "del", "10.0.0.1/24", "dev", "eth0")
        host.ip("addr", "add", "10.0.0.254/24", "dev", "eth0")
        agent.wait("both names", lambda: "n2" in agent.ask("/readiness?verbose")[1])
        assert agent.ask("/readiness")[0] == 503
        assert bgp_of(agent) == {"ipv4Address": "10.0.0.1/24"}
        wait_one_story(agent, "conflict")
        host.ip("addr", "del", "10.0.0.254/24", "dev", "eth0")
        host.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        agent.wait_ready()
        wait_one_story(agent)


def test_an_own_record_that_others_delete_or_change_is_noticed(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        store, key = store_of(agent), key_of("nodes", "n1")
        assert store.run("delete", "node", "n1").code == 0
        agent.wait("the record", lambda: key in store.entries())
        changed = json.loads(store.entries()[key])
        changed["metadata"]["labels"] = {"rack": "7"}
        changed["spec"]["bgp"] = {"ipv4Address": "10.0.0.99/24", "routeReflectorClusterID": "1.0.0.1"}
        store.put(key, changed)
        agent.wait("the notice", lambda: "10.0.0.99" in agent.ask("/readiness?verbose")[1])
        wait_one_story(agent, "record")
        agent.signal(signal.SIGHUP)
        agent.wait("our address", lambda: bgp_of(agent)["ipv4Address"] == "10.0.0.1/24")
        assert bgp_of(agent)["routeReflectorClusterID"] == "1.0.0.1"
        assert json.loads(store.entries()[key])["metadata"]["labels"] == {"rack": "7"}
        wait_one_story(agent)
