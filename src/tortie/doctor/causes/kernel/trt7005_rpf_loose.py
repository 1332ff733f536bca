"""TRT7005: the kernel's reverse-path filter is loose, and this Felix refuses to run with it."""

from __future__ import annotations

from tortie.doctor.causes.legacy import PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

LOOSE = Sign("rpf-loose-fatal", "Kernel's RPF check is set to 'loose'")
KEY = "net.ipv4.conf.all.rp_filter"
CHECK_GONE = (3, 12)  # the check no longer exists from here on


def judge(picture: Picture) -> Finding:
    hits, version = picture.hits(LOOSE), picture.version("calico")
    loose = [setting for setting in picture.settings(KEY) if setting.value == "2"]
    # Of several machines it is the one that has the wrong value.
    setting = loose[-1] if hits and loose else picture.setting(KEY)
    if hits:
        strength = PROVEN if setting and setting.value == "2" else STRONG
        why = Words(
            f"Felix ended itself because {KEY} is 2 (loose); it accepts 0 or 1.",
            f"Felix 因 {KEY} 为 2（宽松模式）而退出；它只接受 0 或 1。",
        )
        file = setting.owner if setting and setting.scope == "sysctl-file" else ""
        return found(strength, why, (KEY, hits[0].host, file), (setting, *hits[:2]))
    if version and version >= CHECK_GONE:
        return ruled_out(
            Words("this release of Calico no longer checks rp_filter", "该版本的 Calico 不再检查 rp_filter")
        )
    if setting and setting.value in ("0", "1"):
        return ruled_out(Words(f"{KEY} is {setting.value}", f"{KEY} 为 {setting.value}"), (setting,))
    return cannot_tell(Words("Felix's log or the sysctl is not shown", "没有 Felix 日志，也没有该 sysctl 的值"))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(Words("Make the filter strict now", "立即改为严格模式"), f"sysctl -w {KEY}=1"),
        Step(
            Words(
                "Keep it over reboots, in a file that sorts after the distribution's",
                "写入排在发行版之后的文件，重启后仍生效",
            ),
            f"echo '{KEY} = 1' > /etc/sysctl.d/99-calico-rpf.conf",
        ),
        Step(
            Words("Restart the agent on that node", "重启该节点上的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="rpf-loose",
    code="TRT7005",
    severity="high",
    name=Words("reverse-path filter is loose", "反向路径过滤为宽松模式"),
    what=Words(
        "net.ipv4.conf.all.rp_filter is 2 and this release of Felix (before v3.12) refuses to run with it.",
        "net.ipv4.conf.all.rp_filter 为 2，而该版本的 Felix（v3.12 之前）拒绝在此模式下运行。",
    ),
    explains=("crash-loop", "not-ready"),
    look_alikes=(),
    signs=(LOOSE,),
    judge=judge,
    ask=Ask(f"sysctl {KEY}", Words("2 is what this Felix refuses", "2 就是该 Felix 拒绝的值")),
    fix=fix,
    verify=(Step(Words("It prints 0 or 1", "输出 0 或 1"), f"sysctl {KEY}"),),
    prevent=(Words("Ship the sysctl file with the node image.", "把该 sysctl 文件放进节点镜像。"),),
)
