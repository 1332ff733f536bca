"""Export files: what every value looks like in one, and which files are refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tortie.store.contract import Entry, Operation, Put, Revision
from tortie.store.embedded import EmbeddedStore
from tortie.store.transfer import BadExport, Imported, Occupied, export, import_entries, read_export, write_export

ODD_VALUES = [
    b"",
    b" ",
    b"{}",
    b" {}",
    b'{"a":1}\n',
    b'{"a":1,"a":2}',
    b"{\r\n}",
    b"not json",
    "Grüße, 猫 \u2028".encode(),
    bytes(range(256)),
    b"NaN",
    b"1e999",
    b"9" * 5000,
    b'"\\ud800"',
    b"\xef\xbb\xbf{}",  # a byte order mark, with which JSON would still be read
    '{"a":1}'.encode("utf-16"),
    '"a"'.encode("utf-16-le"),
    '"a"'.encode("utf-32"),
    b'"\xed\xa0\x80"',  # half of a surrogate pair as UTF-8, which it is not
    b"[" * 400 + b"]" * 400,
    b"[" * 5000 + b"]" * 5000,
    b'{"key":"/calico/x","value":1}',
    b'{"sha256":"0"}',
    b'1,"value":2',
    b"x" * 1_000_000,
]


def written(entries: Iterable[tuple[str, bytes]]) -> list[bytes]:
    made = [Entry(key, value, number) for number, (key, value) in enumerate(entries)]
    return list(write_export(made, len(made)))


def read(lines: Iterable[bytes]) -> list[tuple[str, bytes]]:
    return read_export(lines, "file")


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value[:20]))
def test_an_odd_value_comes_back_as_it_was(value: bytes) -> None:
    entries = [("/calico/odd", value), ("/calico/ä 猫\n", value)]
    lines = written(entries)
    assert len(lines) == 4
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert read(lines) == entries


@pytest.mark.parametrize("depth", range(900, 1010, 3))
def test_a_value_nested_about_as_deep_as_python_can_read_comes_back(depth: int) -> None:
    entries = [("/calico/deep", b"[" * depth + b"]" * depth)]
    assert read(written(entries)) == entries


def as_json(text: str) -> bytes:
    return json.dumps(text).encode()


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            st.binary() | st.text().map(as_json),
        )
    )
)
@example([("", b"\xef\xbb\xbf1")])
def test_any_values_come_back(pairs: list[tuple[str, bytes]]) -> None:
    entries = sorted({f"/calico/{key}": value for key, value in pairs}.items())
    assert read(written(entries)) == entries


ENTRIES = [("/calico/a", b'{"a":1}'), ("/calico/b", b"text"), ("/calico/c", b"\xff")]


def sealed(*lines: bytes, count: int | None = None) -> list[bytes]:
    """A file with a right checksum, whatever is in it."""
    header = {"apiVersion": "tortie/v1", "kind": "DatastoreExport", "entries": len(lines) if count is None else count}
    seal = hashlib.sha256(b"".join(lines)).hexdigest()
    return [json.dumps(header).encode() + b"\n", *lines, b'{"sha256":"' + seal.encode() + b'"}\n']


def test_a_file_cut_anywhere_is_refused() -> None:
    whole = b"".join(written(ENTRIES))
    for length in range(len(whole) - 1):
        with pytest.raises(BadExport):
            read(whole[:length].splitlines(keepends=True))


def test_a_file_with_any_one_byte_changed_is_refused_or_means_the_same() -> None:
    whole = b"".join(written(ENTRIES))
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        try:
            found = read(changed.splitlines(keepends=True))
        except BadExport:
            continue
        assert found == ENTRIES


@pytest.mark.parametrize(
    ("lines", "line", "why"),
    [
        ([], 1, "not JSON"),
        ([b"apiVersion: v1\n"], 1, "not JSON"),
        ([b'{"kind": "List"}\n'], 1, "no header of an export"),
        ([b"[]\n"], 1, "no header of an export"),
        (written(ENTRIES)[:-1], 4, "it was cut"),
        (written(ENTRIES)[:2] + written(ENTRIES)[3:], 4, "the checksum does not fit"),
        ([*written(ENTRIES), b"\n"], 6, "more behind the checksum"),
        (written(ENTRIES) + written(ENTRIES), 6, "more behind the checksum"),
        (sealed(b'{"key":"/calico/a","value":1}\n', count=2), 3, "2 entries were announced, 1 are there"),
        (sealed(b'{"key":"/elsewhere/a","value":1}\n'), 2, "does not lie below /calico/"),
        (sealed(b'{"key":"/calico/a"}\n'), 2, "no entry"),
        (sealed(b'{"key":5,"value":1}\n'), 2, "no entry"),
        (sealed(b'{"key":"/calico/a","base64":"?"}\n'), 2, "no entry"),
        (sealed(b'{"key":"/calico/a", "value":1}\n'), 2, "no entry"),
        (sealed(b'{"key":"/calico/a","value":1,"value":2}\n'), 2, "no entry"),
        (sealed(*[b'{"key":"/calico/a","value":1}\n'] * 2), 3, "/calico/a stands there twice"),
        (sealed(*written([("/calico/b", b"1"), ("/calico/a", b"1")])[1:3]), 3, "not in order"),
        (sealed(b'{"key":"/calico/\\ud800","text":"x"}\n'), 2, "no entry"),
        (sealed(b'{"key":"/calico/a","text":"\\ud800"}\n'), 2, "no entry"),
        (sealed(b'{"key":"/calico/\\u0000","text":"x"}\n'), 2, "no entry"),
    ],
)
def test_what_no_export_made_is_refused_with_its_line(lines: list[bytes], line: int, why: str) -> None:
    with pytest.raises(BadExport) as caught:
        read(lines)
    assert why in caught.value.why
    assert f"file, line {line}:" in caught.value.what
    assert caught.value.exit_code == 2


class Failing(EmbeddedStore):
    """A store whose connection goes away after some commits."""

    commits_left = 1

    async def commit(self, operations: Iterable[Operation], *, timeout_s: float = 10.0) -> Revision:
        if self.commits_left == 0:
            raise ConnectionError("gone")
        self.commits_left -= 1
        return await super().commit(list(operations), timeout_s=timeout_s)


def many(count: int) -> list[tuple[str, bytes]]:
    return [(f"/calico/{number:04}", f'{{"n":{number}}}'.encode()) for number in range(count)]


def test_an_interrupted_import_is_repeated(tmp_path: Path) -> None:
    async def scenario() -> None:
        failing = Failing(tmp_path / "store.db")
        with pytest.raises(ConnectionError):
            await import_entries(failing, many(250))
        await failing.close()
        store = EmbeddedStore(tmp_path / "store.db")
        assert await import_entries(store, many(250)) == Imported(written=150, unchanged=100)
        assert await import_entries(store, many(250)) == Imported(written=0, unchanged=250)
        assert read(await export(store)) == many(250)
        await store.close()

    asyncio.run(scenario())


def test_other_values_are_not_overwritten_unless_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db")
        await store.commit([Put("/calico/0007", b"mine"), Put("/calico/extra", b"mine"), Put("/other", b"mine")])
        before = await store.scan("")
        with pytest.raises(Occupied) as caught:
            await import_entries(store, many(250))
        assert caught.value.keys == ["/calico/0007"]
        assert await store.scan("") == before
        assert await import_entries(store, many(250), overwrite=True) == Imported(written=250, unchanged=0)
        after = {entry.key: entry.value for entry in (await store.scan("")).entries}
        assert after == dict(many(250)) | {"/calico/extra": b"mine", "/other": b"mine"}
        await store.close()

    asyncio.run(scenario())


def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db")
        await import_entries(store, many(250), progress=lambda done, total: told.append((done, total)))
        await store.close()

    asyncio.run(scenario())
    assert told == [(0, 250), (100, 250), (200, 250), (250, 250)]


def test_large_values_go_in_commits_that_every_store_takes(tmp_path: Path) -> None:
    entries = [(f"/calico/{number}", b"x" * 700_000) for number in range(5)]

    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db")
        assert await import_entries(store, entries) == Imported(written=5, unchanged=0)
        await store.close()

    asyncio.run(scenario())
