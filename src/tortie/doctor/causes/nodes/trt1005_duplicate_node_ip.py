"""TRT1005: two live hosts really carry the same address."""

from __future__ import annotations

from collections import defaultdict

from tortie.doctor.causes.legacy import (
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
from tortie.doctor.causes.nodes.address_conflicts import ARP_SIGNS, arp_answers, contest, contests
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS, is_lost, listed
from tortie.doctor.picture.facts import Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words


def judge(picture: Picture) -> Finding:
    twins = _twins(picture)
    case = contest(picture, "duplicate")
    if case:
        why = Words(
            f"{case.other} and {case.node or 'the node that cannot start'} are both alive with {case.address}.",
            f"{case.other} 与{f' {case.node} ' if case.node else '无法启动的节点'}都在线，且都使用 {case.address}。",
        )
        objects = (case.address, case.other, case.node)
        evidence = (*case.evidence, case.hit, *picture.hits(*ARP_SIGNS)[:1])
        return found(case.strength, why, objects, evidence, address=case.address, other=case.other, node=case.node)
    if twins:
        address, nodes = twins
        names = [node.name for node in nodes]
        why = Words(
            f"{listed(names)} all have the InternalIP {address}.", f"{listed(names)} 的 InternalIP 都是 {address}。"
        )
        strength = PROVEN if contests(picture) or arp_answers(picture) else STRONG
        return found(strength, why, (address, *names), nodes, address=address, other=names[0], node=names[-1])
    others = contests(picture)
    decided = next((c for c in others if c.kind != "open"), None)
    if decided:
        return ruled_out(_instead(decided.kind, decided.other), (*decided.evidence, decided.hit))
    if others:
        case = others[0]
        why = Words(
            f"{case.other} is recorded with {case.address}; whether it is alive and still has it is not shown.",
            f"{case.address} 记录在 {case.other} 名下；它是否在线、是否仍使用该地址尚无证据。",
        )
        return found(POSSIBLE, why, (case.address, case.other, case.node), (case.hit,), address=case.address)
    if arp_answers(picture) and picture.hits("arp-duplicate", "arp-conflict"):
        hits = picture.hits("arp-duplicate", "arp-conflict")
        why = Words("The host reports that its address is in use elsewhere.", "主机报告其地址已被别的机器使用。")
        return found(POSSIBLE, why, (), hits[:2])
    nodes = list(picture.nodes_now().values())
    ips = [node.internal_ip for node in nodes]
    if len(ips) > 1 and all(ips) and len(set(ips)) == len(ips):
        return ruled_out(Words("the InternalIPs are all different", "各节点 InternalIP 互不相同"), nodes[:3])
    return cannot_tell(Words("the nodes with their InternalIPs", "各节点及其 InternalIP"))


def _instead(kind: str, other: str) -> Words:
    return {
        "stale": Words(f"{other} is no live node", f"{other} 已不是在线节点"),
        "changed": Words(f"{other} has another address by now", f"{other} 现在用的是另一个地址"),
    }.get(kind, Words("the address is that of a link every host has", "该地址属于每台主机都有的网卡"))


def _twins(picture: Picture) -> tuple[str, list[Node]] | None:
    nodes: dict[str, list[Node]] = defaultdict(list)
    for node in picture.nodes_now().values():
        if node.internal_ip and not is_lost(node):
            nodes[node.internal_ip].append(node)
    return next(((address, same) for address, same in nodes.items() if len(same) > 1), None)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    address, node = finding.value("address", "<address>"), finding.value("node", "<node>")
    return (
        Step(
            Words("Find out which machine answers for the address", "确认是哪台机器在应答该地址"),
            f"arping -D -c3 -I <nic> {address}",
        ),
        Step(
            Words(
                f"Give one of the hosts another address in its configuration, or register another NIC of {node}",
                f"在其中一台主机的网络配置中换一个地址，或让 {node} 注册另一块网卡",
            ),
            risk="disruptive",
        ),
        Step(
            Words("Then restart the agent that ended", "然后重启退出的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod -l k8s-app=calico-node --field-selector spec.nodeName={node}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="duplicate-node-ip",
    code="TRT1005",
    severity="high",
    name=Words("two nodes with one address", "节点地址重复"),
    what=Words(
        "Two live hosts carry the same address: a cloned machine, an address typed twice.",
        "两台在线主机使用同一个地址：克隆的虚拟机，或静态地址配重了。",
    ),
    explains=("start-terminated", "crash-loop", "bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    look_alikes=(
        ("stale-node-entry", Words("the named owner is no live node", "被点名的节点已不在线")),
        ("node-ip-changed", Words("the named owner has another address by now", "被点名的节点已换了地址")),
        (
            "autodetect-wrong-interface",
            Words("the address is that of a bridge or NAT link on every host", "地址属于每台主机都有的网桥或 NAT 网卡"),
        ),
    ),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS, *ARP_SIGNS),
    judge=judge,
    ask=Ask(
        "kubectl get nodes -o wide; arping -D -c3 -I <nic> <ip>",
        Words("an answer to arping means that a second host has the address", "arping 有应答说明另有主机使用该地址"),
    ),
    fix=fix,
    verify=(
        Step(Words("No INTERNAL-IP appears twice", "没有重复的 INTERNAL-IP"), "kubectl get nodes -o wide"),
        Step(Words("Nobody answers", "无人应答"), "arping -D -c3 -I <nic> <ip>"),
    ),
    prevent=(Words("Reset the network identity in VM templates.", "制作虚拟机模板时清除网络标识。"),),
)
