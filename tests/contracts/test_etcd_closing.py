"""Cancelling a call or closing the store leaves no task, socket or warning behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.certificates import Authority
from tests.support.etcd_server import ServerTls, running_etcd

from tortie.model.errors import UsageError
from tortie.store.contract import Unreachable, put
from tortie.store.etcd import EtcdConfig, EtcdStore


def run(config: EtcdConfig, scenario: Callable[[EtcdStore], Awaitable[None]]) -> None:
    """Runs it and looks around afterwards."""

    async def watched() -> None:
        before = sockets()
        store = EtcdStore(config)
        try:
            async with asyncio.timeout(30):
                await scenario(store)
        finally:
            await store.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert sockets() == before

    asyncio.run(watched())


def sockets() -> set[str]:
    found = set()
    for handle in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{handle}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found


async def cancelled(task: asyncio.Task[object]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_store_that_was_used_and_closed_leaves_nothing() -> None:
    async def scenario(store: EtcdStore) -> None:
        await put(store, "/a", b"1")
        await anext(store.watch("/", after=0))

    with running_etcd() as etcd:
        run(EtcdConfig(endpoints=(etcd.endpoint,)), scenario)


def test_a_store_that_was_never_used_closes_too() -> None:
    async def scenario(store: EtcdStore) -> None:
        await store.close()

    run(EtcdConfig(endpoints=("http://127.0.0.1:1",)), scenario)


def test_calls_cancelled_while_the_server_hangs_leave_nothing() -> None:
    async def scenario(store: EtcdStore) -> None:
        await put(store, "/a", b"1")
        etcd.pause()
        tasks: list[asyncio.Task[object]] = [
            asyncio.create_task(store.get("/a")),
            asyncio.create_task(store.scan("/")),
            asyncio.create_task(put(store, "/a", b"2")),
            asyncio.create_task(anext(store.watch("/", after=10))),
        ]
        await asyncio.sleep(0.05)
        for task in tasks:
            await cancelled(task)

    with running_etcd() as etcd:
        run(EtcdConfig(endpoints=(etcd.endpoint,)), scenario)


def test_a_connection_cancelled_in_the_middle_of_its_handshake_leaves_nothing(tmp_path: Path) -> None:
    async def scenario(store: EtcdStore) -> None:
        etcd.pause()
        task: asyncio.Task[object] = asyncio.create_task(store.get("/a"))
        await asyncio.sleep(0.05)
        await cancelled(task)

    authority = Authority(tmp_path)
    server = authority.server()
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        run(EtcdConfig(endpoints=(etcd.endpoint,), ca_file=str(authority.cert)), scenario)


def test_a_tls_connection_to_a_server_that_hangs_is_closed_at_once(tmp_path: Path) -> None:
    """An orderly end would wait half a minute for the other side's farewell."""

    async def scenario(store: EtcdStore) -> None:
        await put(store, "/a", b"1")
        etcd.pause()
        with pytest.raises(Unreachable):
            await store.get("/a", timeout_s=0.3)

    authority = Authority(tmp_path)
    server = authority.server()
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        run(EtcdConfig(endpoints=(etcd.endpoint,), ca_file=str(authority.cert)), scenario)


def test_a_timeout_of_the_caller_stays_a_timeout_when_the_connection_breaks_meanwhile() -> None:
    """The gRPC library wakes its waiters by cancelling them; that must not leak into the caller's task."""

    async def scenario(store: EtcdStore) -> None:
        await put(store, "/a", b"1")
        etcd.stop()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await store.get("/a", timeout_s=20)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    with running_etcd() as etcd:
        run(EtcdConfig(endpoints=(etcd.endpoint,)), scenario)


def test_calls_and_watches_end_when_the_store_is_closed_under_them() -> None:
    async def scenario(store: EtcdStore) -> None:
        watching = asyncio.ensure_future(anext(store.watch("/", after=0)))
        await store.get("/a")
        etcd.pause()
        reading = asyncio.create_task(store.get("/a", timeout_s=20))
        await asyncio.sleep(0.05)
        await store.close()
        for waiting in (watching, reading):
            with pytest.raises(Unreachable, match="was closed"):
                await waiting
        with pytest.raises(UsageError, match="is closed"):
            await store.get("/a")

    with running_etcd() as etcd:
        run(EtcdConfig(endpoints=(etcd.endpoint,)), scenario)
