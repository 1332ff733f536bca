"""The agent as a user runs it, in network namespaces with real links: it starts, registers, tells, stays and stops."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of, node
from tests.support.netns import Namespace, host_and_router


@pytest.fixture
def wires() -> Iterator[tuple[Namespace, Namespace]]:
    with host_and_router("start") as both:
        yield both


@pytest.fixture
def host(wires: tuple[Namespace, Namespace]) -> Namespace:
    return wires[0]


def store_of(agent: NodeAgent) -> Tortie:
    return Tortie(agent.folder, TORTIE_STORE=agent.variables["TORTIE_STORE"])


def spec_of(agent: NodeAgent, name: str = "n1") -> dict[str, object]:
    spec: dict[str, object] = json.loads(store_of(agent).entries()[key_of("nodes", name)])["spec"]
    return spec


def test_a_first_start_registers_everything_and_leaves_a_record(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1", CLUSTER_TYPE="k8s,bgp") as agent:
        agent.wait_ready()
        stored = store_of(agent).entries()
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}
        names = {key.removeprefix("/calico/resources/v3/projectcalico.org/") for key in stored}
        assert names - {"caliconodestatuses/n1"} == {  # its report of BGP may have been written by now
            "nodes/n1",
            "ippools/default-ipv4-ippool",
            "ippools/default-ipv6-ippool",
            "clusterinformations/default",
            "tiers/default",
            "tiers/kube-admin",
            "tiers/kube-baseline",
            "felixconfigurations/default",
            "felixconfigurations/node.n1",
            "bgpconfigurations/default",
            "ipamconfigurations/default",
            "kubecontrollersconfigurations/default",
        }
        assert (tmp_path / "var/lib/calico/nodename").read_bytes() == b"n1"
        agent.wait_log("Calico node started successfully")
        for line in (
            "Early log level set to info",
            "Using NODENAME environment for node name n1",
            "Determined node name: n1",
            "Using autodetected IPv4 address on interface eth0: 10.0.0.1/24",
            "Node IPv4 changed, will check for conflicts",
            "Using node name: n1",
        ):
            assert line in agent.log
        timeline = agent.command("timeline", "-o", "json").json
        assert timeline["outcome"] == "ready"
        assert timeline["roundTrips"] <= 8
        assert {phase["name"] for phase in timeline["phases"]} >= {
            "settings",
            "name",
            "datastore",
            "address",
            "register",
        }
        assert (
            'tortie_node_address_info{node="n1",address="10.0.0.1/24",interface="eth0",method="agreed",family="4"} 1'
            in (agent.metrics())
        )
        assert 'tortie_datastore_requests_total{op="snapshot",phase="datastore"} 1' in agent.metrics()
        assert 'tortie_datastore_requests_total{op="commit",phase="register"} 1' in agent.metrics()
        assert "tortie_node_ready 1" in agent.metrics()
        assert agent.command("check").code == 0
        assert agent.stop() == 0
    assert "Shutting down node n1" in agent.log
    assert agent.command("check").code == 3


def test_a_second_start_changes_nothing_in_the_datastore(host: Namespace, tmp_path: Path) -> None:
    def written() -> list[object]:
        """With their revisions; its report of BGP may come at any time after the start."""
        listing = store_of(agent).with_store(lambda store: store.scan(""))
        return [entry for entry in listing.entries if entry.key != key_of("caliconodestatuses", "n1")]

    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        agent.stop()
    before = written()
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_log("Calico node started successfully", times=2)
    assert written() == before


def test_the_log_speaks_json_when_asked(host: Namespace, tmp_path: Path) -> None:
    # Without BIRD, which would begin to talk before the agent is ended.
    variables = {"NODENAME": "n1", "CALICO_NETWORKING_BACKEND": "vxlan"}
    with NodeAgent(tmp_path, host, "--log-format", "json", **variables) as agent:
        agent.wait_log("Calico node started successfully")
    lines = [json.loads(line) for line in agent.log.splitlines()]
    assert {line["level"] for line in lines} <= {"info", "warning"}
    assert lines[-1]["message"] == "Calico node started successfully"


def test_the_log_has_calicos_form_and_is_quiet_afterwards(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait("readiness", lambda: agent.ask("/readiness")[0] == 204)
        before = agent.log
        for line in before.splitlines():
            assert re.match(
                r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[(INFO|WARNING)\]\[\d+\] [\w-]+/\w+\.py \d+: |bird: ", line
            )
        for _ in range(5):  # pods come and go
            host.ip("link", "add", "cali123", "type", "veth", "peer", "name", "cali456")
            host.ip("link", "del", "cali123")
        agent.wait("a second answer", lambda: agent.ask("/readiness")[0] == 204)
        assert agent.log == before


def test_a_wrong_setting_is_refused_with_all_others_and_the_right_forms(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(
        tmp_path,
        host,
        NODENAME="n1",
        IP_AUTODETECTION_METHOD="inteface=eth0",
        CALICO_IPV4POOL_BLOCK_SIZE="99",
        CALICO_NETWORKING_BACKEND="brid",
    ) as agent:
        assert agent.wait_end() == 2
    for text in ("interface=eth0", "CALICO_IPV4POOL_BLOCK_SIZE", "bird"):
        assert text in agent.log
    assert not (tmp_path / "store.db").exists()
    assert "Traceback" not in agent.log


def test_an_address_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    with Namespace("late") as host, Namespace("router") as router, NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait("an answer", lambda: agent.ask("/liveness")[0] != 0)
        agent.wait("phase address", lambda: agent.health()["phase"]["name"] == "address")
        assert agent.ask("/liveness")[0] in (200, 204)
        assert agent.ask("/readiness")[0] == 503
        host.veth("eth0", router, "port0")
        host.ip("addr", "add", "10.0.0.7/24", "dev", "eth0")
        agent.wait_ready()
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.7/24"}


def test_two_candidates_that_cannot_be_told_apart_are_both_named(tmp_path: Path) -> None:
    with Namespace("tied") as host, Namespace("router") as router:
        for index in (0, 1):
            host.veth(f"eth{index}", router, f"port{index}")
            host.ip("addr", "add", f"10.{index}.0.1/24", "dev", f"eth{index}")
        with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
            agent.wait("the reason", lambda: "10.1.0.1" in agent.ask("/readiness?verbose")[1])
            status, text = agent.ask("/readiness?verbose")
            assert status == 503
            assert "10.0.0.1/24" in text
            assert "IP_AUTODETECTION_METHOD" in text
            assert agent.ask("/liveness")[0] in (200, 204)
            assert not store_of(agent).entries()
            explained = agent.command("explain", "-o", "json")
            assert explained.code == 3
            assert {each["address"] for each in explained.json["address"]["tied"]} == {"10.0.0.1/24", "10.1.0.1/24"}
            host.ip("route", "add", "default", "via", "10.1.0.254")
            agent.wait_ready()
            assert spec_of(agent)["bgp"] == {"ipv4Address": "10.1.0.1/24"}


def test_an_address_change_is_noticed_from_the_kernel(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        host.ip("addr", "del", "10.0.0.1/24", "dev", "eth0")
        host.ip("addr", "add", "10.0.0.2/24", "dev", "eth0")
        host.ip("route", "add", "default", "via", "10.0.0.254")
        agent.wait("the new address", lambda: spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.2/24"})
        agent.wait("readiness", lambda: agent.ask("/readiness")[0] == 204)
        agent.wait("the metric", lambda: 'address="10.0.0.2/24"' in agent.metrics())


def test_an_address_that_disappears_is_kept_registered_and_told(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        host.ip("addr", "del", "10.0.0.1/24", "dev", "eth0")
        agent.wait("unreadiness", lambda: agent.ask("/readiness")[0] == 503)
        assert "10.0.0.1/24" in agent.ask("/readiness?verbose")[1]
        assert agent.ask("/liveness")[0] in (200, 204)
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}
        host.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        agent.wait("readiness", lambda: agent.ask("/readiness")[0] in (200, 204))


def test_a_second_nic_after_the_start_changes_nothing(wires: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    host, router = wires
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        host.veth("eth1", router, "port1")
        host.ip("addr", "add", "172.16.5.5/24", "dev", "eth1")
        agent.wait("the interface in the record", lambda: "eth1" in str(spec_of(agent)["interfaces"]))
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}


def test_sighup_reads_the_settings_again(host: Namespace, tmp_path: Path) -> None:
    file = tmp_path / "node.env"
    file.write_text("NODENAME=n1\nIP=10.0.0.1\n")
    host.ip("addr", "add", "10.0.1.1/24", "dev", "eth0")
    with NodeAgent(tmp_path / "node", host, "--env-file", str(file)) as agent:
        agent.wait_ready()
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}
        file.write_text("NODENAME=n1\nIP=10.0.1.1\nFELIX_HEALTHPORT=9199\n")
        agent.signal(signal.SIGHUP)
        agent.wait("the new address", lambda: spec_of(agent)["bgp"] == {"ipv4Address": "10.0.1.1/24"})
        agent.wait_log("FELIX_HEALTHPORT")
        file.write_text("NODENAME=n1\nIP=nonsense\n")
        agent.signal(signal.SIGHUP)
        agent.wait_log("the old ones stay")
        assert agent.ask("/readiness")[0] in (200, 204)


def test_a_bridge_that_is_named_as_the_node_address_by_calico_is_not_taken(host: Namespace, tmp_path: Path) -> None:
    """Incident 2, at the start of a node that has no configuration at all."""
    host.bridge("br-3a10a9384428")
    host.ip("addr", "add", "172.18.0.1/16", "dev", "br-3a10a9384428")
    tmp_path.mkdir(exist_ok=True)
    agent = NodeAgent(tmp_path, host, NODENAME="n1")
    explained = agent.command("explain", "--calico", "v3.24.2", "-o", "json").json
    with agent:
        agent.wait_ready()
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}
    assert explained["address"]["chosen"] == "10.0.0.1/24"
    assert [each["interface"] for each in explained["address"]["rejected"] if each["address"] == "172.18.0.1/16"]
    assert explained["calico"]["addresses"][0]["chosen"] == "172.18.0.1/16"


def test_a_node_record_of_another_machine_does_not_keep_a_start_from_going_on(host: Namespace, tmp_path: Path) -> None:
    agent = NodeAgent(tmp_path, host, NODENAME="n1")
    store = store_of(agent)
    store.put(key_of("nodes", "half"), b'{"kind":"Node","meta')
    store.put(key_of("nodes", "odd"), {"kind": "Node", "spec": {"bgp": {"ipv4Address": "10.0.0.300/24"}}})
    store.put(key_of("nodes", "good"), node("good", "10.0.0.9/24"))
    with agent:
        agent.wait_log("Calico node started successfully")
        agent.wait_log("half")
        agent.wait("a word on the peer", lambda: "BGP not established with 10.0.0.9" in agent.ask("/readiness")[1])
    assert store.entries()[key_of("nodes", "half")] == b'{"kind":"Node","meta'


def test_an_own_record_that_cannot_be_read_is_waited_for_and_never_overwritten(host: Namespace, tmp_path: Path) -> None:
    agent = NodeAgent(tmp_path, host, NODENAME="n1")
    store = store_of(agent)
    store.put(key_of("nodes", "n1"), b'{"kind":"Node","meta')
    with agent:
        agent.wait("the reason", lambda: "tortie delete node n1" in agent.ask("/readiness?verbose")[1])
        assert agent.ask("/liveness")[0] in (200, 204)
        assert store.entries() == {key_of("nodes", "n1"): b'{"kind":"Node","meta'}
        assert store.run("delete", "node", "n1").code == 0
        agent.wait_ready()
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}


def test_a_record_that_somebody_deletes_is_written_again(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        assert store_of(agent).run("delete", "node", "n1").code == 0
        agent.wait("the record", lambda: key_of("nodes", "n1") in store_of(agent).entries())
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"}


def test_a_record_that_somebody_changes_is_told_and_not_fought_over(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_ready()
        patch = '{"spec": {"bgp": {"ipv4Address": "10.9.9.9/24"}}}'
        assert store_of(agent).run("patch", "node", "n1", "-p", patch).code == 0
        agent.wait("unreadiness", lambda: agent.ask("/readiness")[0] == 503)
        assert "10.9.9.9/24" in agent.ask("/readiness?verbose")[1]
        assert spec_of(agent)["bgp"] == {"ipv4Address": "10.9.9.9/24"}
        agent.signal(signal.SIGHUP)
        agent.wait("the own address", lambda: spec_of(agent)["bgp"] == {"ipv4Address": "10.0.0.1/24"})
        agent.wait_ready()
