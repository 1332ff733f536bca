"""TRT3001: a start that advances to the end of the window; not one that gave up or runs on a busy host."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "liveness-window-too-short"
PROBE = """
        livenessProbe:
          failureThreshold: 6
          httpGet:
            path: /liveness
            port: 9099
          initialDelaySeconds: 10
          periodSeconds: 10
          timeoutSeconds: 1
"""


def _reads(start: int, count: int, step: int) -> str:
    lines = ["2018-06-12 04:10:00.100 [INFO][9] startup.go 252: Early log level set to debug"]
    for n in range(count):
        at = start + n * step
        lines.append(
            f"2018-06-12 04:{10 + at // 60:02d}:{at % 60:02d}.400 [DEBUG][9] etcd.go 221: "
            f"Get Key: /calico/bgp/v1/host/hk-rack{n:02d}/ip_addr_v4"
        )
    return "\n".join(lines)


def test_a_log_that_advances_until_the_window_ends() -> None:
    text = f"""
$ kubectl -n kube-system logs -p calico-node-rk2vd
{_reads(1, 15, 4)}
$ kubectl -n kube-system get ds calico-node -o yaml | grep -A8 livenessProbe
{PROBE}
$ kubectl -n kube-system get pod calico-node-rk2vd
NAME                READY   STATUS             RESTARTS   AGE
calico-node-rk2vd   0/1     CrashLoopBackOff   11         40m
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "livenessProbe" in answer.objects
    assert "57 s" in answer.why.en or "58 s" in answer.why.en
    assert answer.evidence


def test_killed_in_the_middle_on_an_idle_host() -> None:
    text = """
新扩容的节点 calico-node 反复重启，老节点没有问题。

[root@gz-n88 ~]# kubectl -n kube-system describe pod calico-node-hn5lx | grep -A6 'Last State'
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
      Started:      Tue, 02 Apr 2019 10:00:05 +0800
      Finished:     Tue, 02 Apr 2019 10:01:12 +0800
[root@gz-n88 ~]# kubectl -n kube-system logs -p calico-node-hn5lx
2019-04-02 10:00:06.110 [INFO][8] startup.go 256: Early log level set to info
2019-04-02 10:00:06.311 [INFO][8] startup.go 97: Skipping datastore connection test
2019-04-02 10:00:08.512 [INFO][8] startup.go 584: Using autodetected IPv4 address on interface eth0: 10.7.8.88/24
[root@gz-n88 ~]# kubectl -n kube-system describe pod calico-node-hn5lx | grep -e Liveness -e Killing
    Liveness:       http-get http://localhost:9099/liveness delay=10s timeout=1s period=10s #success=1 #failure=6
  Normal   Killing    2m (x9 over 20m)  kubelet, gz-n88  Container calico-node failed liveness probe, will be restarted
  Warning  Unhealthy  2m (x60 over 20m) kubelet, gz-n88  Liveness probe failed: Get http://localhost:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused
[root@gz-n88 ~]# uptime
 10:22:31 up 3 days,  1:02,  1 user,  load average: 0.21, 0.30, 0.28
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_times_and_objects_are_those_of_the_pod_that_is_killed() -> None:
    """Others that started at another time, and run well, are neither measured nor named."""
    text = """
$ kubectl -n kube-system get pods -o wide
NAME                READY   STATUS    RESTARTS       AGE   IP         NODE
calico-node-b7w2q   1/1     Running   0              20m   10.7.8.1   n1
calico-node-hn5lx   0/1     Running   3 (40s ago)    5m    10.7.8.2   n2
$ kubectl -n kube-system get events
LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
2m          Normal    Started     pod/calico-node-b7w2q   Started container calico-node
40s         Normal    Started     pod/calico-node-hn5lx   Started container calico-node
40s         Normal    Killing     pod/calico-node-hn5lx   Container calico-node failed liveness probe, will be restarted
$ kubectl -n kube-system describe pod calico-node-hn5lx
Name:         calico-node-hn5lx
Namespace:    kube-system
Node:         n2/10.7.8.2
Containers:
  calico-node:
    State:          Running
    Last State:     Terminated
      Reason:       Error
      Exit Code:    143
      Started:      Tue, 02 Apr 2019 10:00:05 +0800
      Finished:     Tue, 02 Apr 2019 10:01:12 +0800
    Ready:          False
    Restart Count:  3
    Liveness:       http-get http://localhost:9099/liveness delay=10s timeout=1s period=10s #success=1 #failure=6
$ kubectl -n kube-system logs calico-node-b7w2q
2019-04-02 09:45:06.110 [INFO][8] startup.go 256: Early log level set to info
2019-04-02 09:45:06.311 [INFO][8] startup.go 97: Skipping datastore connection test
$ kubectl -n kube-system logs -p calico-node-hn5lx
2019-04-02 10:00:06.110 [INFO][8] startup.go 256: Early log level set to info
2019-04-02 10:00:06.311 [INFO][8] startup.go 97: Skipping datastore connection test
[root@n2 ~]# uptime
 10:22:31 up 3 days,  1:02,  1 user,  load average: 0.21, 0.30, 0.28
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert "67 s after its start" in answer.why.en
    assert "calico-node-hn5lx" in answer.objects
    assert "calico-node-b7w2q" not in answer.objects


def test_a_start_that_says_terminating_ended_by_itself() -> None:
    text = f"""
$ kubectl -n kube-system logs -p calico-node-rk2vd
{_reads(1, 15, 4)}
2018-06-12 04:11:00.400 [ERROR][9] startup.go 1010: Unable to set node resource configuration
2018-06-12 04:11:00.401 [WARNING][9] startup.go 1058: Terminating
"""
    assert finding(ID, text).state == "ruled-out"


def test_an_overloaded_host_is_another_cause() -> None:
    text = f"""
$ kubectl -n kube-system logs -p calico-node-rk2vd
{_reads(1, 15, 4)}
[root@n7 ~]# uptime; nproc
 10:22:31 up 3 days,  1:02,  1 user,  load average: 190.21, 180.30, 170.28
8
"""
    assert finding(ID, text).state == "ruled-out"


def test_the_symptom_alone_is_no_claim() -> None:
    text = """
calico-node-abcde 0/1 CrashLoopBackOff 8 20m
Liveness probe failed: Get http://127.0.0.1:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused
"""
    assert finding(ID, text).strength < 0.8


def test_a_healthy_pod_is_no_matter() -> None:
    text = """
$ kubectl get pod -n kube-system -l k8s-app=calico-node
NAME                READY   STATUS    RESTARTS   AGE
calico-node-rk2vd   1/1     Running   0          40m
$ kubectl -n kube-system describe pod calico-node-rk2vd | tail -1
  Warning  Unhealthy  40m  kubelet  Liveness probe failed: Get http://127.0.0.1:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused
"""
    assert finding(ID, text).state == "ruled-out"


def test_waiting_for_the_datastore_is_no_progress() -> None:
    text = """
2022-10-31 07:47:16.000 [INFO][9] startup/startup.go 425: Early log level set to info
2022-10-31 07:47:46.000 [INFO][9] startup/startup.go 479: Hit error connecting to datastore - retry error=Get "https://10.96.0.1:443/api/v1/nodes/foo": dial tcp 10.96.0.1:443: i/o timeout
2022-10-31 07:48:17.000 [INFO][9] startup/startup.go 479: Hit error connecting to datastore - retry error=Get "https://10.96.0.1:443/api/v1/nodes/foo": dial tcp 10.96.0.1:443: i/o timeout
calico-node-abcde 0/1 CrashLoopBackOff 8 20m
  Normal   Killing    3m  kubelet  Container calico-node failed liveness probe, will be restarted
"""
    assert finding(ID, text).state == "ruled-out"


def test_nobody_who_was_never_restarted_was_cut_off() -> None:
    log = """
2026-11-16 16:22:10.000 [INFO][9] startup/startup.go 425: Early log level set to info
2026-11-16 16:22:40.000 [INFO][9] startup/startup.go 479: Checking datastore connection
2026-11-16 16:23:10.000 [WARNING][9] startup/startup.go 479: Checking datastore connection
"""
    rows = "$ kubectl get pod -A\nNAME                READY   STATUS    RESTARTS   AGE\n"
    rows += "calico-node-shw9h   0/1     Running   0          2m\n"
    assert finding(ID, rows + log).state == "ruled-out"
