"""TRT2016: a node asks the API's service address with the source address of another network card.

The route decides about the source before kube-proxy's rules translate the address. Over a card that only leads to a NAT
the packet then goes to the API server with an address that its answer does not find back to.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_address, ip_interface
from typing import Final

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    API_PORTS,
    RULE_SIGNS,
    VIP_SIGNS,
    answered,
    direct_answers,
    kubernetes_endpoints,
    vip_rules,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.datastore.proxy_evidence import (
    proxies_down,
)
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Interface, PortTest, Route, Setting
from tortie.doctor.picture.picture import Picture

_SOURCE: Final = lazily(r"\bsrc ((?:\d{1,3}\.){3}\d{1,3})\b")
_SILENT: Final = ("timeout", "deadline")  # whose answer is lost waits; who is refused got one
VM_NAT: Final = "10.0.2.2"  # the gateway of VirtualBox and QEMU: behind it is a NAT of this one machine
_RANGES: Final = ("serviceSubnet", "service-cluster-ip-range", "--service-cluster-ip-range", "serviceCIDR")
_TUNNELS: Final = ("tunl", "vxlan", "cali", "docker", "lo", "kube-ipvs", "nodelocaldns", "flannel", "cni", "wireguard")


class Seen:
    """Where a node's packets to the service address go, and what that node's own address is."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.vips = vips(picture)
        silent = [one for one in vip_troubles(picture) if one.how in _SILENT]
        self.troubles = [one for one in silent if not one.from_pod]
        self.asked = [route for route in picture.of(Route) if route.destination in self.vips and route.device]

    @cached_property
    def rules(self) -> bool | None:
        """Whether the service address is translated; None where nobody looked."""
        shown = vip_rules(self.picture)
        return shown.present if shown else None

    def caught(self, route: Route) -> list[Setting]:
        """Packets to the API server itself that leave with that source: kube-proxy's rules have been at them."""
        source = self.source(route)
        towards = tuple(f" > {end}.{port}: " for end in self.ends for port in API_PORTS)
        shown = [one for one in self.picture.of(Setting) if source and one.scope == "capture"]
        return [one for one in shown if f"IP {source}." in one.value and any(to in one.value for to in towards)]

    @property
    def ends(self) -> list[str]:
        """Where the API server itself is."""
        shown = [end.address for end in kubernetes_endpoints(self.picture)]
        return shown or [test.address for test in direct_answers(self.picture)]

    def source(self, route: Route) -> str:
        told = _SOURCE.search(route.text)
        if told:
            return told[1]
        links = [link for link in self.links(route.host) if link.name == route.device]
        return next((one.split("/")[0] for link in links for one in link.addresses if "." in one), "")

    def own(self, host: str) -> str:
        """The address that the cluster knows this machine by."""
        ips = self.picture.internal_ips()
        known = next((ip for name, ip in ips.items() if name.split(".")[0] == host.split(".")[0]), "") if host else ""
        return known or next((ip for ip in ips.values() if self.picture.interface_with(ip) in self.links(host)), "")

    def links(self, host: str) -> list[Interface]:
        return [link for link in self.picture.interfaces() if not host or not link.host or link.host == host]

    def right(self, host: str) -> Interface | None:
        """The card that leads to the API server, or has the node's own address."""
        own = self.own(host)
        real = [link for link in self.links(host) if not link.name.startswith(_TUNNELS)]
        near = (link for link in real if any(_inside(end, link) for end in self.ends))
        return next((link for link in real if own and own in _plain(link)), None) or next(near, None)

    @cached_property
    def wrong(self) -> Route | None:
        return next((route for route in self.asked if self._is_wrong(route)), None)

    @cached_property
    def fine(self) -> list[Route]:
        """Asked with the node's own address, or over the card that leads to the API server."""
        return [route for route in self.asked if self._is_fine(route)]

    def _is_fine(self, route: Route) -> bool:
        right = self.right(route.host)
        own, source = self.own(route.host), self.source(route)
        return bool(source and source == own) or (right is not None and right.name == route.device)

    def _is_wrong(self, route: Route) -> bool:
        if self._is_fine(route) or route.device.startswith(_TUNNELS):
            return False
        own, source, right = self.own(route.host), self.source(route), self.right(route.host)
        others = (own and source and own != source) or (right is not None and right.name != route.device)
        behind_nat = route.via == VM_NAT and bool(self.ends)
        return bool(others or behind_nat) and not any(_near(end, source) for end in self.ends)

    @cached_property
    def by_default(self) -> Route | None:
        """The default route, where nobody asked for the service address and no other route covers it."""
        for route in self.picture.of(Route):
            covered = any(self._covers(one, route.host) for one in self.picture.of(Route))
            if route.destination == "default" and route.device and not covered and self._is_wrong(route):
                return route
        return None

    def _covers(self, route: Route, host: str) -> bool:
        return (
            route.host == host and "/" in route.destination and any(inside(vip, route.destination) for vip in self.vips)
        )

    def found(self, strength: float, route: Route) -> Finding:
        vip = self.vips[0] if self.vips else ""
        source, own, right = self.source(route), self.own(route.host), self.right(route.host)
        who = culprits(
            named("interface", route.device),
            named("address", source, vip),
            named("node", route.host),
            named("interface", right.name if right else ""),
        )
        ranges = (self.picture.value(name) for name in _RANGES)
        service = next((one for one in ranges if "/" in one and "," not in one), f"{vip}/32" if vip else "")
        shown = vip_rules(self.picture)
        evidence = (
            route,
            *self.caught(route)[:1],
            *self.troubles[:1],
            *direct_answers(self.picture)[:1],
            shown if shown else None,
        )
        return found(
            strength, who, evidence, vip=vip, device=route.device, source=source, node=route.host, own=own,
            nic=right.name if right else "", service=service,
        )  # fmt: skip


def _plain(link: Interface) -> list[str]:
    return [address.split("/")[0] for address in link.addresses]


def _inside(address: str, link: Interface) -> bool:
    try:
        return any(ip_address(address) in ip_interface(one).network for one in link.addresses if "/" in one)
    except ValueError:
        return False


def _near(address: str, source: str) -> bool:
    """The API server is in the same small network as that source: its answer finds back."""
    return bool(source) and address.split(".")[:3] == source.split(".")[:3]


def not_translated(seen: Seen) -> Finding | None:
    """Without kube-proxy's rules every route leads nowhere."""
    down = proxies_down(seen.picture)
    if seen.rules is not False and not down:
        return None
    shown = vip_rules(seen.picture)
    return ruled_out((*down[:1], shown if shown else None))


def answers_now(seen: Seen) -> Finding | None:
    """The service address was tried from that machine, and answered without being told by which address to leave."""
    hosts = {route.host for route in seen.asked}
    tests = [test for test in seen.picture.of(PortTest) if test.address in seen.vips and answered(test)]
    tests = [test for test in tests if not test.source]
    there = [test for test in tests if test.host in hosts and not test.pod]
    return ruled_out(there[-1:]) if there else None


def own_address(seen: Seen) -> Finding | None:
    return ruled_out(seen.fine[:1]) if seen.fine and not seen.wrong else None


def other_card(seen: Seen) -> Finding | None:
    if seen.wrong is None or not seen.troubles:
        return None
    caught = seen.caught(seen.wrong)
    answers = (seen.rules or caught) and direct_answers(seen.picture)
    by_gateway = not seen.own(seen.wrong.host) and seen.right(seen.wrong.host) is None
    if by_gateway and not answers:
        return None
    proven = answers and (caught or seen.own(seen.wrong.host))
    return seen.found(PROVEN if proven else STRONG, seen.wrong)


def default_over_other_card(seen: Seen) -> Finding | None:
    """Nobody asked `ip route get`; what it would say follows from the table."""
    if seen.asked or not seen.troubles or seen.by_default is None:
        return None
    if not (seen.rules and direct_answers(seen.picture)):
        return None
    return seen.found(LIKELY, seen.by_default)


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    yield do("see")
    yield do("route" if finding.value("nic") else "route-somehow")
    yield do("keep")
    yield do("masquerade")


CAUSE = Cause(
    module=__name__,
    id="vip-route-wrong-nic",
    code="TRT2016",
    severity="high",
    explains=(
        "api-unreachable",
        "init-crash",
        "init-stuck",
        "crash-loop",
        "datastore-error",
        "not-ready",
        "log-errors",
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS),
    look=Seen,
    rules=(not_translated, answers_now, own_address, other_card, default_over_other_card),
    fix=fix,
    yields_to=("kube-proxy-down", "apiserver-port-blocked", "apiserver-advertise-wrong", "policy-routing-override"),
)
