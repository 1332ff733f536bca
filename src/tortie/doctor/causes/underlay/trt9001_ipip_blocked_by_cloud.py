"""TRT9001: the network between the nodes drops IP protocol 4."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.firewall.security_groups import security_groups
from tortie.doctor.causes.underlay.half_captures import told_opposite
from tortie.doctor.causes.underlay.told_captures import told_lost
from tortie.doctor.causes.underlay.traffic_evidence import (
    Capture,
    agents_fine,
    arrived,
    cross_node_dead,
    encapsulation,
    leads,
    lost_on_the_way,
    nodes_silent,
    pod_pings,
    remote_routes,
    trouble,
)
from tortie.doctor.causes.underlay.tunnel_counters import met_by_rules, one_way, told_silent
from tortie.doctor.causes.underlay.wrong_number import wrong_numbers
from tortie.doctor.picture.facts import Ping, Pool, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

AZURE = Sign("ipip-azure-provider", "azure:///subscriptions/")
# The machine that every virtual machine of Azure asks for its address and for names.
AZURE_WIRE = Sign("ipip-azure-wire", "168.63.129.16")
OWN_PROTOCOL = {"4", "ipip", "ipencap"}


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.kinds = encapsulation(picture)
        self.routes = remote_routes(picture, "ipip")
        self.lost, self.dead = lost_on_the_way(picture, "ipip"), cross_node_dead(picture)
        self.up = [session for session in picture.sessions() if session.state == "up"]
        groups = security_groups(picture)
        self.misnumbered = wrong_numbers(picture)
        own = {"4", "ipencap"} if self.misnumbered else OWN_PROTOCOL
        open_to_all = [group for group in groups if group.everything or group.protocols & own]
        self.opened = open_to_all
        shut = [group for group in groups if group.protocols and group not in open_to_all]
        self.closed = [group for group in shut if "ipip" not in group.protocols]
        said = [one for one in picture.said("cloud") if "azure" in one.values]
        self.azure: list[object] = [*picture.hits(AZURE)[:1], *said, *picture.hits(AZURE_WIRE)[:1]]
        self.counted, self.silent = one_way(picture, "ipip"), told_silent(picture, "ipip")
        self.half = told_opposite(picture, "ipip")
        self.told: list[object] = [*self.half, *self.silent[:1], *told_lost(picture, "ipip")]

    @property
    def tunnelled(self) -> bool:
        return bool(self.routes or "ipip" in self.kinds or self.told)

    @property
    def group(self) -> str:
        return self.closed[0].name if self.closed else ""

    @property
    def allowed(self) -> list[str]:
        return sorted(self.closed[0].protocols) if self.closed else []

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("rule", self.group, "security group" if self.closed else "", "protocol 4", "ipip"),
            Culprit("interface", "tunl0"),
            named("address", *(route.via for route in self.routes[:2])),
            named("node", *([self.lost[1].host] if self.lost else [])),
            Culprit("setting", "ipipMode"),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        told = (*self.counted[:2], *self.told[:2])
        shown = (*self.closed[:1], *(self.lost or ()), *told, *self.routes[:1], *self.dead[:2])
        return (*shown, *self.up[:1], *self.azure[:1])

    def found(self, strength: float, say: str) -> Finding:
        return found(
            strength, self.culprits, self.evidence, say=say, group=self.group, allowed=self.allowed,
            sender=self.lost[0].host if self.lost else "", receiver=self.lost[1].host if self.lost else "",
        )  # fmt: skip


def arrives(seen: Seen) -> Finding | None:
    through = arrived(seen.picture, "ipip")
    return ruled_out((through,)) if through else None


def pods_answer(seen: Seen) -> Finding | None:
    """A pod at the other end of a tunnel answers: what is silent beside it is silent for another reason."""
    good = [ping for ping in pod_pings(seen.picture, True) if any(_through(route, ping) for route in seen.routes)]
    return ruled_out(good[:1]) if good and not seen.lost else None


def _through(route: Route, ping: Ping) -> bool:
    return route.host in ("", ping.host) and leads(route, ping.address)


def no_ipip(seen: Seen) -> Finding | None:
    if not seen.kinds or "ipip" in seen.kinds:
        return None
    routes = [*remote_routes(seen.picture, "vxlan"), *remote_routes(seen.picture, "bare")]
    return ruled_out(routes[:1])


def bgp_down(seen: Seen) -> Finding | None:
    down = seen.picture.sessions_down()
    return ruled_out(down[:1]) if down and not seen.up and not seen.lost else None


def lost(seen: Seen) -> Finding | None:
    if not seen.lost:
        return None
    sure = (seen.routes or seen.closed or seen.dead) and not _of_all(seen.lost[1])
    return seen.found(PROVEN if sure else STRONG, "lost")


def _of_all(missed: Capture) -> bool:
    """It shows other things, and may have been made at another time."""
    return bool(missed.kinds) and "proto" not in missed.wanted


def node_silent(seen: Seen) -> Finding | None:
    silent = nodes_silent(seen.picture)
    return ruled_out(silent[:1]) if silent and not seen.closed and not seen.misnumbered else None


def filter_without_it(seen: Seen) -> Finding | None:
    """A person says which protocols the filter lets pass."""
    told = [] if seen.closed or seen.opened else seen.picture.said("only-tcp-udp-icmp")
    if not (told and seen.tunnelled and seen.dead):
        return None
    who = culprits(Culprit("rule", "security group"), seen.culprits)
    return found(STRONG if seen.up else LIKELY, who, (*told[:1], *seen.evidence))


def group_without_it(seen: Seen) -> Finding | None:
    return seen.found(STRONG, "group-without-it") if seen.closed and seen.tunnelled and seen.dead else None


def told(seen: Seen) -> Finding | None:
    """Somebody looked at the other end, and nothing came in."""
    suffered = seen.dead or seen.counted or trouble(seen.picture) or (seen.half and seen.picture.said("suffers"))
    if not (seen.told and seen.tunnelled and suffered) or seen.opened:
        return None
    well = seen.up or seen.counted or seen.picture.said("sessions-well")
    return seen.found(STRONG if well else LIKELY, "told")


def wrong_number(seen: Seen) -> Finding | None:
    """A rule that was meant for them names another protocol: `ipip` is 94 in /etc/protocols, and Calico's is 4."""
    numbered = seen.misnumbered
    if not numbered or seen.opened or not (seen.tunnelled and (seen.dead or seen.told)):
        return None
    who = culprits(named("rule", "ipip", "protocol 94", "protocol 4", seen.group), Culprit("interface", "tunl0"))
    met = any(one.printed for one in numbered) or bool(seen.half)
    return found(STRONG if met and (seen.up or seen.told) else LIKELY, who, (*numbered[:2], *seen.evidence))


def plain_passes(seen: Seen) -> Finding | None:
    """The same packets come through without their cover."""
    plain = seen.picture.said("works-without-ipip")
    if not (plain and seen.tunnelled and seen.dead) or seen.opened:
        return None
    well = seen.up or agents_fine(seen.picture) or seen.picture.said("sessions-well")
    return found(STRONG if well else LIKELY, seen.culprits, (plain[0], *seen.evidence))


def azure(seen: Seen) -> Finding | None:
    if not (seen.azure and seen.tunnelled and seen.dead):
        return None
    return found(STRONG, culprits(Culprit("program", "azure"), seen.culprits), seen.evidence, platform="azure")


def group_and_tunnel(seen: Seen) -> Finding | None:
    """A filter that would drop them; nodes of one subnet may never send any."""
    if not (seen.closed and seen.tunnelled):
        return None
    return seen.found(LIKELY if trouble(seen.picture) else POSSIBLE, "group-and-tunnel")


def one_way_only(seen: Seen) -> Finding | None:
    """All that sent got nothing back; of one machine alone it may be the other end that does not answer."""
    if not (seen.counted and seen.routes and seen.dead) or seen.opened:
        return None
    well = seen.up or agents_fine(seen.picture)
    first = seen.counted[0]
    several = len({one.host for one in seen.counted}) > 1
    return found(
        STRONG if several and well else LIKELY if well else POSSIBLE, seen.culprits, seen.evidence,
        device=first.device, host=first.host, sent=first.sent,
    )  # fmt: skip


def met_no_rule(seen: Seen) -> Finding | None:
    """The same by Felix' own rules: many went to other hosts, and none came from one."""
    met = met_by_rules(seen.picture)
    suffered = seen.dead or trouble(seen.picture) or seen.picture.said("suffers")
    if not (met and suffered) or seen.opened:
        return None
    well = seen.up or agents_fine(seen.picture)
    return found(LIKELY if well else POSSIBLE, seen.culprits, (*met[:1], *seen.evidence), sent=met[0].sent)


def dead_through_tunnel(seen: Seen) -> Finding | None:
    if not (seen.tunnelled and seen.dead) or seen.opened:
        return None
    cloud = seen.picture.said("cloud")
    return found(LIKELY if cloud and seen.up else POSSIBLE, seen.culprits, (*seen.evidence, *cloud[:1]))


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    clouds = {value for one in picture.said("cloud") for value in one.values}
    on_azure = finding.value("platform") == "azure" or bool(picture.hits(AZURE, AZURE_WIRE))
    if finding.rule == "wrong-number":
        yield do("number")
    elif not on_azure:
        yield do("openstack" if "openstack" in clouds or not clouds else "group", group=finding.value("group"))
    yield do("vxlan", pool=next((pool.name for pool in picture.of(Pool) if pool.name and pool.ipip != "Never"), ""))


CAUSE = Cause(
    module=__name__,
    id="ipip-blocked-by-cloud",
    code="TRT9001",
    severity="high",
    explains=("traffic-dead", "service-dead"),
    signs=(AZURE, AZURE_WIRE),
    look=Seen,
    rules=(
        arrives, pods_answer, no_ipip, bgp_down, lost, node_silent, wrong_number, filter_without_it, told,
        group_without_it, plain_passes, azure, group_and_tunnel, one_way_only, met_no_rule,
        dead_through_tunnel,
    ),
    fix=fix,
)  # fmt: skip
