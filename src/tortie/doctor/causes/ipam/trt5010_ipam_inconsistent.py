"""TRT5010: IPAM and reality disagree otherwise: one address with two owners, a pod on a tunnel's address."""

from __future__ import annotations

from tortie.doctor.causes.ipam.ipam_evidence import (
    CHECK_DONE,
    CHECK_HANDLES,
    CHECK_LEAKED,
    CHECK_OUTSIDE,
    CHECK_UNALLOCATED,
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
from tortie.doctor.picture.facts import Interface, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

OCCUPIED = Sign("ipam-tunnel-occupied", "Current address is occupied, assign a new one")
IPIP_ADDRESS = Sign("ipam-ipip-tunnel-address", "projectcalico.org/IPv4IPIPTunnelAddr: <ip>")
VXLAN_ADDRESS = Sign("ipam-vxlan-tunnel-address", "projectcalico.org/IPv4VXLANTunnelAddr: <ip>")
TUNNELS = ("tunl0", "vxlan.calico", "wireguard.cali")
TUNNEL_ANNOTATIONS = ("projectcalico.org/IPv4IPIPTunnelAddr", "projectcalico.org/IPv4VXLANTunnelAddr")


def judge(picture: Picture) -> Finding:
    return _tunnel_taken(picture) or _two_pods(picture) or _by_check(picture) or _occupied(picture) or _clean(picture)


def _tunnel_taken(picture: Picture) -> Finding | None:
    pods = {pod.ip: pod for pod in _networked(picture)}
    for ip, (device, node, place) in _tunnels(picture).items():
        pod = pods.get(ip)
        if pod:
            why = Words(
                f"Pod {pod.name} has {ip}, which is the address of {device} on {node or 'a node'}.",
                f"Pod {pod.name} 的地址 {ip} 同时是 {node or '某节点'} 上 {device} 的地址。",
            )
            return found(PROVEN, why, (ip, pod.name, device, node, pod.node), (place, pod), ip=ip, pod=pod.name)
    return None


def _tunnels(picture: Picture) -> dict[str, tuple[str, str, Place]]:
    """Tunnel addresses, by device or by the node's annotation."""
    tunnels: dict[str, tuple[str, str, Place]] = {}
    for link in picture.of(Interface):
        if link.name.split("@")[0] in TUNNELS:
            for address in link.addresses:
                tunnels[address.partition("/")[0]] = (link.name, link.host, link.place)
    for node in picture.nodes_now().values():
        for key in TUNNEL_ANNOTATIONS:
            if node.annotation(key):
                tunnels[node.annotation(key)] = (key.rpartition("/")[2], node.name, node.place)
    for hit in picture.hits(IPIP_ADDRESS, VXLAN_ADDRESS):
        device = TUNNELS[0] if hit.sign == IPIP_ADDRESS.key else TUNNELS[1]
        tunnels.setdefault(hit.value("ip"), (device, "", hit.place))
    return tunnels


def _networked(picture: Picture) -> list[Pod]:
    """Pods that live now with an address of their own."""
    hosts = set(picture.internal_ips().values())
    gone = ("Completed", "Evicted", "Succeeded", "Failed", "Terminating", "Error")
    return [
        pod for pod in picture.pods_now()
        if pod.ip and pod.ip not in hosts and pod.ip != pod.host_ip and pod.status not in gone
    ]  # fmt: skip


def _two_pods(picture: Picture) -> Finding | None:
    seen: dict[str, Pod] = {}
    shared: dict[str, int] = {}
    pairs: dict[str, tuple[Pod, Pod]] = {}
    for pod in _networked(picture):
        first = seen.setdefault(pod.ip, pod)
        if first is not pod:
            shared[pod.ip] = shared.get(pod.ip, 1) + 1
            pairs[pod.ip] = (first, pod)
    # Three and more pods with one address, or two of them on one node's own system, are host-network pods.
    for ip, (first, second) in pairs.items():
        if shared[ip] == 2 and first.node and second.node and not _system(first) and not _system(second):
            why = Words(
                f"Two pods have {ip}: {first.name} and {second.name}.",
                f"两个 Pod 使用同一地址 {ip}：{first.name} 和 {second.name}。",
            )
            other_node = first.node != second.node
            strength = PROVEN if other_node else POSSIBLE  # on one node both may be on the host's network
            return found(strength, why, (ip, first.name, second.name), (first, second), ip=ip, pod=second.name)
    return None


def _system(pod: Pod) -> bool:
    return pod.name.startswith(("kube-", "etcd-", "calico-node", "canal", "node-exporter", "tortie-node"))


def _by_check(picture: Picture) -> Finding | None:
    odd = [h for h in picture.hits(CHECK_UNALLOCATED, CHECK_OUTSIDE, CHECK_HANDLES) if _number(h)]
    if not odd:
        return None
    leaks = [hit for hit in picture.hits(CHECK_LEAKED) if _number(hit)]
    counts = "; ".join(hit.text for hit in odd[:3])
    why = Words(
        f"calicoctl ipam check disagrees with reality: {counts}.", f"calicoctl ipam check 与实际不符：{counts}。"
    )
    unallocated = any(hit.sign == CHECK_UNALLOCATED.key for hit in odd)
    strength = LIKELY if unallocated and not leaks else POSSIBLE
    objects = (*_problem_addresses(picture), "calicoctl ipam check", "IPAM")
    return found(strength, why, objects, (*odd[:3], *picture.hits(CHECK_DONE)[:1]))


def _problem_addresses(picture: Picture) -> list[str]:
    """Addresses that begin a line of the check."""
    import re  # rarely needed

    pattern = re.compile(r"\s{1,40}+((?:\d{1,3}\.){3}\d{1,3})\s")
    lines = (line for e in picture.exhibits if "ipam check" in e.command for line in e.lines[:2000])
    return list(dict.fromkeys(match[1] for line in lines if (match := pattern.match(line))))[:5]


def _occupied(picture: Picture) -> Finding | None:
    hits = picture.hits(OCCUPIED)
    if not hits:
        return None
    address = next((word for hit in hits for word in _addresses(hit)), "")
    why = Words(
        f"The node found its tunnel address {address} assigned to somebody else.".replace("  ", " "),
        f"节点发现其隧道地址 {address} 已分配给别人。",
    )
    healthy = bool(picture.agents_now()) and all(pod.all_ready for pod in picture.agents_now())
    return found(POSSIBLE if healthy else STRONG, why, (address, *TUNNELS[:1]), hits[:2], ip=address)


def _addresses(hit: Hit) -> list[str]:
    import re  # one line only

    return re.findall(r"(?:\d{1,3}\.){3}\d{1,3}", hit.line.rpartition("occupied")[2])


def _clean(picture: Picture) -> Finding:
    done = picture.hits(CHECK_DONE)
    if done and not _number(done[-1]):
        return ruled_out(
            Words("calicoctl ipam check finds 0 problems", "calicoctl ipam check 发现 0 个问题"), done[-1:]
        )
    return cannot_tell(Words("IPAM was not checked", "没有做 IPAM 检查"))


def _number(hit: Hit) -> int:
    return int(float(hit.value("n") or 0))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    ip, pod = finding.value("ip", "<address>"), finding.value("pod", "<pod>")
    return (
        Step(
            Words("See what IPAM has on this address", "查看 IPAM 对该地址的记录"),
            f"calicoctl ipam show --ip={ip}; calicoctl ipam check --show-problem-ips | tail -30",
        ),
        Step(
            Words("Recreate the pod that holds the address wrongly", "重建错误占用该地址的 Pod"),
            f"kubectl delete pod {pod} -n <its namespace>",
            "disruptive",
        ),
        Step(
            Words(
                "Restart the agent, so that the tunnel gets an address of its own",
                "重启 calico-node，让隧道重新获得地址",
            ),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
            "disruptive",
        ),
        Step(
            Words("Release what the check still names, by its report", "按检查报告释放仍然错误的记录"),
            "calicoctl ipam check -o report.json; calicoctl ipam release --from-report=report.json",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="ipam-inconsistent",
    code="TRT5010",
    severity="medium",
    name=Words("IPAM data is inconsistent", "IPAM 数据不一致"),
    what=Words(
        "IPAM and reality disagree: a pod holds a tunnel's address, an address has two owners, a handle has none.",
        "IPAM 与实际不符：Pod 占用隧道地址、一个地址有两个所有者，或 handle 没有对应地址。",
    ),
    explains=("traffic-dead", "service-dead", "sandbox-failed", "log-errors"),
    look_alikes=(
        ("route-conflict", Words("there the host refuses the route of a new pod", "那时主机拒绝新 Pod 的路由")),
        ("duplicate-nodename", Words("there two hosts share one tunnel address", "那时两台主机共用一个隧道地址")),
    ),
    signs=(
        OCCUPIED,
        IPIP_ADDRESS,
        VXLAN_ADDRESS,
        CHECK_UNALLOCATED,
        CHECK_OUTSIDE,
        CHECK_HANDLES,
        CHECK_LEAKED,
        CHECK_DONE,
    ),
    judge=judge,
    ask=Ask(
        "calicoctl ipam check --show-problem-ips | tail -30",
        Words("problems other than leaks are this", "泄漏以外的问题即为本因"),
    ),
    fix=fix,
    verify=(Step(Words("The check finds 0 problems", "检查结果为 0 个问题"), "calicoctl ipam check | tail -1"),),
    prevent=(Words("Never edit blocks or handles by hand.", "不要手工修改 block 或 handle。"),),
    yields_to=("duplicate-nodename",),
)
