"""`tortie ipam migrate` where it is delicate: whose an address is, what others do meanwhile, killed at any write."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.cli import COMMAND, assert_three_lines, resource
from tests.support.host_local import NETWORK, HostLocalMachine, handle
from tests.support.netns import Namespace

from tortie.cli.settings import open_store
from tortie.ipam.records import BLOCKS
from tortie.store.contract import Delete, Operation, Store

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def machine(tmp_path: Path) -> HostLocalMachine:
    machine = HostLocalMachine(tmp_path)
    machine.cluster("10.244.0.0/16", "fd00:10:244::/64", status={"podCIDRs": ["10.244.1.0/24"]})
    return machine


def endpoint(machine: HostLocalMachine, pod: str, *ips: str, container: str = "c5") -> None:
    name = f"{machine.name.replace('-', '--')}-k8s-{pod}-eth0"
    spec = {
        "orchestrator": "k8s",
        "node": machine.name,
        "containerID": container,
        "pod": pod,
        "endpoint": "eth0",
        "ipNetworks": [f"{ip}/{128 if ':' in ip else 32}" for ip in ips],
        "interfaceName": "cali0123456789a",
    }
    file = machine.shell.file(f"{pod}.yaml", resource("WorkloadEndpoint", name, spec, namespace="default"))
    assert machine.shell("apply", "-f", file).code == 0


def test_all_addresses_of_a_container_are_one_owners(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    machine.lease("fd00:10:244::5", "c5")
    machine.lease("fd00_10_244__6", "c6")  # as host-local spells it where names have no colons
    pods = machine.pods(("web", ["10.244.1.5", "fd00:10:244::5"]), ("db", ["fd00:10:244::6"]))
    ran = machine.migrate("--pods", pods)
    assert (ran.code, ran.stderr) == (0, "")
    assert machine.handles() == {
        "10.244.1.5": handle("c5"),
        "fd00:10:244::5": handle("c5"),
        "fd00:10:244::6": handle("c6"),
    }
    expected = {"node": "node-1", "namespace": "default", "pod": "web"}
    assert machine.attributes("10.244.1.5") == machine.attributes("fd00:10:244::5") == expected
    assert machine.shell("ipam", "check").code == 0


def host_local(machine: HostLocalMachine, container: str) -> subprocess.Popen[bytes]:
    """The real plugin, called as a runtime does, gives the container an address of each family."""
    ranges = [[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:10:244::/64"}]]
    ipam = {"type": "host-local", "dataDir": str(machine.networks), "ranges": ranges}
    config = machine.shell.file("host-local.json", json.dumps({"cniVersion": "0.3.1", "name": NETWORK, "ipam": ipam}))
    asked = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": container, "CNI_NETNS": "/proc/self/ns/net"}
    asked |= {"CNI_IFNAME": "eth0", "CNI_PATH": "/usr/lib/cni"}
    with open(config, "rb") as stdin:
        return subprocess.Popen(["/usr/lib/cni/host-local"], env=asked, stdin=stdin, stdout=subprocess.PIPE)


def test_what_the_real_host_local_leaves_is_understood(machine: HostLocalMachine) -> None:
    given: dict[str, str] = {}
    for number in range(3):
        with host_local(machine, f"container{number}") as running:
            answer = json.loads(running.communicate()[0])
        given |= {entry["address"].partition("/")[0]: f"container{number}" for entry in answer["ips"]}
    assert len(given) == 6
    pods = [
        (f"pod-{number}", [ip for ip, owner in given.items() if owner == f"container{number}"]) for number in range(3)
    ]
    ran = machine.migrate("--pods", machine.pods(*pods))
    assert (ran.code, ran.stderr) == (0, "")
    assert "not understood" not in ran.stdout
    assert machine.handles() == {ip: handle(owner) for ip, owner in sorted(given.items(), key=_family_first)}


def _family_first(item: tuple[str, str]) -> tuple[bool, int]:
    return ":" in item[0], int(ip_address(item[0]))


def test_the_real_host_local_waits_for_the_lock_that_is_taken(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    lock = machine.data / "lock"
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        running = host_local(machine, "waiting")
        waiter = f"-> FLOCK  ADVISORY  WRITE {running.pid} "
        while waiter not in Path("/proc/locks").read_text():
            assert running.poll() is None, "host-local did not wait"
            time.sleep(0.01)
    with running:
        assert json.loads(running.communicate()[0])["ips"]


def test_pods_that_the_store_did_not_know_get_an_endpoint(machine: HostLocalMachine) -> None:
    """Without it those who clean up would take the address of a running pod for lost."""
    machine.lease("10.244.1.5", "c5")
    assert machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"]))).code == 0
    found = machine.shell("get", "workloadendpoints", "-n", "default", "-o", "json").json
    (document,) = found.get("items", [found])
    assert document["metadata"]["name"] == "node--1-k8s-web-eth0"
    assert document["metadata"]["labels"]["app"] == "web"
    assert document["spec"]["ipNetworks"] == ["10.244.1.5/32"]
    assert document["spec"]["containerID"] == "c5"
    assert document["spec"]["profiles"] == ["kns.default", "ksa.default.sa"]


def test_an_endpoint_in_the_store_is_proof_enough_and_stays_as_it_is(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    machine.lease("10.244.1.6", "", "")  # empty, but the endpoint knows the container
    endpoint(machine, "web", "10.244.1.5")
    endpoint(machine, "db", "10.244.1.6", container="c6")
    before = machine.shell.entries("/calico/resources/v3/projectcalico.org/workloadendpoints/")
    ran = machine.migrate("-o", "json")
    assert (ran.code, ran.stderr) == (0, "")
    assert [address["knownFrom"] for address in ran.json["addresses"]] == ["endpoint", "endpoint"]
    assert machine.handles() == {"10.244.1.5": handle("c5"), "10.244.1.6": handle("c6")}
    assert machine.shell.entries("/calico/resources/v3/projectcalico.org/workloadendpoints/") == before


def test_a_route_of_the_kernel_over_a_veth_is_proof_enough(machine: HostLocalMachine) -> None:
    for number in (5, 6, 7):
        machine.lease(f"10.244.1.{number}", f"c{number}")
    with Namespace("migrate") as host, Namespace("migrate") as pod:
        host.veth("cali0123456789a", pod, "eth0")
        host.ip("route", "add", "10.244.1.5/32", "dev", "cali0123456789a")
        host.dummy("dummy0")
        host.ip("route", "add", "10.244.1.6/32", "dev", "dummy0")
        host.ip("route", "add", "blackhole", "10.244.1.7/32")
        environment = [f"{name}={value}" for name, value in machine.shell.environment.items()]
        ran = host.run("env", "-i", *environment, COMMAND, "ipam", "migrate", *machine.words)
    assert machine.handles() == {"10.244.1.5": handle("c5")}
    assert machine.attributes("10.244.1.5") == {"node": "node-1"}
    assert "a pod behind cali0123456789a" in ran.stdout
    assert "no endpoint for 10.244.1.5: its name is not known" in ran.stdout


def test_pods_elsewhere_ended_or_in_the_hosts_network_are_no_proof(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    file = Path(machine.pods(("web", ["10.244.1.5"])))
    for change in ({"spec": {"nodeName": "other"}}, {"spec": {"hostNetwork": True}}, {"status": {"phase": "Failed"}}):
        listed = json.loads(file.read_text())
        for part, fields in change.items():
            listed["items"][0][part] |= fields
        other = machine.shell.file("other.json", json.dumps(listed))
        ran = machine.migrate("--pods", other, "--dry-run", "-o", "json")
        assert [address["result"] for address in ran.json["addresses"]] == ["stale"], change


def test_an_address_that_somebody_else_holds_by_now_is_told(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    assert machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"]))).code == 0
    machine.lease("10.244.1.5", "another")
    machine.lease("10.244.1.6", "c6")
    before = machine.everything()
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"]), ("db", ["10.244.1.6"])))
    assert_three_lines(ran, 1)
    assert "10.244.1.5 (default/web): resource already exists: Address already assigned in block" in ran.stderr
    assert f"it is held by {handle('c5')}" in ran.stderr
    assert machine.everything() == before


def test_a_block_of_another_node_is_borrowed_from_unless_nodes_keep_to_their_own(machine: HostLocalMachine) -> None:
    other = HostLocalMachine(machine.shell.folder / "other", "node-2", **machine.shell.variables)
    other.cluster()
    other.lease("10.244.1.5", "c5")
    assert other.migrate("--pods", other.pods(("web", ["10.244.1.5"]))).code == 0
    machine.lease("10.244.1.6", "c6")
    pods = machine.pods(("db", ["10.244.1.6"]))
    assert machine.shell("ipam", "configure", "--strictaffinity=true").code == 0
    ran = machine.migrate("--pods", pods)
    assert_three_lines(ran, 1)
    assert "Block host affinity does not match: 10.244.1.0/26 is node-2's" in ran.stderr
    assert machine.shell("ipam", "configure", "--strictaffinity=false").code == 0
    ran = machine.migrate("--pods", pods)
    assert ran.code == 0
    assert "adopted: borrowed from the block 10.244.1.0/26 of node-2" in ran.stdout


def test_a_dry_run_changes_nothing(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    machine.lease("10.244.1.6", "c6")
    before, files = machine.everything(), machine.files()
    ran = machine.migrate("--pods", machine.pods(("web", ["10.244.1.5"])), "--dry-run")
    assert ran.code == 0
    assert ran.stdout.splitlines()[1:3] == [
        "10.244.1.5  c5         default/web  to be adopted",
        "10.244.1.6  c6         nobody       not adopted: no pod is known to use it",
    ]
    assert ran.stdout.splitlines()[-1] == "dry run: nothing was changed"
    assert (machine.everything(), machine.files()) == (before, files)


def test_a_folder_without_addresses_goes_without_asking_anybody(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5").unlink()
    machine.shell.variables = {"ETCD_ENDPOINTS": "http://127.0.0.1:1"}
    ran = machine.migrate()
    assert (ran.code, ran.stderr) == (0, "")
    assert list(machine.networks.iterdir()) == []


def test_backups_never_replace_each_other(machine: HostLocalMachine) -> None:
    for number in (5, 6, 7):
        machine.lease(f"10.244.1.{number}", f"c{number}")
        assert machine.migrate().code == 0
    names = sorted(path.name for path in machine.networks.iterdir())
    assert names == [f"{NETWORK}.migrated", f"{NETWORK}.migrated.2", f"{NETWORK}.migrated.3"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--timeout", "soon"), "'soon' is no time"),
        (("--timeout", "0s"), "no time to wait"),
        (("--network", "../x"), "no network's name"),
        (("--pods", "/nowhere.json"), "cannot be read"),
        (("-o", "yaml"), "unrecognized output format"),
    ],
)
def test_words_that_cannot_be_meant(machine: HostLocalMachine, words: tuple[str, ...], what: str) -> None:
    machine.lease("10.244.1.5", "c5")
    ran = machine.migrate(*words)
    assert_three_lines(ran, 2)
    assert what in ran.stderr


def test_a_list_of_pods_that_is_none(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    for content in ("{", "[]", '{"items": 1}'):
        ran = machine.migrate("--pods", machine.shell.file("pods.json", content))
        assert_three_lines(ran, 2)
        assert "kubectl get pods -A -o json" in ran.stderr


class Meddled:
    """A store where something happens at each commit."""

    def __init__(self, store: Store, meddle: Callable[[Store, Callable[[], Awaitable[int]]], Awaitable[int]]) -> None:
        self._store = store
        self._meddle = meddle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, operations: Sequence[Operation], **options: Any) -> int:
        return await self._meddle(self._store, lambda: self._store.commit(operations, **options))


def meddling(meddle: Callable[[Store, Callable[[], Awaitable[int]]], Awaitable[int]]) -> Any:
    def opened(settings: Any, **options: Any) -> Any:
        return Meddled(open_store(settings, **options), meddle)

    return mock.patch("tortie.cli.ipam.migrate.open_store", opened)


def test_killed_at_any_write_nothing_is_lost_and_it_goes_on(tmp_path: Path) -> None:
    """Before and after each single commit, until none is left that could be cut off."""
    killed, step = 0, 0
    while step <= 2 * killed + 1:
        machine = HostLocalMachine(tmp_path / str(step))
        machine.cluster("10.244.0.0/16", status={"podCIDRs": ["10.244.1.0/24"]}, ipipMode="Always")
        for number in (5, 100):
            machine.lease(f"10.244.1.{number}", f"c{number}")
        pods = machine.pods(("web", ["10.244.1.5"]), ("db", ["10.244.1.100"]))
        before = machine.files()
        if run_until_killed(machine, pods, at=step // 2, after=step % 2 == 1):
            killed = step // 2 + 1
            assert machine.files() == before
        ran = machine.migrate("--pods", pods)
        assert (ran.code, ran.stderr) == (0, "")
        held = {"10.244.1.1": "ipip-tunnel-addr-node-1", "10.244.1.5": handle("c5"), "10.244.1.100": handle("c100")}
        assert machine.handles() == held
        assert machine.shell("ipam", "check").code == 0
        assert not machine.data.exists()
        step += 1
    assert killed >= 3  # addresses, endpoints, the tunnel's, the record


def run_until_killed(machine: HostLocalMachine, pods: str, *, at: int, after: bool) -> bool:
    """In a process of its own that ends at a commit as if by kill -9; False when it got through before."""
    count = 0

    async def meddle(_: Store, commit: Callable[[], Awaitable[int]]) -> int:
        nonlocal count
        count += 1
        if count > at and not after:
            os._exit(9)
        revision = await commit()
        if count > at:
            os._exit(9)
        return revision

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons dislike a fork beside other threads
        child = os.fork()
    if child == 0:
        try:
            with meddling(meddle):
                os._exit(machine.migrate("--pods", pods).code)
        finally:
            os._exit(70)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def test_what_comes_into_the_folder_meanwhile_is_not_moved_away_unseen(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    pods = machine.pods(("web", ["10.244.1.5"]), ("late", ["10.244.1.9"]))

    async def meddle(_: Store, commit: Callable[[], Awaitable[int]]) -> int:
        machine.lease("10.244.1.9", "c9")
        return await commit()

    with meddling(meddle):
        ran = machine.migrate("--pods", pods)
    assert_three_lines(ran, 1)
    assert f"{machine.data} changed meanwhile" in ran.stderr
    assert machine.migrate("--pods", pods).code == 0
    assert machine.handles() == {"10.244.1.5": handle("c5"), "10.244.1.9": handle("c9")}


def test_what_is_not_there_when_it_is_read_back_keeps_the_folder(machine: HostLocalMachine) -> None:
    machine.lease("10.244.1.5", "c5")
    endpoint(machine, "web", "10.244.1.5")

    async def meddle(store: Store, commit: Callable[[], Awaitable[int]]) -> int:
        await commit()
        blocks = await store.scan(BLOCKS)
        return await store.commit([Delete(entry.key) for entry in blocks.entries])

    with meddling(meddle):
        ran = machine.migrate()
    assert_three_lines(ran, 1)
    assert "1 addresses are not in the datastore as they were written; no file was touched" in ran.stderr
    assert (machine.data / "10.244.1.5").exists()
