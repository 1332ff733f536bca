"""TRT3006: a foreign owner of the health port; another Felix there is another cause."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "port-9099-conflict"
BIND = (
    "2021-11-02 08:14:02.730 [ERROR][77] felix/health.go 246: Health endpoint failed, trying to restart it... "
    "error=listen tcp 127.0.0.1:9099: bind: address already in use"
)
FOREIGN = (
    "State    Recv-Q   Send-Q     Local Address:Port     Peer Address:Port\n"
    'LISTEN   0        128            127.0.0.1:9099          0.0.0.0:*      users:(("minio",pid=2201,fd=9))'
)


def test_a_foreign_owner() -> None:
    text = f"$ kubectl -n kube-system logs calico-node-x7k2p --tail 1\n{BIND}\n[root@st-5 ~]# ss -lntp 'sport = :9099'\n{FOREIGN}"
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "9099" in answer.objects
    assert "minio" in " ".join(answer.objects)


def test_the_bind_error_alone() -> None:
    answer = finding(ID, f"升级监控后 calico-node 一直重启：\n{BIND}\n{BIND}")
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_another_felix_is_another_cause() -> None:
    owner = FOREIGN.replace("minio", "calico-felix")
    text = f"{BIND}\n[root@st-5 ~]# ss -lntp 'sport = :9099'\n{owner}"
    assert finding(ID, text).state == "ruled-out"


def test_another_port_is_no_matter() -> None:
    text = "E0101 00:00:00.0 1 serve.go:10] listen tcp :8080: bind: address already in use"
    assert finding(ID, text).state == "cannot-tell"


def test_refused_alone_is_not_enough() -> None:
    text = "Liveness probe failed: Get http://127.0.0.1:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused"
    assert finding(ID, text).state == "cannot-tell"


def test_a_container_for_which_docker_forwards_the_port() -> None:
    text = """
  Warning  Unhealthy  9s (x6 over 1m)  kubelet  Liveness probe failed: calico/node is not ready: Felix is not live: liveness probe reporting 404
[root@m-12 ~]# docker ps
CONTAINER ID   IMAGE          COMMAND    CREATED      STATUS      PORTS                     NAMES
a7be01d2c3f4   reg/portal:2   "/portal"  2 days ago   Up 2 days   0.0.0.0:9099->8080/tcp    portal
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert {"portal", "m-12"} <= set(answer.objects)


def test_felix_that_says_503_is_itself() -> None:
    text = "  Warning  Unhealthy  9s  kubelet  Readiness probe failed: calico/node is not ready: felix is not ready: readiness probe reporting 503"
    assert finding(ID, text).strength < 0.4


def test_who_has_the_usual_port_is_in_nobodys_way_when_felix_has_another() -> None:
    owner = """
root@n3:~# ss -lntp | grep 9099
LISTEN 0  4096          *:9099        *:*  users:(("inv-agent",pid=811,fd=5))
$ kubectl -n kube-system get pods | grep calico-node
calico-node-4m7cf   0/1   Running   0   20d
"""
    moved = """
$ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 HEALTHPORT
        - name: FELIX_HEALTHPORT
          value: "9199"
"""
    assert finding(ID, owner).state == "found"
    assert finding(ID, owner + moved).state == "ruled-out"


def test_no_probe_asks_for_metrics() -> None:
    line = "2024-03-04 08:00:12.100 [ERROR][55] felix/daemon.go 980: endpoint failed, trying to restart it... error=listen tcp :{port}: bind: address already in use\n"
    pods = "$ kubectl -n kube-system get pods | grep calico-node\ncalico-node-2ttvd   0/1   Running   0   9d\n"
    assert finding(ID, line.format(port=9091) + pods).strength < 0.8
    assert finding(ID, line.format(port=9099) + pods).strength >= 0.8
