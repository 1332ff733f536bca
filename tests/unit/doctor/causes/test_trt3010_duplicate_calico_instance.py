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


def test_a_container_that_an_old_runtime_left_behind() -> None:
    text = f"""
{BIND}
root@wk-9:~# crictl ps --name calico-node
CONTAINER       IMAGE           CREATED          STATE     NAME          ATTEMPT   POD ID          POD
5d0c1b2a39481   1f0e2d3c4b5a6   40 seconds ago   Running   calico-node   31        0a9b8c7d6e5f4   calico-node-new4q
root@wk-9:~# docker ps
CONTAINER ID   IMAGE          COMMAND         CREATED       STATUS       PORTS   NAMES
c4d5e6f70819   calico/node    "start_runit"   5 weeks ago   Up 5 weeks           k8s_calico-node_calico-node-old7x_kube-system_77_0
$ kubectl -n kube-system get pod -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP         NODE
calico-node-new4q   0/1     Running   31         9h    10.8.0.9   wk-9
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert answer.objects[:2] == ("c4d5e6f70819", "calico-node-old7x")


def test_one_container_seen_by_two_commands_is_one() -> None:
    row = "5d0c1b2a39481   1f0e2d3c4b5a6   2 days ago   Running   calico-node   0   0a9b8c7d6e5f4   calico-node-new4q"
    assert (
        finding(ID, f"root@wk-9:~# crictl ps\n{row}\nroot@wk-9:~# crictl ps --name calico-node\n{row}").state != "found"
    )


def test_the_same_port_on_another_host_is_no_second_instance() -> None:
    text = """
[root@wk-8 ~]# ss -lntp
State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process
LISTEN 0      512        127.0.0.1:9099      0.0.0.0:*    users:(("calico-node",pid=3077,fd=25))
[root@wk-9 ~]# ss -lntp
State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process
LISTEN 0      512        127.0.0.1:9091      0.0.0.0:*    users:(("calico-node",pid=4553,fd=10))
LISTEN 0      16                 *:9099            *:*    users:(("node_exporter",pid=3676,fd=3))
[root@wk-9 ~]# kubectl -n kube-system logs calico-node-dbpw2
2026-11-16 16:21:52.847 [ERROR][4553] felix/health.go 296: Health endpoint failed, trying to restart it... error=listen tcp 127.0.0.1:9099: bind: address already in use
[root@wk-9 ~]# kubectl -n kube-system get pod -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP         NODE
calico-node-dbpw2   0/1     Running   1          9m    10.8.0.9   wk-9
calico-node-aaaaa   1/1     Running   0          9m    10.8.0.8   wk-8
"""
    assert finding(ID, text).state != "found"


def test_two_listings_of_one_agent_that_was_restarted() -> None:
    first = "root@lab4:~# ps -ef | grep felix\nroot      21121  21090  3 10:01 ?        00:00:41 calico-node -felix\n"
    later = (
        "root@lab4:~# date; ps -ef | grep felix\nroot      30777  30701  4 10:19 ?        00:00:22 calico-node -felix\n"
    )
    assert finding(ID, first + later).state != "found"
    both = first + later.partition("\n")[2]
    assert finding(ID, both).strength >= 0.9


def test_a_machine_whose_containers_are_the_nodes_sees_all_their_agents() -> None:
    text = """
me@laptop:~$ ps aux | grep 'calico-node -felix'
root       10211  2.1  0.4 1890332 70012 ?   Sl   09:01   0:20 calico-node -felix
root       10543  2.0  0.4 1890332 70900 ?   Sl   09:01   0:19 calico-node -felix
me@laptop:~$ kubectl get pods -n kube-system -o wide | grep calico-node
calico-node-6qk8d   1/1   Running   0   30m   172.18.0.2   {first}    <none>   <none>
calico-node-9vbz4   0/1   Running   0   30m   172.18.0.3   kind-two   <none>   <none>
"""
    assert finding(ID, text.format(first="kind-one")).state != "found"
    assert finding(ID, text.format(first="laptop")).strength >= 0.9


def test_a_listing_without_namespaces_shows_the_same_daemonset_again() -> None:
    text = """
NAMESPACE     NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
kube-system   calico-node   3         3         2       3            2           kubernetes.io/os=linux   80d

NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
calico-node   3         3         2       3            2           kubernetes.io/os=linux   80d
"""
    assert finding(ID, text).state != "found"
