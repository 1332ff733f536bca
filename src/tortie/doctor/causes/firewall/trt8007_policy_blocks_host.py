"""TRT8007: a global policy selects host endpoints and cuts the node's own traffic."""

from __future__ import annotations

import re

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
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, tcp_fails
from tortie.doctor.picture.facts import Document
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

AUTO_HEP = Sign("policy-auto-hep", "<node>-auto-hep")
NO_POLICY_PASSED = Sign("policy-host-drop", "Drop if no policies passed packet")
_POLICY_ROW = r"^(?P<name>[a-z][\w.-]*)\s+(?:\S+\s+)*?(?P<selector>all\(\))?\s*$"
_HEP_ROW = r"^(?P<name>[\w.-]+)\s+(?P<node>[\w.-]+)"
POLICY_COMMANDS = ("gnp", "globalnetworkpolic")
HEP_COMMANDS = ("hep", "hostendpoint")


def judge(picture: Picture) -> Finding:
    heps = _host_endpoints(picture)
    drops = [row for row in _host_drops(picture) if _count(row) > 0]
    policies = _policies(picture)
    asked_heps = [exhibit for word in HEP_COMMANDS for exhibit in picture.commands("get", word)]
    if asked_heps and not heps and not drops:
        empty = asked_heps[0].place(0) if asked_heps[0].lines else None
        return ruled_out(Words("there are no host endpoints", "没有 HostEndpoint"), (empty,))
    unreachable = [*picture.said("policy-applied", "api-unreachable"), *tcp_fails(picture)]
    not_ready = [node for node in picture.nodes_now().values() if node.status.startswith("NotReady")]
    harm: list[object] = [*drops, *unreachable, *not_ready]
    if policies:
        name, severe, place = policies[0]
        why = Words(
            f"GlobalNetworkPolicy {name} selects everything, host endpoints too, and allows too little: it "
            "cuts the nodes' own traffic.",
            f"GlobalNetworkPolicy {name} 选中了所有端点（包括主机端点）且放行不足，切断了节点自身的流量。",
        )
        objects = (name, "GlobalNetworkPolicy", *[hep for hep, _ in heps[:3]], *_chains(drops))
        evidence = (place, *[where for _, where in heps[:2]], *harm[:3])
        if heps or drops:
            if isinstance(place, Row):  # only its selector is shown, not what it allows
                strength = STRONG if drops or unreachable else LIKELY if harm else POSSIBLE
            else:
                strength = PROVEN if harm and heps else STRONG if severe or drops else LIKELY
            return found(strength, why, objects, evidence, policy=name)
        return found(POSSIBLE if harm else HINT, why, objects, evidence, policy=name)
    if drops and heps:
        why = Words("policies of a host endpoint drop the node's own packets", "主机端点的策略丢弃了节点自身的报文")
        return found(
            STRONG,
            why,
            (*_chains(drops), *[hep for hep, _ in heps[:3]]),
            (*drops[:2], *[where for _, where in heps[:1]]),
        )
    if drops:
        why = Words("the chains of a host endpoint drop packets", "主机端点的链正在丢弃报文")
        return found(LIKELY, why, (*_chains(drops), "HostEndpoint"), drops[:2])
    if heps and harm:
        why = Words("host endpoints exist; the policies are not shown", "存在主机端点，但没有给出策略")
        return found(POSSIBLE, why, [hep for hep, _ in heps[:3]], [where for _, where in heps[:1]])
    return cannot_tell(
        Words("host endpoints and global policies are not shown", "没有 HostEndpoint 与 GlobalNetworkPolicy 的信息")
    )


def _host_endpoints(picture: Picture) -> list[tuple[str, object]]:
    names: dict[str, object] = {hit.text: hit for hit in picture.hits(AUTO_HEP) if not hit.prose}
    for document in picture.of(Document):
        if document.kind == "HostEndpoint":
            names.setdefault(document.name, document)
    for row in rows(picture, _HEP_ROW, *[f"get {word}" for word in HEP_COMMANDS]):
        if row["name"] not in ("NAME", "No") and ":" not in row.match.string:
            names.setdefault(row["name"], row)
    return list(names.items())


def _policies(picture: Picture) -> list[tuple[str, bool, object]]:
    """(name, allows nothing at all, place) of global policies that select hosts and do not let everything in."""
    chosen: list[tuple[str, bool, object]] = []
    for document in picture.of(Document):
        if document.kind == "GlobalNetworkPolicy":
            spec = document.body.get("spec")
            if (severe := _cuts(spec if isinstance(spec, dict) else {})) is not None:
                chosen.append((document.name, severe, document))
    for row in rows(picture, _POLICY_ROW, *POLICY_COMMANDS):
        if row["selector"] and row["name"] != "NAME" and row["name"] not in [name for name, _, _ in chosen]:
            chosen.append((row["name"], False, row))
    return sorted(chosen, key=lambda item: not item[1])


def _cuts(spec: dict[str, object]) -> bool | None:
    """None: it does not select hosts, or lets all in. True: no rule allows anything."""
    selector = str(spec.get("selector") or "").replace(" ", "")
    if selector not in ("", "all()") and not selector.startswith(
        ("has(node", "has(host", "has(kubernetes.io/hostname")
    ):
        return None
    if spec.get("namespaceSelector") or spec.get("doNotTrack"):
        return None
    verdicts = []
    types = spec.get("types") or ["Ingress"]
    for direction in ("Ingress", "Egress"):
        if direction not in (types if isinstance(types, list) else ["Ingress"]):
            continue
        rules = spec.get(direction.lower())
        allows = (
            [rule for rule in rules if isinstance(rule, dict) and rule.get("action") == "Allow"]
            if isinstance(rules, list)
            else []
        )
        if any(set(rule) <= {"action", "metadata"} for rule in allows):
            continue
        verdicts.append(not allows)
    return any(verdicts) if verdicts else None


def _host_drops(picture: Picture) -> list[Row]:
    direct = list(
        rows(picture, r"(?P<chain>cali-[ft]h-[\w.-]+).*\bDROP\b|\bDROP\b.*(?P<other>cali-[ft]h-[\w.-]+)", needle="DROP")
    )
    return direct + list(rows(picture, r"DROP.*Drop if no policies passed packet", "cali-fh", "cali-th", needle="DROP"))


def _count(row: Row) -> int:
    first = row.match.string.strip().lstrip("[").replace(":", " ").split()[0]
    if first[:-1].isdecimal() and first[-1] in "KMG":
        return int(first[:-1]) * 1000
    return int(first) if first.isdecimal() else 0


def _chains(drops: list[Row]) -> list[str]:
    texts = [text for row in drops for text in (row.match.string, row.command)]
    return list(dict.fromkeys(name for text in texts for name in re.findall(r"cali-[ft]h-?[\w.-]*", text)))[:3]


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    policy = finding.value("policy", "<policy>")
    return (
        Step(
            Words(
                "On a control plane node, through the local API server: delete the policy, or narrow it to pods",
                "在控制平面节点上通过本机 API Server 操作：删除该策略，或将其限定为 pod",
            ),
            f"kubectl --server=https://127.0.0.1:6443 delete globalnetworkpolicies.crd.projectcalico.org {policy}",
            "disruptive",
        ),
        Step(
            Words(
                "Then apply it again for pods only, with `selector: has(projectcalico.org/namespace)`",
                "之后以只作用于 pod 的选择器（`selector: has(projectcalico.org/namespace)`）重新创建",
            ),
            f"calicoctl apply -f {finding.value('policy', 'policy')}.yaml",
            "disruptive",
        ),
        Step(
            Words(
                "Keep the failsafe ports: 22, 179, 2379, 2380, 5473, 6443, 6666, 6667 tcp and 68 udp",
                "保留 failsafe 端口：tcp 22、179、2379、2380、5473、6443、6666、6667 与 udp 68",
            ),
            "kubectl get felixconfiguration default -o yaml | grep -A3 -i failsafe",
        ),
    )


CAUSE = Cause(
    id="policy-blocks-host",
    code="TRT8007",
    severity="critical",
    name=Words("policy cuts hosts off", "策略误伤主机"),
    what=Words(
        "A GlobalNetworkPolicy selects host endpoints and cuts the API server, etcd or BGP off.",
        "GlobalNetworkPolicy 选中了主机端点，切断了 API Server、etcd 或 BGP。",
    ),
    explains=(
        "api-unreachable",
        "node-not-ready",
        "bgp-down",
        "traffic-dead",
        "not-ready",
        "status-stale",
        "datastore-error",
    ),
    look_alikes=(
        ("firewalld-interference", Words("there firewalld's table rejects", "由 firewalld 的表拒绝")),
        ("apiserver-port-blocked", Words("there are no host endpoints", "没有主机端点")),
        ("datastore-unreachable", Words("there it fails locally too", "本机访问也失败")),
    ),
    signs=(AUTO_HEP, NO_POLICY_PASSED),
    judge=judge,
    ask=Ask(
        "calicoctl get hep -o wide; calicoctl get gnp -o yaml; iptables -nvL | grep -A3 cali-fh",
        Words("a policy for all() with host endpoints", "存在主机端点且策略选择了 all()"),
    ),
    fix=fix,
    verify=(
        Step(Words("It answers from another machine", "从其他机器访问正常"), "curl -sk https://<master>:6443/readyz"),
    ),
    prevent=(Words("Staged policies and explicit selectors.", "先使用 Staged 策略，并写明选择器。"),),
)
