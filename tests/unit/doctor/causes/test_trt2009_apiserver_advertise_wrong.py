"""TRT2009: the endpoint of the kubernetes service is an address that others cannot use."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

LOG = """
        $ kubectl -n kube-system logs calico-node-zz5tb -c install-cni
        dial tcp 10.96.0.1:443: connect: connection refused
"""
NODES = """
        $ kubectl get nodes -o wide
        NAME   STATUS   ROLES           AGE   VERSION   INTERNAL-IP     EXTERNAL-IP
        box1   Ready    control-plane   3h    v1.27.3   192.168.61.11   <none>
        box2   NotReady <none>          3h    v1.27.3   192.168.61.12   <none>
"""


def endpoint(address: str) -> str:
    return f"""
        $ kubectl get endpoints kubernetes
        NAME         ENDPOINTS             AGE
        kubernetes   {address}:6443        3h
"""


def test_the_nat_address() -> None:
    answer = finding("apiserver-advertise-wrong", LOG + NODES + endpoint("10.0.2.15"))
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert answer.objects[0] == "10.0.2.15"


def test_another_address_answers() -> None:
    answer = finding(
        "apiserver-advertise-wrong",
        LOG
        + endpoint("203.0.113.40")
        + """
        [root@box2 ~]# curl -k -m3 https://203.0.113.40:6443/healthz
        curl: (28) Connection timed out after 3001 milliseconds
        [root@box2 ~]# curl -k -m3 https://192.168.61.11:6443/healthz
        ok
        """,
    )
    assert answer.strength >= 0.9
    assert "203.0.113.40" in answer.objects


def test_the_masters_address_is_right() -> None:
    answer = finding("apiserver-advertise-wrong", LOG + NODES + endpoint("192.168.61.11"))
    assert answer.state == "ruled-out"


def test_no_endpoint_shown() -> None:
    assert finding("apiserver-advertise-wrong", LOG).strength < 0.8


VIP_LOG = """
        2023-02-11 11:08:50.007 [FATAL][1] cni-installer/<nil> <nil>: Unable to create token for CNI kubeconfig \
error=Post "https://10.96.0.1:443/api/v1/namespaces/kube-system/serviceaccounts/calico-node/token": dial tcp \
10.96.0.1:443: i/o timeout
"""


def test_a_loop_shows_which_address_answers() -> None:
    answer = finding(
        "apiserver-advertise-wrong",
        VIP_LOG
        + """
        w7 $ kubectl get ep kubernetes
        NAME         ENDPOINTS          AGE
        kubernetes   203.0.113.8:6443   9d
        w7 $ for a in 203.0.113.8 172.20.3.8; do echo -n "$a "; curl -sk -m2 https://$a:6443/livez; echo " rc=$?"; done
        203.0.113.8  rc=28
        172.20.3.8 ok rc=0
        """,
    )
    assert answer.strength >= 0.9
    assert "203.0.113.8" in answer.objects


def test_masters_that_answer_ping_are_blocked_rather_than_wrong() -> None:
    text = (
        VIP_LOG
        + """
        w7 $ kubectl get ep kubernetes
        NAME         ENDPOINTS                           AGE
        kubernetes   172.20.3.8:6443,172.20.3.9:6443     9d
        w7 $ for a in 172.20.3.100 172.20.3.8 172.20.3.9; do curl -sk -m2 -o /dev/null -w "%{http_code}\\n" \
https://$a:6443/livez; done
        200
        000
        000
        w7 $ ping -c1 172.20.3.9 | tail -2
        1 packets transmitted, 1 received, 0% packet loss, time 0ms
        """
    )
    assert finding("apiserver-advertise-wrong", text).strength < 0.8
    blocked = finding("apiserver-port-blocked", text)
    assert blocked.strength >= 0.9
    assert "172.20.3.8" in blocked.objects


def test_a_worker_that_has_the_endpoints_address_itself() -> None:
    answer = finding(
        "apiserver-advertise-wrong",
        VIP_LOG
        + """
        vagrant@box2:~$ kubectl get endpoints kubernetes
        NAME         ENDPOINTS         AGE
        kubernetes   10.0.2.15:6443    40m
        vagrant@box2:~$ ip -br -4 a
        eth0    UP       10.0.2.15/24
        eth1    UP       192.168.60.12/24
        vagrant@box2:~$ curl -k -m 3 https://192.168.60.11:6443/healthz
        ok
        """,
    )
    assert answer.strength >= 0.9
    assert "10.0.2.15" in answer.objects


def test_the_fix_names_the_masters_address() -> None:
    commands = fixes("apiserver-advertise-wrong", LOG + NODES + endpoint("10.0.2.15"))
    assert any("--advertise-address=192.168.61.11/" in command for command in commands)
    k3s = NODES.replace("v1.27.3", "v1.27.3+k3s1")
    assert not any(
        "manifests" in each for each in fixes("apiserver-advertise-wrong", LOG + k3s + endpoint("10.0.2.15"))
    )


def test_an_endpoint_that_answers_is_not_wrong() -> None:
    other = "[root@box2 ~]# curl -k https://192.168.61.100:6443/healthz\nok\n"
    itself = "[root@box2 ~]# curl -k https://172.29.0.10:6443/healthz\nok\n"
    text = LOG + NODES + endpoint("172.29.0.10") + other
    assert finding("apiserver-advertise-wrong", text).strength >= 0.9
    assert finding("apiserver-advertise-wrong", text + itself).state == "ruled-out"


def test_a_control_plane_that_is_no_node() -> None:
    answer = finding("apiserver-advertise-wrong", NODES.replace("control-plane", "<none>") + endpoint("34.118.230.17"))
    assert answer.strength < 0.8
    assert finding("apiserver-advertise-wrong", NODES + endpoint("34.118.230.17")).strength >= 0.8


def test_an_address_that_nobody_suffers_from() -> None:
    text = NODES + endpoint("172.29.0.10")
    ready = "\ncalico-node-zz5tb   1/1   Running   2   9d   192.168.61.12   box2   <none>   <none>\n"
    assert finding("apiserver-advertise-wrong", text).strength >= 0.8
    assert finding("apiserver-advertise-wrong", text + ready).strength < 0.8


def test_two_nodes_with_the_endpoints_address_of_whatever_type() -> None:
    text = """
$ kubectl get ep kubernetes
NAME         ENDPOINTS        AGE
kubernetes   10.0.2.15:6443   1h
$ kubectl get nodes -o custom-columns=N:.metadata.name,IP:.status.addresses[0].address
N         IP
master    10.0.2.15
worker1   {}
$ kubectl -n kube-system logs calico-node-mz2mz
Get "https://10.96.0.1:443/api/v1/nodes/foo": dial tcp 10.96.0.1:443: connect: connection refused
"""
    assert finding("apiserver-advertise-wrong", text.format("10.0.2.15")).rule == "shared-by-nodes"
    assert finding("apiserver-advertise-wrong", text.format("10.0.2.16")).strength < 0.8
