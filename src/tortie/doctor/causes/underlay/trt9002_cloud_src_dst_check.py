"""TRT9002: the cloud drops packets with pod addresses that are not encapsulated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_network

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.underlay.half_captures import told_opposite
from tortie.doctor.causes.underlay.told_captures import says_plain, told_lost
from tortie.doctor.causes.underlay.traffic_evidence import (
    Row,
    cross_node_dead,
    encapsulation,
    leads,
    lost_on_the_way,
    nodes_silent,
    pod_pings,
    remote_routes,
    rows,
    trouble,
    unencapsulated,
)
from tortie.doctor.picture.facts import Ping, Pool
from tortie.doctor.picture.picture import Picture

_CHECK = (
    r"(?P<name>SourceDestCheck|source_?dest_?check|Source/dest(?:ination)?\.? check|port_security_enabled|"
    r"enableIpForwarding)"
    r"\W{1,8}(?:Value\W{1,6})?(?P<value>true|false|enabled|disabled)"
)
NEEDLES = ("estCheck", "est_check", "est. check", "estination check", "port_security", "nableIpForwarding")
_PAIR = r"ip_address\W{1,6}(?P<cidr>(?:\d{1,3}\.){3}\d{1,3}/\d{1,2})\b"
ID = r"\b(?P<id>i-[0-9a-f]{8,}|eni-[0-9a-f]{8,})\b"


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.bare, self.kinds = remote_routes(picture, "bare"), encapsulation(picture)
        self.on, self.off = _checks(picture)
        self.lost, self.dead = lost_on_the_way(picture, "plain"), cross_node_dead(picture)
        self.pools = unencapsulated(picture)
        self.cloud = picture.said("cloud")
        self.told = told_opposite(picture, "plain") or told_lost(picture, "bare")

    @property
    def plain(self) -> bool:
        """Packets between nodes carry pods' addresses as they are."""
        return bool(self.bare or self.pools or (self.told and says_plain(self.picture)))

    @property
    def device(self) -> str:
        return self.bare[0].device if self.bare else (self.lost[0].device if self.lost else "")

    @property
    def setting(self) -> str:
        return (self.on[0]["name"] or "SourceDestCheck") if self.on else ""

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("setting", self.setting, "SourceDestCheck", "sourceDestCheck", "source/destination check"),
            named("resource", *_instances(self.picture)),
            named("interface", self.device),
            named("pool", *(pool.name for pool in self.pools[:1])),
            named("setting", *_cross_words(self.picture)),
            named("address", *(route.via for route in self.bare[:1])),
            Culprit("setting", "awsSrcDstCheck"),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        shown = (*self.on[:1], *(self.lost or ()), *self.bare[:1], *self.pools[:1])
        return (*shown, *self.told[:2], *self.dead[:2], *self.cloud[:1])

    def found(self, strength: float) -> Finding:
        pool = self.pools[0].name if self.pools else ""
        return found(strength, self.culprits, self.evidence, device=self.device, setting=self.setting, pool=pool)


def encapsulated(seen: Seen) -> Finding | None:
    if not seen.kinds or "bare" in seen.kinds or _cross_subnet(seen.picture):
        return None
    routes = [*remote_routes(seen.picture, "ipip"), *remote_routes(seen.picture, "vxlan")]
    return ruled_out(routes[:1]) if routes else None


def bare_works(seen: Seen) -> Finding | None:
    passed = _only_tunnels_fail(seen.picture)
    return ruled_out(passed) if passed else None


def check_off(seen: Seen) -> Finding | None:
    return ruled_out(seen.off[:1]) if seen.off and not seen.on else None


def lost(seen: Seen) -> Finding | None:
    return seen.found(PROVEN) if seen.plain and seen.lost else None


def node_silent(seen: Seen) -> Finding | None:
    silent = nodes_silent(seen.picture)
    return ruled_out(silent[:1]) if silent and not seen.on else None


def told(seen: Seen) -> Finding | None:
    """Somebody says that they leave one node, and do not come in at the other; in a cloud that is its check."""
    return seen.found(STRONG if seen.cloud else POSSIBLE) if seen.plain and seen.told else None


def check_on(seen: Seen) -> Finding | None:
    """Without a route, and anybody who misses packets, it may be the check of a machine that is no node."""
    if not (seen.on and seen.plain):
        return None
    harms = seen.bare or trouble(seen.picture)
    return seen.found(PROVEN if seen.dead else STRONG if harms else POSSIBLE)


def check_on_and_dead(seen: Seen) -> Finding | None:
    return seen.found(LIKELY) if seen.on and seen.dead else None


def dead_without_tunnel(seen: Seen) -> Finding | None:
    return seen.found(LIKELY if seen.cloud and seen.bare else POSSIBLE) if seen.plain and seen.dead else None


def _only_tunnels_fail(picture: Picture) -> list[Ping]:
    """A pod that answers over a bare route, where every pod that does not is reached through a tunnel."""
    by_kind: dict[tuple[str, bool], list[Ping]] = {}
    routes = {kind: remote_routes(picture, kind) for kind in ("bare", "ipip", "vxlan")}
    for ok in (True, False):
        for ping in pod_pings(picture, ok):
            kind = next((kind for kind, known in routes.items() if any(leads(r, ping.address) for r in known)), "")
            by_kind.setdefault((kind if kind in ("bare", "") else "tunnel", ok), []).append(ping)
    fails = by_kind.get(("tunnel", False)) and not by_kind.get(("bare", False))
    return by_kind.get(("bare", True), [])[:1] if fails else []


def _checks(picture: Picture) -> tuple[list[Row], list[Row]]:
    """Rows that say the cloud drops foreign addresses, and rows that say it does not."""
    on: list[Row] = []
    off: list[Row] = []
    shown = [row for needle in NEEDLES for row in rows(picture, _CHECK, needle=needle)]
    shown += rows(picture, r"(?P<name>)\b(?P<value>true|false)\b", "--output text", "--output table")
    shown += rows(picture, r"(?P<name>)\"Value\"\s*:\s*(?P<value>true|false)\b", "ourceDestCheck", needle='"Value"')
    for row in shown:
        if not row["name"] and "sourcedestcheck" not in row.command.lower():
            continue
        value = row["value"].lower() in ("true", "enabled")
        dropping = not value if row["name"].lower() == "enableipforwarding" else value
        if row["name"].lower() == "port_security_enabled" and _let_pass(picture):
            dropping = False
        (on if dropping else off).append(row)
    return on, off


def _let_pass(picture: Picture) -> bool:
    """Pairs of the port let the pods' network pass."""
    pools = [pool.cidr for pool in picture.of(Pool) if pool.cidr and ":" not in pool.cidr]
    pairs = [row["cidr"] for row in rows(picture, _PAIR, needle="ip_address")]
    return any(_within(pool, pair) for pool in pools for pair in pairs)


def _within(inner: str, outer: str) -> bool:
    try:
        one, other = ip_network(inner, strict=False), ip_network(outer, strict=False)
    except ValueError:
        return False
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]


def _cross_subnet(picture: Picture) -> bool:
    return any("cross" in (pool.ipip + pool.vxlan).lower() for pool in picture.of(Pool))


def _cross_words(picture: Picture) -> list[str]:
    """As the pool or the Installation has it."""
    said = [one.value for one in picture.settings("encapsulation") if "cross" in one.value.lower()]
    return [*said[:1], "CrossSubnet"] if said or _cross_subnet(picture) else []


def _instances(picture: Picture) -> list[str]:
    return list(dict.fromkeys(row["id"] for row in rows(picture, ID, "aws ")))[:2]


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    clouds = {value for one in picture.said("cloud") for value in one.values}
    aws = "aws" in clouds or "SourceDestCheck" in finding.value("setting") or bool(_instances(picture))
    openstack = "openstack" in clouds or "port_security" in finding.value("setting")
    yield do("encapsulate")
    if aws or not openstack:
        yield do("aws")
    if openstack or not aws:
        cidr = next((pool.cidr for pool in picture.of(Pool) if pool.cidr and ":" not in pool.cidr), "")
        yield do("openstack", pod_cidr=cidr)


CAUSE = Cause(
    module=__name__,
    id="cloud-src-dst-check",
    code="TRT9002",
    severity="high",
    explains=("traffic-dead", "service-dead"),
    signs=(),
    look=Seen,
    rules=(
        encapsulated,
        bare_works,
        check_off,
        lost,
        node_silent,
        check_on,
        told,
        check_on_and_dead,
        dead_without_tunnel,
    ),
    fix=fix,
)
