"""TRT2008: nothing programs the API's service address on the node, because kube-proxy does not do its work."""

from __future__ import annotations

import re

from tortie.doctor.causes.datastore.api_evidence import (
    BPF_SIGNS,
    CONNTRACK_DENIED,
    IPVS_MISSING,
    IPVS_PROXIER,
    KUBE_PROXY_SIGNS,
    PROXY_LIST,
    RESTORE_FAILED,
    RULE_SIGNS,
    VIP_SIGNS,
    bad_node,
    bpf_on,
    direct_answers,
    kubectl_answers,
    nodes_without_proxy,
    proxies_down,
    proxy_pods,
    proxy_without_api,
    vip_rules,
    vip_troubles,
)
from tortie.doctor.causes.datastore.trt2011_http_proxy_intercepts import INTERCEPTED
from tortie.doctor.causes.ipam.trt5008_cidr_overlap import overlaps
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
from tortie.doctor.picture.facts import Pod, Unit, Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit
from tortie.doctor.words import Words

_MODULES = re.compile(r"\[([\w ]+)\]")


def judge(picture: Picture) -> Finding:
    failing = [t for t in vip_troubles(picture) if t.how != "unreachable"]
    rules, bpf = vip_rules(picture), bpf_on(picture)
    if bpf:
        return ruled_out(
            Words("Felix runs in eBPF mode; kube-proxy is not asked", "Felix 处于 eBPF 模式，不依赖 kube-proxy"), (bpf,)
        )
    own = picture.hits(IPVS_PROXIER, RESTORE_FAILED, CONNTRACK_DENIED)
    if not (rules and rules.present) and (rules or direct_answers(picture)):
        own += proxy_without_api(picture)  # with its rules there, or no API server at all, that says nothing
    down = proxies_down(picture)
    # A node whose agent is ready has what it needs: other things than kube-proxy may serve its service addresses.
    missing = [pod for pod in nodes_without_proxy(picture) if not pod.all_ready]
    said = picture.said("kube-proxy-missing")
    none = [w for w in picture.of(Workload) if w.name == "kube-proxy" and w.ready == 0]
    if rules and rules.present and not own and not down:
        why = Words("rules for the service address are there", "服务地址的规则存在")
        return ruled_out(why, (rules.place,))
    if failing and all(t.from_pod for t in failing) and overlaps(picture):
        return ruled_out(
            Words("only pods fail, and the ranges overlap", "只有 Pod 失败，且网段重叠"),
            (failing[0], *overlaps(picture)[0].places),
        )
    guilty = [*own, *down, *none, *said]
    absent = rules is not None and not rules.present
    only_missing = bool(missing) and not guilty and not absent
    if not failing and not (own and (absent or _agents_stuck(picture))):
        reason = Words("nobody fails on the API's service address", "没有访问 API 服务地址失败的记录")
        if proxy_pods(picture) and not guilty and all(pod.all_ready for pod in proxy_pods(picture)):
            return ruled_out(
                Words("kube-proxy runs and no service address fails", "kube-proxy 正常运行，且没有服务地址失败"),
                proxy_pods(picture)[:2],
            )
        return cannot_tell(reason)
    vip = failing[0].address if failing else ""
    node = bad_node(
        picture,
        *(getattr(d, "node", "") or getattr(d, "host", "") for d in (*down, *(missing if only_missing else []))),
    )
    direct = direct_answers(picture) or picture.said("api-direct-ok")
    if guilty or absent or only_missing:
        if guilty and absent and (direct or own):
            strength = PROVEN
        elif guilty or (only_missing and proxy_pods(picture)) or (absent and (direct or kubectl_answers(picture))):
            strength = STRONG
        else:
            strength = LIKELY
        why = _why(vip, node, own, down, absent, only_missing)
        modules = [m for hit in own if (found_ := _MODULES.search(hit.line)) for m in found_[1].split()]
        pods = [d.name for d in down] or [pod.name for pod in proxy_pods(picture) if pod.node == node]
        objects = ("kube-proxy", *pods, node, vip, *modules)
        evidence = (*guilty[:3], *((rules.place,) if rules else ()), *direct[:1], *failing[:2], *missing[:1])
        return found(strength, why, objects, evidence, vip=vip, node=node, modules=" ".join(modules))
    why = Words(
        f"The API's service address {vip} does not answer, but kube-proxy and its rules are not shown",
        f"API 服务地址 {vip} 无响应，但没有 kube-proxy 及其规则的信息",
    )
    late = all(t.how == "deadline" for t in failing)  # a slow server looks the same
    return found(HINT if late else POSSIBLE, why, ("kube-proxy", vip, node), failing[:2], vip=vip, node=node)


def _agents_stuck(picture: Picture) -> bool:
    return any(not pod.all_ready for pod in picture.agents_now())


def _why(vip: str, node: str, own: list[Hit], down: list[Pod | Unit], absent: bool, missing: bool) -> Words:
    where, where_zh = (f" on {node}", f"（{node}）") if node else ("", "")
    if own and own[0].sign == IPVS_PROXIER.key:
        reason, reason_zh = "cannot use IPVS, its kernel modules are not loaded", "无法使用 IPVS：内核模块未加载"
    elif own and own[0].sign == CONNTRACK_DENIED.key:
        reason, reason_zh = "may not set nf_conntrack_max and ends", "无权设置 nf_conntrack_max 而退出"
    elif own and own[0].sign == PROXY_LIST.key:
        reason, reason_zh = "cannot read Services from the API server", "无法从 API server 读取 Service"
    elif own:
        reason, reason_zh = "cannot write its rules (iptables-restore fails)", "写入规则失败（iptables-restore 报错）"
    elif down and isinstance(down[0], Pod):
        reason, reason_zh = (
            f"does not run ({down[0].name}: {down[0].status})",
            f"未运行（{down[0].name}：{down[0].status}）",
        )
    elif missing:
        reason, reason_zh = "is not there", "不存在"
    elif absent:
        reason, reason_zh = "has programmed no service rules", "没有下发任何服务规则"
    else:
        reason, reason_zh = "does not run", "未运行"
    result = f", so the API's service address {vip} is not translated" if vip else ""
    result_zh = f"，因此 API 服务地址 {vip} 没有被转换" if vip else ""
    return Words(f"kube-proxy{where} {reason}{result}.", f"kube-proxy{where_zh}{reason_zh}{result_zh}。")


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    modules = finding.value("modules")
    steps = [
        Step(
            Words("See why kube-proxy of that node fails", "查看该节点 kube-proxy 失败的原因"),
            "kubectl -n kube-system get pod -o wide | grep kube-proxy; kubectl -n kube-system logs <kube-proxy pod "
            "of that node> --tail=20",
        )
    ]
    if modules or picture.hits(IPVS_MISSING):
        names = modules or "ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh nf_conntrack"
        steps.append(
            Step(
                Words(
                    "Load the modules, now and at boot (or choose mode iptables in cm/kube-proxy)",
                    "加载模块并设为开机加载（或在 cm/kube-proxy 中改用 iptables 模式）",
                ),
                f"for m in {names}; do modprobe $m; echo $m; done > /etc/modules-load.d/ipvs.conf",
            )
        )
    if picture.hits(CONNTRACK_DENIED):
        steps.append(
            Step(
                Words(
                    "In containers leave conntrack alone: set conntrack.maxPerCore to 0",
                    "容器环境中不要修改 conntrack：将 conntrack.maxPerCore 设为 0",
                ),
                "kubectl -n kube-system edit cm kube-proxy",
            )
        )
    if not proxy_pods(picture):
        steps.append(
            Step(
                Words("Install it where it is missing", "缺失时安装"),
                "kubeadm init phase addon kube-proxy --kubeconfig /etc/kubernetes/admin.conf",
            )
        )
    steps += [
        Step(
            Words("Restart kube-proxy on that node first", "先重启该节点的 kube-proxy"),
            "kubectl -n kube-system delete pod <kube-proxy pod of that node>",
            "disruptive",
        ),
        Step(
            Words("Then the agent", "然后重启 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
            "disruptive",
        ),
    ]
    return tuple(steps)


CAUSE = Cause(
    id="kube-proxy-down",
    code="TRT2008",
    severity="critical",
    name=Words("kube-proxy does not work", "kube-proxy 未生效"),
    what=Words(
        "The API's service address is not programmed on the node: kube-proxy is absent, crashes, cannot write its "
        "rules, or "
        "uses a mode the kernel lacks.",
        "节点上没有下发 API 服务地址：kube-proxy 不存在、反复崩溃、写不进规则，或所用模式内核不支持。",
    ),
    explains=(
        "api-unreachable",
        "init-crash",
        "init-stuck",
        "crash-loop",
        "service-dead",
        "controllers-failing",
        "datastore-error",
    ),
    look_alikes=(
        (
            "apiserver-port-blocked",
            Words("rules exist, the masters they lead to do not answer", "规则存在，但所指向的 master 无响应"),
        ),
        (
            "apiserver-advertise-wrong",
            Words("rules lead to an address other nodes cannot use", "规则指向其他节点无法访问的地址"),
        ),
        ("no-default-route", Words("`network is unreachable`", "`network is unreachable`")),
        ("ebpf-misconfigured", Words("bpfEnabled is true", "bpfEnabled 为 true")),
        ("cidr-overlap", Words("pods fail while the host succeeds", "Pod 失败而主机成功")),
        ("http-proxy-intercepts", Words("`proxyconnect` or an HTTP answer", "`proxyconnect` 或返回 HTTP 应答")),
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS, *KUBE_PROXY_SIGNS, *BPF_SIGNS, *INTERCEPTED),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system get pod -o wide | grep kube-proxy; kubectl -n kube-system logs <kube-proxy pod of "
        "that node> "
        "--tail=20; iptables-save -t nat | grep -c KUBE-SVC",
        Words("no rules: kube-proxy; rules: see where they lead", "没有规则是 kube-proxy 的问题；有规则则看其指向"),
    ),
    fix=fix,
    verify=(
        Step(Words("Rules are there", "规则存在"), "iptables-save -t nat | grep -c KUBE-SVC; ipvsadm -Ln | head"),
        Step(Words("The service address answers", "服务地址有响应"), "curl -k -m3 https://<VIP>/healthz"),
    ),
    prevent=(
        Words(
            "Load the modules at boot; alarm on kube-proxy that is not ready.",
            "开机加载模块；kube-proxy 未就绪时告警。",
        ),
    ),
)
