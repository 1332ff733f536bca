"""Everything in a datastore as one text file, and back, to the byte.

A line of JSON per entry, in key order, between a header and a seal:

    {"apiVersion":"tortie/v1","kind":"DatastoreExport","entries":2}
    {"key":"/calico/…","value":{…}}
    {"sha256":"…"}

The value stands there exactly as stored, so that the same data always makes the same file whichever store it came
from; what is not one line of JSON stands as "text" or "base64". A file without its seal, or with a wrong one, was cut
or edited and is refused before anything is written.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from tortie.model.errors import Place, TortieError
from tortie.model.keys import ROOT
from tortie.store.contract import ABSENT, COMMIT_BYTES_MAX, TIMEOUT_S, Entry, Operation, Put, Store, check_key

_KIND = {"apiVersion": "tortie/v1", "kind": "DatastoreExport"}
_ENTRY = re.compile(rb'\{"key":("(?:[^"\\]|\\.)*"),"(value|text|base64)":(.+)\}\n')
_BATCH_MAX = 100

# Called with how many entries are done, and of how many.
Progress = Callable[[int, int], None]


class BadExport(TortieError):
    """A file that no export made, or that is not whole."""

    exit_code = 2
    code = "invalid"

    def __init__(self, place: Place, why: str, fix: str = "export again") -> None:
        super().__init__(f"{place}: not a complete export", why, fix)


class Occupied(TortieError):
    """The target holds other values under the same keys."""

    code = "conflict"

    def __init__(self, where: str, keys: list[str]) -> None:
        self.keys = keys
        examples = ", ".join(keys[:3]) + (" and others" if len(keys) > 3 else "")
        super().__init__(
            f"the {where} already holds {len(keys)} of these entries with other values",
            f"for example {examples}; nothing was written",
            "import into an empty datastore, or pass --overwrite to replace them",
        )


class Imported(NamedTuple):
    written: int
    unchanged: int


def write_export(entries: Iterable[Entry], count: int) -> Iterator[bytes]:
    yield _line({**_KIND, "entries": count})
    seal = hashlib.sha256()
    for entry in entries:
        line = _entry_line(entry)
        seal.update(line)
        yield line
    yield _line({"sha256": seal.hexdigest()})


def read_export(lines: Iterable[bytes], source: str) -> list[tuple[str, bytes]]:
    """Keys and values of a whole export; raises BadExport with the line of the first thing that is wrong."""
    numbered = enumerate(lines, start=1)
    _, header_line = next(numbered, (1, b""))
    header = _parsed(header_line, Place(source, 1))
    if not isinstance(header, dict) or any(header.get(name) != value for name, value in _KIND.items()):
        raise BadExport(Place(source, 1), "the first line is no header of an export", "is it the right file?")
    found: list[tuple[str, bytes]] = []
    seal = hashlib.sha256()
    for number, line in numbered:
        place = Place(source, number)
        if line.startswith(b'{"sha256":'):
            if _parsed(line, place) != {"sha256": seal.hexdigest()}:
                raise BadExport(place, "the checksum does not fit: the file was changed")
            if len(found) != header.get("entries"):
                raise BadExport(place, f"{header.get('entries')} entries were announced, {len(found)} are there")
            if next(numbered, None):
                why = "there is more behind the checksum: two files in one?"
                raise BadExport(Place(source, number + 1), why, "import one export at a time")
            return found
        seal.update(line)
        entry = _parse_entry(line, place)
        if found and entry[0].encode() <= found[-1][0].encode():
            raise BadExport(place, f"the key {entry[0]} stands there twice, or not in order")
        found.append(entry)
    raise BadExport(Place(source, len(found) + 1), "the file ends before its checksum: it was cut")


async def export(store: Store, *, timeout_s: float = TIMEOUT_S) -> Iterator[bytes]:
    listing = await store.scan(ROOT, timeout_s=timeout_s)
    return write_export(listing.entries, len(listing.entries))


async def import_entries(
    store: Store,
    entries: list[tuple[str, bytes]],
    *,
    overwrite: bool = False,
    progress: Progress = lambda _done, _total: None,
    timeout_s: float = TIMEOUT_S,
) -> Imported:
    """Writes what is missing or, with `overwrite`, different. Interrupted, it is simply repeated."""
    present = {entry.key: entry for entry in (await store.scan(ROOT, timeout_s=timeout_s)).entries}
    missing = [(key, value) for key, value in entries if key not in present or present[key].value != value]
    different = [key for key, _ in missing if key in present]
    if different and not overwrite:
        raise Occupied(store.where, different)
    written = 0
    for batch in _batches(missing, present):
        progress(written, len(missing))
        await store.commit(batch, timeout_s=timeout_s)
        written += len(batch)
    progress(written, len(missing))
    return Imported(written, len(entries) - written)


def _batches(entries: list[tuple[str, bytes]], present: dict[str, Entry]) -> Iterator[list[Operation]]:
    batch: list[Operation] = []
    size = 0
    for key, value in entries:
        cost = len(key.encode()) + len(value)
        if batch and (len(batch) == _BATCH_MAX or size + cost > COMMIT_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(Put(key, value, present[key].revision if key in present else ABSENT))
        size += cost
    if batch:
        yield batch


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _entry_line(entry: Entry) -> bytes:
    key = json.dumps(entry.key, ensure_ascii=False).encode()
    if _is_one_line_of_json(entry.value):
        return b'{"key":' + key + b',"value":' + entry.value + b"}\n"
    try:
        return _line({"key": entry.key, "text": entry.value.decode()})
    except UnicodeDecodeError:
        return _line({"key": entry.key, "base64": base64.b64encode(entry.value).decode()})


def _is_one_line_of_json(value: bytes) -> bool:
    if b"\n" in value or b"\r" in value or value != value.strip():
        return False
    try:
        text = value.decode()  # bytes would be taken for UTF-16 or a BOM, which mean nothing within a line
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parse_entry(line: bytes, place: Place) -> tuple[str, bytes]:
    parts = _ENTRY.fullmatch(line)
    if parts is None:
        raise BadExport(place, "this line is no entry")
    key = _parsed(parts[1], place)
    assert isinstance(key, str)
    try:
        check_key(key)
        value = _parse_value(parts[2], parts[3], place)
    except (TortieError, ValueError):
        raise BadExport(place, "this line is no entry") from None
    if not key.startswith(ROOT):
        raise BadExport(place, f"the key {key} does not lie below {ROOT}")
    return key, value


def _parse_value(form: bytes, written: bytes, place: Place) -> bytes:
    if form == b"value":
        # Not encoded again: the bytes stay those that were exported.
        with suppress(RecursionError):  # whoever wrote it got to the bottom of it
            json.loads(written.decode())
        return written
    text = _parsed(written, place)
    if not isinstance(text, str):
        raise ValueError("no text")
    return text.encode() if form == b"text" else base64.b64decode(text, validate=True)


def _parsed(line: bytes, place: Place) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise BadExport(place, "this line is not JSON") from None
