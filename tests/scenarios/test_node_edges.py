"""A node in odd places: bad files, taken ports, a second agent, signals at the first moment."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import COMMAND, Tortie, key_of
from tests.support.etcd_server import free_port
from tests.support.netns import Namespace, host_and_router


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    with host_and_router("edge") as (machine, _):
        yield machine


def test_a_nodename_file_that_cannot_be_read_matters_only_without_nodename(host: Namespace, tmp_path: Path) -> None:
    file = tmp_path / "var/lib/calico/nodename"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff\xfe")
    with NodeAgent(tmp_path, host, HOSTNAME="h1") as agent:
        agent.wait("the reason", lambda: str(file) in agent.ask("/readiness?verbose")[1])
        assert agent.ask("/liveness")[0] in (200, 204)
        file.write_bytes(b"n7")
        agent.wait_ready()
        assert agent.stop() == 0
    file.write_bytes(b"\xff\xfe")
    with NodeAgent(tmp_path, host, NODENAME="n7") as agent:
        agent.wait_ready()
    assert file.read_bytes() == b"n7"


def test_an_own_record_of_an_odd_build_is_no_registration(host: Namespace, tmp_path: Path) -> None:
    agent = NodeAgent(tmp_path, host, NODENAME="n1")
    store = Tortie(tmp_path, TORTIE_STORE=agent.variables["TORTIE_STORE"])
    odd = {"kind": "Node", "metadata": {"name": "n1"}, "spec": {"bgp": "x"}}
    store.put(key_of("nodes", "n1"), odd)
    explained = agent.command("explain", "-o", "json")
    assert (explained.code, explained.json["verdict"]) == (3, "blocked")
    with agent:
        agent.wait("the reason", lambda: "spec.bgp is not an object" in agent.ask("/readiness?verbose")[1])
        store.put(key_of("nodes", "n1"), {**odd, "spec": {"bgp": None}})
        agent.wait_ready()
        assert b"10.0.0.1/24" in store.entries()[key_of("nodes", "n1")]


def test_a_second_agent_for_the_same_root_waits_for_the_first(host: Namespace, tmp_path: Path) -> None:
    ports = {"FELIX_HEALTHPORT": "9199", "FELIX_PROMETHEUSMETRICSPORT": "9191"}
    with NodeAgent(tmp_path, host, NODENAME="n1") as first:
        first.wait_ready()
        with NodeAgent(tmp_path, host, NODENAME="n1", **ports) as second:
            second.wait("the reason", lambda: f"process {first.pid} holds" in second.ask("/readiness?verbose")[1])
            assert second.ask("/liveness")[0] in (200, 204)
            assert first.stop() == 0
            second.wait_ready()


def test_a_node_whose_probes_a_stranger_answers_is_not_ready(host: Namespace, tmp_path: Path) -> None:
    stranger = host.popen("python3", "-m", "http.server", "9099", "--bind", "127.0.0.1", stderr=subprocess.DEVNULL)
    listens = "import socket; socket.create_connection(('127.0.0.1', 9099)).close()"
    deadline = time.monotonic() + 30
    while host.run("python3", "-c", listens, check=False).returncode != 0:
        assert time.monotonic() < deadline, "the stranger does not listen"
    with NodeAgent(tmp_path, host, NODENAME="n1") as agent:
        agent.wait_log("Calico node started successfully")
        agent.wait("the metric", lambda: 'tortie_node_not_ready_reason{name="health-page"' in agent.metrics())
        assert str(stranger.pid) in agent.log
        explained = agent.command("explain")
        assert explained.code == 3
        assert "held by" in explained.stdout
        stranger.kill()
        stranger.wait()
        agent.wait_ready()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_start_may_be_stopped_at_any_moment(host: Namespace, tmp_path: Path, number: signal.Signals) -> None:
    """From the first line of ours on; before that the interpreter itself is loading, and nothing has begun."""
    for delay_ms in range(60, 400, 40):
        agent = NodeAgent(tmp_path / str(delay_ms), host, NODENAME="n1")
        agent.start()
        time.sleep(delay_ms / 1000)
        agent.signal(number)
        code = agent.wait_end()
        if "Early log level" in agent.log:  # before that the interpreter may still be loading itself
            assert code == 0, agent.log
        assert "tortie/cli" not in agent.log, "no traceback through code of ours"


def test_what_stands_in_the_way_on_this_machine_is_part_of_the_explanation(host: Namespace, tmp_path: Path) -> None:
    blocked = tmp_path / "var"
    blocked.write_text("a file where a folder should be")
    agent = NodeAgent(tmp_path, host, NODENAME="n1")
    explained = agent.command("explain", "-o", "json")
    assert (explained.code, explained.json["verdict"]) == (3, "blocked")
    assert any("/var/lib/calico cannot be written" in each for each in explained.json["blocked"])


def test_a_machine_in_the_first_range_of_all_is_no_reason_against_a_random_pool(
    host: Namespace, tmp_path: Path
) -> None:
    host.ip("addr", "add", "fd00::2/64", "dev", "eth0", "nodad")
    try:
        explained = NodeAgent(tmp_path, host, NODENAME="n1").command("explain", "-o", "json")
    finally:
        host.ip("addr", "del", "fd00::2/64", "dev", "eth0")
    pool = next(each for each in explained.json["pools"] if each["family"] == 6)
    assert (explained.code, pool["random"], pool["rejected"]) == (0, True, []), explained


def test_no_password_of_a_url_is_shown_and_everything_wrong_is_told_together(host: Namespace, tmp_path: Path) -> None:
    secret = NodeAgent(tmp_path, host, NODENAME="n1", ETCD_ENDPOINTS="http://user:s3cret@127.0.0.1:1")
    for form in ("text", "json"):
        told = secret.command("explain", "-o", form)
        assert "s3cret" not in told.stdout + told.stderr
    wrong = NodeAgent(
        tmp_path, host, ETCD_ENDPOINTS="foo", IP="bar", AS="x", NODENAME="Upper", WAIT_FOR_DATASTORE="yes"
    )
    told = wrong.command("explain")
    assert told.code == 2
    for part in ("foo", "IP=bar", "AS=x", "Upper"):
        assert part in told.stdout
    with wrong:
        assert wrong.wait_end() == 2
    for part in ("foo", "IP=bar", "AS=x", "Upper", "WAIT_FOR_DATASTORE=yes"):
        assert part in wrong.log


def test_a_probe_with_nowhere_to_write_ends_like_every_command() -> None:
    port = free_port()
    with open("/dev/full", "w") as full:
        command = [str(COMMAND), "node", "check", "--port", str(port)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
