"""TRT7009: an ip rule ahead of the main table sends answers to pods out of the uplink."""

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
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, trouble
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

CLOUD_SETUP = Sign("rule-nm-cloud-setup", "nm-cloud-setup")
MAIN = 32766
NM_PRIORITIES = range(30000, 31000)  # nm-cloud-setup uses 30200 and 30400
_RULE = r"^\s*(?P<priority>\d+):\s+(?P<selector>(?:not )?from .+?)\s+lookup\s+(?P<table>\S+)"


def judge(picture: Picture) -> Finding:
    shown = list(rows(picture, _RULE, needle=" lookup "))
    ahead = [row for row in shown if 0 < int(row["priority"]) < MAIN and _overrides(row)]
    if shown and not ahead:
        return ruled_out(Words("no ip rule stands before the main table", "main 表之前没有其他 ip rule"), shown[:3])
    unit = next((hit for hit in picture.hits(CLOUD_SETUP) if not hit.prose), None)
    trouble_seen = trouble(picture)
    if not ahead:
        if unit and trouble_seen:
            why = Words(
                "nm-cloud-setup runs here; its rules are not shown", "本机运行 nm-cloud-setup，但没有给出 ip rule"
            )
            return found(POSSIBLE, why, ("nm-cloud-setup",), (unit,))
        return cannot_tell(Words("ip rule is not shown", "没有 ip rule 的输出"))
    rule = ahead[0]
    routes = _table(picture, rule["table"])
    nm = unit is not None or any(int(row["priority"]) in NM_PRIORITIES for row in ahead)
    why = Words(
        f"The rule {rule['priority']}: {rule['selector']} lookup {rule['table']} is asked before the main table, "
        "so answers to local pods leave by the uplink.",
        f"规则 {rule['priority']}: {rule['selector']} lookup {rule['table']} 先于 main 表匹配，发给本机 pod "
        "的应答会从上联口出去。",
    )
    objects = (
        "nm-cloud-setup" if nm else "",
        rule["priority"],
        f"{rule['selector']} lookup {rule['table']}",
        rule["table"],
        rule["selector"].removeprefix("from "),
        *[row["priority"] for row in ahead[1:3]],
        rule.host,
        "ip rule",
    )
    sure = [bool(unit), bool(trouble_seen), bool(routes), nm]
    strength = PROVEN if sum(sure) >= 3 else POSSIBLE
    if strength < PROVEN and any(sure):
        strength = STRONG if nm or (trouble_seen and routes) else LIKELY
    evidence = (unit, *ahead[:2], *routes[:2], *trouble_seen[:2])
    return found(strength, why, objects, evidence, rule=rule["priority"], nm="yes" if nm else "")


def _overrides(row: Row) -> bool:
    """Neither a mark (WireGuard, meshes) nor a pod's own rule: it catches what the host itself sends."""
    selector, table = row["selector"], row["table"]
    return "fwmark" not in selector and " to " not in selector and table not in ("main", "local", "default")


def _table(picture: Picture, table: str) -> list[Row]:
    """Routes of that table, when it sends to the uplink and knows no pod."""
    listed = list(rows(picture, rf"^(?!\s*\d+:).*\btable {table}\b", needle=" table ")) + list(
        rows(picture, r"^(?:default|\d+\.\d+\.\d+\.\d+\S*)\s.*\bdev\b", f"show table {table}", f"list table {table}")
    )
    return [] if any(" dev cali" in row.match.string for row in listed) else listed


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    if finding.value("nm"):
        return (
            Step(
                Words("Switch nm-cloud-setup off for good", "永久关闭 nm-cloud-setup"),
                "systemctl disable --now nm-cloud-setup.timer nm-cloud-setup.service",
            ),
            Step(
                Words("Reboot to drop its rules and tables", "重启以清除它添加的规则和路由表"),
                "kubectl drain <node> --ignore-daemonsets && reboot",
                "disruptive",
            ),
        )
    rule = finding.value("rule", "<priority>")
    return (
        Step(
            Words(
                "Put a rule for the pod range ahead of it, in the script or connection that made it",
                "在产生该规则的脚本或连接配置中，为 pod 网段添加更优先的规则",
            ),
            f"ip rule add to <pod CIDR> lookup main priority {max(1, int(rule) - 1) if rule.isdecimal() else 100}",
            "disruptive",
        ),
        Step(
            Words("Or remove the rule where it is configured", "或在配置来源处删除该规则"),
            f"ip rule del priority {rule}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="policy-routing-override",
    code="TRT7009",
    severity="high",
    name=Words("policy routing comes first", "策略路由抢先"),
    what=Words(
        "An ip rule ahead of the main table (nm-cloud-setup, multi-homing scripts) sends the host's answers "
        "to pods elsewhere.",
        "main 表之前的 ip rule（nm-cloud-setup、多网卡脚本）把主机发给 pod 的应答送到了别处。",
    ),
    explains=("traffic-dead", "service-dead", "not-ready", "killed-by-liveness"),
    look_alikes=(
        ("networkmanager-interference", Words("there the pod routes vanish", "pod 路由会消失")),
        ("sysctl-forwarding-off", Words("there ip_forward is 0", "ip_forward 为 0")),
    ),
    signs=(CLOUD_SETUP,),
    judge=judge,
    ask=Ask(
        "ip rule; ip route show table all | grep -v -e '^local' -e '^broadcast' | head -40; systemctl "
        "list-timers | grep nm-cloud",
        Words("only rules 0, 32766 and 32767 are normal", "正常情况下只有 0、32766、32767 三条规则"),
    ),
    fix=fix,
    verify=(Step(Words("Only 0, 32766 and 32767 are left", "只剩 0、32766、32767"), "ip rule"),),
    prevent=(Words("Remove nm-cloud-setup from node images.", "从节点镜像中移除 nm-cloud-setup。"),),
)
