"""From how it is to how it shall be: the steps, in their order, each with its reason. Pure.

What is not ours is never touched. Ours are: routes with Felix's protocol; routes, neighbours and forwarding entries on
our tunnels; routes and neighbours on links of pods, except those of the kernel itself and of BIRD. On a link of a pod
that has only just come, what is not known is left alone for a while: whoever wires the pod may be faster than the news
of its endpoint.

What is new is set before what is old is taken away, so that a way that stays is there all the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final, NamedTuple, TypeVar

from tortie.dataplane.nat import MARK
from tortie.dataplane.things import (
    BIRD,
    FELIX,
    KERNEL,
    TUNNELS,
    Concern,
    Desired,
    Device,
    DeviceAddress,
    Forwarding,
    NatTable,
    Neighbour,
    Observed,
    PodMtu,
    Route,
    SeenTable,
    Thing,
    Verb,
)
from tortie.model.network import Address, Family

T = TypeVar("T", Neighbour, Forwarding, DeviceAddress)

_OURS: Final = frozenset(TUNNELS.values())


class Step(NamedTuple):
    verb: Verb
    thing: Thing
    why: str

    def __str__(self) -> str:
        name = self.thing.name if isinstance(self.thing, Device) else self.thing
        if isinstance(self.thing, DeviceAddress):
            name = f"address {self.thing.cidr} dev {self.thing.device}"
        return f"{self.verb} {name} ({self.why})"


class Plan(NamedTuple):
    steps: tuple[Step, ...] = ()
    spared: tuple[Route, ...] = ()  # not known, and not old enough to be taken away
    concerns: tuple[Concern, ...] = ()


def plan(
    wish: Desired,
    seen: Observed,
    *,
    young: frozenset[str] = frozenset(),
    loaded: Mapping[Family, str] | None = None,
) -> Plan:
    """`young`: links that have just come. `loaded`: fingerprints of tables as they were when we loaded them."""
    dead = _to_be_replaced(wish, seen) | _to_be_deleted(wish, seen)
    left = _without(seen, dead)
    spared = tuple(sorted(route for route in _unknown_routes(wish, left) if route.device in young))
    steps = (
        *_settings(wish, seen),
        *_devices(wish, seen),
        *_new(wish.neighbours, left.neighbours),
        *_new(wish.forwardings, left.forwardings),
        *_new_routes(wish, left),
        *_old_routes(wish, left, young),
        *_old_entries(wish, left, young),
        *_gone_devices(wish, seen),
        *_tables(wish, seen, loaded or {}),
        *_mtu(wish, seen),
    )
    return Plan(steps, spared, tuple(_foreign_tables(wish, seen)))


def is_ours(route: Route, wish: Desired) -> bool:
    if route.protocol in (KERNEL, BIRD):
        return False
    if route.protocol == FELIX or route.device in _OURS:
        return True
    if route.device in wish.workloads or (route.device and route.device.startswith(wish.workload_prefix)):
        return wish.external_removed or route.protocol in wish.protocols
    return False


def _settings(wish: Desired, seen: Observed) -> Iterator[Step]:
    """What the kernel has no such setting for is left out: IPv6 may be switched off."""
    for setting, why in wish.settings.items():
        value = seen.settings.get(setting.path)
        if value is not None and value != setting.value:
            yield Step("change", setting, why)


def _same_device(wish: Device, seen: Device) -> bool:
    return wish._replace(mtu=0) == seen._replace(mtu=0)


def _to_be_replaced(wish: Desired, seen: Observed) -> set[str]:
    there = ((device, seen.devices.get(name)) for name, device in wish.devices.items())
    return {device.name for device, found in there if found and not _same_device(device, found.device)}


def _to_be_deleted(wish: Desired, seen: Observed) -> set[str]:
    return {name for name in seen.devices if name in _OURS and name not in wish.devices and name not in wish.left_alone}


def _without(seen: Observed, dead: set[str]) -> Observed:
    """What is left when devices have been deleted: all on them goes with them."""
    if not dead:
        return seen
    return seen._replace(
        routes=frozenset(route for route in seen.routes if route.device not in dead),
        neighbours=frozenset(entry for entry in seen.neighbours if entry.device not in dead),
        forwardings=frozenset(entry for entry in seen.forwardings if entry.device not in dead),
    )


def _devices(wish: Desired, seen: Observed) -> Iterator[Step]:
    for name, device in wish.devices.items():
        found = seen.devices.get(name)
        if found is not None and not _same_device(device, found.device):
            yield Step("delete", found.device, f"it is to be another one: {_differences(device, found.device)}")
            found = None
        if found is None:
            yield Step("add", device, "pools with VXLAN need it")
        elif found.device.mtu != device.mtu or not found.up:
            why = "it is down" if not found.up else f"its MTU is {found.device.mtu}, and is to be {device.mtu}"
            yield Step("change", device, why)
        yield from _addresses(wish, name, found.addresses if found else ())


def _addresses(wish: Desired, name: str, found: tuple[Address, ...]) -> Iterator[Step]:
    """Link-local ones are the kernel's own."""
    there = {DeviceAddress(name, each.cidr) for each in found if not each.cidr.ip.is_link_local}
    wanted = {address: why for address, why in wish.addresses.items() if address.device == name}
    yield from _new(wanted, there)
    for address in sorted(there - set(wanted), key=str):
        yield Step("delete", address, "it is not this node's address in the tunnel")


def _differences(wish: Device, seen: Device) -> str:
    """Which parts are not as they shall be."""
    pairs = zip(Device._fields, wish, seen, strict=True)
    return ", ".join(f"{name} {old} instead of {new}" for name, new, old in pairs if new != old and name != "mtu")


def _new(wanted: Mapping[T, str], there: Set[T]) -> Iterator[Step]:
    for thing, why in wanted.items():
        if thing not in there:
            yield Step("add", thing, why)


def _new_routes(wish: Desired, left: Observed) -> Iterator[Step]:
    missing = [route for route in wish.routes if route not in left.routes]
    taken = {route.slot for route in left.routes} if missing else set()
    for route in missing:
        yield Step("change" if route.slot in taken else "add", route, wish.routes[route])


def _unknown_routes(wish: Desired, left: Observed) -> Iterator[Route]:
    """Ours by the rules, and not wished. What stands in the place of a wished one is replaced, not deleted."""
    unknown = [route for route in left.routes if is_ours(route, wish) and route not in wish.routes]
    slots = {route.slot for route in wish.routes} if unknown else set()
    return (route for route in unknown if route.slot not in slots)


def _old_routes(wish: Desired, left: Observed, young: frozenset[str]) -> Iterator[Step]:
    for route in sorted(_unknown_routes(wish, left), key=str):
        if route.device in young or route.device in wish.left_alone:
            continue
        yield Step("delete", route, "nothing in the datastore asks for it")


def _old_entries(wish: Desired, left: Observed, young: frozenset[str]) -> Iterator[Step]:
    """What stands in the place of a wished one has been replaced by it."""
    why = "nothing in the datastore asks for it"
    kept = young | wish.left_alone
    old, gone = left.neighbours - set(wish.neighbours), left.forwardings - set(wish.forwardings)
    places = {entry[:2] for entry in (*wish.neighbours, *wish.forwardings)} if old or gone else set()
    for entry in sorted(old, key=str):
        of_pod = entry.device in wish.workloads or entry.device.startswith(wish.workload_prefix)
        if entry.device not in kept and entry[:2] not in places and (entry.device in _OURS or of_pod):
            yield Step("delete", entry, why)
    for forwarding in sorted(gone, key=str):
        if forwarding.device not in kept and forwarding.device in _OURS and forwarding[:2] not in places:
            yield Step("delete", forwarding, why)


def _gone_devices(wish: Desired, seen: Observed) -> Iterator[Step]:
    for name in sorted(_to_be_deleted(wish, seen)):
        yield Step("delete", seen.devices[name].device, "no pool uses VXLAN any more")


def _tables(wish: Desired, seen: Observed, loaded: Mapping[Family, str]) -> Iterator[Step]:
    for table in wish.tables:
        if table.family not in seen.tables:
            continue
        found = seen.tables[table.family]
        if found is not None and not found.mark.startswith(MARK):
            continue  # somebody else's
        if not table.text:
            if found is not None:
                yield Step("delete", table, "no pool needs NAT any more")
        elif found is None:
            yield Step("add", table, "NAT for packets that leave the pools")
        elif why := _why_again(table, found, loaded):
            yield Step("change", table, why)


def _why_again(table: NatTable, found: SeenTable, loaded: Mapping[Family, str]) -> str:
    if found.mark != table.mark:
        return "the pools or the settings have changed"
    if found.rules != table.rules or loaded.get(table.family, found.fingerprint) != found.fingerprint:
        return "somebody has changed it"
    return ""


def _foreign_tables(wish: Desired, seen: Observed) -> Iterator[Concern]:
    for table in wish.tables:
        found = seen.tables.get(table.family)
        if table.text and found is not None and not found.mark.startswith(MARK):
            words = "ip" if table.family == 4 else "ip6"
            yield Concern(
                f"no NAT for packets that leave the pools: the {table} is not ours",
                "it has been made by another program, such as Felix, and may hold rules that protect pods",
                f"stop that program; then nft delete table {words} calico",
            )


def _mtu(wish: Desired, seen: Observed) -> Iterator[Step]:
    if wish.mtu is not None and (seen.mtu or "").strip() != str(wish.mtu):
        yield Step(
            "change" if seen.mtu else "add", PodMtu(wish.mtu), "links and tunnels of this machine carry that much"
        )
