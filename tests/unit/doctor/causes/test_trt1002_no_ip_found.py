"""TRT1002: autodetection's own words that nothing was found."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY, PROVEN
from tortie.doctor.causes.nodes.trt1002_no_ip_found import CAUSE

ID = "no-ip-found"

REGEX = """
$ kubectl -n kube-system logs calico-node-5k5k5
2021-09-09 09:09:09.001 [INFO][9] startup/startup.go 425: Determined node name: arm-3
2021-09-09 09:09:09.101 [WARNING][9] startup/startup.go 617: Unable to auto-detect an IPv4 address using interface regexes [eth.*]: no valid host interfaces found
2021-09-09 09:09:09.102 [WARNING][9] startup/startup.go 407: Couldn't autodetect an IPv4 address. If auto-detecting, choose a different autodetection method. Otherwise provide an explicit address.
2021-09-09 09:09:09.102 [INFO][9] startup/startup.go 213: Clearing out-of-date IPv4 address from this node IP=""
2021-09-09 09:09:09.110 [WARNING][9] startup/utils.go 48: Terminating
"""  # noqa: E501


def test_no_link_matches_the_pattern() -> None:
    links = "arm-3:~$ ip -br -4 addr\nlo     UNKNOWN   127.0.0.1/8\nenP2p1s0    UP   10.12.0.3/24\n"
    answer = finding(ID, REGEX + links)
    assert answer.strength >= PROVEN
    assert {"enP2p1s0", "eth.*", "IP_AUTODETECTION_METHOD"} <= set(answer.objects)


def test_the_destination_cannot_be_reached() -> None:
    text = """
    calico 日志只有这几行，机器不能上外网：
    [WARNING][8] startup.go 640: Unable to auto-detect IPv4 address by connecting to 8.8.8.8: dial udp4 8.8.8.8:80: connect: network is unreachable
    [WARNING][8] startup.go 943: Terminating
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "8.8.8.8" in answer.objects


def test_only_links_that_are_passed_over() -> None:
    text = """
    2022-01-01 00:00:00.001 [WARNING][8] startup/startup.go 617: Unable to auto-detect an IPv4 address: no valid IPv4 addresses found on the host interfaces
    2022-01-01 00:00:00.002 [WARNING][8] startup/utils.go 48: Terminating
    """  # noqa: E501
    assert finding(ID, text).strength >= LIKELY


def test_a_later_start_that_found_one_rules_it_out() -> None:
    text = (
        REGEX
        + """
    2021-09-09 09:10:09.101 [INFO][9] startup/startup.go 600: Using autodetected IPv4 address 10.12.0.3/24 on matching interface eth0
    $ kubectl -n kube-system get pod calico-node-5k5k5
    NAME                READY   STATUS    RESTARTS   AGE
    calico-node-5k5k5   1/1     Running   1          5d
    """  # noqa: E501
    )
    assert finding(ID, text).strength < LIKELY


def test_an_address_that_was_found_rules_it_out() -> None:
    text = "2021-09-09 [INFO][9] startup/startup.go 584: Using autodetected IPv4 address on interface eth0: 10.1.1.1/24"
    assert finding(ID, text).state == "ruled-out"


def test_a_crash_loop_alone_says_nothing() -> None:
    assert finding(ID, "calico-node-5k5k5   0/1   CrashLoopBackOff   9   21m").state == "cannot-tell"


def test_other_hosts_keep_their_pattern_and_this_one_gets_its_link() -> None:
    links = "arm-3:~$ ip -br -4 addr\nlo     UNKNOWN   127.0.0.1/8\nenP2p1s0    UP   10.12.0.3/24\n"
    seen = picture(REGEX + links + "    Image:  calico/node:v3.14.2\n")
    commands = [step.command for step in CAUSE.fix(seen, CAUSE.judge(seen))]
    assert any("IP_AUTODETECTION_METHOD=interface=eth,enP2p1s0'" in command for command in commands)


def test_the_other_family_has_a_setting_of_its_own() -> None:
    seen = picture(REGEX.replace("IPv4", "IPv6") + "    Image:  calico/node:v3.26.0\n")
    commands = [step.command for step in CAUSE.fix(seen, CAUSE.judge(seen))]
    assert any("IP6_AUTODETECTION_METHOD=kubernetes-internal-ip" in command for command in commands)


CUT = """
calico-node is in CrashLoopBackOff here, the log is cut off where it gets interesting:
2022-02-02 02:02:02.020 [INFO][10] startup/startup.go 99: Starting node moth with version v3.21.4
2022-02-02 02:02:02.030 [INFO][10] startup/startup.go 455: Initialize BGP data
moth:~$ ip -br -4 addr
lo        UNKNOWN   127.0.0.1/8
{}      UP        192.168.9.43/24
docker0   DOWN      172.17.0.1/16
"""


def test_the_log_is_cut_and_the_release_passes_over_the_only_link() -> None:
    answer = finding(ID, CUT.format("wlo1"))  # v3.21 passes over what has `lo` in its name
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "passed-over", True)
    assert "wlo1" in answer.objects


def test_a_link_that_the_release_takes_is_no_reason() -> None:
    assert finding(ID, CUT.format("eno1")).state != "found"
    assert finding(ID, CUT.format("wlo1").replace("v3.21.4", "v3.26.1")).state != "found"
