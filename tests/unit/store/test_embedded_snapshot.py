"""A snapshot of the embedded store reads only: no file, no waiting for writers, no value made up for a damaged one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tortie.cli.session import finish
from tortie.store.contract import Damaged, Put, Snapshot, put
from tortie.store.embedded import EmbeddedStore, inline


def test_looking_at_a_store_that_is_not_there_finds_it_empty_and_creates_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "state" / "store.db", offload=inline)
    assert finish(store.snapshot(["/a"], ["/", "/b"])) == Snapshot({}, {"/": (), "/b": ()}, 1)
    finish(store.close())
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_does_not_wait_for_a_writer_in_the_middle_of_its_work(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = EmbeddedStore(path, offload=inline)
    revision = finish(put(store, "/a", b"before"))
    writer = sqlite3.connect(path, isolation_level=None)
    try:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM current")
        snapshot = finish(store.snapshot(["/a"], ["/"], timeout_s=1))
        assert [entry.value for entry in snapshot.listings["/"]] == [b"before"]
        assert snapshot.revision == revision
        writer.execute("ROLLBACK")
    finally:
        writer.close()
        finish(store.close())


def test_a_key_without_its_value_is_damage_and_not_absence(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = EmbeddedStore(path, offload=inline)
    finish(store.commit([Put("/a", b"1"), Put("/b", b"2")]))
    finish(store.close())
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM history WHERE key = '/a'")
    connection.commit()
    connection.close()
    store = EmbeddedStore(path, offload=inline)
    for keys, prefixes in ((["/a"], []), ([], ["/"])):
        with pytest.raises(Damaged, match="is damaged: /a points to change"):
            finish(store.snapshot(keys, prefixes))
    assert list(finish(store.snapshot(["/b"])).entries) == ["/b"]
    finish(store.close())
