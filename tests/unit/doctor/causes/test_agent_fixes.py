"""What to do about an agent that does not start or answer: on the object, the owner and the release that are shown."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import Finding
from tortie.doctor.causes.culprits import Culprit
from tortie.doctor.causes.steps import Step
from tortie.doctor.judgement.filling import common_values

KILLED = """
  Normal   Killing    2m (x9 over 20m)  kubelet  Container calico-node failed liveness probe, will be restarted
  Warning  Unhealthy  2m (x60 over 20m) kubelet  Liveness probe failed: Get http://localhost:9099/liveness: dial tcp 127.0.0.1:9099: connect: connection refused
"""


def steps(cause: str, text: str) -> tuple[Finding, list[Step]]:
    """The finding, and its fix as it is handed out."""
    known, seen = cause_named(cause), picture(text)
    assert known is not None
    answer = known.judge(seen)
    return answer, [step.fill(common_values(seen, answer)) for step in known.fix(seen, answer)]


def commands(cause: str, text: str) -> str:
    answer, found = steps(cause, text)
    assert answer.state == "found"
    return "\n".join(step.command for step in found)


def test_a_wide_window_becomes_wider_never_narrower() -> None:
    text = f"""
$ kubectl -n kube-system describe pod calico-node-hn5lx | grep Liveness
    Liveness:       http-get http://localhost:9099/liveness delay=90s timeout=1s period=20s #success=1 #failure=12
{KILLED}"""
    told = commands("liveness-window-too-short", text)
    assert '"initialDelaySeconds":90,"failureThreshold":28' in told  # 90 + 27 x 20 = 630 s, twice 310 s


def test_the_operators_probes_are_not_patched() -> None:
    pods = "$ kubectl -n calico-system get pods\nNAME                READY   STATUS    RESTARTS   AGE\ncalico-node-hn5lx   0/1     Running   9   20m\n"
    assert "patch ds" not in commands("liveness-window-too-short", pods + KILLED)
    silent = "  Warning  Unhealthy  4m2s (x88 over 3h5m)  kubelet  Readiness probe failed:\n"
    assert "patch ds" not in commands("probe-timeout", pods + silent)


def test_the_window_is_said_to_be_assumed_where_no_probe_is_shown() -> None:
    answer = finding("liveness-window-too-short", KILLED)
    assert "the probe is not shown" in answer.why.en
    assert "未提供" in answer.why.zh


def test_drain_as_this_kubectl_knows_it_and_no_request_that_is_there() -> None:
    text = """
$ kubectl get nodes
NAME     STATUS   ROLES    AGE   VERSION
kvm-31   Ready    <none>   9d    v1.18.6
$ kubectl -n kube-system describe pod calico-node-kd4wp
Name:         calico-node-kd4wp
Namespace:    kube-system
Node:         kvm-31/10.0.9.31
Containers:
  calico-node:
    State:          Running
    Ready:          False
    Restart Count:  14
    Requests:
      cpu:      250m
Events:
  Warning  Unhealthy  3m (x40 over 31m)  kubelet, kvm-31  Liveness probe failed: Get "http://127.0.0.1:9099/liveness": context deadline exceeded
root@kvm-31:~# uptime; nproc
 17:03:51 up 210 days,  4:31,  2 users,  load average: 143.20, 139.87, 120.04
12
"""
    told = commands("node-overloaded", text)
    assert "kubectl drain kvm-31 --ignore-daemonsets --delete-local-data" in told
    assert "requests" not in told


def test_a_busy_machine_that_is_no_node_is_not_drained() -> None:
    text = """
$ kubectl get nodes
NAME     STATUS   ROLES    AGE   VERSION
kvm-31   Ready    <none>   9d    v1.22.6
root@jump:~# uptime; nproc
 17:03:51 up 210 days,  4:31,  2 users,  load average: 143.20, 139.87, 120.04
12
"""
    _, found = steps("node-overloaded", text)
    assert "drain jump" not in " ".join(step.command for step in found)


def test_memory_of_a_deployment_is_raised_there() -> None:
    text = """
$ kubectl -n kube-system describe pod calico-kube-controllers-6d4b75cb6d-x2x9k
Name:         calico-kube-controllers-6d4b75cb6d-x2x9k
Namespace:    kube-system
Node:         w1/10.0.9.31
Containers:
  calico-kube-controllers:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          False
    Restart Count:  14
    Limits:
      memory:  64Mi
"""
    told = commands("oom-killed", text)
    assert "set resources deploy/calico-kube-controllers -c calico-kube-controllers --limits=memory=128Mi" in told


def test_a_host_without_memory_is_no_matter_of_limits() -> None:
    text = "[12345.6] Out of memory: Killed process 4242 (calico-node) total-vm:1837296kB, anon-rss:64344kB\n"
    told = commands("oom-killed", text)
    assert "limits" not in told
    assert "--sort=-rss" in told


TWO = """
root@wk-9:~# crictl ps --name calico-node
CONTAINER       IMAGE           CREATED          STATE     NAME          ATTEMPT   POD ID          POD
5d0c1b2a39481   1f0e2d3c4b5a6   40 seconds ago   Running   calico-node   31        0a9b8c7d6e5f4   calico-node-new4q
root@wk-9:~# docker ps
CONTAINER ID   IMAGE          COMMAND         CREATED       STATUS       PORTS   NAMES
c4d5e6f70819   calico/node    "start_runit"   5 weeks ago   Up 5 weeks           k8s_calico-node_calico-node-old7x_kube-system_77_0
"""


def test_only_a_container_that_the_api_does_not_know_is_stopped() -> None:
    listed = "$ kubectl -n kube-system get pod -o wide\nNAME                READY   STATUS    RESTARTS   AGE   IP         NODE\ncalico-node-new4q   0/1     Running   31         9h    10.8.0.9   wk-9\n"
    assert "docker stop c4d5e6f70819 && docker rm c4d5e6f70819" in commands("duplicate-calico-instance", TWO + listed)
    unknown = commands("duplicate-calico-instance", TWO)
    assert "c4d5e6f70819" not in unknown
    assert "5d0c1b2a39481" not in unknown


def test_somebody_looked_for_the_pod_in_vain() -> None:
    text = f"{TWO}root@wk-9:~# kubectl get pod -A | grep old7x\nroot@wk-9:~#\n"
    assert "docker stop c4d5e6f70819" in commands("duplicate-calico-instance", text)


def test_beside_the_operators_daemonset_the_other_one_goes() -> None:
    text = """
$ kubectl get ds -A
NAMESPACE       NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE
calico-system   calico-node   3         3         1       3            1           <none>          2d
kube-system     calico-node   3         3         2       3            2           <none>          400d
bird: I found another BIRD running.
"""
    assert "kubectl -n kube-system delete ds calico-node" in commands("duplicate-calico-instance", text)


def test_the_pod_without_variables_is_the_one_that_is_deleted() -> None:
    text = """
$ kubectl -n kube-system exec calico-node-g6r5d -- sh -c 'env | grep KUBERNETES_SERVICE'
command terminated with exit code 1
"""
    assert "delete pod calico-node-g6r5d" in commands("service-env-missing", text)


def test_felix_does_not_see_the_cgroup_that_was_mounted() -> None:
    text = """
2022-10-24 15:42:41.024 [PANIC][91] felix/int_dataplane.go 716: bailing out. error=failed to attach program calico_connect_v4: failed to attach calico_connect_v4 to cgroup /run/calico/cgroup (legacy try operation not permitted): no such file or directory
"""
    answer, found = steps("bpffs-mount-failed", text)
    assert answer.strength >= 0.9
    assert answer.objects[0] == "/run/calico/cgroup"
    told = " ".join(step.command for step in found)
    assert "mount -t cgroup2" in told
    assert "-best-effort" not in told  # eBPF is in use there


def test_limits_and_time_outs_are_spelled_as_people_do() -> None:
    assert {"100m", "resources.limits.cpu"} <= set(Culprit("setting", "cpu: 100m").spellings)
    assert {"timeoutSeconds: 1", "timeoutSeconds"} <= set(Culprit("setting", "timeout=1s").spellings)
