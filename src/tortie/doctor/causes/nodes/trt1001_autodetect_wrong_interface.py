"""TRT1001: a node registered an address of a link that other nodes cannot reach it by."""

from __future__ import annotations

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
from tortie.doctor.causes.nodes.address_chain import chain, sessions_stand_on
from tortie.doctor.causes.nodes.address_replay import remark
from tortie.doctor.causes.nodes.bgp_addresses import (
    ADDRESS_SIGNS,
    inner_link,
    link_with,
    registrations,
)
from tortie.doctor.causes.nodes.bgp_evidence import (
    SHARED_SIGNS,
    all_established,
    complaints,
    conflicts,
    is_lost,
    missing_peers,
    node_of,
    settled,
    trouble,
)
from tortie.doctor.causes.nodes.wrong_addresses import Suspect, suspects
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

INTERNAL_IP_SINCE, CIDR_SINCE = (3, 22), (3, 16)
COMPARE = (
    "kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[0].address,"
    "CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'"
)


def judge(picture: Picture) -> Finding:
    grounds = suspects(picture)
    if not grounds:
        return _without_suspect(picture)
    if (standing := sessions_stand_on(picture, grounds)) and not conflicts(picture):
        return ruled_out(
            Words(
                "the sessions on exactly the registered addresses are established",
                "以这些注册地址建立的会话均为 Established",
            ),
            (*(item for one in grounds[:3] for item in one.evidence[:1]), *standing[:3]),
        )
    best = grounds[0]
    strongest = [other for other in grounds if other.strength == best.strength]
    # Of equally strong grounds the one that can name the address comes first.
    best = next((other for other in strongest if other.address and other.node), None) or next(
        (other for other in strongest if other.address), best
    )
    whole = _completed(picture, best, grounds)
    strength = best.strength
    kinds = {other.ground for other in grounds if other.strength >= LIKELY and _agrees(other, whole)}
    if strength >= STRONG and len(kinds) > 1:
        strength = PROVEN
    aside = _without_effect(picture, whole)
    if settled(picture) and not conflicts(picture):
        if picture.sessions() or strength < STRONG:
            strength, aside = min(strength, POSSIBLE), True
        else:
            strength = min(strength, LIKELY)
    evidence = [item for other in (best, *grounds) if _agrees(other, whole) for item in other.evidence]
    evidence += [peer for peer in missing_peers(picture) if peer.address == whole.address]
    evidence += conflicts(picture)[:1]
    evidence = chain(picture, evidence, whole.node, whole.internal)
    likewise = [name for other in grounds if other.strength >= STRONG for name in (other.address, other.node)]
    named = (whole.address, whole.interface, whole.node, whole.internal, *likewise[:8], "IP_AUTODETECTION_METHOD")
    objects = tuple(dict.fromkeys(name for name in named if name))
    values = {"address": whole.address, "interface": whole.interface, "node": whole.node, "internal": whole.internal}
    why = _why(whole, remark(picture, whole.interface), felt=strength >= LIKELY and not aside)
    return found(strength, why, objects, evidence, aside=aside, **values)


def _without_suspect(picture: Picture) -> Finding:
    ips = picture.internal_ips()
    registered = {seen.node: seen for seen in registrations(picture) if seen.node in ips}
    right = {node: seen for node, seen in registered.items() if seen.address == ips[node]}
    speakers = {complaint.node for complaint in complaints(picture)} - {""}
    peers = {peer.address for peer in missing_peers(picture)}
    if right and len(right) == len(registered) and speakers <= set(right) and peers <= set(ips.values()):
        return ruled_out(
            Words("every registered address shown is its node's InternalIP", "所列的注册地址都等于各节点的 InternalIP"),
            right.values(),
        )
    views = {peer.seen_from for peer in missing_peers(picture)} - {""}
    if len(views) > 1 and peers and peers <= set(ips.values()):
        return ruled_out(
            Words(
                "seen from several nodes, every missing peer is some node's InternalIP",
                "从多个节点看，未建立会话的对端都是某个节点的 InternalIP",
            ),
            missing_peers(picture)[:3],
        )
    return all_established(picture) or cannot_tell(
        Words(
            "which address each node registered, next to its InternalIP",
            "各节点注册到 Calico 的地址与其 InternalIP 的对照",
        )
    )


def _agrees(one: Suspect, other: Suspect) -> bool:
    if one.address and other.address and one.address != other.address:
        return False
    return not (one.node and other.node and one.node != other.node) or one.address == other.address != ""


def _completed(picture: Picture, best: Suspect, grounds: list[Suspect]) -> Suspect:
    """The best ground, with what the others know of the same fault."""
    for other in grounds:
        if _agrees(best, other):
            best = best._replace(
                address=best.address or other.address,
                interface=best.interface or other.interface,
                node=best.node or other.node,
                internal=best.internal or other.internal,
            )
    link = link_with(picture, best.address, best.node) if best.address else None
    if link and not best.interface:
        best = best._replace(interface=link.name)
    if best.node and not best.internal:
        best = best._replace(internal=picture.internal_ips().get(best.node, ""))
    return best


def _without_effect(picture: Picture, whole: Suspect) -> bool:
    """A node whose kubelet is dead may well have a wrong address; nobody suffers from that now."""
    named = any(peer.address == whole.address for peer in missing_peers(picture))
    harmed = named or trouble(picture) or bool(conflicts(picture))
    return is_lost(node_of(picture, whole.node)) and not harmed


def _why(whole: Suspect, method: Words, *, felt: bool) -> Words:
    who_en, who_zh = (whole.node, f"{whole.node} ") if whole.node else ("A node", "某个节点")
    what = whole.address or "an address other than its own"
    what_zh = whole.address or "其他地址"
    on_en = f" on {whole.interface}" if whole.interface else ""
    on_zh = f"（网卡 {whole.interface}）" if whole.interface else ""
    if whole.internal and whole.internal != whole.address and not felt:
        rest_en = f"its InternalIP is {whole.internal}. Nothing shown suffers from that now."
        rest_zh = f"其 InternalIP 为 {whole.internal}。目前未见因此受影响的迹象。"
    elif whole.internal and whole.internal != whole.address:
        rest_en = f"its InternalIP is {whole.internal}, so its peers look for it at the wrong place."
        rest_zh = f"其 InternalIP 为 {whole.internal}，对端因此找错了地方。"
    elif inner_link(whole.interface):
        rest_en = "that link is made by software on the host and leads to no other node."
        rest_zh = "该网卡由本机软件创建，通不到其他节点。"
    else:
        rest_en, rest_zh = "no node has that as its InternalIP.", "没有任何节点的 InternalIP 是它。"
    verb_en, verb_zh = ("would choose", "会选择") if whole.ground == "replay" else ("registered", "注册了")
    return Words(
        f"{who_en} {verb_en} {what}{on_en}; {rest_en}{method.en}",
        f"{who_zh}{verb_zh} {what_zh}{on_zh}；{rest_zh}{method.zh}",
    )


def method_for(picture: Picture, internal: str = "", interface: str = "") -> str:
    """A method that this release knows and that takes the right link on every node."""
    version = picture.version("calico")
    if version and version >= INTERNAL_IP_SINCE:
        return "kubernetes-internal-ip"
    ips = [internal, *picture.internal_ips().values()]
    nets = {ip.rpartition(".")[0] + ".0/24" for ip in ips if ip.count(".") == 3}
    if version and version >= CIDR_SINCE and nets:
        return f"cidr={','.join(sorted(nets))}"
    good = next((link.name for ip in ips if ip and (link := link_with(picture, ip))), "")
    if good:
        return f"interface=^{good}$"
    if inner_link(interface):
        prefix = "br-" if interface.startswith("br-") else interface.rstrip("0123456789")
        return "skip-interface=" + ",".join(dict.fromkeys((f"{prefix}.*", "docker.*")))
    return "interface=<uplink>" if version else "kubernetes-internal-ip"


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    method = method_for(picture, finding.value("internal"), finding.value("interface"))
    known = picture.version("calico") or method != "kubernetes-internal-ip"
    note_en = "" if known else " (before v3.22: cidr=<node network>; before v3.16: interface=<uplink>)"
    note_zh = "" if known else "（v3.22 之前用 cidr=<节点网段>，v3.16 之前用 interface=<网卡>）"
    operator = picture.namespace == "calico-system"
    key, _, value = method.partition("=")
    field = {
        "kubernetes-internal-ip": '{"kubernetes":"NodeInternalIP"}',
        "cidr": '{{"cidrs":["{}"]}}'.format(value.replace(",", '","')),
        "interface": f'{{"interface":"{value}"}}',
        "skip-interface": f'{{"skipInterface":"{value}"}}',
    }[key]
    patch = f'{{"spec":{{"calicoNetwork":{{"nodeAddressAutodetectionV4":{field}}}}}}}'
    command = (
        f"kubectl patch installation default --type=merge -p '{patch}'"
        if operator
        else f"kubectl -n {picture.namespace} set env ds/calico-node 'IP_AUTODETECTION_METHOD={method}'"
    )
    interface = finding.value("interface")
    steps = [
        Step(
            Words(
                "Pin the way addresses are chosen; the agents restart one after another" + note_en,
                "固定地址探测方法，calico-node 会逐个滚动重启" + note_zh,
            ),
            command,
            "disruptive",
        ),
        Step(Words("Compare what the nodes have registered", "对照各节点注册的地址"), COMPARE),
    ]
    if finding.aside:
        steps.reverse()  # nobody suffers from it: look first, and restart nothing for it
    if interface.startswith("br-"):
        steps.append(
            Step(
                Words(
                    f"If no container uses the docker network behind {interface}, remove it",
                    f"若没有容器使用 {interface} 对应的 docker 网络，可将其删除",
                ),
                f"docker network inspect {interface.removeprefix('br-')}",
            )
        )
    return tuple(steps)


CAUSE = Cause(
    id="autodetect-wrong-interface",
    code="TRT1001",
    severity="high",
    name=Words("address of the wrong interface", "网卡选错"),
    what=Words(
        "A node registered the address of a link that the other nodes cannot reach: a docker or libvirt bridge, a NAT "
        "or host-only NIC, a VPN, a second NIC.",
        "节点注册了其他节点到不了的网卡地址：docker/libvirt 网桥、NAT 或 host-only 网卡、VPN、第二块网卡等。",
    ),
    explains=(
        "bgp-down",
        "bird-not-ready",
        "not-ready",
        "traffic-dead",
        "others-failing",
        "service-dead",
        "crash-loop",
    ),
    look_alikes=(
        ("bgp-port-blocked", Words("addresses are right, port 179 fails", "地址都对，是 179 端口不通")),
        ("duplicate-node-ip", Words("the contested address is the right one", "争用的地址本身就是正确地址")),
        ("stale-node-entry", Words("the named owner no longer exists", "占用地址的节点已不存在")),
        ("node-ip-changed", Words("the InternalIP itself changed", "InternalIP 本身变了")),
        ("no-ip-found", Words("start-up ends without any address", "启动时一个地址都没找到")),
    ),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS),
    judge=judge,
    ask=Ask(
        COMPARE,
        Words(
            "a node whose two addresses differ registered the wrong one",
            "两列不同的节点就是注册错地址的节点",
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("Both columns agree", "两列一致"), COMPARE),
        Step(Words("All sessions are Established", "所有会话为 Established"), "calicoctl node status"),
    ),
    prevent=(
        Words(
            "Pin IP_AUTODETECTION_METHOD before anyone adds NICs, docker networks or VPNs.",
            "在增加网卡、docker 网络或 VPN 之前固定 IP_AUTODETECTION_METHOD。",
        ),
        Words(
            "Alarm when projectcalico.org/IPv4Address is not the InternalIP.",
            "projectcalico.org/IPv4Address 与 InternalIP 不一致时告警。",
        ),
    ),
    yields_to=("node-ip-changed",),
)
