"""TRT1013: BIRD names the line that it refuses."""

from __future__ import annotations

from tests.support.doctor import finding

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
