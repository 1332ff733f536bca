"""TRT0010: nodes that stay pre-operator; a migration that goes on or is over is no trouble."""

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "operator-migration-stuck"
LABELS = """\
$ kubectl get nodes --show-labels
NAME   STATUS   ROLES    AGE    VERSION   LABELS
rw1    Ready    <none>   210d   v1.26.3   kubernetes.io/os=linux,projectcalico.org/operator-node-migration=pre-operator
rw2    Ready    <none>   210d   v1.26.3   kubernetes.io/os=linux,projectcalico.org/operator-node-migration=pre-operator
"""
PODS = """\
$ kubectl get pods -A
NAMESPACE         NAME                               READY   STATUS    RESTARTS   AGE
kube-system       calico-node-7kw2p                  1/1     Running   0          210d
kube-system       calico-node-m5x9d                  1/1     Running   0          210d
tigera-operator   tigera-operator-7795f5d79b-c8xqk   1/1     Running   0          {age}
"""
NONE = "$ kubectl get pods -n calico-system\nNo resources found in calico-system namespace.\n"
LOG = (
    "$ kubectl -n tigera-operator logs deploy/tigera-operator --tail=1\n"
    '{"level":"error","ts":"2023-06-05T11:20:07Z","logger":"controller_installation","msg":"error migrating resources '
    'to calico-system","Request.Name":"default","reason":"ResourceMigrationError","error":"the kube-system node '
    'DaemonSet is not ready with the updated nodeSelector: not all pods are ready yet: 2/3"}\n'
)
UNSUPPORTED = (
    "$ kubectl get tigerastatus calico -o jsonpath='{.status.conditions[0].message}'\nExisting Calico installation "
    "can not be managed by Tigera Operator as it is configured in a way that Operator does not currently support. "
    "Please update your existing Calico install config: unexpected annotation 'x' on daemonset/calico-node\n"
)


def test_nodes_keep_their_label_for_days() -> None:
    answer = finding(ID, LABELS + PODS.format(age="9d") + NONE)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("operator-node-migration", "rw1")


def test_the_operators_own_error() -> None:
    answer = finding(ID, LOG)
    assert answer.strength >= LIKELY
    assert "not all pods are ready yet: 2/3" in answer.why.en


def test_an_installation_that_it_does_not_take_over() -> None:
    answer = finding(ID, UNSUPPORTED)
    assert answer.strength >= LIKELY
    assert "unexpected annotation" in answer.why.zh


def test_a_migration_that_has_just_begun_is_not_stuck() -> None:
    answer = finding(ID, LABELS + PODS.format(age="6m"))
    assert answer.strength < LIKELY


def test_an_operator_alone_beside_a_manifest_says_nothing() -> None:
    assert finding(ID, PODS.format(age="9d")).state == "cannot-tell"


def test_what_is_complete_is_history() -> None:
    done = LOG + LOG.replace("error migrating resources to calico-system", "Namespace migration complete")
    assert finding(ID, done).state == "ruled-out"


def test_the_command_that_counts_is_no_count() -> None:
    asked = "$ kubectl get no --show-labels | grep -c operator-node-migration=pre-operator\n{}\n"
    assert finding(ID, asked.format(0) + PODS.format(age="9d")).state == "cannot-tell"
    assert finding(ID, asked.format(2) + PODS.format(age="9d")).strength >= LIKELY


def test_the_label_as_a_column() -> None:
    column = """\
$ kubectl get nodes -L projectcalico.org/operator-node-migration
NAME   STATUS   ROLES    AGE    VERSION   OPERATOR-NODE-MIGRATION
rw1    Ready    <none>   210d   v1.26.3   migrated
rw2    Ready    <none>   210d   v1.26.3   pre-operator
"""
    answer = finding(ID, column + PODS.format(age="9d"))
    assert answer.strength >= LIKELY
    assert "rw2" in answer.objects
    assert "rw1" not in answer.objects
