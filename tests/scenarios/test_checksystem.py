"""`tortie node checksystem` on machines with something wrong: real namespaces, mounts, sockets and processes."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.cli import COMMAND
from tests.support.netns import Namespace

from tortie.cli.node.checksystem import FOLDERS
from tortie.host.loopback import Resolved, resolve

MEETS = "System meets minimum system requirements to run Calico!"
FAILS = "system doesn't meet one or more minimum systems requirements to run Calico"
EXIT_CODES = {"ok": 0, "warn": 4, "fail": 3}
LISTEN = """
import ctypes, socket, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
print("listens", flush=True)
sys.stdin.read()
"""


class Machine:
    """A network namespace with a root folder for the node's files; `prepare` is shell in a mount table of its own."""

    def __init__(self, namespace: Namespace, root: Path) -> None:
        self.namespace = namespace
        self.root = root
        self.prepare = ""

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self.root)} | variables
        script = f"set -e; {self.prepare or ':'}; exec " + shlex.join([str(COMMAND), "node", "checksystem", *words])
        assignments = [f"{name}={value}" for name, value in environment.items()]
        return self.namespace.run("unshare", "-m", "env", "-i", *assignments, "/bin/sh", "-c", script, check=False)

    def checks(self, **variables: str) -> Checks:
        done = self.run("-o", "json", "--root", str(self.root), **variables)
        assert done.stderr == ""
        body = json.loads(done.stdout)
        assert done.returncode == EXIT_CODES[body["result"]]
        return Checks({(check["group"], check["name"]): check for check in body["checks"]}, body["result"])

    def listen(self, name: str, port: int) -> int:
        process = self.namespace.popen(
            *(sys.executable, "-c", LISTEN, name, port), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout
        assert process.stdout.readline() == "listens\n"
        return process.pid

    def wait_for_listener(self, port: int) -> None:
        until = time.monotonic() + 30
        while not self.namespace.run("ss", "-Hltn", f"sport = :{port}").stdout:
            assert time.monotonic() < until, f"nobody listens on {port}"


class Checks(NamedTuple):
    by_name: dict[tuple[str, str], dict[str, str]]
    result: str

    def shows(self, group: str, name: str, result: str, *words: str) -> None:
        check = self.by_name[group, name]
        assert check["result"] == result, check
        for word in words:
            assert word in f"{check['seen']}\n{check['fix']}", check
        if result == "FAIL":
            assert self.result == "fail"
        if result == "WARN":
            assert self.result != "ok"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with Namespace("check") as namespace:
        yield Machine(namespace, tmp_path)


def test_every_check_is_made_and_nothing_is_left_behind(machine: Machine) -> None:
    checks = machine.checks()
    assert {group for group, _ in checks.by_name} == {
        "kernel",
        "kernel settings",
        "ports",
        "names and settings",
        "bird",
        "machine",
        "folders",
        "free space",
    }
    for check in checks.by_name.values():
        assert check["result"] in ("OK", "WARN", "FAIL", "SKIP")
        assert check["seen"]
        assert check["fix"] or check["result"] in ("OK", "SKIP")
    for folder in FOLDERS:
        checks.shows("folders", folder, "OK", "can be made")
    assert list(machine.root.iterdir()) == []
    assert [link["ifname"] for link in machine.namespace.json("link")] == ["lo"]


def test_the_table_fits_a_terminal_and_says_the_same(machine: Machine) -> None:
    machine.listen("weatherd", 9099)
    done = machine.run("--root", str(machine.root))
    lines = done.stdout.splitlines()
    assert done.returncode == 3
    assert lines[-1] == FAILS
    assert max(map(len, lines)) <= 80
    fixes = [line for line in lines if line.strip().startswith("fix: ")]
    verdicts = [line.split()[2:3] for line in lines if line.startswith("  9099 health")]
    assert verdicts == [["FAIL"]]
    assert any("FELIX_HEALTHPORT" in line for line in fixes + lines)
    assert {line.index("fix: ") for line in fixes} == {lines[1].index("OK") + 6}, "the fix stands below what was seen"


def test_warnings_alone_do_not_fail(machine: Machine) -> None:
    machine.listen("calico-felix", 9099)
    done = machine.run("--root", str(machine.root))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (4, MEETS)


def test_an_unknown_format_is_a_usage_error(machine: Machine) -> None:
    done = machine.run("-o", "xml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "xml" in done.stderr


def test_a_stranger_on_the_health_port_is_named(machine: Machine) -> None:
    pid = machine.listen("weatherd", 9099)
    machine.checks().shows("ports", "9099 health", "FAIL", f"weatherd (pid {pid}", "FELIX_HEALTHPORT")
    machine.checks(FELIX_HEALTHPORT="9199").shows("ports", "9199 health", "OK", "free")


def test_a_stranger_on_the_metrics_port_costs_only_the_metrics(machine: Machine) -> None:
    machine.listen("weatherd", 9091)
    machine.checks().shows("ports", "9091 metrics", "WARN", "weatherd", "FELIX_PROMETHEUSMETRICSPORT")
    off = machine.checks(FELIX_PROMETHEUSMETRICSENABLED="false")
    off.shows("ports", "9091 metrics", "OK", "not needed")


def test_felix_that_runs_already_is_recognised(machine: Machine) -> None:
    pid = machine.listen("calico-felix", 9099)
    machine.checks().shows("ports", "9099 health", "WARN", "a node already runs here", str(pid))


def test_our_own_agent_that_runs_already_is_recognised(machine: Machine) -> None:
    """Its health port is open from the first moment, long before it has a datastore."""
    agent = machine.namespace.popen(
        *(COMMAND, "node", "run", "--root", machine.root, "--store", machine.root / "store.db"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/sbin:/usr/bin:/bin", "NODENAME": "node-1", "LANG": "C.UTF-8"},
    )
    machine.wait_for_listener(9099)
    checks = machine.checks()
    assert agent.poll() is None, "the agent ended by itself"
    checks.shows("ports", "9099 health", "WARN", "a node already runs here", str(agent.pid))


@pytest.mark.parametrize(("folder", "result"), [("calico", "WARN"), ("frontier", "FAIL")])
def test_a_bird_on_the_bgp_port_is_told_from_the_hosts_own(machine: Machine, folder: str, result: str) -> None:
    own = machine.root / folder
    own.mkdir()
    (own / "bird.cfg").write_text(
        "router id 127.0.0.1;\nprotocol device {}\n"
        "protocol bgp trial { local 127.0.0.1 as 64512; neighbor 127.0.0.2 as 64512; multihop; passive; }\n"
    )
    bird = ("bird", "-f", "-c", own / "bird.cfg", "-s", own / "bird.ctl", "-P", own / "bird.pid")
    machine.namespace.popen(*bird, stderr=subprocess.DEVNULL)
    machine.wait_for_listener(179)
    machine.checks().shows("ports", "179 BGP", result, "bird (pid")
    machine.checks(CALICO_NETWORKING_BACKEND="vxlan").shows("ports", "179 BGP", "OK", "not needed")


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("127.0.0.1 somebody\n", ("resolves to nothing",)),
        ("192.0.2.7 localhost\n", ("192.0.2.7", "not this machine's loopback")),
        ("127.0.0.1 localhost\n192.0.2.7 localhost\n", ("192.0.2.7",)),
        ("::1 localhost\n", ("::1 only",)),
    ],
)
def test_localhost_that_is_somewhere_else(machine: Machine, hosts: str, words: tuple[str, ...]) -> None:
    machine.namespace.write_file("hosts", hosts)
    machine.namespace.write_file("nsswitch.conf", "hosts: files\n")
    machine.checks().shows("names and settings", "localhost", "FAIL", "127.0.0.1 localhost", *words)
    named = machine.checks(FELIX_HEALTHHOST="127.0.0.1")
    named.shows("names and settings", "localhost", "WARN", *words)


def test_a_name_service_that_is_silent_is_not_waited_for(machine: Machine) -> None:
    machine.namespace.write_file("nsswitch.conf", "hosts: dns\n")
    machine.namespace.write_file("resolv.conf", "nameserver 127.0.0.1\n")

    def ask() -> Resolved:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 53))
            return resolve("localhost", timeout_s=0.2)

    assert machine.namespace.call(ask) == Resolved((), "no answer within 0.2 s")


def test_a_loopback_that_is_down(machine: Machine) -> None:
    machine.checks().shows("names and settings", "lo", "OK")
    machine.namespace.ip("link", "set", "lo", "down")
    machine.checks().shows("names and settings", "lo", "FAIL", "lo is down", "ip link set lo up")


def test_a_loopback_without_its_address(machine: Machine) -> None:
    machine.namespace.ip("addr", "flush", "dev", "lo")
    machine.checks().shows("names and settings", "lo", "FAIL", "lo is up", "ip addr add 127.0.0.1/8 dev lo")


def test_forwarding_that_nobody_can_turn_on(machine: Machine) -> None:
    machine.prepare = "echo 0 > /proc/sys/net/ipv4/ip_forward"
    machine.checks().shows("kernel settings", "ip_forward", "WARN", "Felix sets it")
    machine.prepare += "; mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys"
    machine.checks().shows("kernel settings", "ip_forward", "FAIL", "read-only")
    machine.prepare = "echo 1 > /proc/sys/net/ipv4/ip_forward"
    machine.checks().shows("kernel settings", "ip_forward", "OK")


def test_ipv6_is_looked_at_when_it_is_wanted(machine: Machine) -> None:
    machine.prepare = "echo 0 > /proc/sys/net/ipv6/conf/all/forwarding"
    assert ("kernel settings", "ipv6 forwarding") not in machine.checks(IP6="none").by_name
    machine.checks(IP6="autodetect").shows("kernel settings", "ipv6 forwarding", "WARN", "net.ipv6.conf.all.forwarding")


def test_rp_filter_loose(machine: Machine) -> None:
    machine.prepare = "echo 2 > /proc/sys/net/ipv4/conf/all/rp_filter"
    machine.checks().shows("kernel settings", "rp_filter", "WARN", "all", "net.ipv4.conf.all.rp_filter=1")


def test_a_kernel_that_cannot_be_tried_is_judged_by_its_files_or_not_at_all(machine: Machine) -> None:
    """As in a container without privileges: root, but no namespaces."""
    tried = machine.checks()
    done = machine.namespace.run(
        *("unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"', "sh"),
        *(COMMAND, "node", "checksystem", "-o", "json", "--root", machine.root),
        check=False,
    )
    for check in json.loads(done.stdout)["checks"]:
        if check["group"] == "kernel" and check["name"] != "version":
            assert not check["seen"].startswith("tried"), check
            assert check["result"] in ("SKIP", tried.by_name["kernel", check["name"]]["result"]), check


def test_folders_on_a_read_only_file_system(machine: Machine) -> None:
    (machine.root / "var" / "lib" / "calico").mkdir(parents=True)
    root = shlex.quote(str(machine.root))
    machine.prepare = f"mount --bind {root} {root}; mount -o remount,bind,ro {root}"
    checks = machine.checks()
    checks.shows("folders", "/var/lib/calico", "FAIL", "read-only file system", "remount,rw")
    checks.shows("folders", "/var/lib/tortie", "FAIL", "is not there", "read-only file system")


def test_a_file_where_a_folder_should_be(machine: Machine) -> None:
    (machine.root / "run").write_text("")
    machine.checks().shows("folders", "/run/tortie", "FAIL", "not a folder", f"move the file {machine.root}/run away")


def test_a_file_system_that_is_small_or_full(machine: Machine) -> None:
    run = machine.root / "run"
    run.mkdir()
    machine.prepare = f"mount -t tmpfs -o size=1m tmpfs {shlex.quote(str(run))}"
    checks = machine.checks()
    checks.shows("folders", "/run/tortie", "OK")
    checks.shows("free space", "/run/tortie", "WARN", "1 MB", "at least 10 MB")
    machine.prepare += f"; head -c 1048576 /dev/zero > {shlex.quote(str(run / 'full'))}"
    machine.checks().shows("folders", "/run/tortie", "FAIL", "No space left")


def in_place_of(path: str, replacement: Path) -> str:
    return f"mount --bind {shlex.quote(str(replacement))} {path}"


def test_swap_that_came_back_after_a_reboot(machine: Machine) -> None:
    swaps = machine.root / "swaps"
    swaps.write_text("Filename\t\tType\t\tSize\tUsed\tPriority\n/dev/sda3    partition\t4194300\t0\t-2\n")
    machine.prepare = in_place_of("/proc/swaps", swaps)
    machine.checks().shows("machine", "swap", "WARN", "/dev/sda3", "kubelet", "systemctl mask 'dev-sda3.swap'")


def test_an_overloaded_machine(machine: Machine) -> None:
    (machine.root / "loadavg").write_text(f"{40 * (os.cpu_count() or 1)}.00 5.00 1.00 3/400 12345\n")
    machine.prepare = in_place_of("/proc/loadavg", machine.root / "loadavg")
    machine.checks().shows("machine", "load", "WARN", "liveness")


def test_a_clock_that_was_set_back(machine: Machine) -> None:
    nodename = machine.root / "var" / "lib" / "calico" / "nodename"
    nodename.parent.mkdir(parents=True)
    nodename.write_text("node-1")
    machine.checks().shows("machine", "date", "OK")
    os.utime(nodename, (time.time() + 86400, time.time() + 86400))
    machine.checks().shows("machine", "date", "WARN", str(nodename), "set back")


def test_the_name_of_the_node(machine: Machine) -> None:
    machine.checks(NODENAME="node-1").shows("names and settings", "nodename", "OK", "node-1 (from NODENAME)")
    machine.checks(NODENAME="Node_1").shows("names and settings", "nodename", "FAIL", "Node_1", "NODENAME")


def test_settings_that_a_start_would_refuse(machine: Machine) -> None:
    machine.checks().shows("names and settings", "settings", "OK")
    wrong = machine.checks(IP_AUTODETECTION_METHOD="inteface=eth0", AS="many")
    wrong.shows("names and settings", "settings", "FAIL", "inteface=eth0", "interface=eth0", "AS=many")


def test_bird_installed_old_or_missing(machine: Machine) -> None:
    machine.checks().shows("bird", "version", "OK", "2.")
    path = machine.namespace.run("sh", "-c", "PATH=$PATH:/usr/sbin command -v bird").stdout.strip()
    old = machine.root / "bird"
    old.write_text("#!/bin/sh\necho BIRD version 1.6.8 >&2\n")
    old.chmod(0o755)
    machine.prepare = in_place_of(path, old)
    machine.checks().shows("bird", "version", "WARN", "1.6.8")
    machine.prepare = in_place_of(path, Path("/dev/null"))
    machine.checks().shows("bird", "version", "FAIL", "apt-get install bird2")
    machine.checks(CALICO_NETWORKING_BACKEND="none").shows("bird", "version", "OK", "not installed")
