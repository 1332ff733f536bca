"""TRT5009: an address is handed out that another interface of the host already has."""

from __future__ import annotations

from tortie.doctor.causes.legacy import POSSIBLE, PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found
from tortie.doctor.picture.facts import Event, Pod, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

EXISTS = Sign(
    "route-conflict-exists",
    "Dst: <cidr>, Scope: <list_more> already exists for an interface other than '<interface>'",
)
EXISTS_CUT = Sign("route-conflict-exists-cut", "error adding host side routes for interface: <interface>")
FILE_EXISTS = Sign("route-conflict-felix", "Failed to add route…file exists")
NOT_ASSIGNED = Sign("ipam-ip-not-assigned", "<ip> is not assigned")
IN_USE = Sign("ipam-ip-in-use", "IP <ip> is in use")


def judge(picture: Picture) -> Finding:
    hits = picture.hits(EXISTS) or picture.hits(EXISTS_CUT)
    if hits:
        return _conflict(picture, hits)
    felix = picture.hits(FILE_EXISTS)
    if felix:
        why = Words(
            "Felix finds a route of another interface in its place; which one is not shown.",
            "Felix 要写入的路由已被其他接口占用；没有显示是哪一个。",
        )
        return found(POSSIBLE, why, (felix[0].host,), felix[:2])
    return cannot_tell(Words("no route was refused in this evidence", "证据中没有路由被拒绝"))


def _conflict(picture: Picture, hits: list[Hit]) -> Finding:
    hit = hits[-1]
    ip, interface = hit.value("cidr").partition("/")[0], hit.value("interface").strip(",:")
    used = [h for h in picture.hits(IN_USE) if h.value("ip") == ip]
    free = [h for h in picture.hits(NOT_ASSIGNED) if h.value("ip") == ip]
    routes = [r for r in picture.of(Route) if r.destination.partition("/")[0] == ip and r.device != interface]
    holders = [pod for pod in picture.of(Pod) if ip and pod.ip == ip]
    other = routes[-1].device if routes else ""
    pod = holders[-1].name if holders else ""
    held_en = f" ({other or pod})" if other or pod else ""
    held_zh = f"（{other or pod}）" if other or pod else ""
    why = Words(
        f"The route for {ip or 'the new pod'} cannot be added for {interface or 'its interface'}: "
        f"another interface has it{held_en}.",
        f"{interface or '新接口'} 的路由 {ip or ''} 无法添加：该地址已在另一个接口上{held_zh}。",
    )
    strength = POSSIBLE if used and not free else PROVEN if free or routes or holders else STRONG
    node = next((e.host for e in picture.of(Event) if e.host and "host side routes" in e.message), hit.host)
    all_of_them = [h.value("cidr").partition("/")[0] for h in hits]
    objects = (ip, f"{ip}/32" if ip else "", *all_of_them[:10], other, interface, pod, node)
    evidence = (*routes[:1], *free[:1], *used[:1], *holders[:1], *hits[:2])
    return found(strength, why, objects, evidence, ip=ip, other=other, interface=interface, pod=pod)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    ip = finding.value("ip", "<address>")
    return (
        Step(
            Words("See who holds the address, and what IPAM thinks", "查看谁占用该地址，以及 IPAM 中的记录"),
            f"ip route | grep {ip}; kubectl get pod -A -o wide | grep {ip}; calicoctl ipam show --ip={ip}",
        ),
        Step(
            Words("If a pod of the previous CNI has it: recreate that pod", "若被旧 CNI 的 Pod 占用：重建该 Pod"),
            f"kubectl delete pod {finding.value('pod', '<that pod>')}",
            "disruptive",
        ),
        Step(
            Words("If no pod owns the other interface: delete this orphan", "若另一接口不属于任何 Pod：删除该残留接口"),
            f"ip link del {finding.value('other', '<orphan>')}",
            "disruptive",
        ),
        Step(
            Words(
                "On installations that stay with host-local: remove the init container upgrade-ipam",
                "继续使用 host-local 的集群：去掉 init 容器 upgrade-ipam",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="route-conflict",
    code="TRT5009",
    severity="medium",
    name=Words("host route conflict", "主机路由冲突"),
    what=Words(
        "IPAM hands out an address that another interface of the host already carries: a pod of the previous CNI, "
        "wiped host-local state, an orphaned veth.",
        "IPAM 分配的地址已在主机另一个接口上：旧 CNI 的 Pod、被清掉的 host-local 状态或残留的 veth。",
    ),
    explains=("sandbox-failed", "pod-pending", "traffic-dead", "log-errors"),
    look_alikes=(
        ("ipam-leak", Words("there addresses are short, not taken twice", "泄漏是地址不够，而不是重复占用")),
        ("ipam-inconsistent", Words("there IPAM itself names two owners", "那时 IPAM 自身记录了两个所有者")),
        ("stale-cni-config", Words("there another plugin makes the error", "那时报错的是另一个插件")),
    ),
    signs=(EXISTS, EXISTS_CUT, FILE_EXISTS, NOT_ASSIGNED, IN_USE),
    judge=judge,
    ask=Ask(
        "ip route | grep <ip>; kubectl get pod -A -o wide | grep <ip>; calicoctl ipam show --ip=<ip>",
        Words(
            "not assigned in IPAM while an interface has it is this", "IPAM 中未分配、而主机接口上已有该地址，即为本因"
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("New pods become Running", "新 Pod 变为 Running"), "kubectl get pod -A -o wide | grep -v Running"),
    ),
    prevent=(Words("Drain nodes when the CNI is changed.", "更换 CNI 时先 drain 节点。"),),
)
