"""`tortie datastore`: everything out of one datastore and into another; and the lock that holds everybody back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option
from tortie.cli.progress import Bar
from tortie.cli.session import note_absent_store, with_store
from tortie.cli.settings import Settings
from tortie.model.errors import TortieError, UsageError
from tortie.model.keys import ROOT
from tortie.model.wire import to_json
from tortie.store.contract import Store
from tortie.store.transfer import Imported, import_entries, read_export
from tortie.store.transfer import export as export_lines

# Much data may take its time; whether anybody is there at all is asked first, and answered sooner.
_TIMEOUT_S = 120.0
_ANY_KEY = f"{ROOT}ready"


def export(*, settings: Settings, file: str | None) -> int:
    bar = Bar("exporting")

    async def work(store: Store) -> list[bytes]:
        await store.get(_ANY_KEY)
        return list(await export_lines(store, timeout_s=_TIMEOUT_S))

    lines = with_store(settings, work)
    try:
        if file is None or file == "-":
            sys.stdout.flush()
            sys.stdout.buffer.writelines(_counted(lines, bar))
            sys.stdout.buffer.flush()
        else:
            _write_whole(file, _counted(lines, bar))
    finally:
        bar.clear()
    note_absent_store(settings)
    sys.stderr.write(f"exported {len(lines) - 2:,} entries\n")
    return 0


def import_(*, settings: Settings, file: str, overwrite: bool, output: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    entries = _read(file)
    bar = Bar("importing")

    async def work(store: Store) -> Imported:
        await store.get(_ANY_KEY)
        return await import_entries(store, entries, overwrite=overwrite, progress=bar, timeout_s=_TIMEOUT_S)

    try:
        result = with_store(settings, work)
    finally:
        bar.clear()
    if output == "json":
        sys.stdout.write(to_json(result._asdict()) + "\n")
    else:
        sys.stdout.write(f"Successfully imported {result.written:,} entries, {result.unchanged:,} were there already\n")
    return 0


def lock(*, settings: Settings, output: str) -> int:
    from tortie.cli.ipam.locking import set_ready

    return set_ready(settings=settings, output=output, ready=False)


def unlock(*, settings: Settings, output: str) -> int:
    from tortie.cli.ipam.locking import set_ready

    return set_ready(settings=settings, output=output, ready=True)


def migrate_export(**values: Any) -> int:
    from tortie.cli.datastore.migrate_export import export as export_to_calico

    return export_to_calico(**values)


def migrate_import(**values: Any) -> int:
    from tortie.cli.datastore.migrate_import import import_ as import_from_calico

    return import_from_calico(**values)


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
    in_place = os.path.exists(file) and not os.path.isfile(file)  # a pipe or a device is written to, not replaced
    target = file if in_place else os.path.realpath(file)
    beside = target if in_place else f"{target}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as out:
            out.writelines(lines)
            out.flush()
            if not in_place:
                os.fsync(out.fileno())
                os.replace(beside, target)
    except BaseException as error:
        if not in_place:
            with suppress(OSError):
                os.unlink(beside)
        if isinstance(error, OSError):
            raise TortieError(
                f"{file} cannot be written", error.strerror or str(error), "check path and space"
            ) from None
        raise


_LOCKS = {
    "lock": Command(
        summary="Keep everybody from handing out addresses, until unlock.",
        description="""Keep everybody from handing out addresses, until unlock.

Sets ClusterInformation's datastoreReady to false. Pods that run go on running; new ones wait.""",
        run=lock,
        options=(output_option("text", "text", "json"), *DATASTORE),
        examples="tortie datastore lock",
    ),
    "unlock": Command(
        summary="Let addresses be handed out again.",
        run=unlock,
        options=(output_option("text", "text", "json"), *DATASTORE),
        examples="tortie datastore unlock",
    ),
}

COMMAND = Command(
    summary="Take everything out of a datastore, or put it into one.",
    commands={
        "export": Command(
            summary="Write all of Calico's data, resources and IPAM alike, to FILE or standard output.",
            run=export,
            arguments=(Argument("file", "FILE", required=False),),
            options=DATASTORE,
            examples="""
                tortie datastore export cluster.jsonl
                tortie datastore export | tortie datastore import - --store copy.db
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
                tortie datastore import cluster.jsonl
                tortie datastore import cluster.jsonl --etcd-endpoints http://127.0.0.1:2379
            """,
        ),
        **_LOCKS,
        "migrate": Command(
            summary="Move a cluster as calicoctl does: lock, export, import, unlock.",
            description="""Move a cluster as calicoctl does: lock, export, import, unlock.

The file is calicoctl's own and goes both ways. `tortie datastore export` and `import`, without migrate, copy
everything to the byte, and only Tortie reads that.""",
            commands={
                "export": Command(
                    summary="Write calicoctl's migration file to standard output; the datastore has to be locked.",
                    description="""Write calicoctl's migration file to standard output; the datastore has to be locked.

Exported are IPPools, BGPPeers, Tiers, policies of all kinds, network sets, HostEndpoints,
KubeControllersConfigurations, Nodes, BGPConfigurations, FelixConfigurations, IPReservations, BGPFilters,
ClusterInformation and all of IPAM; not WorkloadEndpoints and Profiles, which others make anew. Nodes get the names
that Kubernetes knows them by, so every Node needs a reference to it.""",
                    run=migrate_export,
                    options=DATASTORE,
                    examples="""
                        tortie datastore migrate lock && tortie datastore migrate export > calico.yaml
                    """,
                ),
                "import": Command(
                    summary="Put calicoctl's migration file into an empty datastore, and leave it locked.",
                    description="""Put calicoctl's migration file into an empty datastore, and leave it locked.

calicoctl imports into Kubernetes only; this one into etcd or the embedded store. The file is checked whole before
anything is written, and an interrupted import can be repeated.""",
                    run=migrate_import,
                    options=(
                        Option(("-f", "--filename"), "filename", "What export wrote; - is standard input.", "FILE|-"),
                        *DATASTORE,
                    ),
                    examples="""
                        tortie datastore migrate import -f calico.yaml --store new.db
                        tortie datastore migrate import -f - --store new.db < calico.yaml
                    """,
                ),
                **_LOCKS,
            },
        ),
    },
)
