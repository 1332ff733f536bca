"""TRT1012: peers that were told wrongly, or not at all."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN
from tortie.doctor.judgement.judge import judge

ID = "bgp-peer-misconfigured"

NODES = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
w-1    Ready    master   9d    v1.21.3   10.61.0.1     <none>        Debian 11  5.10.0           containerd://1.5.2
w-2    Ready    <none>   9d    v1.21.3   10.61.0.2     <none>        Debian 11  5.10.0           containerd://1.5.2
"""


def test_the_mesh_is_off_and_nothing_replaces_it() -> None:
    text = """
    $ calicoctl get bgpconfig default -o yaml | grep -i mesh
      nodeToNodeMeshEnabled: false
    $ calicoctl node status
    Calico process is running.

    IPv4 BGP status
    No IPv4 peers found.
    """
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert "nodeToNodeMeshEnabled" in answer.objects


def test_a_router_nobody_knows() -> None:
    text = (
        NODES
        + "$ kubectl -n kube-system logs calico-node-t5t5t | tail -1\nbird: BGP: Unexpected connect from unknown address 10.61.255.1 (port 51000)\n"  # noqa: E501
    )
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "10.61.255.1" in answer.objects


def test_a_node_that_peers_with_itself() -> None:
    text = """
    | PEER ADDRESS |   PEER TYPE   | STATE |  SINCE   |              INFO              |
    | 10.61.0.1    | global        | start | 11:00:00 | Idle BGP Error: Bad BGP        |
    |              |               |       |          | identifier                     |
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "10.61.0.1" in answer.objects


def test_an_unknown_address_of_a_node_is_another_cause() -> None:
    text = NODES + "bird: BGP: Unexpected connect from unknown address 10.61.0.2 (port 51000)\n"
    assert finding(ID, text).strength < LIKELY


def test_no_peers_on_a_single_node_is_normal() -> None:
    assert finding(ID, "$ calicoctl node status\nIPv4 BGP status\nNo IPv4 peers found.\n").state != "found"


def test_the_peer_that_selects_nothing_is_named() -> None:
    text = """
    $ calicoctl get bgpconfig default -o yaml | grep -i mesh
      nodeToNodeMeshEnabled: false
    $ calicoctl get bgppeer to-reflectors -o yaml
    apiVersion: projectcalico.org/v3
    kind: BGPPeer
    metadata:
      name: to-reflectors
    spec:
      nodeSelector: "!has(rr)"
      peerSelector: has(rr)
    $ calicoctl node status
    Calico process is running.

    IPv4 BGP status
    No IPv4 peers found.
    """
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert {"to-reflectors", "peerSelector"} <= set(answer.objects)


STATUS = "$ calicoctl node status\nCalico process is running.\n\nIPv4 BGP status\nNo IPv4 peers found.\n"
MESH = "$ calicoctl get bgpconfig default -o yaml\nspec:\n  nodeToNodeMeshEnabled: false\n"
PODS = (
    "$ kubectl get pods -n kube-system\nNAME READY STATUS RESTARTS AGE\ncalico-node-aaaaa 1/1 Running 0 5m\n"
    "coredns-74ff55c5b-ntc6p 1/1 Running 0 5m\n"
)
POOL = """$ calicoctl get ippools -o yaml
apiVersion: projectcalico.org/v3
kind: IPPool
metadata:
  name: default
spec:
  cidr: 10.244.0.0/16
  ipipMode: Never
  vxlanMode: MODE
"""


def test_nodes_without_peers_are_not_well_though_their_agents_are() -> None:
    for mode, verdict in (("Never", "cause-found"), ("Always", "healthy")):
        answer = judge(picture(PODS + STATUS + MESH + POOL.replace("MODE", mode)))
        assert answer.verdict == verdict, mode


def test_a_peer_that_calls_from_another_address_is_corrected() -> None:
    text = (
        NODES
        + """
bird: BGP: Unexpected connect from unknown address 10.61.255.4 (port 51000)
$ calicoctl get bgppeer
NAME     PEERIP        NODE       ASN
edge-1   10.61.255.1   (global)   65200
$ calicoctl node status
| 10.61.255.1  | global            | start | 2022-10-11 | Active Socket: Connection refused |
"""
    )
    seen = picture(text)
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert any("patch bgppeer edge-1" in command and "10.61.255.4" in command for command in commands)


def test_a_router_may_have_other_reasons_to_refuse_an_id() -> None:
    assert finding(ID, "bird: Global_10_0_0_1: Received: Bad BGP identifier\n").strength < LIKELY
    assert finding(ID, "bird: Global_10_0_0_1: Error: Bad BGP identifier\n").strength >= LIKELY
    assert finding(ID, "bird: Mesh_10_0_0_1: Received: Bad BGP identifier\n").strength >= LIKELY


COUNTED = """
$ calicoctl get bgpconfig default -o yaml | grep mesh
  nodeToNodeMeshEnabled: false
$ calicoctl get bgppeer peer-with-rrs -o yaml | grep -A3 '^spec'
spec:
  nodeSelector: all()
  peerSelector: route-reflector == 'true'
[root@w17 ~]# calicoctl node status
| 10.88.3.9    | node specific | up    | 06:30:12 | Established |
$ calicoctl get node -o yaml | grep -c routeReflectorClusterID
{count}
"""


def test_where_nobody_is_a_reflector_nothing_is_passed_on() -> None:
    answer = finding("bgp-peer-misconfigured", COUNTED.format(count=0))
    assert (answer.rule, answer.strength >= 0.9) == ("nobody-reflects", True)
    assert "routeReflectorClusterID" in answer.objects
    assert finding("bgp-peer-misconfigured", COUNTED.format(count=1)).strength < 0.8


IN_VAIN = """
Nodes of hall A have no route of hall B, though all sessions are up.
| 10.64.9.11   | node specific | up    | 11:02:49 | Established |
bird> show protocols all Node_10_64_9_11
Node_10_64_9_11 BGP      master   up     11:02:49    Established
    Import updates:             22         {}          0          0          1
$ calicoctl get node rr1 rr3 -o yaml | egrep 'name:|routeRef'
    name: rr1
      routeReflectorClusterID: 224.0.0.7
    name: rr3
      routeReflectorClusterID: 224.0.0.{}
"""


def test_reflectors_of_one_cluster_reject_what_the_other_reflects() -> None:
    answer = finding("bgp-peer-misconfigured", IN_VAIN.format(21, 7))
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "reflected-in-vain", True)
    assert {"224.0.0.7", "rr1", "rr3"} <= set(answer.objects)


def test_an_id_for_each_or_routes_that_are_taken_are_no_fault() -> None:
    assert finding("bgp-peer-misconfigured", IN_VAIN.format(21, 8)).state != "found"
    assert finding("bgp-peer-misconfigured", IN_VAIN.format(1, 7)).state != "found"
