"""An agent that is told everything by calicoctl's flags, in a network namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of
from tests.support.netns import Namespace, host_and_router


@pytest.fixture
def host() -> Iterator[Namespace]:
    with host_and_router("flags") as (machine, _router):
        yield machine


def test_a_node_starts_as_its_flags_say(host: Namespace, tmp_path: Path) -> None:
    felix = tmp_path / "felix.cfg"
    felix.write_text("[global]\nHealthPort = 9177\n")
    words = ["--name=n7", "--ip=10.0.0.1", "--as=64600", "--no-default-ippools", "--init-system"]
    words += ["--ip-autodetection-method=interface=eth0", f"--felix-config={felix}", "--log-dir=/var/log/calico"]
    with NodeAgent(tmp_path, host, *words, NODENAME="another", IP="autodetect") as agent:
        agent.wait("readiness", lambda: agent._ask(9177, "/readiness")[0] in (200, 204))
        entries = Tortie(tmp_path, TORTIE_STORE=agent.variables["TORTIE_STORE"]).entries()
        registered = json.loads(entries[key_of("nodes", "n7")])
        assert registered["spec"]["bgp"] == {"asNumber": 64600, "ipv4Address": "10.0.0.1/24"}
        assert key_of("nodes", "another") not in entries
        assert not any("/ippools/" in key for key in entries)
        assert "note: --init-system changes nothing" in agent.log
        assert agent.stop() == 0
