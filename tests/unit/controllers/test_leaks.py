"""Which addresses are released, which only watched, and which never touched."""

from __future__ import annotations

from tests.support.address_world import World

from tortie.controllers.leaks import Leaks, Suspect, find_leaks
from tortie.ipam.usage import Users

GRACE_S = 900.0


def look(
    world: World, now: float, before: Leaks | None = None, *, gone: tuple[str, ...] = (), grace: float = GRACE_S
) -> Leaks:
    census = world.census()
    return find_leaks(census, Users(census), gone, before.since if before else {}, now, grace)


def world() -> World:
    it = World()
    it.node("n1")
    it.block("10.244.0.0/26", "n1")
    return it


def ips(leaks: object) -> list[str]:
    return [str(leak.ip) for leak in leaks]  # type: ignore[attr-defined]


def test_a_pod_with_an_endpoint_is_no_suspect() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1")
    found = look(it, 0.0)
    assert (found.confirmed, found.candidates, found.in_use) == ((), (), {"n1": 1})


def test_an_address_without_endpoint_is_a_leak_only_after_the_whole_grace_period() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    first = look(it, 100.0)
    assert (ips(first.candidates), first.confirmed) == (["10.244.0.1"], ())
    second = look(it, 100.0 + GRACE_S - 1, first)
    assert (ips(second.candidates), second.confirmed) == (["10.244.0.1"], ())
    third = look(it, 100.0 + GRACE_S, second)
    assert (third.candidates, ips(third.confirmed)) == ((), ["10.244.0.1"])


def test_a_leak_says_what_speaks_for_it() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    (leak,) = look(it, GRACE_S, look(it, 0.0)).confirmed
    assert leak.evidence() == {
        "ip": "10.244.0.1",
        "handle": "k8s-pod-network.c-web",
        "block": "10.244.0.0/26",
        "node": "n1",
        "nodeExists": True,
        "attributes": "namespace=shop,node=n1,pod=web",
        "missing": "there is no endpoint of the pod shop/web",
        "suspectSeconds": GRACE_S,
    }


def test_a_pod_that_comes_back_is_no_suspect_any_more_and_begins_anew() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    first = look(it, 0.0)
    it.endpoint("web", "n1", "10.244.0.1")
    back = look(it, 800.0, first)
    assert ([str(each.ip) for each in back.resurrected], back.since) == (["10.244.0.1"], {})
    it.drop("workloadendpoints", it.endpoint_name("web", "n1"))
    assert look(it, 1000.0, back).confirmed == ()


def test_the_same_address_given_out_again_is_another_suspect() -> None:
    it, again = world(), world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    first = look(it, 0.0)
    again.hold("10.244.0.2", "other", note="takes a turn, so that the sequence goes on")
    again.pod("web", "n1", "10.244.0.1", endpoint=False)
    found = look(again, GRACE_S, first)
    assert (found.confirmed, ips(found.candidates)) == ((), ["10.244.0.1"])


def test_a_pod_that_is_being_set_up_keeps_its_address() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    it.endpoint("web", "n1")
    assert look(it, GRACE_S, look(it, 0.0)).confirmed == ()


def test_an_address_that_anybody_has_is_in_use_whoever_it_is_noted_for() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    it.endpoint("other", "n1", "10.244.0.1")
    assert look(it, GRACE_S, look(it, 0.0)).candidates == ()


def test_all_addresses_of_a_handle_must_be_leaks() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", "10.244.0.2", endpoint=False)
    it.endpoint("web", "n1", "10.244.0.2")
    found = look(it, GRACE_S, look(it, 0.0))
    assert (found.confirmed, ips(found.candidates)) == ((), ["10.244.0.1"])


def test_without_a_grace_period_nothing_of_a_node_that_exists_is_a_leak() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    assert look(it, 1e9, look(it, 0.0), grace=0.0).confirmed == ()


def test_of_a_node_that_is_gone_it_is_a_leak_at_once() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    (leak,) = look(it, 0.0, gone=("n1",), grace=0.0).confirmed
    assert (str(leak.ip), leak.node_gone) == ("10.244.0.1", True)


def test_a_tunnel_s_address_is_a_leak_only_when_its_node_is_gone() -> None:
    it = world()
    it.hold("10.244.0.1", "vxlan-tunnel-addr-n1", node="n1", type="vxlanTunnelAddress")
    assert look(it, 1e6, look(it, 0.0)).candidates == ()
    assert ips(look(it, 0.0, gone=("n1",)).confirmed) == ["10.244.0.1"]


def test_what_nobody_understands_is_never_released() -> None:
    it = world()
    it.hold("10.244.0.1", "by-hand", node="n1")
    it.hold("10.244.0.2", "windows-reserved-ipam-handle", note="windows host rsvd")
    it.hold("10.244.0.3", "lb-x", service="web", namespace="shop", type="LoadBalancer")
    assert look(it, 1e6, look(it, 0.0)).candidates == ()
    found = look(it, 1e6, gone=("n1",))
    assert found.confirmed == ()
    assert [str(each.ip) for each in found.strangers] == ["10.244.0.1"]


def test_an_endpoint_that_cannot_be_read_may_be_anybody_s() -> None:
    it = world()
    it.pod("web", "n1", "10.244.0.1", endpoint=False)
    it.pod("db", "n1", "10.244.0.2", endpoint=False)
    key = it.resource("workloadendpoints", it.endpoint_name("web", "n1"), {})
    it.entries[key] = b"?"
    found = look(it, GRACE_S, look(it, 0.0))
    assert ips(found.confirmed) == ["10.244.0.2"]
    it.entries[key.rpartition("/")[0] + "/odd"] = b"?"
    assert look(it, GRACE_S, found).confirmed == ()


def test_handles_with_what_an_old_migration_left_behind_a_carriage_return() -> None:
    it = world()
    it.hold("10.244.0.1", "k8s-pod-network.c1\r", namespace="shop", node="n1", pod="web")
    (leak,) = look(it, GRACE_S, look(it, 0.0)).confirmed
    assert leak.suspect == Suspect(leak.ip, "k8s-pod-network.c1", leak.suspect.sequence)
