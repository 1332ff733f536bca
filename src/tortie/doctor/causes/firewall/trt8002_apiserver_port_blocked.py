"""TRT8002: 6443 is open through the load balancer but not on the masters to which the service address leads."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_evidence import (
    RULE_SIGNS,
    VIP_SIGNS,
    alive_otherwise,
    direct_answers,
    direct_failures,
    kubernetes_endpoints,
    vip_rules,
    vip_troubles,
)
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
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words


def judge(picture: Picture) -> Finding:
    failing, rules = vip_troubles(picture), vip_rules(picture)
    targets = {e.address for e in kubernetes_endpoints(picture)}
    masters = {picture.internal_ips().get(pod.node, pod.ip) for pod in picture.pods_now("kube-apiserver")} | targets
    blocked = [t for t in direct_failures(picture) if t.result != "refused"]
    if masters and any(t.address in masters for t in blocked):
        blocked = [t for t in blocked if t.address in masters]
    answers = [
        t
        for t in direct_answers(picture)
        if t.host == "" or not blocked or t.host == blocked[0].host or t.address not in {b.address for b in blocked}
    ]
    local = [
        t for t in direct_answers(picture) if t.address in {b.address for b in blocked} and t.host != blocked[0].host
    ]
    said = picture.said("lb-ok-masters-not")
    vip = failing[0].address if failing else ""
    if blocked:
        alive = alive_otherwise(picture, {t.address for t in blocked})
        through = [t for t in answers if t.address not in {b.address for b in blocked}]
        proof = bool(through or local or said)
        if (failing or (rules and rules.present)) and proof and (alive or local):
            strength = PROVEN
        elif proof and not (alive or local) and not {t.address for t in blocked} & set(picture.internal_ips().values()):
            strength = POSSIBLE  # nothing says that this address is a master's at all
        elif failing and (proof or alive):
            strength = STRONG
        elif proof or alive:
            strength = LIKELY
        else:
            strength = POSSIBLE
        names = ", ".join(dict.fromkeys(f"{t.address}:{t.port}" for t in blocked[:3]))
        other = f", while {through[0].address}:{through[0].port} answers" if through else ""
        other_zh = f"，而 {through[0].address}:{through[0].port} 有响应" if through else ""
        why = Words(
            f"{names} cannot be reached from the node{other}; the service address leads there.",
            f"从节点无法访问 {names}{other_zh}；服务地址正是指向那里。",
        )
        port = str(blocked[0].port)
        objects = (
            port,
            *(t.address for t in blocked),
            *(f"{t.address}:{t.port}" for t in blocked),
            vip,
            *(t.host for t in blocked),
        )
        evidence = (
            *blocked[:2],
            *through[:1],
            *local[:1],
            *alive[:1],
            *((rules.place,) if rules else ()),
            *said[:1],
            *failing[:2],
        )
        return found(strength, why, objects, evidence, port=port)
    if said and failing:
        why = Words("the balancer answers, the masters do not", "负载均衡有响应，master 直连无响应")
        return found(LIKELY, why, ("6443", vip), (*said[:1], *failing[:1]), port="6443")
    if [t for t in answers if not masters or t.address in masters]:
        return ruled_out(
            Words(
                f"{answers[0].address}:{answers[0].port} answers from this node",
                f"本节点访问 {answers[0].address}:{answers[0].port} 有响应",
            ),
            answers[:1],
        )
    if failing and rules and rules.present:
        why = Words(
            f"rules for {vip} are there; whether the masters answer is not shown",
            f"{vip} 的规则存在；没有 master 是否响应的信息",
        )
        return found(POSSIBLE, why, ("6443", *targets, vip), (rules.place, *failing[:1]), port="6443")
    if failing:
        why = Words("the service address fails; the masters were not asked", "服务地址失败；没有直接访问 master 的结果")
        return found(HINT, why, ("6443", vip), failing[:1], port="6443")
    return cannot_tell(Words("nobody asked the masters from this node", "没有从本节点访问 master 的结果"))


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    port = finding.value("port", "6443")
    return (
        Step(
            Words("On each master: see what the firewall lets in", "在每个 master 上查看防火墙放行情况"),
            f"firewall-cmd --list-all; nft list ruleset | grep -n -e {port} -e drop -e reject; iptables -S INPUT",
        ),
        Step(
            Words("Open the port for all node networks, and keep it", "对所有节点网段放行该端口并持久化"),
            "for keep in '' --permanent; do firewall-cmd $keep --add-rich-rule='rule family=ipv4 source "
            f"address=<node network> port port={port} protocol=tcp accept'; done",
        ),
        Step(Words("In a cloud: a rule in the masters' security group", "云环境：在 master 的安全组中添加规则"), ""),
    )


CAUSE = Cause(
    id="apiserver-port-blocked",
    code="TRT8002",
    severity="high",
    name=Words("API port 6443 blocked", "API 端口 6443 被拦截"),
    what=Words(
        "6443 is open through the load balancer but not on the masters the service address leads to: kubelet works, "
        "pods do not.",
        "6443 经负载均衡可达，但服务地址所指向的 master 上被拦截：kubelet 正常，Pod 不正常。",
    ),
    explains=(
        "api-unreachable",
        "init-crash",
        "init-stuck",
        "crash-loop",
        "datastore-error",
        "service-dead",
        "controllers-failing",
    ),
    look_alikes=(
        ("kube-proxy-down", Words("there are no rules for the service address", "没有服务地址的规则")),
        ("apiserver-advertise-wrong", Words("the endpoint is not a usable address at all", "endpoint 本身就不可用")),
        ("datastore-unreachable", Words("refused everywhere: nothing listens", "处处被拒绝：无人监听")),
        ("cidr-overlap", Words("ranges overlap and only pods fail", "网段重叠且只有 Pod 失败")),
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS),
    judge=judge,
    ask=Ask(
        'for h in <LB> <masters>; do curl -sk -m3 -o /dev/null -w "$h %{http_code}\\n" https://$h:6443/readyz; done',
        Words("from the failing node: every master must answer", "在故障节点上执行：每个 master 都必须有响应"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Every master answers", "每个 master 有响应"),
            "for h in <masters>; do curl -sk -m3 https://$h:6443/readyz; echo; done",
        ),
    ),
    prevent=(
        Words("List node networks in the firewall, not only the balancer.", "防火墙放行节点网段，而不只是负载均衡。"),
    ),
    yields_to=("policy-blocks-host", "apiserver-advertise-wrong"),
)
