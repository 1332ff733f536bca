"""TRT8003: TCP 5473 between nodes is filtered while Typha runs."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_evidence import TYPHA_PORT, VIP_SIGNS
from tortie.doctor.causes.datastore.api_trust import AFTER, EXPIRED, refusals
from tortie.doctor.causes.datastore.trt2013_typha_unavailable import CONNECT, typha_troubles, typhas, typhas_ready
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
from tortie.doctor.picture.facts import Listener, Pod, PortTest
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

FOUND_READY = Sign("trt8003-found-ready", "Found ready Typha addresses")
ALL_FAILED = Sign("trt8003-all-failed", "connection to typhas")
DROPPED = ("timeout", "no-route", "closed")


def local_only(picture: Picture) -> bool:
    """Ready agents are exactly those with a Typha on their node."""
    homes = {pod.node for pod in typhas_ready(picture) if pod.node}
    agents = [pod for pod in picture.agents_now() if pod.node]
    good, bad = {p.node for p in agents if p.all_ready}, {p.node for p in agents if not p.all_ready}
    return bool(homes and bad) and not homes & bad and good <= homes


def judge(picture: Picture) -> Finding:
    failing = typha_troubles(picture)
    dropped = [t for t in failing if t.how in DROPPED]
    expired = [r for r in refusals(picture, AFTER, EXPIRED) if r.server == "typha"]
    pods, ready = typhas(picture), typhas_ready(picture)
    if expired:
        return ruled_out(
            Words("the connection is made; the certificate has expired", "能建立连接，是证书过期"), (expired[0].hit,)
        )
    if pods and not ready:
        return ruled_out(Words("no Typha is ready", "没有就绪的 Typha"), pods[:2])
    agents = picture.agents_now()
    if agents and all(pod.all_ready for pod in agents):
        return ruled_out(Words("every agent is ready", "所有 calico-node 均已就绪"), agents[:2])
    open_ = [t for t in picture.of(PortTest) if t.port == TYPHA_PORT and t.result == "open"]
    if not dropped and not local_only(picture):
        if failing or open_:
            return ruled_out(
                Words("5473 is not filtered: it connects or is refused", "5473 未被过滤：能连接或被拒绝"),
                (*failing[:1], *open_[:1]),
            )
        return cannot_tell(Words("no attempt to reach 5473 of another node is shown", "没有访问其他节点 5473 的结果"))
    if not dropped and not picture.hits(CONNECT, ALL_FAILED):
        why = Words("only nodes with a local Typha are ready", "只有运行 Typha 的节点就绪")
        return found(LIKELY, why, ("5473", *(p.name for p in ready)), (*ready[:2], *_sick(picture)))
    tested = [t for t in dropped if t.tried]
    addresses = {t.address for t in dropped}
    others = [t for t in picture.of(PortTest) if t.address in addresses and t.port != TYPHA_PORT and t.result == "open"]
    listening = [s for s in picture.of(Listener) if s.port == TYPHA_PORT]
    claims = picture.hits(FOUND_READY)
    alone = local_only(picture)
    if (ready or listening) and ((tested and others) or alone):
        strength = PROVEN
    elif ready or listening or alone or (tested and others):
        strength = STRONG
    else:
        strength = LIKELY if claims else POSSIBLE
    where = ", ".join(dict.fromkeys(f"{t.address}:{t.port}" for t in dropped)) or "5473"
    tail = " Only nodes with a local Typha are ready." if alone else ""
    tail_zh = " 只有运行 Typha 的节点就绪。" if alone else ""
    why = Words(
        f"Typha runs, but {where} cannot be reached from other nodes.{tail}",
        f"Typha 在运行，但其他节点无法访问 {where}。{tail_zh}",
    )
    if strength < LIKELY:
        why = Words(
            f"{where} does not answer; whether a Typha is ready there is not shown",
            f"{where} 无响应；没有该处 Typha 是否就绪的信息",
        )
    objects = (
        "5473",
        *(f"{a}:5473" for a in sorted(addresses)),
        *sorted(addresses),
        *(p.name for p in ready),
        *(p.node for p in ready),
    )
    evidence = (*tested[:1], *others[:1], *listening[:1], *ready[:2], *claims[:1], *dropped[:2], *_sick(picture))
    return found(strength, why, objects, evidence)


def _sick(picture: Picture) -> list[Pod]:
    return [pod for pod in picture.agents_now() if not pod.all_ready][:2]


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("On a node with Typha: see what the firewall lets in", "在运行 Typha 的节点上查看防火墙"),
            "firewall-cmd --list-all; nft list ruleset | grep -n -e 5473 -e drop -e reject",
        ),
        Step(
            Words("Open 5473/tcp between all nodes, and keep it", "在所有节点之间放行 5473/tcp 并持久化"),
            "firewall-cmd --add-port=5473/tcp && firewall-cmd --permanent --add-port=5473/tcp",
        ),
        Step(
            Words(
                "In a cloud: a rule tcp/5473 node to node in the security group",
                "云环境：在安全组中添加节点间 tcp/5473 规则",
            ),
            "",
        ),
    )


CAUSE = Cause(
    id="typha-port-blocked",
    code="TRT8003",
    severity="high",
    name=Words("Typha port 5473 blocked", "Typha 端口 5473 被拦截"),
    what=Words(
        "TCP 5473 between nodes is filtered while Typha runs; only nodes that host a Typha become ready.",
        "Typha 在运行，但节点间的 TCP 5473 被过滤；只有运行 Typha 的节点就绪。",
    ),
    explains=("felix-not-ready", "typha-down", "not-ready", "crash-loop", "restarts"),
    look_alikes=(
        ("typha-unavailable", Words("no Typha is ready", "没有就绪的 Typha")),
        ("typha-cert-expired", Words("x509 in the line", "行中有 x509")),
        ("kube-proxy-down", Words("the failing URL is the API's service address", "失败的 URL 是 API 服务地址")),
    ),
    signs=(*VIP_SIGNS, FOUND_READY, ALL_FAILED, CONNECT, AFTER, EXPIRED),
    judge=judge,
    ask=Ask(
        "kubectl -n <ns> get pod -o wide | grep -e calico-node -e typha; nc -vz -w3 <typha node> 5473",
        Words("Typha ready and the port closed prove it", "Typha 就绪而端口不通即可证实"),
    ),
    fix=fix,
    verify=(Step(Words("The port is open from every node", "每个节点都能连上该端口"), "nc -vz -w3 <typha node> 5473"),),
    prevent=(Words("Put 5473/tcp into the firewall template of the nodes.", "在节点防火墙模板中加入 5473/tcp。"),),
)
