"""TRT3004: a limit and throttled periods; not without a limit, nor where nothing is throttled."""

from __future__ import annotations

from tests.support.doctor import finding

ID = "cpu-throttled"
DESCRIBE = """
$ kubectl -n kube-system describe pod calico-node-mt6bq
Name:         calico-node-mt6bq
Namespace:    kube-system
Node:         edge-2/10.77.0.2
Containers:
  calico-node:
    Image:          calico/node:v3.18.4
    State:          Running
    Ready:          False
    Restart Count:  41
    Limits:
      cpu:     100m
      memory:  512Mi
    Requests:
      cpu:      100m
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
Events:
  Type     Reason     Age                  From     Message
  ----     ------     ----                 ----     -------
  Warning  Unhealthy  8m (x200 over 2d)    kubelet  Liveness probe failed:
"""


def test_a_limit_and_throttled_periods() -> None:
    text = f"""{DESCRIBE}
$ kubectl -n kube-system exec calico-node-mt6bq -- cat /sys/fs/cgroup/cpu/cpu.stat
nr_periods 184220
nr_throttled 97311
throttled_time 8801223344551
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "cpu: 100m" in answer.objects


def test_all_of_the_limit_is_used() -> None:
    text = f"""{DESCRIBE}
$ kubectl -n kube-system top pod calico-node-mt6bq
NAME                CPU(cores)   MEMORY(bytes)
calico-node-mt6bq   100m         101Mi
[root@edge-2 ~]# uptime
 11:00:20 up 12 days,  1 user,  load average: 0.40, 0.38, 0.35
"""
    assert finding(ID, text).strength >= 0.8


def test_no_throttling_no_cause() -> None:
    text = f"""{DESCRIBE}
$ kubectl -n kube-system exec calico-node-mt6bq -- cat /sys/fs/cgroup/cpu/cpu.stat
nr_periods 184220
nr_throttled 0
throttled_time 0
"""
    assert finding(ID, text).state == "ruled-out"


def test_a_limit_alone_is_no_claim() -> None:
    assert finding(ID, DESCRIBE).strength < 0.8


def test_no_limit_rules_it_out() -> None:
    text = DESCRIBE.replace("    Limits:\n      cpu:     100m\n      memory:  512Mi\n", "")
    assert finding(ID, text).state == "ruled-out"


COUNTS = """
$ kubectl -n {of} exec {pod} -- cat /sys/fs/cgroup/cpu.stat
nr_periods 120033
nr_throttled 90211
$ kubectl -n kube-system get pods | grep calico-node
calico-node-hh2k9   0/1   Running   4   12d
"""


def test_counts_of_another_pod_are_that_pods() -> None:
    assert finding(ID, COUNTS.format(of="kube-system", pod="calico-node-hh2k9")).strength >= 0.9
    assert finding(ID, COUNTS.format(of="ml", pod="worker-0")).state != "found"


def test_counts_of_an_unknown_group_are_no_claim() -> None:
    text = "root@gpu-3:~# cat /sys/fs/cgroup/kubepods.slice/kubepods-pod77aa.slice/cpu.stat\nnr_throttled 90211\n"
    assert finding(ID, text).strength < 0.8


ALERT = (
    "CPUThrottlingHigh: {share} throttling of CPU in namespace kube-system for container {name} in pod c-2wsz8\n"
    "  Warning  Unhealthy  3m (x811 over 5d)  kubelet  Readiness probe failed:\n"
)


def test_the_alert_of_prometheus() -> None:
    answer = finding(ID, ALERT.format(share="93.4%", name="calico-node"))
    assert (answer.rule, answer.strength >= 0.9, answer.value("share")) == ("alerted", True, "93.4%")
    assert finding(ID, ALERT.format(share="93.4%", name="grafana")).state != "found"
    assert finding(ID, ALERT.format(share="1.2%", name="calico-node")).state != "found"
    quiet = ALERT.format(share="93.4%", name="calico-node").splitlines()[0]
    assert finding(ID, quiet).strength < 0.8  # nobody is harmed


TOLD = """
calico-node's readiness fails now and then, the machines are idle. kubectl top shows it {at}. On the one node where we
removed the {what}limit it is gone.
"""


def test_all_of_the_limit_is_used_as_told() -> None:
    answer = finding(ID, TOLD.format(at="exactly at the limit", what="cpu "))
    assert (answer.rule, answer.strength >= 0.8) == ("told", True)
    assert finding(ID, TOLD.format(at="at half of that", what="cpu ")).state != "found"
    assert finding(ID, TOLD.format(at="at the memory limit", what="memory ")).state != "found"
