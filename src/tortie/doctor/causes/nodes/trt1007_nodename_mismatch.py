"""TRT1007: calico-node, the CNI plugin and kubelet call one host by different names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS, conflicts, same_host
from tortie.doctor.causes.nodes.node_names import NAME_SIGNS, Called, by_agent, by_cni, by_file, drain, split_names
from tortie.doctor.picture.facts import CalicoNode
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NO_NODE: Final = Sign("trt1007-no-node", "failed to get node for host <rest>")
NOT_THERE: Final = Sign("trt1007-node-not-there", "resource does not exist: Node\\(<name>\\) with error")


def judge(picture: Picture) -> Finding:
    recorded = picture.calico_nodes()
    nodes = list(picture.nodes_now())
    known = nodes or [pod.node for pod in picture.agents() if pod.node]
    twice = split_names(recorded)
    pinned = [call for call in by_cni(picture) if _differs(picture, call, known)]
    pinned += [call for call in (*_looked_up(picture), *by_file(picture)) if known and _differs(picture, call, known)]
    lookups = picture.hits(NO_NODE)
    if conflicts(picture) and not pinned:
        return ruled_out(Words("an address conflict is reported", "报的是地址冲突"), conflicts(picture)[:1])
    if not (twice or pinned):
        return _nothing(picture, recorded, known, lookups)
    wrong, right = _names(twice, pinned, known)
    extra = [name for name in recorded if known and name not in known and any(same_host(name, k) for k in known)]
    if twice and pinned:
        strength = PROVEN
    elif pinned:
        strength = STRONG if known or by_agent(picture) else POSSIBLE
    else:
        # A record alone may be a relic of an earlier name.
        strength = STRONG if extra and len(known) > 1 else LIKELY
    facts = [node for node in picture.of(CalicoNode) if node.name in (wrong, right)]
    why = Words(
        f"One host has two names, {wrong} and {right}: endpoints written for one are not served by the other.",
        f"同一主机有 {wrong} 和 {right} 两个名字：以一个名字写入的端点，另一个名字的 Felix 不会处理。",
    )
    objects = (wrong, right, "nodename", "NODENAME", *("10-calico.conf" for _ in pinned[:1]))
    evidence = (*(call.source for call in pinned), *(call.source for call in by_agent(picture)), *facts, *lookups[:1])
    return found(strength, why, objects, evidence, wrong=wrong, right=right)


def _looked_up(picture: Picture) -> list[Called]:
    """Names under which the datastore was asked for a node that it does not have."""
    hits = [hit for hit in picture.hits(NOT_THERE) if "\\n" not in hit.value("name")]
    return [Called(hit.value("name"), "lookup", "", hit) for hit in hits]


def _differs(picture: Picture, call: Called, known: list[str]) -> bool:
    """The CNI configuration's name is not the one that Kubernetes or calico-node has for the same host."""
    if call.name.lower() in (name.lower() for name in known):
        return False
    names = [*known, *(other.name for other in by_agent(picture)), *picture.calico_nodes()]
    return any(name != call.name and same_host(name, call.name) for name in names) or (
        bool(call.host) and any(same_host(call.host, name) for name in names) and not same_host(call.host, call.name)
    )


def _names(twice: list[tuple[str, str]], pinned: list[Called], known: list[str]) -> tuple[str, str]:
    if pinned:
        wrong, host = pinned[0].name, pinned[0].host
        right = next((name for name in known if same_host(name, wrong) or same_host(name, host)), "")
        return wrong, right or next((long for short, long in twice if short == wrong), host or "its node name")
    short, long = twice[0]
    return (long, short) if short in known and long not in known else (short, long)


def _nothing(picture: Picture, recorded: list[str], known: list[str], lookups: Sequence[object]) -> Finding:
    if lookups:
        why = Words("A host is looked up by a name that no node has.", "按某个名字查找节点，但没有节点叫这个名字。")
        return found(POSSIBLE, why, ("nodename",), lookups[:1])
    if recorded and known and set(recorded) <= set(known):
        return ruled_out(Words("Calico and Kubernetes use the same names", "Calico 与 Kubernetes 使用的名字一致"))
    cni = by_cni(picture)
    if cni and known and all(call.name in known for call in cni):
        return ruled_out(
            Words("the CNI configuration has the node's name", "CNI 配置中就是节点名"), [call.source for call in cni]
        )
    return cannot_tell(
        Words("the names in Calico, Kubernetes and the CNI configuration", "Calico、Kubernetes 与 CNI 配置中的名字")
    )


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    wrong, right = finding.value("wrong", "<wrong name>"), finding.value("right", "<node>")
    field = '{"name":"NODENAME","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}'
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"calico-node","env":[%s]}]}}}}'.replace("%s", field)
    return (
        Step(
            Words("Take the name from Kubernetes", "名字取自 Kubernetes"),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                'In the CNI template write "nodename": "__KUBERNETES_NODE_NAME__", and correct the file on that host',
                'CNI 模板中写 "nodename": "__KUBERNETES_NODE_NAME__"，并更正该主机上的文件',
            ),
            "grep -e nodename -e hostname /etc/cni/net.d/10-calico*",
        ),
        Step(Words("Remove the wrong record", "删除错误的记录"), f"calicoctl delete node {wrong}", "disruptive"),
        Step(
            Words("Re-create the pods of that node", "重建该节点上的 Pod"),
            f"{drain(picture, right)}; kubectl uncordon {right}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="nodename-mismatch",
    code="TRT1007",
    severity="high",
    name=Words("one host under two names", "节点名不一致"),
    what=Words(
        "calico-node, the CNI plugin and kubelet call one host by different names, so pods get no route and no policy.",
        "calico-node、CNI 插件与 kubelet 对同一主机的叫法不同，Pod 有地址却没有路由和策略。",
    ),
    explains=("traffic-dead", "others-failing", "service-dead", "sandbox-failed", "crash-loop", "no-address"),
    look_alikes=(
        ("stale-node-entry", Words("an old name blocks the address", "旧名字占用了地址，启动报冲突")),
        ("duplicate-nodename", Words("two hosts, one name", "两台主机用同一个名字")),
        ("nodename-invalid", Words("the name is refused", "名字不合法被拒绝")),
    ),
    signs=(*SHARED_SIGNS, *NAME_SIGNS, NO_NODE, NOT_THERE),
    judge=judge,
    ask=Ask(
        "calicoctl get nodes; kubectl get nodes -o name; grep -he nodename -e hostname /etc/cni/net.d/10-calico*; "
        "cat /var/lib/calico/nodename",
        Words("a host that appears under two names is the one", "以两个名字出现的主机就是问题所在"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Both lists have the same names", "两份列表名字一致"),
            "calicoctl get nodes; kubectl get nodes -o name",
        ),
        Step(Words("Pods have routes", "Pod 路由已出现"), "ip route | grep cali"),
    ),
    prevent=(Words("Never write names into CNI files by hand.", "不要在 CNI 文件里写死名字。"),),
)
