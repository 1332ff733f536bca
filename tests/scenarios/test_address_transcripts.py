"""The transcripts of docs/explanation/address-choice.md, played again on real interfaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of, node
from tests.support.netns import Namespace

PAGE = Path(__file__).parent.parent.parent / "docs" / "explanation" / "address-choice.md"
TRANSCRIPTS = re.findall(r"```\n\$ tortie (node explain .*?)\n(.*?)\n```", PAGE.read_text(), re.DOTALL)


def docker_bridge(host: Namespace, network: Namespace) -> None:
    host.veth("eth0", network, "port0")
    host.ip("addr", "add", "10.12.13.33/24", "dev", "eth0")
    host.ip("route", "add", "default", "via", "10.12.13.1")
    host.bridge("br-3a10a9384428")
    host.ip("addr", "add", "172.18.0.1/16", "dev", "br-3a10a9384428")


def second_card(host: Namespace, network: Namespace) -> None:
    host.veth("ens18", network, "port0")
    host.veth("ens19", network, "port1")
    for address, interface in (("172.17.73.66/22", "ens18"), ("172.17.73.63/22", "ens18"), ("10.0.0.66/24", "ens19")):
        host.ip("addr", "add", address, "dev", interface)
    host.ip("route", "add", "default", "via", "172.17.72.1")


@pytest.mark.parametrize(
    ("build", "name", "registered"),
    [
        (docker_bridge, "node-3", {"node-11": "10.12.13.11/24", "node-12": "10.12.13.12/24"}),
        (
            second_card,
            "k8smater1",
            {"k8smaster2": "172.17.73.65/22", "k8scephnode": "10.0.0.63/24", "k8smater1": "10.0.0.66/24"},
        ),
    ],
)
def test_a_transcript_is_what_the_command_says(
    tmp_path: Path, build: object, name: str, registered: dict[str, str]
) -> None:
    assert callable(build)
    (transcript,) = [each for each in TRANSCRIPTS if f"\n  {name}  (" in each[1]]
    with Namespace("doc") as host, Namespace("network") as network:
        build(host, network)
        agent = NodeAgent(tmp_path, host, NODENAME=name, COLUMNS="80", IP="autodetect")
        store = Tortie(tmp_path, TORTIE_STORE=agent.variables["TORTIE_STORE"])
        for other, address in registered.items():
            store.put(key_of("nodes", other), node(other, address))
        before = store.entries()
        said = agent.command(*transcript[0].split()[1:]).stdout
        assert store.entries() == before, "nothing is written"
    sections = said.strip().split("\n\n")
    # Where the datastore is differs from run to run; everything else is told word for word.
    told = [section for section in sections if not section.startswith(("SETTINGS", "DATASTORE"))]
    assert "\n\n".join(told) == transcript[1]
