"""`tortie datastore export` and `import`: everything, out of one datastore and into another."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option
from tortie.cli.progress import Bar
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.model.errors import UsageError
from tortie.model.wire import to_json
from tortie.store.contract import Store
from tortie.store.transfer import Imported, import_entries, read_export
from tortie.store.transfer import export as export_lines

_TIMEOUT_S = 120.0


def export(*, settings: Settings, file: str | None) -> int:
    bar = Bar("exporting")

    async def work(store: Store) -> list[bytes]:
        return list(await export_lines(store, timeout_s=_TIMEOUT_S))

    lines = with_store(settings, work)
    if file is None or file == "-":
        sys.stdout.flush()
        sys.stdout.buffer.writelines(_counted(lines, bar))
        sys.stdout.buffer.flush()
    else:
        _write_whole(file, _counted(lines, bar))
    bar.clear()
    sys.stderr.write(f"exported {len(lines) - 2:,} entries\n")
    return 0


def import_(*, settings: Settings, file: str, overwrite: bool, output: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    entries = _read(file)
    bar = Bar("importing")

    async def work(store: Store) -> Imported:
        return await import_entries(store, entries, overwrite=overwrite, progress=bar, timeout_s=_TIMEOUT_S)

    result = with_store(settings, work)
    bar.clear()
    if output == "json":
        sys.stdout.write(to_json(result._asdict()) + "\n")
    else:
        sys.stdout.write(f"Successfully imported {result.written:,} entries, {result.unchanged:,} were there already\n")
    return 0


def _read(file: str) -> list[tuple[str, bytes]]:
    if file == "-":
        return read_export(sys.stdin.buffer, "standard input")
    try:
        with open(file, "rb") as lines:
            return read_export(lines, file)
    except OSError as error:
        raise UsageError(f"{file} cannot be read", error.strerror or str(error), "check the path") from None


def _counted(lines: list[bytes], bar: Bar) -> Iterator[bytes]:
    for done, line in enumerate(lines):
        if done % 1000 == 0:
            bar(done, len(lines))
        yield line


def _write_whole(file: str, lines: Iterator[bytes]) -> None:
    """Beside the file and then in its place: a file of that name is always a whole export."""
    beside = Path(f"{file}.part")
    try:
        with open(beside, "wb") as out:
            out.writelines(lines)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"{file} cannot be written", error.strerror or str(error), "check the path") from None


COMMAND = Command(
    summary="Take everything out of a datastore, or put it into one.",
    commands={
        "export": Command(
            summary="Write all of Calico's data, resources and IPAM alike, to FILE or standard output.",
            run=export,
            arguments=(Argument("file", "FILE", required=False),),
            options=DATASTORE,
            examples="""
                tortie datastore export > cluster.jsonl
                tortie datastore export | ETCD_ENDPOINTS=http://127.0.0.1:2379 tortie datastore import -
            """,
        ),
        "import": Command(
            summary="Put all entries of FILE, or of standard input if it is -, into the datastore.",
            description="""Put all entries of FILE, or of standard input if it is -, into the datastore.

The file is checked whole before anything is written. Entries that are there already are left alone, so an interrupted
import can be repeated.""",
            run=import_,
            arguments=(Argument("file", "FILE"),),
            options=(
                Option(("--overwrite",), "overwrite", "Replace entries that hold other values."),
                output_option("text", "text", "json"),
                *DATASTORE,
            ),
            examples="""
                tortie datastore import cluster.jsonl --store /tmp/copy.db
            """,
        ),
    },
)
