"""TRT7007: the connection tracking table is full, and packets of new connections are dropped."""

from __future__ import annotations

from tortie.doctor.causes.legacy import LIKELY, PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.causes.underlay.traffic_evidence import host_of, rows
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

FULL = Sign("conntrack-full", "conntrack: table full, dropping packet")
COUNT, MAX = "nf_conntrack_count", "nf_conntrack_max"
NEARLY, FAR_BELOW = 0.97, 0.8


def judge(picture: Picture) -> Finding:
    hits = picture.hits(FULL)
    usage = _usage(picture)
    host = next((name for hit in hits[:3] if (name := host_of(picture, hit))), "")
    if usage:
        share, count, limit, facts, where = max(usage, key=lambda item: item[0])
        host = where or host
        objects = (MAX, f"net.netfilter.{MAX}", COUNT, "nf_conntrack", host, str(limit))
        if share >= NEARLY:
            why = Words(
                f"The connection tracking table holds {count} of {limit} entries; new connections are dropped.",
                f"连接跟踪表已有 {count} 条，上限 {limit}，新连接会被丢弃。",
            )
            return found(PROVEN if hits else STRONG, why, objects, (*facts, *hits[:2]), max=str(limit))
        if share < FAR_BELOW:
            return ruled_out(
                Words(f"the table holds {count} of {limit} entries", f"连接跟踪表仅使用 {count}/{limit}"),
                (*facts, *hits[:1]),
            )
    if hits:
        why = Words(
            "The kernel says that its connection tracking table is full and drops packets.",
            "内核报告连接跟踪表已满并丢弃报文。",
        )
        strength = STRONG if any(not hit.prose for hit in hits) else LIKELY
        return found(strength, why, (MAX, f"net.netfilter.{MAX}", "nf_conntrack", host), hits[:3])
    return cannot_tell(
        Words("kernel log and nf_conntrack_count are not shown", "没有内核日志，也没有 nf_conntrack_count")
    )


def _usage(picture: Picture) -> list[tuple[float, int, int, tuple[object, ...], str]]:
    """(share, count, limit, facts, host) for every host that shows both."""
    counts: dict[str, tuple[int, object]] = {}
    limits: dict[str, tuple[int, object]] = {}
    for row in rows(picture, rf"(?P<key>{COUNT}|{MAX})\s*[=:]\s*(?P<value>\d+)", needle="nf_conntrack_"):
        (counts if row["key"] == COUNT else limits)[row.host] = (int(row["value"]), row)
    for exhibit in picture.exhibits:
        asked = [word for word in exhibit.command.split() if COUNT in word or MAX in word]
        numbers = [(i, line.strip()) for i, line in enumerate(exhibit.lines) if line.strip().isdecimal()]
        if asked and len(asked) == len(numbers):
            for word, (index, text) in zip(asked, numbers, strict=True):
                (counts if COUNT in word else limits)[exhibit.host] = (int(text), exhibit.place(index))
    for setting in picture.of(Setting):
        key = setting.name.rpartition(".")[2]
        if setting.scope == "sysctl" and key in (COUNT, MAX) and setting.value.isdecimal():
            (counts if key == COUNT else limits).setdefault(setting.host, (int(setting.value), setting))
    return [
        (count / limits[host][0], count, limits[host][0], (fact, limits[host][1]), host)
        for host, (count, fact) in counts.items()
        if host in limits and limits[host][0]
    ]


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    limit = int(finding.value("max", "131072")) * 2
    return (
        Step(Words("Make the table larger now", "立即调大表上限"), f"sysctl -w net.netfilter.{MAX}={limit}"),
        Step(
            Words(
                "Keep it over reboots (kube-proxy may set it too: conntrack.maxPerCore)",
                "写入文件以便重启后保留（kube-proxy 的 conntrack.maxPerCore 也会设置它）",
            ),
            f"echo 'net.netfilter.{MAX} = {limit}' > /etc/sysctl.d/99-conntrack.conf",
        ),
        Step(
            Words("See who fills it", "找出占用连接的来源"),
            "conntrack -L 2>/dev/null | grep -o 'src=[0-9.]*' | sort | uniq -c | sort -rn | head",
        ),
    )


CAUSE = Cause(
    id="conntrack-full",
    code="TRT7007",
    severity="medium",
    name=Words("connection tracking table full", "连接跟踪表满"),
    what=Words(
        "The kernel's connection tracking table is full; packets of new connections are dropped at random.",
        "内核连接跟踪表已满，新连接的报文被随机丢弃。",
    ),
    explains=("traffic-dead", "service-dead", "api-unreachable", "log-errors"),
    look_alikes=(
        ("mtu-mismatch", Words("there size decides, not load", "取决于包大小而不是负载")),
        ("node-overloaded", Words("there the processors are busy", "CPU 繁忙而不是表满")),
    ),
    signs=(FULL,),
    judge=judge,
    ask=Ask(
        f"sysctl net.netfilter.{COUNT} net.netfilter.{MAX}; dmesg | grep conntrack | tail -3",
        Words("full when the count has reached the maximum", "count 达到 max 即为已满"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The count stays well below the maximum", "count 明显低于 max"),
            f"sysctl net.netfilter.{COUNT} net.netfilter.{MAX}",
        ),
    ),
    prevent=(Words("An alarm on count / max above 0.8.", "为 count / max 超过 0.8 设置告警。"),),
)
