"""TRT7004: Felix programs IPv6 on a host whose kernel has none."""

from __future__ import annotations

from tortie.doctor.causes.kernel.trt7001_kernel_module_missing import NO_TABLE as TABLE_4
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
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

SAVE_6 = Sign("ipv6-save-failed", "ip6tables(-legacy|-nft)?-save command failed")
RESTORE_6 = Sign("ipv6-restore-failed", "ip6tables(-legacy|-nft)?-restore… failed")
TABLE_6 = Sign("ipv6-no-table", "can't initialize ip6tables table '<table>'")
SAVE_4 = Sign("ipv4-save-failed", "iptables(-legacy|-nft)?-save command failed… ipVersion=0x4")
FAMILY = Sign("ipv6-family", "Address family not supported by protocol")
BOOT = Sign("ipv6-boot-disabled", "ipv6.disable=1")
SUPPORT = "FELIX_IPV6SUPPORT"


def judge(picture: Picture) -> Finding:
    failing, boot = picture.hits(SAVE_6, RESTORE_6, TABLE_6), picture.hit(BOOT)
    support, family = picture.setting(SUPPORT), picture.hit(FAMILY)
    if support and support.value.strip("\"'").lower() == "false":
        return ruled_out(Words(f"{SUPPORT} is false", f"{SUPPORT} 为 false"), (support,))
    old = picture.hit(SAVE_4, TABLE_4)
    if failing and old:
        return ruled_out(Words("IPv4 fails in the same way", "IPv4 也同样失败"), (old, failing[0]))
    objects = (SUPPORT, "ipv6.disable=1" if boot else "", "ip6_tables", "ip6tables", *[hit.host for hit in failing[:1]])
    if failing:
        why = Words(
            "Felix programs IPv6 rules, but only ip6tables fails here: the host has no IPv6 netfilter.",
            "Felix 在写 IPv6 规则，而这里只有 ip6tables 失败：主机没有 IPv6 netfilter。",
        )
        proof = boot or family or support
        return found(PROVEN if proof else STRONG, why, objects, (boot, support, *failing[:2], family))
    if boot and family:
        why = Words("IPv6 is off at boot, and a program asks for it", "内核启动参数关闭了 IPv6，而程序仍在使用它")
        return found(LIKELY, why, objects, (boot, family))
    if family:
        why = Words("something asks for an address family that is off", "有程序使用了被关闭的地址族")
        return found(POSSIBLE, why, objects, (family,))
    return cannot_tell(Words("no failing ip6tables call is shown", "没有 ip6tables 失败的记录"))


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Tell Felix not to program IPv6", "让 Felix 不再处理 IPv6"),
            f"kubectl -n {picture.namespace} set env ds/calico-node {SUPPORT}=false",
            "disruptive",
        ),
        Step(
            Words(
                "Or, where IPv6 is wanted: take ipv6.disable=1 off the kernel line and load ip6_tables at boot",
                "如确实需要 IPv6：去掉内核参数 ipv6.disable=1，并在启动时加载 ip6_tables",
            ),
            "printf 'ip6_tables\\nip6table_filter\\n' > /etc/modules-load.d/calico-ipv6.conf",
        ),
    )


CAUSE = Cause(
    id="ipv6-disabled",
    code="TRT7004",
    severity="medium",
    name=Words("host without IPv6", "主机未启用 IPv6"),
    what=Words(
        "Felix is set to program IPv6 on a host whose kernel has IPv6 netfilter switched off.",
        "Felix 配置为处理 IPv6，而主机内核没有启用 IPv6 netfilter。",
    ),
    explains=("crash-loop", "restarts", "felix-not-ready", "not-ready", "log-errors"),
    look_alikes=(("kernel-module-missing", Words("there ipVersion=0x4 fails too", "ipVersion=0x4 同样失败")),),
    signs=(SAVE_6, RESTORE_6, TABLE_6, SAVE_4, TABLE_4, FAMILY, BOOT),
    judge=judge,
    ask=Ask(
        "cat /proc/cmdline; ip6tables-save -t raw | head -2; "
        "kubectl -n <ns> get ds calico-node -o yaml | grep -A1 IPV6SUPPORT",
        Words("ipv6.disable=1 while Felix supports IPv6", "ipv6.disable=1 而 Felix 仍启用 IPv6"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("No line with ipVersion=0x6 fails any more", "不再有 ipVersion=0x6 的失败日志"),
            "kubectl -n <ns> logs <pod> | grep 0x6 | tail -3",
        ),
    ),
    prevent=(Words("Keep the manifest's default, false.", "保持清单中的默认值 false。"),),
)
