"""The controllers as real processes on real stores: one leads, the next takes over, and what is gone is cleaned up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.address_world import ROOT, World
from tests.support.cli import Tortie
from tests.support.controllers import ControllersProcess
from tests.support.etcd_server import free_port, running_etcd

from tortie.controllers.lease import KEY
from tortie.model.controllers_defaults import DEFAULT_SPEC

pytestmark = pytest.mark.timeout(300)

RESOURCE = f"{ROOT}kubecontrollersconfigurations/default"
FAST = ("--lease", "2s", "--grace", "1s")


@pytest.fixture(scope="module")
def etcd() -> Iterator[str]:
    with running_etcd() as server:
        yield server.endpoint


@pytest.fixture(params=["embedded", "etcd"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tortie]:
    if request.param == "embedded":
        yield Tortie(tmp_path)
        return
    it = Tortie(tmp_path, ETCD_ENDPOINTS=request.getfixturevalue("etcd"))
    yield it
    it.clear()
    it.with_store(lambda store: _forget_lease(store))


async def _forget_lease(store: object) -> None:
    from tortie.store.contract import Delete

    await store.commit([Delete(KEY)])  # type: ignore[attr-defined]


def instance(shell: Tortie, name: str, *words: str, port: int = 0, **variables: str) -> ControllersProcess:
    return ControllersProcess(shell.folder / name, shell, *FAST, *words, port=port, **variables)


def wait(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.05)


def fill(shell: Tortie, world: World) -> None:
    shell.with_store(world.fill)


def cluster() -> World:
    """Two nodes with a block, a pod and a tunnel each, and what is configured for one of them alone."""
    it = World()
    for number, name in enumerate(("n1", "n2")):
        it.node(name)
        it.block(f"10.244.{number}.0/26", name)
        it.pod(f"web-{name}", name, f"10.244.{number}.1")
        it.hold(f"10.244.{number}.2", f"vxlan-tunnel-addr-{name}", node=name, type="vxlanTunnelAddress")
        it.resource("felixconfigurations", f"node.{name}", {"logSeverityScreen": "Info"})
        it.resource("caliconodestatuses", name, {"node": name, "classes": ["BGP"], "updatePeriodSeconds": 10})
    return it


def drop_node(shell: Tortie, name: str) -> None:
    """As somebody would who deletes just the record."""
    from tortie.store.contract import Delete

    shell.with_store(lambda store: store.commit([Delete(f"{ROOT}nodes/{name}")]))


def drop(shell: Tortie, key: str) -> None:
    from tortie.store.contract import Delete

    shell.with_store(lambda store: store.commit([Delete(key)]))


def mentions(shell: Tortie, name: str, address: str) -> list[str]:
    return [key for key, value in shell.entries().items() if name in key or address.encode() in value]


def test_one_leads_the_other_stands_by_and_takes_over_from_one_that_was_killed(shell: Tortie) -> None:
    fill(shell, cluster())
    with instance(shell, "one") as one:
        one.wait_log("This instance leads now")
        assert shell.run("controllers", "status").code == 0
        with instance(shell, "two") as two:
            two.wait_log("Another instance leads, standing by")
            assert (one.check().stdout, two.check().stdout) == ("Ready\n", "Ready\n")
            holder = shell.run("controllers", "status", "-o", "json").json["leader"]["holder"]
            assert f"/{one.pid}-" in holder
            one.kill()
            assert (one.check().code, "is gone" in one.check().stdout) == (3, True)
            two.wait_log("This instance leads now")
            holder = shell.run("controllers", "status", "-o", "json").json["leader"]["holder"]
            assert f"/{two.pid}-" in holder
            drop_node(shell, "n2")
            two.wait_log("Node and IPAM data is in sync")
    assert mentions(shell, "n2", "10.244.1.") == []


def test_who_is_told_to_stop_gives_the_lease_back_at_once(shell: Tortie) -> None:
    """With a lease this long, waiting for its end would outlast the test."""
    fill(shell, cluster())
    long = ("--lease", "5m")
    with instance(shell, "one", *long) as one:
        one.wait_log("This instance leads now")
        with instance(shell, "two", *long) as two:
            two.wait_log("Another instance leads, standing by")
            assert one.stop() == 0
            assert one.lines("Gave the lease back")
            assert "Failed to read status file" in one.check().stdout
            two.wait_log("This instance leads now")


def test_all_of_a_node_that_is_gone_is_freed_and_nothing_else_is_touched(shell: Tortie) -> None:
    world = cluster()
    fill(shell, world)
    before = {key: value for key, value in shell.entries().items() if "n2" not in key and "10.244.1." not in key}
    with instance(shell, "one") as one:
        one.wait_log("This instance leads now")
        drop_node(shell, "n2")
        one.wait_log("Node and IPAM data is in sync")
        for words in (
            "Calico Node referenced in IPAM data does not exist",
            "Garbage collecting leaked IP addresses",
            "Successfully garbage collected leaked IP address",
            "Found a batch of nodes to release",
            "Cleaning up IPAM affinities for deleted node",
        ):
            assert one.lines(words), words
    left = shell.entries()
    assert {key: left.get(key) for key in before} == before
    assert left.keys() - before.keys() == {RESOURCE}


def test_a_leak_is_released_after_the_grace_period_with_evidence_and_a_pod_that_comes_back_is_kept(
    shell: Tortie,
) -> None:
    world = cluster()
    world.pod("lost", "n1", "10.244.0.9", endpoint=False)
    world.pod("late", "n1", "10.244.0.8", endpoint=False)
    fill(shell, world)
    with instance(shell, "one", "--grace", "4s", "--log-format", "json") as one:
        one.wait_log("Candidate IP leak", times=2)
        world.endpoint("late", "n1", "10.244.0.8", container="c-late")
        key = f"{ROOT}workloadendpoints/{world.endpoint_name('late', 'n1')}"
        shell.put(key, world.entries[key])
        one.wait_log("Successfully garbage collected leaked IP address")
        (evidence,) = one.lines("Garbage collecting leaked IP addresses")
        for fact in (
            "10.244.0.9",
            "k8s-pod-network.c-lost",
            "10.244.0.0/26",
            "there is no endpoint of the pod shop/lost",
        ):
            assert fact in evidence
        one.wait_log("Leaked IP has been resurrected")
    shown = shell.run("ipam", "show", "--ip", "10.244.0.8")
    assert "is in use" in shown.stdout
    assert "is not assigned" in shell.run("ipam", "show", "--ip", "10.244.0.9").stdout


def test_settings_of_the_resource_are_followed_and_the_page_tells_the_figures(shell: Tortie) -> None:
    world = cluster()
    world.pod("lost", "n1", "10.244.0.9", endpoint=False)
    fill(shell, world)
    it = ControllersProcess(shell.folder / "one", shell, "--lease", "2s", port=free_port())
    with it as one:
        one.wait_log("Candidate IP leak")
        wait("figures", lambda: 'ipam_allocations_gc_candidates{ippool="pool",node="n1"} 1' in one.page("/metrics"))
        page = one.page("/metrics")
        assert 'ipam_allocations_in_use{ippool="pool",node="n1"} 3' in page
        assert 'ipam_blocks{ippool="pool",node="n2"} 1' in page
        assert 'ipam_ippool_size{ippool="pool"} 65536' in page
        assert "tortie_controllers_leader 1" in page
        key = world.resource(
            "kubecontrollersconfigurations", "default", {"controllers": {"node": {"leakGracePeriod": "1s"}}}
        )
        shell.put(key, world.entries[key])
        one.wait_log("Successfully garbage collected leaked IP address")
        assert 'ipam_allocations_gc_reclamations{ippool="pool",node="n1"} 1' in one.page("/metrics")


def test_the_resource_is_made_as_calico_makes_it_and_says_what_is_in_force(shell: Tortie) -> None:
    fill(shell, cluster())

    def stored() -> dict[str, Any]:
        value = shell.entries().get(RESOURCE)
        return json.loads(value) if value else {}

    def in_force() -> dict[str, Any]:
        running: dict[str, Any] = stored().get("status", {}).get("runningConfig", {})
        return running

    port = free_port()
    it = ControllersProcess(shell.folder / "one", shell, "--lease", "2s", port=port, HEALTH_ENABLED="true")
    with it as one:
        wait("resource", lambda: bool(in_force()))
        made = stored()
        assert made["spec"] == DEFAULT_SPEC
        assert made["status"]["environmentVars"] == {"HEALTH_ENABLED": "true"}
        one.wait_log("etcdV3CompactionPeriod 10m0s has no effect: Tortie leaves that to etcd")
        edit = '{"spec": {"logSeverityScreen": "Debug", "debugProfilePort": 6060, "healthChecks": "Disabled"}}'
        assert shell.run("patch", "kubecontrollersconfig", "default", "-p", edit).code == 0
        one.wait_log("debugProfilePort 6060 has no effect")
        wait("news in the status", lambda: in_force().get("logSeverityScreen") == "Debug")
        assert in_force()["healthChecks"] == "Enabled", "the environment comes first"
        one.wait_log("[DEBUG]")
        assert shell.run("delete", "kubecontrollersconfig", "default").code == 0
        wait("another one", lambda: in_force().get("logSeverityScreen") == "Info")
        assert stored()["metadata"]["uid"] != made["metadata"]["uid"]


def test_instances_that_are_told_different_things_do_not_fight_over_the_status(shell: Tortie) -> None:
    fill(shell, cluster())
    with instance(shell, "one", LOG_LEVEL="info") as one, instance(shell, "two", LOG_LEVEL="debug") as two:
        wait("leader", lambda: bool(one.lines("This instance leads") or two.lines("This instance leads")))
        wait("resource", lambda: b"runningConfig" in shell.entries().get(RESOURCE, b""))
        leader, level = (one, "Info") if one.lines("This instance leads") else (two, "Debug")
        patch = '{"metadata": {"annotations": {"seen": "yes"}}}'
        assert shell.run("patch", "kubecontrollersconfig", "default", "-p", patch).code == 0
        told = json.loads(shell.entries()[RESOURCE])
        assert told["status"]["runningConfig"]["logSeverityScreen"] == level
        leader.kill()
        other = "Debug" if level == "Info" else "Info"
        wait("the next one's", lambda: f'"logSeverityScreen":"{other}"'.encode() in shell.entries()[RESOURCE])


def test_while_the_datastore_is_locked_nothing_happens_and_then_it_does(shell: Tortie) -> None:
    world = cluster()
    key = world.resource("clusterinformations", "default", {"datastoreReady": False})
    fill(shell, world)
    drop_node(shell, "n2")
    before = shell.entries()
    with instance(shell, "one") as one:
        one.wait_log("datastore is locked, skipping ipam sync")
        assert shell.entries() == before
        world.resource("clusterinformations", "default", {"datastoreReady": True})
        shell.put(key, world.entries[key])
        one.wait_log("Node and IPAM data is in sync")
    assert mentions(shell, "n2", "10.244.1.") == []


def test_a_controller_that_nobody_knows_is_refused_in_calico_s_words(tmp_path: Path) -> None:
    ran = Tortie(tmp_path).run("controllers", "run", ENABLED_CONTROLLERS="node,typo")
    assert ran.code == 2
    assert "Invalid controller 'typo' provided." in ran.stderr
