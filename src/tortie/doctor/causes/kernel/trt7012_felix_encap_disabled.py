"""TRT7012: Felix is told not to encapsulate while the pool wants it."""

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
from tortie.doctor.causes.underlay.traffic_evidence import pools_with, restart_agents, rows, unquoted
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

LOG_VXLAN = Sign("encap-log-vxlan", "VXLANEnabled:false")
LOG_VXLAN_VALUE = Sign("encap-value-vxlan", "value for VXLANEnabled: false")
LOG_IPIP = Sign("encap-log-ipip", "IpInIpEnabled:false")
LOG_IPIP_VALUE = Sign("encap-value-ipip", "value for IpInIpEnabled: false")
NO_DEVICE = Sign("encap-no-device", 'Device "<device>" does not exist')
FIELDS = {
    "vxlan": ("vxlanEnabled", "FELIX_VXLANENABLED", "vxlan.calico", (LOG_VXLAN, LOG_VXLAN_VALUE)),
    "ipip": ("ipipEnabled", "FELIX_IPINIPENABLED", "tunl0", (LOG_IPIP, LOG_IPIP_VALUE)),
}


def judge(picture: Picture) -> Finding:
    answers = [answer for kind in FIELDS if (answer := _judge(picture, kind)) is not None]
    claims = sorted((a for a in answers if a.state == "found"), key=lambda a: -a.strength)
    if claims:
        return claims[0]
    return (
        answers[0]
        if answers
        else cannot_tell(
            Words(
                "FelixConfiguration and the tunnel device are not shown",
                "没有 FelixConfiguration，也没有隧道设备的信息",
            )
        )
    )


def _judge(picture: Picture, kind: str) -> Finding | None:
    field, env, device, logs = FIELDS[kind]
    settings = [s for name in (field, env) for s in picture.settings(name) if s.value.strip("\"' ").lower() == "false"]
    switched = [*settings, *rows(picture, rf"\b{field}\W{{1,3}}\s*false\b", needle=field)]
    logged, pools = picture.hits(*logs), pools_with(picture, kind)
    link = next((link for link in picture.interfaces() if link.name == device), None)
    absent = [hit for hit in picture.hits(NO_DEVICE) if hit.value("device") == device]
    off: list[object] = [*switched, *logged]
    if not off:
        return None
    if link and link.state.upper() != "DOWN" and not absent:
        return ruled_out(Words(f"{device} exists", f"{device} 存在"), (link,))
    shown_pools = picture.settings("vxlanMode" if kind == "vxlan" else "ipipMode")
    wanted: list[object] = [
        *pools,
        *[s for s in shown_pools if unquoted(s.value) in ("always", "crosssubnet")],
    ]
    if not wanted and any(unquoted(s.value) == "never" for s in shown_pools):
        return ruled_out(Words(f"no pool wants {kind}", f"没有 IPPool 需要 {kind}"), shown_pools[:1])
    why = Words(
        f"{field} is false, so Felix makes no {device}, while the pool wants {kind}.",
        f"{field} 为 false，Felix 不会创建 {device}，而 IPPool 要求 {kind} 封装。",
    )
    if switched:
        strength = PROVEN if wanted and absent else STRONG if wanted else LIKELY if absent else POSSIBLE
    else:
        strength = STRONG if wanted and absent else LIKELY if wanted else POSSIBLE if absent else HINT
    pool = getattr(wanted[0], "name", "") if wanted else ""
    objects = (field, env, "FelixConfiguration", device, pool)
    return found(strength, why, objects, (*off[:2], *wanted[:1], *absent[:1]), field=field, env=env)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    field, env = finding.value("field", "vxlanEnabled"), finding.value("env", "FELIX_VXLANENABLED")
    steps = [
        Step(
            Words("Take the field out; Felix then follows the pools", "去掉该字段，让 Felix 按 IPPool 自动决定"),
            f'kubectl patch felixconfiguration default --type json -p \'[{{"op":"remove","path":"/spec/{field}"}}]\'',
            "disruptive",
        )
    ]
    if picture.settings(env):
        steps.append(
            Step(
                Words("Take the variable out of the DaemonSet", "去掉 DaemonSet 中的环境变量"),
                f"kubectl -n {picture.namespace} set env ds/calico-node {env}-",
                "disruptive",
            )
        )
    return (*steps, restart_agents(picture))


CAUSE = Cause(
    id="felix-encap-disabled",
    code="TRT7012",
    severity="medium",
    name=Words("encapsulation switched off in Felix", "Felix 封装被关闭"),
    what=Words(
        "FelixConfiguration says vxlanEnabled or ipipEnabled false while the pool wants encapsulation: no "
        "tunnel, no routes.",
        "FelixConfiguration 中 vxlanEnabled 或 ipipEnabled 为 false，而 IPPool 要求封装：没有隧道设备，"
        "也没有跨节点路由。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(("kernel-module-missing", Words("there Felix tries and fails", "Felix 尝试创建但失败")),),
    signs=(LOG_VXLAN, LOG_VXLAN_VALUE, LOG_IPIP, LOG_IPIP_VALUE, NO_DEVICE),
    judge=judge,
    ask=Ask(
        "calicoctl get felixconfig default -o yaml | grep -i -e vxlan -e ipip; ip -br link show vxlan.calico",
        Words("false there and no device here", "配置为 false 且设备不存在"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The device is there", "隧道设备已存在"),
            "ip -br link show vxlan.calico; ip route | grep -e vxlan -e tunl0",
        ),
    ),
    prevent=(Words("Leave the field unset.", "不要设置该字段。"),),
)
