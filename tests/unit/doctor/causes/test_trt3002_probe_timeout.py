"""TRT3002: nothing follows `probe failed:` and the limit is a second; not where a reason follows."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "probe-timeout"
EVENTS = """
Events:
  Type     Reason     Age                   From     Message
  ----     ------     ----                  ----     -------
  Warning  Unhealthy  4m2s (x88 over 3h5m)  kubelet  Readiness probe failed:
  Normal   Killing    2m2s (x7 over 3h)     kubelet  Container calico-node failed liveness probe, will be restarted
"""


def test_empty_text_and_a_limit_of_a_second() -> None:
    text = f"""
$ kubectl -n calico-system describe pod calico-node-2x8rj
Name:         calico-node-2x8rj
Namespace:    calico-system
Node:         big-17/10.4.4.17
Containers:
  calico-node:
    Image:          docker.io/calico/node:v3.19.1
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
    Readiness:  exec [/bin/calico-node -felix-ready -bird-ready] delay=0s timeout=1s period=10s #success=1 #failure=3
{EVENTS}
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "timeout=1s" in answer.objects
    assert "calico-node-2x8rj" in " ".join(answer.objects)


def test_kubelet_names_the_command() -> None:
    text = """
After moving from 1.19 to 1.22 calico restarts all day on our largest hosts.

Warning  Unhealthy  57s  kubelet  Liveness probe failed: command "/bin/calico-node -felix-live -bird-live" timed out
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "timeoutSeconds" in answer.objects


def test_measured_longer_than_the_limit() -> None:
    text = f"""
{EVENTS}
$ kubectl -n kube-system get ds calico-node -o yaml | grep -A3 timeoutSeconds
          timeoutSeconds: 1
$ kubectl -n kube-system describe ds calico-node | grep Liveness
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
$ kubectl -n kube-system exec calico-node-q7c9z -- sh -c 'time /bin/calico-node -felix-live -bird-live'
real    0m1.904s
user    0m0.3s
sys     0m0.2s
"""
    assert finding(ID, text).strength >= 0.95


def test_a_reason_after_the_colon_is_no_time_out() -> None:
    text = """
  Warning  Unhealthy  5m   kubelet  Readiness probe failed: calico/node is not ready: felix is not ready: readiness probe reporting 503
    Readiness:  exec [/bin/calico-node -felix-ready -bird-ready] delay=0s timeout=1s period=10s #success=1 #failure=3
"""
    assert finding(ID, text).state == "ruled-out"


def test_a_reason_on_the_next_line_is_no_time_out() -> None:
    text = """
  Warning  Unhealthy  5m (x20 over 9m)  kubelet  Readiness probe failed:
calico/node is not ready: BIRD is not ready: BGP not established with 10.4.4.18
"""
    assert finding(ID, text).state == "ruled-out"


def test_a_generous_limit_is_not_the_cause() -> None:
    text = f"""
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=10s period=10s #success=1 #failure=6
    Readiness:  exec [/bin/calico-node -felix-ready -bird-ready] delay=0s timeout=10s period=10s #success=1 #failure=3
{EVENTS}
"""
    assert finding(ID, text).state == "ruled-out"


def test_on_a_starved_host_the_load_comes_first() -> None:
    text = f"""
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
{EVENTS}
root@big-17:~# uptime
 08:00:12 up 90 days,  2:11,  3 users,  load average: 412.11, 399.30, 350.90
"""
    assert finding(ID, text).strength < 0.8


LATE = """
  Warning  Unhealthy  52m (x61 over 9d)  kubelet  Liveness probe failed: command "/bin/calico-node -felix-live -bird-live" timed out

{told}
"""


def test_a_limit_that_is_told_to_be_generous_is_not_to_blame() -> None:
    assert finding(ID, LATE.format(told="We see that on some of our nodes.")).strength >= 0.9
    assert finding(ID, LATE.format(told="timeoutSeconds is 10 for both of the probes.")).state == "ruled-out"


def test_a_release_with_generous_limits_needs_them_shown() -> None:
    assert finding(ID, LATE.format(told="* Calico version v3.24.1")).strength < 0.8
    assert finding(ID, LATE.format(told="* Calico version v3.18.1")).strength >= 0.9


OTHERS = """
$ kubectl -n kube-system get pods | grep calico-node
calico-node-9dptm   0/1   Running   0   9d
$ kubectl get events -A
NAMESPACE     LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
{namespace}   2m2s        Warning   Unhealthy   pod/{pod}   Liveness probe failed: command "{command}" timed out
$ kubectl -n kube-system get ds calico-node -o yaml | grep -A8 livenessProbe
        livenessProbe:
          exec:
            command:
            - /bin/calico-node
            - -felix-live
          failureThreshold: 6
          timeoutSeconds: 1
"""


def test_the_event_of_another_pod_is_that_pods() -> None:
    theirs = OTHERS.format(namespace="shop", pod="checkout-7bb9dd5c5c-9xk2p", command="sh -c /live.sh")
    assert finding(ID, theirs).strength < 0.8
    ours = OTHERS.format(namespace="kube-system", pod="calico-node-9dptm", command="/bin/calico-node -felix-live")
    assert finding(ID, ours).strength >= 0.9


def test_kubelets_own_log_names_the_pod() -> None:
    old = 'I0211 09:00:01.332311    4411 prober.go:117] Liveness probe for "{pod}_{namespace}(1f):main" failed (failure): command "/bin/check -live" timed out'
    new = 'I0211 09:00:01.332311    4411 prober.go:107] "Probe failed" probeType="Liveness" pod="{namespace}/{pod}" podUID=1f containerName="main" probeResult="failure" output="command \\"/bin/check -live\\" timed out"'
    for line in (old, new):
        assert finding(ID, line.format(pod="calico-node-2ml8k", namespace="kube-system")).strength >= 0.9
        assert finding(ID, line.format(pod="checkout-7bb9dd5c5c-9xk2p", namespace="shop")).strength < 0.8


SILENT = """
calico v3.16.6 / k8s v1.20.1 / Ubuntu 18.04

calico-node-c67tx   0/1   CrashLoopBackOff   129   4d4h   10.1.2.61   heron-1

Events:
  Warning  Unhealthy  12m (x26725 over 12d)   kubelet  Readiness probe failed:
  Warning  BackOff    2m2s (x42070 over 11d)  kubelet  Back-off restarting failed container
"""


def test_a_readiness_probe_without_a_reason_does_not_explain_a_crash() -> None:
    assert finding("probe-timeout", SILENT).strength < 0.8
    assert finding("probe-timeout", SILENT.replace("Readiness", "Liveness")).strength >= 0.8
    assert finding("probe-timeout", SILENT.replace("CrashLoopBackOff", "Running")).strength >= 0.8
