"""TRT3010: a second Felix, BIRD or DaemonSet on one host; a foreign owner of the port is another cause."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "duplicate-calico-instance"
BIND = (
    "2022-05-05 05:05:05.505 [ERROR][90] felix/health.go 246: Health endpoint failed, trying to restart it... "
    "error=listen tcp 127.0.0.1:9099: bind: address already in use"
)


def test_two_felixes() -> None:
    text = f"""
{BIND}
root@wk-9:~# ps -eo pid,lstart,cmd | grep -e '[c]alico-node -felix'
 2190 Mon May  2 08:00:11 2022 calico-node -felix
30118 Thu May  5 05:01:40 2022 calico-node -felix
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "wk-9" in answer.objects


def test_another_bird() -> None:
    text = """
两套 DaemonSet 都调度到了同一台机器：
bird: I found another BIRD running.
$ kubectl get ds -A | grep -e calico -e canal
calico-system   calico-node   5   5   3   5   3   kubernetes.io/os=linux   2d
kube-system     canal         5   5   2   5   2   kubernetes.io/os=linux   400d
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "canal" in " ".join(answer.objects)


def test_two_agents_on_one_node() -> None:
    text = """
$ kubectl get pod -A -o wide | grep calico-node
NAMESPACE       NAME                READY   STATUS    RESTARTS   AGE   IP          NODE   NOMINATED NODE   READINESS GATES
calico-system   calico-node-v2x7p   0/1     Running   9          1h    10.1.0.11   wk-1   <none>           <none>
kube-system     calico-node-7tqqs   0/1     Running   12         90d   10.1.0.11   wk-1   <none>           <none>
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "wk-1" in answer.objects


def test_a_foreign_owner_is_another_cause() -> None:
    text = f"""
{BIND}
root@wk-9:~# ss -lntp 'sport = :9099'
LISTEN 0 128 127.0.0.1:9099 0.0.0.0:* users:(("minio",pid=2201,fd=9))
"""
    assert finding(ID, text).state == "ruled-out"


def test_the_port_alone_is_no_claim() -> None:
    assert finding(ID, BIND).strength < 0.8
