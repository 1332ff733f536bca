"""TRT8006: rules of an earlier network plugin or script still drop or rewrite packets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.firewall.forwarding import closing_rules, harm
from tortie.doctor.causes.shared import BGP_NOT_ESTABLISHED, DNS_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, trouble
from tortie.doctor.causes.ways import drain_node
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import FilterRule, Interface, Node, Unit, Version, Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

RELICS: Final = {
    Sign("relic-weave", "WEAVE-NPC"): "weave",
    Sign("relic-weave-chain", "-A WEAVE"): "weave",
    Sign("relic-kube-router", "KUBE-ROUTER-"): "kube-router",
    Sign("relic-kube-nwplcy", "KUBE-NWPLCY-"): "kube-router",
    Sign("relic-kube-pod-fw", "KUBE-POD-FW-"): "kube-router",
    Sign("relic-cilium", "CILIUM_FORWARD"): "cilium",
    Sign("relic-cilium-input", "CILIUM_INPUT"): "cilium",
    Sign("relic-flannel", "FLANNEL-FWD"): "flannel",
    Sign("relic-flannel-nat", "FLANNEL-POSTRTG"): "flannel",
    # Before it had chains of its own: all that pods send, but to groups.
    Sign("relic-flannel-masquerade", "-A POSTROUTING -s <cidr> ! -d 224.0.0.0/4"): "flannel",
    Sign(
        "relic-flannel-listed",
        "MASQUERADE (all|0) -- (* * )?<cidr> !(224.0.0.0|base-address.mcast.net)/4",
    ): "flannel",
}
_MAKERS: Final = {sign.key: maker for sign, maker in RELICS.items()}
FORWARD_DROP: Final = Sign("relic-forward-drop", "-P FORWARD DROP")
LINKS: Final = {
    "weave": "weave", "flannel.1": "flannel", "cni0": "flannel", "kube-bridge": "kube-router", "cilium_host": "cilium",
}  # fmt: skip
CHAIN: Final = lazily(r"(?P<chain>(?:WEAVE|KUBE-ROUTER|KUBE-NWPLCY|KUBE-POD-FW|CILIUM_|FLANNEL)[\w-]*)")
_NO_FLANNEL: Final = lazily(r"flannel-backend[\"':= ]{1,4}none")
K3S: Final = lazily(r"\bk3s v?1\.\d\d|--flannel-backend[= ]none")  # as people name their release, or start it
_BLANKET: Final = (
    r"MASQUERADE\s+all\s+--\s+(?:\S+\s+\S+\s+)?0\.0\.0\.0/0\s+0\.0\.0\.0/0\s*$|-A POSTROUTING -j MASQUERADE\s*$"
)
_SOURCES: Final = lazily(
    r"(?i)network ?polic|网络策略|\bpolic(?:y|ies)\b|source (?:ip|address)|client ip|src ip|源 ?ip|源地址|客户端 ?ip|"
    r"podSelector|\bIP \d{1,3}\.\d{1,3}\.\d{1,3}\.0\.\d{2,5} > "
)
IPTABLES: Final = Culprit("program", "iptables")
_SERVICES: Final = ("firewalld", "ufw")  # who makes such rules on purpose, as long as they run
_KEEPERS: Final = ("iptables", "ip6tables", "nftables", "netfilter-persistent")
_CHAINS_SHOWN: Final = 3


class Seen:
    """Chains and rules that are neither Calico's nor kube-proxy's, who may own them, and what is broken."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = [hit for hit in picture.hits(*_MAKERS) if not hit.prose]
        self.foreign = sorted({_MAKERS[hit.sign] for hit in self.hits} - _installed(picture))
        self.relics = [hit for hit in self.hits if _MAKERS[hit.sign] in self.foreign]
        self.trouble: list[object] = [*trouble(picture), *picture.sessions_down()]
        self.said = picture.said("cni-replaced")

    @cached_property
    def suffers(self) -> bool:
        """Relics that nobody suffers from are untidy, no more."""
        picture = self.picture
        sick = [pod for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready]
        return bool(self.trouble or sick or picture.said("suffers", "complains") or picture.hits(BGP_NOT_ESTABLISHED))

    @cached_property
    def links(self) -> list[Interface]:
        return [link for link in self.picture.interfaces() if LINKS.get(link.name, "") in self.foreign]

    @cached_property
    def blanket(self) -> list[Row]:
        return list(rows(self.picture, _BLANKET, needle="MASQUERADE"))

    @cached_property
    def closing(self) -> list[FilterRule]:
        """Rules that refuse all of FORWARD on machines whose firewall service is shown to be off."""
        units = {unit.name.removesuffix(".service"): unit.active for unit in self.picture.of(Unit)}
        off = [units[name] for name in _SERVICES if name in units]
        dead = bool(off) and all(state in ("inactive", "failed", "not-found") for state in off)
        kept = any(units.get(name) == "active" for name in _KEEPERS)  # loaded at every start: nobody left them behind
        return closing_rules(self.picture) if dead and not kept else []

    @property
    def drop(self) -> Hit | None:
        return self.picture.hit(FORWARD_DROP)


def _installed(picture: Picture) -> set[str]:
    names = [pod.name for pod in picture.pods_now()] + [load.name for load in picture.of(Workload)]
    kinds = ("weave", "kube-router", "cilium", "flannel", "canal")
    alive = {kind for kind in kinds for name in names if kind in name}
    if _is_k3s(picture):
        alive.add("kube-router")  # its server brings that controller of policies along, without a pod
        if not any(_NO_FLANNEL.search(exhibit.text + exhibit.command) for exhibit in picture.exhibits):
            alive.add("flannel")
    return alive | ({"flannel"} if "canal" in alive else set())


def _is_k3s(picture: Picture) -> bool:
    """A cluster of k3s now; machines that once were one are where such chains are left behind."""
    versions = [node.version for node in picture.of(Node)] + [one.version for one in picture.of(Version)]
    units = [unit for unit in picture.of(Unit) if unit.name.startswith("k3s")]
    if any("+k3s" in version for version in versions) or any(unit.active == "active" for unit in units):
        return True
    told = (exhibit.text if exhibit.prose else exhibit.command for exhibit in picture.exhibits)
    return any(K3S.search(text) for text in told)


def _listed(picture: Picture) -> bool:
    """Workloads of the whole cluster were listed, so that a missing one is missing."""
    return any(load.kind.lower().startswith("daemonset") for load in picture.of(Workload)) or bool(
        picture.commands("get", "ds")
        or picture.commands("get", "pod", "kube-system")
        or picture.commands("get", "pod", "-A")
    )


def _chains(hits: list[Hit]) -> list[str]:
    chains = [match["chain"] for hit in hits for match in CHAIN.finditer(hit.line)]
    return list(dict.fromkeys(chains))[:6] or [hit.text for hit in hits[:2]]


def _rewrites_only(relics: list[Hit]) -> bool:
    """Chains of the nat table and nothing that filters: packets get another source, and arrive."""
    nat = ("POSTRTG", "POSTROUTING", "MASQUERADE")
    return all(any(word in hit.line for word in nat) for hit in relics) and any(
        "MASQUERADE" in hit.line for hit in relics
    )


def _noticed(picture: Picture) -> bool:
    """A policy is at work that looks at sources, or somebody saw another source than the pod's."""
    return any(_SOURCES.search(exhibit.text) for exhibit in picture.exhibits)


def of_its_owner(seen: Seen) -> Finding | None:
    fits = seen.hits and not seen.foreign
    return ruled_out(seen.hits[:1], plugin=_MAKERS[seen.hits[0].sign]) if fits else None


def without_owner(seen: Seen) -> Finding | None:
    if not seen.foreign:
        return None
    chains = _chains(seen.relics)
    dropping = [hit for hit in seen.relics if "DROP" in hit.line or "REJECT" in hit.line]
    absent = _listed(seen.picture) or seen.said or seen.links
    strength = LIKELY if seen.trouble or dropping else POSSIBLE
    if absent:
        strength = PROVEN if dropping and seen.trouble else STRONG if dropping or seen.suffers else POSSIBLE
    blamed = culprits(
        named("rule", *chains),
        named("program", *seen.foreign),
        named("interface", *(link.name for link in seen.links)),
        named("node", seen.relics[0].host),
        IPTABLES,
    )
    evidence = (*dropping[:2], *seen.relics[:2], *seen.links[:1], *seen.said[:1], *seen.trouble[:1])
    rewrites = _rewrites_only(seen.relics)
    if rewrites and not _noticed(seen.picture):
        strength = min(strength, POSSIBLE)  # packets arrive all the same; who only looks at their source minds it
    return found(
        strength, blamed, evidence, say="rewriting" if rewrites else "",
        plugin=seen.foreign[0], chains=chains[:_CHAINS_SHOWN], node=seen.relics[0].host,
    )  # fmt: skip


def blanket_masquerade(seen: Seen) -> Finding | None:
    if not seen.blanket or not (seen.trouble or seen.said):
        return None
    blamed = culprits(Culprit("rule", "MASQUERADE"), IPTABLES, named("node", seen.blanket[0].host))
    return found(LIKELY, blamed, (*seen.blanket[:1], *seen.trouble[:1]), node=seen.blanket[0].host)


def forward_refused(seen: Seen) -> Finding | None:
    """Behind Calico's jump and before its accepting rule: what Calico only marks is refused."""
    if not seen.closing:
        return None
    suffered = harm(seen.picture)
    met = [rule for rule in seen.closing if rule.packets]
    host = seen.closing[0].host
    strength = HINT if not suffered else STRONG if met else LIKELY
    blamed = culprits(Culprit("rule", "FORWARD"), IPTABLES, named("node", host))
    evidence = (*(met or seen.closing)[:1], *seen.closing[:1], *suffered[:2])
    return found(strength, blamed, evidence, verdict=seen.closing[0].verdict, node=host)


def forward_policy(seen: Seen) -> Finding | None:
    drop = seen.drop
    if not drop or not seen.said:
        return None
    blamed = culprits(named("rule", "FORWARD", "-P FORWARD DROP"), named("node", drop.host))
    evidence = (drop, *seen.trouble[:1])
    return found(LIKELY if seen.trouble else POSSIBLE, blamed, evidence, node=drop.host)


def foreign_rule(seen: Seen) -> Finding | None:
    return found(HINT, (IPTABLES,), (*seen.blanket[:1], seen.drop)) if seen.blanket or seen.drop else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("save")
    if finding.rule == "forward-refused":
        known = any("icmp-host-prohibited" in exhibit.text for exhibit in picture.commands("iptables"))
        yield do("find-refusal")
        yield do("take-refusal" if known and finding.value("verdict") == "REJECT" else "take-numbered")
        yield do("file")
    elif finding.rule == "blanket-masquerade":
        yield do("take-masquerade")
        yield do("file")
    elif finding.rule == "forward-policy":
        yield do("accept-policy")
        yield do("file")
    else:
        yield do("restored")
        yield from drain_node(picture, finding.value("node"))
        yield do("reboot")


CAUSE = Cause(
    module=__name__,
    id="leftover-iptables",
    code="TRT8006",
    severity="medium",
    explains=("traffic-dead", "service-dead", "bgp-down", "not-ready"),
    signs=(*RELICS, FORWARD_DROP, BGP_NOT_ESTABLISHED, DNS_FAILED),
    look=Seen,
    rules=(of_its_owner, without_owner, blanket_masquerade, forward_refused, forward_policy, foreign_rule),
    fix=fix,
    prevents={
        "reboot": lambda _picture, finding: finding.rule == "without-owner",
        "own": lambda _picture, finding: finding.rule != "without-owner",
    },
)
