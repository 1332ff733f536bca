"""TRT1011: the two ends of a session have different TCP MD5 passwords, or only one has any."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.causes.legacy import (
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
    MD5_BIRD,
    MD5_COUNTED,
    MD5_KERNEL,
    MD5_ROUTER,
    SECRET_REF,
    listed,
    md5_counted,
    missing_peers,
    settled,
    trouble,
)
from tortie.doctor.picture.facts import Document
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NO_PASSWORD: Final = Sign("trt1011-no-password", "Can't read password for BGPPeer <name>")
NO_MESH_PASSWORD: Final = Sign("trt1011-no-mesh-password", "Can't read (BGP )?password for (node mesh|mesh)")
NOT_HAD: Final = Sign("trt1011-not-had", "BGPPeer\\(<name>\\): no session: its password")  # Tortie's own word for it
PASSWORD_FIELD: Final = Sign("trt1011-mesh-field", "nodeMeshPassword")


@cache
def _pairs() -> re.Pattern[str]:
    return re.compile(r"((?:\d{1,3}\.){3}\d{1,3})")


def judge(picture: Picture) -> Finding:
    kernel = [hit for hit in picture.hits(MD5_KERNEL) if "179" in hit.line or "hash" in hit.text.lower()]
    kernel += [hit for hit in picture.hits(MD5_ROUTER) if "179" in hit.line or "bgp" in hit.line.lower()]
    kernel += md5_counted(picture)
    bird = picture.hits(MD5_BIRD)
    unread = picture.hits(NO_PASSWORD, NOT_HAD, NO_MESH_PASSWORD)
    if settled(picture) and picture.sessions():
        return ruled_out(Words("sessions are established", "会话已建立"), picture.sessions()[:1])
    if kernel or bird or unread:
        peers = [peer.address for peer in missing_peers(picture)]
        named = [ip for hit in kernel for ip in _pairs().findall(hit.line) if hit.sign != MD5_COUNTED.key]
        strength = PROVEN if (kernel or bird) and (unread or trouble(picture)) else STRONG
        if unread and not kernel and not bird:
            strength = STRONG if picture.sessions_down() or peers else LIKELY
        peer = unread[0].value("name") if unread else ""
        both = list(dict.fromkeys([*named, *peers, *(session.peer for session in picture.sessions_down()[:3])]))
        why = Words(
            f"Packets between {listed(both) or 'the peers'} are dropped for their MD5 signature: the passwords differ "
            "or one side has none.",
            f"{listed(both) or '对端之间'} 的报文因 MD5 签名不符被丢弃：两端密码不同，或有一端没有密码。",
        )
        unsigned = _unsigned(picture, both)
        if unsigned:
            why = Words(
                f"{why.en} BGPPeer {unsigned[0]} has no password.", f"{why.zh}BGPPeer {unsigned[0]} 未配置密码。"
            )
        peer = peer or (unsigned[0] if unsigned else "")
        objects = (peer, *unsigned[1:], *both, "password", "BGPPeer", "179")
        return found(
            strength, why, objects, (*unread[:2], *kernel[:2], *bird[:2], *missing_peers(picture)[:2]), peer=peer
        )
    if picture.hits(SECRET_REF, PASSWORD_FIELD) and missing_peers(picture):
        why = Words("A BGP password is configured and sessions are down.", "配置了 BGP 密码，且会话未建立。")
        return found(POSSIBLE, why, ("password",), picture.hits(SECRET_REF, PASSWORD_FIELD)[:1])
    return cannot_tell(Words("the kernel's log on both ends", "两端的内核日志"))


def _unsigned(picture: Picture, addresses: list[str]) -> list[str]:
    """BGPPeers with one of these addresses that are shown whole and name no password."""
    specs = [(d.name, d.body.get("spec")) for d in picture.of(Document) if d.kind == "BGPPeer" and d.name]
    peers = [(name, spec) for name, spec in specs if isinstance(spec, dict) and "password" not in spec]
    return list(dict.fromkeys(name for name, spec in peers if str(spec.get("peerIP", "")) in addresses))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    peer = finding.value("peer", "<bgppeer>")
    return (
        Step(
            Words("See which secret each end uses, and that it can be read", "查看两端各用哪个 Secret，且可以读取"),
            f"calicoctl get bgppeer {peer} -o yaml; kubectl -n {picture.namespace} get secret",
        ),
        Step(
            Words(
                "Put one password for both ends into the agent's namespace",
                "把两端一致的密码放进 calico-node 所在命名空间",
            ),
            f"kubectl -n {picture.namespace} create secret generic bgp-secrets --from-literal=rr-password=<password> "
            "--dry-run=client -o yaml | kubectl apply -f -",
            "disruptive",
        ),
        Step(
            Words("Re-create the BGPPeer so that it is rendered again", "重新创建 BGPPeer 以重新渲染"),
            f"calicoctl replace -f {peer}.yaml",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="bgp-auth-mismatch",
    code="TRT1011",
    severity="medium",
    name=Words("BGP passwords do not match", "BGP 密码不一致"),
    what=Words(
        "The TCP MD5 passwords of the two ends differ, or one side has none.",
        "两端的 TCP MD5 密码不同，或有一端没有配置。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    look_alikes=(
        (
            "bgp-port-blocked",
            Words("no MD5 lines; a host that is no peer cannot connect either", "没有 MD5 报错；非对端主机同样连不上"),
        ),
        ("bgp-as-mismatch", Words("the session is torn down with Bad peer AS", "会话因 Bad peer AS 断开")),
    ),
    signs=(
        MD5_KERNEL,
        MD5_BIRD,
        MD5_ROUTER,
        MD5_COUNTED,
        NO_PASSWORD,
        NOT_HAD,
        NO_MESH_PASSWORD,
        SECRET_REF,
        PASSWORD_FIELD,
    ),
    judge=judge,
    ask=Ask("dmesg -T | grep -i md5 | tail", Words("on both ends: any line decides", "两端都查：有一行即可定论")),
    fix=fix,
    verify=(Step(Words("The session is Established", "会话为 Established"), "calicoctl node status"),),
    prevent=(Words("Change passwords on both sides in one step.", "两端密码同步变更。"),),
)
