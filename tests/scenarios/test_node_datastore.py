"""A start against a datastore that is down, slow, refuses us, or goes away: live, not ready, saying so, going on."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of, node
from tests.support.delay import Proxy
from tests.support.etcd_server import EtcdServer, free_port, running_etcd
from tests.support.netns import Namespace


def beside(tmp_path: Path, etcd: str, **variables: str) -> NodeAgent:
    """An agent in this network namespace: its address is given, its ports are free ones."""
    ports = {"FELIX_HEALTHPORT": str(free_port()), "FELIX_PROMETHEUSMETRICSPORT": str(free_port())}
    return NodeAgent(tmp_path, None, NODENAME="n1", IP="10.99.0.1/24", ETCD_ENDPOINTS=etcd, **ports, **variables)


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    with running_etcd() as server:
        yield server


def test_a_datastore_that_is_down_is_waited_for(tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    with beside(tmp_path / "node", server.endpoint) as agent:
        agent.wait("the reason", lambda: "datastore unreachable" in agent.ask("/readiness?verbose")[1])
        status, text = agent.ask("/readiness?verbose")
        assert status == 503
        assert "the datastore" in text
        assert agent.ask("/liveness")[0] in (200, 204)
        agent.wait_log("Hit error connecting to datastore - retry")
        try:
            server.start()
            agent.wait_ready()
        finally:
            server.stop()
        assert agent.ask("/readiness")[0] in (200, 204)


def test_a_datastore_that_answers_nothing_does_not_hang_the_start(etcd: EtcdServer, tmp_path: Path) -> None:
    with Proxy("127.0.0.1", etcd.port) as proxy:
        proxy.pause()
        with beside(tmp_path, f"http://127.0.0.1:{proxy.port}") as agent:
            agent.wait("phase datastore", lambda: agent.health()["phase"]["name"] == "datastore")
            assert agent.ask("/liveness")[0] in (200, 204)
            proxy.resume()
            agent.wait_ready()


def test_a_start_costs_the_same_round_trips_for_any_number_of_nodes(etcd: EtcdServer, tmp_path: Path) -> None:
    store = Tortie(tmp_path, ETCD_ENDPOINTS=etcd.endpoint)
    store.clear()
    trips = {}
    for count in (0, 300):
        for index in range(count):
            store.put(
                key_of("nodes", f"other-{index}"), node(f"other-{index}", f"10.98.{index // 250}.{index % 250}/16")
            )
        with beside(tmp_path / str(count), etcd.endpoint) as agent:
            agent.wait_log("Calico node started successfully")  # the record is complete before that
            agent.wait_ready()
            trips[count] = agent.command("timeline", "-o", "json").json["roundTrips"]
        store.run("delete", "node", "n1")
    assert trips[0] == trips[300] <= 8


def test_sigterm_in_the_middle_of_a_start_ends_it_in_order(tmp_path: Path) -> None:
    with beside(tmp_path, f"http://127.0.0.1:{free_port()}") as agent:
        agent.wait_log("Hit error connecting to datastore - retry")
        assert agent.stop() == 0
    assert agent.command("timeline", "-o", "json").json["outcome"] == "stopped"


def test_a_killed_start_is_told_by_the_next(tmp_path: Path) -> None:
    with beside(tmp_path, f"http://127.0.0.1:{free_port()}") as agent:
        agent.wait_log("Hit error connecting to datastore - retry")
        agent.signal(signal.SIGKILL)
        agent.wait_end()
    shown = agent.command("timeline")
    assert "datastore" in shown.stdout
    with beside(tmp_path, f"http://127.0.0.1:{free_port()}") as agent:
        agent.wait_log("did not end by itself")
        agent.wait_log("Hit error connecting to datastore - retry", times=2)  # by now its own record is written, too
    outcomes = [start["outcome"] for start in agent.command("timeline", "--all", "-o", "json").json["starts"]]
    assert outcomes == ["killed", "killed"]


def test_nodes_that_start_at_the_same_moment_on_an_empty_cluster_all_register(tmp_path: Path) -> None:
    """One of them creates what they share; the others find it there."""
    store = tmp_path / "store.db"
    with Namespace("many") as host, Namespace("router") as router:
        host.veth("eth0", router, "port0")
        agents = []
        for index in range(5):
            host.ip("addr", "add", f"10.0.0.{index + 1}/24", "dev", "eth0")
            agents.append(
                NodeAgent(
                    tmp_path / f"n{index}",
                    host,
                    NODENAME=f"n{index}",
                    IP=f"10.0.0.{index + 1}",
                    TORTIE_STORE=str(store),
                    CALICO_NETWORKING_BACKEND="vxlan",  # one machine has no room for five BIRDs
                    FELIX_HEALTHPORT=str(9100 + index),
                    FELIX_PROMETHEUSMETRICSPORT=str(9200 + index),
                )
            )
        try:
            for agent in agents:
                agent.start()
            for agent in agents:
                agent.wait_ready()
            entries = Tortie(tmp_path, TORTIE_STORE=str(store)).entries()
        finally:
            for agent in agents:
                agent.kill()
    assert {key for key in entries if "/nodes/" in key} == {key_of("nodes", f"n{index}") for index in range(5)}
    assert json.loads(entries[key_of("clusterinformations", "default")])["spec"]["datastoreReady"] is True


def test_a_user_without_rights_is_told_which_and_the_node_stays_live(tmp_path: Path) -> None:
    with running_etcd() as server:
        ctl = f"ETCDCTL_API=3 etcdctl --endpoints {server.endpoint}"
        shell = Tortie(tmp_path)
        users = f"{ctl} user add root:pw && {ctl} user add weak:pw && {ctl} user grant-role weak reader"
        rights = f"{ctl} role add reader && {ctl} role grant-permission --prefix=true reader read /calico/"
        assert shell.shell(f"{rights} && {users} && {ctl} auth enable").code == 0
        with beside(tmp_path / "node", server.endpoint, ETCD_USERNAME="weak", ETCD_PASSWORD="pw") as agent:
            agent.wait("the reason", lambda: "permi" in agent.ask("/readiness?verbose")[1])
            assert agent.ask("/liveness")[0] in (200, 204)
            assert agent.ask("/readiness")[0] == 503
            root = f"{ctl} --user root:pw"
            grant = (
                f"{root} role grant-permission --prefix=true reader readwrite /calico/resources/v3/projectcalico.org/"
            )
            assert shell.shell(f"{grant}nodes/").code == 0
            agent.wait_ready()
            agent.wait_log("Not permitted to create ClusterInformation(default)")
        assert "pw" not in agent.log
