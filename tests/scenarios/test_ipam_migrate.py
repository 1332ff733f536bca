"""`tortie ipam migrate`, and the fifteen ways in which Calico's upgrade-ipam runs for ever or fails.

Each is set up for real; each ends, with a message that names the cause, or shows that it cannot happen here.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.cli import assert_three_lines, key_of
from tests.support.delay import Proxy
from tests.support.etcd_server import EtcdServer, free_port, running_etcd
from tests.support.host_local import CLUSTER, HostLocalMachine, handle

pytestmark = pytest.mark.timeout(120)

COMPLETE = "migration from host-local to calico-ipam complete"
NOTHING = "host-local IPAM data dir not found; no migration necessary, successfully exiting..."


@pytest.fixture
def machine(tmp_path: Path) -> HostLocalMachine:
    return HostLocalMachine(tmp_path)


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    with running_etcd() as server:
        yield server


def on_etcd(folder: Path, endpoint: str, name: str = "node-1", **more: str) -> HostLocalMachine:
    return HostLocalMachine(folder, name, DATASTORE_TYPE="etcdv3", ETCD_ENDPOINTS=endpoint, **more)


# 1. A folder that an earlier network left, on a cluster whose pool is missing or elsewhere.


def test_1_a_stale_folder_on_a_new_cluster_stops_nobody(machine: HostLocalMachine) -> None:
    """No pool, no node yet: they come when the agent starts, which may wait for this command."""
    machine.lease("10.244.1.5", "c5")
    before = machine.files()
    ran = machine.migrate("-o", "json")
    assert (ran.code, ran.stderr, ran.json["state"]) == (0, "", "migrated")
    (address,) = ran.json["addresses"]
    assert (address["result"], address["usedBy"]) == ("stale", None)
    assert not machine.data.exists()
    assert {name.replace(".migrated", ""): text for name, text in machine.files().items()} == before
    assert machine.handles() == {}


@pytest.mark.parametrize("pools", [(), ("192.168.0.0/16",)])
def test_1_pods_that_no_pool_covers_are_told_before_anything_is_written(
    machine: HostLocalMachine, pools: tuple[str, ...]
) -> None:
    machine.cluster(*pools)
    machine.lease("10.244.1.5", "c5")
    before, files = machine.everything(), machine.files()
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])))
    assert_three_lines(ran, 1)
    assert "10.244.1.5 (default/web): The provided IP address is not in a configured pool" in ran.stderr
    assert ("only pool-0 (192.168.0.0/16)" if pools else "no IPv4 pool") in ran.stderr
    assert (machine.everything(), machine.files()) == (before, files)


# 2. No podCIDR.


def test_2_without_a_pod_cidr_only_the_tunnels_address_is_left_to_the_agent(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16", ipipMode="Always")
    machine.lease("10.244.1.5", "c5")
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])))
    assert ran.code == 0
    assert (
        "tunnel address: none adopted: the node's record has no IPv4 podCIDR; the agent takes one itself" in ran.stdout
    )
    assert machine.handles() == {"10.244.1.5": handle("c5")}


# 3. The datastore cannot be reached.


def test_3_a_datastore_that_nobody_answers_for_is_named(tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    machine = on_etcd(tmp_path, endpoint)
    machine.lease("10.244.1.5", "c5")
    ran = machine.migrate("--timeout", "2s")
    assert (ran.code, ran.stdout) == (1, "")
    assert "the migration did not end within 2 s: reading" in ran.stderr
    assert endpoint in ran.stderr
    assert (machine.data / "10.244.1.5").exists()


def test_3_a_datastore_that_hangs_is_named_with_a_heartbeat(tmp_path: Path, etcd: EtcdServer) -> None:
    with Proxy("127.0.0.1", etcd.port) as proxy:
        machine = on_etcd(tmp_path, proxy.endpoint)
        machine.lease("10.244.1.5", "c5")
        proxy.pause()
        ran = machine.shell.run("ipam", "migrate", *machine.words, "--timeout", "7s")
    assert (ran.code, ran.stdout) == (1, "")
    assert "still reading" in ran.stderr
    assert "of at most 7 s" in ran.stderr
    assert "trying again until 7 s are over: datastore unreachable" in ran.stderr
    assert "Error: the migration did not end within 7 s" in ran.stderr


# 4. The node is not there, or has another name.


def test_4_a_node_that_is_not_registered_is_told_with_the_one_that_may_be_meant(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    machine.name = "node-l"
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])))
    assert_three_lines(ran, 1)
    assert "Node(node-l)" in ran.stderr
    assert "--node node-1" in ran.stderr
    assert machine.handles() == {}


# 5. No rights.


def test_5_a_datastore_that_refuses_us_is_not_asked_again(tmp_path: Path) -> None:
    with running_etcd(root_password="right") as server:
        machine = on_etcd(tmp_path, server.endpoint, ETCD_USERNAME="root", ETCD_PASSWORD="not-the-one")
        machine.lease("10.244.1.5", "c5")
        ran = machine.migrate("--timeout", "100s")
    assert_three_lines(ran, 1)
    assert "within 100 s" not in ran.stderr
    assert "not-the-one" not in ran.stderr
    assert (machine.data / "10.244.1.5").exists()


# 6. host-local holds its lock.


@contextmanager
def holding(lock: Path, *, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has the lock by now, and keeps it so long."""
    script = "import fcntl, sys, time; lock = open(sys.argv[1], 'a'); fcntl.flock(lock, fcntl.LOCK_EX)"
    script += "; print(flush=True); time.sleep(float(sys.argv[2]))"
    command = [sys.executable, "-c", script, str(lock), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            holder.stdout.readline()
            yield holder
        finally:
            holder.kill()


def test_6_whoever_holds_the_lock_is_named(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    before = machine.everything()
    with holding(machine.data / "lock", seconds=600) as holder:
        ran = machine.migrate()
    assert_three_lines(ran, 1)
    assert f"pid {holder.pid}, {sys.executable} -c import fcntl" in ran.stderr
    assert f"{machine.data}/lock is held" in ran.stderr
    assert machine.everything() == before
    assert machine.migrate().code == 0  # the lock went with its holder


def test_6_a_lock_that_is_given_back_soon_is_waited_for(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    with holding(machine.data / "lock", seconds=0.5):
        assert machine.migrate().code == 0


# 7. Names in the folder that are no addresses.


def test_7_whatever_lies_in_the_folder_is_told_and_kept(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    (machine.data / "10.244.1.5~").write_text("an editor's backup")
    (machine.data / "old").mkdir()
    (machine.data / "old" / "10.244.1.9").write_text("c9")
    os.mkfifo(machine.data / "pipe")
    os.mkfifo(machine.data / "10.244.1.7")
    (machine.data / "10.244.1.8").mkdir()
    (machine.data / "link").symlink_to("/etc/passwd")
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])))
    assert (ran.code, ran.stderr) == (0, "")
    assert "not understood: 10.244.1.5~: its name is no address" in ran.stdout
    assert "not understood: old: it is a folder" in ran.stdout
    assert "not understood: pipe: it is no file" in ran.stdout
    assert "not understood: link: it is a link" in ran.stdout
    assert machine.handles() == {"10.244.1.5": handle("c5")}
    aside = machine.networks / "k8s-pod-network.migrated"
    assert (aside / "old" / "10.244.1.9").read_text() == "c9"


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "it is empty"), (b"\xff\xfe", "it is not text"), ("no such id!", "its first line is no container's id")],
)
def test_7_a_pods_file_that_tells_no_container_is_refused(
    machine: HostLocalMachine, content: str | bytes, why: str
) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    machine.lease("10.244.1.6", "", content)
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"]), ("db", ["10.244.1.6"])))
    assert_three_lines(ran, 1)
    assert "1 of 2 addresses in use cannot be adopted" in ran.stderr
    assert f"10.244.1.6 (default/db): nobody knows its container: {why}" in ran.stderr
    assert machine.handles() == {}


# 8. Files with several lines.


def test_8_only_the_first_line_is_the_containers_id(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "", "c5\r\neth0")
    machine.lease("10.244.1.6", "", "c6")
    machine.lease("10.244.1.7", "", " c7 \nnet1\n")
    pods = machine.pods(("a", ["10.244.1.5"]), ("b", ["10.244.1.6"]), ("c", ["10.244.1.7"]))
    assert machine.migrate("--pods", pods).code == 0
    assert machine.handles() == {f"10.244.1.{number}": handle(f"c{number}") for number in (5, 6, 7)}


# 9. The tunnel's address was assigned, but the node's record could not be written.


def test_9_a_tunnel_address_that_was_assigned_before_is_written_into_the_record(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16", status={"podCIDRs": ["10.244.1.0/24"]}, ipipMode="Always")
    machine.lease("10.244.1.5", "c5")
    pods = machine.pods(("web", ["10.244.1.5"]))
    key = key_of("nodes", machine.name)
    without = machine.shell.entries(key)[key]
    ran = machine.migrate("--pods", pods)
    assert ran.code == 0
    assert "tunnel address: 10.244.1.1, the first address of podCIDR 10.244.1.0/24" in ran.stdout
    assert machine.handles()["10.244.1.1"] == "ipip-tunnel-addr-node-1"
    assert machine.attributes("10.244.1.1") == {"node": "node-1", "type": "ipipTunnelAddress"}
    machine.shell.put(key, without)  # as if that write had been lost
    (machine.networks / "k8s-pod-network.migrated").rename(machine.data)
    ran = machine.migrate("--pods", pods)
    assert ran.code == 0
    assert "10.244.1.1 was assigned to it before" in ran.stdout
    record = json.loads(machine.shell.entries(key)[key])
    assert record["spec"]["bgp"] == {"ipv4Address": "10.0.0.1/24", "ipv4IPIPTunnelAddr": "10.244.1.1"}
    assert machine.handles() == {"10.244.1.1": "ipip-tunnel-addr-node-1", "10.244.1.5": handle("c5")}


# 10. The switch for the whole cluster.


def test_10_nothing_that_concerns_the_whole_cluster_is_touched(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    before = machine.shell.with_store(lambda store: store.get(CLUSTER))
    assert machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"]))).code == 0
    assert machine.shell.with_store(lambda store: store.get(CLUSTER)) == before  # its revision, too


def test_10_a_cluster_that_somebody_else_locked_is_left_alone(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    locked = json.loads(machine.shell.entries(CLUSTER)[CLUSTER])
    locked["spec"]["datastoreReady"] = False
    machine.shell.put(CLUSTER, locked)
    before = machine.everything()
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])))
    assert_three_lines(ran, 1)
    assert "Calico is currently not ready to process requests" in ran.stderr
    assert machine.everything() == before


# 11. Two nodes at once.


def test_11_nodes_migrate_at_the_same_time_without_knowing_of_each_other(tmp_path: Path, etcd: EtcdServer) -> None:
    machines = [on_etcd(tmp_path / str(number), etcd.endpoint, f"node-{number}") for number in (1, 2, 3)]
    files = []
    machines[0].shell.clear()
    for number, machine in enumerate(machines):
        machine.cluster(*(["10.244.0.0/16"] if number == 0 else []))
        addresses = [f"10.244.{number}.{host}" for host in range(2, 30)]
        for ip in addresses:
            machine.lease(ip, container(ip))
        files.append(machine.pods(*((f"pod-{number}-{host}", [ip]) for host, ip in enumerate(addresses))))
    with ThreadPoolExecutor() as threads:
        runs = list(
            threads.map(
                lambda each: each[0].shell.run("ipam", "migrate", *each[0].words, "--pods", each[1]),
                zip(machines, files, strict=True),
            )
        )
    assert [ran.code for ran in runs] == [0, 0, 0], runs
    expected = {f"10.244.{number}.{host}" for number in range(3) for host in range(2, 30)}
    assert machines[0].handles() == {ip: handle(container(ip)) for ip in sorted(expected, key=_number)}


def container(ip: str) -> str:
    return f"c{ip.replace('.', '-')}"


def _number(ip: str) -> list[int]:
    return [int(part) for part in ip.split(".")]


# 12. Killed in the middle.


def test_12_killed_in_the_middle_it_goes_on_where_it_was(tmp_path: Path, etcd: EtcdServer) -> None:
    with Proxy("127.0.0.1", etcd.port, round_trip_s=0.1) as slow:
        machine = on_etcd(tmp_path, slow.endpoint)
        near = on_etcd(tmp_path, etcd.endpoint)
        near.shell.clear()
        near.cluster("10.244.0.0/16")
        addresses = [f"10.244.{block}.{host}" for block in range(8) for host in range(2, 30)]
        for ip in addresses:
            machine.lease(ip, container(ip))
        pods = machine.pods(*((f"pod-{number}", [ip]) for number, ip in enumerate(addresses)))
        before, ready = machine.files(), near.shell.with_store(lambda store: store.get(CLUSTER))
        running = machine.shell.start("ipam", "migrate", *machine.words, "--pods", pods)
        try:
            while running.poll() is None and not near.handles():
                time.sleep(0.01)
            slow.pause()  # it goes no further
        finally:
            running.kill()
            running.wait()
    assert machine.files() == before  # whatever was written by then, every file is still there
    assert near.shell.with_store(lambda store: store.get(CLUSTER)) == ready
    ran = near.shell.run("ipam", "migrate", *near.words, "--pods", pods)
    assert ran.code == 0, ran
    assert ran.stdout.splitlines()[-1].startswith(COMPLETE)
    assert near.handles() == {ip: handle(container(ip)) for ip in sorted(addresses, key=_number)}
    assert near.shell("ipam", "check").code == 0


# 13. A node without a BGP section.


def test_13_a_record_without_anything_in_it_is_enough(machine: HostLocalMachine) -> None:
    machine.cluster("10.244.0.0/16", registered=False, ipipMode="Always")
    key = key_of("nodes", machine.name)
    bare = {"kind": "Node", "apiVersion": "projectcalico.org/v3", "metadata": {"name": machine.name}}
    machine.shell.put(key, {**bare, "status": {"podCIDRs": ["fd00::/64", "10.244.1.0/24"]}})
    machine.lease("10.244.1.5", "c5")
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])))
    assert (ran.code, ran.stderr) == (0, "")
    record = json.loads(machine.shell.entries(key)[key])
    assert record["spec"] == {"bgp": {"ipv4IPIPTunnelAddr": "10.244.1.1"}}


# 14. host-local is what this machine really uses.


def test_14_a_machine_that_uses_host_local_is_left_alone(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    conf = machine.root / "etc/cni/net.d"
    conf.mkdir(parents=True)
    plugin = {"type": "calico", "ipam": {"type": "host-local", "subnet": "usePodCidr"}}
    (conf / "10-calico.conflist").write_text(json.dumps({"name": "k8s-pod-network", "plugins": [plugin]}))
    ran = machine.migrate()  # no cluster is even asked
    assert (ran.code, ran.stderr) == (0, "")
    assert f"skipped: {conf}/10-calico.conflist is in force and gives addresses" in ran.stdout
    assert (machine.data / "10.244.1.5").exists()
    machine.shell("cni", "install", "--root", str(machine.root))
    assert machine.migrate("-o", "json").json["state"] == "migrated"


# 15. It has ended long ago, and nobody noticed.


def test_15_it_always_ends_and_its_last_line_says_how(machine: HostLocalMachine) -> None:
    """Where a runtime does not report the end of a container, its log and its exit code still tell."""
    machine.cluster("10.244.0.0/16")
    machine.lease("10.244.1.5", "c5")
    words = ("ipam", "migrate", *machine.words, "--pods", machine.pods(("web", ["10.244.1.5"])))
    ran = machine.shell.run(*words)
    assert ran.code == 0, ran
    assert ran.stdout.splitlines()[-1] == f"{COMPLETE}: 1 adopted"
    again = machine.shell.run(*words)
    assert (again.code, again.stdout, again.stderr) == (0, f"{NOTHING}\n", "")


def test_the_lock_is_host_locals_own(machine: HostLocalMachine, etcd: EtcdServer, tmp_path: Path) -> None:
    """While it runs, host-local cannot give out addresses: it holds the very lock that host-local takes."""
    with Proxy("127.0.0.1", etcd.port) as proxy:
        machine = on_etcd(tmp_path / "other", proxy.endpoint)
        machine.lease("10.244.1.5", "c5")
        proxy.pause()
        running = machine.shell.start("ipam", "migrate", *machine.words, stdout=subprocess.PIPE)
        try:
            proxy.wait_until_held()
            with (machine.data / "lock").open("a") as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            running.kill()
            running.communicate()
