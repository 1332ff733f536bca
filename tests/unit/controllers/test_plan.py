"""What is left of nodes that are gone, and what else nobody needs: when it goes, and that nothing else does."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address

from tests.support.address_world import DAY, World

from tortie.controllers.plan import GONE_S, Memory, Patience, Plan, as_if_gone, plan_of
from tortie.controllers.recheck import rechecked
from tortie.ipam.block import Block
from tortie.model.keys import block_key

PATIENCE = Patience()


def look(world: World, now: float, before: Plan | None = None, *, patience: Patience = PATIENCE) -> Plan:
    return plan_of(world.census(), before.memory if before else Memory(), now, DAY, patience)


def two_nodes() -> World:
    """n1 is there, n2 is not; both have a block, a pod, and n2 a tunnel."""
    it = World()
    it.node("n1")
    it.block("10.244.0.0/26", "n1")
    it.block("10.244.1.0/26", "n2")
    it.pod("web", "n1", "10.244.0.1")
    it.pod("db", "n2", "10.244.1.1")
    it.hold("10.244.1.2", "vxlan-tunnel-addr-n2", node="n2", type="vxlanTunnelAddress")
    return it


def test_a_node_is_gone_only_after_it_has_been_missing_for_a_while() -> None:
    it = two_nodes()
    first = look(it, 0.0)
    assert (first.gone, first.endpoints, first.leaks.confirmed, first.nodes) == ((), (), (), ())
    assert first.next_due(0.0, PATIENCE) == GONE_S
    assert look(it, GONE_S - 0.1, first).gone == ()
    assert look(it, GONE_S, first).gone == ("n2",)


def test_a_node_that_comes_back_in_time_loses_nothing_and_begins_anew() -> None:
    it = two_nodes()
    first = look(it, 0.0)
    it.node("n2")
    back = look(it, 5.0, first)
    assert back.memory.missing == {}
    it.drop("nodes", "n2")
    assert look(it, GONE_S + 1, back).gone == ()


def test_all_that_a_node_had_goes_and_nothing_of_the_others() -> None:
    plan = look(two_nodes(), GONE_S, look(two_nodes(), 0.0))
    assert [each.pod for each in plan.endpoints] == ["db"]
    assert sorted(str(leak.ip) for leak in plan.leaks.confirmed) == ["10.244.1.1", "10.244.1.2"]
    assert plan.nodes == ("n2",)
    assert (plan.stuck, plan.blocks, plan.tidying) == ((), (), ())


def test_a_node_whose_record_cannot_be_read_exists() -> None:
    it = two_nodes()
    it.node("n2")
    key = next(key for key in it.entries if key.endswith("/nodes/n2"))
    it.entries[key] = b"?"
    assert look(it, 1e6, look(it, 0.0)).gone == ()


def test_a_node_that_was_there_and_left_nothing_is_gone_too() -> None:
    """Its configuration may still be there."""
    it = World()
    it.node("n1")
    it.node("n2")
    first = look(it, 0.0)
    it.drop("nodes", "n2")
    assert look(it, 100.0, look(it, 50.0, first)).gone == ("n2",)


def test_addresses_of_an_unknown_source_keep_a_node_from_being_cleaned_up() -> None:
    it = two_nodes()
    it.hold("10.244.1.3", "by-hand", node="n2")
    plan = look(it, GONE_S, look(it, 0.0))
    assert plan.nodes == ()
    assert [(stuck.node, stuck.in_use, stuck.strangers) for stuck in plan.stuck] == [("n2", 0, 1)]


def test_pods_of_others_in_a_gone_node_s_block_keep_their_addresses() -> None:
    it = two_nodes()
    it.pod("guest", "n1", "10.244.1.5")
    plan = look(it, GONE_S, look(it, 0.0))
    assert "10.244.1.5" not in {str(leak.ip) for leak in plan.leaks.confirmed}
    assert plan.nodes == ("n2",)  # the affinity goes, the block stays with the guest


def test_while_the_datastore_is_locked_nothing_is_done() -> None:
    it = two_nodes()
    first = look(it, 0.0)
    it.resource("clusterinformations", "default", {"datastoreReady": False})
    plan = look(it, 1e6, first)
    assert (plan.locked, plan.gone, plan.memory) == (True, (), first.memory)


def test_empty_blocks_go_after_the_grace_period_but_the_last_one_stays() -> None:
    it = World()
    it.node("n1")
    for number in range(3):
        it.block(f"10.244.{number}.0/26", "n1")
    first = look(it, 0.0)
    assert first.blocks == ()
    assert first.next_due(0.0, PATIENCE) == PATIENCE.grace_s
    plan = look(it, PATIENCE.grace_s, first)
    assert [(str(found.cidr), total) for found, total, _ in plan.blocks] == [("10.244.0.0/26", 3), ("10.244.1.0/26", 3)]
    for found, _, operations in plan.blocks:
        assert [operation.key for operation in operations] == [
            block_key(str(found.cidr)),
            f"/calico/ipam/v2/host/n1/ipv4/block/{str(found.cidr).replace('/', '-')}",
        ]
        assert all(operation.expecting for operation in operations)
    assert plan.next_due(PATIENCE.grace_s, PATIENCE) is None  # the last one is ripe, too, and stays: no reason to look


def test_a_node_keeps_its_only_block_and_one_that_is_used() -> None:
    it = World()
    it.node("n1")
    it.node("n2")
    it.block("10.244.0.0/26", "n1")
    it.block("10.244.1.0/26", "n2")
    it.block("10.244.2.0/26", "n2")
    it.pod("web", "n2", "10.244.1.1")
    plan = look(it, 1e6, look(it, 0.0))
    assert [str(found.cidr) for found, _, _ in plan.blocks] == ["10.244.2.0/26"]


def test_handles_that_no_address_has_go_after_the_grace_period() -> None:
    it = World()
    it.node("n1")
    it.block("10.244.0.0/26", "n1")
    it.pod("web", "n1", "10.244.0.1")
    it.handles["k8s-pod-network.lost"] = it.handles["k8s-pod-network.c-web"]._replace(handle="k8s-pod-network.lost")
    first = look(it, 0.0)
    assert first.tidying == ()
    ((kind, which, operation),) = look(it, PATIENCE.grace_s, first).tidying
    assert (kind, which, operation.key) == (
        "handle",
        "k8s-pod-network.lost",
        "/calico/ipam/v2/handle/k8s-pod-network.lost",
    )
    assert operation.expecting


def test_a_handle_whose_block_cannot_be_read_stays() -> None:
    it = World()
    it.block("10.244.0.0/26", "n1")
    it.node("n1")
    it.pod("web", "n1", "10.244.0.1")
    stored = it.stored()
    it.entries = {**stored, block_key("10.244.0.0/26"): b"?"}
    it.blocks, it.handles = {}, {}
    assert look(it, 1e6, look(it, 0.0)).tidying == ()


def test_addresses_that_have_cooled_down_are_free_again() -> None:
    it = World()
    it.node("n1")
    it.entries["/calico/ipam/v2/config"] = b'{"auto_allocate_blocks":true,"ipCooldownSeconds":60}'
    it.block("10.244.0.0/26", "n1")
    it.pod("web", "n1", "10.244.0.1")
    (cidr, block), *_ = it.blocks.items()

    def cooling(since_s: int) -> Block:
        moment = (DAY - timedelta(seconds=since_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return block.release([ip_address("10.244.0.1")], cooling_since=moment)

    it.drop("workloadendpoints", it.endpoint_name("web", "n1"))
    it.handles = {}
    it.blocks[cidr] = cooling(30)
    assert look(it, 0.0).tidying == ()
    it.blocks[cidr] = cooling(61)
    ((kind, which, operation),) = look(it, 0.0).tidying
    assert (kind, which, operation.expecting) == ("cooled-down addresses", cidr, it.census().block_revisions[cidr])


def test_a_block_of_nobody_that_holds_nothing_goes() -> None:
    it = World()
    it.block("10.244.0.0/26", None)
    ((kind, _, operation),) = look(it, 0.0).tidying
    assert (kind, operation.key) == ("empty block", block_key("10.244.0.0/26"))


def test_before_a_node_is_deleted_its_things_are_found_as_if_it_were_gone() -> None:
    it = two_nodes()
    it.node("n2")
    it.pod("lost", "n3", "10.244.1.9", endpoint=False)  # of a third that does not exist: not what is meant
    plan = as_if_gone(it.census(), "n2", DAY)
    assert [each.pod for each in plan.endpoints] == ["db"]
    assert sorted(str(leak.ip) for leak in plan.leaks.confirmed) == ["10.244.1.1", "10.244.1.2"]
    assert plan.claimed == {"n2"}


def test_the_second_look_keeps_what_has_come_back() -> None:
    it = two_nodes()
    it.pod("lost", "n1", "10.244.0.9", endpoint=False)
    plan = look(it, 1000.0, look(it, 0.0))
    assert "10.244.0.9" in {str(leak.ip) for leak in plan.leaks.confirmed}
    it.endpoint("lost", "n1", "10.244.0.9")
    smaller, back = rechecked(plan, it.census())
    assert [str(leak.ip) for leak in back] == ["10.244.0.9"]
    assert "10.244.0.9" not in {str(leak.ip) for leak in smaller.leaks.confirmed}
    assert smaller.gone == ("n2",)
    it.node("n2")
    smaller, _ = rechecked(plan, it.census())
    assert (smaller.gone, smaller.endpoints, smaller.nodes, smaller.leaks.confirmed) == ((), (), (), ())
