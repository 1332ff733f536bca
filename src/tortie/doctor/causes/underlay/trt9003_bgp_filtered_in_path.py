"""TRT9003: a device between nodes lets TCP 179 connect and drops what BGP says."""

from __future__ import annotations

import re
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
from tortie.doctor.causes.nodes.bgp_as import AS_SIGNS, as_errors
from tortie.doctor.causes.nodes.bgp_evidence import (
    MD5_BIRD,
    MD5_KERNEL,
    MD5_ROUTER,
    all_established,
    listed,
    port_tests,
)
from tortie.doctor.picture.facts import Session
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

PUSHED: Final = Sign("trt9003-pushed", "Flags [P.], (cksum <list_sum>, )?seq <seq>, ack <rest>")
OPEN_SENT: Final = Sign("trt9003-open-sent", "(OpenSent|OpenConfirm) … Hold timer expired")
HOLD_EXPIRED: Final = Sign("trt9003-hold", "Error: Hold timer expired")
STATES: Final = ("opensent", "openconfirm")
RESENT: Final = re.compile(r"ESTAB\s+\d+\s+[1-9]\d*\s.*timer:\(on,[^,]+,[1-9]\d*\)")


def judge(picture: Picture) -> Finding:
    stuck = [s for s in picture.sessions_down() if s.info.lower().replace(" ", "").startswith(STATES)]
    if not stuck:
        return all_established(picture) or cannot_tell(
            Words("a session that stops at OpenSent, and captures of both ends", "停在 OpenSent 的会话及两端抓包")
        )
    messages = [*picture.hits(MD5_KERNEL, MD5_BIRD, MD5_ROUTER), *as_errors(picture)]
    if messages:
        return ruled_out(
            Words("the ends say what they dislike: password or AS", "两端已说明原因：密码或 AS"), messages[:2]
        )
    failed = [test for test in port_tests(picture) if test.result in ("timeout", "unreachable")]
    if failed:
        return ruled_out(Words("TCP 179 does not even connect", "TCP 179 根本连不上"), failed)
    opened: list[object] = [test for test in port_tests(picture) if test.result == "open"]
    opened += picture.said("port-179-open")
    repeated: list[object] = [*_repeated(picture), *_unanswered(picture)]
    one_sided = picture.said("bgp-open-lost", "sent-not-received")
    lost = len(_repeated(picture)) > 1 or bool(_unanswered(picture)) or bool(one_sided)
    if opened and lost:
        strength = PROVEN
    elif lost:
        strength = STRONG
    elif opened:
        strength = LIKELY
    else:
        strength = POSSIBLE if len(stuck) > 1 else HINT
    peers = [session.peer for session in stuck]
    why = Words(
        f"TCP to {listed(peers)} port 179 connects, but the session stays at {stuck[0].info}: "
        "what BGP sends is lost on the way.",
        f"到 {listed(peers)} 的 TCP 179 能连上，但会话一直停在 {stuck[0].info}：BGP 报文在途中丢失。",
    )
    evidence = (*repeated[:3], *one_sided[:1], *opened[:2], *stuck[:3])
    return found(strength, why, (*dict.fromkeys(peers), "179", *_hosts(stuck), stuck[0].info), evidence, peer=peers[0])


def _hosts(sessions: list[Session]) -> list[str]:
    return [session.host for session in sessions if session.host]


def _repeated(picture: Picture) -> list[Hit]:
    """Packets of a capture that were sent again: the same sequence number several times, on port 179."""
    pushed = [hit for hit in picture.hits(PUSHED) if ".179" in hit.line or ".bgp" in hit.line]
    by_number: dict[str, list[Hit]] = {}
    for hit in pushed:
        by_number.setdefault(hit.value("seq"), []).append(hit)
    return max(by_number.values(), key=len, default=[])


def _unanswered(picture: Picture) -> list[Place]:
    """Connections of BGP that stand, and on which the kernel sends the same bytes again and again."""
    return [
        shown.place(index)
        for shown in picture.commands("ss ")
        for index, line in enumerate(shown.lines)
        if RESENT.match(line) and ":179 " in f"{line} "
    ]


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    peer = finding.value("peer", "<peer>")
    return (
        Step(
            Words(
                "Capture on both ends: the OPEN leaves here and never arrives there",
                "两端同时抓包：OPEN 从本端发出，对端收不到",
            ),
            f"tcpdump -nvi <uplink> port 179 and host {peer}",
        ),
        Step(
            Words(
                "Exempt BGP in the device between (application control, ALG, DPI), or lead the traffic around it",
                "在中间设备（应用识别、ALG、DPI）上放行 BGP，或绕开该设备",
            )
        ),
        Step(
            Words("Or use another port on all nodes (from v3.16)", "或在所有节点改用其他端口（v3.16 起）"),
            'calicoctl patch bgpconfig default -p \'{"spec":{"listenPort":1790}}\'',
            "disruptive",
        ),
        Step(
            Words("Or go without BGP: VXLAN", "或不使用 BGP：改用 VXLAN"),
            'calicoctl patch ippool <pool> -p \'{"spec":{"ipipMode":"Never","vxlanMode":"Always"}}\'',
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="bgp-filtered-in-path",
    code="TRT9003",
    severity="high",
    name=Words("a device in the path drops BGP", "路径设备丢弃 BGP 报文"),
    what=Words(
        "A router or middle box lets TCP 179 connect and drops or mangles the BGP messages.",
        "路由器或中间设备放行了 TCP 179 的连接，却丢弃或篡改 BGP 报文。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing"),
    look_alikes=(
        ("bgp-port-blocked", Words("TCP does not connect at all", "TCP 根本连不上")),
        ("bgp-auth-mismatch", Words("the kernel log speaks of MD5", "内核日志里有 MD5 报错")),
        ("mtu-mismatch", Words("only large messages are lost", "只有大报文丢失")),
    ),
    signs=(PUSHED, OPEN_SENT, HOLD_EXPIRED, MD5_KERNEL, MD5_BIRD, MD5_ROUTER, *AS_SIGNS),
    judge=judge,
    ask=Ask(
        "tcpdump -nvi <uplink> port 179 and host <peer>",
        Words("on both ends: an OPEN sent again and again that never arrives", "两端同时抓：OPEN 反复重传而对端收不到"),
    ),
    fix=fix,
    verify=(Step(Words("The session is Established", "会话为 Established"), "calicoctl node status"),),
    prevent=(Words("Send an OPEN across the path before adding a site.", "接入新站点前先验证 OPEN 报文能通过。"),),
)
