"""`tortie node status` and the real BIRD: what is shown, what is said when BIRD cannot be asked, and the exit code."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.birds import Bird, eventually, running
from tests.support.cli import COMMAND, Ran
from tests.support.netns import Namespace

NOBODY = 65534
CONVERGENCE_S = 60.0


def configuration(own: str, *protocols: str) -> str:
    lines = [
        f"router id {own};",
        'timeformat protocol "%Y-%m-%dT%H:%M:%S";',
        "protocol device {}",
        *protocols,
    ]
    return "\n".join(lines) + "\n"


def session(name: str, own: str, peer: str, family: int = 4, options: str = "") -> str:
    timers = "connect delay time 1; connect retry time 1; error wait time 1,2;"
    neighbour = f"local {own} as 64512; neighbor {peer} as 64512 {options};"
    return f"protocol bgp {name} {{ {neighbour} {timers} ipv{family} {{ import none; export none; }}; }}"


class Machine:
    """A network namespace with a folder for the node's files."""

    def __init__(self, namespace: Namespace, root: Path) -> None:
        self.namespace = namespace
        self.root = root

    def status(self, *words: str, user: int = 0, **variables: str) -> Ran:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"} | variables
        done = subprocess.run(
            [
                *("ip", "netns", "exec", self.namespace.name),
                *("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"),
                *(str(COMMAND), "node", "status", "--root", str(self.root), *words),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextlib.contextmanager
    def bird(self, *protocols: str, folder: str = "var/run/calico", own: str = "10.0.0.1") -> Iterator[Bird]:
        place = self.root / folder
        place.parent.mkdir(parents=True, exist_ok=True)
        with running(self.namespace, place, configuration(own, *protocols)) as bird:
            yield bird

    def felix(self, words: tuple[str, ...] = ("calico-felix",)) -> subprocess.Popen[str]:
        """Something that looks like Calico's own process: any program that waits, with that command line."""
        (self.root / "elix").write_text(
            "x\n"
        )  # `grep -felix` takes its patterns from this file, and then waits for its input
        name, *arguments = words
        script = f"exec -a {name} grep {' '.join(arguments) or 'x'}"
        process = self.namespace.popen("bash", "-c", script, cwd=self.root, stdin=subprocess.PIPE)
        eventually(
            lambda: Path(f"/proc/{process.pid}/cmdline").read_text().startswith(name), f"{name} runs", CONVERGENCE_S
        )
        return process


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Not below pytest's own folder, into which nobody but root may look."""
    root = Path(tempfile.mkdtemp(prefix="tt-status-"))
    root.chmod(0o755)
    try:
        with Namespace("status") as namespace:
            namespace.ip("addr", "add", "10.0.0.1/24", "dev", "lo")
            yield Machine(namespace, root)
    finally:
        shutil.rmtree(root)


@contextlib.contextmanager
def mesh_of_two(machine: Machine) -> Iterator[tuple[Bird, Bird]]:
    """Both families, and one session on a port of its own."""
    with Namespace("peer") as peer, tempfile.TemporaryDirectory() as folder:
        machine.namespace.veth("eth0", peer, "eth0")
        machine.namespace.ip("addr", "del", "10.0.0.1/24", "dev", "lo")
        for namespace, number in ((machine.namespace, 1), (peer, 2)):
            namespace.ip("addr", "add", f"10.0.0.{number}/24", "dev", "eth0")
            namespace.ip("addr", "add", f"fd00::{number}/64", "dev", "eth0", "nodad")
        ours = [session("Mesh_10_0_0_2", "10.0.0.1", "10.0.0.2"), session("Mesh_fd00__2", "fd00::1", "fd00::2", 6)]
        theirs = [session("Mesh_10_0_0_1", "10.0.0.2", "10.0.0.1"), session("Mesh_fd00__1", "fd00::2", "fd00::1", 6)]
        with (
            machine.bird(*ours) as bird,
            running(peer, Path(folder, "bird"), configuration("10.0.0.2", *theirs)) as other,
        ):
            eventually(
                lambda: bird.established() and other.established(), "all sessions are established", CONVERGENCE_S
            )
            yield bird, other


def test_established(machine: Machine) -> None:
    machine.felix()
    with mesh_of_two(machine) as (bird, other):
        ran = machine.status()
        assert (ran.code, ran.stderr) == (0, "")
        lines = ran.stdout.splitlines()
        assert lines[:3] == ["Calico process is running.", "", "IPv4 BGP status"]
        assert lines[4] == "| PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO        |"
        assert lines[6].startswith("| 10.0.0.2     | node-to-node mesh | up    | ")
        assert lines[6].endswith(" | Established |")
        assert "\nIPv6 BGP status\n" in ran.stdout
        assert "| fd00::2      | node-to-node mesh | up " in ran.stdout
        body = machine.status("-o", "json").json
        assert body["healthy"] is True
        assert body["bird"]["status"]["version"].startswith("2.")
        assert [each["established"] for each in body["ipv4"] + body["ipv6"]] == [True, True]
        other.stop()
        eventually(lambda: not bird.established(), "the loss is noticed", CONVERGENCE_S)
        assert machine.status().code == 3


def test_not_established(machine: Machine) -> None:
    machine.felix()
    refused = session("Global_10_0_0_1_port_1790", "10.0.0.9", "10.0.0.1", options="port 1790")
    machine.namespace.ip("addr", "add", "10.0.0.9/24", "dev", "lo")
    with machine.bird(refused, session("Node_10_0_0_7", "10.0.0.9", "10.0.0.7"), own="10.0.0.9") as bird:
        eventually(lambda: "refused" in str(bird.states()), "somebody has refused", CONVERGENCE_S)
        ran = machine.status()
        assert ran.code == 3
        assert "| 10.0.0.1:1790 | global        | start | " in ran.stdout
        assert "Socket: Connection refused |" in ran.stdout
        assert "| 10.0.0.7      | node specific | start | " in ran.stdout
        assert machine.status("-o", "json").json["healthy"] is False


def test_no_socket_anywhere(machine: Machine) -> None:
    machine.felix()
    ran = machine.status()
    assert ran.code == 1
    assert "The BGP backend process (BIRD) is not running." in ran.stdout
    for path in ("var/run/calico/bird.ctl", "var/run/bird/bird.ctl", "run/bird/bird.ctl"):
        assert str(machine.root / path) in ran.stdout
    body = machine.status("-o", "json").json
    assert (body["healthy"], body["bird"]["answers"]) == (False, False)
    assert body["bird"]["error"]["fix"]


def test_neither_process_nor_bird(machine: Machine) -> None:
    ran = machine.status()
    assert ran.code == 1
    assert ran.stdout.startswith("Calico process is not running.\n")
    assert "BIRD" not in ran.stdout


def test_a_socket_that_bird_left_behind(machine: Machine) -> None:
    machine.felix()
    with machine.bird():
        pass
    ran = machine.status()
    assert ran.code == 1
    assert (
        f"Error querying BIRD: unable to connect to BIRDv4 socket: dial unix {machine.root}/var/run/calico"
        in ran.stdout
    )
    assert "connection refused" in ran.stdout


def test_a_bird_that_somebody_stopped(machine: Machine) -> None:
    machine.felix()
    with machine.bird() as bird:
        (pid,) = (int(pid) for pid in machine.namespace.run("pidof", "bird").stdout.split() if _in(machine, int(pid)))
        os.kill(pid, signal.SIGSTOP)
        try:
            ran = machine.status()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert ran.code == 1
        assert "i/o timeout" in ran.stdout
        assert "show status" in ran.stdout
        assert bird.ask("show", "status")


def _in(machine: Machine, pid: int) -> bool:
    return (
        str(pid)
        in subprocess.run(
            ["ip", "netns", "pids", machine.namespace.name], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_without_root_where_the_socket_allows_it_and_where_it_does_not(machine: Machine) -> None:
    """The agent is known by its lock file: which programs of root run where is root's secret."""
    agent = machine.felix(("tortie-node", "-felix"))
    (machine.root / "run/tortie").mkdir(parents=True)
    (machine.root / "run/tortie/node.lock").write_text(f"{agent.pid}\n")
    with machine.bird(session("Mesh_10_0_0_7", "10.0.0.1", "10.0.0.7")):
        socket = machine.root / "var/run/calico/bird.ctl"
        socket.chmod(0o660)
        refused = machine.status(user=NOBODY)
        assert refused.code == 1
        assert f"dial unix {socket}: connect: permission denied" in refused.stdout
        assert "this user may not talk to BIRD" in refused.stdout
        assert "fix: ask as root" in refused.stdout
        socket.chmod(0o666)
        allowed = machine.status(user=NOBODY)
        assert allowed.code == 3
        assert "| 10.0.0.7     | node-to-node mesh | start |" in allowed.stdout
        socket.parent.chmod(0o700)
        assert "permission denied" in machine.status(user=NOBODY).stdout


def test_a_folder_that_is_closed_to_this_user(machine: Machine) -> None:
    """Nothing can be seen there, which is not the same as that nothing runs."""
    (machine.root / "run/tortie").mkdir(parents=True)
    closed = [machine.root, machine.root / "run/tortie"]
    for folder in closed:
        folder.chmod(0o700)
        ran = machine.status(user=NOBODY)
        assert ran.code == 1
        assert ran.stdout.startswith("Whether the Calico process runs cannot be seen.\n")
        assert "permission denied\n  fix: run this as root\n" in ran.stdout
        assert machine.status("-o", "json", user=NOBODY).json["process"]["running"] is None
        assert machine.status().stdout.startswith("Calico process is not running.\n")
        folder.chmod(0o755)


@pytest.mark.parametrize("folder", ["run/bird", "var/run/bird"])
def test_a_bird_that_is_none_of_ours(machine: Machine, folder: str) -> None:
    machine.felix()
    (machine.root / folder).parent.mkdir(parents=True, exist_ok=True)
    with machine.bird(session("uplink", "10.0.0.1", "10.0.0.254"), folder=folder):
        ran = machine.status()
        assert ran.code == 1
        assert f"the BIRD at {machine.root}/{folder}/bird.ctl has no session of a node, but 1 of its own" in ran.stdout
        assert "No IPv4 peers found." in ran.stdout
        assert machine.status("-o", "json").json["bird"]["otherSessions"] == ["uplink"]


def test_calicos_second_bird_for_ipv6_is_asked_as_well(machine: Machine) -> None:
    machine.felix()
    with (
        machine.bird(session("Mesh_10_0_0_7", "10.0.0.1", "10.0.0.7")) as bird,
        machine.bird(session("Mesh_fd00__7", "fd00::1", "fd00::7", 6), folder="other") as other,
    ):
        (machine.root / "var/run/calico/bird6.ctl").symlink_to(machine.root / "other/bird.ctl")
        assert bird.states()
        assert other.states()
        text = machine.status().stdout
        ipv4, ipv6 = text.split("IPv6 BGP status")
        assert "| 10.0.0.7 " in ipv4
        assert "| fd00::7 " in ipv6


@pytest.mark.parametrize("words", [("calico-felix",), ("calico-node", "-felix")], ids=" ".join)
def test_calicos_own_process_counts_where_it_runs(machine: Machine, words: tuple[str, ...]) -> None:
    with Namespace("elsewhere") as elsewhere:
        Machine(elsewhere, machine.root).felix(words)
        assert machine.status().stdout.startswith("Calico process is not running.")
        process = machine.felix(words)
        assert machine.status().stdout.startswith("Calico process is running.")
        told = machine.status("-o", "json").json["process"]
        assert told == {"running": True, "program": "calico-node", "pid": process.pid}


def test_bird_without_the_process(machine: Machine) -> None:
    with machine.bird(session("Mesh_10_0_0_7", "10.0.0.1", "10.0.0.7")):
        ran = machine.status()
        assert ran.code == 1
        assert ran.stdout.startswith("Calico process is not running.")
        assert "runs without it, and nobody corrects what it does" in ran.stdout
        assert "| 10.0.0.7 " in ran.stdout


def test_something_else_behind_the_socket(machine: Machine) -> None:
    """A program that is no BIRD, and never says so."""
    machine.felix()
    socket = machine.root / "var/run/calico/bird.ctl"
    socket.parent.mkdir(parents=True)
    script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); kept = []\n"
    script += "while True: kept.append(s.accept()[0]); kept[-1].sendall(b'220 mail.example.com ESMTP\\r\\n')"
    machine.namespace.popen("python3", "-c", script, socket)
    eventually(lambda: "mail.example.com" in machine.status().stdout, "it answers", CONVERGENCE_S)
    ran = machine.status()
    assert ran.code == 1
    assert "unexpected output line from BIRD" in ran.stdout


def test_two_agents_and_what_they_report(machine: Machine) -> None:
    """The whole of it: what the agent adds to BIRD's words, and the matrix of who sees whom."""
    with Namespace("other") as other:
        machine.namespace.ip("addr", "del", "10.0.0.1/24", "dev", "lo")
        machine.namespace.veth("eth0", other, "eth0")
        agents = []
        for number, namespace in ((1, machine.namespace), (2, other)):
            namespace.ip("addr", "add", f"10.0.0.{number}/24", "dev", "eth0")
            settings = {"NODENAME": f"node-{number}", "CALICO_IPV4POOL_IPIP": "Never"}
            store = str(machine.root / "store.db")
            agents.append(NodeAgent(machine.root / f"node-{number}", namespace, TORTIE_STORE=store, **settings))
        with agents[0] as first, agents[1] as second:
            first.wait_ready()
            second.wait_ready()
            eventually(lambda: first.command("status").code == 0, "all is established", CONVERGENCE_S)
            eventually(lambda: first.command("status", "--cluster").code == 0, "both have reported", CONVERGENCE_S)
            assert first.command("status", "--cluster").stdout == (
                "IPv4: the session between 2 nodes is up.\n"
                "\n"
                "        node-1  node-2\n"
                "node-1  .       up\n"
                "node-2  up      .\n"
            )
            assert first.command("status", "-o", "json").json["ipv4"][0]["node"] == "node-2"
            secondhand = Machine(machine.namespace, machine.root / "node-1").status(user=NOBODY)
            assert secondhand.code == 0, secondhand
            assert "bird.ctl is closed to this user; this is what the agent saw last" in secondhand.stdout
            assert "| 10.0.0.2     | node-to-node mesh | up    | " in secondhand.stdout
            machine.namespace.ip("link", "set", "eth0", "down")
            eventually(lambda: first.command("status").code == 3, "the link is missed", CONVERGENCE_S)
            homeless = first.command("status", "-o", "json").json
            assert (homeless["healthy"], homeless["agent"]["ready"]) == (False, False)
            assert "The node is not ready:" in first.command("status").stdout
            machine.namespace.ip("link", "set", "eth0", "up")
            eventually(lambda: first.command("status").code == 0, "all is well again", 2 * CONVERGENCE_S)
            second.kill()
            eventually(lambda: first.command("status").code == 3, "the loss is noticed", CONVERGENCE_S)
            told = first.command("status").stdout
            assert "10.0.0.2 (node-2) is not established for " in told
            assert "the fault seems to lie with" in told
            eventually(lambda: first.command("status", "--cluster").code == 3, "the loss is reported", CONVERGENCE_S)
            body = first.command("status", "--cluster", "-o", "json").json
            assert [odd["name"] for odd in body["families"][0]["odd"]] == ["node-2"]
            assert second.command("status").stdout.startswith("Calico process is not running.")
