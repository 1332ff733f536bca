"""TRT1012: BGPPeer or route-reflector definitions are wrong, missing on one side, or match nothing."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.legacy import (
    HINT,
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.causes.nodes.bgp_evidence import (
    MESH_OFF,
    MESH_OFF_JSON,
    NO_PEERS,
    SESSION_UP,
    UNKNOWN_CONNECT,
    is_external,
    listed,
    mesh_off,
    no_peers,
    node_at,
    settled,
    unknown_connects,
)
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

IDENTIFIER: Final = Sign("trt1012-identifier", "Bad BGP identifier")
MESH_COLUMN: Final = Sign("trt1012-mesh-column", "MESHENABLED")


def judge(picture: Picture) -> Finding:
    identifier = [s for s in picture.sessions_down() if "bad bgp identifier" in s.info.lower()]
    said_identifier = picture.hits(IDENTIFIER)
    if identifier or (said_identifier and not settled(picture)):
        peers = [session.peer for session in identifier]
        own = [peer for peer in peers if peer in picture.internal_ips().values()]
        why = Words(
            f"The peer {listed(peers) or 'named'} has the same router id: it peers with itself, or two share an id.",
            f"对端 {listed(peers)} 的 router id 与本机相同：节点在与自己建立对等，或两台设备 router id 重复。",
        )
        return found(
            STRONG, why, (*peers, "BGPPeer", *own), (*identifier[:3], *said_identifier[:2]), peer=listed(peers, 1)
        )
    off, none = mesh_off(picture), no_peers(picture)
    unknown = [hit for hit in unknown_connects(picture) if not picture.owner_of(hit.value("ip"))]
    if off and none:
        why = Words(
            "The node-to-node mesh is off and no other peer is configured: the nodes exchange no routes.",
            "node-to-node mesh 已关闭，又没有配置其他对等体：节点之间不交换路由。",
        )
        chosen = [s for s in picture.of(Setting) if s.scope == "bgppeer" and "elector" in s.name]
        names = list(dict.fromkeys(s.owner for s in picture.of(Setting) if s.scope == "bgppeer" and s.owner))
        if names:
            why = Words(
                f"The node-to-node mesh is off, and BGPPeer {listed(names)} gives this node no peer"
                + (f" ({chosen[-1].name}: {chosen[-1].value})." if chosen else "."),
                f"node-to-node mesh 已关闭，而 BGPPeer {listed(names)} 没有给该节点带来任何对等体"
                + (f"（{chosen[-1].name}: {chosen[-1].value}）。" if chosen else "。"),
            )
        objects = ("nodeToNodeMeshEnabled", *names[:3], *(s.name for s in chosen), "BGPPeer", "BGPConfiguration")
        return found(PROVEN, why, objects, (*off[:2], *chosen[:2], *none[:2]))
    if unknown:
        addresses = [hit.value("ip") for hit in unknown]
        where = node_at(picture, unknown[0].place, unknown[0].host)
        ips = picture.internal_ips()
        # Without the nodes' addresses the unknown one may be a node's, and then it is another fault.
        strength = STRONG if len(ips) > 1 else LIKELY if off or picture.commands("bgppeer") else POSSIBLE
        why = Words(
            f"{listed(addresses)} tries to connect{' to ' + where if where else ''} and no peer is configured for it.",
            f"{listed(addresses)} 尝试连接{' ' + where if where else ''}，但没有为它配置对等体。",
        )
        return found(strength, why, (*addresses, "BGPPeer", where), (*unknown[:3],), peer=addresses[0])
    if settled(picture) and picture.sessions():
        return ruled_out(Words("sessions are established", "会话已建立"), picture.sessions()[:1])
    if off and not picture.sessions():
        why = Words("The node-to-node mesh is off; no peers are shown.", "node-to-node mesh 已关闭；未见任何对等体。")
        return found(POSSIBLE, why, ("nodeToNodeMeshEnabled",), off[:1])
    external = [s for s in picture.sessions_down() if is_external(s)]
    if external:
        why = Words(
            f"The configured peer {listed([s.peer for s in external])} is not established.",
            f"手工配置的对等体 {listed([s.peer for s in external])} 未建立会话。",
        )
        return found(HINT, why, [s.peer for s in external], external[:2])
    return cannot_tell(Words("the BGPPeers and both ends' view of them", "BGPPeer 的定义以及两端的状态"))


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    peer = finding.value("peer", "<address>")
    document = (
        "cat <<'EOF' | calicoctl apply -f -\napiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata:\n"
        f"  name: peer-{peer.replace('.', '-')}\nspec:\n  peerIP: {peer}\n  asNumber: <its AS>\nEOF"
    )
    return (
        Step(
            Words("Compare the definitions with the nodes", "对照定义与节点"),
            "calicoctl get bgppeer -o wide; calicoctl get bgpconfig default -o yaml; calicoctl get node -o wide",
        ),
        Step(
            Words(
                "Define what is missing: peerIP and asNumber, or nodeSelector and peerSelector for reflectors; "
                "a node must not peer with itself",
                "补上缺失的定义：peerIP 与 asNumber，反射器则用 nodeSelector 与 peerSelector；节点不能与自己对等",
            ),
            document,
            "disruptive",
        ),
        Step(
            Words(
                "If reflectors are not ready yet, turn the mesh on again until they are",
                "反射器未就绪前，先恢复 node-to-node mesh",
            ),
            'calicoctl patch bgpconfig default -p \'{"spec":{"nodeToNodeMeshEnabled":true}}\'',
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="bgp-peer-misconfigured",
    code="TRT1012",
    severity="medium",
    name=Words("BGP peers are configured wrongly", "BGP 对等体配置错"),
    what=Words(
        "A BGPPeer is missing on one side, names itself or a wrong address, selects nothing, or the mesh is off.",
        "BGPPeer 只配了一端、指向自己或错误地址、选择器没有匹配，或过早关闭了 mesh。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing", "service-dead"),
    look_alikes=(
        ("autodetect-wrong-interface", Words("the unknown address is a node's own", "未知地址其实是某个节点的地址")),
        ("bgp-as-mismatch", Words("the session is torn down with Bad peer AS", "会话因 Bad peer AS 断开")),
        ("bird-config-invalid", Words("BIRD refuses its configuration", "BIRD 拒绝加载配置")),
    ),
    signs=(IDENTIFIER, NO_PEERS, MESH_OFF, MESH_OFF_JSON, MESH_COLUMN, UNKNOWN_CONNECT, SESSION_UP),
    judge=judge,
    ask=Ask(
        "calicoctl get bgppeer -o wide; calicoctl get bgpconfig default -o yaml; calicoctl get node -o wide",
        Words("which peers each node was told", "每个节点被配置了哪些对等体"),
    ),
    fix=fix,
    verify=(Step(Words("The session is Established", "会话为 Established"), "calicoctl node status"),),
    prevent=(Words("Look at both ends after every change of peers.", "每次改动对等体后检查两端。"),),
)
