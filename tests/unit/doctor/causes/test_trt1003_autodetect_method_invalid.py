"""TRT1003: the method is refused, in the words of each release."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY, STRONG
from tortie.doctor.causes.nodes.trt1003_autodetect_method_invalid import CAUSE
from tortie.doctor.judgement.judge import judge

ID = "autodetect-method-invalid"

BARE = """
$ kubectl -n kube-system logs calico-node-8f8f8
2021-09-09 09:09:09.101 [ERROR][9] startup/startup.go 571: Invalid IP autodetection method: ens192
2021-09-09 09:09:09.110 [WARNING][9] startup/utils.go 48: Terminating
Calico node failed to start
"""


def test_a_bare_interface_name() -> None:
    answer = finding(ID, BARE)
    assert answer.strength >= LIKELY
    assert {"ens192", "IP_AUTODETECTION_METHOD"} <= set(answer.objects)
    seen = picture(BARE)
    assert "interface=ens192" in CAUSE.fix(seen, CAUSE.judge(seen))[0].command


def test_a_bad_network() -> None:
    text = """
    改完 IP_AUTODETECTION_METHOD 之后所有 calico-node 都起不来：
    [FATAL][8] startup.go 600: Invalid CIDR "10.0.0.0/240" for IP autodetection method: cidr=10.0.0.0/240
    """
    assert finding(ID, text).strength >= LIKELY


def test_a_method_newer_than_the_image_is_not_proposed_again() -> None:
    text = BARE.replace("ens192", "kubernetes-internal-ip") + "\n    Image: calico/node:v3.14.2\n"
    seen = picture(text)
    answer = CAUSE.judge(seen)
    assert answer.strength >= LIKELY
    assert "kubernetes-internal-ip" not in CAUSE.fix(seen, answer)[0].command


def test_what_was_refused_is_not_proposed_again_where_no_release_is_shown() -> None:
    nodes = "$ kubectl get nodes -o wide\nNAME  STATUS  ROLES  AGE  VERSION  INTERNAL-IP\n"
    nodes += "q-1  Ready  <none>  9d  v1.21.0  10.8.0.1\n"
    seen = picture(nodes + BARE.replace("ens192", "kubernetes-internal-ip"))
    commands = [step.command for step in CAUSE.fix(seen, CAUSE.judge(seen))]
    assert any("cidr=10.8.0.0/24" in command for command in commands)
    assert not any("kubernetes-internal-ip" in command for command in commands)


def test_a_method_that_finds_nothing_is_valid() -> None:
    text = "[WARNING][9] startup.go 617: Unable to auto-detect an IPv4 address using interface regexes [eth.*]: no valid host interfaces found"  # noqa: E501
    assert finding(ID, text).state == "cannot-tell"


def test_an_accepted_method_rules_it_out() -> None:
    text = "[INFO][9] startup.go 584: Using autodetected IPv4 address on interface eth0: 10.1.1.1/24"
    assert finding(ID, text).state == "ruled-out"


def test_a_log_that_goes_on_later_has_got_over_it() -> None:
    refused = "2022-08-30 07:12:10.188 [ERROR][9] startup/autodetection_methods.go 75: Invalid IP autodetection method: ens9\n"  # noqa: E501
    later = "2022-08-30 07:40:10.188 [INFO][9] startup/startup.go 485: Using autodetected IPv4 address on interface ens9: 10.8.2.14/24\n"  # noqa: E501
    assert finding(ID, refused + "Terminating\n").strength >= STRONG
    assert finding(ID, refused + "Terminating\n" + later).strength < LIKELY
    assert finding(ID, later + refused + "Terminating\n").strength >= STRONG


def test_an_address_that_was_not_found_for_that_reason_is_no_cause_of_its_own() -> None:
    text = """
        $ kubectl -n kube-system logs calico-node-5gzqk
        2023-07-19 03:20:41.832 [ERROR][9] startup/autodetection_methods.go 77: Invalid CIDR "10.20.0.0" for IP \
autodetection method: cidr=10.20.0.0
        2023-07-19 03:20:41.832 [WARNING][9] startup/startup.go 505: Couldn't autodetect an IPv4 address. If \
auto-detecting, choose a different autodetection method. Otherwise provide an explicit address.
        2023-07-19 03:20:41.845 [WARNING][9] startup/utils.go 49: Terminating
    """
    assert [answer.cause.id for answer in judge(picture(text)).causes] == ["autodetect-method-invalid"]
