"""TRT1013: BIRD names the line that it refuses."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY

ID = "bird-config-invalid"


def test_bird_repeats_its_refusal() -> None:
    line = "bird: /etc/calico/confd/config/bird.cfg, line 151: Only internal neighbor can be RR client\n"
    answer = finding(ID, "$ kubectl logs -n kube-system calico-node-rr1rr | grep ^bird | tail -3\n" + line * 3)
    assert answer.strength >= LIKELY
    assert "bird.cfg" in answer.objects
    assert "151" in answer.why.en


def test_an_empty_router_id() -> None:
    text = """
    纯 IPv6 环境，calico-node 一直 0/1：
    bird: /etc/calico/confd/config/bird.cfg, line 9: syntax error
    """
    assert finding(ID, text).strength >= LIKELY


def test_the_race_at_start_is_harmless() -> None:
    text = "bird: Unable to open configuration file /etc/calico/confd/config/bird.cfg: No such file or directory"
    assert finding(ID, text).state == "cannot-tell"


def test_no_backend_alone_says_nothing() -> None:
    assert finding(ID, "None of the BGP backend processes (BIRD or GoBGP) are running.").state == "cannot-tell"


def commands(text: str) -> list[str]:
    seen = picture(text)
    cause = cause_named(ID)
    assert cause is not None
    return [step.command for step in cause.fix(seen, cause.judge(seen))]


LOGGED = """
$ kubectl logs -n kube-system calico-node-rr1rr | grep ^bird | tail -1
bird: /etc/calico/confd/config/bird.cfg, line 9: syntax error
"""


def test_the_line_is_read_in_the_pod_that_refused_it() -> None:
    first = commands(LOGGED)[0]
    assert "calico-node-rr1rr" in first
    assert "'4,12p' /etc/calico/confd/config/bird.cfg" in first


def test_a_router_id_is_set_only_where_there_is_none() -> None:
    assert not [command for command in commands(LOGGED) if "ROUTER_ID" in command]
    empty = LOGGED + "$ kubectl exec calico-node-rr1rr -- head -9 /etc/calico/confd/config/bird.cfg\nrouter id ;\n"
    assert [command for command in commands(empty) if "CALICO_ROUTER_ID=hash" in command]
