"""TRT4007: a policy rejects Calico's pods; a webhook that cannot be called is another cause."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "psp-forbidden"


def test_pod_security_admission() -> None:
    text = """
$ kubectl -n calico-system describe ds calico-node | tail -1
  Warning  FailedCreate  20s (x15 over 90s)  daemonset-controller  Error creating: pods "calico-node-lq8vz" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true), privileged (container "calico-node" must not set securityContext.privileged=true)
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "restricted" in answer.objects
    assert "calico-system" in answer.objects


def test_pod_security_policy() -> None:
    text = """
DESIRED 一直是 4，CURRENT 为 0：
Error creating: pods "calico-node-" is forbidden: unable to validate against any pod security policy: [spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used]
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9


def test_another_program_is_no_claim() -> None:
    text = (
        'Error creating: pods "shop-7f9-" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
    )
    assert finding(ID, text).strength < 0.8


def test_a_webhook_is_another_cause() -> None:
    text = 'Error creating: Internal error occurred: failed calling webhook "x.example.io": Post "https://x.y.svc:443/": EOF'
    assert finding(ID, text).state == "ruled-out"


def test_rbac_is_another_cause() -> None:
    text = 'nodes is forbidden: User "system:serviceaccount:kube-system:calico-node" cannot list resource "nodes" in API group ""'
    assert finding(ID, text).state == "cannot-tell"


EVENT = """
$ kubectl get events -n {namespace}
LAST SEEN   TYPE      REASON         OBJECT            MESSAGE
4m          Warning   FailedCreate   {object}   Error creating: pods "{pod}" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)
"""


def test_the_pods_beside_it_do_not_make_it_calicos() -> None:
    pods = "$ kubectl get pods -n kube-system\nNAME                READY   STATUS    RESTARTS   AGE\ncalico-node-7qj2c   0/1     Running   0          20d\n"
    theirs = EVENT.format(namespace="web", object="replicaset/nginx-5c9d", pod="nginx-5c9d-8x2kk")
    ours = EVENT.format(namespace="kube-system", object="daemonset/calico-node", pod="calico-node-2wzjl")
    assert finding(ID, pods + theirs).strength < 0.8
    assert finding(ID, pods + ours).strength >= 0.9


def test_agents_that_are_ready_were_let_in() -> None:
    ours = EVENT.format(namespace="calico-system", object="daemonset/calico-node", pod="calico-node-2wzjl")
    pods = "$ kubectl get pods -n calico-system\nNAME                READY   STATUS    RESTARTS   AGE\ncalico-node-7cfmp   1/1     Running   0          50m\n"
    assert finding(ID, ours + pods).state == "ruled-out"
