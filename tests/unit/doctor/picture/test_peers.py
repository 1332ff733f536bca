"""BGP peers against the labels of nodes."""

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.picture.peers import choosing_nobody, chosen, peers

PEERS = """\
$ calicoctl get bgppeer -o yaml
apiVersion: projectcalico.org/v3
items:
- apiVersion: projectcalico.org/v3
  kind: BGPPeer
  metadata:
    name: rack-1
  spec:
    asNumber: 64512
    nodeSelector: rack == 'rack-1'
    peerIP: 10.0.0.254
- apiVersion: projectcalico.org/v3
  kind: BGPPeer
  metadata:
    name: reflectors
  spec:
    nodeSelector: all()
    peerSelector: route-reflector == 'true'
kind: BGPPeerList
"""
NODES = """\
$ kubectl get nodes --show-labels
NAME    STATUS   ROLES    AGE   VERSION   LABELS
wren    Ready    <none>   41d   v1.27.4   kubernetes.io/hostname=wren,rack=rack-1
finch   Ready    <none>   41d   v1.27.4   kubernetes.io/hostname=finch,rack=rack-2
"""


def test_a_selector_that_chooses_nobody() -> None:
    found = choosing_nobody(picture(PEERS + NODES))
    assert [(peer.name, selector) for peer, selector in found] == [("reflectors", "route-reflector == 'true'")]


def test_a_selector_that_chooses_some() -> None:
    assert chosen(picture(PEERS + NODES), "rack == 'rack-1'") == ["wren"]


def test_nothing_is_said_where_labels_of_a_node_are_not_shown() -> None:
    more = "$ kubectl get nodes\nNAME   STATUS   ROLES   AGE   VERSION\nrobin   Ready   <none>   1d   v1.27.4\n"
    seen = picture(PEERS + NODES + more)
    assert choosing_nobody(seen) == []
    assert chosen(seen, "all()") is None


def test_the_table_of_calicoctl_has_selectors_among_nodes() -> None:
    table = """\
$ calicoctl get bgppeer -o wide
NAME     PEERIP       NODE             ASN     PEERSELECTOR
direct   10.0.0.254   (global)         64512   <none>
rr       <none>       rack == 'r9'     0       route-reflector == 'true'
"""
    direct, rr = peers(picture(table))
    assert (direct.peer_ip, direct.node, direct.asn) == ("10.0.0.254", "", "64512")
    assert (rr.node_selector, rr.peer_selector) == ("rack == 'r9'", "route-reflector == 'true'")
