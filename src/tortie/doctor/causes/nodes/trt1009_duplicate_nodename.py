"""TRT1009: two hosts run under one Calico name and take turns owning its record."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

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
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, exhibit_at, same_host
from tortie.doctor.causes.nodes.node_names import (
    NAME_SIGNS,
    NODENAME_FILE,
    STORED_NAME,
    Called,
    by_agent,
    by_file,
    own_name,
)
from tortie.doctor.causes.nodes.trt1004_node_ip_changed import CHANGED
from tortie.doctor.picture.facts import CalicoNode, Interface, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit
from tortie.doctor.words import Words

_SEVERAL: Final = re.compile(
    r"\b(?:two|both|2) (?:\w+ )?(?:hosts|machines|nodes|vms|servers)|in turns?\b|take turns|alternat|"
    r"(?:两|2) ?(?:台|个)|轮流|交替",
    re.I,
)
TUNNELS: Final = ("tunl0", "vxlan.calico", "wireguard.cali")


def judge(picture: Picture) -> Finding:
    foreign = _foreign_names(picture)
    tunnels = _shared_tunnel(picture)
    fewer = _fewer(picture)
    changed = picture.hits(CHANGED)
    cloned = picture.said("cloned-vm")
    if foreign:
        name, host, source = foreign[0]
        sure = tunnels or fewer or changed or cloned or picture.hits(STORED_NAME)
        why = Words(
            f"{host} runs under the name {name}, which belongs to another host; both write one record.",
            f"{host} 以 {name} 的名义运行，而这个名字属于另一台主机；两者在争写同一条记录。",
        )
        evidence = (*cloned[:1], source, *picture.hits(STORED_NAME)[:1], *tunnels, *changed[:1])
        return found(
            PROVEN if sure else STRONG, why, (name, host, NODENAME_FILE, "NODENAME"), evidence, name=name, host=host
        )
    if told := _by_the_only_host(picture):
        return told
    fixed = [call for call in by_agent(picture) if call.by == "calico-node"]
    stored = picture.hits(STORED_NAME)
    if tunnels:
        names = [link.host for link in tunnels]
        address = tunnels[0].addresses[0]
        why = Words(
            f"{names[0]} and {names[1]} have the same tunnel address {address}: they share one Calico node.",
            f"{names[0]} 与 {names[1]} 的隧道地址都是 {address}：两者共用一个 Calico 节点。",
        )
        objects = (*names, address, NODENAME_FILE, "NODENAME")
        return found(STRONG, why, objects, (*tunnels, *changed[:1]), host=names[-1])
    if changed:
        sure = fewer or cloned or stored
        why = Words(
            "The record of this name changes its address from start to start, as with two hosts of one name.",
            "该名字的记录每次启动地址都在变，像是两台主机同名。",
        )
        objects = (*fewer, *(call.name for call in fixed), "NODENAME", NODENAME_FILE)
        return found(LIKELY if sure else POSSIBLE, why, objects, (*changed[:2], *stored[:1], *cloned))
    if fewer:
        why = Words(
            f"Calico has fewer nodes than Kubernetes: {', '.join(fewer[:3])} is missing.",
            f"Calico 的节点比 Kubernetes 少：缺 {', '.join(fewer[:3])}。",
        )
        strength = LIKELY if (stored or fixed) and cloned else POSSIBLE if cloned or stored else HINT
        return found(strength, why, (*fewer[:3], "NODENAME", NODENAME_FILE), (*stored[:1], *cloned))
    files = by_file(picture)
    if files and all(not call.host or same_host(call.host, call.name) for call in files):
        return ruled_out(
            Words("each host's nodename is its own", "各主机的 nodename 都是自己的名字"),
            [call.source for call in files],
        )
    return cannot_tell(Words("the nodename file of each host", "各主机的 nodename 文件"))


def _foreign_names(picture: Picture) -> list[tuple[str, str, object]]:
    """(name, host that uses it, evidence): names that belong to another node than the one that uses them."""
    known = set(picture.nodes_now()) | {pod.node for pod in picture.agents() if pod.node}
    got: list[tuple[str, str, object]] = []
    owners = defaultdict(set)
    for call in by_file(picture):
        if call.host:
            owners[call.name].add(call.host)
            if not same_host(call.host, call.name) and any(same_host(call.name, node) for node in known | {call.host}):
                got.append((call.name, call.host, call.source))
    got += [
        (
            name,
            next((h for h in sorted(hosts) if not same_host(h, name)), sorted(hosts)[-1]),
            by_file(picture)[0].source,
        )
        for name, hosts in owners.items()
        if len(hosts) > 1
    ]
    recorded = known | set(picture.calico_nodes())
    for call in by_agent(picture):
        host = _where(picture, call)
        if host in known and call.name in recorded and not same_host(call.name, host):
            got.append((call.name, host, call.source))
    for hit in picture.hits(NODE_NAME, NODE_USED):
        host = _really(picture, hit)
        if host and hit.value("name") != host and not same_host(hit.value("name"), host):
            got.append((hit.value("name"), host, hit))
    return got


def _really(picture: Picture, hit: Hit) -> str:
    """The node whose agent printed this, by the pod in the command or the prompt of a local command."""
    exhibit = exhibit_at(picture, hit.place)
    if exhibit is None:
        return ""
    for pod in picture.agents():
        if pod.node and pod.name in exhibit.command:
            return pod.node
    local = exhibit.command.startswith(("docker ", "sudo docker", "crictl", "journalctl", "cat "))
    return exhibit.host if local else ""


def _by_the_only_host(picture: Picture) -> Finding | None:
    """A stored name that is not the name of the only host on which anything was typed; kubectl reaches other hosts."""
    stored, named = picture.hits(STORED_NAME), picture.hits(NODE_NAME, NODE_USED)
    hosts = {exhibit.host for exhibit in picture.exhibits if exhibit.host}
    own = {s.value for s in picture.settings("name", "host")}
    if not stored or not named or len(hosts) != 1 or len(own) != 1 or any(pod.node for pod in picture.agents()):
        return None
    name, host = named[-1].value("name"), own.pop()
    # A host that was renamed keeps its stored name as well: then it is one host with two names.
    if same_host(name, host) or picture.said("hostname-changed") or not same_host(host, hosts.pop()):
        return None
    both = [s for s in picture.said("complains", "cloned-vm") if s.kind == "cloned-vm" or _SEVERAL.search(s.text)]
    why = Words(
        f"calico-node on {host} took the name {name} from {NODENAME_FILE}: another host's name, as on a clone.",
        f"{host} 上的 calico-node 从 {NODENAME_FILE} 取得名字 {name}：这是另一台主机的名字，常见于克隆的机器。",
    )
    mine = picture.settings("name", "host")[:1]
    objects = (name, host, NODENAME_FILE, "NODENAME")
    evidence = (stored[0], named[-1], *mine, *both[:1])
    return found(LIKELY if both else POSSIBLE, why, objects, evidence, name=name, host=host)


def _where(picture: Picture, call: Called) -> str:
    """The host whose own settings these are; what kubectl shows from there is the cluster's."""
    exhibit = exhibit_at(picture, call.source.place) if isinstance(call.source, Setting) else None
    if not call.host or exhibit is None or any(tool in exhibit.command for tool in ("kubectl", "calicoctl", " get ")):
        return ""
    return own_name(picture, call.host)


def _shared_tunnel(picture: Picture) -> list[Interface]:
    seen: dict[str, Interface] = {}
    for link in picture.of(Interface):
        if link.name in TUNNELS and link.host:
            for address in link.addresses:
                other = seen.setdefault(address, link)
                if not same_host(other.host, link.host) and "." in address:
                    return [other._replace(addresses=(address,)), link]
    return []


def _fewer(picture: Picture) -> list[str]:
    """Nodes of Kubernetes that have no record in Calico although its list is shown."""
    recorded = [node.name for node in picture.of(CalicoNode)]
    nodes = [name for name, node in picture.nodes_now().items() if node.status]
    if not recorded or len(nodes) <= len(set(recorded)):
        return []
    return [name for name in nodes if name not in recorded]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    host = finding.value("host", "<the clone>")
    field = '{"name":"NODENAME","value":null,"valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}'
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"calico-node","env":[' + field + "]}]}}}}"
    restart = f"kubectl -n {picture.namespace} delete pod -l k8s-app=calico-node --field-selector spec.nodeName="
    return (
        Step(
            Words("Take every name from Kubernetes", "名字一律取自 Kubernetes"),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(f"On {host} remove the copied name", f"在 {host} 上删除拷贝来的名字"),
            f"rm {NODENAME_FILE}",
            "disruptive",
        ),
        Step(Words("Restart the agent of the clone first", "先重启克隆机的 calico-node"), restart + host, "disruptive"),
        Step(
            Words("then that of the original", "再重启原主机的 calico-node"),
            restart + finding.value("name", "<original>"),
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="duplicate-nodename",
    code="TRT1009",
    severity="high",
    name=Words("two hosts under one name", "两台主机同名"),
    what=Words(
        "Two hosts use one Calico name, by a cloned nodename file or a fixed NODENAME, and share record and blocks.",
        "两台主机使用同一个 Calico 名字（克隆的 nodename 文件或写死的 NODENAME），共用记录与地址块。",
    ),
    explains=(
        "not-ready",
        "bgp-down",
        "bird-not-ready",
        "traffic-dead",
        "others-failing",
        "crash-loop",
        "start-terminated",
    ),
    look_alikes=(
        ("duplicate-node-ip", Words("two names, one address", "名字不同，地址相同")),
        ("nodename-mismatch", Words("one host, two names", "一台主机有两个名字")),
        ("node-ip-changed", Words("one host, a new address", "同一主机换了地址")),
    ),
    signs=(*NAME_SIGNS, CHANGED, NODE_NAME, NODE_BUILT, NODE_USED),
    judge=judge,
    ask=Ask(
        "for h in <nodes>; do ssh $h 'hostname; cat /var/lib/calico/nodename; echo; ip -4 -br a show tunl0'; done",
        Words("a nodename that is another host's", "nodename 是别的主机的名字"),
    ),
    fix=fix,
    verify=(
        Step(Words("As many nodes in both lists", "两份列表节点数一致"), "calicoctl get nodes; kubectl get nodes"),
    ),
    prevent=(Words("Clean /var/lib/calico in VM templates.", "制作模板时清空 /var/lib/calico。"),),
)
