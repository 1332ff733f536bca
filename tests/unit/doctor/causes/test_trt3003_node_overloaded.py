"""TRT3003: needs the load, in numbers or words; a kill by liveness alone is no proof."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "node-overloaded"
TIMEOUT = (
    '  Warning  Unhealthy  3m (x40 over 31m)  kubelet, kvm-31  Liveness probe failed: Get "http://127.0.0.1:9099/liveness": '
    "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
)
PODS = """
$ kubectl get pod -n kube-system -o wide | grep calico-node
calico-node-8v6gs   1/1   Running            0     9d    10.0.9.30   kvm-30
calico-node-kd4wp   0/1   CrashLoopBackOff   14    50m   10.0.9.31   kvm-31
"""


def test_load_far_above_the_cores() -> None:
    text = f"""{PODS}
$ kubectl -n kube-system describe pod calico-node-kd4wp | tail -1
{TIMEOUT}
root@kvm-31:~# uptime
 17:03:51 up 210 days,  4:31,  2 users,  load average: 143.20, 139.87, 120.04
root@kvm-31:~# nproc
12
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "kvm-31" in answer.objects


def test_a_person_says_so() -> None:
    text = """
The calico-node pods of two workers, gpu-3 and gpu-8, crash-loop. All other nodes are fine.

Liveness probe failed: Get http://localhost:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused

We logged in to gpu-3 and gpu-8: the load there is 60 times higher than on the healthy nodes.
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "gpu-3" in answer.objects


def test_no_idle_time_in_top() -> None:
    text = f"""{PODS}
{TIMEOUT}
root@kvm-31:~# top -b -n1 | head -4
top - 17:05:10 up 210 days,  4:33,  2 users,  load average: 151.02, 141.77, 122.31
Tasks: 912 total, 160 running, 752 sleeping,   0 stopped,   0 zombie
%Cpu(s): 91.2 us,  8.8 sy,  0.0 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st
"""
    assert finding(ID, text).strength >= 0.9


def test_normal_load_rules_it_out() -> None:
    text = f"""{PODS}
{TIMEOUT}
root@kvm-31:~# uptime
 17:03:51 up 210 days,  4:31,  2 users,  load average: 0.62, 0.58, 0.60
"""
    assert finding(ID, text).state == "ruled-out"


def test_without_the_load_it_stays_a_candidate() -> None:
    text = f"""{PODS}
  Warning  Unhealthy  3m   kubelet, kvm-31  Liveness probe failed: Get http://127.0.0.1:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused
  Normal   Killing    3m   kubelet, kvm-31  Container calico-node failed liveness probe, will be restarted
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert 0.2 < answer.strength < 0.8
    assert "kvm-31" in answer.objects


def test_load_without_any_symptom_is_no_claim() -> None:
    text = """
root@kvm-31:~# uptime
 17:03:51 up 210 days,  4:31,  2 users,  load average: 143.20, 139.87, 120.04
$ kubectl get pod -n kube-system -l k8s-app=calico-node
NAME                READY   STATUS    RESTARTS   AGE
calico-node-8v6gs   1/1     Running   0          9d
"""
    assert finding(ID, text).strength < 0.8


def test_the_busy_disk_and_the_greedy_program_are_named() -> None:
    text = f"""{PODS}
{TIMEOUT}
[root@kvm-31 ~]# top -b -n1 | head -9
top - 10:00:00 up 9 days,  1 user,  load average: 70.10, 66.00, 60.20
%Cpu(s):  3.0 us,  4.0 sy,  0.0 ni,  1.0 id, 92.0 wa,  0.0 hi,  0.0 si,  0.0 st
  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND
 4410 root      20   0  118204   3912   1020 D  22.2  0.0  41:03.77 rsync
[root@kvm-31 ~]# nproc
8
[root@kvm-31 ~]# iostat -x 1 1
Device   r/s   w/s  r_await  w_await  aqu-sz  %util
sdc    80.00 10.00   900.10  1200.00   99.00 100.00
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert {"kvm-31", "sdc", "rsync"} <= set(answer.objects)


def test_the_load_of_another_node_is_not_blamed() -> None:
    text = """
[root@gpu-12 ~]# uptime
 09:12:44 up 88 days,  load average: 301.77, 290.40, 266.13
[root@gpu-7 ~]# uptime
 09:13:02 up 88 days,  load average: 0.61, 0.55, 0.58
$ kubectl get pod -n kube-system -o wide | grep calico-node
calico-node-m4t9d   1/1   Running            0             88d   10.31.0.12   gpu-12
calico-node-q8zlw   0/1   CrashLoopBackOff   21 (1m ago)   2h    10.31.0.7    gpu-7
  Normal   Killing    2m (x21 over 2h)  kubelet  Container calico-node failed liveness probe, will be restarted
"""
    answer = finding(ID, text)
    assert answer.state == "ruled-out"
    assert "gpu-7" in answer.why.en


def test_people_say_whose_load_it_is() -> None:
    rows = """
calico-node-q8zlw   0/1   CrashLoopBackOff   21 (1m ago)   2h    10.31.0.7    gpu-7
  Normal   Killing    2m (x21 over 2h)  kubelet  Container calico-node failed liveness probe, will be restarted
"""
    other = "gpu-7 上 calico-node 反复重启，gpu-12 负载很高，不过 gpu-12 没有问题。\n" + rows
    assert finding(ID, other).strength < 0.8
    own = "gpu-12 上 calico-node 正常，gpu-7 负载很高，是平时的几十倍。\n" + rows
    assert finding(ID, own).strength >= 0.8
    noted = (
        "gpu-7: load average: 480.10, 470.00, 433.90 (32 cores)\ngpu-12: load average: 0.40, 0.30, 0.31 (32 cores)\n"
    )
    answer = finding(ID, noted + rows)
    assert answer.strength >= 0.8
    assert "gpu-7" in answer.objects


def test_rows_that_are_not_shown_are_not_ready() -> None:
    text = """
$ kubectl -n kube-system get ds calico-node
NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
calico-node   7         7         5       7            5           kubernetes.io/os=linux   31d
$ kubectl -n kube-system get pod -l k8s-app=calico-node | head -3
NAME                READY   STATUS    RESTARTS   AGE
calico-node-2cbhx   1/1     Running   0          31d
calico-node-5vv6m   1/1     Running   0          31d
"""
    assert finding(ID, text).state != "ruled-out"
