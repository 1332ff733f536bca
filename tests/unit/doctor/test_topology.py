"""The picture of a cluster: both addresses of a node, sessions, and what is nobody's."""

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.picture.topology import topology

SESSIONS = """
    [root@w1 ~]# calicoctl node status
    | PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO        |
    | 10.0.0.2     | node-to-node mesh | up    | 01:00:00 | Established |
    | 172.18.0.1   | node-to-node mesh | start | 01:00:00 | Passive     |
"""
NODES = """
    $ kubectl get nodes -o wide
    NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
    w1     Ready    <none>   9d    v1.27.4   10.0.0.1      <none>
    w2     Ready    <none>   9d    v1.27.4   10.0.0.2      <none>
"""


def test_sessions_connect_nodes_and_an_address_of_nobody_is_foreign() -> None:
    seen = topology(picture(NODES + SESSIONS))
    assert {(edge.one, edge.other, edge.up) for edge in seen.edges} == {("w1", "w2", True), ("w1", "172.18.0.1", False)}
    assert [member.name for member in seen.nodes if member.foreign] == ["172.18.0.1"]


def test_without_internal_addresses_nothing_is_called_foreign() -> None:
    assert not any(member.foreign for member in topology(picture(SESSIONS)).nodes)
