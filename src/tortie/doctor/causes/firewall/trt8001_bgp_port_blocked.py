"""TRT8001: a firewall between nodes drops or rejects TCP 179."""

from __future__ import annotations

from collections.abc import Sequence
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
    MD5_BIRD,
    MD5_KERNEL,
    MD5_ROUTER,
    SHARED_SIGNS,
    all_established,
    answers,
    complaints,
    filtered,
    is_lost,
    is_ready,
    listed,
    md5_counted,
    missing_peers,
    node_of,
    port_tests,
    settled,
    silent,
)
from tortie.doctor.causes.nodes.bgp_firewall import FIREWALL_SIGNS, closed
from tortie.doctor.causes.nodes.wrong_addresses import suspects
from tortie.doctor.picture.facts import Listener, PortTest, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit
from tortie.doctor.words import Words

OPENING: Final = {
    "firewalld": "firewall-cmd --add-port=179/tcp && firewall-cmd --permanent --add-port=179/tcp",
    "ufw": "ufw allow from <node network> to any port 179 proto tcp",
    "firewall": "iptables -I INPUT -s <node network> -p tcp --dport 179 -j ACCEPT  # and in the host's rules file",
}
MISSING: Final = Words("a test of port 179 between the nodes", "节点之间 179 端口的连通性测试")
FAILED: Final = ("timeout", "unreachable", "closed")


def judge(picture: Picture) -> Finding:
    if settled(picture):
        return all_established(picture) or cannot_tell(MISSING)
    tests = port_tests(picture)
    failed = [test for test in tests if test.result in FAILED]
    opened = [test for test in tests if test.result == "open"]
    said_open, said_blocked = (
        picture.said("port-179-open"),
        picture.said("ping-works-port-179-not", "firewall-blocks-179"),
    )
    rules = closed(picture)
    if not failed and (opened or said_open):
        return ruled_out(Words("TCP 179 connects", "TCP 179 可以连通"), (*opened, *said_open))
    refused = [test for test in tests if test.result == "refused"]
    if refused and not failed:
        return ruled_out(
            Words(
                "179 is refused: the host answers, nothing listens there", "179 被拒绝：主机有应答，只是没有进程监听"
            ),
            refused,
        )
    wrong = next((s for s in suspects(picture) if s.strength >= STRONG), None)
    if wrong and not failed and not rules:
        what_en = wrong.address or f"the address registered for {wrong.node}"
        what_zh = f"地址 {wrong.address} " if wrong.address else f"节点 {wrong.node} 注册的地址"
        return ruled_out(
            Words(f"{what_en} is wrong; the port is not the matter", f"是{what_zh}不对，不是端口"), wrong.evidence
        )
    if failed:
        return _tested(picture, failed, rules)
    return _untested(picture, rules, said_blocked)


def _tested(picture: Picture, failed: list[PortTest], rules: Sequence[object]) -> Finding:
    addresses = [test.address for test in failed]
    alive = [item for address in dict.fromkeys(addresses) for item in answers(picture, address)]
    dead = [item for address in dict.fromkeys(addresses) for item in silent(picture, address)]
    if dead and not alive:
        return ruled_out(
            Words("ping to the peer fails too: the machine is away", "对端连 ping 都不通：机器不在线"), dead
        )
    listeners = [fact for fact in picture.of(Listener) if fact.port == 179]
    md5 = [*picture.hits(MD5_KERNEL, MD5_BIRD, MD5_ROUTER), *md5_counted(picture)]
    if md5:
        strength = POSSIBLE  # an unsigned test from a configured peer is dropped as well
    elif alive or rules:
        strength = PROVEN
    else:
        strength = STRONG if listeners or picture.said("ping-works", "ping-works-port-179-not") else LIKELY
    where = listed(addresses)
    why = Words(
        f"TCP 179 to {where} fails ({failed[0].result}) although the peer is there; BGP cannot connect.",
        f"到 {where} 的 TCP 179 不通（{failed[0].result}），而对端主机在线；BGP 无法建立连接。",
    )
    evidence = (*rules[:2], *failed[:2], *alive[:2], *listeners[:1], *missing_peers(picture)[:2])
    return found(strength, why, _objects(picture, addresses, rules), evidence, peer=addresses[0], filter=_filter(rules))


def _untested(picture: Picture, rules: Sequence[object], said: Sequence[object]) -> Finding:
    peers = [peer for peer in missing_peers(picture) if filtered(peer.info)]
    addresses = [peer.address for peer in peers]
    if rules and (peers or missing_peers(picture)):
        why = Words(
            "The firewall shown does not let TCP 179 in, and sessions are down.",
            "所示防火墙没有放行 TCP 179，BGP 会话因此无法建立。",
        )
        return found(STRONG, why, _objects(picture, addresses, rules), (*rules[:3], *peers[:2]), filter=_filter(rules))
    if said and (peers or missing_peers(picture)):
        why = Words("TCP 179 does not get through although ping does.", "能 ping 通，但 TCP 179 不通。")
        return found(STRONG, why, _objects(picture, addresses, rules), (*said, *peers[:2]))
    if not peers:
        hidden = [s for s in picture.sessions_down() if filtered(s.info)]
        if hidden or complaints(picture):
            why = Words(
                "Sessions are down; a blocked port 179 is one of the reasons that fit.",
                "BGP 会话未建立；179 端口被拦截只是可能原因之一。",
            )
            return found(POSSIBLE if hidden else HINT, why, ("179",), (*hidden[:2], *complaints(picture)[:2]))
        return cannot_tell(MISSING)
    alive = [item for address in dict.fromkeys(addresses) for item in answers(picture, address)]
    dead = [item for address in dict.fromkeys(addresses) for item in silent(picture, address)]
    owners = [node_of(picture, picture.owner_of(address)) for address in addresses]
    if (dead and not alive) or (owners and all(is_lost(owner) for owner in owners)):
        return ruled_out(Words("the peer itself is away", "对端机器本身不在线"), (*dead, *peers[:1]))
    known = all(picture.owner_of(address) for address in addresses)
    up = alive or picture.said("ping-works") or (owners and all(is_ready(owner) for owner in owners))
    strength = LIKELY if known and up else POSSIBLE
    why = Words(
        f"The registered addresses are right, yet connecting to {listed(addresses)} fails: {peers[0].info}.",
        f"注册地址没有问题，但连接 {listed(addresses)} 失败：{peers[0].info}。",
    )
    return found(strength, why, _objects(picture, addresses, rules), (*peers[:3], *alive[:2]), peer=addresses[0])


def _filter(rules: Sequence[object]) -> str:
    return next((rule.scope for rule in rules if isinstance(rule, Setting)), "firewall" if rules else "")


def _objects(picture: Picture, addresses: list[str], rules: Sequence[object]) -> tuple[str, ...]:
    hosts = [rule.host for rule in rules if isinstance(rule, Hit | Setting)]
    scopes = [rule.scope for rule in rules if isinstance(rule, Setting)]
    services = [unit.name for unit in picture.of(Unit) if unit.name.startswith("firewalld") and unit.active == "active"]
    return ("179", "tcp/179", *dict.fromkeys(addresses), *scopes, *services, *hosts)


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    peer = finding.value("peer", "<peer>")
    host = Step(
        Words("Open the port on every node, now and for later boots", "在每个节点上放行该端口，并持久化"),
        OPENING.get(finding.value("filter"), OPENING["firewalld"]),
    )
    cloud = Step(
        Words(
            "In a cloud: allow tcp/179 between the nodes in their security group",
            "云环境：在安全组中放行节点之间的 tcp/179",
        )
    )
    return (
        *((cloud, host) if finding.value("filter") == "security-group" else (host, cloud)),
        Step(Words("Try the port again from the dialling side", "从主动连接的一侧再测端口"), f"nc -vz -w3 {peer} 179"),
    )


CAUSE = Cause(
    id="bgp-port-blocked",
    code="TRT8001",
    severity="high",
    name=Words("BGP port 179 is blocked", "BGP 端口 179 被拦截"),
    what=Words(
        "A host firewall or security group drops or rejects TCP 179 between nodes.",
        "主机防火墙或安全组丢弃或拒绝了节点之间的 TCP 179。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing", "service-dead"),
    look_alikes=(
        (
            "autodetect-wrong-interface",
            Words("a registered address is nobody's InternalIP", "注册地址不是任何节点的 InternalIP"),
        ),
        ("peer-node-down", Words("ping and 10250 fail too", "ping 与 10250 同样不通")),
        ("bgp-filtered-in-path", Words("TCP connects, the session stops at OpenSent", "TCP 能连上，会话停在 OpenSent")),
        ("bgp-auth-mismatch", Words("the kernel log speaks of MD5", "内核日志里有 MD5 报错")),
        ("port-179-conflict", Words("the state is down, not start", "状态是 down 而不是 start")),
        ("leftover-iptables", Words("the rule is a relic of another CNI", "规则是其他 CNI 的残留")),
    ),
    yields_to=("cidr-overlap",),  # a node that throws away what goes to its neighbours cannot reach their port either
    signs=(*SHARED_SIGNS, *FIREWALL_SIGNS),
    judge=judge,
    ask=Ask(
        "ping -c2 <peer>; nc -vz -w3 <peer> 10250; nc -vz -w3 <peer> 179",
        Words(
            "run it on the side that is not Passive: only 179 failing means a filter",
            "在非 Passive 的一侧执行：只有 179 不通即被拦截",
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("The port opens", "端口可连通"), "nc -vz -w3 <peer> 179"),
        Step(Words("All sessions are Established", "所有会话为 Established"), "calicoctl node status"),
    ),
    prevent=(
        Words("Keep firewall rules as code, and reboot a node to test them.", "防火墙规则代码化，并用重启节点验证。"),
    ),
)
