"""TRT8009: pods of the system that a policy keeps from the API."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "networkpolicy-blocks-system-pods"
POLICY = """
$ kubectl -n kube-system get networkpolicy default-deny -o yaml
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: default-deny
  namespace: kube-system
spec:
  podSelector: {}
  policyTypes:
  - Egress
"""
GLOBAL = """
$ calicoctl get gnp deny-all -o yaml
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata:
  name: deny-all
spec:
  namespaceSelector: all()
  types:
  - Egress
"""
FAILS = """
$ kubectl -n kube-system logs coredns-76f75df574-2ngzp --tail=1
[WARNING] plugin/kubernetes: Kubernetes API connection failure: Get "https://10.96.0.1:443/version": dial tcp 10.96.0.1:443: i/o timeout
"""  # noqa: E501
ANSWERS = "[root@amsel ~]# curl -sk https://10.96.0.1:443/healthz; echo\nok\n"
LIST = """
$ kubectl get netpol -A
NAMESPACE     NAME           POD-SELECTOR   AGE
kube-system   default-deny   <none>         3d
"""


def test_the_node_reaches_the_api_and_isolated_pods_do_not() -> None:
    answer = finding(ID, POLICY + FAILS + ANSWERS)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "default-deny"
    assert finding(ID, POLICY + FAILS).strength >= STRONG


def test_a_global_policy_for_all_namespaces() -> None:
    assert finding(ID, GLOBAL + FAILS + ANSWERS).strength >= PROVEN
    spares = GLOBAL.replace("all()", "kubernetes.io/metadata.name not in {'kube-system'}")
    assert finding(ID, spares + FAILS + ANSWERS).state == "cannot-tell"


def test_a_list_shows_only_that_there_is_one() -> None:
    assert finding(ID, LIST + FAILS + ANSWERS).strength >= LIKELY
    assert finding(ID, LIST + FAILS).strength < LIKELY


def test_the_port_of_the_service_is_not_the_one_that_policies_see() -> None:
    rule = "  egress:\n  - ports:\n    - protocol: TCP\n      port: 443\n"
    assert finding(ID, POLICY + rule + FAILS + ANSWERS).strength >= LIKELY
    assert finding(ID, POLICY + rule.replace("443", "6443") + FAILS + ANSWERS).state == "cannot-tell"


def test_policies_that_let_everything_out_or_are_elsewhere_say_nothing() -> None:
    assert finding(ID, POLICY + "  egress:\n  - {}\n" + FAILS + ANSWERS).state == "cannot-tell"
    assert finding(ID, POLICY.replace("kube-system", "shop") + FAILS + ANSWERS).state == "cannot-tell"
    assert finding(ID, POLICY.replace("Egress", "Ingress") + FAILS + ANSWERS).state == "cannot-tell"


def test_a_node_that_does_not_reach_it_either_is_another_cause() -> None:
    fails = "[root@amsel ~]# curl -m3 -sk https://10.96.0.1:443/healthz\ncurl: (28) Connection timed out after 3001 milliseconds\n"  # noqa: E501
    assert finding(ID, POLICY + FAILS + fails).state == "ruled-out"


def test_a_refusal_is_nobodys_policy() -> None:
    assert finding(ID, POLICY + FAILS.replace("i/o timeout", "connection refused") + ANSWERS).strength < LIKELY


def test_the_failure_alone_says_nothing() -> None:
    assert finding(ID, FAILS + ANSWERS).state == "cannot-tell"


def test_a_policy_that_was_deleted_is_history() -> None:
    gone = '$ kubectl -n kube-system delete networkpolicy default-deny\nnetworkpolicy.networking.k8s.io "default-deny" deleted\n'  # noqa: E501
    assert finding(ID, POLICY + FAILS + gone).state == "ruled-out"


def test_the_fix_names_the_policy_and_its_namespace() -> None:
    seen = picture(POLICY + FAILS + ANSWERS)
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert "kubectl -n kube-system delete networkpolicy default-deny" in commands


PODS = """
$ kubectl -n kube-system get pods
NAME                                       READY   STATUS             RESTARTS   AGE
calico-kube-controllers-58dbc876ff-4fz8m   0/1     CrashLoopBackOff   8          3d
calico-node-k2k8s                          1/1     Running            0          3d
coredns-6d4b75cb6d-7l5qk                   0/1     Running            0          3d
"""


def test_pods_of_two_kinds_fail_while_agents_are_well() -> None:
    assert finding(ID, POLICY + PODS).strength >= LIKELY
    assert finding(ID, POLICY + PODS.replace("k2k8s                          1/1", "k2k8s  0/1")).strength < LIKELY
    assert finding(ID, POLICY + PODS.replace("qk                   0/1", "qk                   1/1")).strength < LIKELY


def test_the_controllers_say_themselves_whose_log_it_is() -> None:
    line = (
        "2024-05-01 10:00:00.1 [ERROR][1] {}/client.go 320: Error getting cluster information config error="
        'Get "https://10.96.0.1:443/apis/crd": dial tcp 10.96.0.1:443: i/o timeout\n'
    )
    assert finding(ID, POLICY + line.format("kube-controllers")).strength >= LIKELY
    assert finding(ID, POLICY + line.format("startup")).strength < LIKELY
