"""TRT8004: VXLAN's UDP port is filtered between nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.firewall.security_groups import covers, let_in, security_groups
from tortie.doctor.causes.kernel.trt7011_vxlan_checksum_offload import BAD_SUM
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.capture_sides import side_of
from tortie.doctor.causes.underlay.told_captures import told_lost
from tortie.doctor.causes.underlay.traffic_evidence import (
    Capture,
    Row,
    arrived,
    captures,
    cross_node_dead,
    encapsulation,
    lost_on_the_way,
    nodes_silent,
    pod_pings,
    remote_routes,
    rows,
    trouble,
)
from tortie.doctor.causes.underlay.tunnel_counters import one_way, told_silent
from tortie.doctor.picture.addresses import inside, public
from tortie.doctor.picture.facts import Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

PROHIBITED: Final = Sign("vxlan-admin-prohibited", "unreachable - admin prohibited")
FOREIGN_DROP: Final = Sign("vxlan-foreign-drop", "Drop IPv4 VXLAN packets from non-whitelisted hosts")
NEW_FOREIGN_DROP: Final = Sign("vxlan-foreign-drop-new", "Drop IPv4 VXLAN packets from non-allowed hosts")
BLOCKED: Final = Sign("vxlan-logged-block", "BLOCK] IN=<in> OUT= … PROTO=UDP SPT=<n> DPT=<port>")
DEFAULT_PORT: Final = "4789"
_OPEN_UDP: Final = r"(?<![\d.])(?P<port>\d{2,5}(?:[-:]\d{2,5})?)/udp\b"
_NFT_UDP: Final = r"udp dport (?:\{(?P<set>[^}]*)\}|(?P<one>\d+))"
_DROPPED: Final = r"(?:udp dport (?:\{[^}]*)?|--dports? (?:[\d,:]*,)?)(?P<port>\d+)\b.*\b(?:drop|reject|DROP|REJECT)\b"
_DSTPORT: Final = r"vxlan.*\bdstport (?P<port>\d+)|^\s*dstport (?P<alone>\d+)"
FIREWALLS: Final = ("firewall-cmd", "ufw", "nft ", "iptables")
_SETTING: Final = "vxlanPort"


class Seen:
    """Whether VXLAN is used, on which port, where its packets end, and which filter lacks it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.kinds = encapsulation(picture)
        self.lost, self.dead = lost_on_the_way(picture, "vxlan"), _pods_dead(picture)
        self.counted, self.silent = one_way(picture, "vxlan"), told_silent(picture, "vxlan")
        self.told: list[object] = [*self.silent[:1], *told_lost(picture, "vxlan")]
        self.port = picture.value(_SETTING).strip("\"' ") or _dstport(picture) or DEFAULT_PORT
        self.used = "vxlan" in self.kinds or any(self._carries(capture) for capture in captures(picture))
        foreign = picture.hits(FOREIGN_DROP, NEW_FOREIGN_DROP)
        self.dropped = [hit for hit in foreign if _packets(hit.line) > 0]
        prohibited = [hit for hit in picture.hits(PROHIBITED) if self.used or self.port in hit.command]
        # Who refuses inside of the tunnel refuses what the tunnel carried: VXLAN came through.
        self.inside = [hit for hit in prohibited if "vxlan" in hit.command]
        self.prohibited = [hit for hit in prohibited if hit not in self.inside]
        # Strangers on the internet try any port; a neighbour that sends to this one is another node.
        logged = [hit for hit in picture.hits(BLOCKED) if hit.value("port") == self.port and not hit.prose]
        neighbours = [hit for hit in logged if not public(hit.line.partition(" SRC=")[2].partition(" ")[0])]
        self.prohibited += neighbours
        self.used = self.used or bool(neighbours and self.dead)
        self.rules = [row for row in rows(picture, _DROPPED, needle=self.port) if row["port"] == self.port]
        self.closed, self.filter = _filters_without(picture, int(self.port)) if self.port.isdecimal() else ([], "")

    def _carries(self, capture: Capture) -> bool:
        """tcpdump knows VXLAN by its usual ports; on another one it shows bare UDP."""
        own = self.port != DEFAULT_PORT and f"port {self.port}" in capture.wanted
        return "vxlan" in capture.kinds or (own and bool(capture.kinds))

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hits: tuple[Hit, ...] = (*self.dropped, *self.prohibited)
        return culprits(
            Culprit("port", f"{self.port}/udp"),
            named("program" if self.filter == "firewalld" else "rule", self.filter),
            named("setting", _SETTING if self.picture.setting(_SETTING) else ""),
            Culprit("interface", "vxlan.calico"),
            named("node", self.lost[1].host if self.lost else "", *(hit.host for hit in hits)),
            named("node", *(row.host for row in self.rules[:1])),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        filters = (*self.rules[:1], *self.closed[:1])
        told = (*self.counted[:2], *self.told[:2])
        seen = (*(self.lost or ()), *told, *self.dropped[:1], *self.prohibited[:1])
        return (*filters, *seen, *remote_routes(self.picture, "vxlan")[:1], *self.dead[:2])


def _pods_dead(picture: Picture) -> list[object]:
    """What lies outside of the cluster is not reached by VXLAN."""
    return [item for item in cross_node_dead(picture) if not (isinstance(item, Ping) and public(item.address))]


def _dstport(picture: Picture) -> str:
    row = next(rows(picture, _DSTPORT, needle="dstport "), None)
    return (row["port"] or row["alone"]) if row else ""


def _packets(line: str) -> int:
    """The packet counter at the head of a row of `iptables -nvL`, or in brackets of `iptables-save -c`."""
    head = line.strip().lstrip("[").replace(":", " ").split()
    first = head[0] if head else ""
    if first[:-1].isdecimal() and first[-1] in "KMG":
        return int(first[:-1]) * 1000
    if "counter packets" in line:
        first = line.split("counter packets", 1)[1].split()[0]
    return int(first) if first.isdecimal() else 0


def _filters_without(picture: Picture, port: int) -> tuple[list[object], str]:
    """Listings of open ports that lack this one, with the filter's name."""
    for group in security_groups(picture):
        if group.protocols and not group.everything and ("udp" not in group.protocols or not covers(group.ports, port)):
            return [group], group.name
    by_host: dict[str, list[Row]] = {}
    for row in rows(picture, rf"{_OPEN_UDP}|{_NFT_UDP}|^\s*ports:", *FIREWALLS):
        by_host.setdefault(row.host, []).append(row)
    trusting = {row.host for row in rows(picture, r"^\s*target:\s*ACCEPT\s*$", "firewall-cmd", needle="ACCEPT")}
    for host, listed in by_host.items():
        if host in trusting:  # a zone that lets everything in lists no ports
            continue
        ports: set[str] = set()
        for row in listed:
            ports.update(row.match.string.replace(",", " ").replace("/udp", " ").split())
        if not covers({text for text in ports if text[:1].isdigit() and "/" not in text and "." not in text}, port):
            return list(listed[:1]), "firewalld" if "firewall-cmd" in listed[0].command else ""
    return [], ""


def arrives(seen: Seen) -> Finding | None:
    bad = next((hit for hit in seen.picture.hits(BAD_SUM) if side_of(seen.picture, hit) != "sender"), None)
    through = bad or arrived(seen.picture, "vxlan") or next(iter(seen.inside), None)
    return ruled_out((through,)) if through else None


def no_vxlan(seen: Seen) -> Finding | None:
    if not seen.kinds or "vxlan" in seen.kinds:
        return None
    routes = [*remote_routes(seen.picture, "ipip"), *remote_routes(seen.picture, "bare")]
    return ruled_out(routes[:1])


def lost(seen: Seen) -> Finding | None:
    if not seen.lost:
        return None
    sender, receiver = seen.lost[0].host, seen.lost[1].host
    both = sender and receiver
    return found(
        PROVEN, seen.culprits, seen.evidence, say="lost" if both else "lost-somewhere", port=seen.port, sender=sender,
        receiver=receiver,
    )  # fmt: skip


def sender_unknown(seen: Seen) -> Finding | None:
    """Calico's own rule: it lets VXLAN in only from addresses that are registered for nodes."""
    if not seen.dropped:
        return None
    rule = Culprit("rule", "Drop IPv4 VXLAN packets from non-whitelisted hosts")
    blamed = culprits(rule, seen.culprits)
    return found(STRONG, blamed, seen.evidence, port=seen.port, node=seen.dropped[0].host)


def dropped_by_rule(seen: Seen) -> Finding | None:
    if not seen.rules or not seen.used:
        return None
    node = seen.rules[0].host
    return found(PROVEN if seen.dead else STRONG, seen.culprits, seen.evidence, port=seen.port, node=node)


def prohibited(seen: Seen) -> Finding | None:
    return found(STRONG, seen.culprits, seen.evidence, port=seen.port) if seen.prohibited and seen.used else None


def not_let_in(seen: Seen) -> Finding | None:
    if not seen.closed or not seen.used or not seen.dead:
        return None
    return found(STRONG, seen.culprits, seen.evidence, port=seen.port, filter=seen.filter)


def told(seen: Seen) -> Finding | None:
    """Somebody looked at the other end, and nothing came in."""
    used = seen.used or (seen.told and not seen.kinds)  # who names the port says that it is used
    if nodes_silent(seen.picture):
        return None
    if not (seen.told and used and (seen.dead or seen.counted or trouble(seen.picture))):
        return None
    return found(STRONG, seen.culprits, seen.evidence, port=seen.port)


def one_way_only(seen: Seen) -> Finding | None:
    """All that sent got nothing back; of one machine alone it may be the other end that does not answer."""
    if not (seen.counted and seen.used and seen.dead):
        return None
    several = len({one.host for one in seen.counted}) > 1
    first = seen.counted[0]
    return found(
        STRONG if several else LIKELY, seen.culprits, seen.evidence, port=seen.port, device=first.device,
        host=first.host, sent=first.sent,
    )  # fmt: skip


def pods_dead(seen: Seen) -> Finding | None:
    return (
        found(POSSIBLE, seen.culprits, seen.evidence, port=seen.port) if "vxlan" in seen.kinds and seen.dead else None
    )


def _by_tunnel(picture: Picture, ping: Ping) -> bool:
    """Whether a route through VXLAN leads to what was pinged."""
    ways = (route.destination for route in remote_routes(picture, "vxlan"))
    return any(inside(ping.address, way) for way in ways)


def not_listed(seen: Seen) -> Finding | None:
    if not seen.closed or not seen.used:
        return None
    passed = [ping for ping in pod_pings(seen.picture, True) if _by_tunnel(seen.picture, ping)]
    if passed:
        return ruled_out(passed[:1], say="arrives")
    strength = POSSIBLE if seen.picture.sessions_down() else LIKELY
    return found(strength, seen.culprits, seen.evidence, port=seen.port, filter=seen.filter)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule == "sender-unknown":
        yield do("registered")
        yield do("register")
        return
    yield from let_in(picture, finding.value("port", DEFAULT_PORT), "udp")


CAUSE = Cause(
    module=__name__,
    id="vxlan-port-blocked",
    code="TRT8004",
    severity="high",
    explains=("traffic-dead", "service-dead"),
    signs=(PROHIBITED, BLOCKED, FOREIGN_DROP, NEW_FOREIGN_DROP, BAD_SUM),
    look=Seen,
    rules=(
        arrives, no_vxlan, lost, sender_unknown, dropped_by_rule, prohibited, not_let_in, told, one_way_only,
        pods_dead, not_listed,
    ),
    fix=fix,
)  # fmt: skip
