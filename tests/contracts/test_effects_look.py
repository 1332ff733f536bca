"""The agent's look for what is stored without effect: only when asked, cheap, and right on every back end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from tests.support.stores import Open

from tortie.health.health import Health
from tortie.health.message import Request
from tortie.health.texts import as_json, as_text
from tortie.model.keys import RESOURCES
from tortie.model.wire import encode
from tortie.node.effects_look import EffectsLook
from tortie.store.contract import CountingStore, Put, Snapshot, Store, Tally, Unreachable, delete
from tortie.store.metered import MeteredCounting

DEADLINE_S = 60.0
POLICY = "Tortie enforces no policy yet: on its nodes every packet still passes"


class World:
    def __init__(self, store: Store, **options: Any) -> None:
        self.requests: list[str] = []
        self.store = MeteredCounting(
            cast(CountingStore, store), on_request=lambda op, _seconds, _error: self.requests.append(op)
        )
        self.health = Health(time.monotonic)
        self.health.started()
        options = {"own_dataplane": True, **options}
        self.look = EffectsLook("node-1", self.store, self.health, **options)

    async def put(self, plural: str, name: str, kind: str, **spec: Any) -> None:
        document = {"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self.store.commit([Put(f"{RESOURCES}{plural}/{name}", encode(document))])
        self.requests.clear()

    def answer(self, **query: str) -> dict[str, Any]:
        route = self.look.routes()["/effects"]
        body = json.loads(route(Request("GET", "/effects", query, {})).body)
        assert isinstance(body, dict)
        return body

    async def next_look(self) -> dict[str, Any]:
        looks = self.answer(look="")["looks"]
        async with asyncio.timeout(DEADLINE_S):
            while True:
                if (answer := self.answer())["looks"] > looks:
                    return answer
                await asyncio.sleep(0.001)

    def whats(self) -> list[str]:
        return [note["what"] for note in self.answer()["notes"]]


Play = Callable[..., None]


@pytest.fixture
def play(open_store: Open) -> Play:
    """With a datastore that nobody else writes into."""

    def run(scenario: Callable[[World], Awaitable[None]], **options: Any) -> None:
        async def whole() -> None:
            store = open_store()
            for entry in (await store.scan("/calico/")).entries:
                await delete(store, entry.key)
            world = World(store, **options)
            loop = asyncio.create_task(world.look.run())
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await scenario(world)
            finally:
                loop.cancel()
                with suppress(asyncio.CancelledError):
                    await loop
                await store.close()

        asyncio.run(whole())

    return run


def test_nothing_is_read_unasked_and_two_requests_when_asked(play: Play) -> None:
    async def scenario(world: World) -> None:
        for number in range(100):
            await world.put("networkpolicies", f"shop/p{number:03}", "NetworkPolicy")
        assert world.answer() == {"looks": 0, "age_s": None, "error": None, "notes": []}
        assert world.requests == []
        await world.next_look()
        assert sorted(world.requests) == ["snapshot", "tally"]
        assert world.whats() == [f"100 NetworkPolicies are stored, but {POLICY}"]
        assert world.answer()["notes"][0]["which"] == "shop/p000, shop/p001, shop/p002 and 97 more"

    play(scenario)


def test_what_a_fresh_cluster_has_is_silent(play: Play) -> None:
    async def scenario(world: World) -> None:
        for tier in ("default", "kube-admin", "kube-baseline"):
            await world.put("tiers", tier, "Tier", order=1)
        await world.put("felixconfigurations", "default", "FelixConfiguration", reportingInterval="0s")
        await world.put("felixconfigurations", "node.node-1", "FelixConfiguration")
        await world.put("bgpconfigurations", "default", "BGPConfiguration", logSeverityScreen="Info")
        await world.put("ippools", "pool", "IPPool", cidr="10.0.0.0/16", ipipMode="Never")
        await world.put("profiles", "kns.shop", "Profile", ingress=[{"action": "Allow"}], egress=[{"action": "Allow"}])
        assert (await world.next_look())["notes"] == []

    play(scenario)


def test_settings_of_this_node_are_told_and_those_of_others_are_not(play: Play) -> None:
    async def scenario(world: World) -> None:
        await world.put("felixconfigurations", "node.node-1", "FelixConfiguration", bpfEnabled=True)
        await world.put("felixconfigurations", "node.node-2", "FelixConfiguration", wireguardEnabled=True)
        await world.put("felixconfigurations", "a-rack", "FelixConfiguration", nodeSelector="all()", vxlanMTU=1400)
        await world.put("tiers", "security", "Tier", order=1)
        notes = (await world.next_look())["notes"]
        assert [note["reason"] for note in notes] == ["tier", "ebpf", "node-selector"]
        assert [note["objects"] for note in notes[1:]] == [
            ["FelixConfiguration(node.node-1)"],
            ["FelixConfiguration(a-rack)"],
        ]

    play(scenario)


def test_what_another_dataplane_may_do_is_not_told(play: Play) -> None:
    async def scenario(world: World) -> None:
        await world.put("globalnetworkpolicies", "deny", "GlobalNetworkPolicy")
        await world.put("felixconfigurations", "default", "FelixConfiguration", wireguardEnabled=True)
        await world.put("bgpconfigurations", "default", "BGPConfiguration", serviceLoadBalancerAggregation="Disabled")
        assert [note["reason"] for note in (await world.next_look())["notes"]] == ["service-addresses"]

    play(scenario, own_dataplane=False)


def test_what_cannot_be_read_hides_nothing_else(play: Play) -> None:
    async def scenario(world: World) -> None:
        await world.put("globalnetworkpolicies", "deny", "GlobalNetworkPolicy")
        await world.store.commit([Put(f"{RESOURCES}ippools/broken", b"{"), Put(f"{RESOURCES}tiers/odd", b"[]")])
        await world.put("bgpconfigurations", "default", "BGPConfiguration")
        await world.store.commit([Put(f"{RESOURCES}felixconfigurations/default", b'{"kind": 7, "spec": [1]}')])
        assert [note["reason"] for note in (await world.next_look())["notes"]] == ["policy"]

    play(scenario)


def test_the_health_page_shows_what_the_last_look_found_and_stays_ready(play: Play) -> None:
    async def scenario(world: World) -> None:
        await world.put("globalnetworkpolicies", "deny", "GlobalNetworkPolicy")
        assert "without effect" not in as_text(world.health.report(), "readiness", verbose=True)
        await world.next_look()
        report = world.health.report()
        assert (report.ready, report.live) == (True, True)
        line = f"without effect: GlobalNetworkPolicy deny is stored, but {POLICY}\n"
        assert line in as_text(report, "readiness", verbose=True)
        assert line not in as_text(report, "readiness", verbose=False)
        assert as_json(report)["remarks"] == {"without effect": [line.partition(": ")[2].strip()]}

    play(scenario)


class Away(World):
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.store = cast(MeteredCounting, _Gone())
        self.look = EffectsLook("node-1", self.store, self.health, own_dataplane=True)


class _Gone:
    where = "etcd"

    async def snapshot(self, *_: object, **__: object) -> Snapshot:
        raise Unreachable("etcd", "read", 5.0, "connection refused", "start it")

    async def tally(self, *_: object, **__: object) -> dict[str, Tally]:
        raise Unreachable("etcd", "count", 5.0, "connection refused", "start it")


def test_a_datastore_that_is_away_is_told_and_is_no_trouble_of_the_node(open_store: Open) -> None:
    async def scenario() -> None:
        store = open_store()
        world = Away(store)
        loop = asyncio.create_task(world.look.run())
        answer = await world.next_look()
        assert answer["error"].startswith("datastore unreachable: etcd gave no answer")
        assert (world.health.report().ready, world.health.report().last) == (True, None)
        loop.cancel()
        await store.close()

    asyncio.run(scenario())


def test_a_page_that_is_asked_all_the_time_does_not_look_all_the_time(play: Play) -> None:
    async def scenario(world: World) -> None:
        now = 0.0
        look = EffectsLook("node-1", world.store, world.health, own_dataplane=True, clock=lambda: now)
        loop = asyncio.create_task(look.run())
        looks = []
        for now in (0.0, 30.0, 59.0, 61.0, 90.0):
            before = look.seen.looks
            look.ask_sometimes()
            if now in (0.0, 61.0):
                while look.seen.looks == before:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            looks.append(look.seen.looks)
        assert looks == [1, 1, 1, 2, 2]
        loop.cancel()

    play(scenario)
