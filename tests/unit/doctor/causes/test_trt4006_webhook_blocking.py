"""TRT4006: a webhook that cannot be called rejects Calico's pods; one that rejects others is no proof."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "webhook-blocking"
TEXT = (
    'Error creating: Internal error occurred: failed calling webhook "mutate.policy-agent.example.io": Post '
    '"https://policy-agent.policy.svc:443/mutate?timeout=10s": '
)


def test_the_daemonset_cannot_create() -> None:
    text = f"""
$ kubectl -n kube-system get ds calico-node
NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
calico-node   9         2         2       2            2           kubernetes.io/os=linux   300d
$ kubectl -n kube-system describe ds calico-node | tail -1
  Warning  FailedCreate  3m (x19 over 30m)  daemonset-controller  {TEXT}dial tcp 10.100.7.7:443: connect: connection refused
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "mutate.policy-agent.example.io" in answer.objects
    assert "policy/policy-agent" in answer.objects


def test_an_event_in_prose() -> None:
    text = (
        f'所有 worker 重启之后 calico-node 的 pod 建不出来：\n{TEXT}no endpoints available for service "policy-agent"'
    )
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_a_webhook_for_others_is_no_claim() -> None:
    text = (
        '$ kubectl -n shop apply -f cart.yaml\nError from server (InternalError): error when creating "cart.yaml": Internal error '
        'occurred: failed calling webhook "validate.ingress.example.io": Post "https://ing.ingress.svc:443/v": context deadline exceeded'
    )
    assert finding(ID, text).strength < 0.8


def test_a_policy_is_another_cause() -> None:
    text = 'Error creating: pods "calico-node-" is forbidden: violates PodSecurity "baseline:latest": host namespaces'
    assert finding(ID, text).state == "cannot-tell"


def test_a_webhook_that_denies_what_the_operator_makes() -> None:
    text = """
    $ kubectl -n tigera-operator logs deploy/tigera-operator | tail -1
    {"level":"error","ts":"2025-04-08T11:27:55Z","logger":"controller_apiserver","msg":"Error creating / updating resource","error":"admission webhook \\"validate.kyverno.svc-fail\\" denied the request: \\n\\nresource ClusterRole//calico-tiered-policy-passthrough was blocked due to the following policies"}
    """
    answer = finding("webhook-blocking", text)
    assert answer.strength >= 0.9
    assert answer.objects == ("validate.kyverno.svc-fail",)
    of_others = text.replace("calico-tiered-policy-passthrough", "shop-reader").replace("tigera-operator", "shop")
    assert finding("webhook-blocking", of_others).state != "found"


def test_what_people_deploy_is_not_calicos() -> None:
    line = """
Events:
  Type     Reason        Age                From                  Message
  ----     ------        ----               ----                  -------
  Warning  FailedCreate  14s (x19 over 9m)  {maker}  Error creating: Internal error occurred: failed calling webhook "vault.hashicorp.com": failed to call webhook: Post "https://vault-agent-injector-svc.vault.svc:443/mutate?timeout=30s": context deadline exceeded
"""
    assert finding(ID, line.format(maker="replicaset-controller")).strength < 0.8
    assert finding(ID, line.format(maker="daemonset-controller")).strength >= 0.9


ENDED = (
    'May 09 11:39:30 m1 rke2[3974]: time="2021-05-09T11:39:30-07:00" level={level} msg="update namespace: kube-system - '
    'Internal error occurred: failed calling webhook \\"check-ignore-label.gatekeeper.sh\\": Post \\"https://'
    'gatekeeper-webhook-service.gatekeeper-system.svc:443/v1/admitlabel?timeout=3s\\": context deadline exceeded"\n'
)


def test_the_distributions_own_server_ends_for_it() -> None:
    answer = finding(ID, ENDED.format(level="fatal"))
    assert (answer.rule, answer.strength >= 0.9) == ("stops-the-server", True)
    assert finding(ID, ENDED.format(level="warning")).strength < 0.5  # it goes on
