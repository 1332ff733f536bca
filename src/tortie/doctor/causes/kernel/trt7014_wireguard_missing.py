"""TRT7014: WireGuard is switched on where kernel or tools do not have it."""

from __future__ import annotations

from tortie.doctor.causes.kernel.trt7001_kernel_module_missing import NO_MODULE, NO_MODULE_BUSYBOX
from tortie.doctor.causes.kernel.trt7012_felix_encap_disabled import NO_DEVICE
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
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

UNSUPPORTED = Sign("wireguard-unsupported", "wireguard is not supported")
NOT_POSSIBLE = Sign("wireguard-operation", "wireguard…operation not supported")
NO_TOOL = Sign("wireguard-no-tool", "wg: command not found")
NO_TOOL_ZH = Sign("wireguard-no-tool-zh", "wg: 未找到命令")
NO_LINK_TYPE = Sign("wireguard-link-type", "RTNETLINK answers: (Operation not supported|Protocol not supported)")
NO_ACCESS = Sign("wireguard-no-access", "Unable to access interface: (Protocol not supported|No such device)")
UNKNOWN_TYPE = Sign("wireguard-unknown-type", "Unknown device type")
HANDSHAKE = Sign("wireguard-handshake", "latest handshake:")
FIELD, DEVICE = "wireguardEnabled", "wireguard.cali"


def judge(picture: Picture) -> Finding:
    shake = picture.hit(HANDSHAKE)
    if shake:
        return ruled_out(Words("wg show lists peers", "wg show 已列出对端"), (shake,))
    enabled: list[object] = [s for s in picture.settings(FIELD) if s.value.strip("\"' ").lower() == "true"]
    enabled += list(rows(picture, rf"\b{FIELD}\W{{1,3}}\s*true\b", needle=FIELD))
    off = [s for s in picture.settings(FIELD) if s.value.strip("\"' ").lower() == "false"]
    absent: list[object] = [
        hit for hit in picture.hits(NO_MODULE, NO_MODULE_BUSYBOX) if "wireguard" in hit.value("module")
    ]
    absent += picture.hits(UNSUPPORTED, NOT_POSSIBLE, NO_ACCESS)
    absent += [hit for hit in picture.hits(UNKNOWN_TYPE, NO_LINK_TYPE) if "wireguard" in hit.command]
    weaker: list[object] = [hit for hit in picture.hits(NO_DEVICE) if hit.value("device").startswith("wireguard")]
    weaker += picture.hits(NO_TOOL, NO_TOOL_ZH)
    keyless, with_keys = _keys(picture)
    if with_keys:
        weaker += keyless  # the others published theirs: WireGuard is on, and this node has none
    if off and not enabled:
        return ruled_out(Words(f"{FIELD} is false", f"{FIELD} 为 false"), off[:1])
    host = next((host for item in (*absent, *weaker) if (host := getattr(item, "host", ""))), "")
    kernels = [version.version for version in picture.versions("kernel")[:1]]
    objects = ("wireguard", FIELD, DEVICE, host, *[row["name"] for row in keyless[:3]], *kernels)
    why = Words(
        "WireGuard is switched on, but the kernel or the tools of the node do not have it; only encryption is missing.",
        "已启用 WireGuard，但节点内核或工具不支持；受影响的只是加密功能。",
    )
    if enabled and absent:
        return found(PROVEN, why, objects, (*enabled[:1], *absent[:2], *weaker[:1]))
    if enabled and weaker:
        return found(STRONG, why, objects, (*enabled[:1], *weaker[:2]))
    if absent:
        felix = picture.hits(UNSUPPORTED, NOT_POSSIBLE)
        return found(LIKELY if felix else POSSIBLE, why, objects, absent[:2])
    if enabled:
        why = Words(
            "WireGuard is switched on; whether the nodes have it is not shown", "已启用 WireGuard，但未显示节点是否支持"
        )
        return found(HINT, why, objects, enabled[:1])
    return cannot_tell(Words(f"neither {FIELD} nor the module is shown", f"没有 {FIELD}，也没有模块信息"))


def _keys(picture: Picture) -> tuple[list[Row], list[Row]]:
    """Nodes without and with a public key, where a grep asks for keys: a name, and a key below it or not."""
    without: list[Row] = []
    with_keys: list[Row] = []
    last: Row | None = None
    listed = rows(
        picture,
        r"^\s*(?:name:\s*(?P<name>\S+)|wireguardPublicKey:\s*(?P<key>\S+))\s*$",
        "wireguardPublicKey",
        "PublicKey",
    )
    for row in listed:
        if row["key"] and last:
            with_keys.append(last)
            last = None
        elif row["name"]:
            without += [last] if last else []
            last = row
    return ([*without, last] if last else without), with_keys


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "Install the module (part of kernels from 5.6 on) and load it at boot",
                "安装模块（5.6 及以上内核自带），并设置开机加载",
            ),
            "modprobe wireguard && echo wireguard > /etc/modules-load.d/wireguard.conf",
        ),
        Step(
            Words("Or switch WireGuard off", "或关闭 WireGuard"),
            f'kubectl patch felixconfiguration default --type merge -p \'{{"spec":{{"{FIELD}":false}}}}\'',
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="wireguard-missing",
    code="TRT7014",
    severity="low",
    name=Words("WireGuard missing", "缺少 WireGuard"),
    what=Words(
        "WireGuard is enabled without module or tools on the node: traffic is not encrypted, nothing else fails.",
        "启用了 WireGuard，但节点没有相应模块或工具：流量不会加密，其余功能不受影响。",
    ),
    explains=("log-errors", "traffic-dead"),
    look_alikes=(
        (
            "kernel-module-missing",
            Words("there it is a module that Felix cannot do without", "缺少的是 Felix 必需的模块"),
        ),
    ),
    signs=(
        UNSUPPORTED,
        NOT_POSSIBLE,
        NO_TOOL,
        NO_TOOL_ZH,
        NO_LINK_TYPE,
        NO_ACCESS,
        UNKNOWN_TYPE,
        HANDSHAKE,
        NO_MODULE,
        NO_MODULE_BUSYBOX,
        NO_DEVICE,
    ),
    judge=judge,
    ask=Ask("modprobe wireguard; wg show", Words("an error of modprobe decides", "modprobe 报错即可确定")),
    fix=fix,
    verify=(Step(Words("It lists peers", "能列出对端"), f"wg show {DEVICE}"),),
    prevent=(Words("Kernels from 5.6 on.", "使用 5.6 及以上内核。"),),
)
