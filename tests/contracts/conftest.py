"""The stores that the contract suite holds to their promises."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.etcd_server import running_etcd
from tests.support.stores import AsCommand, CompactableStore, Open, Play, Scenario

from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore

DEADLINE_S = 120.0


@pytest.fixture(scope="session")
def etcd_endpoint() -> Iterator[str]:
    """One etcd for the whole session: the suite needs many stores, not many servers."""
    with running_etcd() as etcd:
        yield etcd.endpoint


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.db"


@pytest.fixture(params=["embedded", "etcd"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Every call gives another client of the same data. What holds for every store is asked of "etcd-command", too."""
    if request.param == "embedded":
        return lambda: EmbeddedStore(tmp_path / "store.db")
    endpoint: str = request.getfixturevalue("etcd_endpoint")
    make = EtcdStore if request.param == "etcd" else AsCommand
    return lambda: make(EtcdConfig(endpoints=(endpoint,)))


@pytest.fixture(params=["loop", "command"])
def etcd_client(request: pytest.FixtureRequest) -> Callable[[EtcdConfig], CompactableStore]:
    """Either of the two clients of etcd."""
    return EtcdStore if request.param == "loop" else AsCommand


@pytest.fixture
def play(open_store: Open) -> Play:
    """Runs a scenario with a store and a fresh prefix, within the deadline."""

    def run(scenario: Scenario) -> None:
        async def whole() -> None:
            store = open_store()
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await scenario(store, f"/{uuid.uuid4().hex}/")
            finally:
                await store.close()

        asyncio.run(whole())

    return run
