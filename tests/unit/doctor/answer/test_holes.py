"""A value that no such thing is called stays out of commands, and the answer says so; which rule decided is told."""

from __future__ import annotations

import json

from tests.support.doctor import picture

from tortie.doctor.answer import as_json, text
from tortie.doctor.judgement.judge import judge

DEAD = """
    $ kubectl get nodes
    NAME                    STATUS     ROLES    AGE   VERSION
    -oProxyCommand=evil     NotReady   <none>   9d    v1.24.9
    $ kubectl describe node -oProxyCommand=evil
    Name:               -oProxyCommand=evil
    Conditions:
      Type             Status    Reason              Message
      Ready            Unknown   NodeStatusUnknown   Kubelet stopped posting node status.
    [root@-oProxyCommand=evil ~]# systemctl status kubelet
       Active: failed (Result: exit-code)
    kubelet[7]: E0123 09:11:40 run.go:74] "command failed" err="failed to run Kubelet: no such file"
"""
HONEST = DEAD.replace("-oProxyCommand=evil", "w-03")


def told(evidence: str, language: str = "en") -> dict[str, object]:
    seen = picture(evidence)
    document = json.loads(as_json.render(judge(seen), seen, language, colour=False))  # type: ignore[arg-type]
    (cause,) = [one for one in document["causes"] if one["cause"] == "kubelet-not-running"]
    return cause  # type: ignore[no-any-return]


def test_a_hostile_name_becomes_a_hole_with_its_reason() -> None:
    cause = told(DEAD)
    for step in cause["fix"]:  # type: ignore[attr-defined]
        assert "ProxyCommand" not in step["command"]
    (hole,) = cause["fix"][0]["holes"]  # type: ignore[index]
    assert (hole["name"], hole["refused"]) == ("<node-address>", True)
    assert "-oProxyCommand=evil" in hole["why"]


def test_the_text_says_it_once_in_both_languages() -> None:
    seen = picture(DEAD)
    assert text.render(judge(seen), seen, "en", colour=False).count("is left open") == 1
    assert text.render(judge(seen), seen, "zh", colour=False).count("需自行填写") == 1


def test_an_honest_name_is_filled() -> None:
    cause = told(HONEST)
    assert cause["fix"][0] == {  # type: ignore[index]
        "text": "Does the machine answer?",
        "command": "ping -c2 w-03",
        "risk": "safe",
        "holes": [],
    }


def test_rule_and_culprits_are_told() -> None:
    cause = told(HONEST)
    assert cause["rule"] == "dead"
    assert cause["culprits"][0] == {"kind": "node", "name": "w-03"}  # type: ignore[index]
