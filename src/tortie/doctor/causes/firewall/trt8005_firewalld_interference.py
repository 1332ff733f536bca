"""TRT8005: firewalld rejects traffic that is forwarded for pods."""

from __future__ import annotations

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
from tortie.doctor.causes.shared import BGP_NOT_ESTABLISHED
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, trouble
from tortie.doctor.picture.facts import Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

REJECTS = Sign("firewalld-icmpx", "reject with icmpx (type )?admin-prohibited")
LOGGED = Sign("firewalld-logged", '_REJECT: (")?IN=<in> OUT=<out>')
LOGGED_DROP = Sign("firewalld-logged-drop", '_DROP: (")?IN=<in> OUT=<out>')
FORWARD = ("filter_FORWARD", "filter_FWD")
_ZONE = r"^(?P<zone>drop|public|block|external|work|home|internal|dmz)(?:\s*\([a-z, ]+\))?\s*$"


def judge(picture: Picture) -> Finding:
    rejecting = [hit for hit in picture.hits(REJECTS) if _forwarded(picture, hit)]
    counting = [hit for hit in rejecting if _counter(hit.line) > 0]
    logged = [
        hit
        for hit in picture.hits(LOGGED, LOGGED_DROP)
        if hit.value("out") and any(word in hit.line for word in ("FWD", "FORWARD", "FINAL_REJECT"))
    ]
    helps, trouble_seen = picture.said("firewalld-stop-helps"), trouble(picture)
    units = [unit for unit in picture.of(Unit) if unit.name.startswith("firewalld")]
    active: list[object] = [unit for unit in units if unit.active == "active"]
    active += list(rows(picture, r"^\s*(?:active|running)\s*$", "is-active firewalld", "firewall-cmd --state"))
    inactive: list[object] = [unit for unit in units if unit.active in ("inactive", "failed")]
    inactive += list(
        rows(picture, r"^\s*(?:inactive|not running|unknown)\s*$", "is-active firewalld", "firewall-cmd --state")
    )
    zones = _zones(picture)
    host = next((host for item in (*rejecting, *logged, *zones) if (host := getattr(item, "host", ""))), "")
    objects = (
        "firewalld",
        "filter_FORWARD",
        *[row["zone"] for row in zones[:2]],
        *[hit.value("in") for hit in logged[:1]],
        host,
    )
    evidence = (*counting[:1], *rejecting[:1], *logged[:1], *active[:1], *zones[:1], *helps[:1], *trouble_seen[:1])
    why = Words(
        "firewalld's own table rejects packets that the node forwards for pods, although iptables accepts them.",
        "firewalld 自己的表拒绝了节点为 pod 转发的报文，尽管 iptables 已放行。",
    )
    if (counting or logged) and not (inactive and not active):
        return found(PROVEN if trouble_seen or active else STRONG, why, objects, evidence)
    if inactive and not active:
        return ruled_out(Words("firewalld does not run", "firewalld 未运行"), inactive[:1])
    if helps:
        # What fails with BGP down is a port of the host itself, which has a cause of its own.
        host_port = picture.sessions_down() or picture.hits(BGP_NOT_ESTABLISHED)
        return found(POSSIBLE if host_port else STRONG, why, objects, evidence)
    if rejecting and trouble_seen:
        return found(LIKELY, why, objects, evidence)
    if rejecting or (active and trouble_seen):
        why = Words(
            "firewalld runs; whether it rejects forwarded packets is not shown",
            "firewalld 正在运行，但未显示是否拒绝转发报文",
        )
        return found(POSSIBLE, why, objects, evidence)
    return cannot_tell(Words("firewalld's forward chain is not shown", "没有 firewalld 转发链的信息"))


def _forwarded(picture: Picture, hit: Hit) -> bool:
    """The reject stands in a chain for forwarded packets: by the command, or by the chain's head above it."""
    if any(word in hit.command for word in FORWARD):
        return True
    for exhibit in picture.exhibits:
        if exhibit.source != hit.place.source:
            continue
        chain = ""
        for index, line in enumerate(exhibit.lines):
            if line.strip().startswith("chain "):
                chain = line
            if exhibit.number(index) == hit.place.first:
                return any(word in chain or word in line for word in FORWARD)
    return False


def _counter(line: str) -> int:
    after = line.partition("counter packets ")[2].split()
    return int(after[0]) if after and after[0].isdecimal() else 0


def _zones(picture: Picture) -> list[Row]:
    return list(rows(picture, _ZONE, "firewall-cmd"))


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "Switch firewalld off on the nodes; Calico filters by itself",
                "在节点上关闭 firewalld，由 Calico 负责过滤",
            ),
            "systemctl disable --now firewalld && systemctl mask firewalld",
            "disruptive",
        ),
        Step(
            Words(
                "Or, where it must stay: trust pods, services and Calico's links",
                "若必须保留：把 pod、服务网段及 Calico 接口加入 trusted 区域",
            ),
            "firewall-cmd --permanent --zone=trusted --add-source=<pod CIDR> --add-source=<service CIDR> "
            "--add-interface=tunl0 --add-interface=vxlan.calico --add-interface=cali+ && firewall-cmd --reload",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="firewalld-interference",
    code="TRT8005",
    severity="high",
    name=Words("firewalld rejects forwarded traffic", "firewalld 拒绝转发"),
    what=Words(
        "firewalld's nft tables reject forwarded traffic of pods and services although iptables accepts it.",
        "firewalld 的 nft 表拒绝了 pod 与服务的转发流量，尽管 iptables 已放行。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(
        (
            "iptables-backend-mismatch",
            Words("there Calico's own rules are in the wrong backend", "Calico 自身的规则写错了后端"),
        ),
        ("networkmanager-interference", Words("there routes to pods vanish", "pod 路由会消失")),
        ("policy-blocks-host", Words("there cali-fh/th counters grow", "cali-fh/th 的计数增长")),
    ),
    signs=(REJECTS, LOGGED, LOGGED_DROP, BGP_NOT_ESTABLISHED),
    judge=judge,
    ask=Ask(
        "systemctl is-active firewalld; firewall-cmd --get-active-zones; nft list chain inet firewalld "
        "filter_FORWARD | tail -4",
        Words("a growing reject counter in filter_FORWARD decides", "filter_FORWARD 中 reject 计数增长即可确定"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The counter stands still, or the chain is gone", "计数不再增长，或该链已不存在"),
            "nft list chain inet firewalld filter_FORWARD",
        ),
    ),
    prevent=(Words("Mask firewalld in the node image.", "在节点镜像中屏蔽 firewalld。"),),
)
