"""TRT1006: the record of a host that was renamed, rebuilt or removed still owns this host's address."""

from __future__ import annotations

from tortie.doctor.causes.legacy import POSSIBLE, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.causes.nodes.address_conflicts import ARP_SIGNS, contest, contests
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS
from tortie.doctor.picture.facts import CalicoNode
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words


def judge(picture: Picture) -> Finding:
    case = contest(picture, "stale")
    recorded = {node.name: node for node in picture.of(CalicoNode)}
    if case:
        why = Words(
            f"{case.address} is still recorded for {case.other}, which is no live node any more; "
            f"{case.node or 'this host'} cannot take it.",
            f"{case.address} 仍记录在 {case.other} 名下，而它已不是在线节点；"
            f"{case.node + ' ' if case.node else '本机'}因此无法使用该地址。",
        )
        objects = (case.other, case.address, case.node)
        evidence = (recorded.get(case.other), *case.evidence, case.hit, *picture.hits("terminating")[:1])
        return found(case.strength, why, objects, evidence, other=case.other, node=case.node, address=case.address)
    others = contests(picture)
    decided = next((c for c in others if c.kind != "open"), None)
    if decided:
        why = {
            "duplicate": Words(f"{decided.other} is alive and has the address", f"{decided.other} 在线且使用该地址"),
            "changed": Words(f"{decided.other} is alive, with another address", f"{decided.other} 在线，但地址已变"),
        }.get(decided.kind, Words("the address is that of a link every host has", "该地址属于每台主机都有的网卡"))
        return ruled_out(why, (*decided.evidence, decided.hit))
    if others:
        first = others[0]
        why = Words(
            f"{first.other} is recorded with {first.address}; whether it still exists is not shown.",
            f"{first.address} 记录在 {first.other} 名下；它是否还存在尚无证据。",
        )
        return found(POSSIBLE, why, (first.other, first.address, first.node), (first.hit,), other=first.other)
    return cannot_tell(
        Words("a start-up log that names the owner of the address", "启动日志中指明地址被谁占用的那一行")
    )


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    other, node = finding.value("other", "<old name>"), finding.value("node", "<node>")
    kept = other in picture.nodes_now()
    return (
        Step(
            Words("Make sure that nobody answers for the address any more", "确认该地址已无其他机器应答"),
            f"arping -D -c3 -I <nic> {finding.value('address', '<address>')}",
        ),
        Step(
            Words("Remove the old record", "删除旧记录"),
            f"kubectl delete node {other}" if kept else f"calicoctl delete node {other}",
            "disruptive",
        ),
        Step(
            Words("Restart the agent that ended", "重启退出的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod -l k8s-app=calico-node --field-selector spec.nodeName={node}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="stale-node-entry",
    code="TRT1006",
    severity="medium",
    name=Words("an old node's record holds the address", "旧节点记录占用地址"),
    what=Words(
        "Calico's record of a host that was renamed, rebuilt or removed still owns the address of this host.",
        "已改名、重装或下线的主机在 Calico 中的记录仍占用着本机地址。",
    ),
    explains=("start-terminated", "crash-loop", "not-ready"),
    look_alikes=(
        ("duplicate-node-ip", Words("the named node is alive and has the address", "被点名的节点在线且使用该地址")),
        ("node-ip-changed", Words("the named node is alive with another address", "被点名的节点在线，但地址已变")),
        ("nodename-mismatch", Words("two names, but no conflict is reported", "有两个名字，但没有冲突报错")),
    ),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS, *ARP_SIGNS),
    judge=judge,
    ask=Ask(
        "calicoctl get nodes -o wide; kubectl get nodes",
        Words("a name that only Calico knows is the stale one", "只有 Calico 还认得的名字就是残留记录"),
    ),
    fix=fix,
    verify=(
        Step(Words("Both lists have the same names", "两份列表名字一致"), "calicoctl get nodes; kubectl get nodes"),
    ),
    prevent=(
        Words("Remove the Calico node when a machine is decommissioned.", "机器下线时一并删除其 Calico 节点。"),
        Words(
            "Keep kube-controllers healthy: it cleans up after nodes.",
            "保证 kube-controllers 正常，由它清理已删除的节点。",
        ),
    ),
)
