"""TRT8006: rules of an earlier network plugin or script still drop or rewrite packets."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
from tortie.doctor.causes.underlay.traffic_evidence import rows, trouble
from tortie.doctor.picture.facts import Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

WEAVE = Sign("relic-weave", "WEAVE-NPC")
WEAVE_CHAIN = Sign("relic-weave-chain", "-A WEAVE")
ROUTER = Sign("relic-kube-router", "KUBE-ROUTER-")
ROUTER_POLICY = Sign("relic-kube-nwplcy", "KUBE-NWPLCY-")
ROUTER_POD = Sign("relic-kube-pod-fw", "KUBE-POD-FW-")
CILIUM = Sign("relic-cilium", "CILIUM_FORWARD")
CILIUM_INPUT = Sign("relic-cilium-input", "CILIUM_INPUT")
FLANNEL = Sign("relic-flannel", "FLANNEL-FWD")
FLANNEL_NAT = Sign("relic-flannel-nat", "FLANNEL-POSTRTG")
FORWARD_DROP = Sign("relic-forward-drop", "-P FORWARD DROP")
RELICS = {
    WEAVE.key: "weave",
    WEAVE_CHAIN.key: "weave",
    ROUTER.key: "kube-router",
    ROUTER_POLICY.key: "kube-router",
    ROUTER_POD.key: "kube-router",
    CILIUM.key: "cilium",
    CILIUM_INPUT.key: "cilium",
    FLANNEL.key: "flannel",
    FLANNEL_NAT.key: "flannel",
}
LINKS = {
    "weave": "weave",
    "flannel.1": "flannel",
    "cni0": "flannel",
    "kube-bridge": "kube-router",
    "cilium_host": "cilium",
}
CHAIN = r"(?P<chain>(?:WEAVE|KUBE-ROUTER|KUBE-NWPLCY|KUBE-POD-FW|CILIUM_|FLANNEL)[\w-]*)"
_BLANKET = r"MASQUERADE\s+all\s+--\s+(?:\S+\s+\S+\s+)?0\.0\.0\.0/0\s+0\.0\.0\.0/0\s*$|-A POSTROUTING -j MASQUERADE\s*$"


def judge(picture: Picture) -> Finding:
    hits = [hit for hit in picture.hits(*RELICS) if not hit.prose]
    alive = _installed(picture)
    foreign = sorted({RELICS[hit.sign] for hit in hits} - alive)
    trouble_seen, said = [*trouble(picture), *picture.sessions_down()], picture.said("cni-replaced")
    links = [link for link in picture.interfaces() if LINKS.get(link.name, "") in foreign]
    if hits and not foreign:
        owner = RELICS[hits[0].sign]
        return ruled_out(
            Words(f"{owner} is installed, the chains are its own", f"{owner} 仍在使用，这些链属于它"), hits[:1]
        )
    if foreign:
        relics = [hit for hit in hits if RELICS[hit.sign] in foreign]
        chains = _chains(relics)
        dropping = [hit for hit in relics if "DROP" in hit.line or "REJECT" in hit.line]
        why = Words(
            f"Chains of {foreign[0]} ({', '.join(chains[:3])}) still filter packets, though {foreign[0]} no "
            "longer runs here.",
            f"{foreign[0]} 的链（{'、'.join(chains[:3])}）仍在过滤报文，而 {foreign[0]} 已不再运行。",
        )
        absent = _listed(picture) or said or links
        strength = (
            (PROVEN if dropping and trouble_seen else STRONG)
            if absent
            else LIKELY
            if trouble_seen or dropping
            else POSSIBLE
        )
        objects = (*chains, *foreign, *[link.name for link in links], relics[0].host, "iptables")
        return found(strength, why, objects, (*dropping[:2], *relics[:2], *links[:1], *said[:1], *trouble_seen[:1]))
    return _other_rules(picture, trouble_seen, said)


def _other_rules(picture: Picture, trouble_seen: list[object], said: Sequence[object]) -> Finding:
    blanket = list(rows(picture, _BLANKET, needle="MASQUERADE"))
    drop = picture.hit(FORWARD_DROP)
    if blanket and (trouble_seen or said):
        why = Words(
            "A blanket MASQUERADE rewrites all packets, those between nodes and pods too.",
            "一条针对所有流量的 MASQUERADE 规则改写了节点与 pod 之间的报文。",
        )
        return found(LIKELY, why, ("MASQUERADE", "iptables", blanket[0].host), (*blanket[:1], *trouble_seen[:1]))
    if drop and said:
        why = Words(
            "FORWARD drops by default, left from an earlier network plugin.",
            "FORWARD 链默认 DROP，是之前的网络插件遗留的。",
        )
        return found(
            LIKELY if trouble_seen else POSSIBLE,
            why,
            ("FORWARD", "-P FORWARD DROP", drop.host),
            (drop, *trouble_seen[:1]),
        )
    if blanket or drop:
        why = Words(
            "a rule that Calico did not make; others make such rules on purpose",
            "存在不属于 Calico 的规则，但也可能是有意配置",
        )
        return found(HINT, why, ("iptables",), (*blanket[:1], drop))
    return cannot_tell(Words("the whole rule set is not shown", "没有完整的规则列表"))


def _installed(picture: Picture) -> set[str]:
    names = [pod.name for pod in picture.pods_now()] + [load.name for load in picture.of(Workload)]
    kinds = ("weave", "kube-router", "cilium", "flannel", "canal")
    alive = {kind for kind in kinds for name in names if kind in name}
    return alive | ({"flannel"} if "canal" in alive else set())


def _listed(picture: Picture) -> bool:
    """Workloads of the whole cluster were listed, so that a missing one is missing."""
    return any(w.kind.lower().startswith("daemonset") for w in picture.of(Workload)) or bool(
        picture.commands("get", "ds")
        or picture.commands("get", "pod", "kube-system")
        or picture.commands("get", "pod", "-A")
    )


def _chains(hits: list[Hit]) -> list[str]:
    found_chains = [match["chain"] for hit in hits for match in re.finditer(CHAIN, hit.line)]
    return list(dict.fromkeys(found_chains))[:6] or [hit.text for hit in hits[:2]]


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(Words("Save what is there", "先备份现有规则"), "iptables-save > ~/iptables-before.txt"),
        Step(
            Words(
                "Reboot the drained node: nothing creates the relics again, Calico and kube-proxy write theirs anew",
                "排空并重启节点：残留规则不会再生成，Calico 与 kube-proxy 会重新写入自己的规则",
            ),
            "kubectl drain <node> --ignore-daemonsets && reboot",
            "disruptive",
        ),
        Step(
            Words(
                "If a service restores them at boot, take them out of its file",
                "若有服务在启动时恢复规则，从其文件中删除",
            ),
            "grep -rln -e WEAVE -e KUBE-ROUTER -e CILIUM /etc/iptables /etc/sysconfig/iptables",
        ),
    )


CAUSE = Cause(
    id="leftover-iptables",
    code="TRT8006",
    severity="medium",
    name=Words("leftover firewall rules", "残留防火墙规则"),
    what=Words(
        "Chains or policies of earlier network plugins or scripts still drop or rewrite traffic.",
        "之前的网络插件或脚本遗留的链或策略仍在丢弃或改写流量。",
    ),
    explains=("traffic-dead", "service-dead", "bgp-down", "not-ready"),
    look_alikes=(
        ("bgp-port-blocked", Words("there a managed rule closes 179", "由受管理的规则关闭 179")),
        ("firewalld-interference", Words("there firewalld's own table rejects", "由 firewalld 自己的表拒绝")),
    ),
    signs=(
        WEAVE,
        WEAVE_CHAIN,
        ROUTER,
        ROUTER_POLICY,
        ROUTER_POD,
        CILIUM,
        CILIUM_INPUT,
        FLANNEL,
        FLANNEL_NAT,
        FORWARD_DROP,
    ),
    judge=judge,
    ask=Ask(
        "iptables-save | grep -v -e cali -e 'KUBE-S' | head -60; kubectl get ds -A; ip -br link",
        Words("chains of a plugin that has no DaemonSet", "存在某插件的链，但没有对应的 DaemonSet"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Nothing foreign is left", "不再有外来规则"),
            "iptables-save | grep -c -e WEAVE -e KUBE-ROUTER -e CILIUM",
        ),
    ),
    prevent=(Words("Reboot nodes when the network plugin changes.", "更换网络插件时重启节点。"),),
)
