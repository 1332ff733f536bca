"""TRT7011: checksums of encapsulated packets are spoiled on the way out, and the receiver drops them."""

from __future__ import annotations

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
from tortie.doctor.causes.underlay.traffic_evidence import (
    captures,
    compiled,
    cross_node_dead,
    encapsulation,
    lost_on_the_way,
    ping_but_no_tcp,
    rows,
)
from tortie.doctor.picture.facts import Route, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

BAD_SUM = Sign("offload-bad-cksum", "[bad udp cksum <seen> -> <wanted>] VXLAN")
SUM_ERRORS = Sign("offload-udp-csum-errors", "UdpInCsumErrors <n>")
FEATURE = "tx-checksum-ip-generic"
_DRIVER = r"^\s*driver:\s*(?P<driver>\S+)"
_OFFLOAD = r"(?P<feature>tx-checksum-ip-generic|tx-checksumming|tx-udp_tnl-segmentation):\s*(?P<value>on|off)"
SLOW = 5.0  # seconds that a request inside a cluster never takes by itself
SUSPECT_DRIVERS = ("vmxnet3", "hv_netvsc", "virtio_net", "be2net", "bnx2x", "i40e")


def judge(picture: Picture) -> Finding:
    lost, dead = lost_on_the_way(picture, "vxlan"), cross_node_dead(picture)
    bad = [hit for hit in picture.hits(BAD_SUM) if not hit.prose]
    one_sided = ping_but_no_tcp(picture)
    sides = {side_of(picture, hit) for hit in bad}
    if lost and sides <= {"sender"}:
        return ruled_out(Words("nothing arrives on the VXLAN port", "VXLAN 端口上没有收到任何包"), (lost[1],))
    if dead and not one_sided and not bad:
        return ruled_out(Words("pings between pods fail too", "pod 之间连 ping 也不通"), dead[:1])
    errors = [hit for hit in picture.hits(SUM_ERRORS) if hit.value("n").isdecimal() and int(hit.value("n")) > 0]
    drivers = [row for row in rows(picture, _DRIVER, "ethtool") if row["driver"] in SUSPECT_DRIVERS]
    offload = list(rows(picture, _OFFLOAD, "ethtool"))
    on = [row for row in offload if row["value"] == "on" and row["feature"] != "tx-udp_tnl-segmentation"]
    growing, cured = _growing(picture), _cured(picture)
    told = picture.said("offload-off-helps")
    helps: list[object] = [*cured, *told]
    vxlan = bool(bad) or "vxlan" in encapsulation(picture) or bool(picture.commands("vxlan.calico"))
    vxlan = vxlan or any("vxlan" in statement.text.lower() for statement in told)
    support = [bool(one_sided), bool(errors), bool(drivers or on), bool(helps)]
    device = _device(picture, bad)
    objects = (
        device,
        "vxlan.calico",
        FEATURE,
        *[row["driver"] for row in drivers[:1]],
        "ChecksumOffloadBroken",
        *[hit.host for hit in bad[:1]],
        *[row.host for row in drivers[:1]],
    )
    evidence = (*bad[:1], *(growing or errors[:1]), *drivers[:1], *on[:1], *one_sided[:2], *helps[:1])
    link = device or "the uplink"
    why = Words(
        f"VXLAN packets reach the receiver with a bad checksum: offload on {link} spoils them, so pings pass "
        "and TCP does not.",
        f"VXLAN 包到达接收端时校验和错误：{device or '上联网卡'} 的卸载功能损坏了校验和，因此 ping 通而 TCP 不通。",
    )
    if "receiver" in sides or ("unknown" in sides and any(support)):
        strength = PROVEN if one_sided else STRONG if any(support) else LIKELY
        return found(strength, why, objects, evidence, device=device)
    if helps and (one_sided or errors or vxlan):
        return found(PROVEN if cured and growing else STRONG, why, objects, evidence, device=device)
    if (errors and one_sided) or (growing and vxlan and (on or _slow(picture))):
        return found(STRONG, why, objects, evidence, device=device)
    if one_sided and vxlan:
        why = Words(
            "pings cross nodes over VXLAN and TCP does not, as with spoiled checksums",
            "VXLAN 下跨节点 ping 通而 TCP 不通，符合校验和损坏的现象",
        )
        return found(LIKELY if drivers or on else POSSIBLE, why, objects, evidence, device=device)
    if one_sided or growing or "unknown" in sides:
        why = Words(
            "pings pass where TCP does not, or checksums are bad; whether they are bad on arrival is not shown",
            "ping 通而 TCP 不通，或出现校验和错误；但未显示接收端的校验和是否错误",
        )
        return found(POSSIBLE if one_sided or growing else HINT, why, objects, evidence, device=device)
    clean = [hit for hit in picture.hits(SUM_ERRORS) if hit.value("n") == "0"]
    if bad and clean and not errors:
        why = Words(
            "the receiver counts no bad checksum; at the sender they are normal with offload",
            "接收端没有校验和错误计数；发送端看到 bad cksum 属于卸载的正常现象",
        )
        return ruled_out(why, (*clean[:1], *bad[:1]))
    if bad:
        return cannot_tell(
            Words(
                "a bad checksum at the sender alone is normal with offload; no capture at the receiver is shown",
                "仅在发送端看到校验和错误属于卸载的正常现象；没有接收端的抓包",
            )
        )
    return cannot_tell(Words("no capture at the receiver is shown", "没有接收端的抓包"))


def side_of(picture: Picture, hit: Hit) -> str:
    """Where the capture was made: their source is that host's address (`sender`), or their target (`receiver`)."""
    own = {picture.internal_ips().get(hit.host, "")} - {""}
    if hit.host:
        own |= {address.split("/")[0] for link in picture.interfaces(hit.host) for address in link.addresses}
    for capture in captures(picture):
        if capture.place.first <= hit.place.first <= capture.place.last and capture.place.source == hit.place.source:
            start = compiled(r"(\d+(?:\.\d+){3})\.\d+ > (\d+(?:\.\d+){3})\.\d+: \[bad udp").search(hit.line)
            sources, targets = ({start[1]}, {start[2]}) if start else (capture.sources, capture.targets)
            others = _elsewhere(picture, hit.host)
            if targets & own or (sources & others and not targets & others):
                return "receiver"
            return "sender" if sources & own or targets & others else "unknown"
    return "unknown"


def _elsewhere(picture: Picture, host: str) -> set[str]:
    """Addresses of other nodes, as seen from a host: those its routes lead to, and those that others own."""
    if not host:
        return set()
    via = {route.via for route in picture.of(Route) if route.host == host and route.via}
    return via | {ip for name, ip in picture.internal_ips().items() if host in picture.internal_ips() and name != host}


def _growing(picture: Picture) -> list[Setting]:
    """Two readings of the counter on one host, the later one larger."""
    first: dict[str, Setting] = {}
    for setting in picture.of(Setting):
        if setting.scope == "counter" and setting.name == "UdpInCsumErrors" and setting.value.isdecimal():
            before = first.setdefault(setting.host, setting)
            if int(setting.value) > int(before.value):
                return [before, setting]
    return []


def _cured(picture: Picture) -> list[Setting]:
    """The same request, slow before the offload was switched off and quick after it."""
    off = [
        exhibit
        for exhibit in picture.commands("ethtool", "-K")
        if compiled(r"\b(?:tx|checksum)\S{0,40}\s{1,20}off\b").search(exhibit.command)
    ]
    timed = _timed(picture)
    for exhibit in off:
        at = exhibit.place(0)
        for before in timed:
            for after in timed:
                same = before.name == after.name and before.host == after.host
                order = before.place.source == at.source and before.place.first < at.first < after.place.first
                if same and order and float(before.value) >= SLOW > 4 * float(after.value):
                    return [before, after]
    return []


def _slow(picture: Picture) -> list[Setting]:
    """TCP that gets through at last, after several retransmissions: a minute and a few seconds is typical."""
    return [setting for setting in _timed(picture) if float(setting.value) >= SLOW]


def _timed(picture: Picture) -> list[Setting]:
    return [
        s for s in picture.of(Setting) if s.scope == "elapsed" and any(w in s.name for w in ("curl", "wget", "nc "))
    ]


def _device(picture: Picture, _bad: list[Hit]) -> str:
    for capture in captures(picture):
        if "vxlan" in capture.kinds and capture.device not in ("any", ""):
            return capture.device
    named = next(rows(picture, r"", "ethtool -k", "ethtool -K", "ethtool -i"), None)
    words = named.command.replace(";", " ").split() if named else []
    return next((words[i + 2] for i, word in enumerate(words[:-2]) if word == "ethtool"), "")


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    device = finding.value("device", "<uplink>")
    return (
        Step(
            Words("Try it: switch the offload off on every node", "先验证：在所有节点关闭该卸载"),
            f"ethtool -K {device} {FEATURE} off",
            "disruptive",
        ),
        Step(
            Words(
                "Make it last: Felix then switches it off on vxlan.calico",
                "永久生效：由 Felix 在 vxlan.calico 上关闭卸载",
            ),
            "kubectl patch felixconfiguration default --type merge "
            '-p \'{"spec":{"featureDetectOverride":"ChecksumOffloadBroken=true"}}\'',
            "disruptive",
        ),
        Step(Words("Update the firmware or driver of the network card", "升级网卡固件或驱动"), f"ethtool -i {device}"),
    )


CAUSE = Cause(
    id="vxlan-checksum-offload",
    code="TRT7011",
    severity="high",
    name=Words("checksum offload breaks VXLAN", "VXLAN 校验和卸载故障"),
    what=Words(
        "Network card, hypervisor or kernel spoils the checksums of VXLAN packets: ICMP crosses nodes, TCP "
        "and UDP do not.",
        "网卡、虚拟化层或内核破坏了 VXLAN 报文的校验和：ICMP 可跨节点，TCP/UDP 不行。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(
        ("vxlan-port-blocked", Words("there nothing arrives, not even pings", "接收端什么都收不到，ping 也不通")),
        ("mtu-mismatch", Words("there small TCP packets pass", "小的 TCP 包可以通过")),
        ("ipip-blocked-by-cloud", Words("there routes use tunl0", "路由走 tunl0")),
    ),
    signs=(BAD_SUM, SUM_ERRORS),
    judge=judge,
    ask=Ask(
        "tcpdump -nvi <uplink> udp port 4789 -c 5   # at the receiver; then: nstat -az | grep UdpInCsum; "
        "ethtool -i <uplink>",
        Words("packets that arrive with a bad checksum decide", "接收端出现 bad udp cksum 即可确定"),
    ),
    fix=fix,
    verify=(
        Step(Words("TCP answers across nodes", "跨节点 TCP 正常"), "curl -m 5 http://<pod on another node>:<port>/"),
    ),
    prevent=(Words("Test TCP, not only ping, after every upgrade.", "升级后不要只测 ping，还要测 TCP。"),),
)
