"""TRT2009: the endpoint of the kubernetes service is an address that others cannot use."""

from __future__ import annotations

from tests.support.doctor import finding

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
