"""Notes: whole or not at all, and nobody stumbles over one that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.lab.notes import read_note, write_note


def test_what_is_written_is_read_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    note = tmp_path / "note.json"
    write_note(str(note), '{"a": 1}')
    write_note(str(note), '{"a": 2}')
    assert read_note(str(note)) == {"a": 2}
    assert list(tmp_path.iterdir()) == [note]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff"])
def test_what_cannot_be_used_is_empty(tmp_path: Path, content: bytes) -> None:
    note = tmp_path / "note.json"
    note.write_bytes(content)
    assert read_note(str(note)) == {}


def test_a_place_that_is_not_there_stops_nobody(tmp_path: Path) -> None:
    note = tmp_path / "gone" / "note.json"
    write_note(str(note), "{}")
    assert read_note(str(note)) == {}
