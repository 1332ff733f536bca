"""TRT2004: an expired certificate of the API server, by the line, by openssl; not by a wrong clock or another port."""

from __future__ import annotations

from tests.support.doctor import finding

AFTER = (
    "2023-06-11 07:00:09.001 [ERROR][9] startup/startup.go 160: failed to query kubeadm's config map error=Get "
    '"https://10.96.0.1:443/api/v1/namespaces/kube-system/configmaps/kubeadm-config": x509: certificate has expired or '
    "is not yet valid: current time 2023-06-11T07:00:08Z is after 2023-06-10T02:14:51Z"
)


def test_the_line_says_so() -> None:
    answer = finding("apiserver-certs-expired", f"$ kubectl -n kube-system logs calico-node-bb2lk -p\n{AFTER}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "kube-apiserver" in answer.objects


def test_one_of_three_masters() -> None:
    answer = finding(
        "apiserver-certs-expired",
        f"""
        证书上周已经 kubeadm certs renew all 续期了，但 calico-node 重启后大约三次里失败一次。

        {AFTER}

        [root@ma ~]# echo | openssl s_client -connect 10.3.3.13:6443 2>/dev/null | openssl x509 -noout -enddate
        notAfter=Jun 10 02:14:51 2023 GMT
        [root@ma ~]# date -u
        Sun Jun 11 07:04:00 UTC 2023
        """,
    )
    assert answer.strength >= 0.95
    assert any("10.3.3.13" in name for name in answer.objects)


def test_kubectl_itself() -> None:
    answer = finding(
        "apiserver-certs-expired",
        "# kubectl get pod -n kube-system\nUnable to connect to the server: x509: certificate has expired or is not "
        "yet "
        "valid: current time 2023-06-11T07:00:08+08:00 is after 2023-06-10T02:14:51Z",
    )
    assert answer.strength >= 0.8


def test_typhas_port_is_not_the_api() -> None:
    answer = finding(
        "apiserver-certs-expired",
        "error connecting to typha endpoint (1 of 1) 10.3.3.14:5473: x509: certificate has expired or is not yet "
        "valid: "
        "current time 2023-06-11T07:00:08Z is after 2023-06-10T02:14:51Z",
    )
    assert answer.strength < 0.8


def test_a_clock_that_runs_ahead() -> None:
    answer = finding(
        "apiserver-certs-expired",
        f"""
        [root@w5 ~]# crictl logs 3f1c
        {AFTER}
        [root@w5 ~]# timedatectl
                       Local time: Sun 2023-06-11 07:05:00 UTC
        System clock synchronized: no
                      NTP service: inactive
        """,
    )
    assert answer.strength < 0.8
