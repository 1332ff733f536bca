"""TRT2012: no route covers the API's service address, so the packet is refused before it can be translated."""

from __future__ import annotations

import re

from tortie.doctor.causes.datastore.api_evidence import RULE_SIGNS, VIP_SIGNS, bad_node, vip_rules, vip_troubles, vips
from tortie.doctor.causes.legacy import (
    LIKELY,
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
from tortie.doctor.picture.facts import Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

RTNETLINK = Sign("trt2012-rtnetlink", "RTNETLINK answers: Network is unreachable")


def _tables(picture: Picture) -> list[Exhibit]:
    """Complete main tables: `ip route`, `ip r`, `route -n`, not filtered and not of one address."""
    shown = []
    for exhibit in picture.exhibits:
        words = exhibit.command.replace("-4 ", "").replace("sudo ", "").split(";")[0].strip()
        if (
            words in ("ip route", "ip r", "ip route show", "ip ro", "route -n", "netstat -rn", "ip route list")
            and exhibit.lines
        ):
            shown.append(exhibit)
    return shown


def _default_in(exhibit: Exhibit) -> bool:
    return any(
        line.strip().startswith(("default", "0.0.0.0/0")) or line.split()[:1] == ["0.0.0.0"] for line in exhibit.lines
    )


def judge(picture: Picture) -> Finding:
    troubles = vip_troubles(picture)
    refused = [t for t in troubles if t.how == "unreachable"]
    known = vips(picture)
    asked = [h for h in picture.hits(RTNETLINK) if any(v in h.command for v in known) or "route get" in h.command]
    bare = [e for e in _tables(picture) if not _default_in(e)]
    full = [e for e in _tables(picture) if _default_in(e)]
    ways = [r for r in picture.of(Route) if r.destination in known and (r.device or r.via)]
    if refused or (asked and (known or bare)):
        named = re.search(r"route get ((?:\d{1,3}\.){3}\d{1,3})", asked[0].command if asked else "")
        vip = known[0] if known else named[1] if named else ""
        host = bad_node(picture, *(h.host for h in asked), *(e.host for e in bare), *(t.host for t in refused))
        rules = vip_rules(picture)
        strength = PROVEN if refused and (bare or asked) else STRONG
        if full and not bare and not asked and not any(e.host != host for e in full):
            strength = LIKELY
        why = Words(
            f"No route covers {vip or 'the service address'}{f' on {host}' if host else ''}: the kernel answers "
            "`network is unreachable` "
            f"before the address can be translated{'; there is no default route' if bare else ''}.",
            f"{f'{host} 上' if host else ''}没有到 {vip or '服务地址'} 的路由：地址转换之前内核就返回 `network is "
            f"unreachable`{'；缺少默认路由' if bare else ''}。",
        )
        objects = (vip, "default", "default route", host)
        evidence = (
            *(e.place(0, len(e.lines)) for e in bare[:1]),
            *asked[:1],
            *((rules.place,) if rules else ()),
            *refused[:2],
        )
        return found(strength, why, objects, evidence, vip=vip, node=host)
    said = picture.said("no-default-route")
    if troubles:
        return ruled_out(
            Words(
                f"it is not `network is unreachable` but {troubles[0].how}",
                f"不是 `network is unreachable`，而是 {troubles[0].how}",
            ),
            (troubles[0], *said[:1]),
        )
    if ways or full:
        return ruled_out(
            Words("a route covers the service address", "有到服务地址的路由"),
            (*ways[:1], *(e.place(0) for e in full[:1])),
        )
    return cannot_tell(Words("neither the routes nor a failing request is shown", "没有路由表，也没有失败的请求"))


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    on = finding.value("node", "<node>")
    return (
        Step(
            Words(f"On {on}: see links and routes", f"在 {on} 上查看网卡与路由"),
            f"ip -br -4 addr; ip route; ip route get {finding.value('vip', '<VIP>')}",
        ),
        Step(
            Words("Add a default route, or one for the service range", "添加默认路由，或到服务网段的路由"),
            "ip route add <service CIDR> dev <nic>",
        ),
        Step(
            Words("Keep it over reboots, in the host's network configuration", "写入主机网络配置，重启后仍生效"),
            "nmcli connection modify <connection> +ipv4.routes <service CIDR> && nmcli connection up <connection>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="no-default-route",
    code="TRT2012",
    severity="high",
    name=Words("no route to the service range", "无路由可达服务网段"),
    what=Words(
        "No route covers the API's service address, so the kernel refuses the packet before kube-proxy's rules can "
        "rewrite it.",
        "没有任何路由覆盖 API 服务地址，内核在 kube-proxy 规则改写之前就拒绝了数据包。",
    ),
    explains=("api-unreachable", "init-crash", "init-stuck", "crash-loop", "datastore-error"),
    look_alikes=(("kube-proxy-down", Words("it times out or is refused", "表现为超时或被拒绝")),),
    signs=(*VIP_SIGNS, *RULE_SIGNS, RTNETLINK),
    judge=judge,
    ask=Ask(
        "ip route; ip route get <VIP>",
        Words(
            "no default line and `Network is unreachable` prove it",
            "没有 default 且返回 `Network is unreachable` 即可证实",
        ),
    ),
    fix=fix,
    verify=(Step(Words("The kernel names a device", "内核给出出口网卡"), "ip route get <VIP>"),),
    prevent=(
        Words(
            "Keep a default route, if only a dummy, on isolated hosts.", "隔离主机也保留一条（可为虚拟的）默认路由。"
        ),
    ),
)
