"""TRT1006: the mesh waits for a node that was removed long ago."""

from __future__ import annotations

from tests.support.doctor import finding, fixes

from tortie.doctor.causes.cause import LIKELY

ID = "stale-node-entry"
COMPLAINT = "BIRD is not ready: BGP not established with 10.7.0.19\n"
RECORDS = """
# calicoctl get nodes -o wide
NAME   ASN       IPV4           IPV6
n1     (64512)   10.7.0.11/24
n2     (64512)   10.7.0.12/24
n9     (64512)   10.7.0.19/24
"""
NODES = """
# kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE    VERSION    INTERNAL-IP   EXTERNAL-IP
n1     Ready    master   390d   v1.13.12   10.7.0.11     <none>
n2     Ready    <none>   390d   v1.13.12   10.7.0.12     <none>
"""


def test_a_peer_whom_only_calico_has_recorded() -> None:
    answer = finding(ID, COMPLAINT + RECORDS + NODES)
    assert (answer.rule, answer.strength >= LIKELY) == ("peer-gone", True)
    assert answer.objects[:2] == ("n9", "10.7.0.19")
    assert fixes(ID, COMPLAINT + RECORDS + NODES) == ["calicoctl delete node n9"]


def test_a_node_that_is_listed_is_only_down() -> None:
    down = NODES + "n9     NotReady   <none>   390d   v1.13.12   10.7.0.19     <none>\n"
    assert finding(ID, COMPLAINT + RECORDS + down).state != "found"


def test_when_living_nodes_are_missed_too_it_is_another_trouble() -> None:
    both = COMPLAINT.replace("10.7.0.19", "10.7.0.12,10.7.0.19")
    assert finding(ID, both + RECORDS + NODES).state != "found"


def test_a_list_that_was_picked_may_leave_it_out() -> None:
    picked = NODES.replace("kubectl get nodes -o wide", "kubectl get nodes -l tier=web -o wide")
    assert finding(ID, COMPLAINT + RECORDS + picked).state != "found"


def test_a_machine_that_answers_may_be_a_node_without_kubernetes() -> None:
    ping = "$ ping -c1 10.7.0.19\n64 bytes from 10.7.0.19: icmp_seq=1 ttl=64 time=0.3 ms\n"
    assert finding(ID, COMPLAINT + RECORDS + NODES + ping).state != "found"


def test_the_record_under_another_name_of_a_living_node() -> None:
    other = RECORDS.replace("10.7.0.12/24", "10.7.0.13/24").replace("10.7.0.19", "10.7.0.12")
    assert finding(ID, COMPLAINT.replace("10.7.0.19", "10.7.0.12") + other + NODES).rule != "peer-gone"


NAMES = "# calicoctl get nodes\nNAME\nn1\nn2\nn3\nn9\n"
TABLE = """
# calicoctl node status
| PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO        |
| 10.7.0.12    | node-to-node mesh | up    | 03:10:22 | Established |
| 10.7.0.13    | node-to-node mesh | up    | 03:10:22 | Established |
| 10.7.0.19    | node-to-node mesh | start | 03:10:41 | Connect Socket: No route to host |
"""
LISTED = """
# kubectl get nodes
NAME   STATUS   ROLES    AGE    VERSION
n1     Ready    master   390d   v1.13.12
n2     Ready    <none>   390d   v1.13.12
n3     Ready    <none>   390d   v1.13.12
"""


def test_as_many_sessions_are_missing_as_nodes_are_gone() -> None:
    answer = finding(ID, NAMES + LISTED + TABLE)
    assert (answer.rule, answer.objects[:2]) == ("peer-gone", ("n9", "10.7.0.19"))


def test_a_table_with_fewer_rows_does_not_have_the_one_that_is_gone() -> None:
    short = "\n".join(line for line in TABLE.splitlines() if "0.13" not in line) + "\n"
    assert finding(ID, NAMES + LISTED + short).state != "found"
    two_down = TABLE.replace("up    | 03:10:22 | Established", "start | 03:10:22 | Connect     ", 1)
    assert finding(ID, NAMES + LISTED + two_down).state != "found"
    assert finding(ID, NAMES + LISTED + "n9     NotReady   <none>   390d   v1.13.12\n" + TABLE).state != "found"
