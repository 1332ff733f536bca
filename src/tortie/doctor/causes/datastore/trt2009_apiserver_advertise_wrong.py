"""TRT2009: the `kubernetes` endpoint is an address that other nodes cannot use."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from tortie.doctor.causes.datastore.api_evidence import (
    RULE_SIGNS,
    VIP_SIGNS,
    Endpoint,
    alive_otherwise,
    answered,
    direct_answers,
    direct_failures,
    kubernetes_endpoints,
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
from tortie.doctor.picture.facts import Interface, PortTest
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

NAT = ip_network("10.0.2.0/24")  # what common desktop hypervisors give every guest


def judge(picture: Picture) -> Finding:
    endpoints, failing = kubernetes_endpoints(picture), vip_troubles(picture)
    if not endpoints:
        if failing:
            why = Words(
                "the service address fails; its endpoint is not shown", "服务地址失败，但没有其 endpoint 的信息"
            )
            return found(HINT, why, (failing[0].address,), failing[:1])
        return cannot_tell(
            Words("the endpoint of the kubernetes service is not shown", "没有 kubernetes 服务的 endpoint")
        )
    for endpoint in endpoints:
        verdict = _wrong(picture, endpoint)
        if verdict:
            strength, en, zh, proof = verdict
            if not failing and strength < PROVEN:
                strength = min(strength, LIKELY)
            why = Words(
                f"The kubernetes service leads to {endpoint.address}, {en}.",
                f"kubernetes 服务指向 {endpoint.address}，{zh}。",
            )
            vip = failing[0].address if failing else ""
            objects = (endpoint.address, "advertise-address", "kubernetes", vip, *_masters(picture))
            return found(strength, why, objects, (endpoint, *proof, *failing[:2]), address=endpoint.address)
    good = [t for t in picture.of(PortTest) if t.address in {e.address for e in endpoints} and answered(t)]
    masters = _masters(picture)
    if good or all(e.address in masters for e in endpoints):
        why = Words("the endpoint is a master's address", "endpoint 是 master 的可用地址")
        return ruled_out(why, (endpoints[0], *good[:1]))
    if failing:
        why = Words(
            f"The kubernetes service leads to {endpoints[0].address}; whether workers reach it is not shown",
            f"kubernetes 服务指向 {endpoints[0].address}；没有证据说明 worker 能否到达",
        )
        return found(POSSIBLE, why, (endpoints[0].address, "advertise-address"), (endpoints[0], *failing[:1]))
    return cannot_tell(Words("whether workers reach the endpoint is not shown", "没有 worker 访问该 endpoint 的结果"))


def _wrong(picture: Picture, endpoint: Endpoint) -> tuple[float, str, str, list[object]] | None:
    address, masters, own = endpoint.address, _masters(picture), picture.internal_ips()
    holders = [i for i in picture.of(Interface) if any(a.split("/")[0] == address for a in i.addresses)]
    refused = [t for t in direct_failures(picture) if t.address == address]
    others = [t for t in direct_answers(picture) if t.address != address]
    same = [node for node, ip in own.items() if ip == address]
    hosts = {link.host for link in holders if link.host}
    sick = {pod.node for pod in picture.agents_now() if not pod.all_ready and own.get(pod.node, address) != address}
    if (
        len(hosts) > 1
        or hosts & sick
        or any(_served_elsewhere(picture, host, others) for host in hosts)
        or (hosts and masters and not hosts & set(_master_names(picture)) and address not in masters)
    ):
        holder = sorted(hosts)[-1]
        en = f"an address that {holder} has itself, so its packets never leave"
        return PROVEN, en, f"而 {holder} 自己也有这个地址，数据包根本不会发出", [holders[-1], *refused[:1]]
    if len(same) > 1:
        return STRONG, "an address that several nodes share (NAT)", "而多个节点共用该地址（NAT）", []
    silent = {t.address for t in direct_failures(picture)}
    peers = {e.address for e in kubernetes_endpoints(picture)} & silent
    if refused and alive_otherwise(picture, peers):
        return None  # the machines are there, their port is not open
    beside = [t for t in others if _beside(t.address, address)]
    if refused and others and len(beside) == len(others) and address in own.values():
        return None  # a balancer in the same network answers for a node that is one: its port is blocked
    if refused and others and len(beside) == len(others) and not own and not holders:
        return None  # a balancer or the machine's other address: nothing tells
    if refused and others:
        good = others[0].address
        return (
            PROVEN,
            f"which does not answer, while {good} does",
            f"该地址无响应，而 {good} 有响应",
            [refused[0], others[0]],
        )
    foreign = bool(own) and address not in own.values()
    if foreign and others:
        good = others[0].address
        en = f"no node's InternalIP, while the API answers at {good}"
        return STRONG, en, f"它不是任何节点的 InternalIP，而 API 在 {good} 有响应", [others[0]]
    if foreign and refused:
        return (
            STRONG,
            "no node's InternalIP, and it does not answer",
            "它不是任何节点的 InternalIP，且无响应",
            [refused[0]],
        )
    nat = ip_address(address) in NAT
    if nat and (foreign or (own and any(ip_address(ip) not in NAT for ip in own.values() if _plain(ip)))):
        return STRONG, "the NAT address of a virtual machine", "这是虚拟机的 NAT 地址", []
    if foreign and (ip_address(address).is_global or _master_names(picture)):
        return LIKELY, "no node's InternalIP", "它不是任何节点的 InternalIP", []
    return None


def _served_elsewhere(picture: Picture, host: str, others: list[PortTest]) -> bool:
    """This machine reaches the API at another machine's address: it is not the server, though it has its address."""
    links = (link for link in picture.of(Interface) if link.host == host)
    own = {text.split("/")[0] for link in links for text in link.addresses}
    return any(test.host == host and test.address not in own for test in others)


def _beside(one: str, other: str) -> bool:
    """In one small network: a virtual address of a balancer rather than another network of the machine."""
    return one.rpartition(".")[0] == other.rpartition(".")[0]


def _plain(text: str) -> bool:
    return text.count(".") == 3 and text.replace(".", "").isdecimal()


def _master_names(picture: Picture) -> list[str]:
    nodes = picture.nodes_now().values()
    named = [node.name for node in nodes if "master" in node.roles or "control-plane" in node.roles]
    return named + [pod.node for pod in picture.pods_now("kube-apiserver") if pod.node]


def _masters(picture: Picture) -> list[str]:
    own = picture.internal_ips()
    return [own[name] for name in dict.fromkeys(_master_names(picture)) if name in own]


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("See which address the other nodes can reach", "查看其他节点能访问的地址"),
            "ip -br -4 addr  # on the master",
        ),
        Step(
            Words(
                "Set it in the API server's manifest; kubelet restarts the pod",
                "在 API server 清单中设置该地址；kubelet 会重启该 Pod",
            ),
            "sed -i 's/--advertise-address=.*/--advertise-address=<reachable address>/' "
            "/etc/kubernetes/manifests/kube-apiserver.yaml",
            "disruptive",
        ),
        Step(
            Words(
                "Keep it for upgrades: localAPIEndpoint.advertiseAddress, certSANs",
                "升级时保持一致：localAPIEndpoint.advertiseAddress 与 certSANs",
            ),
            "kubectl -n kube-system edit cm kubeadm-config",
        ),
        Step(
            Words("Give each kubelet its address, and restart it", "为每个 kubelet 指定地址并重启"),
            "echo 'KUBELET_EXTRA_ARGS=--node-ip=<address>' > /etc/default/kubelet && systemctl restart kubelet",
            "disruptive",
        ),
        Step(
            Words("Recreate agents that are stuck", "重建卡住的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <stuck calico-node pod>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="apiserver-advertise-wrong",
    code="TRT2009",
    severity="high",
    name=Words("API server advertises a wrong address", "API 通告地址错"),
    what=Words(
        "The kubernetes endpoint is an address other nodes cannot use: a NAT, public or unrouted one. The master is "
        "fine.",
        "kubernetes 的 endpoint 是其他节点无法使用的地址（NAT、公网或不可路由地址），只有 master 自身正常。",
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
        ("apiserver-port-blocked", Words("the endpoint is right, its port is filtered", "endpoint 正确，但端口被过滤")),
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS),
    judge=judge,
    ask=Ask(
        "kubectl get endpoints kubernetes; curl -k -m3 https://<endpoint>/healthz",
        Words("from a worker: the endpoint must answer", "在 worker 上执行：endpoint 必须有响应"),
    ),
    fix=fix,
    verify=(
        Step(Words("The endpoint is the reachable address", "endpoint 为可达地址"), "kubectl get endpoints kubernetes"),
    ),
    prevent=(
        Words(
            "Set advertise address and node IP before init on hosts with several links.",
            "多网卡主机在初始化前先设置 advertise 地址与 node-ip。",
        ),
    ),
)
