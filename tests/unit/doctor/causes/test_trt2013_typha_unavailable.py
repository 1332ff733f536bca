"""TRT2013: no ready Typha; a ready one, an expired certificate or the API's service address are other matters."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

REFUSED = (
    "2021-02-02 02:02:02.222 [ERROR][77] felix/daemon.go 500: Failed to connect to Typha. Retrying... error=dial tcp "
    "10.99.14.3:5473: connect: connection refused"
)


def test_pending() -> None:
    answer = finding(
        "typha-unavailable",
        f"""
        $ kubectl -n calico-system get pod -o wide
        NAME                            READY   STATUS    RESTARTS   AGE   IP          NODE
        calico-node-6kd2v               0/1     Running   0          12m   10.8.1.4    sto-1
        calico-typha-5f4c9d7b6-8kq2z    0/1     Pending   0          12m   <none>      <none>
        $ kubectl -n calico-system logs calico-node-6kd2v --tail=1
        {REFUSED}
        $ kubectl -n calico-system describe pod calico-typha-5f4c9d7b6-8kq2z | tail -1
          Warning  FailedScheduling  12m  default-scheduler  0/3 nodes are available: 3 node(s) had taints that \
          the pod didn't tolerate.
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "calico-typha-5f4c9d7b6-8kq2z" in answer.objects


def test_the_service_does_not_exist() -> None:
    answer = finding(
        "typha-unavailable",
        "2021-02-02 02:02:02.222 [FATAL][77] felix/daemon.go 330: Typha discovery enabled but discovery failed. "
        'error=services "calico-typha" not found',
    )
    assert answer.strength >= 0.9
    assert "calico-typha" in answer.objects


def test_no_endpoints() -> None:
    answer = finding(
        "typha-unavailable",
        f"""
        所有节点 felix 503：
        {REFUSED}
        # kubectl -n calico-system get ep calico-typha
        NAME           ENDPOINTS   AGE
        calico-typha   <none>      40d
        """,
    )
    assert answer.strength >= 0.9


def test_typha_is_ready() -> None:
    answer = finding(
        "typha-unavailable",
        """
        $ kubectl -n calico-system get pod -o wide
        NAME                            READY   STATUS    RESTARTS   AGE   IP          NODE
        calico-node-6kd2v               0/1     Running   0          12m   10.8.1.4    sto-1
        calico-typha-5f4c9d7b6-8kq2z    1/1     Running   0          12m   10.8.1.5    sto-2
        $ kubectl -n calico-system logs calico-node-6kd2v --tail=1
        Failed to connect to Typha. Retrying... error=dial tcp 10.8.1.5:5473: i/o timeout
        """,
    )
    assert answer.state == "ruled-out"


def test_discovery_through_the_service_address() -> None:
    answer = finding(
        "typha-unavailable",
        'Typha discovery enabled but discovery failed. error=Get "https://10.96.0.1:443/api/v1/namespaces/kube-system/'
        'endpoints/calico-typha": dial tcp 10.96.0.1:443: i/o timeout',
    )
    assert answer.strength < 0.8


def test_felix_503_alone() -> None:
    text = "Readiness probe failed: calico/node is not ready: felix is not ready: readiness probe reporting 503"
    assert finding("typha-unavailable", text).strength < 0.8


DEAD_NODE = """
        $ kubectl get nodes
        NAME    STATUS     ROLES    AGE   VERSION
        sto-1   Ready      <none>   9d    v1.21.3
        sto-2   NotReady   <none>   9d    v1.21.3
        $ kubectl -n calico-system get pod -o wide
        NAME                            READY   STATUS    RESTARTS   AGE   IP          NODE
        calico-node-6kd2v               0/1     Running   0          12m   10.8.1.4    sto-1
        calico-typha-5f4c9d7b6-8kq2z    1/1     Running   0          12m   10.8.1.5    sto-2
"""


def test_a_typha_is_removed_by_force_only_from_a_dead_node() -> None:
    forced = "kubectl -n calico-system delete pod calico-typha-5f4c9d7b6-8kq2z --grace-period=0 --force"
    assert forced in fixes("typha-unavailable", DEAD_NODE)
    alive = DEAD_NODE.replace("NotReady", "Ready   ").replace("1/1     Running", "0/1     Running")
    assert not any("--force" in command for command in fixes("typha-unavailable", alive))


def test_the_api_refuses_to_tell_where_typha_is() -> None:
    said = "[FATAL][58] confd/startsyncerclient.go 49: Typha discovery enabled but discovery failed."
    assert finding("typha-unavailable", f"{said} error=Kubernetes service missing IP or port").strength >= 0.8
    for error in (
        "Unauthorized",
        'Get "https://10.43.0.1:443/api/v1/x": x509: certificate signed by unknown authority',
    ):
        assert finding("typha-unavailable", f"{said} error={error}").state == "ruled-out", error


def test_the_next_of_several_answers() -> None:
    connected = (
        '2021-02-02 02:02:03.222 [INFO][77] felix/sync_client.go 266: Connected to Typha. address="10.8.1.4:5473"'
    )
    assert finding("typha-unavailable", f"{REFUSED}\n{connected}").strength < 0.8
    assert finding("typha-unavailable", f"{connected}\n{REFUSED}").strength >= 0.8


def test_typha_itself_misses_the_api() -> None:
    pods = """
        calico-node-6kd2v               0/1     Running            0   12m
        calico-typha-5f4c9d7b6-8kq2z    0/1     CrashLoopBackOff   9   12m
        """
    log = """
        $ kubectl -n calico-system logs calico-typha-5f4c9d7b6-8kq2z
        [ERROR][7] typha/daemon.go 176: Failed to initialize datastore error=Get "https://10.96.0.1:443/apis": dial \
        tcp 10.96.0.1:443: i/o timeout
        """
    assert finding("typha-unavailable", pods).strength >= 0.9
    assert finding("typha-unavailable", pods + log).strength < 0.8


def test_none_of_those_that_are_wanted() -> None:
    agents = "calico-node-6kd2v               0/1     Running            0   12m\n"
    rows = "$ kubectl -n calico-system get deploy calico-typha\nNAME   READY   UP-TO-DATE   AVAILABLE   AGE\n"
    none = f"{agents}{rows}calico-typha   0/2     2            0           14m\n"
    answer = finding("typha-unavailable", none)
    assert (answer.rule, answer.strength >= 0.9) == ("none-of-those-wanted", True)
    some = f"{agents}{rows}calico-typha   1/2     2            1           14m\n"
    assert finding("typha-unavailable", some).strength < 0.8


def test_typhas_that_run_and_are_not_ready_may_wait_for_the_same_as_the_agents() -> None:
    pods = """
calico-node-5qmdn               0/1     Running   0          31m
calico-typha-6d5b7bdbd6-2lk7c   0/1     {status}   0          31m
"""
    assert finding("typha-unavailable", pods.format(status="Running")).strength < 0.8
    assert finding("typha-unavailable", pods.format(status="Pending")).strength >= 0.9


def test_only_the_events_show_that_the_agents_wait() -> None:
    endpoints = "$ kubectl -n calico-system get ep calico-typha\nNAME   ENDPOINTS   AGE\ncalico-typha   <none>   22m\n"
    events = """
$ kubectl -n calico-system get events
LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
35s         Warning   Unhealthy   pod/calico-node-d4sxh   Readiness probe failed: calico/node is not ready: {}
"""
    felix = "felix is not ready: readiness probe reporting 503"
    bird = "BIRD is not ready: BGP not established with 10.9.0.4"
    assert finding("typha-unavailable", endpoints + events.format(felix)).strength >= 0.9
    assert finding("typha-unavailable", endpoints + events.format(bird)).strength < 0.8


def test_a_pod_without_nominated_node_is_no_empty_endpoint() -> None:
    text = """
        $ kubectl -n kube-system get po -o wide | grep -e typha
        calico-typha-5f6c9b8dd4-2zkwr   1/1   Running   0   201d   10.192.16.34   k1   <none>   <none>
    """
    assert finding("typha-unavailable", text).state != "found"


def test_what_a_person_says_of_agents_that_wait() -> None:
    endpoints = "$ kubectl -n kube-system get ep calico-typha\nNAME   ENDPOINTS   AGE\ncalico-typha   <none>   411d\n"
    told = 'Every calico-node is 0/1: "felix is not ready: readiness probe reporting 503". Our one typha is gone.\n\n'
    assert finding("typha-unavailable", told + endpoints).strength >= 0.9
    assert finding("typha-unavailable", endpoints).strength < 0.8


WALLED = """
    $ kubectl get pods -A
    NAMESPACE       NAME                            READY   STATUS             RESTARTS        AGE
    calico-system   calico-node-9gfwg               0/1     CrashLoopBackOff   14 (2m7s ago)   6d
    calico-system   calico-typha-79d6bb7bc-mz2lk    0/1     CrashLoopBackOff   15 (77s ago)    6d
    $ kubectl get events -A
      Warning  Unhealthy  2m (x38 over 18m)   kubelet  Liveness probe failed: Get "http://localhost:9099/liveness": \
context deadline exceeded
"""


def test_typha_behind_host_endpoints_is_a_victim() -> None:
    endpoints = "    $ kubectl get hep\n    NAME           NODE\n    m1-auto-hep    m1\n"
    assert finding("typha-unavailable", WALLED).strength >= 0.9
    assert finding("typha-unavailable", WALLED + endpoints).strength < 0.8
