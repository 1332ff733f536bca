"""TRT5006: the operator's own words in tigerastatus or its log."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding


def test_tigerastatus_says_so() -> None:
    answer = finding(
        "ippool-outside-cluster-cidr",
        """
        $ kubectl get tigerastatus calico -o yaml | grep -A4 Degraded
            message: 'Could not resolve CalicoNetwork IPPool and kubeadm configuration: IPPool 192.168.0.0/16 is not within the platform''s configured pod network CIDR(s) [10.244.0.0/16]'
            reason: ResourceValidationError
            status: "True"
            type: Degraded
        """.replace("platform''s", "platform's"),
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "192.168.0.0/16" in answer.objects
    assert "10.244.0.0/16" in answer.objects


def test_the_operators_log() -> None:
    answer = finding(
        "ippool-outside-cluster-cidr",
        '{"level":"error","ts":1690.1,"logger":"controller_installation","msg":"Could not resolve CalicoNetwork IPPool and '
        'kubeadm configuration","error":"IPPool 172.31.0.0/17 is not within the platform\'s configured pod network CIDR(s) '
        '[10.200.0.0/16]"}',
    )
    assert answer.strength >= 0.9
    assert "172.31.0.0/17" in answer.objects


def test_available_is_no_claim() -> None:
    answer = finding(
        "ippool-outside-cluster-cidr",
        "$ kubectl get tigerastatus\nNAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE\ncalico   True        False         False      5d",
    )
    assert answer.state != "found"


def test_the_message_as_yaml_folds_it() -> None:
    answer = finding(
        "ippool-outside-cluster-cidr",
        """
        $ kubectl get tigerastatus calico -o yaml | tail -4
            message: 'Could not resolve CalicoNetwork IPPool and kubeadm configuration:
              IPPool 172.30.0.0/16 is not within the platform''s configured pod network CIDR(s)
              [10.100.0.0/16]'
            type: Degraded
        """,
    )
    assert answer.strength >= 0.9
    assert {"172.30.0.0/16", "10.100.0.0/16"} <= set(answer.objects)


def test_an_operator_that_is_content_again() -> None:
    words = "the operator said: IPPool 192.168.0.0/16 is not within the platform's configured pod network CIDR(s) [10.244.0.0/16]\n"
    status = "$ kubectl get tigerastatus\nNAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE\ncalico   True        False         False      2d\n"
    assert finding("ippool-outside-cluster-cidr", words + status).state == "ruled-out"
    degraded = status.replace("False      2d", "True       2d")
    assert finding("ippool-outside-cluster-cidr", words + degraded).strength >= 0.9
