"""TRT7013: the eBPF dataplane is on and what it needs is not there."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_evidence import (
    BPF_SIGNS,
    RESTORE_FAILED,
    RULE_SIGNS,
    VIP_SIGNS,
    bpf_on,
    proxy_pods,
    vip_rules,
    vip_troubles,
)
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
from tortie.doctor.picture.facts import Setting, Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NO_CONFIGMAP = Sign("trt7013-no-configmap", 'configmaps "kubernetes-services-endpoint" not found')
HEALTHZ = Sign("trt7013-healthz", "BPF Proxy Healthz server failed")
HEALTHZ_PORT = Sign("trt7013-healthz-port", ":10256: bind: address already in use")
OLD_KERNEL = Sign("trt7013-old-kernel", "BPF dataplane mode enabled but not supported by the kernel")
NO_BPFFS = Sign("trt7013-no-bpffs", "BPF filesystem is not mounted")
HOST = "KUBERNETES_SERVICE_HOST"


def _loopback(picture: Picture) -> list[Setting]:
    return [s for s in picture.settings(HOST) if s.value.startswith("127.") or s.value in ("localhost", "::1")]


def judge(picture: Picture) -> Finding:
    on = bpf_on(picture)
    healthz, kernel = picture.hits(HEALTHZ, HEALTHZ_PORT), picture.hits(OLD_KERNEL, NO_BPFFS)
    felix_healthz = [h for h in healthz if h.sign == HEALTHZ.key]
    if not on and not felix_healthz and not kernel:
        off = picture.setting("bpfEnabled") or picture.setting("FELIX_BPFENABLED")
        if off:
            return ruled_out(Words("bpfEnabled is not true", "bpfEnabled 不为 true"), (off,))
        return cannot_tell(Words("nothing shows the eBPF mode", "没有 eBPF 模式的信息"))
    restore, rules = picture.hits(RESTORE_FAILED), vip_rules(picture)
    failing, loopback, missing = vip_troubles(picture), _loopback(picture), picture.hits(NO_CONFIGMAP)
    proxies = [pod for pod in proxy_pods(picture) if pod.status in ("", "Running")]
    daemon = [w for w in picture.of(Workload) if w.name == "kube-proxy" and (w.desired or 0) > 0]
    absent = rules is not None and not rules.present
    problems: list[tuple[str, str, list[object]]] = []
    if missing:
        problems.append(
            (
                "there is no ConfigMap kubernetes-services-endpoint",
                "没有 ConfigMap kubernetes-services-endpoint",
                list(missing[:1]),
            )
        )
    if loopback:
        value = loopback[0].value
        problems.append(
            (
                f"{HOST} is {value}, which no other node can use",
                f"{HOST} 为 {value}，其他节点无法使用",
                list(loopback[:1]),
            )
        )
    if healthz and (on or felix_healthz):
        problems.append(
            (
                "port 10256 is taken, by a kube-proxy that still runs",
                "端口 10256 被仍在运行的 kube-proxy 占用",
                list(healthz[:2]),
            )
        )
    if restore or (absent and (proxies or daemon)):
        problems.append(
            (
                "kube-proxy still runs and its rules are removed by Felix",
                "kube-proxy 仍在运行，其规则被 Felix 清理",
                [*restore[:2], *proxies[:1]],
            )
        )
    if kernel:
        problems.append(("the kernel does not support it", "内核不支持", list(kernel[:1])))
    if not problems:
        if failing:
            why = Words(
                "eBPF is on and the API's service address fails; what is missing is not shown",
                "eBPF 已启用且 API 服务地址失败，但看不出缺少什么",
            )
            both = bool(proxies or daemon)
            return found(LIKELY if both else POSSIBLE, why, _objects(picture), (on, *proxies[:1], *failing[:2]))
        return cannot_tell(
            Words("eBPF is on; nothing shows that a prerequisite is missing", "eBPF 已启用；没有证据表明缺少前提条件")
        )
    strength = PROVEN if on and (failing or absent) and problems else STRONG if on else LIKELY
    if kernel and not failing and len(problems) == 1:
        strength = LIKELY
    why = Words(
        f"The eBPF dataplane is on, but {'; '.join(p[0] for p in problems)}.",
        f"eBPF 数据面已启用，但{'；'.join(p[1] for p in problems)}。",
    )
    evidence = (on, *(item for p in problems for item in p[2]), *((rules.place,) if rules else ()), *failing[:2])
    return found(strength, why, _objects(picture), evidence)


def _objects(picture: Picture) -> tuple[str, ...]:
    pods = [pod.name for pod in proxy_pods(picture)]
    vip = [t.address for t in vip_troubles(picture)[:1]]
    port = ("10256",) if picture.hits(HEALTHZ, HEALTHZ_PORT) else ()
    return (
        "bpfEnabled",
        "kubernetes-services-endpoint",
        "KUBERNETES_SERVICE_HOST",
        "kube-proxy",
        *port,
        *(s.value for s in _loopback(picture)),
        *vip,
        *pods,
    )


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    space = "tigera-operator" if picture.namespace == "calico-system" else picture.namespace
    return (
        Step(
            Words("First tell Calico where the API server really is", "首先告诉 Calico API server 的真实地址"),
            f"kubectl -n {space} create cm kubernetes-services-endpoint "
            "--from-literal=KUBERNETES_SERVICE_HOST=<reachable host> "
            "--from-literal=KUBERNETES_SERVICE_PORT=6443 --dry-run=client -o yaml | kubectl apply -f -",
        ),
        Step(
            Words("Restart the agents, so that they use it", "重启 calico-node 使其生效"),
            f"kubectl -n {picture.namespace} rollout restart ds/calico-node",
            "disruptive",
        ),
        Step(
            Words("Then switch kube-proxy off", "然后停用 kube-proxy"),
            "kubectl -n kube-system patch ds kube-proxy -p "
            '\'{"spec":{"template":{"spec":{"nodeSelector":{"non-calico":"true"}}}}}\'',
            "disruptive",
        ),
        Step(
            Words("Where kube-proxy must stay: do not remove its rules", "若必须保留 kube-proxy：不要清理其规则"),
            "kubectl patch felixconfiguration default --type merge -p "
            '\'{"spec":{"bpfKubeProxyIptablesCleanupEnabled":false}}\'',
            "disruptive",  # Felix restarts when its configuration changes
        ),
        Step(
            Words("Or switch eBPF off", "或关闭 eBPF"),
            'kubectl patch felixconfiguration default --type merge -p \'{"spec":{"bpfEnabled":false}}\'',
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="ebpf-misconfigured",
    code="TRT7013",
    severity="high",
    name=Words("eBPF mode incomplete", "eBPF 模式配置不全"),
    what=Words(
        "The eBPF dataplane is on and its prerequisites are not met: kube-proxy still runs, the API's real address "
        "is not "
        "configured, port 10256 is taken, or the kernel is too old.",
        "eBPF 数据面已启用，但前提条件不满足：kube-proxy 仍在运行、未配置 API 真实地址、端口 10256 被占用或内核过旧。",
    ),
    explains=(
        "api-unreachable",
        "init-crash",
        "crash-loop",
        "service-dead",
        "not-ready",
        "felix-not-ready",
        "datastore-error",
        "controllers-failing",
    ),
    look_alikes=(
        ("kube-proxy-down", Words("bpfEnabled is false or absent", "bpfEnabled 为 false 或未设置")),
        ("api-host-unresolvable", Words("the endpoint is a name that does not resolve", "endpoint 是无法解析的域名")),
    ),
    signs=(
        *VIP_SIGNS,
        *RULE_SIGNS,
        *BPF_SIGNS,
        RESTORE_FAILED,
        NO_CONFIGMAP,
        HEALTHZ,
        HEALTHZ_PORT,
        OLD_KERNEL,
        NO_BPFFS,
    ),
    judge=judge,
    ask=Ask(
        "kubectl get felixconfiguration default -o yaml | grep -i bpf; kubectl -n kube-system get ds kube-proxy; "
        "kubectl -n tigera-operator get cm kubernetes-services-endpoint -o yaml",
        Words("the mode, kube-proxy and the endpoint ConfigMap", "查看模式、kube-proxy 与 endpoint ConfigMap"),
    ),
    fix=fix,
    verify=(Step(Words("The service address answers", "服务地址有响应"), "curl -k -m3 https://<VIP>/healthz"),),
    prevent=(
        Words(
            "Keep the order: endpoint ConfigMap, restart, kube-proxy off, eBPF on.",
            "按顺序操作：endpoint ConfigMap、重启、停用 kube-proxy、启用 eBPF。",
        ),
    ),
)
