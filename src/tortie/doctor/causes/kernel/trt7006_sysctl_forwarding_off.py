"""TRT7006: the kernel does not forward packets."""

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
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

KEY, ALL = "net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"
PREFLIGHT = Sign("forwarding-preflight", "/proc/sys/net/ipv4/ip_forward contents are not set to 1")
GATEWAY_DEAD = Sign("forwarding-gateway-incomplete", "169.254.1.1…(incomplete|FAILED)")
GATEWAY_ASKED = Sign("forwarding-gateway-asked", "who-has 169.254.1.1")
GATEWAY_ANSWERED = Sign("forwarding-gateway-answered", "169.254.1.1 is-at")
_VALUE = r"(?P<key>net\.ipv4\.(?:ip_forward|conf\.[\w.-]+?\.forwarding))\s*[=:]\s*(?P<value>[01])\b"


def judge(picture: Picture) -> Finding:
    values = _values(picture)
    off = [row for row in values if row[1] == "0" and (row[0] in (KEY, ALL) or ".cali" in row[0])]
    on = [row for row in values if row[1] == "1" and row[0] in (KEY, ALL)]
    arp, trouble_seen = picture.hits(GATEWAY_DEAD, GATEWAY_ASKED), trouble(picture)
    global_off = [row for row in off if row[0] in (KEY, ALL)]
    if global_off:
        key, _, host, fact = global_off[0]
        why = Words(
            f"{key} is 0{f' on {host}' if host else ''}: the node forwards nothing for its pods.",
            f"{f'{host} 上 ' if host else ''}{key} 为 0：节点不为 pod 转发任何报文。",
        )
        if host and _elsewhere(picture, host):
            return cannot_tell(Words(f"{host} is not one of the nodes shown", f"{host} 不在所示节点之列"))
        # The two global keys are one switch; a pod's own link that is off as well is a second observation.
        strength = PROVEN if arp or trouble_seen or any(".cali" in row[0] for row in off) else STRONG
        return found(
            strength,
            why,
            (key, KEY, ALL, host),
            (fact, *[row[3] for row in off[1:2]], *arp[:1], *trouble_seen[:1]),
            host=host,
        )
    if on:
        return ruled_out(Words(f"{on[0][0]} is 1", f"{on[0][0]} 为 1"), (on[0][3],))
    if preflight := picture.hit(PREFLIGHT):
        why = Words("ip_forward is not 1 on this host", "该主机的 ip_forward 不是 1")
        return found(LIKELY, why, (KEY, preflight.host), (preflight,), host=preflight.host)
    if off:
        why = Words(f"{off[0][0]} is 0", f"{off[0][0]} 为 0")
        return found(LIKELY, why, (off[0][0], KEY, off[0][2]), (off[0][3], *arp[:1]), host=off[0][2])
    if arp and not picture.hit(GATEWAY_ANSWERED):
        why = Words("pods get no answer from 169.254.1.1", "pod 得不到 169.254.1.1 的应答")
        return found(POSSIBLE, why, (KEY, "169.254.1.1"), arp[:2])
    return cannot_tell(Words(f"{KEY} is not shown", f"没有 {KEY} 的值"))


def _elsewhere(picture: Picture, host: str) -> bool:
    """Whether this host is known not to be a node: nodes are shown, and none is called so."""
    nodes = {name.lower().split(".")[0] for name in picture.nodes_now()}
    return bool(nodes) and host.lower().split(".")[0] not in nodes


def _values(picture: Picture) -> list[tuple[str, str, str, object]]:
    """(key, value, host, fact), the last of each host; a pod's own namespace is never meant.

    What a file says counts only where no running value is shown.
    """
    last: dict[tuple[str, str], tuple[str, str, str, object]] = {}
    written: dict[tuple[str, str], tuple[str, str, str, object]] = {}
    for row in rows(picture, _VALUE, needle="net.ipv4."):
        line = row.match.string
        if _inside_pod(row) or line.lstrip().startswith("#"):
            continue
        in_file = any(word in text for word in ("sysctl.conf", "sysctl.d") for text in (row.command, line))
        (written if in_file else last)[row.host, row["key"]] = (row["key"], row["value"], row.host, row)
    for row in rows(picture, r"^\s*(?P<value>[01])\s*$", "ipv4/ip_forward", "-n net.ipv4.ip_forward"):
        if not _inside_pod(row):
            last[row.host, KEY] = (KEY, row["value"], row.host, row)
    in_pods = {
        (exhibit.source, exhibit.number(index))
        for exhibit in picture.exhibits
        if _pods_own(exhibit.command)
        for index in range(len(exhibit.lines))
    }
    for setting in picture.of(Setting):
        known = setting.scope == "sysctl" and setting.name in (KEY, ALL) and setting.value in ("0", "1")
        if known and (setting.place.source, setting.place.first) not in in_pods:
            last.setdefault((setting.host, setting.name), (setting.name, setting.value, setting.host, setting))
    return list((last or written).values())


def _inside_pod(row: Row) -> bool:
    return _pods_own(row.command)


def _pods_own(command: str) -> bool:
    return "exec" in command and "calico-node" not in command and "canal" not in command


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(Words("Switch forwarding on now", "立即开启转发"), f"sysctl -w {KEY}=1"),
        Step(
            Words("Keep it over reboots, in a file that sorts last", "写入排序在最后的文件，重启后仍生效"),
            f"echo '{KEY} = 1' > /etc/sysctl.d/99-zz-calico-forward.conf",
        ),
        Step(
            Words("Find the file that switched it off, and take the line out", "找出关闭转发的配置文件并删除该行"),
            "grep -rn -e ip_forward -e '\\.forwarding' /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d /run/sysctl.d",
        ),
    )


CAUSE = Cause(
    id="sysctl-forwarding-off",
    code="TRT7006",
    severity="medium",
    name=Words("packet forwarding is off", "未开启转发"),
    what=Words(
        "net.ipv4.ip_forward is 0, so that the node does not pass packets on for its pods.",
        "net.ipv4.ip_forward 为 0，节点不会为 pod 转发报文。",
    ),
    explains=("traffic-dead", "service-dead"),
    look_alikes=(
        ("networkmanager-interference", Words("there the /32 routes vanish", "/32 路由会消失")),
        ("firewalld-interference", Words("there an nft reject counter grows", "nft reject 计数增长")),
    ),
    signs=(PREFLIGHT, GATEWAY_DEAD, GATEWAY_ASKED, GATEWAY_ANSWERED),
    judge=judge,
    ask=Ask(f"sysctl {KEY} {ALL}", Words("0 means that nothing is forwarded", "0 表示不转发")),
    fix=fix,
    verify=(Step(Words("Both print 1", "两者均为 1"), f"sysctl {KEY} {ALL}"),),
    prevent=(Words("Exempt this sysctl from hardening.", "安全加固时排除该参数。"),),
)
