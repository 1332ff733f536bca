"""TRT5011: the plugin's own answer about an annotation, and nobody else's JSON."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "bad-pool-annotation"
EVENT = """\
Warning  FailedCreatePodSandBox  4s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5fd0": plugin type="calico" failed (add): invalid character 'g' looking for beginning of value
"""  # noqa: E501
DOCKER = """\
Warning  FailedCreatePodSandBox  10s (x4 over 13s)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "dafc" network for pod "web-0": networkPlugin cni failed to set up pod "web-0_blue" network: {}
"""  # noqa: E501
TYPED = "$ kubectl annotate ns blue cni.projectcalico.org/ipv4pools=green-pool\nnamespace/blue annotated\n"
POOLS = "$ kubectl get ippools\nNAME         CIDR\ngreen-pool   10.14.0.0/16\nbase         10.15.0.0/16\n"


def test_answer_and_annotation_are_proof() -> None:
    answer = finding(ID, TYPED + EVENT)
    assert answer.strength >= PROVEN
    assert answer.objects[0] == "cni.projectcalico.org/ipv4pools"
    assert "green-pool" in answer.why.en


def test_the_answer_alone_is_a_claim() -> None:
    assert finding(ID, EVENT).strength >= LIKELY
    assert finding(ID, DOCKER.format("invalid character 'e' in literal null (expecting 'u')")).strength >= LIKELY


def test_a_pool_of_another_name() -> None:
    text = DOCKER.format('error parsing pool "gren-pool": invalid CIDR address: gren-pool')
    answer = finding(ID, text + POOLS)
    assert answer.strength >= PROVEN
    assert "gren-pool" in answer.objects


def test_json_that_a_runtime_parses_is_not_an_annotation() -> None:
    text = "cni config load failed: failed to load CNI config list file /etc/cni/net.d/10-calico.conflist: error parsing configuration list: invalid character 'g' looking for beginning of value"  # noqa: E501
    assert finding(ID, text).state == "cannot-tell"


def test_a_list_is_well_formed() -> None:
    good = TYPED.replace("=green-pool", """='["green-pool"]'""")
    assert finding(ID, good).state == "cannot-tell"
    assert finding(ID, TYPED).strength < LIKELY


def test_a_pod_that_runs_now_has_got_its_address() -> None:
    text = DOCKER.format("invalid character 'g' looking for beginning of value")
    pods = "$ kubectl -n blue get pods\nNAME   READY  STATUS   RESTARTS  AGE\nweb-0  1/1    Running  0         4m\n"
    assert finding(ID, text + pods).state == "ruled-out"


def test_the_fix_writes_the_list() -> None:
    cause, seen = cause_named(ID), picture(TYPED + EVENT + POOLS)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    wanted = """kubectl annotate namespace blue --overwrite cni.projectcalico.org/ipv4pools='["green-pool"]'"""
    assert wanted in commands


def test_a_list_is_one_in_whatever_is_printed_around_it() -> None:
    shown = (
        '$ kubectl get ns ci -o jsonpath={.metadata.annotations}\n{"cni.projectcalico.org/ipv4pools":"[\\"blue\\"]"}',
        '{"cni.projectcalico.org/ipv6pools":"[\\"blue\\",\\"six\\"]","team":"ci"}',
        'Annotations: map[cni.projectcalico.org/ipv4pools:["blue"] team:ci]',
        'Annotations:  cni.projectcalico.org/ipv4pools: ["blue"]',
    )
    for text in shown:
        assert finding("bad-pool-annotation", text).state != "found", text


def test_no_list_is_none_in_json_either() -> None:
    for value in ("blue", "[blue]", "blue,green"):
        text = f'{{"cni.projectcalico.org/ipv4pools":"{value}","team":"ci"}}'
        assert finding("bad-pool-annotation", text).state == "found", text
