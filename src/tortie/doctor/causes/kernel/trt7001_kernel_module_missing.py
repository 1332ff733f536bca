"""TRT7001: the kernel lacks, or cannot load, a piece that Felix needs."""

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
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, compiled, rows
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

NO_SESSION = Sign("module-ipset-session", "ipset v<version>: Cannot open session to kernel")
BAD_ARGUMENT = Sign("module-ipset-invalid", "ipset v<version>: Kernel error received: Invalid argument")
NO_MATCH = Sign("module-no-match", "Couldn't load match '<match>'")
NO_TARGET = Sign("module-no-target", "Couldn't load target '<target>'")
NO_TABLE = Sign("module-no-table", "can't initialize iptables table '<table>': Table does not exist")
NO_IPIP = Sign("module-no-ipip", "Failed to add IPIP tunnel device")
NO_VXLAN = Sign("module-no-vxlan", "VXLAN tunnel device…operation not supported")
NO_MODULE = Sign("module-not-found", "FATAL: Module <module> not found")
NO_MODULE_BUSYBOX = Sign("module-not-found-busybox", "modprobe: module <module> not found in modules.dep")
UNDETECTED = Sign("module-undetected", "Unable to detect the <module> module as Loaded/Builtin")
NOT_BUILT = Sign("module-not-built", "CONFIG_<option> is not set")
BAD_SYMBOL = Sign("module-unknown-symbol", "<module>: Unknown symbol <symbol>")
SETS_PANIC = Sign("ipsets-panic", "Failed to update IP sets after multiple retries")
REVISION = Sign("ipset-revision", "Kernel and userspace incompatible: settype <list_type> with revision <n>")
NOT_MOUNTED = Sign("module-dir-missing", "can't change directory to '/lib/modules'")
IPVS = Sign("module-ipvs", "IPVS proxier will not be used because … required kernel modules are not loaded: [<list>]")

COMPLAINTS = (NO_SESSION, BAD_ARGUMENT, NO_MATCH, NO_TARGET, NO_TABLE, NO_IPIP, NO_VXLAN)
PROOFS = (NO_MODULE, NO_MODULE_BUSYBOX, UNDETECTED, NOT_BUILT, BAD_SYMBOL)
NEEDED = (
    "ip_set",
    "xt_",
    "ipip",
    "vxlan",
    "ip_vs",
    "iptable_",
    "ip_tables",
    "ipt_",
    "nf_tables",
    "nf_nat",
    "nf_conntrack",
    "br_netfilter",
    "nfnetlink",
    "tunnel4",
    "udp_tunnel",
)
# Merged into others, or loaded only when possible: their absence means nothing.
MEANINGLESS = ("nf_conntrack_ipv4", "nf_conntrack_ipv6", "nf_conntrack_proto_sctp", "xt_u32", "xt_icmp", "vfio")
OPTIONS = {"IP_SET": "ip_set", "NETFILTER_XT_SET": "xt_set", "NET_IPIP": "ipip", "VXLAN": "vxlan", "IP_VS": "ip_vs"}


def judge(picture: Picture) -> Finding:
    complaints, panic = picture.hits(*COMPLAINTS), picture.hit(SETS_PANIC)
    named, places = missing(picture)
    if not complaints and not named:
        return _nothing_named(picture)
    if picture.hit(NOT_MOUNTED) and not any(
        hit.sign in (UNDETECTED.key, NOT_BUILT.key) for hit in picture.hits(*PROOFS)
    ):
        why = Words(
            "modules cannot be loaded in the container because /lib/modules is not there; on the host they "
            "may well work",
            "容器内看不到 /lib/modules，因此无法加载模块；主机上可能完全正常",
        )
        return found(POSSIBLE, why, named, (*complaints[:1], *places))
    modules = named or tuple(dict.fromkeys(name for hit in complaints for name in _implied(hit)))
    loaded = _loaded(picture, {_where(picture, hit) for hit in complaints})
    if not named and modules and all(name in loaded for name in modules):
        why = Words(f"{', '.join(modules)}: loaded, as lsmod shows", f"lsmod 显示 {'、'.join(modules)} 已加载")
        return ruled_out(why, [loaded[name] for name in modules])
    why = Words(
        f"The running kernel cannot provide {', '.join(modules[:4])}, which Felix needs.",
        f"当前内核无法提供 Felix 需要的 {', '.join(modules[:4])}。",
    )
    host = next(
        (host for hit in (*picture.hits(*PROOFS), *complaints) if (host := _where(picture, hit).strip("?"))), ""
    )
    options = [f"CONFIG_{hit.value('option')}" for hit in picture.hits(NOT_BUILT)]
    objects = (*modules, *options[:3], host, *[version.version for version in picture.versions("kernel")[:1]])
    return found(
        _strength(picture, complaints, named, panic),
        why,
        objects,
        (*places[:2], *complaints[:2], panic),
        module=modules[0],
    )


def _strength(picture: Picture, complaints: list[Hit], named: tuple[str, ...], panic: Hit | None) -> float:
    if named and (complaints or panic):
        return PROVEN
    if complaints:
        return STRONG
    if all(name.startswith("ip_vs") for name in named):
        return POSSIBLE  # kube-proxy's need, not Felix's
    return POSSIBLE if agents_fine(picture) else LIKELY


def _nothing_named(picture: Picture) -> Finding:
    revision, panic, ipvs = picture.hit(REVISION), picture.hit(SETS_PANIC), picture.hit(IPVS)
    if revision:
        why = Words("the kernel has the sets, only in a newer revision", "内核支持这些 ipset，只是版本号更新")
        return ruled_out(why, (revision,))
    if ipvs:
        modules = ipvs.value("list").split()
        why = Words(
            "kube-proxy misses the ip_vs modules it was set up for", "kube-proxy 缺少其 IPVS 模式所需的 ip_vs 模块"
        )
        return found(POSSIBLE, why, (*modules, "kube-proxy"), (ipvs,), module=modules[0] if modules else "ip_vs")
    if panic:
        why = Words("Felix cannot program IP sets; the reason is not shown", "Felix 无法写入 ipset，但没有给出原因")
        return found(POSSIBLE, why, ("ip_set", "xt_set"), (panic,), module="xt_set")
    passed = next(rows(picture, r"\bxt_set\s+OK\b", "checksystem"), None)
    if passed:
        return ruled_out(Words("checksystem found the modules", "checksystem 显示模块齐全"), (passed,))
    return cannot_tell(Words("Felix's log and checksystem are not shown", "没有 Felix 日志，也没有 checksystem 的结果"))


def missing(picture: Picture) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Modules shown to be absent, and where."""
    names: dict[str, object] = {}
    for hit in picture.hits(*PROOFS):
        option = hit.value("option").upper()
        name = OPTIONS.get(option, "") if option else hit.value("module").rstrip(".").replace("-", "_")
        if name.startswith(NEEDED) and not name.startswith(MEANINGLESS):
            names.setdefault(name, hit)
    for exhibit in picture.commands("find", "/lib/modules", ".ko"):
        module = compiled(r"-i?name\s+['\"]?\*?(?P<module>[a-z][\w-]+?)\*?\.ko").search(exhibit.command)
        if module and not exhibit.text.strip() and module["module"].startswith(NEEDED):
            names.setdefault(module["module"], exhibit.place(0))
    for row in rows(picture, r"^\s*(?P<module>[a-z][\w-]+)\s+FAIL\s*$", needle="FAIL"):
        if row["module"].startswith(NEEDED) and not row["module"].startswith(MEANINGLESS):
            names.setdefault(row["module"], row)
    return tuple(names), tuple(names.values())


def _loaded(picture: Picture, hosts: set[str]) -> dict[str, object]:
    """Modules that lsmod lists, or checksystem found, where something complains; another node proves nothing."""
    return {
        setting.name.replace("-", "_"): setting
        for setting in picture.of(Setting)
        if setting.scope == "module" and setting.value in ("loaded", "OK") and setting.host in hosts
    }


def _where(picture: Picture, hit: Hit) -> str:
    """The node of a complaint: of the pod whose log it is, else where the log was read."""
    if "kubectl" in hit.command or "stern" in hit.command:
        return next((pod.node for pod in picture.agents_now() if pod.name in hit.command), "?")
    return hit.host


def _implied(hit: Hit) -> tuple[str, ...]:
    if match := hit.value("match"):
        return (f"xt_{match}",)
    if target := hit.value("target"):
        return (f"xt_{target}",)
    if table := hit.value("table"):
        return (f"iptable_{table}",)
    return {NO_IPIP.key: ("ipip",), NO_VXLAN.key: ("vxlan",)}.get(hit.sign, ("ip_set", "xt_set"))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    module = finding.value("module", "xt_set")
    return (
        Step(Words("See whether the host can load it", "确认主机能否加载该模块"), f"uname -r; modprobe {module}"),
        Step(
            Words("Load it at every boot", "设置开机自动加载"),
            f"echo {module} > /etc/modules-load.d/calico-{module}.conf",
        ),
        Step(
            Words(
                "If it is not there: install the extra modules of the running kernel (on Raspberry Pi "
                "linux-modules-extra-raspi), "
                "or boot a kernel that has it",
                "若模块不存在：安装当前内核的 extra modules 软件包（树莓派为 linux-modules-extra-raspi），"
                "或更换带有该模块的内核",
            ),
            "apt-get install linux-modules-extra-$(uname -r)",
            "disruptive",
        ),
        Step(
            Words("Then restart the agent of that node", "然后重启该节点的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="kernel-module-missing",
    code="TRT7001",
    severity="high",
    name=Words("kernel module missing", "缺少内核模块"),
    what=Words(
        "The kernel lacks or cannot load a module that Felix needs: ip_set, xt_set, xt_rpfilter, ipip, vxlan "
        "and others.",
        "内核缺少或无法加载 Felix 所需的模块，例如 ip_set、xt_set、xt_rpfilter、ipip、vxlan。",
    ),
    explains=("crash-loop", "felix-not-ready", "not-ready", "restarts", "traffic-dead", "log-errors"),
    look_alikes=(
        ("ipset-kernel-mismatch", Words("says 'revision … not supported by userspace'", "报 revision 不被用户态支持")),
        ("ipv6-disabled", Words("only ipVersion=0x6 fails", "只有 ipVersion=0x6 失败")),
        ("iptables-backend-mismatch", Words("there commands succeed", "命令执行成功，只是写入了另一个后端")),
        (
            "missing-mount",
            Words("modprobe works on the host, not in the container", "主机上 modprobe 成功，容器内失败"),
        ),
    ),
    signs=(*COMPLAINTS, *PROOFS, SETS_PANIC, REVISION, NOT_MOUNTED, IPVS),
    judge=judge,
    ask=Ask(
        "calicoctl node checksystem; uname -r; for m in ip_set xt_set ip_set_hash_ip ip_set_hash_net ipip vxlan; "
        "do modprobe $m || echo missing $m; done",
        Words("names the module that is missing", "列出缺少的模块"),
    ),
    fix=fix,
    verify=(Step(Words("Every module says OK", "所有模块均为 OK"), "calicoctl node checksystem"),),
    prevent=(Words("Run checksystem before a node joins.", "节点加入前先运行 checksystem。"),),
)
