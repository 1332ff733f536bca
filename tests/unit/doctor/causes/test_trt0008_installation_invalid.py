"""TRT0008: found by the operator's words, over when its status says so."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "installation-invalid"
STATUS = """\
$ kubectl get tigerastatus calico -o yaml
apiVersion: operator.tigera.io/v1
kind: TigeraStatus
metadata:
  name: calico
status:
  conditions:
  - lastTransitionTime: "2025-02-11T08:02:17Z"
    message: 'Invalid Installation provided: spec.calicoNetwork.hostPorts is supported
      only for Calico CNI'
    reason: InvalidConfigurationError
    status: "True"
    type: Degraded
  - lastTransitionTime: "2025-02-11T08:02:17Z"
    reason: Unknown
    status: "False"
    type: Available
"""
LOG = (
    '$ kubectl -n tigera-operator logs deploy/tigera-operator | tail -1\n{"level":"error","ts":"2025-02-11T08:02:17Z",'
    '"logger":"controller_installation","msg":"Invalid Installation provided","Request.Namespace":"","Request.Name":'
    '"default","reason":"InvalidConfigurationError","error":"installation spec.FlexVolumePath \'var/lib\' is not an '
    'absolute path","stacktrace":"github.com/tigera/operator/pkg/controller/status"}\n'
)
WELL = """
$ kubectl get tigerastatus
NAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE
calico   True        False         False      3m
"""


def test_the_status_names_the_field() -> None:
    answer = finding(ID, STATUS)
    assert answer.strength >= PROVEN
    assert answer.objects[0] == "hostPorts"
    assert "only for Calico CNI" in answer.why.en


def test_the_log_alone_is_enough_for_a_claim() -> None:
    answer = finding(ID, LOG)
    assert answer.strength >= LIKELY
    assert answer.objects[0] == "FlexVolumePath"
    assert "is not an absolute path" in answer.why.zh


def test_a_table_behind_the_status_does_not_take_its_message_away() -> None:
    table = WELL.replace("True        False         False ", "False       False         True  ")
    assert finding(ID, STATUS + table).strength >= PROVEN


def test_an_operator_that_is_well_again_has_accepted_it() -> None:
    assert finding(ID, LOG + WELL).state == "ruled-out"
    assert finding(ID, STATUS + WELL).state == "ruled-out"


def test_a_pool_outside_of_the_platforms_network_is_another_cause() -> None:
    text = STATUS.replace(
        "Invalid Installation provided: spec.calicoNetwork.hostPorts is supported\n      only for Calico CNI",
        "error validating IP pool configuration: IP pool 10.9.0.0/16 is not within the platform",
    )
    assert finding(ID, text).state == "ruled-out"


def test_degraded_for_another_reason_says_nothing() -> None:
    text = STATUS.replace("Invalid Installation provided: spec.calicoNetwork.hostPorts is supported", "Failed to read")
    assert finding(ID, text).state == "cannot-tell"


def test_rke2_has_its_installation_in_a_chart() -> None:
    def commands(text: str) -> list[str]:
        cause, seen = cause_named(ID), picture(text)
        assert cause is not None
        return [step.command for step in cause.fix(seen, cause.judge(seen))]

    assert "kubectl edit installation default" in commands(STATUS)
    nodes = (
        "$ kubectl get nodes\nNAME   STATUS   ROLES    AGE   VERSION\nk1     Ready    <none>   9d    v1.30.4+rke2r1\n"
    )
    assert "kubectl -n kube-system edit helmchartconfig rke2-calico" in commands(nodes + STATUS)
