"""TRT1009: two hosts, one name."""

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY

ID = "duplicate-nodename"


def test_a_copied_nodename_file() -> None:
    text = """
    $ kubectl get pods -n kube-system -o wide | grep calico-node
    calico-node-aa11a   0/1   Running   4   2d   10.2.0.11   cl-1   <none>   <none>
    calico-node-bb22b   0/1   Running   5   2d   10.2.0.12   cl-2   <none>   <none>
    $ kubectl -n kube-system logs calico-node-bb22b | head -3
    2021-03-03 03:03:03.001 [INFO][9] startup/startup.go 410: Using stored node name from /var/lib/calico/nodename
    2021-03-03 03:03:03.002 [INFO][9] startup/startup.go 425: Determined node name: cl-1
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"cl-1", "cl-2", "/var/lib/calico/nodename"} <= set(answer.objects)


def test_the_same_tunnel_address_on_two_hosts() -> None:
    text = """
    [root@cl-1 ~]# ip -4 -br a show tunl0
    tunl0@NONE       UNKNOWN        10.244.17.64/32
    [root@cl-2 ~]# ip -4 -br a show tunl0
    tunl0@NONE       UNKNOWN        10.244.17.64/32
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"cl-1", "cl-2"} <= set(answer.objects)


def test_both_hosts_print_one_name() -> None:
    text = """
    这两台是同一个模板克隆的。
    [root@cl-1 ~]# cat /var/lib/calico/nodename
    cl-1
    [root@cl-2 ~]# cat /var/lib/calico/nodename
    cl-1
    """
    assert finding(ID, text).strength >= LIKELY


def test_each_host_has_its_own_name() -> None:
    text = """
    [root@cl-1 ~]# cat /var/lib/calico/nodename
    cl-1
    [root@cl-2 ~]# cat /var/lib/calico/nodename
    cl-2
    """
    assert finding(ID, text).state == "ruled-out"


def test_a_changed_address_alone_is_a_candidate() -> None:
    text = "[WARNING][9] startup.go 500: IPv4 address has changed. This could happen if there are multiple nodes with the same name."  # noqa: E501
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength < LIKELY
