"""TRT8010: an answer for who misses the effect of a policy, a note for others, and nothing about Calico's nodes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.doctor import finding, picture

from tortie.cli.node.effects_view import EffectsView, as_lines
from tortie.doctor.judgement.judge import judge
from tortie.model.effects.notes import gathered, notes_of
from tortie.model.effects.reasons import REASONS, Reason

ID = "policy-not-enforced"
POLICY: dict[str, Any] = {"kind": "GlobalNetworkPolicy", "metadata": {"name": "deny-all"}, "spec": {}}
FELIX: dict[str, Any] = {
    "kind": "FelixConfiguration",
    "metadata": {"name": "default"},
    "spec": {"wireguardEnabled": True},
}
STORY = "I applied a deny-all policy, but pods can still reach each other.\n\n"
STORY_ZH = "新加的网络策略没有生效，别的 Pod 还是能访问数据库。\n\n"
QUESTION = "Is this normal?\n\n"
AGENTS = """\
$ kubectl -n kube-system get pods -o wide | grep calico-node
calico-node-4c7qj   1/1   Running   0   33d   10.77.0.1   edge-1   <none>   <none>
calico-node-m8t2z   1/1   Running   0   33d   10.77.0.2   edge-2   <none>   <none>
$ kubectl get nodes
NAME     STATUS   ROLES           AGE    VERSION
edge-1   Ready    control-plane   212d   v1.29.4
edge-2   Ready    <none>          212d   v1.29.4
"""
WELL = """\
$ tortie node status
Calico process is running.

IPv4 BGP status
+--------------+-------------------+-------+----------+-------------+
| PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO        |
+--------------+-------------------+-------+----------+-------------+
| 10.77.0.2    | node-to-node mesh | up    | 22:47:44 | Established |
+--------------+-------------------+-------+----------+-------------+

IPv6 BGP status
No IPv6 peers found.
"""


def _section(*documents: dict[str, Any]) -> str:
    """As `tortie node status` says it."""
    told = gathered(note for document in documents for note in notes_of(document))
    view = EffectsView(tuple({**each.as_json(), "which": each.which} for each in told))
    return "\n".join(as_lines(view)) + "\n\n"


def test_it_is_the_answer_to_who_misses_the_effect_of_a_policy() -> None:
    answer = finding(ID, STORY + WELL + _section(POLICY))
    assert (answer.state, answer.aside, answer.rule) == ("found", False, "missed-and-told")
    assert [culprit.name for culprit in answer.culprits] == ["GlobalNetworkPolicy", "deny-all"]
    diagnosis = judge(picture(STORY + WELL + _section(POLICY)))
    assert (diagnosis.verdict, diagnosis.causes[0].cause.id) == ("cause-found", ID)
    assert diagnosis.causes[0].explains, "it explains the complaint"


def test_in_chinese_too() -> None:
    diagnosis = judge(picture(STORY_ZH + WELL + _section(POLICY)))
    assert diagnosis.causes[0].cause.id == ID
    assert "不执行任何策略" in diagnosis.causes[0].finding.why.zh


def test_the_warning_of_apply_says_it_as_well() -> None:
    (told,) = gathered(notes_of(POLICY))
    pasted = (
        f"$ tortie apply -f deny.yaml\nSuccessfully applied 1 'GlobalNetworkPolicy' resource(s)\nwarning: {told.what}\n"
    )
    assert finding(ID, STORY + pasted).rule == "missed-and-told"
    assert finding(ID, pasted).aside, "without a complaint it is a note"


@pytest.mark.parametrize(
    "form",
    [
        '$ tortie node status -o json\n{{\n  "notes": [\n    {{\n      "what": "{what}",\n      "which": ""\n',
        "$ curl -s '127.0.0.1:9099/readiness?verbose'\nlive: yes, ready: yes\nwithout effect: {what}\n",
        '$ tortie apply -o json -f x\n{{"kind": "Warning", "what": "{what}", "calico": "drops"}}\n',
    ],
)
def test_in_every_form_it_is_the_same(form: str) -> None:
    (told,) = gathered(notes_of(POLICY))
    answer = finding(ID, form.format(what=told.what))
    assert answer.why.en == "GlobalNetworkPolicy deny-all: " + told.reason.here + "."


def test_a_healthy_cluster_stays_healthy_with_a_note() -> None:
    diagnosis = judge(picture(QUESTION + WELL + _section(POLICY, FELIX) + AGENTS))
    assert (diagnosis.verdict, diagnosis.exit_code) == ("healthy", 4)
    (note,) = diagnosis.unrelated
    assert note.cause.id == ID
    for words in (note.finding.why.en, note.finding.why.zh):
        assert "GlobalNetworkPolicy deny-all" in words
        assert "wireguardEnabled" in words


def test_without_such_a_section_it_has_nothing_to_say() -> None:
    assert finding(ID, WELL).state == "cannot-tell"


@pytest.mark.parametrize(
    ("shown", "rule"),
    [
        ("$ tortie lab status\nNODE     ADDRESS     PHASE     READY\nnode-1   10.77.0.1   running   yes\n", "missed"),
        ("$ tortie get gnp\nNAME\ndeny-all\n", "missed"),
        ("$ calicoctl get gnp\nNAME\ndeny-all\n", "missing"),
        ("$ kubectl get networkpolicy -A\nNAMESPACE   NAME\nshop        deny-all\n", "missing"),
    ],
)
def test_a_complaint_alone_is_about_tortie_only_where_its_nodes_or_command_are_seen(shown: str, rule: str) -> None:
    assert finding(ID, STORY + shown).rule == rule


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.key)
def test_whatever_is_without_effect_is_no_story_and_no_trouble(reason: Reason) -> None:
    section = f"\nWithout effect on this node:\n  anything of IPPool p is stored, but {reason.here}\n\n"
    diagnosis = judge(picture(QUESTION + WELL + section + AGENTS))
    assert diagnosis.verdict == "healthy", diagnosis.unexplained
