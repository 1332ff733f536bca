"""Faults of BGP sessions: filters on the way, numbers and passwords that do not agree, peers that nobody defined."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import (
    Deed,
    Filter,
    HaltMachine,
    PutResource,
    RestartNode,
    SetLink,
    WriteFile,
)
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.faults.places import uplink
from tortie.lab.words import Pair

SECRET: Final = ("bgp-secrets", "mesh")
_MANY: Final = 20  # peers that are given a definition of their own; more would say nothing new

# Only the first packet of a connection, as stateful firewalls do: what stands already goes on until the node restarts.
_CLOSED: Final = """table inet {table} {
	chain input {
		type filter hook input priority 0;
		tcp dport 179 tcp flags syn / syn,ack counter drop
	}
	chain output {
		type filter hook output priority 0;
		tcp dport 179 tcp flags syn / syn,ack counter drop
	}
}
"""

# A handshake has no payload and is smaller than this; no OPEN is.
_ONE_WAY: Final = """table bridge {table} {
	chain forward {
		type filter hook forward priority 0;
		ip daddr ADDRESS tcp sport 179 ip length > 80 counter drop
		ip daddr ADDRESS tcp dport 179 ip length > 80 counter drop
	}
}
"""


def _port_dropped(scene: Scene) -> tuple[Deed, ...]:
    return (Filter(scene.node.name, _CLOSED), RestartNode(scene.node.name))


def _one_way(scene: Scene) -> tuple[Deed, ...]:
    rules = _ONE_WAY.replace("ADDRESS", str(scene.node.address))
    return (Filter("switch", rules, "bridge"), RestartNode(scene.node.name))


def _peer(name: str, spec: dict[str, object]) -> PutResource:
    return PutResource(
        {"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "metadata": {"name": name}, "spec": spec}
    )


def _as_mismatch(scene: Scene) -> tuple[Deed, ...]:
    number = scene.plan.as_number + 100 + scene.random.randrange(100)
    return tuple(
        _peer(
            f"{scene.node.name}-to-{other.name}",
            {"node": scene.node.name, "peerIP": str(other.address), "asNumber": number},
        )
        for other in scene.others[:_MANY]
    )


def _password(scene: Scene) -> tuple[Deed, ...]:
    # The secret was changed, and one node still has what was in it before.
    secret, key = SECRET
    old, new = (f"{scene.random.getrandbits(64):016x}" for _ in range(2))
    path = f"/etc/calico/secrets/{secret}/{key}"
    others = scene.others[:_MANY]
    files = [WriteFile(other.name, path, new, 0o600) for other in others]
    sessions = [
        _peer(
            f"{scene.node.name}-to-{other.name}",
            {
                "node": scene.node.name,
                "peerIP": str(other.address),
                "asNumber": scene.plan.as_number,
                "password": {"secretKeyRef": {"name": secret, "key": key}},
            },
        )
        for other in others
    ]
    return (WriteFile(scene.node.name, path, old, 0o600), *files, *sessions)


def _mesh_off(scene: Scene) -> tuple[Deed, ...]:
    # Whole: releases before 3.21 keep no such document until somebody writes one.
    document: dict[str, object] = {
        "apiVersion": "projectcalico.org/v3",
        "kind": "BGPConfiguration",
        "metadata": {"name": "default"},
        "spec": {"logSeverityScreen": "Info", "asNumber": scene.plan.as_number, "nodeToNodeMeshEnabled": False},
    }
    return (PutResource(document),)


def _link_down(scene: Scene) -> tuple[Deed, ...]:
    return (SetLink(scene.node.name, uplink(scene.node).name, up=False),)


def _node_down(scene: Scene) -> tuple[Deed, ...]:
    return (HaltMachine(scene.node.name),)


FAULTS: Final = (
    Fault(
        name="bgp-port-dropped",
        cause="bgp-port-blocked",
        code="TRT8001",
        summary=Pair(
            "a firewall on the node drops new connections to TCP 179", "节点上的防火墙丢弃新建的 TCP 179 连接"
        ),
        shows=Pair(
            "The node is 0/1 with `BGP not established with` all of its peers; ping works, port 179 does not, in both "
            "modes.",
            "节点 0/1，`BGP not established with` 后列出全部对端；ping 通而 179 端口不通，两种模式皆然。",
        ),
        plan=_port_dropped,
        needs=("two-nodes", "bgp"),
    ),
    Fault(
        name="one-way-filter",
        cause="bgp-filtered-in-path",
        code="TRT9003",
        summary=Pair("a device in the path drops BGP messages towards the node", "路径设备丢弃发往该节点的 BGP 报文"),
        shows=Pair(
            "Port 179 connects, yet sessions stay at OpenSent here and OpenConfirm at the peers; no rule is on any "
            "node.",
            "179 端口能连上，但会话在本端停在 OpenSent，在对端停在 OpenConfirm；各节点上都没有过滤规则。",
        ),
        plan=_one_way,
        needs=("two-nodes", "bgp"),
    ),
    Fault(
        name="as-mismatch",
        cause="bgp-as-mismatch",
        code="TRT1010",
        summary=Pair("BGPPeers of the node expect another AS of its peers", "该节点的 BGPPeer 写了错误的对端 AS 号"),
        shows=Pair(
            "Sessions go Idle with `Bad peer AS` on both ends, while TCP works; the node is 0/1.",
            "两端会话均为 Idle，报 `Bad peer AS`，而 TCP 正常；该节点 0/1。",
        ),
        plan=_as_mismatch,
        needs=("two-nodes", "bgp"),
    ),
    Fault(
        name="bgp-password",
        cause="bgp-auth-mismatch",
        code="TRT1011",
        summary=Pair("the node has another BGP password than its peers", "该节点的 BGP 密码与对端不同"),
        shows=Pair(
            "Sessions stay at Connect although ping works; the kernels count packets with a wrong MD5 signature, and "
            "say nothing else.",
            "会话停在 Connect，而 ping 正常；内核只统计 MD5 签名错误的报文，别无提示。",
        ),
        plan=_password,
        needs=("two-nodes", "bgp"),
    ),
    Fault(
        name="peer-misconfigured",
        cause="bgp-peer-misconfigured",
        code="TRT1012",
        summary=Pair("the mesh is switched off, and no BGPPeer takes its place", "关闭全互联，却没有 BGPPeer 代替"),
        shows=Pair(
            "`No IPv4 peers found.` on every node; agents are ready, and pods reach nobody on other nodes.",
            "所有节点都是 `No IPv4 peers found.`；calico-node 就绪，但 pod 到不了其他节点。",
        ),
        plan=_mesh_off,
        needs=("two-nodes", "bgp"),
        everywhere=True,
    ),
    Fault(
        name="link-down",
        cause="peer-node-down",
        code="TRT1015",
        summary=Pair("the node's uplink goes down", "节点的上联网卡断开"),
        shows=Pair(
            "The others miss this one peer, ping gets no answer, and the node turns NotReady; its own pod still looks "
            "well.",
            "其他节点只缺这一个对端，ping 无应答，节点变为 NotReady；而它自己的 pod 看上去仍然正常。",
        ),
        plan=_link_down,
        needs=("three-nodes", "kubelet", "bgp"),
    ),
    Fault(
        name="node-down",
        cause="peer-node-down",
        code="TRT1015",
        summary=Pair("the whole machine is off", "整台机器关机"),
        shows=Pair(
            "The others miss this one peer, ping gets no answer, and the node turns NotReady; its pods stay listed as "
            "they were last.",
            "其他节点只缺这一个对端，ping 无应答，节点变为 NotReady；其 pod 仍显示为最后的状态。",
        ),
        plan=_node_down,
        needs=("three-nodes", "kubelet", "bgp"),
    ),
)
