"""A node whose datastore holds what nothing acts upon: told where people look, and ready all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, resource
from tests.support.netns import Namespace, host_and_router
from tests.support.patient import Patient

HERE = "Tortie enforces no policy yet: on its nodes every packet still passes"
POLICY = f"NetworkPolicy shop/deny-all is stored, but {HERE}"


@pytest.fixture
def host() -> Iterator[Namespace]:
    with host_and_router("effects") as (host, _):
        yield host


def _tortie(agent: NodeAgent) -> Tortie:
    return Tortie(agent.folder, TORTIE_STORE=agent.variables["TORTIE_STORE"])


def test_a_fresh_node_says_nothing_of_effects(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path / "n1", host, NODENAME="n1") as agent:
        agent.wait_ready()
        ran = agent.command("status")
        assert (ran.code, "effect" in ran.stdout) == (0, False)
        assert "effect" not in agent.ask("/readiness?verbose")[1]
        assert "is set, but" not in agent.log


def test_a_policy_is_told_by_status_and_page_and_the_node_stays_ready(host: Namespace, tmp_path: Path) -> None:
    with NodeAgent(tmp_path / "n1", host, NODENAME="n1") as agent:
        agent.wait_ready()
        tortie = _tortie(agent)
        policy = resource("NetworkPolicy", "deny-all", {"selector": "all()"}, namespace="shop")
        assert tortie("apply", "-f", tortie.file("p.yaml", policy)).stderr == f"warning: {POLICY}\n"
        ran = agent.command("status")
        assert ran.code == 0
        assert f"\nWithout effect on this node:\n  {POLICY}\n" in ran.stdout
        code, text = agent.ask("/readiness?verbose")
        assert (code, f"without effect: {POLICY}\n" in text) == (200, True)
        assert agent.ask("/readiness")[0] == 204, "no news for a probe"
        assert tortie("delete", "networkpolicy", "deny-all", "-n", "shop").code == 0
        assert "effect" not in agent.command("status").stdout


def test_what_the_environment_asks_in_vain_is_said_at_the_start_and_later(host: Namespace, tmp_path: Path) -> None:
    variables = {"FELIX_BPFENABLED": "true", "FELIX_DEFAULTENDPOINTTOHOSTACTION": "ACCEPT", "FELIX_VXLANMTU": "1400"}
    variables |= {"CALICO_ADVERTISE_CLUSTER_IPS": "10.96.0.0/12", "CALICO_MANAGE_CNI": "true"}
    with NodeAgent(tmp_path / "n1", host, NODENAME="n1", **variables) as agent:
        agent.wait_ready()
        told = "FELIX_BPFENABLED is set, but Tortie loads no eBPF program"
        later = "CALICO_ADVERTISE_CLUSTER_IPS is set, but Tortie does nothing with it yet"
        assert (agent.log.count("is set, but"), agent.log.count(told), agent.log.count(later)) == (2, 1, 1)
        assert told in agent.command("status").stdout
        assert told in agent.ask("/readiness?verbose")[1]


def test_with_another_dataplane_its_work_is_its_business(host: Namespace, tmp_path: Path) -> None:
    variables = {"CALICO_DISABLE_FELIX": "true", "FELIX_BPFENABLED": "true"}
    with NodeAgent(tmp_path / "n1", host, NODENAME="n1", **variables) as agent:
        agent.wait_ready()
        tortie = _tortie(agent)
        policy = resource("GlobalNetworkPolicy", "deny-all", {"selector": "all()"})
        assert tortie("apply", "-f", tortie.file("p.yaml", policy)).code == 0
        assert "effect" not in agent.command("status").stdout


def test_a_lab_with_a_policy_is_healthy_with_a_note_and_the_policy_is_the_answer_to_who_misses_it(
    tmp_path: Path,
) -> None:
    policy = json.dumps(resource("GlobalNetworkPolicy", "deny-all", {"selector": "all()", "types": ["Ingress"]}))
    with Patient(tmp_path, "effects") as lab:
        lab.up("--nodes", "2")
        applied = lab.shell("node-1", f"echo '{policy}' | tortie apply -f -")
        assert (applied.code, HERE in applied.stderr) == (0, True)
        answer = lab.until_healthy()
        assert [each["cause"] for each in answer["unrelated"]] == ["policy-not-enforced"]
        assert HERE in answer["unrelated"][0]["summary"]
        story = tmp_path / "story.txt"
        shown = lab.shell("node-2", "tortie node status").stdout
        story.write_text(f"Our deny-all policy does not block anything.\n\n# tortie node status\n{shown}")
        judged = Tortie(tmp_path)("doctor", str(story), "-o", "json")
        assert (judged.code, judged.json["causes"][0]["cause"]) == (3, "policy-not-enforced")
