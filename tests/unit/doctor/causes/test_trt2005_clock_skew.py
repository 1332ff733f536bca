"""TRT2005: `is before`, tokens from the future, dates that disagree; an unsynchronised clock alone proves nothing."""

from __future__ import annotations

from tests.support.doctor import finding, fixes, picture

from tortie.doctor.causes.catalogue import cause_named


def test_not_yet_valid() -> None:
    answer = finding(
        "clock-skew",
        """
        edge-7$ sudo crictl logs 77ab
        2019-12-31 16:00:11.410 [ERROR][1] cni-installer/<nil> <nil>: Unable to create token for CNI kubeconfig \
        error=Post "https://10.152.183.1:443/api/v1/namespaces/kube-system/serviceaccounts/calico-node/token": \
        x509: certificate has expired or is not yet valid: current time 2019-12-31T16:00:11Z is before \
        2024-02-02T10:00:00Z
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "edge-7" in answer.objects


def test_two_dates() -> None:
    answer = finding(
        "clock-skew",
        """
        宿主机断电恢复后，这个节点上新建 Pod 一直报错：

        error getting ClusterInformation: connection is unauthorized: Unauthorized

        [root@wk-c ~]# date -u
        Tue Mar  5 03:10:00 UTC 2024
        [root@ctl-1 ~]# date -u
        Tue Mar  5 11:10:20 UTC 2024
        [root@ctl-1 ~]# journalctl -u kube-apiserver | tail -1
        Mar 05 11:09:59 ctl-1 kube-apiserver[911]: E0305 11:09:59.1 authentication.go:63] "Unable to authenticate \
        the request" err="[invalid bearer token, token not valid yet]"
        """,
    )
    assert answer.strength >= 0.9


def test_stepped_after_start() -> None:
    answer = finding(
        "clock-skew",
        """
        $ kubectl -n kube-system logs calico-node-kkq4z --tail=1
        2022-05-05 05:05:05.555 [ERROR][61] felix/watchercache.go 175: Failed to perform list of current data \
        during resync error=connection is unauthorized: Unauthorized
        $ ssh hv-9 journalctl -b -u chronyd | tail -1
        May 05 05:01:00 hv-9 chronyd[700]: System clock wrong by 25200.114 seconds
        """,
    )
    assert answer.strength >= 0.8


def test_unauthorised_alone_is_a_symptom() -> None:
    answer = finding("clock-skew", "error getting ClusterInformation: connection is unauthorized: Unauthorized")
    assert answer.strength < 0.8


def test_an_unsynchronised_clock_alone() -> None:
    answer = finding("clock-skew", "$ timedatectl\nSystem clock synchronized: no\nNTP service: inactive")
    assert answer.strength < 0.8


def test_clocks_that_agree() -> None:
    answer = finding(
        "clock-skew",
        """
        [root@a ~]# date -u
        Tue Mar  5 03:10:00 UTC 2024
        [root@b ~]# date -u
        Tue Mar  5 03:10:20 UTC 2024
        """,
    )
    assert answer.state == "ruled-out"


def test_a_clock_that_was_ahead_and_was_set_back() -> None:
    answer = finding(
        "clock-skew",
        """
        E0303 09:50:41.508316 1 authentication.go:63] "Unable to authenticate the request" err="[invalid bearer token, \
square/go-jose/jwt: validation failed, token not valid yet (nbf)]"
        $ journalctl -u chronyd | tail -1
        Mar 03 09:09:46 api-7 chronyd[77]: System clock wrong by -7199.110117 seconds
        """,
    )
    assert answer.strength >= 0.9
    assert "api-7" in answer.objects
    assert "ahead" in answer.why.en


def test_the_fix_is_for_what_keeps_time_there() -> None:
    cause = cause_named("clock-skew")
    assert cause is not None
    shown = picture(
        """
        [root@hv-9 ~]# systemctl status ntpd
        ● ntpd.service - Network Time Service
           Loaded: loaded (/usr/lib/systemd/system/ntpd.service; disabled)
           Active: inactive (dead)
        [root@hv-9 ~]# crictl logs 77ab
        x509: certificate has expired or is not yet valid: current time 2019-12-31T16:00:11Z is before \
2024-02-02T10:00:00Z
        """
    )
    answer = cause.judge(shown)
    commands = [step.command for step in cause.fix(shown, answer)]
    assert any("systemctl enable --now ntpd" in command for command in commands)
    assert not any("chronyc" in command for command in commands)
    told = [text.en for text in cause.prevent_for(shown, answer)]
    assert any("battery" in text for text in told)
    assert not any("UTC" in text for text in told)


def test_dates_asked_at_the_beginning_and_at_the_end() -> None:
    first = "[root@kite-1 ~]# date -u\nMon Dec 20 09:00:03 UTC 2021\n"
    work = (
        "[root@kite-2 ~]# crictl logs 88a\n"
        + "error getting ClusterInformation: connection is unauthorized: Unauthorized\n" * 5
    )
    last = "[root@kite-2 ~]# date -u\nMon Dec 20 09:21:40 UTC 2021\n"
    assert finding("clock-skew", first + work + last).strength < 0.8
    assert finding("clock-skew", work + first + last).strength >= 0.8  # in one go
    assert finding("clock-skew", last + work + first).strength >= 0.8  # later, and yet earlier


def test_a_clock_that_nobody_keeps_may_be_right() -> None:
    loose = """
        [root@kite-2 ~]# timedatectl | grep sync
        System clock synchronized: no
        kube-apiserver: Unable to authenticate the request err="[invalid bearer token, Token has expired.]"
        """
    same = "".join(f"[root@kite-{n} ~]# date -u\nTue Aug  1 02:10:0{n} UTC 2023\n" for n in (1, 2))
    assert finding("clock-skew", loose).strength >= 0.8
    assert finding("clock-skew", loose + same).strength < 0.8


def test_a_clock_that_was_set_by_a_second() -> None:
    def stepped(seconds: str) -> str:
        return (
            "error getting ClusterInformation: connection is unauthorized: Unauthorized\n"
            f"Mar 11 05:31:55 kite-2 chronyd[811]: System clock wrong by {seconds} seconds\n"
        )

    assert finding("clock-skew", stepped("1.214021")).strength < 0.8
    assert finding("clock-skew", stepped("28799.214021")).strength >= 0.9


_EARLY = (
    "x509: certificate has expired or is not yet valid: "
    "current time 2009-01-01T00:04:1{}Z is before 2023-05-14T06:25:00Z"
)


def test_a_play_names_the_machines_that_live_in_the_past() -> None:
    play = "".join(
        f'fatal: [vole-{n}]: FAILED! => {{"changed": false, "rc": 1, "stderr": "Error: Get https://10.233.0.1:443/api: '
        f'{_EARLY.format(n)}"}}\n'
        for n in (3, 7)
    )
    answer = finding("clock-skew", f"TASK [calico : ipam] ***\nok: [vole-1]\n{play}")
    assert {"vole-3", "vole-7"} <= set(answer.objects)
    assert "vole-1" not in answer.objects
    assert "vole-3, vole-7" in answer.why.en
    assert "vole-7" in answer.why.zh
    commands = fixes("clock-skew", play)
    assert [c for c in commands if c.startswith("ssh vole-7")]
    assert not any("<node" in command for command in commands)


def test_journals_of_two_machines() -> None:
    lines = "".join(
        f"Jan 01 00:04:1{n} vole-{n} kubelet[811]: E0101 00:04:1{n}.1 811 reflector.go:138] failed to list "
        f'*v1.Node: Get "https://10.0.0.1:6443/api/v1/nodes": {_EARLY.format(n)}\n'
        for n in (3, 7)
    )
    assert {"vole-3", "vole-7"} <= set(finding("clock-skew", lines).objects)


def test_a_registry_whose_certificate_begins_years_later() -> None:
    pull = (
        'kubelet[9]: Failed to pull image "quay.io/calico/node:v3.25.0": Head "https://quay.io/v2/": tls: failed to '
        f"verify certificate: {_EARLY.format(1)}\n"
    )
    assert finding("clock-skew", pull).strength >= 0.9
    soon = pull.replace("2023-05-14", "2009-01-02")  # just issued, and by whom nobody knows
    assert finding("clock-skew", soon).state != "found"


def test_the_api_server_says_that_a_token_is_too_young() -> None:
    refused = (
        'E0720 11:11:40.110012 1 authentication.go:63] "Unable to authenticate" err="[invalid bearer token, '
        'service account token is not valid yet]"\n'
    )
    clock = "[root@n07 ~]# timedatectl\nSystem clock synchronized: no\n              NTP service: inactive\n"
    assert finding("clock-skew", refused + clock).strength >= 0.9
    assert finding("clock-skew", clock).strength < 0.8
