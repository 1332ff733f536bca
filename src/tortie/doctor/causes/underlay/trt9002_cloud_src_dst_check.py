"""TRT9002: the cloud drops packets with pod addresses that are not encapsulated."""

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
from tortie.doctor.causes.underlay.traffic_evidence import (
    Row,
    cross_node_dead,
    encapsulation,
    lost_on_the_way,
    pod_pings,
    remote_routes,
    rows,
    unencapsulated,
)
from tortie.doctor.picture.facts import Ping, Pool, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

_CHECK = (
    r"(?P<name>SourceDestCheck|source_?dest_?check|Source/dest(?:ination)?\.? check|port_security_enabled|"
    r"enableIpForwarding)"
    r"\W{1,8}(?:Value\W{1,6})?(?P<value>true|false|enabled|disabled)"
)
NEEDLES = ("estCheck", "est_check", "est. check", "estination check", "port_security", "nableIpForwarding")
ID = r"\b(?P<id>i-[0-9a-f]{8,}|eni-[0-9a-f]{8,})\b"


def judge(picture: Picture) -> Finding:
    bare, kinds = remote_routes(picture, "bare"), encapsulation(picture)
    if kinds and "bare" not in kinds and not _cross_subnet(picture):
        routes = [*remote_routes(picture, "ipip"), *remote_routes(picture, "vxlan")]
        if routes:
            return ruled_out(Words("packets between nodes are encapsulated", "节点间报文已封装"), routes[:1])
    if passed := _only_tunnels_fail(picture):
        why = Words("pods behind a route without tunnel answer", "经无隧道路由的 pod 能够应答")
        return ruled_out(why, passed)
    on, off = _checks(picture)
    if off and not on:
        return ruled_out(Words("the check is switched off", "该检查已关闭"), off[:1])
    lost, dead = lost_on_the_way(picture, "plain"), cross_node_dead(picture)
    pools = unencapsulated(picture)
    cloud = picture.said("cloud")
    device = bare[0].device if bare else (lost[0].device if lost else "")
    setting = (on[0]["name"] or "SourceDestCheck") if on else ""
    objects = (
        setting,
        "source/destination check",
        "SourceDestCheck",
        "sourceDestCheck",
        *_instances(picture),
        device,
        *[pool.name for pool in pools[:1]],
        "CrossSubnet" if _cross_subnet(picture) else "",
        *[route.via for route in bare[:1]],
        "awsSrcDstCheck",
    )
    evidence = (*on[:1], *(lost or ()), *bare[:1], *pools[:1], *dead[:2], *cloud[:1])
    plain = bool(bare or pools)
    if plain and lost:
        why = Words(
            f"Packets with bare pod addresses leave {device or 'the uplink'} and do not arrive: the cloud "
            "drops what is not addressed to its machines.",
            f"带 pod 地址的未封装报文从 {device or '上联口'} 发出但未到达：云平台丢弃了不属于其虚拟机地址的报文。",
        )
        return found(PROVEN, why, objects, evidence)
    if on and plain:
        why = Words(
            f"The cloud checks source and destination ({setting}), and packets between nodes carry bare pod addresses.",
            f"云平台开启了源/目的地址检查（{setting}），而节点间报文直接使用 pod 地址。",
        )
        return found(PROVEN if dead else STRONG, why, objects, evidence)
    if on and dead:
        why = Words(
            f"the cloud's check {setting} is on, and pods of other nodes do not answer",
            f"云平台的 {setting} 检查已开启，且跨节点 pod 不通",
        )
        return found(LIKELY, why, objects, evidence)
    if plain and dead:
        why = Words(
            "pods of other nodes do not answer on a route without encapsulation", "未封装路由上的跨节点 pod 不通"
        )
        return found(LIKELY if cloud and bare else POSSIBLE, why, objects, evidence)
    return cannot_tell(Words("routes to other nodes and captures are not shown", "没有跨节点路由，也没有抓包"))


def _only_tunnels_fail(picture: Picture) -> list[Ping]:
    """A pod that answers over a bare route, where every pod that does not is reached through a tunnel."""
    by_kind: dict[tuple[str, bool], list[Ping]] = {}
    routes = {kind: remote_routes(picture, kind) for kind in ("bare", "ipip", "vxlan")}
    for ok in (True, False):
        for ping in pod_pings(picture, ok):
            kind = next((kind for kind, known in routes.items() if any(_leads(r, ping.address) for r in known)), "")
            by_kind.setdefault((kind if kind in ("bare", "") else "tunnel", ok), []).append(ping)
    fails = by_kind.get(("tunnel", False)) and not by_kind.get(("bare", False))
    return by_kind.get(("bare", True), [])[:1] if fails else []


def _leads(route: Route, address: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(address) in ip_network(route.destination, strict=False)
    except ValueError:
        return False


def _checks(picture: Picture) -> tuple[list[Row], list[Row]]:
    """Rows that say the cloud drops foreign addresses, and rows that say it does not."""
    on: list[Row] = []
    off: list[Row] = []
    shown = [row for needle in NEEDLES for row in rows(picture, _CHECK, needle=needle)]
    shown += rows(picture, r"(?P<name>)\b(?P<value>true|false)\b", "--output text", "--output table")
    shown += rows(picture, r"(?P<name>)\"Value\"\s*:\s*(?P<value>true|false)\b", "ourceDestCheck", needle='"Value"')
    for row in shown:
        if not row["name"] and "sourcedestcheck" not in row.command.lower():
            continue
        value = row["value"].lower() in ("true", "enabled")
        dropping = not value if row["name"].lower() == "enableipforwarding" else value
        (on if dropping else off).append(row)
    return on, off


def _cross_subnet(picture: Picture) -> bool:
    return any("cross" in (pool.ipip + pool.vxlan).lower() for pool in picture.of(Pool))


def _instances(picture: Picture) -> list[str]:
    return list(dict.fromkeys(row["id"] for row in rows(picture, ID, "aws ")))[:2]


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Encapsulate always", "始终使用封装"),
            "kubectl patch ippool default-ipv4-ippool --type merge "
            '-p \'{"spec":{"vxlanMode":"Always","ipipMode":"Never"}}\'',
            "disruptive",
        ),
        Step(
            Words(
                "Or, on AWS: let Felix switch the check off (needs ec2:ModifyInstanceAttribute)",
                "或在 AWS 上由 Felix 关闭该检查（需要 ec2:ModifyInstanceAttribute 权限）",
            ),
            'kubectl patch felixconfiguration default --type merge -p \'{"spec":{"awsSrcDstCheck":"Disable"}}\'',
            "disruptive",  # Felix restarts when its configuration changes
        ),
        Step(
            Words(
                "Or, on OpenStack: allow the pod range on the ports of the nodes",
                "或在 OpenStack 上为节点端口放行 pod 网段",
            ),
            "openstack port set --allowed-address ip-address=<pod CIDR> <port>",
        ),
    )


CAUSE = Cause(
    id="cloud-src-dst-check",
    code="TRT9002",
    severity="high",
    name=Words("cloud drops unencapsulated packets", "云平台丢弃未封装报文"),
    what=Words(
        "The cloud drops packets with pod addresses when they are not encapsulated (source/destination check, "
        "port security).",
        "云平台丢弃未封装的、带 pod 地址的报文（源/目的地址检查、端口安全）。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(
        ("ipip-blocked-by-cloud", Words("there routes use tunl0", "路由走 tunl0")),
        ("vxlan-port-blocked", Words("there routes use vxlan.calico", "路由走 vxlan.calico")),
    ),
    signs=(),
    judge=judge,
    ask=Ask(
        "ip route | grep <remote block>; tcpdump -ni eth0 host <remote pod>   # on both ends",
        Words("bare pod addresses that leave and do not arrive", "裸 pod 地址的包发出却未到达"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("A pod of another node in the same subnet answers", "同子网其他节点上的 pod 能应答"),
            "ping -c 3 <pod>",
        ),
    ),
    prevent=(Words("Choose the encapsulation by platform.", "按平台选择封装方式。"),),
)
