"""TRT1010: one end of a session announces another AS than the other end expects."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.legacy import LIKELY, PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.causes.nodes.bgp_as import AS_SIGNS, BAD_AS, as_errors, peer_address
from tortie.doctor.causes.nodes.bgp_evidence import (
    all_established,
    is_external,
    listed,
    node_at,
    settled,
)
from tortie.doctor.picture.facts import Session, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

LOCAL_AS: Final = Sign("trt1010-local-as", "local as <n>;")
NEIGHBOUR_AS: Final = Sign("trt1010-neighbour-as", "neighbor <ip> as <n>;")


def judge(picture: Picture) -> Finding:
    sessions = [s for s in picture.sessions_down() if "bad peer as" in s.info.lower()]
    hits = as_errors(picture)
    if not sessions and not hits:
        return all_established(picture) or cannot_tell(Words("what BIRD says about the session", "BIRD 对该会话的说明"))
    if settled(picture) and not sessions and picture.sessions():
        return ruled_out(Words("sessions are established now", "会话现已建立"), picture.sessions()[:1])
    peers = [s.peer for s in sessions] or [peer_address(hit.value("name")) for hit in hits if hit.value("name")]
    numbers = _numbers(picture, hits)
    rendered = [hit for hit in picture.hits(LOCAL_AS, NEIGHBOUR_AS) if not hit.prose]
    strength = PROVEN if len(set(numbers)) > 1 else STRONG if sessions or hits[0].sign != BAD_AS.key else LIKELY
    shown = listed(numbers, 4)
    why = Words(
        f"The session with {listed(peers) or 'the peer'} is torn down with Bad peer AS"
        + (f"; the numbers seen are {shown}." if shown else "."),
        f"与 {listed(peers) or '对端'} 的会话因 Bad peer AS 断开" + (f"；出现的 AS 号有 {shown}。" if shown else "。"),
    )
    where = node_at(picture, hits[0].place, hits[0].host) if hits else sessions[0].host
    objects = (*dict.fromkeys(peers), *dict.fromkeys(numbers), "asNumber", where, *_kinds(sessions))
    evidence = (*_settings(picture), *rendered[:3], *sessions[:3], *hits[:2])
    return found(strength, why, objects, evidence, peer=peers[0] if peers else "", node=where)


def _settings(picture: Picture) -> list[Setting]:
    return [*picture.settings("asNumber"), *picture.settings("AS")]


def _numbers(picture: Picture, hits: list[Hit]) -> list[str]:
    # What a router says it was sent and expected are the two that differ.
    texts = [hit.value(hole) for hit in hits for hole in ("n_due", "n_sent")]
    texts += [setting.value for setting in _settings(picture)]
    texts += [hit.value("n") for hit in (*hits, *picture.hits(LOCAL_AS, NEIGHBOUR_AS))]
    texts += [fact.asn.strip("()") for fact in picture.registered() if fact.asn]
    return list(dict.fromkeys(text for text in texts if text.isdecimal()))


def _kinds(sessions: list[Session]) -> list[str]:
    return ["BGPPeer"] if any(is_external(session) for session in sessions) else ["BGPConfiguration"]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node = finding.value("node", "<node>")
    return (
        Step(
            Words("Look at the numbers that are configured", "查看已配置的 AS 号"),
            "calicoctl get bgpconfig default -o yaml; calicoctl get node -o wide; calicoctl get bgppeer -o wide",
        ),
        Step(
            Words(
                "Make BGPConfiguration, Node and BGPPeer agree with what the other end has",
                "让 BGPConfiguration、Node、BGPPeer 中的 asNumber 与对端一致",
            ),
            'calicoctl patch bgpconfig default -p \'{"spec":{"asNumber":<number>}}\'',
            "disruptive",
        ),
        Step(
            Words(
                "If only one node rendered an old number, restart its agent",
                "若只有一个节点渲染了旧值，重启其 calico-node",
            ),
            f"kubectl -n {picture.namespace} delete pod -l k8s-app=calico-node --field-selector spec.nodeName={node}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="bgp-as-mismatch",
    code="TRT1010",
    severity="medium",
    name=Words("AS numbers do not match", "AS 号不一致"),
    what=Words(
        "One end announces another AS than the other expects; TCP works, the session is torn down.",
        "一端通告的 AS 与另一端期望的不同；TCP 正常，会话被断开。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    look_alikes=(
        (
            "bgp-peer-misconfigured",
            Words("Bad BGP identifier, or an unknown address", "报 Bad BGP identifier 或未知地址"),
        ),
        ("bgp-auth-mismatch", Words("the kernel log speaks of MD5", "内核日志里有 MD5 报错")),
    ),
    signs=(*AS_SIGNS, LOCAL_AS, NEIGHBOUR_AS),
    judge=judge,
    ask=Ask(
        "kubectl -n <namespace> exec <pod> -- grep -E 'local as|neighbor' /etc/calico/confd/config/bird.cfg; "
        "calicoctl get bgpconfig default -o yaml",
        Words("what each end was told", "两端各自被配置成什么"),
    ),
    fix=fix,
    verify=(Step(Words("The session is Established", "会话为 Established"), "calicoctl node status"),),
    prevent=(Words("Set the AS before the first node starts.", "在第一个节点启动前就设定 AS。"),),
)
