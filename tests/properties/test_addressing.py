"""What holds for every machine: each candidate is accounted for, and the order of the telling changes nothing."""

from __future__ import annotations

import random
import re
from ipaddress import ip_address, ip_interface

from hypothesis import given
from hypothesis import strategies as st
from tests.support.worlds import NO_CARRIER, OFF, UP, host, link, route

from tortie.addressing.agreed import worth_waiting
from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.exclusions import excluded_by, exclusions
from tortie.addressing.methods import AGREED, FIRST_FOUND, BadMethod, Method, notes, parse_method
from tortie.addressing.reasons import why_not_chosen
from tortie.addressing.versions import CalicoVersion
from tortie.model.network import CIDR, Family, HostNetwork, Interface, Route

NAMES = ["eth0", "eth1", "ens18", "bond0", "wlo1", "lorawan0", "br0", "br-lan", "br-3a10a9384428", "docker0", "veth12"]
NAMES += ["cali99", "tunl0", "vxlan.calico", "cilium_host", "eth0.100", "nodelocaldns", "podman1"]
KINDS = ["", "", "", "bridge", "veth", "bond", "vlan", "dummy", "vxlan", "ipip", "tun", "wireguard", "openvswitch"]
ADDRESSES = [f"10.{net}.0.{host}/{length}" for net in (0, 1) for host in (5, 6) for length in (8, 24, 32)]
ADDRESSES += ["169.254.1.1/16", "172.18.0.1/16", "fd00::5/64", "fd00::6/64", "2001:db8::5/64", "fe80::5/64"]
FLAGS = ["", "", "", " secondary", " deprecated", " tentative", " temporary", " permanent", " scope=link"]
VERSIONS = ["v2.6.1", "v3.9.5", "v3.15.0", "v3.22.0", "v3.24.2", "v3.24.3", "v3.24.6", "v3.25.0", "v3.32.1"]
METHODS = [
    "first-found",
    "agreed",
    "interface=eth.*",
    "interface=",
    "skip-interface=br-.*",
    "cidr=10.0.0.0/24,fd00::/16",
]
METHODS += ["can-reach=10.1.0.9", "can-reach=fd00::9", "can-reach=example.org", "kubernetes-internal-ip"]

families = st.sampled_from((4, 6))


@st.composite
def interfaces(draw: st.DrawFn, index: int) -> Interface:
    others = st.none() | st.integers(2, 6)
    texts = draw(st.lists(st.sampled_from(ADDRESSES), max_size=3, unique_by=lambda text: text.partition("/")[0]))
    made = link(
        index,
        draw(st.sampled_from(NAMES)),
        *(text + draw(st.sampled_from(FLAGS)) for text in texts),
        kind=draw(st.sampled_from(KINDS)),
        flags=draw(st.sampled_from((UP, UP, UP, NO_CARRIER, OFF))),
        master=draw(others),
        parent=draw(others),
        elsewhere=draw(st.booleans()),
    )
    # Most interfaces are on their own; a master for each would leave nothing to choose from.
    return made if draw(st.integers(0, 3)) == 0 else made._replace(master=None)


@st.composite
def routes(draw: st.DrawFn) -> Route:
    ipv6 = draw(st.booleans())
    return route(
        draw(st.sampled_from(("default6", "fd00::/32") if ipv6 else ("default", "10.0.0.0/8", "172.16.0.0/12"))),
        draw(st.integers(2, 6)),
        draw(st.sampled_from(("", "fe80::1", "fd00::1") if ipv6 else ("", "10.0.0.1", "10.1.0.1"))),
        metric=draw(st.integers(0, 2)),
    )


@st.composite
def machines(draw: st.DrawFn) -> HostNetwork:
    links = [draw(interfaces(index)) for index in range(2, draw(st.integers(2, 7)))]
    return host(*links, routes=tuple(draw(st.lists(routes(), max_size=4))))


def cidrs(texts: list[str]) -> list[CIDR]:
    return [ip_interface(text) for text in texts]


@st.composite
def surroundings(draw: st.DrawFn) -> Surroundings:
    addresses = [*ADDRESSES, "10.0.0.99/24", "10.1.0.99/24", "10.50.0.1/24", "fd00::99/64", "2001:db8::99/64"]
    others = draw(st.lists(st.sampled_from(addresses), max_size=5))
    return Surroundings(
        draw(machines()),
        {f"node-{number}": (ip_interface(text),) for number, text in enumerate(others)},
        tuple(cidrs(draw(st.lists(st.sampled_from(addresses), max_size=2)))),
        draw(st.sampled_from(((), (ip_interface("10.1.0.0/16").network,)))),
        internal_ips=draw(st.sampled_from((None, (), (ip_address("10.0.0.5"), ip_address("fd00::5"))))),
    )


def accounted(choice: Choice) -> list[tuple[str, str]]:
    told = [(each.address, each.interface) for each in (*choice.rejected, *choice.tied) if each.address]
    return sorted([*told, *([(str(choice.chosen), choice.interface)] if choice.chosen else [])])


@given(surroundings(), families, st.sampled_from(METHODS), st.sampled_from(VERSIONS))
def test_every_address_is_chosen_tied_or_rejected_exactly_once(
    known: Surroundings, family: Family, method: str, version: str
) -> None:
    choice = choose(parse_method(method), family, known, CalicoVersion.parse(version))
    there = [
        (str(address.cidr), interface.name)
        for interface in known.network.interfaces
        for address in interface.addresses
        if address.cidr.version == family
    ]
    registered = (str(choice.chosen), choice.interface)
    if version == "v3.22.0" and method == "kubernetes-internal-ip" and choice.chosen and registered not in there:
        there.append(registered)  # a network in place of the address, which no interface has
    assert accounted(choice) == sorted(there)
    without = sorted(each.interface for each in choice.rejected if not each.address)
    assert without == sorted(
        interface.name
        for interface in known.network.interfaces
        if all(address.cidr.version != family for address in interface.addresses)
    )
    assert all(each.reason for each in (*choice.rejected, *choice.tied))


@given(surroundings(), families, st.sampled_from(METHODS), st.sampled_from(VERSIONS))
def test_a_choice_succeeds_with_reasons_or_fails_with_a_fix(
    known: Surroundings, family: Family, method: str, version: str
) -> None:
    choice = choose(parse_method(method), family, known, CalicoVersion.parse(version))
    if choice.chosen is None:
        assert choice.failure
        assert choice.fix
        assert len(choice.tied) != 1
    else:
        assert choice.interface
        assert not choice.failure
        assert not choice.tied
    assert choice.messages or choice.tied  # Calico has no word for a tie
    assert not any(text.endswith(".") for text in (choice.failure, choice.fix))  # a sentence goes on behind them
    if method != "agreed":
        assert "would decide" not in choice.fix  # no route and no node changes what Calico's methods look at
    assert choice.method == method
    worth_waiting(choice)


@given(surroundings(), families)
def test_advice_for_a_tie_leads_to_each_of_the_tied(known: Surroundings, family: Family) -> None:
    choice = choose(AGREED, family, known)
    ways = re.findall(r"(IP6?)(_AUTODETECTION_METHOD)?=(\S+) for ([0-9a-f.:/]+)", choice.fix)
    assert len(ways) == min(len(choice.tied), 6)
    for each, (_, by_method, told, address) in zip(choice.tied, ways, strict=False):
        found = choose(parse_method(told), family, known).chosen if by_method else ip_interface(told)
        assert str(found) == address == each.address


@given(surroundings(), families, st.sampled_from(METHODS), st.sampled_from(VERSIONS))
def test_a_way_out_for_a_method_that_failed_is_known_to_the_release(
    known: Surroundings, family: Family, method: str, version: str
) -> None:
    release = CalicoVersion.parse(version)
    for way in re.findall(r"such as \w+_METHOD=(\S+)$", choose(parse_method(method), family, known, release).fix):
        assert choose(parse_method(way), family, known, release).chosen == choose(AGREED, family, known).chosen


@given(surroundings(), families, st.sampled_from(METHODS))
def test_why_nothing_was_chosen_leaves_out_the_loopback(known: Surroundings, family: Family, method: str) -> None:
    choice = choose(parse_method(method), family, known)
    why = why_not_chosen(choice)
    assert bool(why) is (choice.chosen is None)
    if choice.chosen is None and len(known.network.interfaces) > 1:
        assert "lo:" not in re.split(r"[ ;]", why)
    assert not why.endswith(".")


@given(surroundings(), families, st.randoms(use_true_random=False))
def test_the_order_of_the_other_nodes_changes_nothing(
    known: Surroundings, family: Family, chance: random.Random
) -> None:
    shuffled = list(known.others.items())
    chance.shuffle(shuffled)
    assert choose(AGREED, family, known) == choose(AGREED, family, known._replace(others=dict(shuffled)))


@given(surroundings(), families)
def test_agreed_never_takes_what_it_rules_out(known: Surroundings, family: Family) -> None:
    choice = choose(AGREED, family, known)
    taken = [(str(choice.chosen), choice.interface)] if choice.chosen else []
    for cidr, name in (*taken, *((each.address, each.interface) for each in choice.tied)):
        ways = [
            (interface, address)
            for interface in known.network.interfaces
            for address in interface.addresses
            if (str(address.cidr), interface.name) == (cidr, name)
        ]
        assert any(
            interface.is_up
            and interface.kind not in ("dummy", "vxlan", "ipip", "tun", "wireguard")
            and not re.match(r"docker|veth|cali|tunl|vxlan|cilium|nodelocaldns|podman|br-3a10", name)
            and not address.flags & {"secondary", "deprecated", "tentative", "temporary"}
            and address.scope == "global"
            and not address.cidr.ip.is_link_local
            and not any(address.cidr.ip in pool for pool in known.pools if pool.version == family)
            for interface, address in ways
        )


@given(machines(), families, st.sampled_from(VERSIONS))
def test_first_found_is_the_highest_index_that_is_not_excluded(
    network: HostNetwork, family: Family, version: str
) -> None:
    release = CalicoVersion.parse(version)
    excluded = re.compile("|".join(exclusions(release)))
    good = [
        (interface.index, -position, address.cidr)
        for interface in network.interfaces
        if not excluded.search(interface.name)
        for position, address in enumerate(interface.addresses)
        if address.cidr.version == family and not address.cidr.ip.is_link_local and not address.cidr.ip.is_loopback
    ]
    choice = choose(FIRST_FOUND, family, Surroundings(network), release)
    assert choice.chosen == (max(good)[2] if good else None)


def read(text: str) -> Method | BadMethod:
    try:
        return parse_method(text)
    except BadMethod as error:
        return error


@given(st.text(alphabet="abceinrtf-=.,*()[]?\\0189/: \t", max_size=24) | st.text(max_size=12))
def test_every_text_is_a_method_or_refused_with_a_way_out(text: str) -> None:
    answer = read(text)
    if isinstance(answer, BadMethod):
        assert answer.what
        assert answer.fix
        if answer.right and "<" not in answer.right:
            assert not isinstance(read(answer.right), BadMethod), f"{answer.right!r} is no better"
    else:
        assert read(str(answer)) == answer
        assert all(notes(answer))


@given(st.text(max_size=15))
def test_every_name_is_excluded_or_not(name: str) -> None:
    assert excluded_by(name) is None or excluded_by(name) in exclusions()
