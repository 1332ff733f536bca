"""TRT1012: all sessions stand, and routes do not come from node to node."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes, picture

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG
from tortie.doctor.causes.nodes.reflection import Topology
from tortie.doctor.causes.nodes.reflectors import cluster_ids, gap

ID = "bgp-peer-misconfigured"

MESH_OFF = "$ calicoctl get bgpconfig default -o yaml | grep Mesh\n  nodeToNodeMeshEnabled: false\n"
LABELS = """\
$ kubectl get nodes --show-labels
NAME   STATUS   ROLES    AGE   VERSION   LABELS
jay    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=jay,reflects=yes
tit    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=tit
owl    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=owl
"""
PEER = """\
$ calicoctl get bgppeer -o yaml
apiVersion: projectcalico.org/v3
items:
- apiVersion: projectcalico.org/v3
  kind: BGPPeer
  metadata:
    name: to-reflector
  spec:
    nodeSelector: all()
    peerSelector: reflects == 'yes'
kind: BGPPeerList
"""
IDS = """\
$ calicoctl get nodes -o yaml | grep -E ' name:|ClusterID'
    name: jay
{jay}    name: tit
{tit}    name: owl
"""
ON_TIT = IDS.format(jay="", tit="      routeReflectorClusterID: 244.0.0.1\n")
ON_JAY = IDS.format(jay="      routeReflectorClusterID: 244.0.0.1\n", tit="")
SESSIONS = """\
[root@tit ~]# calicoctl node status
IPv4 BGP status
+--------------+---------------+-------+----------+-------------+
| PEER ADDRESS |   PEER TYPE   | STATE |  SINCE   |    INFO     |
+--------------+---------------+-------+----------+-------------+
| 10.9.0.11    | node specific | up    | 09:12:44 | Established |
+--------------+---------------+-------+----------+-------------+
"""


def test_the_id_is_on_another_node_than_the_one_that_the_selector_chooses() -> None:
    text = MESH_OFF + LABELS + PEER + ON_TIT + SESSIONS
    answer = finding(ID, text)
    assert (answer.rule, answer.say, answer.strength) == ("routes-not-passed-on", "not-reflecting", PROVEN)
    assert answer.objects[:2] == ("jay", "routeReflectorClusterID")
    assert any("patch node jay" in command for command in fixes(ID, text))


def test_with_the_id_on_the_right_node_established_sessions_say_no() -> None:
    assert finding(ID, MESH_OFF + LABELS + PEER + ON_JAY + SESSIONS).state == "ruled-out"


def test_ids_that_nobody_looked_at_may_be_right() -> None:
    assert gap(picture(MESH_OFF + LABELS + PEER + SESSIONS)) is None


def test_the_steps_of_a_guide_on_two_different_nodes() -> None:
    nodes = "$ kubectl get nodes\nNAME  STATUS  ROLES   AGE  VERSION\n" + "".join(
        f"{name}   Ready   <none>  9d   v1.24.9\n" for name in ("jay", "tit", "owl")
    )
    label = "$ kubectl label node jay reflects=yes\nnode/jay labeled\n"
    patch = """$ calicoctl patch node {} -p '{{"spec":{{"bgp":{{"routeReflectorClusterID":"244.0.0.1"}}}}}}'\n"""
    done = "Successfully patched 1 'Node' resource\n"
    wrong = finding(ID, MESH_OFF + nodes + label + patch.format("tit") + done + PEER + SESSIONS)
    assert (wrong.say, wrong.strength) == ("not-reflecting", LIKELY)
    assert gap(picture(MESH_OFF + nodes + label + patch.format("jay") + done + PEER + SESSIONS)) is None


def test_labels_in_a_column_of_their_own() -> None:
    column = """\
$ kubectl get nodes -L reflects
NAME   STATUS   ROLES    AGE   VERSION   REFLECTS
jay    Ready    <none>   9d    v1.24.9   yes
tit    Ready    <none>   9d    v1.24.9
owl    Ready    <none>   9d    v1.24.9
"""
    assert finding(ID, MESH_OFF + column + PEER + ON_TIT + SESSIONS).say == "not-reflecting"
    assert gap(picture(MESH_OFF + column + PEER + ON_JAY + SESSIONS)) is None


@pytest.mark.parametrize(
    "more",
    [
        SESSIONS.replace("node specific", "node-to-node mesh"),  # routes come by the mesh
        MESH_OFF + "$ calicoctl get ippool -o wide\n"
        "NAME   CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR\n"
        "all    10.244.0.0/16   true   Never      Always      false      all()\n",  # Felix makes the routes
        MESH_OFF + "$ calicoctl get node -o wide\nNAME   ASN       IPV4           IPV6\n"
        "jay    64601     10.9.0.11/24\ntit    64602     10.9.0.12/24\n",  # nodes of different AS pass routes on
        MESH_OFF + "---\nkind: BGPPeer\nmetadata:\n  name: tor\nspec:\n  peerIP: 10.9.0.1\n  asNumber: 64512\n",
    ],
)
def test_where_routes_may_come_by_another_way_nothing_is_missed(more: str) -> None:
    assert gap(picture(LABELS + PEER + ON_TIT + more)) is None


def test_a_route_that_should_not_be_there_means_that_more_joins_them() -> None:
    ips = "$ kubectl get nodes -o wide\nNAME  STATUS  ROLES   AGE  VERSION  INTERNAL-IP\n" + "".join(
        f"{name}   Ready   <none>  9d   v1.24.9  10.9.0.{index}\n"
        for index, name in enumerate(("jay", "tit", "owl"), 11)
    )
    route = "[root@tit ~]# ip route | grep bird\n10.244.7.0/26 via 10.9.0.13 dev eth0 proto bird\n"
    assert gap(picture(MESH_OFF + LABELS + PEER + ON_TIT + ips)) is not None
    assert gap(picture(MESH_OFF + LABELS + PEER + ON_TIT + ips + route)) is None


RACKS = """\
$ kubectl get nodes --show-labels
NAME   STATUS   ROLES    AGE   VERSION   LABELS
jay    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=jay,rack=a,reflects=yes
tit    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=tit,rack=a
owl    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=owl,rack=b,reflects=yes
auk    Ready    <none>   9d    v1.24.9   kubernetes.io/hostname=auk,rack=b
"""
OF_RACKS = "$ calicoctl get bgppeer -o yaml\nitems:\n" + "".join(
    "- kind: BGPPeer\n  apiVersion: projectcalico.org/v3\n"
    f"  metadata:\n    name: {name}\n  spec:\n    nodeSelector: {one}\n    peerSelector: {other}\n"
    for name, one, other in (
        ("rack-a", "rack == 'a' && !has(reflects)", "rack == 'a' && has(reflects)"),
        ("rack-b", "rack == 'b' && !has(reflects)", "rack == 'b' && has(reflects)"),
    )
)
JOINED = (
    "- kind: BGPPeer\n  apiVersion: projectcalico.org/v3\n"
    "  metadata:\n    name: reflectors\n  spec:\n    nodeSelector: has(reflects)\n    peerSelector: has(reflects)\n"
)
SAME_ID = """\
$ calicoctl get nodes -o yaml | grep -E ' name:|ClusterID'
    name: jay
      routeReflectorClusterID: 244.0.0.1
    name: owl
      routeReflectorClusterID: 244.0.0.1
    name: tit
    name: auk
"""


def test_reflectors_that_do_not_know_each_other() -> None:
    answer = finding(ID, MESH_OFF + RACKS + OF_RACKS)
    assert (answer.say, answer.strength) == ("apart", STRONG)
    assert gap(picture(MESH_OFF + RACKS + OF_RACKS + JOINED)) is None


def test_reflectors_of_one_cluster_drop_what_the_other_reflects() -> None:
    answer = finding(ID, MESH_OFF + RACKS + OF_RACKS + JOINED + SAME_ID)
    assert (answer.say, answer.value("cluster")) == ("one-cluster", "244.0.0.1")
    assert (
        gap(picture(MESH_OFF + RACKS + OF_RACKS + JOINED + SAME_ID.replace("1\n    name: tit", "2\n    name: tit")))
        is None
    )


def test_what_only_reflectors_miss_counts_where_somebody_names_them() -> None:
    both = PEER.replace("all()", '"!has(reflects)"').replace("reflects == 'yes'", "has(reflects)")
    text = MESH_OFF + RACKS + both
    assert finding(ID, text).strength == POSSIBLE
    assert finding(ID, "Pods on jay cannot reach pods on owl.\n" + text).strength == LIKELY


def test_ids_of_documents_and_annotations() -> None:
    text = """
    apiVersion: v1
    kind: Node
    metadata:
      name: jay
      annotations:
        projectcalico.org/IPv4Address: 10.9.0.11/24
        projectcalico.org/RouteReflectorClusterID: 244.0.0.1
    ---
    apiVersion: projectcalico.org/v3
    kind: Node
    metadata:
      name: tit
    spec:
      bgp:
        ipv4Address: 10.9.0.12/24
    """
    assert cluster_ids(picture(text)).known == {"jay": "244.0.0.1", "tit": ""}


def test_a_node_without_an_id_passes_nothing_on() -> None:
    star = [("a", "hub"), ("b", "hub")]
    assert Topology(star, {"a": "", "b": "", "hub": ""}).gaps() == [("a", "b")]
    assert Topology(star, {"a": "", "b": "", "hub": "1.1.1.1"}).gaps() == []
    assert Topology(star, {"a": "2.2.2.2", "b": "", "hub": ""}).gaps() == [("a", "b")]


def test_a_chain_of_reflectors() -> None:
    chain = [("a", "x"), ("x", "y"), ("y", "b")]
    assert Topology(chain, {"a": "", "x": "1.1.1.1", "y": "2.2.2.2", "b": ""}).gaps() == []
    assert ("a", "b") in Topology(chain, {"a": "", "x": "1.1.1.1", "y": "1.1.1.1", "b": ""}).gaps()
