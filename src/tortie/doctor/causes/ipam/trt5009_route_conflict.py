"""TRT5009: an address is handed out that another interface of the host already has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.ipam.ipam_evidence import host_local
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import edit_agent
from tortie.doctor.picture.facts import Event, Pod, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

EXISTS: Final = Sign(
    "route-conflict-exists",
    "Dst: <cidr>, Scope: <list_more> already exists for an interface other than '<interface>'",
)
EXISTS_CUT: Final = Sign("route-conflict-exists-cut", "error adding host side routes for interface: <interface>")
FILE_EXISTS: Final = Sign("route-conflict-felix", "Failed to add route…file exists")
NOT_ASSIGNED: Final = Sign("ipam-ip-not-assigned", "<ip> is not assigned")
IN_USE: Final = Sign("ipam-ip-in-use", "IP <ip> is in use")
OF_PODS: Final = ("cali", "veth", "cni", "lxc", "tap")  # ends of pods; never delete another link


class Seen:
    """The route that was refused, who has its address, and what IPAM knows of it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = picture.hits(EXISTS) or picture.hits(EXISTS_CUT)
        self.felix = picture.hits(FILE_EXISTS)
        self.ip = _address(self.hits[-1]) if self.hits else ""
        self.interface = self.hits[-1].value("interface").strip(",:") if self.hits else ""
        self.used = self._about_it(IN_USE)
        self.free = self._about_it(NOT_ASSIGNED)

    def _about_it(self, sign: Sign) -> list[Hit]:
        return [hit for hit in self.picture.hits(sign) if hit.value("ip") == self.ip]

    @cached_property
    def routes(self) -> list[Route]:
        """The address on another interface than the new pod's."""
        there = [route for route in self.picture.of(Route) if route.destination.partition("/")[0] == self.ip]
        return [route for route in there if route.device != self.interface]

    @cached_property
    def holders(self) -> list[Pod]:
        return [pod for pod in self.picture.of(Pod) if self.ip and pod.ip == self.ip]

    @cached_property
    def node(self) -> str:
        """Where the new pod starts: by kubelet's event, by the pod or the route that is in its way, by the log."""
        events = [event.host for event in self.picture.of(Event) if "host side routes" in event.message]
        others = [*(pod.node for pod in self.holders[-1:]), *(route.host for route in self.routes[-1:])]
        return next((name for name in (*events, *others) if name), "") or self._host

    @property
    def _host(self) -> str:
        """A shell may be one of a machine that is no node."""
        host, nodes = self.hits[-1].host, self.picture.nodes_now()
        return host if not nodes or host in nodes else ""

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("address", self.ip),
            named("cidr", f"{self.ip}/32" if self.ip else ""),
            named("address", *(_address(hit) for hit in self.hits[:10])),
            named("interface", *(route.device for route in self.routes[-1:]), self.interface),
            named("pod", *(pod.name for pod in self.holders[-1:])),
            named("node", self.node),
        )


def _address(hit: Hit) -> str:
    return hit.value("cidr").partition("/")[0]


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, seen.hits)
    return ruled_out(running[:2]) if running else None


def assigned_to_another(seen: Seen) -> Finding | None:
    return _conflict(seen, POSSIBLE) if seen.hits and seen.used and not seen.free else None


def held_by_another(seen: Seen) -> Finding | None:
    return _conflict(seen, PROVEN) if seen.hits and (seen.free or seen.routes or seen.holders) else None


def route_refused(seen: Seen) -> Finding | None:
    full = [hit for hit in seen.hits if "argument list too long" in hit.line]  # the kernel had no room: not a conflict
    return _conflict(seen, STRONG) if seen.hits and not full else None


def felix_refused(seen: Seen) -> Finding | None:
    return found(POSSIBLE, named("node", seen.felix[0].host), seen.felix[:2]) if seen.felix else None


def _conflict(seen: Seen, strength: float) -> Finding:
    pod = seen.holders[-1] if seen.holders else None
    other = seen.routes[-1].device if seen.routes else ""
    evidence = (*seen.routes[:1], *seen.free[:1], *seen.used[:1], *seen.holders[:1], *seen.hits[:2])
    return found(
        strength, seen.culprits, evidence, ip=seen.ip, interface=seen.interface, other=other, node=seen.node,
        pod=pod.name if pod else "", pod_namespace=pod.namespace if pod else "",
        holder=other or (pod.name if pod else ""),
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look")
    other = finding.value("other")
    if finding.value("pod"):
        yield do("recreate")
    else:
        yield do("recreate-if")
        if not other or other.startswith(OF_PODS):
            yield do("orphan")
    if not picture.exhibits or host_local(picture):
        yield do("host-local")
        yield from edit_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="route-conflict",
    code="TRT5009",
    severity="medium",
    explains=("sandbox-failed", "pod-pending", "traffic-dead", "log-errors"),
    signs=(EXISTS, EXISTS_CUT, FILE_EXISTS, NOT_ASSIGNED, IN_USE),
    look=Seen,
    rules=(served, assigned_to_another, held_by_another, route_refused, felix_refused),
    fix=fix,
)
