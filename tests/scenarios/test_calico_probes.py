"""Probes of Calico's manifests on a real node: while it is ready, while BIRD is gone, while a peer or the agent is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Ran, Tortie, key_of, node
from tests.support.netns import Namespace, host_and_router

pytestmark = pytest.mark.timeout(180)

NOT_READY = "calico/node is not ready: "
LIVENESS, READINESS = ("-felix-live", "-bird-live"), ("-felix-ready", "-bird-ready")
IMPATIENT = ("-threshold-time", "1s")


@pytest.fixture
def host() -> Iterator[Namespace]:
    with host_and_router("probes") as (machine, _):
        yield machine


class Probed:
    """`calico-node` and the agent that it asks."""

    def __init__(self, folder: Path, host: Namespace) -> None:
        self.agent = NodeAgent(folder, host, NODENAME="n1", TORTIE_ROOT=str(folder))
        self._host = host
        made = Tortie(folder).run("node", "entrypoints", "--root", str(folder))
        assert made.code == 0, made
        self._program = folder / "usr/bin/calico-node"

    def __call__(self, *words: str) -> Ran:
        done = subprocess.run(
            ["ip", "netns", "exec", self._host.name, str(self._program), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.agent.environment,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def bird(self) -> int:
        """BIRD's pid, by its configuration: other tests may run others."""
        wanted = str(self.agent.folder / "etc/calico/confd/config/bird.cfg")
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    words = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace").split("\0")
                except OSError:
                    continue
                if wanted in words and words[0].endswith("bird"):
                    return int(name)
        return 0

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < deadline, f"no {what}; the log says:\n{self.agent.log}"
            time.sleep(0.05)


def test_a_node_that_is_ready_and_then_loses_bird_and_the_agent(host: Namespace, tmp_path: Path) -> None:
    probed = Probed(tmp_path, host)
    with probed.agent as agent:
        agent.wait_ready()
        for words in (LIVENESS, READINESS, ("-bird6-live", "-bird6-ready"), (*LIVENESS, *READINESS)):
            assert probed(*words) == (0, "", "")
        shown = probed("-show-status")
        assert (shown.code, shown.stdout.splitlines()[0]) == (0, "Calico process is running.")
        assert probed("-startup") == (0, "Tortie: -startup is part of the agent, which runs\n", "")

        # BIRD is killed, and nobody starts it again for a moment.
        agent.signal(signal.SIGSTOP)
        os.kill(probed.bird, signal.SIGKILL)
        probed.wait("BIRD's end", lambda: probed("-bird-live").code == 1)
        gone = probed("-bird-live")
        assert (gone.code, gone.stderr) == (1, "")
        assert gone.stdout.startswith(f"{NOT_READY}bird/confd is not live: exit status 1\n")
        # An agent that hangs is told of within the time that is given.
        hangs = probed("-felix-live", *IMPATIENT)
        assert hangs.code == 1
        assert hangs.stdout.startswith(f'{NOT_READY}Felix is not live: Get "http://localhost:9099/liveness": context')
        agent.signal(signal.SIGCONT)
        probed.wait("BIRD", lambda: probed(*LIVENESS, *READINESS) == (0, "", ""))

        agent.kill()
        dead = probed(*LIVENESS, *READINESS)
        assert (dead.code, dead.stderr) == (1, "")
        refused = "dial tcp 127.0.0.1:9099: connect: connection refused"
        for said in (
            f'Felix is not live: Get "http://localhost:9099/liveness": {refused}',
            f'felix is not ready: Get "http://localhost:9099/readiness": {refused}',
            f'BIRD is not ready: Get "http://localhost:9099/readiness": {refused}',
        ):
            assert f"{NOT_READY}{said}\n" in dead.stdout
        assert probed("-show-status").code == 1
        assert probed("-startup").code == 1


def test_a_peer_that_is_not_there_is_birds_affair(host: Namespace, tmp_path: Path) -> None:
    probed = Probed(tmp_path, host)
    store = Tortie(tmp_path, TORTIE_STORE=probed.agent.variables["TORTIE_STORE"])
    store.put(key_of("nodes", "n2"), node("n2", "10.0.0.2/24"))
    with probed.agent:
        headline = f"{NOT_READY}BIRD is not ready: BGP not established with 10.0.0.2\n"
        probed.wait("sessions", lambda: probed(*READINESS).stdout.startswith(headline))
        ran = probed(*READINESS)
        assert ran.code == 1
        assert [line for line in ran.stdout.splitlines() if line.startswith(NOT_READY)] == [headline.rstrip()]
        assert probed("-felix-live", "-felix-ready", "-bird-live", "-bird6-ready") == (0, "", "")
        shown = probed("-show-status")
        assert (shown.code, "10.0.0.2" in shown.stdout) == (0, True)
        assert json.loads(store.entries()[key_of("nodes", "n1")])["spec"]["bgp"]["ipv4Address"] == "10.0.0.1/24"
