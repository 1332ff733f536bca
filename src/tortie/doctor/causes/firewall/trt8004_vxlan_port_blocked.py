"""TRT8004: VXLAN's UDP port is filtered between nodes."""

from __future__ import annotations

from tortie.doctor.causes.firewall.security_groups import covers, security_groups
from tortie.doctor.causes.kernel.trt7011_vxlan_checksum_offload import BAD_SUM, side_of
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
    Row,
    arrived,
    captures,
    cross_node_dead,
    encapsulation,
    lost_on_the_way,
    remote_routes,
    rows,
)
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

PROHIBITED = Sign("vxlan-admin-prohibited", "unreachable - admin prohibited")
FOREIGN_DROP = Sign("vxlan-foreign-drop", "Drop IPv4 VXLAN packets from non-whitelisted hosts")
NEW_FOREIGN_DROP = Sign("vxlan-foreign-drop-new", "Drop IPv4 VXLAN packets from non-allowed hosts")
DEFAULT_PORT = "4789"
_OPEN_UDP = r"(?<![\d.])(?P<port>\d{2,5}(?:[-:]\d{2,5})?)/udp\b"
_NFT_UDP = r"udp dport (?:\{(?P<set>[^}]*)\}|(?P<one>\d+))"
_DROPPED = r"(?:udp dport (?:\{[^}]*)?|--dports? (?:[\d,:]*,)?)(?P<port>\d+)\b.*\b(?:drop|reject|DROP|REJECT)\b"
FIREWALLS = ("firewall-cmd", "ufw", "nft ", "iptables")


def judge(picture: Picture) -> Finding:
    kinds = encapsulation(picture)
    bad = next((hit for hit in picture.hits(BAD_SUM) if side_of(picture, hit) != "sender"), None)
    through = arrived(picture, "vxlan")
    if bad or through:
        return ruled_out(Words("VXLAN packets arrive", "VXLAN 包能够到达"), (bad or through,))
    if kinds and "vxlan" not in kinds:
        routes = [*remote_routes(picture, "ipip"), *remote_routes(picture, "bare")]
        return ruled_out(Words("packets between nodes do not use VXLAN", "节点间报文不走 VXLAN"), routes[:1])
    lost, dead = lost_on_the_way(picture, "vxlan"), cross_node_dead(picture)
    port = picture.value("vxlanPort").strip("\"' ") or _dstport(picture) or DEFAULT_PORT
    dropped = [hit for hit in picture.hits(FOREIGN_DROP, NEW_FOREIGN_DROP) if _packets(hit.line) > 0]
    vxlan_seen = "vxlan" in kinds or any("vxlan" in capture.kinds for capture in captures(picture))
    prohibited = [hit for hit in picture.hits(PROHIBITED) if vxlan_seen or port in hit.command]
    closed, closed_name = _filters_without(picture, int(port))
    rules = [row for row in rows(picture, _DROPPED, needle=port) if row["port"] == port]
    objects = (
        port,
        f"{port}/udp",
        f"udp/{port}",
        closed_name,
        "vxlanPort" if picture.setting("vxlanPort") else "",
        "vxlan.calico",
        *([lost[1].host] if lost else []),
        *[hit.host for hit in (*dropped, *prohibited)],
    )
    evidence = (
        *rules[:1],
        *closed[:1],
        *(lost or ()),
        *dropped[:1],
        *prohibited[:1],
        *remote_routes(picture, "vxlan")[:1],
        *dead[:2],
    )
    if lost:
        why = Words(
            f"VXLAN packets (UDP {port}) leave {lost[0].host or 'the sender'} and never reach "
            f"{lost[1].host or 'the receiver'}.",
            f"VXLAN 包（UDP {port}）从 {lost[0].host or '发送端'} 发出，但 {lost[1].host or '接收端'} 收不到。",
        )
        return found(PROVEN, why, objects, evidence, port=port)
    if dropped:
        why = Words(
            "Calico's own rule drops VXLAN packets from an address that is no known node.",
            "Calico 自身的规则丢弃了来自未知节点地址的 VXLAN 包。",
        )
        return found(STRONG, why, ("Drop IPv4 VXLAN packets from non-whitelisted hosts", *objects), evidence, port=port)
    if rules and vxlan_seen:
        where = rules[0].host
        why = Words(
            f"A rule{' on ' + where if where else ''} drops UDP {port}, which VXLAN needs.",
            f"{where + ' 上' if where else ''}有规则丢弃 VXLAN 所需的 UDP {port}。",
        )
        return found(PROVEN if dead else STRONG, why, (*objects, where), evidence, port=port)
    if prohibited and vxlan_seen:
        why = Words(f"The receiver refuses UDP {port}: admin prohibited.", f"接收端拒绝 UDP {port}：admin prohibited。")
        return found(STRONG, why, objects, evidence, port=port)
    if closed and vxlan_seen and dead:
        why = Words(
            f"{closed_name or 'The firewall'} does not let UDP {port} in, which VXLAN needs.",
            f"{closed_name or '防火墙'} 未放行 VXLAN 所需的 UDP {port}。",
        )
        return found(STRONG, why, objects, evidence, port=port)
    if "vxlan" in kinds and dead:
        why = Words(
            "pods of other nodes do not answer over VXLAN; where packets get lost is not shown",
            "VXLAN 下跨节点 pod 不通，但没有显示包丢在哪里",
        )
        return found(POSSIBLE, why, objects, evidence, port=port)
    if closed and vxlan_seen:
        why = Words(f"UDP {port} is not among the open ports", f"放行列表中没有 UDP {port}")
        return found(POSSIBLE if picture.sessions_down() else LIKELY, why, objects, evidence, port=port)
    return cannot_tell(Words("no captures on both ends are shown", "没有两端的抓包"))


def _dstport(picture: Picture) -> str:
    row = next(rows(picture, r"vxlan.*\bdstport (?P<port>\d+)|^\s*dstport (?P<alone>\d+)", needle="dstport "), None)
    return (row["port"] or row["alone"]) if row else ""


def _packets(line: str) -> int:
    """The packet counter at the head of a row of `iptables -nvL`, or in brackets of `iptables-save -c`."""
    head = line.strip().lstrip("[").replace(":", " ").split()
    first = head[0] if head else ""
    if first[:-1].isdecimal() and first[-1] in "KMG":
        return int(first[:-1]) * 1000
    if "counter packets" in line:
        first = line.split("counter packets", 1)[1].split()[0]
    return int(first) if first.isdecimal() else 0


def _filters_without(picture: Picture, port: int) -> tuple[list[object], str]:
    """Listings of open ports that lack this one, with the filter's name."""
    for group in security_groups(picture):
        if group.protocols and not group.everything and ("udp" not in group.protocols or not covers(group.ports, port)):
            return [group], group.name
    by_host: dict[str, list[Row]] = {}
    for row in rows(picture, rf"{_OPEN_UDP}|{_NFT_UDP}|^\s*ports:", *FIREWALLS):
        by_host.setdefault(row.host, []).append(row)
    for listed in by_host.values():
        ports: set[str] = set()
        for row in listed:
            ports.update(part for part in row.match.string.replace(",", " ").replace("/udp", " ").split())
        if not covers({text for text in ports if text[:1].isdigit() and "/" not in text and "." not in text}, port):
            return list(listed[:1]), "firewalld" if "firewall-cmd" in listed[0].command else ""
    return [], ""


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    port = finding.value("port", DEFAULT_PORT)
    return (
        Step(
            Words(
                "Open the port between all nodes, both ways (host firewall)", "在所有节点间双向放行该端口（主机防火墙）"
            ),
            f"firewall-cmd --add-port={port}/udp && firewall-cmd --permanent --add-port={port}/udp",
        ),
        Step(
            Words("And in the security group of the cloud, node to node", "云安全组同样放行节点之间的该端口"),
            f"openstack security group rule create --protocol udp --dst-port {port} <group>",
        ),
    )


CAUSE = Cause(
    id="vxlan-port-blocked",
    code="TRT8004",
    severity="high",
    name=Words("VXLAN port blocked", "VXLAN 端口被拦截"),
    what=Words(
        "UDP 4789 (or the configured vxlanPort) is filtered between nodes: pods of other nodes are dead, "
        "calico-node is ready.",
        "节点之间的 UDP 4789（或配置的 vxlanPort）被过滤：calico-node 正常，但跨节点 pod 不通。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(
        ("vxlan-checksum-offload", Words("there packets arrive with a bad checksum", "包能到达但校验和错误")),
        ("ipip-blocked-by-cloud", Words("there routes use tunl0", "路由走 tunl0")),
        ("mtu-mismatch", Words("there small packets pass", "小包可以通过")),
    ),
    signs=(PROHIBITED, FOREIGN_DROP, NEW_FOREIGN_DROP, BAD_SUM),
    judge=judge,
    ask=Ask(
        "tcpdump -ni <uplink> udp port <vxlanPort>   # on both ends; and: calicoctl get felixconfig default "
        "-o yaml | grep vxlanPort",
        Words("they leave here and do not arrive there", "一端发出而另一端收不到"),
    ),
    fix=fix,
    verify=(Step(Words("Packets arrive, pods answer", "接收端收到包，pod 能应答"), "ping -c 3 <pod on another node>"),),
    prevent=(Words("Change port and firewall together.", "修改端口时同步修改防火墙。"),),
)
