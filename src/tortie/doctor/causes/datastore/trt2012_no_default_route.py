"""TRT2012: no route covers the API's service address, so the packet is refused before it can be translated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    RULE_SIGNS,
    VIP_SIGNS,
    bad_node,
    service_range,
    vip_rules,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.underlay.pod_gateway import GATEWAY, GATEWAY_SIGNS, unanswered
from tortie.doctor.causes.underlay.traffic_evidence import leads
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text

RTNETLINK: Final = Sign("trt2012-rtnetlink", "RTNETLINK answers: Network is unreachable")
# Whole main tables: not filtered, not of one address, not of another table.
_TABLE: Final = lazily(
    r"(?:ssh \S{1,80} ['\"]?)?(?:sudo )?(?:/\S{1,40}/)?"
    r"(?:ip (?:-(?:4|c|br|brief|d|o|N) ){0,4}r(?:o|oute)?(?: (?:s|show|l|ls|list))?(?: table (?:main|254))?"
    r"|route(?: -[ne46]{1,4}){0,2}|netstat(?: -[rnv4]{1,4}){1,3})['\"]?"
)
_ASKED: Final = lazily(r"route get ((?:\d{1,3}\.){3}\d{1,3})")
_VIRTUAL: Final = lazily(r"cali|tunl|vxlan|docker|cni|veth|br-|lo$|kube-|flannel|wireguard|wg|virbr")


class Seen:
    """Who failed on the service address and how, the routes that were shown, and what the kernel said."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.troubles = vip_troubles(picture)
        self.refused = [trouble for trouble in self.troubles if trouble.how == "unreachable"]
        self.known = vips(picture)
        tables = _tables(picture)
        self.full = [exhibit for exhibit in tables if _leads(picture, exhibit, self.vip)]
        self.bare = [exhibit for exhibit in tables if exhibit not in self.full]

    @cached_property
    def asked(self) -> list[Hit]:
        hits = self.picture.hits(RTNETLINK)
        return [hit for hit in hits if "route get" in hit.command or any(vip in hit.command for vip in self.known)]

    @cached_property
    def vip(self) -> str:
        named_in = _ASKED.search(self.asked[0].command) if self.asked else None
        return self.known[0] if self.known else named_in[1] if named_in else ""

    @cached_property
    def node(self) -> str:
        hosts = (
            *(hit.host for hit in self.asked),
            *(exhibit.host for exhibit in self.bare),
            *(trouble.host for trouble in self.refused),
            self.waiting,
        )
        return bad_node(self.picture, *hosts)

    @property
    def waiting(self) -> str:
        """The one node whose pods wait for their network."""
        nodes = {pod.node for pod in self.picture.pods_now() if pod.status == "ContainerCreating" and pod.node}
        return nodes.pop() if len(nodes) == 1 and self.refused else ""

    @property
    def uplink(self) -> str:
        """The one real link that the node has routes over."""
        there = [route for route in self.picture.of(Route) if route.device and route.host in (self.node, "")]
        of_pods = {route.device for route in there if GATEWAY in (route.destination, route.via)}  # their own tables
        links = {route.device for route in there if not _VIRTUAL.match(route.device)} - of_pods
        return links.pop() if len(links) == 1 else ""


def _tables(picture: Picture) -> list[Exhibit]:
    """Complete main tables of hosts, by their commands or by the head that only such a table has."""

    def command(exhibit: Exhibit) -> str:
        return (exhibit.command or exhibit.form).split(";")[0].split("&&")[0].strip()

    shown = (exhibit for exhibit in picture.exhibits if exhibit.lines and _TABLE.fullmatch(command(exhibit)))
    return [exhibit for exhibit in shown if GATEWAY not in exhibit.text]  # that way leads out of a pod


def _leads(picture: Picture, exhibit: Exhibit, vip: str) -> bool:
    """Whether a table has a default route, or another one that covers this address."""
    starts = (line.split()[:1] for line in exhibit.lines)
    if any(start in (["default"], ["0.0.0.0/0"], ["0.0.0.0"]) for start in starts):
        return True
    shown = exhibit.place(0, len(exhibit.lines))
    there = [
        route
        for route in picture.of(Route)
        if route.place.source == shown.source and shown.first <= route.place.first <= shown.last and not route.kind
    ]
    return bool(vip) and any(leads(route, vip) for route in there)


def unreachable(seen: Seen) -> Finding | None:
    if not seen.refused and not (seen.asked and (seen.known or seen.bare)):
        return None
    rules = vip_rules(seen.picture)
    strength = PROVEN if seen.refused and (seen.bare or seen.asked) else STRONG
    has_route = seen.full and all(exhibit.host in (seen.node, "") for exhibit in seen.full)
    if has_route and not seen.bare and not seen.asked:
        strength = POSSIBLE  # the card was not up yet when that was said
    blamed = culprits(named("address", seen.vip), Culprit("rule", "default route"), named("node", seen.node))
    shown = [exhibit.place(0, len(exhibit.lines)) for exhibit in seen.bare[:1]]
    return found(
        strength, blamed, (*shown, *seen.asked[:1], rules.place if rules else None, *seen.refused[:2]),
        say="no-default" if seen.bare else "unreachable",
        vip=seen.vip, node=seen.node, services=service_range(seen.picture, seen.vip), interface=seen.uplink,
    )  # fmt: skip


def gateway_silent(seen: Seen) -> Finding | None:
    """Pods ask for their gateway; a kernel without a route that leads there answers nobody."""
    asked = unanswered(seen.picture)
    if not asked or not seen.bare or seen.full:
        return None
    shown = [exhibit.place(0, len(exhibit.lines)) for exhibit in seen.bare[:1]]
    blamed = culprits(Culprit("rule", "default route"), named("address", GATEWAY), named("node", seen.node))
    return found(
        PROVEN, blamed, (*shown, *asked[:2]), vip=seen.vip, node=seen.node, gateway=GATEWAY,
        services=service_range(seen.picture, seen.vip), interface=seen.uplink,
    )  # fmt: skip


def another_error(seen: Seen) -> Finding | None:
    if not seen.troubles:
        return None
    said = seen.picture.said("no-default-route")
    how = Text(__name__, f"word {seen.troubles[0].how}")
    return ruled_out((seen.troubles[0], *said[:1]), how=how)


def route_there(seen: Seen) -> Finding | None:
    ways = [
        route for route in seen.picture.of(Route) if route.destination in seen.known and (route.device or route.via)
    ]
    shown = [exhibit.place(0) for exhibit in seen.full[:1]]
    return ruled_out((*ways[:1], *shown)) if ways or shown else None


def fix(_picture: Picture, finding: Finding) -> Iterator[Do]:
    there = bool(finding.value("node"))
    if finding.rule == "gateway-silent":
        yield do("default")
        yield do("keep")
        return
    yield do("look-there" if there else "look")
    yield do("route-there" if there else "route")
    yield do("keep")


CAUSE = Cause(
    module=__name__,
    id="no-default-route",
    code="TRT2012",
    severity="high",
    explains=(
        "api-unreachable",
        "init-crash",
        "init-stuck",
        "crash-loop",
        "datastore-error",
        "sandbox-failed",
        "controllers-failing",
        "traffic-dead",
        "service-dead",
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS, RTNETLINK, *GATEWAY_SIGNS),
    look=Seen,
    rules=(unreachable, gateway_silent, another_error, route_there),
    fix=fix,
)
