"""TRT8003: Typha is ready, 5473 is filtered."""

from __future__ import annotations

from tests.support.doctor import finding

TIMEOUT = (
    "2021-02-02 02:02:02.222 [ERROR][77] felix/daemon.go 500: Failed to connect to Typha. "
    "error=dial tcp 10.8.1.5:5473: i/o timeout"
)


def table(typha: str) -> str:
    return f"""
        $ kubectl -n calico-system get pod -o wide
        NAME                            READY   STATUS    RESTARTS   AGE   IP          NODE
        calico-node-6kd2v               0/1     Running   9          12m   10.8.1.4    sto-1
        calico-node-w7x8c               1/1     Running   0          12m   10.8.1.5    sto-2
        calico-typha-5f4c9d7b6-8kq2z    {typha}     Running   0          12m   10.8.1.5    sto-2
        $ kubectl -n calico-system logs calico-node-6kd2v --tail=1
        {TIMEOUT}
    """


def test_only_nodes_with_a_typha_are_ready() -> None:
    answer = finding("typha-port-blocked", table("1/1"))
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "5473" in answer.objects


def test_the_port_was_tried() -> None:
    answer = finding(
        "typha-port-blocked",
        f"""
        {TIMEOUT}
        [root@sto-1 ~]# nc -vz -w3 10.8.1.5 5473
        nc: connect to 10.8.1.5 port 5473 (tcp) failed: Connection timed out
        [root@sto-1 ~]# nc -vz -w3 10.8.1.5 10250
        Connection to 10.8.1.5 10250 port [tcp/*] succeeded!
        """,
    )
    assert answer.strength >= 0.8


def test_no_typha_is_ready() -> None:
    assert finding("typha-port-blocked", table("0/1")).state == "ruled-out"


def test_refused_is_not_filtered() -> None:
    text = "Failed to connect to Typha. error=dial tcp 10.8.1.5:5473: connect: connection refused"
    assert finding("typha-port-blocked", text).state == "ruled-out"


def test_a_time_out_alone() -> None:
    assert finding("typha-port-blocked", TIMEOUT).strength < 0.8


def test_nodes_without_a_typha_that_do_not_complain_about_it() -> None:
    answer = finding("typha-port-blocked", table("1/1").replace(TIMEOUT, ""))
    assert answer.strength < 0.8


def test_the_address_of_the_service_says_nothing_of_the_port() -> None:
    """On the way there kube-proxy comes first."""
    text = """
2019-11-28 06:51:48.973 [FATAL][90] client.go 165: Failed to connect to Typha error=dial tcp 100.67.253.90:5473: i/o timeout

(100.67.253.90 is the {what} of calico-typha)

$ kubectl -n kube-system get po
calico-typha-7c4c7b6d57-p2cgg   1/1     Running   0          27d
calico-node-6k2pd               0/1     Running   3          27d
"""  # noqa: E501
    assert finding("typha-port-blocked", text.format(what="service address")).strength < 0.8
    assert finding("typha-port-blocked", text.format(what="only node")).strength >= 0.9
