"""Resources over a store: their life, and what happens when two people act at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tortie.model.errors import Invalid, UsageError
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Document, Undecodable
from tortie.store.contract import Operation, Put, Revision
from tortie.store.embedded import EmbeddedStore
from tortie.store.resources import AlreadyExists, NotFound, Resources, UpdateConflict

POOL, NODE, SET = BY_NAME["IPPool"], BY_NAME["Node"], BY_NAME["NetworkSet"]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Interrupted(EmbeddedStore):
    """Lets somebody else act right before each of our commits, as long as there is something to do."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.meanwhile: list[Callable[[EmbeddedStore], Awaitable[Any]]] = []

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = 10.0) -> Revision:
        if self.meanwhile:
            other = EmbeddedStore(self.path)
            await self.meanwhile.pop(0)(other)
            await other.close()
        return await super().commit(operations, timeout_s=timeout_s)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Resources, Interrupted]]:
    store = Interrupted(folder / "store.db")
    uids = (f"uid-{number}" for number in range(1, 1000))
    try:
        yield Resources(store, now=lambda: NOW, new_uid=lambda: next(uids)), store
    finally:
        await store.close()


def pool(name: str = "a", cidr: str = "10.0.0.0/16", **metadata: Any) -> Document:
    return {
        "apiVersion": "projectcalico.org/v3",
        "kind": "IPPool",
        "metadata": {"name": name, **metadata},
        "spec": {"cidr": cidr},
    }


def test_a_resource_is_born_with_uid_time_and_version(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, _):
            made = await resources.create(pool(uid="forged", creationTimestamp="1970-01-01T00:00:00Z"))
            assert made["metadata"] == {
                "name": "a",
                "uid": "uid-1",
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "resourceVersion": made["metadata"]["resourceVersion"],
            }
            assert await resources.get(POOL, "a") == made
            listing = await resources.list(POOL)
            assert (listing.documents, listing.unreadable) == ([made], [])
            assert str(listing.revision) == made["metadata"]["resourceVersion"]

    asyncio.run(scenario())


def test_what_identifies_a_resource_stays_when_it_is_replaced(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, _):
            made = await resources.create(pool())
            changed = pool(uid="forged", labels={"x": "1"})
            replaced = await resources.replace(changed)
            assert replaced["metadata"]["uid"] == made["metadata"]["uid"]
            assert replaced["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
            assert replaced["metadata"]["labels"] == {"x": "1"}
            assert int(replaced["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])

    asyncio.run(scenario())


@pytest.mark.parametrize("pinned", [True, False])
def test_writing_what_is_there_already_writes_nothing(tmp_path: Path, pinned: bool) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            made = await resources.create(pool())
            before = await store.scan("")
            again = made if pinned else pool()
            assert await resources.replace(again) == made
            assert await resources.apply(again) == made
            assert await resources.edit(POOL, "a", None, lambda stored: stored) == made
            assert await store.scan("") == before

    asyncio.run(scenario())


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, _):
            await resources.create(pool())
            for attempt in (
                resources.get(POOL, "b"),
                resources.get(SET, "a", "default"),
                resources.replace(pool("b")),
                resources.edit(POOL, "b", None, lambda stored: stored),
                resources.delete(POOL, "b"),
            ):
                with pytest.raises(NotFound):
                    await attempt

    asyncio.run(scenario())


def test_somebody_who_creates_it_a_moment_before_us_wins(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            store.meanwhile.append(lambda other: Resources(other, new_uid=lambda: "theirs").create(pool()))
            with pytest.raises(AlreadyExists):
                await resources.create(pool())
            assert (await resources.get(POOL, "a"))["metadata"]["uid"] == "theirs"

    asyncio.run(scenario())


def test_apply_replaces_what_somebody_created_a_moment_before_us(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            store.meanwhile.append(lambda other: Resources(other, new_uid=lambda: "theirs").create(pool()))
            applied = await resources.apply(pool(labels={"x": "1"}))
            assert (applied["metadata"]["uid"], applied["metadata"]["labels"]) == ("theirs", {"x": "1"})

    asyncio.run(scenario())


def labelled(key: str) -> Callable[[Document], Document]:
    def change(document: Document) -> Document:
        labels = {**document["metadata"].get("labels", {}), key: "set"}
        return {**document, "metadata": {**document["metadata"], "labels": labels}}

    return change


def test_an_edit_is_done_again_on_what_somebody_else_wrote_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            await resources.create(pool())
            for name in ("theirs-1", "theirs-2"):
                store.meanwhile.append(
                    lambda other, name=name: Resources(other).edit(POOL, "a", None, labelled(name))  # type: ignore[misc]
                )
            after = await resources.edit(POOL, "a", None, labelled("ours"))
            assert after["metadata"]["labels"] == {"theirs-1": "set", "theirs-2": "set", "ours": "set"}
            store.meanwhile.append(lambda other: Resources(other).delete(POOL, "a"))
            with pytest.raises(NotFound):
                await resources.edit(POOL, "a", None, labelled("late"))

    asyncio.run(scenario())


def test_a_named_version_is_a_promise(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            made = await resources.create(pool())
            changed = {**made, "metadata": {**made["metadata"], "labels": {"x": "1"}}}
            store.meanwhile.append(lambda other: Resources(other).edit(POOL, "a", None, labelled("theirs")))
            with pytest.raises(UpdateConflict):
                await resources.replace(changed)
            with pytest.raises(UpdateConflict):
                await resources.apply(changed)
            assert (await resources.get(POOL, "a"))["metadata"]["labels"] == {"theirs": "set"}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: {**stored, "kind": "Node"},
        lambda stored: {**stored, "metadata": {**stored["metadata"], "name": "b"}},
        lambda stored: {**stored, "metadata": {**stored["metadata"], "namespace": "b"}},
        lambda stored: {**stored, "metadata": None},
        lambda stored: {key: value for key, value in stored.items() if key != "kind"},
    ],
)
def test_an_edit_cannot_make_another_resource_of_it(tmp_path: Path, change: Callable[[Document], Document]) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            await resources.create(pool())
            before = await store.scan("")
            with pytest.raises(UsageError, match="cannot be changed"):
                await resources.edit(POOL, "a", None, change)
            assert await store.scan("") == before

    asyncio.run(scenario())


def test_an_invalid_result_is_refused_whoever_makes_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            with pytest.raises(Invalid):
                await resources.create(pool(cidr="10.0.0.0/33"))
            assert (await store.scan("")).entries == ()
            await resources.create(pool())
            for attempt in (
                resources.replace(pool(cidr="10.9.0.0/16")),
                resources.edit(POOL, "a", None, lambda stored: {**stored, "spec": {}}),
            ):
                with pytest.raises(Invalid):
                    await attempt

    asyncio.run(scenario())


def test_what_others_broke_is_told_and_does_not_hide_the_rest(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            made = await resources.create(pool())
            for name, value in (("broken", b"\xff"), ("list", b"[]"), ("deep", b"[" * 100_000)):
                await store.commit([Put(str(ResourceKey(POOL, name)), value)])
            listing = await resources.list(POOL)
            assert listing.documents == [made]
            assert [error.key.rpartition("/")[2] for error in listing.unreadable] == ["broken", "deep", "list"]
            with pytest.raises(Undecodable):
                await resources.get(POOL, "broken")
            # A broken neighbour is no reason to refuse a new pool, and a broken entry can be got rid of.
            await resources.create(pool("b", "10.1.0.0/16"))
            with pytest.raises(AlreadyExists):
                await resources.create(pool("broken", "10.2.0.0/16"))
            await resources.delete(POOL, "broken")
            await resources.create(pool("broken", "10.2.0.0/16"))

    asyncio.run(scenario())


def test_many_that_go_along_with_a_node_go_before_it(tmp_path: Path) -> None:
    """More than one commit takes; the node goes with the last, so that a broken-off deletion can be repeated."""

    async def scenario() -> None:
        async with opened(tmp_path) as (resources, store):
            await resources.create({**pool("n1"), "kind": "Node", "spec": {}})
            peer = {"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "spec": {"node": "n1"}}
            keys = [str(ResourceKey(BY_NAME["BGPPeer"], f"p{number}")) for number in range(250)]
            for start in range(0, 250, 50):
                operations = [
                    Put(key, json.dumps({**peer, "metadata": {"name": key.rpartition("/")[2]}}).encode())
                    for key in keys[start : start + 50]
                ]
                await store.commit(operations)

            async def stop(_other: EmbeddedStore) -> None:
                raise ConnectionError("gone")

            async def go_on(_other: EmbeddedStore) -> None:
                return None

            store.meanwhile += [go_on, stop]
            with pytest.raises(ConnectionError):
                await resources.delete(NODE, "n1")
            assert len((await resources.list(BY_NAME["BGPPeer"])).documents) == 150
            deleted = await resources.delete(NODE, "n1")
            assert len(deleted.along) == 150
            assert (await store.scan("")).entries == ()

    asyncio.run(scenario())


def test_of_two_overlapping_pools_created_at_once_the_second_withdraws(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path) as (resources, store):
            store.meanwhile.append(lambda other: Resources(other).create(pool("theirs", "10.0.0.0/16")))
            with pytest.raises(Invalid, match="ours") as refused:
                await resources.create(pool("ours", "10.0.1.0/24"))
            assert "overlaps with the IPPool theirs" in refused.value.why
            left = (await resources.list(POOL)).documents
            assert [document["metadata"]["name"] for document in left] == ["theirs"]

    asyncio.run(work())
