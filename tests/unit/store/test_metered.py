"""A metered store answers as the store in it, and tells of each request once: which it was, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from tortie.cli.session import finish
from tortie.model.errors import UsageError
from tortie.store.contract import ABSENT, Compacted, Conflict, Put, Store, Tally, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.metered import Metered, MeteredCounting

Told = list[tuple[str, str | None]]


class Records:
    def __init__(self) -> None:
        self.told: Told = []
        self.seconds: list[float] = []

    def note(self, op: str, seconds: float, error: BaseException | None) -> None:
        self.told.append((op, type(error).__name__ if error else None))
        self.seconds.append(seconds)


def run(path: Path, scenario: Callable[[Metered, EmbeddedStore, Records], Awaitable[None]]) -> Records:
    async def guarded() -> None:
        inner = EmbeddedStore(path / "store.db", durable=False)
        metered = Metered(inner, on_request=records.note)
        try:
            async with asyncio.timeout(30):
                await scenario(metered, inner, records)
        finally:
            await metered.close()

    records = Records()
    asyncio.run(guarded())
    assert all(0 <= seconds < 30 for seconds in records.seconds)
    return records


def test_it_answers_as_the_store_in_it(tmp_path: Path) -> None:
    async def scenario(store: Metered, inner: EmbeddedStore, records: Records) -> None:
        checked: Store = store  # the contract, for the type checker
        assert checked.where == inner.where
        revision = await put(store, "/a", b"1", expecting=ABSENT)
        assert await store.get("/a") == await inner.get("/a")
        assert await store.scan("/") == await inner.scan("/")
        assert await store.snapshot(["/a", "/b"], ["/"]) == await inner.snapshot(["/a", "/b"], ["/"])
        async with aclosing(store.watch("/", after=revision - 1)) as changes:
            assert (await anext(changes)).value == b"1"
            assert ("watch", None) not in records.told, "it is not over yet"

    records = run(tmp_path, scenario)
    assert records.told == [(op, None) for op in ("commit", "get", "scan", "snapshot", "watch")]


def test_errors_are_told_and_still_raised(tmp_path: Path) -> None:
    async def scenario(store: Metered, inner: EmbeddedStore, records: Records) -> None:  # noqa: ARG001
        revision = await put(store, "/a", b"1")
        with pytest.raises(Conflict):
            await put(store, "/a", b"2", expecting=ABSENT)
        for attempt in (store.get(""), store.scan("\0"), store.snapshot([])):
            with pytest.raises(UsageError):
                await attempt
        await inner.compact(await put(inner, "/a", b"2"))
        with pytest.raises(Compacted):
            await anext(store.watch("/", after=revision - 1))

    records = run(tmp_path, scenario)
    assert records.told == [
        ("commit", None),
        ("commit", "Conflict"),
        ("get", "UsageError"),
        ("scan", "UsageError"),
        ("snapshot", "UsageError"),
        ("watch", "Compacted"),
    ]


def test_a_cancelled_request_is_told_as_that(tmp_path: Path) -> None:
    async def scenario(store: Metered, inner: EmbeddedStore, records: Records) -> None:  # noqa: ARG001
        watching = asyncio.ensure_future(anext(store.watch("/", after=1)))
        await asyncio.sleep(0)
        watching.cancel()
        await asyncio.wait([watching])
        reading = asyncio.create_task(store.scan("/"))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])

    assert run(tmp_path, scenario).told == [("watch", "CancelledError"), ("scan", "CancelledError")]


def test_timeouts_reach_the_store_in_it(tmp_path: Path) -> None:
    given: list[float] = []

    class Listening(EmbeddedStore):
        async def commit(self, operations: object, *, timeout_s: float = 0) -> int:  # noqa: ARG002
            given.append(timeout_s)
            return 1

    store = Metered(Listening(tmp_path / "store.db"), on_request=lambda *_: None)
    asyncio.run(store.commit([Put("/a", b"")], timeout_s=7))
    assert given == [7]


def test_a_command_needs_no_event_loop(tmp_path: Path) -> None:
    records = Records()
    store = Metered(EmbeddedStore(tmp_path / "store.db", offload=inline), on_request=records.note)
    finish(put(store, "/a", b"1"))
    assert list(finish(store.snapshot(["/a"])).entries) == ["/a"]
    finish(store.close())
    assert records.told == [("commit", None), ("snapshot", None)]


def test_counting_is_told_too(tmp_path: Path) -> None:
    async def counted() -> None:
        store = MeteredCounting(EmbeddedStore(tmp_path / "store.db", offload=inline), on_request=records.note)
        await put(store, "/a", b"1")
        assert await store.tally(["/"], first=1) == {"/": Tally(1, ("/a",))}
        await store.close()

    records = Records()
    asyncio.run(counted())
    assert records.told == [("commit", None), ("tally", None)]
