"""The kernel's side of the dataplane: looks at it, and carries steps out. In the network namespace of the thread.

Tables of nftables are loaded elsewhere, because a program does it; here they are only looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from socket import if_nametoindex
from typing import Final, NamedTuple

from tortie.dataplane.nat import TABLE
from tortie.dataplane.plan import Step
from tortie.dataplane.things import (
    TUNNELS,
    Device,
    DeviceAddress,
    Forwarding,
    Neighbour,
    Observed,
    Route,
    SeenDevice,
    SeenTable,
    Setting,
)
from tortie.host import route_table, tunnels, wiring
from tortie.host.kernel_settings import read_setting, write_setting
from tortie.host.links import addressed_links
from tortie.host.netlink import Netlink, NetlinkError, Request
from tortie.host.nftables import open_netfilter, read_table
from tortie.model.errors import TortieError
from tortie.model.network import IP, Family, Interface

TIMEOUT_S: Final = 10.0
_BATCH: Final = 100
_FAMILIES: Final[tuple[Family, ...]] = (4, 6)


class Failure(NamedTuple):
    step: Step
    error: TortieError


def look_at_links() -> tuple[Interface, ...]:
    with Netlink() as kernel:
        return addressed_links(kernel, time.monotonic() + TIMEOUT_S)


def look(links: Sequence[Interface], settings: Iterable[str], *, tables: bool, mtu: str | None) -> Observed:
    """Everything else, with the links as they were just seen. `settings` are the paths of those to look at."""
    deadline = time.monotonic() + TIMEOUT_S
    names = {link.index: link.name for link in links}
    with Netlink() as kernel:
        found = tunnels.vxlans(kernel, deadline)
        routes = route_table.table_routes(kernel, deadline)
        neighbours = wiring.permanent_neighbours(kernel, deadline)
        ours = any(link.name in TUNNELS.values() for link in links)
        forwardings = tunnels.forwardings(kernel, deadline) if ours else ()
    return Observed(
        {link.name: _device(link, found[link.name], names) for link in links if link.name in found},
        frozenset(_route(route, names) for route in routes),
        frozenset(
            Neighbour(names[index], _ip(packed), mac) for index, packed, mac in neighbours if index in names and mac
        ),
        frozenset(Forwarding(names[entry.index], entry.mac, entry.to) for entry in forwardings if entry.index in names),
        {path: read_setting(path) for path in settings},
        look_at_tables() if tables else {},
        mtu,
    )


def look_at_tables() -> dict[Family, SeenTable | None]:
    deadline = time.monotonic() + TIMEOUT_S
    with open_netfilter() as kernel:
        found = {family: read_table(kernel, family, TABLE, deadline) for family in _FAMILIES}
    return {family: SeenTable(*table) if table else None for family, table in found.items()}


def carry_out(steps: Sequence[Step]) -> list[Failure]:
    """All of them, in their order; what fails does not keep the others from being done."""
    failures: list[Failure] = []
    with Netlink() as kernel:
        indexes = _Indexes(kernel)
        for group in _groups(steps):
            if isinstance(group[0].thing, Setting):
                failures += _write_settings(group)
            else:
                failures += _ask(kernel, group, indexes)
            if isinstance(group[0].thing, Device):
                indexes = _Indexes(kernel)
    return failures


def is_moot(step: Step) -> bool:
    """Whether the link that a step is about has gone, as a pod's may at any moment: then nothing is left to be done,
    and the kernel has told of it.
    """
    thing = step.thing
    if isinstance(thing, Setting):
        name = link_of(thing)
    elif isinstance(thing, Route | Neighbour | Forwarding | DeviceAddress):
        name = thing.device
    else:
        return False
    try:
        return bool(name) and if_nametoindex(name) == 0
    except OSError:
        return True


def link_of(setting: Setting) -> str:
    """net/ipv4/conf/NAME/forwarding; "" for settings of the whole machine."""
    parts = setting.path.split("/")
    return parts[3] if len(parts) == 5 else ""


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps of one kind one after the other can be asked for at once; a new device has to be there before the rest."""
    group: list[Step] = []
    for step in steps:
        alone = isinstance(step.thing, Device)
        if group and (alone or type(step.thing) is not type(group[0].thing) or len(group) == _BATCH):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _write_settings(steps: Sequence[Step]) -> Iterator[Failure]:
    for step in steps:
        assert isinstance(step.thing, Setting)
        try:
            write_setting(step.thing.path, step.thing.value)
        except TortieError as error:
            yield Failure(step, error)


def _ask(kernel: Netlink, steps: Sequence[Step], indexes: _Indexes) -> Iterator[Failure]:
    """At once; if that fails, one by one, to find out which it is. All requests may be repeated."""
    try:
        requests = [_request(step, indexes) for step in steps]
        kernel.request_all(requests, time.monotonic() + TIMEOUT_S)
        return
    except (NetlinkError, _NoLink):
        pass
    for step in steps:
        try:
            kernel.request_all([_request(step, indexes)], time.monotonic() + TIMEOUT_S)
        except TortieError as error:
            yield Failure(step, error)


class _NoLink(TortieError):
    pass


class _Indexes:
    """Numbers of links by their names, asked for when they are first needed."""

    def __init__(self, kernel: Netlink) -> None:
        self._kernel = kernel
        self._known: Mapping[str, int] | None = None

    def __call__(self, name: str) -> int:
        if self._known is None:
            links = addressed_links(self._kernel, time.monotonic() + TIMEOUT_S)
            self._known = {link.name: link.index for link in links}
        if name not in self._known:
            raise _NoLink(f"cannot set what belongs to {name}", "there is no such link any more", "it is tried again")
        return self._known[name]


def _request(step: Step, index: Callable[[str], int]) -> Request:
    thing, delete = step.thing, step.verb == "delete"
    if isinstance(thing, Device):
        request = _device_request(step, thing, index)
    elif isinstance(thing, DeviceAddress):
        make = wiring.delete_address if delete else wiring.add_address
        request = make(index(thing.device), thing.cidr)
    elif isinstance(thing, Route):
        route = _kernel_route(thing, index)
        request = route_table.drop_route(route) if delete else route_table.put_route(route)
    elif isinstance(thing, Neighbour):
        number = index(thing.device)
        request = wiring.delete_neighbour(number, thing.ip) if delete else wiring.set_neighbour(number, *thing[1:])
    else:
        assert isinstance(thing, Forwarding)
        entry = tunnels.Forwarding(index(thing.device), thing.mac, thing.to)
        request = tunnels.delete_forwarding(entry) if delete else tunnels.set_forwarding(entry)
    if delete:
        return wiring.even_if_gone(request)
    return wiring.even_if_there(request) if isinstance(thing, DeviceAddress) else request


def _device_request(step: Step, device: Device, index: Callable[[str], int]) -> Request:
    if step.verb == "delete":
        return wiring.delete_link(device.name)
    if step.verb == "change":
        return wiring.set_link(device.name, up=True, mtu=device.mtu)
    parts = tunnels.Vxlan(device.vni, device.port, device.local, index(device.parent))
    return tunnels.add_vxlan(device.name, parts, mac=device.mac, mtu=device.mtu)


def _device(link: Interface, parts: tunnels.Vxlan, names: Mapping[int, str]) -> SeenDevice:
    parent = names.get(parts.parent or 0, "")
    device = Device(
        *(link.name, parts.vni, parts.port, parts.local, parent, link.mac, link.mtu),
        learning=parts.learning,
        group=parts.group,
        asks=parts.asks,
    )
    return SeenDevice(device, "up" in link.flags, link.addresses)


def _route(route: route_table.TableRoute, names: Mapping[int, str]) -> Route:
    usual = route.kind in (route_table.UNICAST, route_table.BLACKHOLE) and not route.several
    return Route(
        route.destination,
        route.metric,
        route.protocol,
        names.get(route.interface or 0, "?") if route.kind == route_table.UNICAST else "",
        route.gateway,
        route.on_link,
        route.scope == route_table.THIS_LINK,
        route.source,
        not usual,
    )


def _kernel_route(route: Route, index: Callable[[str], int]) -> route_table.TableRoute:
    kind = route_table.UNICAST if route.device else route_table.BLACKHOLE
    return route_table.TableRoute(
        route.destination,
        route.metric,
        route.protocol,
        0 if route.odd else kind,
        route_table.THIS_LINK if route.this_link else route_table.EVERYWHERE,
        index(route.device) if route.device else None,
        route.gateway,
        route.on_link,
        route.source,
        route.odd,
    )


def _ip(packed: bytes) -> IP:
    return IPv4Address(packed) if len(packed) == 4 else IPv6Address(packed)
