"""Sessions, addresses and nodes rule a cause out only where they are shown."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

PODS = """
pods on different nodes cannot reach each other
NAME                READY   STATUS    RESTARTS   AGE   IP           NODE
calico-node-4kq2w   1/1     Running   0          41d   10.83.0.21   ox1
calico-node-8mzr5   1/1     Running   0          41d   10.83.0.22   ox2
"""
SESSIONS = """
[root@ox1 ~]# calicoctl node status
| 10.83.0.22   | node-to-node mesh | up    | 2023-11-02 | Established |
"""
NODES = """
$ kubectl get nodes -o wide
NAME   STATUS     ROLES    AGE   VERSION   INTERNAL-IP
ox1    Ready      master   41d   v1.24.0   10.83.0.21
ox2    Ready      <none>   41d   v1.24.0   10.83.0.22
"""
BY_SESSIONS = (
    "autodetect-wrong-interface",
    "node-ip-changed",
    "bgp-as-mismatch",
    "peer-node-down",
    "bgp-port-blocked",
    "bgp-filtered-in-path",
)


@pytest.mark.parametrize("cause", BY_SESSIONS)
def test_agents_that_are_ready_show_no_session(cause: str) -> None:
    assert finding(cause, PODS).state == "cannot-tell"


@pytest.mark.parametrize("cause", BY_SESSIONS)
def test_sessions_that_are_shown_rule_out_and_are_quoted(cause: str) -> None:
    answer = finding(cause, PODS + SESSIONS)
    assert answer.state == "ruled-out"
    assert answer.evidence


def test_a_lost_node_keeps_the_question_of_its_machine_open() -> None:
    lost = NODES.replace("ox2    Ready   ", "ox2    NotReady")
    assert finding("peer-node-down", PODS + SESSIONS + lost).state == "cannot-tell"


def test_different_internal_ips_must_be_shown() -> None:
    assert finding("duplicate-node-ip", PODS).state == "cannot-tell"
    one = "\n".join(line for line in NODES.splitlines() if not line.startswith("ox2"))
    assert finding("duplicate-node-ip", PODS + one).state == "cannot-tell"
    both = finding("duplicate-node-ip", PODS + NODES)
    assert both.state == "ruled-out"
    assert len(both.evidence) == 2


def test_a_setting_that_begins_with_ip_is_no_changed_address() -> None:
    text = "有人建议修改 IP_AUTODETECTION_METHOD。\nBIRD is not ready: BGP not established with 10.83.0.22\n"
    assert finding("node-ip-changed", text).state == "cannot-tell"
    changed = "昨天修改了 ip。\nBIRD is not ready: BGP not established with 10.83.0.22\n"
    assert finding("node-ip-changed", changed).state == "found"


def test_agents_that_are_counted_but_not_shown_may_still_wait() -> None:
    assert finding("graceful-restart-wait", PODS).state == "ruled-out"
    counted = """
$ kubectl -n kube-system get ds calico-node
NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
calico-node   5         5         3       5            3           kubernetes.io/os=linux   41d
"""
    assert finding("graceful-restart-wait", PODS + counted).state == "cannot-tell"
