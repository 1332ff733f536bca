"""The difference between what shall be and what is: who owns what, and in which order it changes."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

import pytest
from tests.support.dataplane_states import LINKS, PLAIN, pod, state

from tortie.dataplane.desired import desired
from tortie.dataplane.nat import MARK
from tortie.dataplane.plan import Plan, is_ours, plan
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

WISH = desired(state(endpoints=(pod("web", "10.244.0.5"),)), LINKS)
DEVICE = WISH.devices["vxlan.calico"]


def as_wished(wish: Desired) -> Observed:
    """A kernel in which everything is as it shall be."""
    return Observed(
        {
            name: SeenDevice(device, True, tuple(Address(each.cidr) for each in wish.addresses if each.device == name))
            for name, device in wish.devices.items()
        },
        frozenset(wish.routes),
        frozenset(wish.neighbours),
        frozenset(wish.forwardings),
        {setting.path: setting.value for setting in wish.settings},
        {
            table.family: SeenTable(table.mark, table.rules, "as loaded") if table.text else None
            for table in wish.tables
        },
        str(wish.mtu),
    )


RIGHT = as_wished(WISH)


def told(made: Plan) -> list[tuple[str, type]]:
    return [(step.verb, type(step.thing)) for step in made.steps]


def test_nothing_to_do_where_all_is_right() -> None:
    assert plan(WISH, RIGHT) == Plan()


def route(cidr: str, metric: int = 0, protocol: int = 3, device: str = "cali1", **more: Any) -> Route:
    return Route(ip_network(cidr), metric, protocol, device, **more)


OWNED = [
    pytest.param(route("10.250.0.0/24", protocol=80, device="eth0"), True, id="Felix's protocol, anywhere"),
    pytest.param(route("10.250.0.0/24", protocol=80, device=""), True, id="a blackhole of Felix's protocol"),
    pytest.param(route("10.250.0.0/24", device="vxlan.calico"), True, id="on a tunnel"),
    pytest.param(route("10.250.0.0/24", protocol=4, device="vxlan-v6.calico"), True, id="by hand on a tunnel"),
    pytest.param(route("10.244.0.9/32", device="cali9"), True, id="on a link of a pod"),
    pytest.param(route("10.244.0.9/32", protocol=4, device="cali9"), True, id="by hand on a link of a pod"),
    pytest.param(route("10.244.0.9/32", protocol=12, device="cali9"), False, id="BIRD's on a link of a pod"),
    pytest.param(route("fe80::/64", protocol=2, device="cali9"), False, id="the kernel's own"),
    pytest.param(route("fe80::/64", protocol=2, device="vxlan.calico"), False, id="the kernel's own on a tunnel"),
    pytest.param(route("10.250.0.0/24", protocol=3, device="eth0"), False, id="by hand elsewhere"),
    pytest.param(route("10.250.0.0/24", protocol=12, device="eth0"), False, id="BIRD's"),
    pytest.param(route("0.0.0.0/0", protocol=16, device="eth0"), False, id="DHCP's"),
]


@pytest.mark.parametrize(("found", "ours"), OWNED)
def test_only_what_is_ours_is_taken_away(found: Route, ours: bool) -> None:
    assert is_ours(found, WISH) is ours
    made = plan(WISH, RIGHT._replace(routes=RIGHT.routes | {found}))
    assert [(step.verb, step.thing) for step in made.steps] == ([("delete", found)] if ours else [])


def test_routes_by_hand_on_links_of_pods_may_be_spared() -> None:
    wish = WISH._replace(external_removed=False)
    by_hand, forgotten = route("10.244.0.9/32", protocol=4), route("10.244.0.8/32")
    made = plan(wish, RIGHT._replace(routes=RIGHT.routes | {by_hand, forgotten}))
    assert [step.thing for step in made.steps] == [forgotten]


def test_what_is_not_known_on_a_new_link_is_left_alone_for_a_while() -> None:
    unknown = route("10.244.0.9/32", device="cali9")
    neighbour = Neighbour("cali9", ip_address("10.244.0.9"), "02:00:00:00:00:09")
    seen = RIGHT._replace(routes=RIGHT.routes | {unknown}, neighbours=RIGHT.neighbours | {neighbour})
    made = plan(WISH, seen, young=frozenset({"cali9"}))
    assert made.steps == ()
    assert made.spared == (unknown,)
    assert told(plan(WISH, seen)) == [("delete", Route), ("delete", Neighbour)]


def test_a_route_without_metric_as_other_plugins_write_it_is_replaced_by_ours_first() -> None:
    theirs = route("10.244.0.5/32", this_link=True)
    ours = theirs._replace(metric=1024)
    made = plan(WISH, RIGHT._replace(routes=RIGHT.routes - {ours} | {theirs}))
    assert [(step.verb, step.thing) for step in made.steps] == [("add", ours), ("delete", theirs)]


def test_a_route_that_leads_elsewhere_is_changed_in_one_step() -> None:
    right = next(each for each in WISH.routes if each.destination == ip_network("10.244.1.0/26"))
    wrong = right._replace(gateway=ip_address("10.244.9.9"))
    made = plan(WISH, RIGHT._replace(routes=RIGHT.routes - {right} | {wrong}))
    assert [(step.verb, step.thing) for step in made.steps] == [("change", right)]


OTHER = [
    {"vni": 1},
    {"port": 8472},
    {"local": ip_address("10.0.0.9")},
    {"parent": "eth1"},
    {"mac": "66:00:00:00:00:00"},
    {"learning": True},
    {"group": ip_address("239.1.1.1")},
    {"asks": True},
]


@pytest.mark.parametrize("other", OTHER, ids=lambda other: next(iter(other)))
def test_a_device_that_is_another_one_is_made_again_with_all_on_it(other: dict[str, Any]) -> None:
    seen = RIGHT._replace(
        devices={"vxlan.calico": RIGHT.devices["vxlan.calico"]._replace(device=DEVICE._replace(**other))}
    )
    made = plan(WISH, seen)
    assert told(made)[:3] == [("delete", Device), ("add", Device), ("add", DeviceAddress)]
    assert next(iter(other)) in made.steps[0].why
    through = {each for each in WISH.routes if each.device == "vxlan.calico"}
    assert {step.thing for step in made.steps if isinstance(step.thing, Route)} == through
    assert all(step.verb == "add" for step in made.steps[1:])


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (SeenDevice(DEVICE._replace(mtu=1400), True), "its MTU is 1400"),
        (SeenDevice(DEVICE, False), "it is down"),
    ],
)
def test_a_device_of_the_wrong_size_or_down_is_changed_as_it_is(seen: SeenDevice, why: str) -> None:
    addresses = RIGHT.devices["vxlan.calico"].addresses
    made = plan(WISH, RIGHT._replace(devices={"vxlan.calico": seen._replace(addresses=addresses)}))
    assert told(made) == [("change", Device)]
    assert why in made.steps[0].why


def test_other_addresses_of_the_tunnel_go_and_link_local_ones_stay() -> None:
    found = (Address(ip_interface("10.244.0.77/32")), Address(ip_interface("fe80::1/64")))
    made = plan(WISH, RIGHT._replace(devices={"vxlan.calico": SeenDevice(DEVICE, True, found)}))
    assert [(step.verb, step.thing) for step in made.steps] == [
        ("add", DeviceAddress("vxlan.calico", ip_interface("10.244.0.1/32"))),
        ("delete", DeviceAddress("vxlan.calico", ip_interface("10.244.0.77/32"))),
    ]


def test_a_tunnel_that_nobody_needs_goes_with_all_on_it() -> None:
    wish = desired(state(pools=(PLAIN,), blocks=(), endpoints=(pod("web", "10.244.0.5"),)), LINKS)
    made = plan(wish, RIGHT)
    assert ("delete", Device) in told(made)
    assert not [step for step in made.steps if isinstance(step.thing, Forwarding)]
    assert [step.thing for step in made.steps if isinstance(step.thing, Route)] == [
        route("10.244.0.0/26", protocol=80, device="")
    ]


def test_about_what_nothing_is_decided_stays() -> None:
    wish = WISH._replace(devices={}, addresses={}, left_alone=frozenset({"vxlan.calico"}), neighbours={}, routes={})
    made = plan(wish, RIGHT, young=frozenset({"cali1"}))
    assert told(made) == [("delete", Route)]  # the blackhole, which is on no device


def test_entries_of_other_devices_stay_and_wrong_ones_are_replaced() -> None:
    strange = Neighbour("docker0", ip_address("172.17.0.2"), "02:42:ac:11:00:02")
    other = Forwarding("br-vxlan", "66:00:00:00:00:07", ip_address("10.0.0.9"))
    right = next(iter(WISH.forwardings))
    wrong = right._replace(to=ip_address("10.0.0.99"))
    seen = RIGHT._replace(
        neighbours=RIGHT.neighbours | {strange}, forwardings=RIGHT.forwardings - {right} | {wrong, other}
    )
    assert [(step.verb, step.thing) for step in plan(WISH, seen).steps] == [("add", right)]


def test_settings_are_put_right_where_they_exist() -> None:
    path = "net/ipv4/conf/cali1/proxy_arp"
    seen = RIGHT._replace(settings={**RIGHT.settings, path: "0", "net/ipv6/conf/cali1/forwarding": None})
    assert [step.thing for step in plan(WISH, seen).steps] == [Setting(path, "1")]


TABLES: list[Any] = [
    pytest.param(None, {}, "add", "leave the pools", id="gone"),
    pytest.param(SeenTable(MARK + "other", 5, "x"), {}, "change", "have changed", id="of another state"),
    pytest.param(SeenTable("ours", 1, "x"), {}, "change", "somebody", id="a rule is missing"),
    pytest.param(SeenTable("ours", 0, "x"), {4: "y"}, "change", "somebody", id="touched since we loaded it"),
    pytest.param(SeenTable("ours", 0, "x"), {4: "x"}, "", "", id="as we loaded it"),
    pytest.param(SeenTable("ours", 0, "x"), {}, "", "", id="loaded before we were started"),
]


@pytest.mark.parametrize(("found", "loaded", "verb", "why"), TABLES)
def test_a_table_is_loaded_only_when_it_is_not_as_it_shall_be(found: Any, loaded: Any, verb: str, why: str) -> None:
    table = WISH.tables[0]
    if found and found.mark == "ours":
        found = found._replace(mark=table.mark, rules=found.rules or table.rules)
    made = plan(WISH, RIGHT._replace(tables={4: found}), loaded=loaded)
    assert [(step.verb, step.thing) for step in made.steps] == ([(verb, table)] if verb else [])
    assert all(why in step.why for step in made.steps)


def test_a_table_of_somebody_else_is_told_and_not_touched() -> None:
    made = plan(WISH, RIGHT._replace(tables={4: SeenTable("", 40, "x")}))
    assert made.steps == ()
    assert "is not ours" in made.concerns[0].what
    wish = WISH._replace(tables=(NatTable(4),))
    assert plan(wish, RIGHT._replace(tables={4: SeenTable("", 40, "x")})) == Plan()


def test_a_table_that_nobody_needs_goes() -> None:
    made = plan(WISH._replace(tables=(NatTable(4), NatTable(6))), RIGHT)
    assert told(made) == [("delete", NatTable)]


@pytest.mark.parametrize(("found", "verb"), [(None, "add"), ("1500\n", "change"), ("1450\n", "")])
def test_the_mtu_is_written_where_pods_find_it(found: str | None, verb: str) -> None:
    made = plan(WISH, RIGHT._replace(mtu=found))
    assert [(step.verb, step.thing) for step in made.steps] == ([(verb, PodMtu(1450))] if verb else [])
