"""Order of evidence behind a wrong address, and what is not to be called wrong."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY
from tortie.doctor.causes.nodes.trt1001_autodetect_wrong_interface import CAUSE, fix

ID = "autodetect-wrong-interface"

STORAGE_NETWORK = """
$ kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[0].address,CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'
NAME    INTERNAL       CALICO
rack1   192.0.2.31     10.40.7.31/24
rack2   192.0.2.32     10.40.7.32/24
rack3   192.0.2.33     10.40.7.33/24
[root@rack2 ~]# calicoctl node status
| 10.40.7.31   | node-to-node mesh | up    | 2023-11-02 | Established |
| 10.40.7.33   | node-to-node mesh | {state} | 2023-11-02 | {info} |
"""  # noqa: E501


def test_sessions_on_the_registered_addresses_make_them_right() -> None:
    answer = finding(ID, STORAGE_NETWORK.format(state="up   ", info="Established"))
    assert answer.state == "ruled-out"
    assert answer.evidence


def test_a_session_down_on_such_an_address_does_not() -> None:
    answer = finding(ID, STORAGE_NETWORK.format(state="start", info="Active Socket: Connection timed out"))
    assert answer.state == "found"
    assert "10.40.7.33" in answer.objects


def test_the_chain_says_who_owns_what_before_who_complains() -> None:
    text = """
    $ kubectl -n kube-system describe pod calico-node-bb7q2 | tail -1
      Warning  Unhealthy  4s (x900 over 3h)  kubelet, lab-a  Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 192.168.99.12
    root@lab-b:~# calicoctl node status
    | 10.31.0.11 | node-to-node mesh | start | 2021-03-04 | Passive |
    $ kubectl get pod -A -o wide | grep calico-node
    kube-system   calico-node-bb7q2   0/1   Running   0   9d   10.31.0.11   lab-a   <none>   <none>
    kube-system   calico-node-x9c4d   0/1   Running   0   9d   10.31.0.12   lab-b   <none>   <none>
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert [place.first for place in answer.evidence][:3] == [7, 2, 4]


def test_a_summary_begins_like_a_sentence() -> None:
    text = """
    $ kubectl get nodes -o wide
    NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP
    f1     Ready    master   9d    v1.24.0   10.77.0.1
    f2     Ready    <none>   9d    v1.24.0   10.77.0.2
    f3     Ready    <none>   9d    v1.24.0   10.77.0.3
    Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 172.18.0.1
    """
    answer = finding(ID, text)
    assert answer.why.en.startswith("A node registered 172.18.0.1")
    assert answer.why.zh.startswith("某个节点注册了 172.18.0.1")


def test_nobody_suffers_so_nothing_is_restarted_for_it() -> None:
    text = """
    $ kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[0].address,CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'
    NAME   INTERNAL     CALICO
    h1     10.50.0.1    10.60.0.1/24
    h2     10.50.0.2    10.60.0.2/24
    $ kubectl -n kube-system get pod -l k8s-app=calico-node -o wide
    NAME                READY   STATUS    RESTARTS   AGE   IP          NODE
    calico-node-h1h1h   1/1     Running   0          80d   10.50.0.1   h1
    calico-node-h2h2h   1/1     Running   0          80d   10.50.0.2   h2
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.aside
    assert "wrong place" not in answer.why.en
    assert fix(picture(text), answer)[0].risk == "safe"


def test_the_end_of_a_start_needs_a_contested_address() -> None:
    assert "start-terminated" not in CAUSE.explains
