"""TRT1004: the address that Calico has stored for a node is no longer that node's."""

from __future__ import annotations

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
from tortie.doctor.causes.nodes.address_conflicts import ARP_SIGNS, contest
from tortie.doctor.causes.nodes.bgp_addresses import (
    ADDRESS_SIGNS,
    Seen,
    gone_from_host,
    inner_link,
    link_with,
    links_shown,
    near,
    registrations,
)
from tortie.doctor.causes.nodes.bgp_evidence import (
    BIND_FAILED,
    SHARED_SIGNS,
    all_established,
    complaints,
    missing_peers,
    node_at,
    settled,
)
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NOT_ASSIGNED: Final = Sign("trt1004-unconfirmed", "Unable to confirm IPv4 address <ip> is assigned to this host")
CHANGED: Final = Sign("node-address-has-changed", "IPv4 address has changed. This could happen if")
LEASE: Final = Sign("trt1004-new-lease", "new lease, address=<ip>")
LEASED: Final = Sign("trt1004-leased", "DHCPv4 address <cidr>")
ANNOTATION: Final = "projectcalico.org/IPv4Address"
MISSING: Final = Words("the stored address next to the host's interfaces", "存储的地址与主机网卡地址的对照")


def judge(picture: Picture) -> Finding:
    exchanged = contest(picture, "changed")
    if exchanged:
        real = picture.internal_ips().get(exchanged.other, "")
        now_en = f"whose own address is {real} now" if real else "which has another address now"
        why = Words(
            f"{exchanged.address} is still recorded for {exchanged.other}, {now_en}; the new owner cannot start.",
            f"{exchanged.address} 仍记录在 {exchanged.other} 名下，而该节点现在的地址是 {real or '另一个'}；"
            "新的使用者因此无法启动。",
        )
        objects = (exchanged.address, exchanged.other, exchanged.node, real, ANNOTATION)
        return found(
            exchanged.strength, why, objects, (*exchanged.evidence, exchanged.hit),
            node=exchanged.other, address=real, old=exchanged.address,
        )  # fmt: skip
    if settled(picture):
        return all_established(picture) or cannot_tell(MISSING)
    stored = _outdated(picture)
    binds = picture.hits(BIND_FAILED)
    inner = [seen for seen in registrations(picture) if inner_link(seen.interface)]
    traces: list[object] = [*picture.hits(LEASE, LEASED), *picture.said("ip-changed")]
    if stored:
        return _stored(picture, stored, traces)
    kept = [s for s in registrations(picture) if s.node and link_with(picture, s.address, s.node) and s.via != "log"]
    if kept and not binds:
        return ruled_out(Words("the stored address is still on an interface", "存储的地址仍在某个网卡上"), kept[:1])
    if binds:
        node = node_at(picture, binds[0].place, binds[0].host)
        strength = POSSIBLE if inner else STRONG if traces else LIKELY
        why = Words(
            f"BIRD{' on ' + node if node else ''} cannot bind to the address stored for its node: "
            "the host no longer has it.",
            f"{node + ' 上的 ' if node else ''}BIRD 无法绑定为本节点存储的地址：主机上已没有该地址。",
        )
        return found(strength, why, (node, ANNOTATION, *_last_logged(picture)), (*traces, *binds[:2]), node=node)
    unconfirmed = picture.hits(NOT_ASSIGNED)
    if unconfirmed:
        address = unconfirmed[0].value("ip")
        why = Words(f"{address} is not on any interface of the host.", f"主机的任何网卡上都没有 {address}。")
        strength = STRONG if traces or complaints(picture) else LIKELY
        return found(strength, why, (address, "IP"), (*traces, *unconfirmed[:1]), address="", old=address)
    if picture.hits(CHANGED):
        why = Words("A node's address changed between two starts.", "节点地址在两次启动之间发生了变化。")
        strength = LIKELY if traces else POSSIBLE
        return found(strength, why, (ANNOTATION,), (*traces, *picture.hits(CHANGED)[:1]))
    if traces and missing_peers(picture):
        why = Words("The node's address changed, and its sessions are down.", "节点地址变了，BGP 会话未建立。")
        return found(POSSIBLE, why, (ANNOTATION,), traces)
    return cannot_tell(MISSING)


def _outdated(picture: Picture) -> Seen | None:
    """A stored address that its node no longer has; one on another link of the node is another matter."""
    ips = picture.internal_ips()
    last = {seen.node: seen for seen in registrations(picture) if seen.node in ips and seen.via != "log"}
    for node, seen in last.items():
        if seen.address == ips[node] or ":" in seen.address or link_with(picture, seen.address, node):
            continue
        if inner_link(seen.interface):
            continue
        near_home = near(seen.address, ips[node], seen.length or 24)
        if gone_from_host(picture, node, seen.address) or near_home:
            return seen
    return None


def _stored(picture: Picture, seen: Seen, traces: list[object]) -> Finding:
    internal = picture.internal_ips()[seen.node]
    binds = picture.hits(BIND_FAILED)
    shown = [link for link in links_shown(picture, seen.node) if any(a.startswith(internal) for a in link.addresses)]
    strength = PROVEN if shown or binds else LIKELY if traces else POSSIBLE
    why = Words(
        f"Calico still has {seen.address} for {seen.node}, whose address is {internal} now.",
        f"Calico 中 {seen.node} 的地址仍是 {seen.address}，而该节点现在的地址是 {internal}。",
    )
    evidence = (seen, *shown[:1], *traces[:2], *binds[:2], *complaints(picture)[:1])
    objects = (seen.address, internal, seen.node, ANNOTATION)
    return found(strength, why, objects, evidence, node=seen.node, address=internal, old=seen.address)


def _last_logged(picture: Picture) -> list[str]:
    return [seen.address for seen in registrations(picture)][-1:]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node, address = finding.value("node", "<node>"), finding.value("address", "<address>")
    return (
        Step(
            Words("Correct the outdated record", "更正过期的记录"),
            f"kubectl annotate node {node} {ANNOTATION}={address}/<length> --overwrite",
        ),
        Step(
            Words("With the etcd datastore", "使用 etcd 数据存储时"),
            f'calicoctl patch node {node} -p \'{{"spec":{{"bgp":{{"ipv4Address":"{address}/<length>"}}}}}}\'',
        ),
        Step(
            Words(
                "Restart the agent of that node; with a fixed IP in its environment correct that first",
                "重启该节点的 calico-node；若环境变量 IP 写死了旧地址，先改掉",
            ),
            f"kubectl -n {picture.namespace} delete pod -l k8s-app=calico-node --field-selector spec.nodeName={node}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="node-ip-changed",
    code="TRT1004",
    severity="medium",
    name=Words("the node's address has changed", "节点地址已变"),
    what=Words(
        "Calico has stored an address that the node no longer has: a new lease, a restored machine, an exchange.",
        "Calico 中存储的地址已不属于该节点：租约变化、虚拟机恢复、节点互换了地址等。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "start-terminated", "crash-loop", "traffic-dead"),
    look_alikes=(
        (
            "autodetect-wrong-interface",
            Words("the InternalIP is unchanged, and the log names another link", "InternalIP 没变，日志里是另一块网卡"),
        ),
        ("stale-node-entry", Words("the named node no longer exists", "被点名的节点已不存在")),
        ("duplicate-node-ip", Words("both hosts have the address now", "两台主机现在都有该地址")),
    ),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS, *ARP_SIGNS, NOT_ASSIGNED, CHANGED, LEASE, LEASED),
    judge=judge,
    ask=Ask(
        "ip -br -4 addr",
        Words(
            "on the node, next to its annotation and InternalIP: a stored address on no link is outdated",
            "在该节点上执行，与注解和 InternalIP 对照：不在任何网卡上的存储地址就是过期地址",
        ),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It is the node's address", "应为节点当前地址"),
            "kubectl get node <node> -o jsonpath='{.metadata.annotations.projectcalico\\.org/IPv4Address}'",
        ),
        Step(Words("All sessions are Established", "所有会话为 Established"), "calicoctl node status"),
    ),
    prevent=(
        Words("Reserve the nodes' leases, or give them static addresses.", "为节点保留 DHCP 租约，或使用静态地址。"),
        Words("Choose addresses by network, not by a fixed value.", "按网段探测地址，不要写死。"),
    ),
    yields_to=("duplicate-node-ip",),
)
