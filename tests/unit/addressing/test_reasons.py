"""Why nothing was chosen, in the one line that the agent shows."""

from __future__ import annotations

from tests.support.worlds import NO_CARRIER, host, link, route

from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import parse_method
from tortie.addressing.reasons import why_not_chosen
from tortie.model.network import HostNetwork


def chosen(network: HostNetwork, method: str = "agreed") -> Choice:
    return choose(parse_method(method), 4, Surroundings(network))


def test_a_choice_needs_no_excuse() -> None:
    assert why_not_chosen(chosen(host(link(2, "eth0", "10.0.0.5/24")))) == ""


def test_a_tie_is_what_speaks_for_each() -> None:
    network = host(
        link(2, "eth0", "10.0.0.5/24"),
        link(3, "eth1", "192.168.0.5/24"),
        routes=(route("default", 2, via="10.0.0.1"), route("default", 3, via="192.168.0.1")),
    )
    assert why_not_chosen(chosen(network)) == (
        "10.0.0.5/24 on eth0: it carries a default route; 192.168.0.5/24 on eth1: it carries a default route"
    )


def test_the_nic_comes_first_and_the_loopback_not_at_all() -> None:
    network = host(
        link(2, "docker0", "172.17.0.1/16", kind="bridge", flags=NO_CARRIER),
        link(3, "eth1", "10.0.0.5/24 deprecated"),
        link(4, "eth0"),
    )
    why = why_not_chosen(chosen(network))
    assert why.startswith("eth0: has no IPv4 address; 10.0.0.5/24 on eth1: deprecated")
    assert "172.17.0.1/16 on docker0" in why
    assert "127.0.0.1" not in why


def test_a_hundred_containers_do_not_hide_the_nic() -> None:
    cables = (link(3 + each, f"cali{each}", kind="veth", parent=2, elsewhere=True) for each in range(100))
    why = why_not_chosen(chosen(host(link(200, "eth0"), *cables)))
    assert why.startswith("eth0: has no IPv4 address; ")
    assert why.count(";") == 6
    assert why.endswith("and 95 more")


def test_a_machine_with_nothing_but_a_loopback_says_so() -> None:
    assert why_not_chosen(chosen(host())) == "127.0.0.1/8 on lo: the loopback interface"
    assert "127.0.0.1/8 on lo: " in why_not_chosen(chosen(host(), "first-found"))
