"""TRT8005: firewalld rejects traffic that is forwarded for pods."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import VIP_SIGNS, service_range, vip_troubles
from tortie.doctor.causes.firewall.flushed import jumps_gone
from tortie.doctor.causes.firewall.forwarding import closing_rules, harm
from tortie.doctor.causes.firewall.wiping import wiping
from tortie.doctor.causes.shared import BGP_NOT_ESTABLISHED, DNS_FAILED
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, trouble
from tortie.doctor.picture.facts import FilterRule, Pod, PortTest, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

REJECTS: Final = Sign("firewalld-icmpx", "reject with icmpx (type )?admin-prohibited")
PROHIBITED: Final = Sign("firewalld-prohibited", "ICMP host <ip> unreachable - admin prohibited")
FILTERED: Final = Sign("firewalld-filtered", "From <ip> icmp_seq=<n> Packet filtered")
LOGGED: Final = Sign("firewalld-logged", '_REJECT: (")?IN=<in> OUT=<out>')
LOGGED_DROP: Final = Sign("firewalld-logged-drop", '_DROP: (")?IN=<in> OUT=<out>')
# Of what pods send to their own node: to the API on it, or to what listens there.
LOGGED_INPUT: Final = Sign("firewalld-logged-input", '_REJECT: (")?IN=<in> OUT= ')
LOGGED_INPUT_DROP: Final = Sign("firewalld-logged-input-drop", '_DROP: (")?IN=<in> OUT= ')
FORWARD: Final = ("filter_FORWARD", "filter_FWD")
# Chains that firewalld makes where it writes iptables' rules.
_OWN_CHAINS: Final = ("FORWARD_direct", "FORWARD_IN_ZONES", "FORWARD_OUT_ZONES", "FWDI_", "FWDO_")
_ZONE: Final = r"^(?P<zone>drop|public|block|external|work|home|internal|dmz)(?:\s*\([a-z, ]+\))?\s*$"
_ASKED: Final = ("firewall-cmd --state",)


class Seen:
    """firewalld's own rejects, what it logged, whether it runs, and what pods suffer."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.rejecting = [hit for hit in picture.hits(REJECTS) if _forwarded(picture, hit)]
        self.counting = [hit for hit in self.rejecting if _counter(hit.line) > 0]
        self.logged = [hit for hit in picture.hits(LOGGED, LOGGED_DROP) if _logs_forwarding(hit)]
        self.logged += [hit for hit in picture.hits(LOGGED_INPUT, LOGGED_INPUT_DROP) if _logs_input(hit)]
        # Who flushes iptables takes the rules of Calico away, too.
        helps = picture.said("firewalld-stop-helps")
        self.helps = [
            said for said in helps if any(word in said.text.lower() for word in ("firewall", "防火墙", "ufw"))
        ]
        self.trouble = trouble(picture)
        units = [unit for unit in picture.of(Unit) if unit.name.startswith("firewalld")]
        self.active: list[object] = [unit for unit in units if unit.active == "active"]
        self.active += rows(picture, r"^\s*(?:active|running)\s*$", *_ASKED)
        self.inactive: list[object] = [unit for unit in units if unit.active in ("inactive", "failed")]
        self.inactive += rows(picture, r"^\s*(?:inactive|not running|unknown)\s*$", *_ASKED)
        self.zones = list(rows(picture, _ZONE, "firewall-cmd"))

    @property
    def off(self) -> bool:
        return bool(self.inactive) and not self.active

    @cached_property
    def closing(self) -> list[FilterRule]:
        """Rules at the end of FORWARD that refuse all, where firewalld is known to run or has its chains there."""
        rules = closing_rules(self.picture) or self._closing_host
        typed = [e.command for e in self.picture.commands("systemctl", "firewalld")]
        changed = [c for c in typed if " start " in c or " restart " in c or " stop " in c]
        started = bool(changed) and " stop " not in changed[-1]
        own = any(rule.verdict.startswith(_OWN_CHAINS) for rule in self.picture.of(FilterRule))
        return rules if self.active or started or own else []

    @property
    def _closing_host(self) -> list[FilterRule]:
        """What comes to the host itself is refused too: where pods get `no route to host` from the service address."""
        refused = any(each.how == "no-route" for each in vip_troubles(self.picture))
        return closing_rules(self.picture, "INPUT") if refused else []

    @cached_property
    def prohibited(self) -> list[Hit]:
        """A machine answers a pod's packet with a refusal, and firewalld is what runs there."""
        return [hit for hit in self.picture.hits(PROHIBITED, FILTERED) if not hit.prose]

    @cached_property
    def from_pods_only(self) -> list[object]:
        """Pods get `no route to host` from what their own machine reaches: a filter answers what is forwarded."""
        refused = [each for each in vip_troubles(self.picture) if each.from_pod and each.how == "no-route"]
        known = {each.address for each in refused}
        tests = [test for test in self.picture.of(PortTest) if test.address in known and not test.pod]
        reached = [test for test in tests if test.result == "open" or test.result.startswith("http-")]
        return [refused[0], reached[0]] if refused and reached else []

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            Culprit("unit", "firewalld"),
            Culprit("rule", self.closing[0].chain if self.closing and not self.rejecting else "filter_FORWARD"),
            named("rule", *(row["zone"] for row in self.zones[:2])),
            named("interface", *(hit.value("in") for hit in self.logged[:1])),
            named("node", self.host),
        )

    @cached_property
    def host(self) -> str:
        items: tuple[Hit | Row | FilterRule, ...] = (*self.rejecting, *self.logged, *self.zones, *self.closing)
        return next((item.host for item in items if item.host), "")

    def found(self, strength: float, *shown: object) -> Finding:
        first = (*self.counting[:1], *self.rejecting[:1], *self.logged[:1], *shown)
        state = (*self.active[:1], *self.zones[:1], *self.helps[:1], *self.trouble[:1])
        pods = [pool.cidr for pool in self.picture.pools_now() if pool.cidr]
        return found(
            strength, self.culprits, (*first, *state), node=self.host, pods=(*pods, "")[0],
            services=service_range(self.picture), chain=self.closing[0].chain if self.closing else "",
        )  # fmt: skip


def _logs_forwarding(hit: Hit) -> bool:
    return bool(hit.value("out")) and any(word in hit.line for word in ("FWD", "FORWARD", "FINAL_REJECT"))


def _logs_input(hit: Hit) -> bool:
    own = "FINAL_REJECT" in hit.line or "filter_IN_" in hit.line
    return own and hit.value("in").startswith("cali")


def _forwarded(picture: Picture, hit: Hit) -> bool:
    """The reject stands in a chain for forwarded packets: by the command, or by the chain's head above it."""
    if any(word in hit.command for word in FORWARD):
        return True
    for exhibit in picture.exhibits:
        if exhibit.source != hit.place.source:
            continue
        chain = ""
        for index, line in enumerate(exhibit.lines):
            if line.strip().startswith("chain "):
                chain = line
            if exhibit.number(index) == hit.place.first:
                return any(word in chain or word in line for word in FORWARD)
    return False


def _counter(line: str) -> int:
    after = line.partition("counter packets ")[2].split()
    return int(after[0]) if after and after[0].isdecimal() else 0


def rejected(seen: Seen) -> Finding | None:
    if seen.off or not (seen.counting or seen.logged):
        return None
    return seen.found(PROVEN if seen.trouble or seen.active else STRONG)


def wiped(seen: Seen) -> Finding | None:
    """Its rules are loaded anew, and those of Calico and kube-proxy are gone until they are put back."""
    one = wiping(seen.picture)
    if seen.off or one is None or one.program != "firewalld":
        return None
    suffered = [*one.told, *seen.trouble[:1], *seen.picture.said("suffers", "complains")[:1]]
    jumps = jumps_gone(seen.picture)[:2] if one.loads else []
    if not suffered or not (one.gone or one.told or jumps):  # people load it anew for many a reason
        return None
    known = one.empties or one.loads or seen.active
    strength = PROVEN if one.gone and (one.loads or one.told) else STRONG if known else LIKELY
    who = culprits(Culprit("unit", "firewalld"), Culprit("setting", "FlushAllOnReload"), named("node", one.host))
    return found(strength, who, (*one.empties, *one.loads, *one.gone, *jumps, *suffered[:2]), node=one.host)


def not_running(seen: Seen) -> Finding | None:
    return ruled_out(seen.inactive[:1]) if seen.off else None


def forward_closed(seen: Seen) -> Finding | None:
    """With iptables as its backend, firewalld ends FORWARD with a reject; Calico's last rule may stand behind it."""
    if not seen.closing:
        return None
    suffered = harm(seen.picture)
    met = [rule for rule in seen.closing if rule.packets]
    strength = POSSIBLE if not suffered else PROVEN if met and seen.active else STRONG
    return seen.found(strength, *(met or seen.closing)[:1], *suffered[:2])


def answered(seen: Seen) -> Finding | None:
    """The kernel's own answer to a packet, on its way: `admin prohibited` is a filter's word, and firewalld's."""
    runs = seen.active or seen.helps or seen.zones  # which it does not list while it is off
    if not runs or not (seen.prohibited or seen.from_pods_only):
        return None
    return seen.found(STRONG if seen.trouble else LIKELY, *seen.prohibited[:1], *seen.from_pods_only)


def stopping_helps(seen: Seen) -> Finding | None:
    """What fails with BGP down is a port of the host itself, which has a cause of its own."""
    if not seen.helps:
        return None
    host_port = seen.picture.sessions_down() or seen.picture.hits(BGP_NOT_ESTABLISHED)
    return seen.found(POSSIBLE if host_port else STRONG)


def rejects(seen: Seen) -> Finding | None:
    """The reject at the chain's end is always there: DNS that is not ready for any reason does not speak for it."""
    suffered = [item for item in harm(seen.picture) if not isinstance(item, Pod)]
    return seen.found(LIKELY) if seen.rejecting and suffered else None


def runs(seen: Seen) -> Finding | None:
    return seen.found(POSSIBLE) if seen.rejecting or (seen.active and seen.trouble) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    if finding.rule == "wiped":
        yield do("off")
        yield do("keep")
        if any("hostport" in exhibit.text.lower() for exhibit in picture.exhibits):
            yield do("ports-back")
        return
    there = "-there" if finding.value("node") else ""
    yield do(f"off{there}")
    yield do(f"trust{there}")


CAUSE = Cause(
    module=__name__,
    id="firewalld-interference",
    code="TRT8005",
    severity="high",
    explains=("traffic-dead", "service-dead", "api-unreachable", "others-failing"),
    signs=(
        REJECTS,
        PROHIBITED,
        FILTERED,
        LOGGED,
        LOGGED_DROP,
        LOGGED_INPUT,
        LOGGED_INPUT_DROP,
        BGP_NOT_ESTABLISHED,
        DNS_FAILED,
        *VIP_SIGNS,
    ),
    look=Seen,
    rules=(rejected, wiped, not_running, forward_closed, answered, stopping_helps, rejects, runs),
    fix=fix,
)
