"""What a start complained about, and what logs say of the past, is over; what comes again and again is not."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.judgement.judge import judge

PODS = """
$ kubectl get nodes
NAME     STATUS   ROLES    AGE   VERSION
wren     Ready    <none>   9d    v1.21.14
$ kubectl -n kube-system get pods -o wide
NAME                READY   STATUS    RESTARTS   AGE     IP           NODE   NOMINATED NODE   READINESS GATES
calico-node-x7k2p   1/1     Running   {restarts}          {age}   10.31.0.14   wren   <none>           <none>
"""
EVENTS = """
$ kubectl -n kube-system describe pod calico-node-x7k2p | tail -5
Events:
  Type     Reason     Age                 From     Message
  ----     ------     ----                ----     -------
  Warning  Unhealthy  {event}  kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503
"""
PROBE = """
$ kubectl -n kube-system describe pod calico-node-x7k2p
Name:         calico-node-x7k2p
Namespace:    kube-system
Node:         wren/10.31.0.14
Containers:
  calico-node:
    Ready:          True
    Readiness:  http-get http://127.0.0.1:9099/readiness delay=0s timeout=1s period=1s #success=1 #failure=3
"""
JOURNAL = """
[root@wren ~]# date -u
Mon Mar  4 08:20:00 UTC 2024
[root@wren ~]# journalctl -u containerd -n 1 --no-pager
Mar 04 08:{minute}:30 wren containerd[811]: time="2024-03-04T08:{minute}:30.000000000Z" level=error msg="ExecSync for \\"70ca\\" failed"
"""  # noqa: E501


@pytest.mark.parametrize(
    ("age", "restarts", "event", "probe", "verdict"),
    [
        ("40s", "0", "12s (x4 over 38s)", "", "healthy"),  # of the start
        ("9d", "0", "12s (x40 over 9d)", "", "undetermined"),  # ready between two failures
        ("40s", "3", "12s (x4 over 38s)", "", "undetermined"),
        ("9d", "0", "12s (x4 over 38s)", PROBE, "healthy"),  # twelve probes have gone well since
        ("9d", "0", "2s (x4 over 38s)", PROBE, "undetermined"),
    ],
)
def test_when_failed_probes_are_over(age: str, restarts: str, event: str, probe: str, verdict: str) -> None:
    text = probe + PODS.format(age=age, restarts=restarts) + EVENTS.format(event=event)
    assert judge(picture(text)).verdict == verdict


@pytest.mark.parametrize(("minute", "verdict"), [("10", "healthy"), ("19", "undetermined")])
def test_an_error_of_long_ago_in_a_journal_is_history(minute: str, verdict: str) -> None:
    text = PODS.format(age="9d", restarts="0") + JOURNAL.format(minute=minute)
    assert judge(picture(text)).verdict == verdict


KLOG = """
[root@wren ~]# date -u
Mon Mar  4 08:20:00 UTC 2024
[root@wren ~]# journalctl -u kubelet -n 1 --no-pager
Mar 04 {clock} wren kubelet[811]: E0304 {clock}.407711     811 kubelet.go:2376] "Skipping pod synchronization" err="x"
"""


@pytest.mark.parametrize(
    ("clock", "verdict"),
    [
        ("08:10:30", "healthy"),
        ("08:19:50", "undetermined"),
        ("08:20:05", "undetermined"),  # clocks that differ a little
        ("16:10:30", "healthy"),  # of a machine in Shanghai
        ("16:19:50", "undetermined"),
    ],
)
def test_a_line_without_year_and_zone_is_as_old_as_it_must_be(clock: str, verdict: str) -> None:
    text = PODS.format(age="9d", restarts="0") + KLOG.format(clock=clock)
    assert judge(picture(text)).verdict == verdict


ETCD = """
$ etcdctl endpoint health
http://10.31.0.7:2379 is healthy: successfully committed proposal: took = 4.2ms
http://10.31.0.8:2379 is {state}
"""


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        ("unhealthy: failed to commit proposal: context deadline exceeded", ["datastore-error"]),
        ("healthy: successfully committed proposal: took = 3.9ms", []),
    ],
)
def test_members_of_etcd_that_are_not_well_are_a_symptom_though_agents_are(state: str, kinds: list[str]) -> None:
    diagnosis = judge(picture(PODS.format(age="9d", restarts="0") + ETCD.format(state=state)))
    assert [symptom.kind for symptom in diagnosis.symptoms if symptom.current] == kinds
    assert (diagnosis.verdict == "healthy") == (not kinds)


def test_the_agents_own_probe_misses_no_mount() -> None:
    line = (
        "  Warning  Unhealthy  9s  kubelet  Readiness probe failed: calico/node is not ready: BIRD is not ready: "
        "failed to stat() nodename file: stat /var/lib/calico/nodename: no such file or directory\n"
    )
    text = PODS.format(age="40s", restarts="0") + "\n$ kubectl describe pod calico-node-x7k2p | tail -1\n" + line
    assert finding("missing-mount", text).state == "cannot-tell"


def test_services_are_known_where_bird_runs() -> None:
    down = "service bird is not running. Output << down: /etc/service/enabled/bird: 1s, normally up, want up >>"
    events = f"\n$ kubectl describe pod calico-node-x7k2p | tail -1\n  Warning  Unhealthy  9s  kubelet  Liveness probe failed: {down}\n"  # noqa: E501
    sessions = "\n$ calicoctl node status\n| 10.31.0.15 | node-to-node mesh | up | 08:10:01 | Established |\n"
    assert finding("service-env-missing", events).state == "found"
    assert finding("service-env-missing", events + sessions).state == "ruled-out"


def test_a_pod_that_was_scheduled_since_waits_no_more() -> None:
    waited = """
Events:
  Type     Reason            Age                From               Message
  ----     ------            ----               ----               -------
  Warning  FailedScheduling  31m (x3 over 36m)  default-scheduler  0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.
  Normal   Scheduled         29m                default-scheduler  Successfully assigned kube-system/coredns-7c65d6cfc9-4wmbj to wren
"""  # noqa: E501
    pods = PODS.format(restarts=0, age="30m")
    assert judge(picture(pods + waited)).verdict == "healthy"
    assert judge(picture(pods + waited.replace("Scheduled         29m", "Pulled            29m"))).verdict != "healthy"


OLD = {
    "an agent that could not be made": "12m   Warning   FailedCreate   daemonset/calico-node   Error creating: pods "
    '"calico-node-" is forbidden: error looking up service account kube-system/calico-node: not found',
    "kubectl that was refused": "The connection to the server 10.2.0.10:6443 was refused - did you specify the right "
    "host or port?",
}


@pytest.mark.parametrize("what", OLD)
def test_what_was_done_since_is_over(what: str) -> None:
    pods = PODS.format(restarts=0, age="11m")
    assert judge(picture(f"$ kubectl get events -A\n{OLD[what]}\n{pods}")).verdict == "healthy"
    unready = pods.replace("1/1", "0/1")
    assert judge(picture(f"$ kubectl get events -A\n{OLD[what]}\n{unready}")).verdict != "healthy"


CONTROLLERS = """
Is this normal? After the reboot of the control plane on Sunday there are errors in this log. All works now.

$ kubectl get pod -n kube-system -o wide
NAME                                      READY   STATUS    RESTARTS     AGE   IP            NODE
calico-kube-controllers-57b57c56f-l2fjm   {ready}/1     Running   4 (2d ago)   90d   10.244.12.7   wren
calico-node-x7k2p                         1/1     Running   1 (2d ago)   90d   10.31.0.14    wren
coredns-76f75df574-8fgh2                  1/1     Running   1 (2d ago)   90d   10.244.12.9   wren
kube-proxy-4vd9q                          1/1     Running   1 (2d ago)   90d   10.31.0.14    wren
$ kubectl get nodes
NAME     STATUS   ROLES    AGE   VERSION
wren     Ready    <none>   90d   v1.29.1
$ kubectl -n kube-system logs calico-kube-controllers-57b57c56f-l2fjm
"""
REFUSED = (
    '2024-03-10 05:11:12.310 [ERROR][1] client.go 290: Error getting cluster information config error=Get "https://'
    '10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": dial tcp 10.96.0.1:443: connect: '
    "connection refused\n"
)
SERVED = "2024-03-10 05:11:{second}.402 [INFO][1] main.go 152: Got initial config snapshot\n"


@pytest.mark.parametrize(
    ("ready", "log", "verdict"),
    [
        (1, REFUSED + SERVED.format(second="13"), "healthy"),
        (1, REFUSED, "undetermined"),  # nothing shows that it went on
        (1, SERVED.format(second="10") + REFUSED, "undetermined"),  # the trouble came afterwards
        (0, REFUSED + SERVED.format(second="13"), "undetermined"),
    ],
)
def test_controllers_that_went_on_have_got_past_their_first_error(ready: int, log: str, verdict: str) -> None:
    assert judge(picture(CONTROLLERS.format(ready=ready) + log)).verdict == verdict


TWICE = """
# kubectl get events --sort-by='.lastTimestamp' -n kube-system
LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
2m4s        Warning   Unhealthy   pod/calico-node-x7k2p   Liveness probe failed:
61s         Warning   Unhealthy   pod/calico-node-x7k2p   Liveness probe failed:
# kubectl describe ds calico-node -n kube-system | grep Liveness
    Liveness:   exec [/bin/calico-node -felix-live] delay=10s timeout=1s period=10s #success=1 #failure=6
"""


@pytest.mark.parametrize(("restarts", "current"), [("14 (3h ago)", True), ("1 (2m50s ago)", False), ("14", False)])
def test_probes_that_fail_long_after_the_last_restart_are_not_of_a_start(restarts: str, current: bool) -> None:
    found = judge(picture(PODS.format(age="6d", restarts=restarts) + TWICE))
    assert any(symptom.current for symptom in found.symptoms) == current
    assert (found.verdict == "cause-found") == current


PROXY = """
Is this error of the reboot something to worry about? All works.

$ kubectl get pods -n kube-system -o wide
NAME                  READY   STATUS    RESTARTS     AGE   IP           NODE
calico-node-x7k2p     1/1     Running   1 (6h ago)   90d   10.31.0.14   wren
coredns-76f75df57-8   1/1     Running   1 (6h ago)   90d   10.244.12.9  wren
kube-proxy-4vd9q      1/1     Running   1 (6h ago)   90d   10.31.0.14   wren
$ kubectl get nodes
NAME     STATUS   ROLES    AGE   VERSION
wren     Ready    <none>   90d   v1.29.1
$ kubectl -n kube-system logs kube-proxy-4vd9q
E0903 05:00:31.340187       1 server.go:1051] "Failed to retrieve node info" err="Get \\"https://10.31.0.10:6443/api/v1/nodes/wren\\": dial tcp 10.31.0.10:6443: connect: connection refused"
"""  # noqa: E501
SYNCED = "I0903 05:00:35.871055       1 shared_informer.go:320] Caches are synced for service config\n"


def test_a_kube_proxy_that_went_on_after_the_reboot() -> None:
    assert judge(picture(PROXY + SYNCED)).verdict == "healthy"
    assert judge(picture(PROXY)).verdict == "undetermined"
