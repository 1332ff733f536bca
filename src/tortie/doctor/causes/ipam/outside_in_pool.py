"""Services outside of the cluster whose addresses lie in a pool: what is in a pool gets no NAT, and never answers pods.

The rest of the world is reached, and the machines reach the service; whoever only looks at natOutgoing finds it on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import troubles
from tortie.doctor.causes.ipam.bare_sources import bare_sources, pod_addresses, told
from tortie.doctor.causes.ipam.captured_outside import captured_outside
from tortie.doctor.causes.ipam.trial_outcomes import silent, worked
from tortie.doctor.causes.underlay.traffic_evidence import uplink
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Ping, Pool, PortTest, Route
from tortie.doctor.picture.host_pods import on_host_network
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_INSIDE: Final = (".svc", ".cluster.local", "localhost")
_ASKED: Final = lazily(
    r"\b(?:Trying |[Cc]onnecting to [^\s(]{0,100} ?\(|PING [^\s(]{1,100} ?\()(\[?[0-9a-fA-F.:]{3,45})"
)
_OUTSIDE: Final = lazily(
    r"\b(?:outside|external|legacy|on-?prem\w*|bare.?metal|vms?|mainframe|partner|vpn|not (?:in|part of) the cluster)\b"
    r"|集群外|外部|虚拟?机|物理机|机房|专线|云内|共享服务|第三方|对端系统|老系统",
    re.IGNORECASE,
)
_LINES: Final = 400


class Outsider(NamedTuple):
    """An address in a pool that is no pod's, tried from pods in vain."""

    address: str
    pool: Pool
    sure: int  # 3 proven, 2 strong, 1 likely, 0 possible
    places: tuple[Place, ...]
    network: str = ""  # that it is in, where this is shown
    pods: str = ""  # the pool that pods have their addresses of, where this one is switched off

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("cidr", self.pool.cidr), named("address", self.address), named("cidr", self.network),
            named("pool", self.pool.name),
        )  # fmt: skip


def outsiders(picture: Picture) -> list[Outsider]:
    """Also of a pool that is switched off: nobody gets an address of it, and what lies in it is still left without NAT.

    Where NAT is off for a pool, somebody may have wanted exactly that.
    """
    pools = [pool for pool in picture.pools_now() if pool.cidr and pool.nat is not False]
    if not pools or all(pool.disabled for pool in pools):
        return []
    trials: list[Ping | PortTest] = [*picture.of(Ping), *picture.of(PortTest)]
    tried = list(_outsiders(picture, pools, [*trials, *_logged(picture)])) if trials else []
    reached = {one.address for one in trials if one.pod and worked(one)}
    seen = (one for one in captured_outside(picture, pools) if one.bare.target not in reached)
    shown = [
        Outsider(one.bare.target, one.pool, 3, (one.pool.place, one.place, one.bare.place), one.network) for one in seen
    ]
    pods = next(pool.cidr for pool in pools if not pool.disabled)
    return [one._replace(pods=pods) if one.pool.disabled else one for one in (*shown, *tried)]


def _logged(picture: Picture) -> list[PortTest]:
    """A pod's program could not connect: its log is as good as a trial."""
    pods = {pod.name for pod in picture.pods_now() if pod.ip and not on_host_network(pod.name)}
    found = []
    for trouble in troubles(picture):
        words = trouble.command.replace("/", " ").split()
        pod = next((word for word in words if word in pods), "") if "logs" in words else ""
        if pod and not trouble.tried:
            found.append(
                PortTest(trouble.place, trouble.address, trouble.port, trouble.how, pod=pod, text=trouble.line)
            )
    return found


def _outsiders(picture: Picture, pools: list[Pool], trials: list[Ping | PortTest]) -> Iterator[Outsider]:
    bare = {one.target: one for one in bare_sources(picture)}
    last = {(one.address, one.pod): one for one in trials if one.pod or (one.address in bare and not one.host)}
    taken = {*pod_addresses(picture), *picture.internal_ips().values()}
    for trial in last.values():
        for address in _addresses(picture, trial) if silent(trial) else ():
            pool = next((pool for pool in pools if inside(address, pool.cidr)), None)
            if pool is None or address in taken:
                continue
            taken.add(address)
            hosts = [
                one for one in trials if one is not trial and not one.pod and one.address in (address, trial.address)
            ]
            reached = next((one for one in reversed(hosts) if worked(one)), None)
            if hosts and not reached:
                continue  # nobody gets there
            outside = _outside(picture, trial.address, address)
            left = bare[address].place if address in bare else next((one.place for one in told(picture)), None)
            sure = _sure(picture, pool, reached is not None, outside is not None, left is not None)
            places = (pool.place, trial.place, reached.place if reached else None, left, outside)
            yield Outsider(address, pool, sure, tuple(place for place in places if place))


def _sure(picture: Picture, pool: Pool, reached: bool, outside: bool, left: bool) -> int:
    """Routed without a tunnel, packets between pods look the same on a capture."""
    tunnelled = "always" in (pool.ipip.lower(), pool.vxlan.lower())
    if outside and reached:
        return 3 if left else 2
    if left and (outside or (reached and tunnelled)):
        return 2
    if reached and _all_pods_shown(picture):
        return 1
    return 0


def _all_pods_shown(picture: Picture) -> bool:
    lists = [
        *picture.commands("kubectl", "get", "po", "-A"),
        *picture.commands("kubectl", "get", "po", "--all-namespaces"),
    ]
    return any("wide" in one.command and "|" not in one.command and len(one.lines) > 1 for one in lists)


def _addresses(picture: Picture, trial: Ping | PortTest) -> list[str]:
    """What was tried: an address, or what its name stands for, by a lookup or by the tool's own words."""
    if not any(letter.isalpha() for letter in trial.address) or ":" in trial.address:
        return [trial.address]
    found = [setting.value for setting in picture.settings(trial.address, "dns")]
    exhibit = exhibit_at(picture, trial.place)
    for line in exhibit.lines[:_LINES] if exhibit else ():
        if match := _ASKED.search(line[:300]):
            address = match[1].strip("[]")
            found.append(address.rpartition(":")[0] if address.count(":") == 1 else address.rstrip(":."))
    return list(dict.fromkeys(found))


def _outside(picture: Picture, name: str, address: str) -> Place | None:
    """What says that this is no pod: a name that is none of the cluster's, a way over a router, or a person."""
    routers = {*picture.internal_ips().values()}
    for route in picture.of(Route):
        there = route.destination.partition("/")[0] == address and route.via and route.via not in routers
        if there and uplink(route.device):
            return route.place
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines[:_LINES] if exhibit.prose else ()):
            if (address in line or name in line) and _OUTSIDE.search(line[:1000]):
                return exhibit.place(index)
    if name == address or "." not in name or any(part in name for part in _INSIDE):
        return None
    return next((setting.place for setting in picture.settings(name, "dns")), None) or _tried(picture, name)


def _tried(picture: Picture, name: str) -> Place | None:
    return next((test.place for test in picture.of(PortTest) if test.address == name), None)
