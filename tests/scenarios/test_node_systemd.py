"""The agent and whoever runs it: systemd over a real socket, signals at any moment, hangs, limits, slow machines."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.support.agent import DEADLINE_S, NodeAgent
from tests.support.cli import Tortie, key_of, node
from tests.support.delay import Proxy
from tests.support.etcd_requests import requests_served, requests_since
from tests.support.etcd_server import EtcdServer, free_port, running_etcd
from tests.support.netns import Namespace

# What somebody who wants to see a hanging event loop puts on PYTHONPATH. The handler runs in the loop's own thread.
_HANGS_ON_SIGUSR1 = """
import os, signal, time
import tortie.node.agent

tortie.node.agent.LOOP_BOUND_S = {bound_s}

def hang(number, frame):
    while not os.path.exists({release!r}):
        time.sleep(0.01)

signal.signal(signal.SIGUSR1, hang)
"""


class Systemd:
    """The receiving end of NOTIFY_SOCKET: every datagram, as a tuple of its lines."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="tt-notify-")  # a socket's path must be short
        self.path = f"{self.folder}/notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self.heard: list[tuple[str, ...]] = []
        # As it comes, whatever the test waits for: the kernel keeps ten datagrams, and the agent does not wait.
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        while datagram := self._socket.recv(65536):
            self.heard.append(tuple(datagram.decode().splitlines()))

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as goodbye:
            goodbye.sendto(b"", self.path)
        self._listener.join()
        self._socket.close()
        shutil.rmtree(self.folder)

    @property
    def lines(self) -> list[str]:
        return [line for datagram in self.heard for line in datagram]

    def has(self, start: str, *, times: int = 1) -> Callable[[], bool]:
        return lambda: sum(line.startswith(start) for line in self.lines) >= times


@pytest.fixture
def systemd() -> Iterator[Systemd]:
    listener = Systemd()
    try:
        yield listener
    finally:
        listener.close()


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    with running_etcd() as server:
        yield server


def beside(folder: Path, etcd: str, *words: str, **variables: str) -> NodeAgent:
    """An agent in this network namespace: its address is given, its ports are free ones."""
    ports = {"FELIX_HEALTHPORT": str(free_port()), "FELIX_PROMETHEUSMETRICSPORT": str(free_port())}
    given = {"NODENAME": "n1", "IP": "10.99.0.1/24"} | variables
    return NodeAgent(folder, None, *words, ETCD_ENDPOINTS=etcd, **ports, **given)


def nowhere() -> str:
    return f"http://127.0.0.1:{free_port()}"


def outcome(agent: NodeAgent) -> str:
    """What the record says about the last start."""
    told: str = agent.command("timeline", "-o", "json").json["outcome"]
    return told


def wait_for(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.01)


def test_systemd_hears_of_a_start_that_takes_long_and_of_its_end(systemd: Systemd, tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    with beside(tmp_path / "node", server.endpoint, NOTIFY_SOCKET=systemd.path) as agent:
        agent.wait("the status", systemd.has("STATUS=starting, datastore"))
        agent.wait("more time", systemd.has("EXTEND_TIMEOUT_USEC=", times=2))
        assert server.endpoint in "".join(line for line in systemd.lines if line.startswith("STATUS="))
        assert "READY=1" not in systemd.lines
        try:
            server.start()
            agent.wait("READY=1", systemd.has("READY=1"))
            agent.wait_ready()
            agent.wait("the last status", lambda: systemd.lines[-1].startswith(("STATUS=node n1", "WATCHDOG=1")))
            assert agent.stop() == 0
        finally:
            server.stop()
    assert systemd.lines.count("READY=1") == 1
    assert systemd.lines.index("READY=1") < systemd.lines.index("STOPPING=1")
    assert not [line for line in systemd.lines[systemd.lines.index("STOPPING=1") :] if line.startswith("READY")]


def test_the_watchdog_is_fed_during_and_after_the_start(systemd: Systemd, etcd: EtcdServer, tmp_path: Path) -> None:
    variables = {"NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "4000000"}
    with beside(tmp_path, etcd.endpoint, **variables) as agent:
        agent.wait("READY=1", systemd.has("READY=1"))
        fed = systemd.lines.count("WATCHDOG=1")
        agent.wait("a fed watchdog", systemd.has("WATCHDOG=1", times=fed + 3))


def test_a_tight_watchdog_is_fed_more_often(systemd: Systemd, etcd: EtcdServer, tmp_path: Path) -> None:
    """systemd kills whoever is late. Beside a node with much time, one with little must be heard more often."""
    patient = Systemd()
    much = {"NOTIFY_SOCKET": patient.path, "WATCHDOG_USEC": "60000000"}
    little = {"NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "600000", "NODENAME": "n2", "IP": "10.99.0.2/24"}
    try:
        with (
            beside(tmp_path / "n1", etcd.endpoint, **much) as n1,
            beside(tmp_path / "n2", etcd.endpoint, **little) as n2,
        ):
            n1.wait("READY=1", patient.has("READY=1"))
            n2.wait("READY=1", systemd.has("READY=1"))
            before = patient.lines.count("WATCHDOG=1"), systemd.lines.count("WATCHDOG=1")
            n1.wait("a fed watchdog", patient.has("WATCHDOG=1", times=before[0] + 4))
            assert systemd.lines.count("WATCHDOG=1") - before[1] >= 2 * 3
    finally:
        patient.close()


def test_a_reload_is_told_from_its_begin_to_its_end(systemd: Systemd, etcd: EtcdServer, tmp_path: Path) -> None:
    with beside(tmp_path, etcd.endpoint, NOTIFY_SOCKET=systemd.path) as agent:
        agent.wait("READY=1", systemd.has("READY=1"))
        agent.signal(signal.SIGHUP)
        agent.wait("a second READY=1", systemd.has("READY=1", times=2))
        told = [datagram for datagram in systemd.heard if datagram[0] in ("READY=1", "RELOADING=1")]
        assert [datagram[0] for datagram in told] == ["READY=1", "RELOADING=1", "READY=1"]
        assert told[1][1].startswith("MONOTONIC_USEC=")


def test_a_reload_during_the_start_makes_nobody_believe_it_is_over(systemd: Systemd, tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    file = tmp_path / "node.env"
    file.write_text("CALICO_STARTUP_LOGLEVEL=info\n")
    with beside(tmp_path / "node", server.endpoint, "--env-file", str(file), NOTIFY_SOCKET=systemd.path) as agent:
        agent.wait("the datastore's turn", systemd.has("STATUS=starting, datastore"))
        agent.signal(signal.SIGHUP)
        agent.wait_log("Settings read again")
        told = len(systemd.heard)
        agent.wait("more news", lambda: len(systemd.heard) > told + 1)
        assert agent.ask("/readiness")[0] == 503
        assert "READY=1" not in systemd.lines
        try:
            server.start()
            agent.wait("READY=1", systemd.has("READY=1"))
        finally:
            server.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_at_any_moment_of_a_start_is_orderly(number: signal.Signals, tmp_path: Path) -> None:
    """From the first answer of the health port on; before that there is no agent yet, only an interpreter."""
    moments: tuple[tuple[str, Callable[[NodeAgent], bool]], ...] = (
        ("the first answer", lambda agent: agent.ask("/liveness")[0] != 0),
        ("the first line", lambda agent: agent.log != ""),
        ("the name", lambda agent: "Determined node name" in agent.log),
        ("the datastore", lambda agent: agent.health()["phase"]["name"] == "datastore"),
    )
    for index, (moment, has_come) in enumerate(moments):
        with beside(tmp_path / str(index), nowhere()) as agent:
            agent.wait(moment, lambda agent=agent, has_come=has_come: has_come(agent))
            agent.signal(number)
            assert agent.wait_end() == 0, f"at {moment}: {agent.log}"
        assert "Traceback" not in agent.log
        assert outcome(agent) == "stopped"


def test_a_stop_does_not_wait_for_a_datastore_that_hangs(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,  # takes connections and never answers
        beside(tmp_path, f"http://127.0.0.1:{mute.getsockname()[1]}") as agent,
    ):
        agent.wait("phase datastore", lambda: agent.health()["phase"]["name"] == "datastore")
        assert agent.health()["notReady"][0]["fault"] == "the datastore"
        assert agent.stop() == 0
    assert outcome(agent) == "stopped"


def test_a_hangup_at_the_first_moment_kills_nobody(etcd: EtcdServer, tmp_path: Path) -> None:
    """Whoever writes the environment file sends it, and cannot know how far the start is."""
    with beside(tmp_path, etcd.endpoint) as agent:
        agent.wait("the first answer", lambda: agent.ask("/liveness")[0] != 0)
        agent.signal(signal.SIGHUP)
        agent.wait_ready()


def test_a_hanging_event_loop_is_not_live_until_it_turns_again(
    systemd: Systemd, etcd: EtcdServer, tmp_path: Path
) -> None:
    release, code = tmp_path / "release", tmp_path / "code"
    code.mkdir()
    (code / "sitecustomize.py").write_text(_HANGS_ON_SIGUSR1.format(bound_s=2.5, release=str(release)))
    with beside(tmp_path / "node", etcd.endpoint, PYTHONPATH=str(code), NOTIFY_SOCKET=systemd.path) as agent:
        agent.wait_ready()
        fed = systemd.lines.count("WATCHDOG=1")
        agent.wait("the steady state", systemd.has("WATCHDOG=1", times=fed + 2))
        agent.signal(signal.SIGUSR1)
        agent.wait("a dead loop", lambda: agent.ask("/liveness")[0] == 503)
        told = len(systemd.heard)
        status, text = agent.ask("/liveness?verbose")
        assert status == 503
        assert "the event loop has not turned for" in text
        assert agent.ask("/readiness")[0] == 503
        assert agent.health()["live"] is False
        assert "tortie_node_live 0" in agent.metrics()
        assert 'tortie_node_not_ready_reason{name="event-loop",fault="this node"} 1' in agent.metrics()
        assert agent.command("check", "--live", "--port", agent.variables["FELIX_HEALTHPORT"]).code == 3
        assert len(systemd.heard) == told  # a watchdog that is fed by a loop that hangs would be none
        release.touch()
        agent.wait("a turning loop", lambda: agent.ask("/liveness")[0] in (200, 204))
        agent.wait("readiness", lambda: agent.ask("/readiness")[0] in (200, 204))
        agent.wait("the metric", lambda: "tortie_node_live 1" in agent.metrics())
        assert agent.stop() == 0


def test_being_stopped_for_a_while_is_no_hang_that_lasts(etcd: EtcdServer, tmp_path: Path) -> None:
    """A machine that was suspended: the first thing that is asked after it may be the health page."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "sitecustomize.py").write_text(_HANGS_ON_SIGUSR1.format(bound_s=2.5, release=str(code)))
    with beside(tmp_path / "node", etcd.endpoint, PYTHONPATH=str(code)) as agent:
        agent.wait_ready()
        os.kill(agent.pid, signal.SIGSTOP)
        until = time.monotonic() + 3.0
        wait_for("longer pause than the loop's bound", lambda: time.monotonic() > until)
        os.kill(agent.pid, signal.SIGCONT)
        agent.wait("life", lambda: agent.ask("/liveness")[0] in (200, 204))
        agent.wait_ready()


def test_a_hangup_while_the_node_waits_for_somebody_is_one_more_look_and_not_thousands(
    etcd: EtcdServer, tmp_path: Path
) -> None:
    store = Tortie(tmp_path, ETCD_ENDPOINTS=etcd.endpoint)
    store.put(key_of("nodes", "half"), b'{"kind":"Node","meta')
    with beside(tmp_path, etcd.endpoint, NODENAME="half", IP="10.99.7.7/24") as agent:
        agent.wait("the reason", lambda: "tortie delete node half" in agent.ask("/readiness?verbose")[1])
        agent.signal(signal.SIGHUP)
        agent.wait_log("Settings read again")
        before = requests_served(etcd.port)
        until = time.monotonic() + 1.0
        wait_for("second to pass", lambda: time.monotonic() > until)
        assert sum(requests_since(before, etcd.port).values()) < 30
        assert store.run("delete", "node", "half").code == 0
        agent.wait_ready()


def test_a_folder_where_the_name_should_be_is_told_and_waited_for(etcd: EtcdServer, tmp_path: Path) -> None:
    """A container runtime makes one where the file to be mounted is missing."""
    folder = tmp_path / "var/lib/calico/nodename"
    folder.mkdir(parents=True)
    with beside(tmp_path, etcd.endpoint) as agent:
        agent.wait("the remedy", lambda: f"rmdir {folder}" in agent.ask("/readiness?verbose")[1])
        assert agent.ask("/liveness")[0] in (200, 204)
        folder.rmdir()
        agent.wait_ready()
        assert folder.read_bytes() == b"n1"


def test_no_descriptors_left_is_no_end(tmp_path: Path) -> None:
    with Namespace("limit") as host, Namespace("router") as router:
        host.veth("eth0", router, "port0")
        host.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
            agent.wait_ready()
            resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (3, 1024))
            host.ip("addr", "add", "10.5.0.1/24", "dev", "eth0")
            agent.wait_log("Going on trying")  # neither the datastore nor the kernel can be asked
            resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (1024, 1024))
            agent.wait("the interface's second address", lambda: b"10.5.0.1" in _node(tmp_path))
            agent.wait_ready()
    assert "Traceback" not in agent.log


def _node(folder: Path) -> bytes:
    return Tortie(folder, TORTIE_STORE=str(folder / "store.db")).entries()[key_of("nodes", "n1")]


@contextmanager
def slowed(pid: int, share: float) -> Iterator[None]:
    """Lets a process run only so much of the time."""
    over = threading.Event()

    def cycle() -> None:
        while not over.is_set():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                over.wait(0.1 * (1 - share))
                os.kill(pid, signal.SIGCONT)
            time.sleep(0.1 * share)

    thread = threading.Thread(target=cycle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_very_slow_machine_is_live_all_the_time_and_becomes_ready(etcd: EtcdServer, tmp_path: Path) -> None:
    """Incident 1: a probe that kills a slow start makes it start for ever."""
    with beside(tmp_path, etcd.endpoint) as agent, slowed(agent.pid, 0.06):
        agent.wait("the first answer", lambda: agent.ask("/liveness")[0] != 0)
        seen: list[tuple[int, str]] = []

        def ready() -> bool:
            seen.append(agent.ask("/liveness?verbose"))
            return agent.ask("/readiness")[0] in (200, 204)

        agent.wait("readiness", ready)
        assert {status for status, _ in seen} == {200}
        assert "start-up is in phase" in seen[0][1]
        assert "tortie_node_ready 1" in agent.metrics()


def test_a_far_datastore_with_many_nodes_is_asked_a_few_times(etcd: EtcdServer, tmp_path: Path) -> None:
    """Incident 3: 53 nodes, 6 reads for each of them, and a probe that does not wait so long. etcd itself counts."""
    store = Tortie(tmp_path, ETCD_ENDPOINTS=etcd.endpoint)
    store.clear()
    for index in range(53):
        store.put(key_of("nodes", f"other-{index}"), node(f"other-{index}", f"10.98.0.{index + 1}/16"))
    with Proxy("127.0.0.1", etcd.port, round_trip_s=0.2) as proxy:
        before = requests_served(etcd.port)
        with beside(tmp_path / "node", proxy.endpoint) as agent:
            agent.wait_ready()
            asked = requests_since(before, etcd.port)
            told = agent.command("timeline", "-o", "json").json["roundTrips"]
    assert told <= sum(asked.values()) <= 8, asked
