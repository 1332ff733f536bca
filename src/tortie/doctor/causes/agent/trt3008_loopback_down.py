"""TRT3008: the loopback interface is down or has lost 127.0.0.1."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import in_a_namespace
from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, node_of, sick_names
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Finding, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, overload
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.picture.facts import Interface, Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Sign

LO_DOWN: Final = Sign("loopback-state-down", "1: lo: <list> state DOWN")
NO_ROUTE: Final = ("network is unreachable", "no route to host", "host is unreachable")
WITH_ADDRESSES: Final = ("addr", "ip a", "ifconfig")  # commands whose answer would show an address
CUTTERS: Final = ("grep", "awk", "head", "sed")  # after these a part is left
BELOW: Final = ("link/", "inet", "loop", "valid_lft", "UP ", "RX ", "Link")


class Seen:
    """lo itself, and who tried to reach 127.0.0.1."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        dials = [hit for hit in picture.hits(DIAL_FAILED) if hit.value("ip").startswith("127.")]
        self.dials = [hit for hit in dials if "refused" not in hit.text]
        links = [link for link in picture.of(Interface) if link.name == "lo"]
        self.links = [link for link in links if not _in_a_namespace(picture, link)]
        self.broken = [link for link in self.links if _is_down(link) or _lost_address(picture, link)]
        self.pings = [one for one in picture.of(Ping) if one.address.startswith("127.") or one.address == "localhost"]
        self.failed = [ping for ping in self.pings if not ping.ok]
        self.down = [hit for hit in picture.hits(LO_DOWN) if not in_a_namespace(hit.command)]

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hosts = [*(link.host for link in self.broken), *(ping.host for ping in self.pings)]
        hosts += hosts_of(self.picture, *self.down[:1], *self.dials[:2])
        return culprits(
            Culprit("interface", "lo"),
            Culprit("address", "127.0.0.1"),
            as_culprits([*hosts, *sick_names(self.picture)]),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        return (*self.broken[:1], *self.down[:1], *self.failed[:1], *self.dials[:2])

    @property
    def node(self) -> str:
        return node_of(self.picture, self.culprits)


def broken(seen: Seen) -> Finding | None:
    if not (seen.broken or seen.down):
        return None
    lost = any(not _is_down(link) for link in seen.broken) and not seen.down
    strength = PROVEN if seen.dials or seen.failed else STRONG
    return found(strength, seen.culprits, seen.evidence, say="lost" if lost else "down", node=seen.node)


def answers_ping(seen: Seen) -> Finding | None:
    return ruled_out(seen.pings[:1]) if any(ping.ok for ping in seen.pings) else None


def ping_fails(seen: Seen) -> Finding | None:
    return found(STRONG, seen.culprits, seen.evidence, node=seen.node) if seen.failed else None


def up_with_address(seen: Seen) -> Finding | None:
    return ruled_out(seen.links[:1]) if any(link.addresses for link in seen.links) else None


def no_route(seen: Seen) -> Finding | None:
    unroutable = [hit for hit in seen.dials if any(word in hit.text.lower() for word in NO_ROUTE)]
    return found(LIKELY, seen.culprits, unroutable[:2], node=seen.node) if unroutable else None


def times_out(seen: Seen) -> Finding | None:
    if seen.dials and not overload(seen.picture):
        return found(POSSIBLE, seen.culprits, seen.dials[:2], node=seen.node)
    return None


def _in_a_namespace(picture: Picture, link: Interface) -> bool:
    """A pod's lo may be down until its runtime has finished; the machine's is another one."""
    exhibit = exhibit_at(picture, link.place)
    return exhibit is not None and in_a_namespace(exhibit.command)


def _is_down(link: Interface) -> bool:
    return link.state.upper() == "DOWN"


def _lost_address(picture: Picture, link: Interface) -> bool:
    """No 127.0.0.1 on lo, in an answer that would have shown it."""
    if any(address.startswith("127.") for address in link.addresses):
        return False
    exhibit = exhibit_at(picture, link.place)
    if exhibit is None or not any(word in exhibit.command for word in WITH_ADDRESSES) or " -6" in exhibit.command:
        return False
    return not any(word in exhibit.command for word in CUTTERS) and _is_whole(exhibit, link)


def _is_whole(exhibit: Exhibit, link: Interface) -> bool:
    """Below its first line stands what belongs to lo; somebody who leaves that out leaves its address out, too."""
    lines = {exhibit.number(index): line.lstrip() for index, line in enumerate(exhibit.lines)}
    first = lines.get(link.place.first, "")
    brief = first.startswith("lo ") and "Link encap" not in first  # `lo  UNKNOWN  127.0.0.1/8`: one line is all
    return brief or lines.get(link.place.first + 1, "").startswith(BELOW)


CAUSE = Cause(
    module=__name__,
    id="loopback-down",
    code="TRT3008",
    severity="high",
    explains=("killed-by-liveness", "crash-loop", "not-ready", "felix-not-ready", "restarts"),
    signs=(LO_DOWN, DIAL_FAILED, *NODE_SIGNS),
    look=Seen,
    rules=(broken, answers_ping, ping_fails, up_with_address, no_route, times_out),
)
