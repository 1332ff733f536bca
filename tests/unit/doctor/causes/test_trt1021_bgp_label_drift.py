"""TRT1021: a selector whose labels went away."""

from __future__ import annotations

from tests.support.doctor import finding, fixes, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "bgp-label-drift"
PEER = """
$ calicoctl get bgppeer to-rr -o yaml
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata:
  name: to-rr
spec:
  nodeSelector: all()
  peerSelector: route-reflector == 'true'
"""
NODES = """
$ kubectl get nodes --show-labels
NAME    STATUS   ROLES           AGE   VERSION   LABELS
wren    Ready    control-plane   41d   v1.27.4   kubernetes.io/hostname=wren,node-role.kubernetes.io/control-plane=
finch   Ready    <none>          41d   v1.27.4   kubernetes.io/hostname=finch,rack=rack-2
"""
NONE = """
$ calicoctl get bgpconfig default -o yaml | grep -i mesh
  nodeToNodeMeshEnabled: false
[root@finch ~]# calicoctl node status
Calico process is running.

IPv4 BGP status
No IPv4 peers found.
"""
TAKEN = "$ kubectl label node wren route-reflector-\nnode/wren unlabeled\n"


def test_a_label_that_was_taken_away() -> None:
    answer = finding(ID, TAKEN + PEER + NODES + NONE)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "to-rr"
    assert answer.value("node") == "wren"
    assert finding("bgp-peer-misconfigured", TAKEN + PEER + NODES + NONE).state == "ruled-out"


def test_a_label_that_kubernetes_renamed() -> None:
    renamed = PEER.replace("route-reflector == 'true'", "has(node-role.kubernetes.io/master)")
    answer = finding(ID, renamed + NODES + NONE)
    assert answer.strength >= PROVEN
    assert answer.value("renamed_to") == "node-role.kubernetes.io/control-plane"


def test_people_say_that_the_labels_are_gone() -> None:
    assert finding(ID, "节点重装之后标签丢了，跨节点不通。\n" + PEER + NODES + NONE).strength >= LIKELY
    assert finding(ID, "The nodes were rebuilt and their labels are gone.\n" + PEER + NODES + NONE).strength >= LIKELY


def test_a_question_that_no_node_answers() -> None:
    asked = "$ kubectl get nodes -l route-reflector=true\nNo resources found\n"
    assert finding(ID, TAKEN + PEER + asked + NONE).strength >= PROVEN


def test_a_selector_that_never_fitted_is_another_cause() -> None:
    assert finding(ID, PEER + NODES + NONE).strength < LIKELY
    assert finding("bgp-peer-misconfigured", PEER + NODES + NONE).strength >= PROVEN


def test_a_selector_that_fits_rules_it_out() -> None:
    fits = NODES.replace("rack=rack-2", "route-reflector=true")
    assert finding(ID, PEER + fits).state == "ruled-out"


def test_no_peers_alone_say_nothing() -> None:
    assert finding(ID, NONE).state == "cannot-tell"


def test_a_session_that_stands_rules_it_out() -> None:
    router = PEER.replace("nodeSelector: all()", "nodeSelector: rack == 'rack-9'\n  peerIP: 10.0.0.254")
    router = router.replace("  peerSelector: route-reflector == 'true'\n", "")
    up = "| PEER ADDRESS | PEER TYPE | STATE |  SINCE   |    INFO     |\n| 10.0.0.254   | global    | up    | 11:00:00 | Established |\n"  # noqa: E501
    assert finding(ID, router + NODES + up).state == "ruled-out"


def test_the_fix_gives_the_label_back() -> None:
    seen = picture(TAKEN + PEER + NODES + NONE)
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert "kubectl label node wren route-reflector=true --overwrite" in commands


COLUMN = """
$ kubectl get no -L route-reflector
NAME    STATUS   ROLES           AGE   VERSION   ROUTE-REFLECTOR
wren    Ready    control-plane   41d   v1.27.4   old
finch   Ready    <none>          41d   v1.27.4
"""
GONE = "bird: Removing protocol Node_10_33_0_1\n"


def test_a_column_of_the_label_shows_that_no_node_has_it() -> None:
    assert finding(ID, PEER + COLUMN + GONE).strength >= PROVEN
    assert finding(ID, PEER + COLUMN.replace("   old", "   true") + GONE).state != "found"
    # Rows that somebody picked, and columns of other labels, tell nothing of the rest.
    assert finding(ID, PEER + COLUMN.replace("-L route-reflector", "-L route-reflector -l a=b") + GONE).state != "found"
    assert finding(ID, PEER + COLUMN.replace("-L route-reflector", "-L rack") + GONE).state != "found"


def test_a_label_that_was_written_over() -> None:
    over = "$ kubectl label node wren route-reflector=old --overwrite\nnode/wren labeled\n"
    answer = finding(ID, over + PEER + COLUMN + NONE)
    assert (answer.strength, answer.value("node")) == (PROVEN, "wren")
    given = over.replace("=old", "=true")  # what the selector asks for
    assert finding(ID, given + PEER + COLUMN + NONE).strength < LIKELY


def test_roles_tell_of_the_labels_they_come_from() -> None:
    selector = PEER.replace("route-reflector == 'true'", "has(node-role.kubernetes.io/master)")
    roles = (
        "$ kubectl get nodes\nNAME    STATUS   ROLES           AGE   VERSION\n"
        "wren    Ready    control-plane   41d   v1.24.3\nfinch   Ready    <none>          41d   v1.24.3\n"
    )
    answer = finding(ID, selector + roles + NONE)
    assert answer.strength >= PROVEN
    assert answer.value("renamed_to") == "node-role.kubernetes.io/control-plane"
    both = roles.replace("control-plane  ", "control-plane,master")
    assert finding(ID, selector + both + NONE).state != "found"
    assert finding(ID, PEER + roles + NONE).state != "found"  # a label that is no role


_CUT = """
        $ sudo calicoctl node status
        Calico process is running.
        IPv4 BGP status
        No IPv4 peers found.
        $ calicoctl get bgpconfig default -o yaml | grep -i mesh
          nodeToNodeMeshEnabled: false
        $ kubectl get node
        NAME   STATUS   ROLES           AGE   VERSION
        cp-7   Ready    control-plane   3y    v1.24.9
        wk-8   Ready    <none>          3y    v1.24.9
        {shown}
"""


def test_fields_that_were_cut_out_belong_to_the_resource_that_was_asked_for() -> None:
    for shown in (
        "$ calicoctl get bgppeer up -o yaml | sed -n '/spec/,$p'\n        spec:\n          nodeSelector: all()\n"
        "          peerSelector: has(node-role.kubernetes.io/master)",
        "$ kubectl get bgppeers.crd.projectcalico.org up -o yaml | grep Selector\n"
        "          nodeSelector: all()\n          peerSelector: has(node-role.kubernetes.io/master)",
        "$ calicoctl get bgppeer -o yaml | grep -e name: -e elector\n            name: up\n"
        "            nodeSelector: all()\n            peerSelector: 'has(node-role.kubernetes.io/master)'",
        "$ kubectl get bgppeer up -o json | grep elector\n"
        '                "nodeSelector": "all()",\n'
        '                "peerSelector": "has(node-role.kubernetes.io/master)"',
    ):
        text = _CUT.format(shown=shown)
        answer = finding("bgp-label-drift", text)
        assert answer.strength >= 0.9, shown
        assert {"up", "node-role.kubernetes.io/master"} <= set(answer.objects), shown
        assert not any("<" in command for command in fixes("bgp-label-drift", text)), shown


def test_the_same_field_of_a_pool_is_the_pools() -> None:
    shown = (
        "$ calicoctl get ippool up -o yaml | grep Selector\n          nodeSelector: has(node-role.kubernetes.io/master)"
    )
    assert finding("bgp-label-drift", _CUT.format(shown=shown)).state != "found"
    scopes = [s.scope for s in picture(_CUT.format(shown=shown)).settings("nodeSelector")]
    assert scopes == ["ippool"]
