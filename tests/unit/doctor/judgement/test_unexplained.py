"""Faults outside of the catalogue: said to be so, the worst line first, with who printed it and where to look."""

from __future__ import annotations

from tests.support.doctor import picture
from tests.unit.doctor.judgement.test_healthy import WELL

from tortie.doctor.causes.catalogue import all_causes
from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.judgement.judge import judge

MANY = """
Our pods cannot reach the outside.
$ kubectl exec a -- wget -qO- -T2 http://web
wget: download timed out
$ kubectl get tigerastatus
NAME      AVAILABLE   PROGRESSING   DEGRADED   SINCE
ippools   False       False         True       3d4h
$ kubectl -n kube-system logs calico-typha-5d9f7cbb9b-n6v4r
fatal error: concurrent map writes
"""


def judged(text: str) -> Diagnosis:
    return judge(picture(text))


def test_fatal_comes_before_degraded_before_trials_before_complaints() -> None:
    kinds = [line.kind for line in judged(WELL + MANY).unexplained]
    assert kinds == ["fatal", "degraded", "trial", "complaint"]


def test_what_no_cause_knows_is_said_to_be_none_of_them() -> None:
    remark = judged(WELL + MANY).remark
    assert remark is not None
    assert f"not one of the {len(all_causes())} causes I know" in remark.en
    assert str(len(all_causes())) in remark.zh


def test_a_failed_trial_alone_may_be_any_cause() -> None:
    assert judged(WELL + "$ kubectl exec a -- wget -T2 http://web\nwget: download timed out\n").remark is None


def test_a_line_names_its_component_and_the_phase_of_its_start() -> None:
    text = (
        "$ kubectl -n kube-system logs calico-node-6fjt4\n"
        "2022-10-24 15:42:41.024 [PANIC][91] felix/int_dataplane.go 716: the frobnicator is not there\n"
        "panic: (*logrus.Entry) 0xc0009d69b0\n"
    )
    sick = WELL.replace("calico-node-6fjt4   1/1     Running ", "calico-node-6fjt4   0/1     CrashLoopBackOff ")
    lines = judged(sick + text).unexplained
    assert [line.component for line in lines] == ["felix", "felix"]
    assert "after the start" in lines[0].phase.en


def test_an_error_that_is_repeated_is_told_once_and_counted() -> None:
    error = 'E1010 10:00:0{n}.123456    1234 kubelet.go:2855] "the flux is broken" pod="{n}"\n'
    text = "$ journalctl -u kubelet -o cat | tail -4\n" + "".join(error.replace("{n}", str(n)) for n in range(4))
    (line,) = judged(WELL + text).unexplained
    assert (line.kind, line.count) == ("error", 4)


def test_the_message_of_a_degraded_status_is_quoted() -> None:
    text = """
$ kubectl get tigerastatus ippools -o yaml
apiVersion: operator.tigera.io/v1
kind: TigeraStatus
metadata:
  name: ippools
status:
  conditions:
  - message: 'Unable to modify the frobnicator while it is unavailable'
    reason: ResourceNotReady
    status: "True"
    type: Degraded
"""
    lines = judged(WELL + text).unexplained
    assert any("Unable to modify the frobnicator" in line.text for line in lines)


def test_lines_that_a_candidate_stands_on_are_not_unexplained() -> None:
    diagnosis = judged(WELL + MANY)
    places = {place for answer in diagnosis.causes for place in answer.finding.evidence}
    assert not places & {line.place for line in diagnosis.unexplained}


def test_what_a_healthy_cluster_prints_too_is_harmless() -> None:
    lines = """$ kubectl -n kube-system logs calico-node-6fjt4
libbpf: Error in bpf_create_map_xattr(cali_v4_nat_fe3):Invalid argument(-22). Retrying without BTF.
bird: Unable to open configuration file /etc/calico/confd/config/bird6.cfg: No such file or directory
"""
    assert judged(WELL + lines).verdict == "healthy"


def test_the_warning_before_a_start_gave_up_is_its_reason() -> None:
    log = """$ kubectl -n kube-system logs calico-node-6fjt4
2024-06-13 11:13:52.151 [INFO][8] startup/startup.go 559: Node IPv4 changed, will check for conflicts
2024-06-13 11:13:52.155 [WARNING][8] startup/startup.go 983: The frobnicator of this node is missing
2024-06-13 11:13:52.163 [WARNING][8] startup/utils.go 49: Terminating
Calico node failed to start
"""
    sick = WELL.replace("calico-node-6fjt4   1/1     Running ", "calico-node-6fjt4   0/1     CrashLoopBackOff ")
    first = judged(sick + log).unexplained[0]
    assert (first.kind, first.component) == ("fatal", "startup")
    assert "frobnicator" in first.text


FLAPS = "$ kubectl logs -n kube-system calico-node-6fjt4 | grep bird\n" + "".join(
    f"2024-05-01 0{hour}:30:12.220 bird: Mesh_10_3_9_12: Error: Hold timer expired\n" for hour in (1, 2, 3)
)


def test_a_session_that_ends_again_and_again_is_not_well_because_it_stands_now() -> None:
    assert judged(WELL + FLAPS).verdict == "undetermined"
    once = "\n".join(FLAPS.splitlines()[:2]) + "\n"
    assert judged(WELL + once).verdict == "healthy"


UNPLACED = """
$ kubectl get po -A --field-selector status.phase=Pending -o wide
NAMESPACE    NAME                            READY   STATUS    RESTARTS   AGE     IP       NODE     NOMINATED NODE
gitea        gitea-0                         0/1     Pending   0          4h19m   <none>   <none>   <none>
media        jellyfin-6d9f7cbd7c-7h2lp       0/1     Pending   0          4h18m   <none>   <none>   <none>
"""


def test_pods_of_several_namespaces_that_nobody_places() -> None:
    assert judged(WELL + UNPLACED).verdict == "undetermined"
    one = "\n".join(line for line in UNPLACED.splitlines() if "jellyfin" not in line)
    assert judged(f"{WELL}{one}\n").verdict == "healthy"
    assert judged(WELL + UNPLACED.replace("4h19m", "19s  ").replace("4h18m", "18s  ")).verdict == "healthy"


_CONTENT = """
After the upgrade our monitoring mailed "ippools Degraded".
$ kubectl get tigerastatus
NAME      AVAILABLE   PROGRESSING   DEGRADED   SINCE
calico    True        False         False      43h
ippools   {0}        False         {1}       43h
"""


def test_a_condition_that_the_operator_reports_to_be_over_is_no_complaint() -> None:
    assert not judged(WELL + _CONTENT.format("True ", "False")).unexplained
    assert judged(WELL + _CONTENT.format("False", "True ")).unexplained
    worse = _CONTENT.replace('Degraded".', 'Degraded" and pods cannot reach each other.')
    assert judged(WELL + worse.format("True ", "False")).unexplained
