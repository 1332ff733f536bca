"""TRT0004: 403 with a name, not 401 and not 404."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

LINE = (
    "2022-10-10 10:10:10.000 [ERROR][9] startup/startup.go 158: Unable to list pools error=connection is unauthorized: "
    'ippools.crd.projectcalico.org is forbidden: User "system:serviceaccount:kube-system:calico-node" cannot '
    "list resource "
    '"ippools" in API group "crd.projectcalico.org" at the cluster scope'
)


def test_a_refusal_names_account_and_resource() -> None:
    answer = finding("rbac-forbidden", f"$ kubectl -n kube-system logs calico-node-8xwvf | tail -1\n{LINE}")
    assert answer.strength >= 0.9
    assert {"ippools", "calico-node"} <= set(answer.objects)


def test_the_core_group_and_an_old_wording() -> None:
    text = (
        '2018-10-10 10:10:10.000 [ERROR][9] startup.go 158: nodes "w1" is forbidden: User '
        '"system:serviceaccount:kube-system:canal" cannot get nodes at the cluster scope'
    )
    answer = finding("rbac-forbidden", text)
    assert answer.strength >= 0.9
    assert "nodes" in answer.objects


def test_a_binding_to_nothing() -> None:
    text = LINE + ': RBAC: clusterrole.rbac.authorization.k8s.io "calico-node-v2" not found'
    answer = finding("rbac-forbidden", text)
    assert answer.strength >= 0.95
    assert answer.objects[0] == "calico-node-v2"


def test_the_one_on_kubeadm_config_is_tolerated() -> None:
    text = (
        "2022-10-10 10:10:10.000 [ERROR][9] startup/startup.go 158: failed to query kubeadm's config map "
        "error=configmaps "
        '"kubeadm-config" is forbidden: User "system:serviceaccount:kube-system:calico-node" cannot get '
        'resource "configmaps" '
        'in API group "" in the namespace "kube-system"'
    )
    assert finding("rbac-forbidden", text).state == "cannot-tell"


def test_unauthorized_is_another_cause() -> None:
    assert finding("rbac-forbidden", "error=connection is unauthorized: Unauthorized").state == "ruled-out"


def test_an_identity_that_is_no_service_account() -> None:
    answer = finding(
        "rbac-forbidden",
        """
        # kubectl -n kube-system logs calico-node-1a2b3 --tail=1
        2019-01-11 06:02:19.011 [INFO][55] watchercache.go 188: Failed to perform list of current data during resync \
ListRoot="/calico/resources/v3/projectcalico.org/profiles" error=connection is unauthorized: namespaces is forbidden: \
User "calico-client-cert" cannot list namespaces at the cluster scope
        """,
    )
    assert answer.strength >= 0.8
    assert "namespaces" in answer.objects


def test_a_person_who_may_not_is_not_calico() -> None:
    answer = finding(
        "rbac-forbidden",
        """
        $ kubectl get nodes
        Error from server (Forbidden): nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at \
the cluster scope
        """,
    )
    assert answer.strength < 0.8


def test_calicoctl_has_the_rights_of_who_types_it() -> None:
    line = 'connection is unauthorized: ippools.crd.projectcalico.org is forbidden: User "{user}" cannot list resource "ippools" in API group "crd.projectcalico.org" at the cluster scope\n'
    person = "$ calicoctl get ippool\nFailed to list: " + line.format(user="jdoe@corp.example")
    agent = "$ kubectl logs -n kube-system calico-node-7qj2c\n" + line.format(
        user="system:serviceaccount:kube-system:calico-node"
    )
    assert finding("rbac-forbidden", person).state != "found"
    assert finding("rbac-forbidden", agent).strength >= 0.9


def test_kubectl_has_the_rights_of_who_types_it() -> None:
    text = '$ kubectl get felixconfigurations\nError from server (Forbidden): felixconfigurations.crd.projectcalico.org is forbidden: User "{user}" cannot list resource "felixconfigurations" in API group "crd.projectcalico.org" at the cluster scope\n'
    assert finding("rbac-forbidden", text.format(user="jdoe")).state != "found"
    assert finding("rbac-forbidden", text.format(user="system:serviceaccount:kube-system:calico-node")).strength >= 0.9


AUDITED = (
    '{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"create","user":{"username":'
    '"system:serviceaccount:kube-system:%s"},"objectRef":{"resource":"ipamconfigs","apiGroup":"crd.projectcalico.org"},'
    '"responseStatus":{"status":"Failure","reason":"Forbidden","code":403},"annotations":{"authorization.k8s.io/decision":'
    '"%s","authorization.k8s.io/reason":""}}'
)


def test_the_servers_own_record_of_it() -> None:
    answer = finding("rbac-forbidden", AUDITED % ("calico-kube-controllers", "forbid"))
    assert answer.strength >= 0.9
    assert {"ipamconfigs", "calico-kube-controllers"} <= set(answer.objects)


def test_records_of_others_and_of_what_was_allowed() -> None:
    assert finding("rbac-forbidden", AUDITED % ("prometheus", "forbid")).state != "found"
    assert finding("rbac-forbidden", AUDITED % ("calico-kube-controllers", "allow")).state != "found"
