"""Whatever is wrong in a kernel: one plan makes everything right, touches nothing of others, and there it ends."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.dataplane_states import ETH0, FAR, ME, NEAR, POOL, block, link, pod, state

from tortie.dataplane.desired import desired
from tortie.dataplane.plan import Step, is_ours, plan
from tortie.dataplane.things import (
    Desired,
    Device,
    DeviceAddress,
    Forwarding,
    NatTable,
    Neighbour,
    Observed,
    PodMtu,
    Route,
    SeenDevice,
    SeenTable,
    Setting,
)
from tortie.model.network import Address

DEVICES = ("eth0", "cali1", "cali2", "cali9", "vxlan.calico", "vxlan-v6.calico", "docker0")
ips = st.integers(0, 300).map(lambda number: ip_address(0x0AF40000 + number))
networks = st.builds(lambda ip, length: ip_network((ip, length), strict=False), ips, st.sampled_from((24, 26, 30, 32)))
routes = st.builds(
    Route,
    networks,
    st.sampled_from((0, 512, 1024)),
    st.sampled_from((2, 3, 4, 12, 80)),
    st.sampled_from(DEVICES),
    st.none() | ips,
    st.booleans(),
    st.booleans(),
)
neighbours = st.builds(
    Neighbour, st.sampled_from(DEVICES), ips, st.sampled_from(("66:00:00:00:00:01", "66:00:00:00:00:02"))
)
forwardings = st.builds(
    Forwarding, st.sampled_from(DEVICES[4:]), st.sampled_from(("66:00:00:00:00:01", "66:00:00:00:00:02")), ips
)


@st.composite
def wishes(draw: st.DrawFn) -> Desired:
    pods = [
        pod(f"pod-{number}", str(ip), interface=draw(st.sampled_from(("cali1", "cali2"))))
        for number, ip in enumerate(draw(st.lists(ips, max_size=4)))
    ]
    pool = POOL._replace(vxlan=draw(st.sampled_from(("", "Always", "CrossSubnet"))), nat=draw(st.booleans()))
    blocks = [
        block(f"10.244.{number}.0/26", draw(st.sampled_from(("me", "near", "far", "gone", ""))))
        for number in range(draw(st.integers(0, 3)))
    ]
    nodes = (ME, *draw(st.lists(st.sampled_from((NEAR, FAR)), unique=True)))
    said = state(pools=(pool,), blocks=tuple(blocks), nodes=nodes, endpoints=tuple(pods))
    return desired(said, (ETH0, link(7, "cali1"), link(8, "cali2", up=draw(st.booleans()))))


@st.composite
def kernels(draw: st.DrawFn, wish: Desired) -> Observed:
    """Part of what is wished, and much that is not; no two routes in one place."""
    found: dict[Any, Route] = {}
    wanted = draw(st.lists(st.sampled_from(sorted(wish.routes)), unique=True)) if wish.routes else []
    for route in (*wanted, *draw(st.lists(routes, max_size=8))):
        found.setdefault(route.slot, route)
    device = wish.devices.get("vxlan.calico") or Device(
        "vxlan.calico", 4096, 4789, ip_address("10.0.0.1"), "eth0", "66:00:00:00:00:00", 1450
    )
    seen = {}
    if draw(st.booleans()):
        changed = device._replace(vni=draw(st.sampled_from((4096, 7))), mtu=draw(st.sampled_from((1450, 1400))))
        addresses = tuple(Address(ip_interface(str(ip))) for ip in draw(st.lists(ips, unique=True, max_size=2)))
        seen["vxlan.calico"] = SeenDevice(changed, draw(st.booleans()), addresses)
    tables = {
        table.family: draw(st.sampled_from((None, SeenTable(table.mark or "tortie:old", table.rules, "x"))))
        for table in wish.tables
    }
    entries = {entry[:2]: entry for entry in draw(st.lists(neighbours, max_size=5))}
    ways = {entry[:2]: entry for entry in draw(st.lists(forwardings, max_size=5))}
    return Observed(
        seen,
        frozenset(route for route in found.values() if route.device not in ("vxlan.calico",) or seen),
        frozenset(entry for entry in entries.values() if entry.device != "vxlan.calico" or seen),
        frozenset(entry for entry in ways.values() if entry.device != "vxlan.calico" or seen),
        {setting.path: draw(st.sampled_from((setting.value, "0", None))) for setting in wish.settings},
        tables,
        draw(st.sampled_from((None, "1500", str(wish.mtu)))),
    )


def carried_out(seen: Observed, steps: tuple[Step, ...]) -> Observed:
    """A kernel as it is after these steps, one after the other."""
    for verb, thing, _ in steps:
        if isinstance(thing, Route):
            rest = frozenset(each for each in seen.routes if each.slot != thing.slot)
            seen = seen._replace(routes=rest if verb == "delete" else rest | {thing})
        elif isinstance(thing, Neighbour):
            left = frozenset(each for each in seen.neighbours if each[:2] != thing[:2])
            seen = seen._replace(neighbours=left if verb == "delete" else left | {thing})
        elif isinstance(thing, Forwarding):
            others = frozenset(each for each in seen.forwardings if each[:2] != thing[:2])
            seen = seen._replace(forwardings=others if verb == "delete" else others | {thing})
        elif isinstance(thing, Setting):
            seen = seen._replace(settings={**seen.settings, thing.path: thing.value})
        elif isinstance(thing, NatTable):
            made = SeenTable(thing.mark, thing.rules, "x") if thing.text else None
            seen = seen._replace(tables={**seen.tables, thing.family: made})
        elif isinstance(thing, PodMtu):
            seen = seen._replace(mtu=str(thing.mtu))
        else:
            seen = with_device(seen, verb, thing)
    return seen


def with_device(seen: Observed, verb: str, thing: Device | DeviceAddress) -> Observed:
    if isinstance(thing, DeviceAddress):
        found = seen.devices[thing.device]
        rest = tuple(each for each in found.addresses if each.cidr != thing.cidr)
        addresses = rest if verb == "delete" else (*rest, Address(thing.cidr))
        return seen._replace(devices={**seen.devices, thing.device: found._replace(addresses=addresses)})
    devices = {name: each for name, each in seen.devices.items() if name != thing.name}
    if verb == "delete":
        return seen._replace(
            devices=devices,
            routes=frozenset(each for each in seen.routes if each.device != thing.name),
            neighbours=frozenset(each for each in seen.neighbours if each.device != thing.name),
            forwardings=frozenset(each for each in seen.forwardings if each.device != thing.name),
        )
    addresses = seen.devices[thing.name].addresses if verb == "change" else ()
    return seen._replace(devices={**devices, thing.name: SeenDevice(thing, True, addresses)})


@given(st.data())
def test_one_plan_makes_everything_right_and_touches_nothing_of_others(data: st.DataObject) -> None:
    wish = data.draw(wishes())
    before = data.draw(kernels(wish))
    made = plan(wish, before)
    after = carried_out(before, made.steps)
    assert set(wish.routes) <= after.routes
    assert set(wish.neighbours) <= after.neighbours
    assert set(wish.forwardings) <= after.forwardings
    assert {device.name: device for device in wish.devices.values()} == {
        name: each.device for name, each in after.devices.items() if each.up
    }
    assert not [each for each in after.routes if is_ours(each, wish) and each not in wish.routes]
    slots = {route.slot for route in wish.routes}
    dead = {step.thing.name for step in made.steps if isinstance(step.thing, Device) and step.verb == "delete"}
    foreign = {each for each in before.routes if not is_ours(each, wish) and each.slot not in slots}
    assert {each for each in foreign if each.device not in dead} <= after.routes
    assert plan(wish, after).steps == ()


@given(st.data())
def test_nothing_unknown_goes_from_links_that_have_just_come(data: st.DataObject) -> None:
    wish = data.draw(wishes())
    before = data.draw(kernels(wish))
    young = frozenset(DEVICES[1:4])
    made = plan(wish, before, young=young)
    gone = [step.thing for step in made.steps if step.verb == "delete" and isinstance(step.thing, Route | Neighbour)]
    assert not [thing for thing in gone if thing.device in young]
