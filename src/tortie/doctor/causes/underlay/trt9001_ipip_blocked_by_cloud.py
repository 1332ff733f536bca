"""TRT9001: the network between the nodes drops IP protocol 4."""

from __future__ import annotations

from tortie.doctor.causes.firewall.security_groups import security_groups
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
from tortie.doctor.causes.underlay.traffic_evidence import (
    arrived,
    cross_node_dead,
    encapsulation,
    lost_on_the_way,
    remote_routes,
)
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

AZURE = Sign("ipip-azure-provider", "azure:///subscriptions/")
OWN_PROTOCOL = {"4", "ipip", "ipencap"}


def judge(picture: Picture) -> Finding:
    through, kinds = arrived(picture, "ipip"), encapsulation(picture)
    if through:
        return ruled_out(Words("protocol 4 arrives", "协议 4 的包能够到达"), (through,))
    if kinds and "ipip" not in kinds:
        routes = [*remote_routes(picture, "vxlan"), *remote_routes(picture, "bare")]
        return ruled_out(Words("routes between nodes do not use tunl0", "节点间路由不走 tunl0"), routes[:1])
    lost, dead = lost_on_the_way(picture, "ipip"), cross_node_dead(picture)
    up = [session for session in picture.sessions() if session.state == "up"]
    down = picture.sessions_down()
    if down and not up and not lost:
        return ruled_out(Words("BGP is not up, so there is nothing to send", "BGP 未建立，尚谈不上转发"), down[:1])
    groups = security_groups(picture)
    closed = [g for g in groups if g.protocols and not g.everything and not g.protocols & OWN_PROTOCOL]
    opened = [g for g in groups if g.everything or g.protocols & OWN_PROTOCOL]
    routes = remote_routes(picture, "ipip")
    azure: list[object] = [*picture.hits(AZURE)[:1], *[s for s in picture.said("cloud") if "azure" in s.values]]
    name = closed[0].name if closed else ""
    objects = (
        name,
        "security group" if closed else "",
        "protocol 4",
        "ipip",
        "tunl0",
        *[route.via for route in routes[:2]],
        *([lost[1].host] if lost else []),
        "ipipMode",
    )
    evidence = (*closed[:1], *(lost or ()), *routes[:1], *dead[:2], *up[:1], *azure[:1])
    where_en = f" The security group {name} allows only {', '.join(sorted(closed[0].protocols))}." if closed else ""
    where_zh = f"安全组 {name} 只放行 {'、'.join(sorted(closed[0].protocols))}。" if closed else ""
    if lost:
        why = Words(
            f"IPIP packets leave {lost[0].host or 'the sender'} and never reach "
            f"{lost[1].host or 'the receiver'}.{where_en}",
            f"IPIP 包从 {lost[0].host or '发送端'} 发出，但 {lost[1].host or '接收端'} 收不到。{where_zh}",
        )
        return found(PROVEN if routes or closed or dead else STRONG, why, objects, evidence, group=name)
    fits = bool(routes or "ipip" in kinds)
    told = [] if closed or opened else picture.said("only-tcp-udp-icmp")
    if told and fits and dead:
        why = Words(
            "Pods of other nodes do not answer through tunl0, and the packet filter lets only TCP, UDP and ICMP pass.",
            "经 tunl0 的跨节点 pod 不通，而包过滤只放行 TCP、UDP 和 ICMP。",
        )
        return found(STRONG if up else LIKELY, why, ("security group", *objects), (*told[:1], *evidence))
    if closed and fits and dead:
        why = Words(
            f"Pods of other nodes do not answer through tunl0.{where_en}", f"经 tunl0 的跨节点 pod 不通。{where_zh}"
        )
        return found(STRONG, why, objects, evidence, group=name)
    if azure and fits and dead:
        why = Words(
            "Azure drops IP protocol 4, and pods of other nodes are reached through tunl0.",
            "Azure 会丢弃协议 4，而跨节点流量走 tunl0。",
        )
        return found(STRONG, why, ("azure", *objects), evidence, group=name)
    if closed and fits:
        why = Words(f"Packets between nodes go through tunl0.{where_en}", f"节点间报文走 tunl0。{where_zh}")
        return found(LIKELY, why, objects, evidence, group=name)
    if fits and dead and not opened:
        cloud = picture.said("cloud")
        why = Words(
            "BGP is up and pods of other nodes do not answer through tunl0, as when protocol 4 is dropped",
            "BGP 正常而经 tunl0 的跨节点 pod 不通，符合协议 4 被丢弃的现象",
        )
        return found(LIKELY if cloud and up else POSSIBLE, why, objects, (*evidence, *cloud[:1]), group=name)
    return cannot_tell(Words("no capture of protocol 4 on both ends is shown", "没有两端的协议 4 抓包"))


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Allow IP protocol 4 between the nodes", "在节点之间放行 IP 协议 4"),
            f"openstack security group rule create --protocol 4 --remote-group {finding.value('group', '<group>')} "
            f"{finding.value('group', '<group>')}",
        ),
        Step(
            Words(
                "Or, where the cloud cannot (Azure): VXLAN instead of IPIP", "若云平台不支持（如 Azure）：改用 VXLAN"
            ),
            "kubectl patch ippool default-ipv4-ippool --type merge "
            '-p \'{"spec":{"ipipMode":"Never","vxlanMode":"Always"}}\'',
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="ipip-blocked-by-cloud",
    code="TRT9001",
    severity="high",
    name=Words("underlay drops IPIP", "底层网络丢弃 IPIP"),
    what=Words(
        "The network between the nodes drops IP protocol 4: BGP is up, routes are there, pods of other nodes "
        "do not answer.",
        "节点之间的网络丢弃 IP 协议 4：BGP 正常、路由存在，但跨节点 pod 不通。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(
        ("cloud-src-dst-check", Words("there routes use the uplink, without tunnel", "路由直接走上联口，没有隧道")),
        ("vxlan-port-blocked", Words("there routes use vxlan.calico", "路由走 vxlan.calico")),
        ("bgp-port-blocked", Words("there BGP is down", "BGP 未建立")),
    ),
    signs=(AZURE,),
    judge=judge,
    ask=Ask(
        "tcpdump -ni <uplink> ip proto 4   # at the receiver, while pinging a pod",
        Words("nothing arriving there decides", "接收端收不到即可确定"),
    ),
    fix=fix,
    verify=(Step(Words("A pod of another node answers", "跨节点 pod 能应答"), "ping -c 3 <pod on another node>"),),
    prevent=(Words("VXLAN on clouds without protocol 4.", "不支持协议 4 的云平台使用 VXLAN。"),),
)
