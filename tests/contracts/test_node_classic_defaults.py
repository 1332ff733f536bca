"""What a classic start makes sure of in a datastore, on a real one."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tortie.model.wire import decode
from tortie.node.classic.defaults import Defaults
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.release import read_release
from tortie.node.picture import key_of
from tortie.node.registration import Stamp
from tortie.node.settings import read_node_settings
from tortie.store.contract import Entry, Put
from tortie.store.embedded import EmbeddedStore

KEY = key_of("ClusterInformation", "default")
STAMP = Stamp(lambda: "2026-11-16T00:00:00Z", lambda: "11111111-2222-3333-4444-555555555555")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(tmp_path / "store.db")
    yield store
    asyncio.run(store.close())


def version_after(store: EmbeddedStore, release: str) -> str:
    """What the cluster's information says after a start that plays the release."""

    async def start() -> Entry | None:
        log = ClassicLog(io.StringIO(), read_release(release))
        defaults = Defaults("n1", read_node_settings({}).settings, {}, STAMP, ClassicReader(store, log), log)
        await defaults.cluster()
        return await store.get(KEY)

    entry = asyncio.run(start())
    assert entry is not None
    return str(decode(entry.value, entry.key)["spec"]["calicoVersion"])


@pytest.mark.parametrize(("release", "version"), [("3.20", "v3.20.0"), ("3.28", "v3.28.0"), ("v3.28.5", "v3.28.5")])
def test_a_new_cluster_carries_the_release_that_is_played(store: EmbeddedStore, release: str, version: str) -> None:
    assert version_after(store, release) == version
    assert version_after(store, "3.9") == version


def test_a_version_that_is_there_stays(store: EmbeddedStore) -> None:
    value = b'{"kind":"ClusterInformation","spec":{"calicoVersion":"v3.19.1"}}'
    asyncio.run(store.commit([Put(KEY, value)]))
    assert version_after(store, "3.28") == "v3.19.1"
