"""TRT8008: the packet filter of a host (ufw, iptables.service, nftables.service) drops what its pods send or get."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import VIP_SIGNS, vip_troubles
from tortie.doctor.causes.firewall.dropped_by_default import growing, node_ports_hang
from tortie.doctor.causes.firewall.flushed import flushed
from tortie.doctor.causes.firewall.forwarding import before_calico, closed_chains, closing_rules, refusing_rules
from tortie.doctor.causes.firewall.wiping import wiping
from tortie.doctor.causes.shared import API_DEADLINE, DIAL_FAILED, JUMP_GONE
from tortie.doctor.causes.surroundings import firewall_of
from tortie.doctor.causes.underlay.traffic_evidence import trouble
from tortie.doctor.picture.facts import FilterRule, PortTest, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

# The kernel's words about a packet of a pod, whoever logged it; the words before `IN=` are the logger's.
FROM_POD: Final = Sign("trt8008-from-pod", "IN=cali<link> OUT=")
TO_POD: Final = Sign("trt8008-to-pod", "OUT=cali<link> ")
UFW: Final = Sign("trt8008-ufw", "[UFW BLOCK] IN=<rest>")
PROHIBITED: Final = Sign("trt8008-prohibited", "ICMP host <ip> unreachable - admin prohibited")
ROUTED: Final = Sign(
    "trt8008-ufw-routed", "Default: <incoming> \\(incoming\\), <outgoing> \\(outgoing\\), deny \\(routed\\)"
)
OVERLAYS: Final = ("vxlan.calico", "tunl0", "wireguard.cali")
OWNERS: Final = ("ufw", "iptables", "nftables", "netfilter-persistent", "ip6tables")
# Where pods need their own host: the API, DNS, kubelet, Typha.
NEEDED: Final = ("443", "6443", "16443", "8443", "53", "5473", "10250", "2379")


@cache
def _refusing() -> re.Pattern[str]:
    return re.compile(r"block|drop|den(?:y|ied)|reject|prohibit", re.IGNORECASE)


class Seen:
    """Packets of pods that a filter refused, rules that refuse what is forwarded, and whose they are."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.firewall = firewall_of(picture)
        logged = picture.hits(FROM_POD, TO_POD, UFW)
        self.refused = list({hit.place: hit for hit in logged if _is_of_pod(hit)}.values())
        begun = [hit for hit in self.refused if not _is_late(hit)]
        if begun or not self.troubles:
            self.refused = begun  # the others are of connections that are closed already
        self.rules, self.closed = refusing_rules(picture), closed_chains(picture)
        self.prohibited = picture.hits(PROHIBITED)
        self.ufw = picture.setting("state", "ufw")

    @cached_property
    def units(self) -> list[Unit]:
        return [unit for unit in self.picture.of(Unit) if unit.name.removesuffix(".service") in OWNERS]

    @cached_property
    def owner(self) -> str:
        """The program that keeps these rules, where it is shown to run."""
        if self.ufw and self.ufw.value == "active":
            return "ufw"
        active = [unit.name.removesuffix(".service") for unit in self.units if unit.active == "active"]
        if any(hit.sign == UFW.key for hit in self.refused):
            return "ufw"
        known = {unit.name.removesuffix(".service") for unit in self.units}
        loaded = [s.owner for s in self.picture.settings("enabled") if s.scope == "unit" and s.value == "enabled"]
        return next(iter(active or [name for name in loaded if name in OWNERS and name not in known]), "")

    @property
    def abandoned(self) -> bool:
        """Somebody looked at a keeper of rules, and none is on."""
        loaded = [one for one in self.picture.settings("enabled") if one.scope == "unit" and one.owner in OWNERS]
        off = any(one.value in ("disabled", "masked") for one in loaded) or any(
            u.active != "active" for u in self.units
        )
        return off and not self.owner

    @cached_property
    def troubles(self) -> list[object]:
        failed = [hit for hit in self.picture.hits(DIAL_FAILED, API_DEADLINE) if not hit.prose]
        return [*trouble(self.picture), *failed]

    @cached_property
    def shown(self) -> list[object]:
        owner = [self.ufw] if self.ufw else [unit for unit in self.units if unit.active == "active"]
        return [
            *owner[:1],
            *self.refused[:2],
            *(self.rules or self.closed)[:1],
            *self.prohibited[:1],
            *self.troubles[:1],
        ]

    @property
    def host(self) -> str:
        facts: list[Hit | FilterRule | Setting] = [
            *self.refused,
            *self.rules,
            *self.closed,
            *([self.ufw] if self.ufw else ()),
        ]
        return next((fact.host for fact in facts if fact.host), "")


def _is_of_pod(hit: Hit) -> bool:
    """Calico's own rules with the action Log write the same words, and drop nothing by that."""
    before, _, after = hit.line.partition("IN=")
    if hit.prose or "calico-packet" in before or not _refusing().search(before):
        return False
    link_in, _, rest = after.partition(" OUT=")
    links = (link_in.strip(), rest.partition(" ")[0])
    return any(link.startswith("cali") or link in OVERLAYS for link in links)


def _is_late(hit: Hit) -> bool:
    """The end of a connection, which a filter may have forgotten before the last packet of it came."""
    return " PROTO=TCP " in hit.line and (" RST " in hit.line or " FIN " in hit.line) and " SYN " not in hit.line


def off(seen: Seen) -> Finding | None:
    """ufw was on, and is off in what is shown last."""
    last = seen.ufw
    return ruled_out((last,)) if last and last.value == "inactive" and not (seen.rules or seen.closed) else None


def firewalld(seen: Seen) -> Finding | None:
    if seen.firewall != "firewalld" or not (seen.refused or seen.rules):
        return None
    return ruled_out((*seen.refused[:1], *seen.rules[:1]))


def packets_refused(seen: Seen) -> Finding | None:
    """The kernel's own word."""
    if not seen.refused:
        return None
    port = _field(seen.refused[0], "DPT")
    strength = PROVEN if seen.troubles else LIKELY if port in NEEDED else POSSIBLE
    return _found(
        seen, strength, source=_field(seen.refused[0], "SRC"), target=_field(seen.refused[0], "DST"), port=port
    )


def _field(hit: Hit, name: str) -> str:
    return hit.line.partition(f" {name}=")[2].partition(" ")[0]


def forwarding_refused(seen: Seen) -> Finding | None:
    """Whoever wrote a rule and left is another cause: here its keeper is shown to run."""
    if not seen.rules:
        return None
    known = bool(seen.owner) and bool(seen.troubles or seen.prohibited)
    if known or not seen.troubles:
        return _found(seen, STRONG if known else HINT)
    # Whose it is, is open; that nothing of pods comes past it is not. Where no keeper is on, it was left behind.
    first = any(before_calico(seen.picture, rule) or rule.matches for rule in seen.rules)
    return _found(seen, LIKELY if first and not seen.abandoned else POSSIBLE)


def input_refused(seen: Seen) -> Finding | None:
    """Pods of the machine are refused by it where the machine itself gets through: the API, DNS on its own address."""
    closing = closing_rules(seen.picture, "INPUT") if seen.firewall != "firewalld" else []
    refused = [each for each in vip_troubles(seen.picture) if each.from_pod and each.how == "no-route"]
    known = {each.address for each in refused}
    tests = [test for test in seen.picture.of(PortTest) if test.address in known and not test.pod]
    reached = [test for test in tests if test.result == "open" or test.result.startswith("http-")]
    if not (closing and refused and reached):
        return None
    met = [rule for rule in closing if rule.packets]
    shown = (met or closing)[0]
    who = culprits(
        named("program", seen.owner), named("rule", f"INPUT {shown.verdict}", "INPUT"), named("node", shown.host),
        Culprit("program", "iptables") if not seen.owner else None,
    )  # fmt: skip
    return found(STRONG if met or seen.owner else LIKELY, who, (shown, refused[0], reached[0]), owner=seen.owner,
                 node=shown.host, filter_rule=f"INPUT {shown.verdict}")  # fmt: skip


def forwarding_closed(seen: Seen) -> Finding | None:
    """A chain for forwarded packets with the policy drop and nothing in it that lets pods through."""
    if not seen.closed or not seen.troubles:
        return None
    return _found(seen, STRONG if seen.owner else LIKELY)


def policy_drops(seen: Seen) -> Finding | None:
    """Somebody opened the chain's policy, and packets passed: Calico's own accept is not met, or not there."""
    helped = seen.picture.said("forward-policy-drops")
    policies = [rule for rule in seen.picture.of(FilterRule) if rule.policy and rule.chain == "FORWARD"]
    dropping = [rule for rule in policies if rule.refuses]
    if not helped:
        return None
    host = next((rule.host for rule in dropping if rule.host), "")
    who = culprits(named("program", seen.owner), named("rule", "FORWARD DROP", "FORWARD", "-P FORWARD DROP"),
                   named("node", host))  # fmt: skip
    return found(STRONG if dropping else LIKELY, who, (*dropping[:1], *helped[:1], *seen.troubles[:1]), node=host)


def wiped(seen: Seen) -> Finding | None:
    """The rules of the host are loaded anew, and those of Calico and kube-proxy are gone until they are put back."""
    one = wiping(seen.picture)
    suffered = [*seen.troubles[:1], *seen.picture.said("suffers", "complains")[:1]]
    counted = one is not None and one.gone and one.loads  # who counts them before and after has a reason
    if one is None or one.program == "firewalld" or not (one.told or (one.gone and suffered) or counted):
        return None
    sure = bool(one.gone) or bool(one.told and (one.empties or one.loads))
    who = culprits(named("program", one.program), named("node", one.host))
    evidence = (*one.empties, *one.loads, *one.gone, *one.told, *suffered[:1])
    return found(STRONG if sure else LIKELY, who, evidence, owner=one.program, node=one.host)


def emptied(seen: Seen) -> Finding | None:
    """Felix finds its jump gone, and puts it back: somebody else writes the chain anew, by cron or otherwise."""
    one = flushed(seen.picture)
    suffered = [*seen.troubles[:1], *seen.picture.said("suffers", "complains")[:1]]
    keeper = wiping(seen.picture)  # says that it loads its rules, and Felix what became of others
    loads = keeper.loads if keeper else ()
    ours = seen.firewall != "firewalld" and (keeper is None or keeper.program != "firewalld")
    if one is None or not ours or not (one.bare or (suffered and (loads or one.regular))):
        return None
    scripts = [keeper.program] if keeper and loads else list(one.scripts)
    who = culprits(named("program", *scripts), named("rule", "FORWARD"), named("node", one.host))
    sure = one.bare or one.jobs or loads
    return found(STRONG if sure else LIKELY, who, (*one.gone, *loads[:1], *one.bare, *one.jobs, *suffered[:1]),
                 owner=scripts[0] if scripts else "", node=one.host)  # fmt: skip


def dropped_by_default(seen: Seen) -> Finding | None:
    """The counter of FORWARD's policy grows while NodePorts of other nodes hang: these are forwarded, and dropped."""
    counts = growing(seen.picture)
    hanging = node_ports_hang(seen.picture)
    if counts is None or seen.firewall == "firewalld" or not (hanging or seen.troubles):
        return None
    who = culprits(named("rule", "FORWARD DROP", "FORWARD", "-P FORWARD DROP"), named("node", counts[0].host))
    well = seen.picture.said("traffic-well")  # pods of other nodes answer: the path between the nodes is not it
    strength = POSSIBLE if not hanging else STRONG if well else LIKELY
    return found(strength, who, (*counts, *hanging[:2], *well[:1]), node=counts[0].host)


def routed_denied(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(ROUTED)
    if not hits or seen.owner != "ufw" or not seen.troubles:
        return None
    return _found(seen, POSSIBLE)


def _found(seen: Seen, strength: float, source: str = "", target: str = "", port: str = "") -> Finding:
    rule = [f"{one.chain} {one.verdict}" for one in (seen.rules or seen.closed)[:1]]
    who = culprits(
        named("program", seen.owner), named("rule", *rule), named("node", seen.host),
        Culprit("program", "iptables") if not seen.owner else None,
    )  # fmt: skip
    return found(strength, who, seen.shown, owner=seen.owner, node=seen.host, source=source, target=target, port=port,
                 filter_rule=rule[0] if rule else "")  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    if finding.rule in ("wiped", "emptied"):
        yield do("keep-tables")
        return
    if finding.rule in ("policy-drops", "dropped-by-default"):
        yield do("accept")
        return
    yield do("rules")
    if finding.value("owner") == "ufw":
        yield do("ufw-links")
        yield do("ufw-routed")
    else:
        yield do("own-file")


CAUSE = Cause(
    module=__name__,
    id="host-firewall-blocks-pods",
    code="TRT8008",
    severity="high",
    explains=("traffic-dead", "service-dead", "api-unreachable", "others-failing", "controllers-failing", "crash-loop",
              "not-ready", "log-errors", "datastore-error"),
    signs=(JUMP_GONE, FROM_POD, TO_POD, UFW, PROHIBITED, ROUTED, DIAL_FAILED, API_DEADLINE, *VIP_SIGNS),
    look=Seen,
    rules=(
        off, firewalld, packets_refused, forwarding_refused, input_refused, forwarding_closed, policy_drops, wiped,
        emptied, dropped_by_default, routed_denied,
    ),
    fix=fix,
    yields_to=("firewalld-interference", "leftover-iptables"),
)  # fmt: skip
