"""TRT5008: pod or service range overlaps node addresses or each other."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, ip_address, ip_network
from typing import NamedTuple

from tortie.doctor.causes.datastore.api_evidence import RULE_SIGNS, VIP_SIGNS, troubles, vip_rules, vips
from tortie.doctor.causes.legacy import (
    LIKELY,
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
from tortie.doctor.picture.facts import Interface, Ping, Pod, Pool, Route, Session
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

POD_SUBNET = Sign("trt5008-pod-subnet", "podSubnet: <cidr>")
SERVICE_SUBNET = Sign("trt5008-service-subnet", "serviceSubnet: <cidr>")
SERVICE_FLAG = Sign("trt5008-service-flag", "service-cluster-ip-range=<cidr>")
CLUSTER_FLAG = Sign("trt5008-cluster-flag", "cluster-cidr=<cidr>")
OWN_ADDRESS = Sign("trt5008-own-address", "lies in the pool <cidr>, where pods live")  # an agent of Tortie's
POOL_NAMES = ("CALICO_IPV4POOL_CIDR", "podSubnet", "cluster-cidr", "clusterCIDR", "podCIDR")
SERVICE_NAMES = ("serviceSubnet", "service-cluster-ip-range", "serviceCIDR", "serviceClusterIPRange")
# Links that never carry the node's own network.
VIRTUAL = re.compile(
    r"^(lo|cali|tunl|vxlan|docker|br-|veth|kube-ipvs|nodelocaldns|flannel|cni|dummy|virbr|wireguard|ipvl|kube-bridge|weave)"
)
_CIDR = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}/\d{1,2}(?!\d)")


class Range(NamedTuple):
    network: IPv4Network
    place: Place
    name: str = ""


class Overlap(NamedTuple):
    kind: str  # pods-nodes, services-nodes, pods-services
    range: str
    other: str  # address or range inside it
    places: tuple[Place, ...]
    name: str = ""
    node: str = ""


def _network(text: str) -> IPv4Network | None:
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return network if isinstance(network, IPv4Network) and network.prefixlen < 31 else None


def _ranges(picture: Picture, names: tuple[str, ...], *signs: Sign) -> list[Range]:
    texts = [(s.value, s.place, s.name) for name in names for s in picture.settings(name)]
    texts += [(hit.value("cidr"), hit.place, "") for hit in picture.hits(*signs)]
    return [Range(n, place, name) for text, place, name in texts for part in text.split(",") if (n := _network(part))]


def pod_ranges(picture: Picture) -> list[Range]:
    ranges = [Range(n, p.place, p.name) for p in picture.of(Pool) if (n := _network(p.cidr)) and p.disabled is not True]
    if not ranges:
        for exhibit in picture.commands("ippool"):
            for index, line in enumerate(exhibit.lines[:100]):
                match = _CIDR.search(line)
                network = _network(match[0]) if match else None
                if network:
                    ranges.append(Range(network, exhibit.place(index)))
    ranges += _ranges(picture, POOL_NAMES, POD_SUBNET, CLUSTER_FLAG)
    return list({r.network: r for r in reversed(ranges)}.values())


def service_ranges(picture: Picture) -> list[Range]:
    return list({r.network: r for r in _ranges(picture, SERVICE_NAMES, SERVICE_SUBNET, SERVICE_FLAG)}.values())


def _host_addresses(picture: Picture) -> list[tuple[str, str, Place]]:
    """(address, node, place) of what the machines themselves carry."""
    nodes = [(n.internal_ip, n.name, n.place) for n in picture.nodes_now().values() if n.internal_ip]
    agents = [(p.ip or p.host_ip, p.node, p.place) for p in picture.agents_now() if p.ip or p.host_ip]
    links = [
        (address.split("/")[0], link.host, link.place)
        for link in picture.of(Interface)
        if not VIRTUAL.match(link.name)
        for address in link.addresses
        if "." in address and not address.endswith("/32")
    ]
    return [*nodes, *agents, *links]


def _inside(address: str, network: IPv4Network) -> bool:
    try:
        return ip_address(address) in network
    except ValueError:
        return False


def overlaps(picture: Picture) -> list[Overlap]:
    pods, services, hosts = pod_ranges(picture), service_ranges(picture), _host_addresses(picture)
    result: list[Overlap] = []
    for kind, ranges in (("pods-nodes", pods), ("services-nodes", services)):
        for item in ranges:
            inside = next(((a, n, p) for a, n, p in hosts if _inside(a, item.network)), None)
            if inside:
                result.append(
                    Overlap(kind, str(item.network), inside[0], (item.place, inside[2]), item.name, inside[1])
                )
    for pod in pods:
        result += [
            Overlap("pods-services", str(service.network), str(pod.network), (service.place, pod.place), pod.name)
            for service in services
            if pod.network.overlaps(service.network)
        ]
        vip = next((v for v in vips(picture) if _inside(v, pod.network)), None)
        if vip and not services:
            result.append(Overlap("pods-services", str(pod.network), vip, (pod.place,), pod.name))
    for service in services:
        stray = next(
            (
                p
                for p in picture.of(Pod)
                if p.ip and p.ip not in {h[0] for h in hosts} and _inside(p.ip, service.network)
            ),
            None,
        )
        if stray:
            result.append(Overlap("pods-services", str(service.network), stray.ip, (service.place, stray.place)))
    return result


def _claimed(picture: Picture, clashes: list[Overlap]) -> list[Route]:
    """Blocks that nodes own, or have learned, with a node's address in them: packets for it end there."""
    addresses = [clash.other for clash in clashes if clash.kind == "pods-nodes"]
    return [
        route
        for route in picture.of(Route)
        if (route.kind == "blackhole" or route.protocol in ("bird", "80"))
        and (network := _network(route.destination))
        and any(_inside(address, network) for address in addresses)
    ]


def judge(picture: Picture) -> Finding:
    clashes = overlaps(picture)
    if not clashes:
        pods, hosts = pod_ranges(picture), _host_addresses(picture)
        if pods and hosts:
            why = Words(f"{pods[0].network} contains no node address", f"{pods[0].network} 不含任何节点地址")
            return ruled_out(why, (pods[0].place,))
        return cannot_tell(Words("pod, service and node ranges are not all shown", "没有同时给出 Pod、服务与节点网段"))
    clash = clashes[0]
    agents = picture.agents_now()
    healthy = bool(agents) and all(pod.all_ready for pod in agents)
    failing = [t for t in troubles(picture) if t.port in (443, 6443, 53)]
    from_pods = [t for t in failing if t.from_pod]
    stuck = [
        p for p in picture.pods_now() if p not in agents and (p.status in ("CrashLoopBackOff", "Error") or p.ready == 0)
    ]
    tried = [p for p in picture.of(Ping) if not p.ok] + [t for t in troubles(picture) if t.how != "refused"]
    rules = vip_rules(picture)
    claimed = _claimed(picture, clashes)
    avoided = [hit for hit in picture.hits(OWN_ADDRESS) if hit.value("cidr") == clash.range]
    unwell = (bool(agents) and not healthy) or any(session.state != "up" for session in picture.of(Session))
    broken = picture.said("pods-cidr-overlap", "cross-node-dead", "service-dead", "host-pod-dead")
    if from_pods and not (rules and not rules.present):
        strength, aside = (PROVEN if healthy else STRONG), False
    elif clash.kind == "pods-nodes" and unwell and (claimed or avoided):
        strength, aside = PROVEN if claimed and avoided else STRONG, False
    elif failing and not (rules and not rules.present):
        strength, aside = STRONG if clash.kind != "pods-nodes" else LIKELY, False
    elif (stuck and (healthy or not agents)) or broken or (healthy and tried):
        strength, aside = LIKELY, False
    else:
        strength, aside = LIKELY, True
    what_en = {
        "pods-nodes": "The pod range",
        "services-nodes": "The service range",
        "pods-services": "The service range",
    }
    what_zh = {"pods-nodes": "Pod 网段", "services-nodes": "服务网段", "pods-services": "服务网段"}
    whose_en = "the node address" if clash.kind != "pods-services" else "the pod range or address"
    whose_zh = "节点地址" if clash.kind != "pods-services" else "Pod 网段或地址"
    why = Words(
        f"{what_en[clash.kind]} {clash.range} overlaps {whose_en} "
        f"{clash.other}{f' of {clash.node}' if clash.node else ''}.",
        f"{what_zh[clash.kind]} {clash.range} 与{whose_zh} {clash.other}{f'（{clash.node}）' if clash.node else ''} "
        "重叠。",
    )
    objects = (clash.range, clash.other, clash.name, *(c.range for c in clashes), *(c.other for c in clashes))
    evidence = (*clash.places, *claimed[:1], *avoided[:1], *from_pods[:2], *failing[:1], *tried[:1], *stuck[:2])
    return found(strength, why, objects, evidence, aside=aside, range=clash.range, kind=clash.kind)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    if finding.value("kind") != "pods-nodes":
        return (
            Step(
                Words(
                    "The service range cannot be changed in place: plan a free one and rebuild the cluster (`kubeadm "
                    "init --service-cidr`)",
                    "服务网段无法原地修改：规划空闲网段并重建集群（`kubeadm init --service-cidr`）",
                ),
                risk="disruptive",
            ),
            Step(
                Words(
                    "If only the pods' range is in the way, plan its move to a new pool; see which pools there are",
                    "若只是 Pod 网段冲突，可规划迁移到新的地址池；先查看现有地址池",
                ),
                "calicoctl get ippool -o yaml",
            ),
        )
    return (
        Step(
            Words("Make a pool with a range nobody uses", "创建使用空闲网段的新地址池"),
            "calicoctl create -f - <<< "
            '\'{"apiVersion":"projectcalico.org/v3","kind":"IPPool","metadata":{"name":"new-pool"},'
            '"spec":{"cidr":"<free CIDR>","ipipMode":"Always","natOutgoing":true}}\'',
        ),
        Step(
            Words("Take no more addresses from the old pool", "停止从旧地址池分配地址"),
            'calicoctl patch ippool <old pool> -p \'{"spec":{"disabled":true}}\'',
        ),
        Step(
            Words(
                "Write the new range into CALICO_IPV4POOL_CIDR, kubeadm's podSubnet and kube-proxy's clusterCIDR",
                "将新网段写入 CALICO_IPV4POOL_CIDR、kubeadm 的 podSubnet 与 kube-proxy 的 clusterCIDR",
            ),
            f"kubectl -n {picture.namespace} set env ds/calico-node CALICO_IPV4POOL_CIDR=<free CIDR>",
            "disruptive",
        ),
        Step(
            Words(
                "Recreate the pods of the old range, one workload after the other, then delete the old pool",
                "逐个重建旧网段的 Pod，最后删除旧地址池",
            ),
            "kubectl -n <namespace> rollout restart deploy/<name>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="cidr-overlap",
    code="TRT5008",
    severity="high",
    name=Words("address ranges overlap", "网段冲突"),
    what=Words(
        "The pod or service range overlaps node addresses, each other, or a LAN the pods must reach; packets of pods "
        "go astray.",
        "Pod 或服务网段与节点地址、彼此之间或 Pod 需访问的局域网重叠，Pod 的数据包走错路。",
    ),
    explains=(
        "controllers-failing",
        "api-unreachable",
        "service-dead",
        "traffic-dead",
        "crash-loop",
        "datastore-error",
        "not-ready",
        "bgp-down",
    ),
    look_alikes=(
        ("kube-proxy-down", Words("the host fails as well, and there are no rules", "主机同样失败，且没有规则")),
        ("apiserver-port-blocked", Words("ranges are disjoint, the port is filtered", "网段不重叠，端口被过滤")),
        ("ippool-overlaps-pool", Words("two pools overlap each other", "两个地址池互相重叠")),
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS, POD_SUBNET, SERVICE_SUBNET, SERVICE_FLAG, CLUSTER_FLAG, OWN_ADDRESS),
    judge=judge,
    ask=Ask(
        "calicoctl get ippool -o wide; kubectl get nodes -o wide; kubectl -n kube-system get cm kubeadm-config -o "
        "yaml | grep -e podSubnet -e serviceSubnet; ip route",
        Words("no node address may lie in the pod or service range", "节点地址不得落在 Pod 或服务网段内"),
    ),
    fix=fix,
    verify=(Step(Words("Pods have addresses of the new range", "Pod 使用新网段地址"), "kubectl get pod -A -o wide"),),
    prevent=(
        Words(
            "Plan disjoint ranges for nodes, pods and services before init.",
            "初始化前规划互不重叠的节点、Pod 与服务网段。",
        ),
    ),
)
