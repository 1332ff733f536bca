"""TRT1015: a peer's machine is off or cut off, and healthy nodes complain about it."""

from __future__ import annotations

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
from tortie.doctor.causes.nodes.bgp_evidence import (
    SHARED_SIGNS,
    Peer,
    all_established,
    answers,
    filtered,
    is_lost,
    is_ready,
    listed,
    missing_peers,
    node_called,
    node_of,
    port_tests,
    same_host,
    silent,
)
from tortie.doctor.causes.nodes.node_names import drain
from tortie.doctor.causes.nodes.wrong_addresses import suspects
from tortie.doctor.picture.facts import Session, Statement, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

NO_LOGIN: Final = "ssh: connect to host "  # somebody tried, and nothing was heard
NO_NEIGHBOUR: Final = ("FAILED", "INCOMPLETE", "(incomplete)")


def judge(picture: Picture) -> Finding:
    # Sessions of the nodes that are left say nothing about one that Kubernetes has lost.
    lost = any(is_lost(node) for node in picture.nodes_now().values())
    standing = None if lost else all_established(picture)
    if standing:
        return standing
    peers = missing_peers(picture)
    # Sessions stay as they are until their hold time is over: a node that Kubernetes has lost is looked at as well.
    lost_ips = [_ip(picture, name) for name, node in picture.nodes_now().items() if is_lost(node)]
    gone = [ip for ip in lost_ips if ip and silent(picture, ip)]
    if not peers and not gone:
        return cannot_tell(
            Words("which peer the nodes miss, and whether it answers", "节点缺少哪个对端，以及它是否应答")
        )
    wrong = {s.address for s in suspects(picture) if s.strength >= LIKELY and s.address}
    for address in dict.fromkeys([*(peer.address for peer in peers), *gone]):
        if address in wrong:
            continue
        verdict = _machine(picture, address, [peer for peer in peers if peer.address == address])
        if verdict:
            return verdict
    if not peers:
        return cannot_tell(Words("whether the lost node answers ping", "失联的节点能否 ping 通"))
    alive = [item for peer in peers for item in answers(picture, peer.address)]
    alive += [test for test in port_tests(picture) if test.result in ("open", "refused")]
    up = [p for p in peers if is_ready(node_of(picture, picture.owner_of(p.address)))]
    if alive or (up and len(up) == len(peers)):
        return ruled_out(Words("the missing peers' machines are up", "缺失的对端机器都在线"), (*alive[:2], *up[:2]))
    if wrong:
        return ruled_out(Words("the missing peer has a wrong address", "缺失的对端注册了错误的地址"))
    names = {peer.address for peer in peers}
    if len(names) == 1 and len({peer.seen_from for peer in peers if peer.seen_from}) > 1:
        address = peers[0].address
        why = Words(
            f"Several nodes miss the same single peer {address}; its machine may be off.",
            f"多个节点都只缺同一个对端 {address}，该机器可能已宕机。",
        )
        return found(POSSIBLE, why, (address,), peers[:3], address=address)
    if any(filtered(peer.info) for peer in peers):
        why = Words("Peers cannot be reached; whether they are up is not shown.", "对端连不上；它们是否在线尚无证据。")
        return found(HINT, why, sorted(names)[:3], peers[:2])
    return cannot_tell(Words("whether the missing peer answers ping", "缺失的对端能否 ping 通"))


def _only_recorded(picture: Picture, address: str) -> bool:
    """Kubernetes shows its nodes, and none has this address."""
    ips = picture.internal_ips().values()
    return len(ips) > 1 and address not in ips


def _ip(picture: Picture, name: str) -> str:
    return picture.internal_ips().get(name, "")


def _machine(picture: Picture, address: str, peers: list[Peer]) -> Finding | None:
    """What is known of the machine behind a missing peer; None when it is up or nothing is known."""
    name = picture.owner_of(address)
    node = node_of(picture, name)
    neighbours = _unresolved(picture, address)
    dead: list[object] = [*silent(picture, address), *neighbours]
    said = _told(picture, name, address, lost=is_lost(node))
    if answers(picture, address) or _spoke(picture, name):
        return None
    if not dead and not (is_lost(node) or (said and node is None)):
        return None
    if is_lost(node) and dead:
        strength = PROVEN
    elif is_lost(node) and said:
        strength = STRONG
    elif is_lost(node):
        # The API alone cannot tell a dead machine from a dead kubelet; sockets that nobody answers can.
        strength = LIKELY if any(filtered(peer.info) for peer in peers) else POSSIBLE
    elif said and dead:
        strength = STRONG
    else:
        strength = LIKELY if neighbours or said else POSSIBLE
    if is_ready(node) or (node is None and not said and _only_recorded(picture, address)):
        strength = min(strength, POSSIBLE)  # it is up, or it is only a record: Kubernetes has no such node any more
    who = name or address
    speakers = [peer.seen_from for peer in peers if peer.seen_from]
    why = Words(
        f"{who} ({address}) does not answer; {listed(speakers) or 'the others'} only miss this peer.",
        f"{who}（{address}）没有应答；{listed(speakers) or '其他节点'} 缺的只是这个对端。",
    )
    evidence = (node, *dead[:3], *said[:1], *peers[:2])
    return found(strength, why, (who, address, name), evidence, address=address, node=name)


def _told(picture: Picture, name: str, address: str, *, lost: bool) -> list[Statement]:
    """What people say of this machine; a sentence that names no machine counts when Kubernetes lost this one too."""
    kinds = ("machine-off",) if picture.said("ping-works", "ping-works-port-179-not") else ("machine-off", "ping-fails")
    return [s for s in picture.said(*kinds) if lost or address in s.text or (name and name in s.text)]


def _unresolved(picture: Picture, address: str) -> list[object]:
    """Rows of a neighbour table that have no hardware address for this one."""
    tables = [*picture.commands("neigh"), *picture.commands("arp")]
    return [
        table.place(index)
        for table in tables
        for index, line in enumerate(table.lines)
        if address in line.replace("(", " ").replace(")", " ").split() and any(word in line for word in NO_NEIGHBOUR)
    ]


def _spoke(picture: Picture, name: str) -> bool:
    """Somebody was logged in there, or the node itself showed something: the machine is up."""
    if not name:
        return False
    hosts = {
        exhibit.host
        for exhibit in picture.exhibits
        if exhibit.host and exhibit.command and not any(line.startswith(NO_LOGIN) for line in exhibit.lines)
    }
    hosts |= {unit.host for unit in picture.of(Unit) if unit.host}
    hosts |= {session.host for session in picture.of(Session) if session.host}
    return any(same_host(host, name) and node_called(picture, host) == name for host in hosts)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node, address = finding.value("node", "<node>"), finding.value("address", "<address>")
    steps = [
        Step(
            Words("See whether the machine answers", "查看机器是否应答"), f"ping -c2 {address}; ip neigh show {address}"
        ),
        Step(Words("Bring the machine or its network back", "恢复该机器或其网络")),
        Step(
            Words("If it will not come back, take it out of the cluster", "若不再恢复，将其移出集群"),
            f"{drain(picture, node)}; kubectl delete node {node}",
            "disruptive",
        ),
        Step(
            Words("Leave the complaining agents alone: they are healthy", "不要动报错的 calico-node，它们本身没有问题")
        ),
    ]
    version = picture.version("calico")
    if version and version < (3, 7):
        steps.append(
            Step(
                Words(
                    "Upgrade Calico: later releases stay ready with one established peer",
                    "升级 Calico：较新版本只要有一个会话建立即保持就绪",
                ),
                risk="disruptive",
            )
        )
    return tuple(steps)


CAUSE = Cause(
    id="peer-node-down",
    code="TRT1015",
    severity="low",
    name=Words("a peer's machine is down", "对端节点宕机"),
    what=Words(
        "Another machine is off or cut off; nodes that want a session with it report that it is missing.",
        "另一台机器宕机或断网，需要与它建立会话的节点都报缺少该对端。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "node-not-ready", "status-stale"),
    look_alikes=(
        ("bgp-port-blocked", Words("the machine answers ping and 10250", "机器能 ping 通，10250 可达")),
        ("kubelet-swap-on", Words("the machine is up, its kubelet is not", "机器在线，只是 kubelet 没起来")),
        ("kubelet-not-running", Words("the machine is up, its kubelet is not", "机器在线，只是 kubelet 没起来")),
        (
            "autodetect-wrong-interface",
            Words("the peer's address is nobody's InternalIP", "对端地址不是任何节点的 InternalIP"),
        ),
    ),
    signs=SHARED_SIGNS,
    judge=judge,
    ask=Ask(
        "ping -c2 <peer>; ip neigh show <peer>; kubectl get node",
        Words("no answer and FAILED mean that the machine is away", "无应答且为 FAILED 说明机器不在线"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The peer is Established or gone from the list", "该对端已建立会话或已移除"), "calicoctl node status"
        ),
    ),
    prevent=(
        Words("Monitor machines, and delete dead nodes from the cluster.", "监控机器，及时把死掉的节点移出集群。"),
    ),
)
