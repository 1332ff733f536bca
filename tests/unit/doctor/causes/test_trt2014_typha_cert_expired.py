"""TRT2014: x509 `is after` on 5473."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

EXPIRED = (
    "2024-09-09 09:09:09.909 [WARNING][88] felix/discovery.go 180: error connecting to typha endpoint (1 of 3) "
    "10.60.0.21:5473 connID=0x3 error=x509: certificate has expired or is not yet valid: current time "
    "2024-09-09T09:09:09Z is {} 2024-09-01T00:00:00Z"
)


def test_the_line_says_so() -> None:
    answer = finding("typha-cert-expired", f"$ kubectl -n calico-system logs calico-node-4m\n{EXPIRED.format('after')}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "typha-certs" in answer.objects
    assert "10.60.0.21" in answer.objects


def test_with_the_date_of_the_secret() -> None:
    answer = finding(
        "typha-cert-expired",
        f"""
        装了两年的集群，今天所有节点 felix 同时 503。
        {EXPIRED.format("after")}
        # echo | openssl s_client -connect 10.60.0.21:5473 2>/dev/null | openssl x509 -noout -subject -enddate
        subject=CN = typha-server
        notAfter=Sep  1 00:00:00 2024 GMT
        # date -u
        Mon Sep  9 09:20:00 UTC 2024
        """,
    )
    assert answer.strength >= 0.95


def test_before_is_a_clock() -> None:
    assert finding("typha-cert-expired", EXPIRED.format("before")).state == "ruled-out"


def test_the_connection_fails() -> None:
    text = "Failed to connect to Typha. Retrying... error=dial tcp 10.60.0.21:5473: i/o timeout"
    assert finding("typha-cert-expired", text).state == "ruled-out"


def test_who_issues_them_again() -> None:
    operator = fixes(
        "typha-cert-expired", f"$ kubectl -n calico-system logs calico-node-4mxk2\n{EXPIRED.format('after')}"
    )
    assert "kubectl -n tigera-operator delete secret typha-certs node-certs" in operator
    by_hand = fixes("typha-cert-expired", f"$ kubectl -n kube-system logs calico-node-4mxk2\n{EXPIRED.format('after')}")
    assert not any("delete secret" in command for command in by_hand)
    assert any("create secret generic calico-typha-certs" in command for command in by_hand)


def test_an_old_file_that_nobody_uses() -> None:
    old = """
        [root@kestrel ~]# date -u
        Sun Aug 10 09:00:03 UTC 2025
        [root@kestrel ~]# openssl x509 -in /srv/old/typha.crt -noout -enddate
        notAfter=Mar  2 06:21:00 2025 GMT
        """
    ready = "\ncalico-node-zz5tb   1/1   Running   2   9d   10.9.4.12   kestrel   <none>   <none>\n"
    assert finding("typha-cert-expired", old).strength >= 0.8
    assert finding("typha-cert-expired", old + ready).strength < 0.8
