"""`tortie delete`: by kind and name, or by file."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from tortie.cli.formats import parse_result_format
from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE, FILES, NAMESPACE, WRITTEN, kind_argument, name_arguments
from tortie.cli.other_release import CLUSTER, warn_of_other_release
from tortie.cli.outcome import Outcome
from tortie.cli.progress import Bar
from tortie.cli.selection import Named, select
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.cli.writing import print_done
from tortie.model.errors import UsageError
from tortie.model.wire import Document
from tortie.store.bulk import keys_of, portions
from tortie.store.contract import Store
from tortie.store.resources import NotFound, Resources
from tortie.store.together import Together


def delete(
    *,
    settings: Settings,
    kind: str | None,
    names: tuple[str, ...],
    namespace: str | None,
    skip_not_exists: bool,
    output: str,
    **files: Any,
) -> int:
    printer = parse_result_format(output)
    wanted = select(kind, names, namespace, usage="tortie delete ippool NAME", **files).single
    if kind and not wanted:
        raise UsageError(f"no {kind} was named", "delete never takes all of a kind", f"tortie delete {kind} NAME")
    notes: list[str] = []

    outcome = Outcome("delete", [_named(each) for each in wanted])
    skipped = NotFound if skip_not_exists else None

    async def one_by_one(resources: Resources) -> None:
        from tortie.cli.departing import delete_with_addresses

        await warn_of_other_release(resources, settings, output)
        for place in (place for places in portions(identities, deleting=True) for place in places):
            each = wanted[place]
            if each.kind.name in ("Node", "IPPool"):
                going = delete_with_addresses(resources, each, notes)
            else:
                going = _remove(resources, each)
            if not await outcome.attempt(going, skipped, place=place):
                return

    async def together(store: Store) -> None:
        side_by_side = Together(store)
        resources = Resources(side_by_side)
        await side_by_side.look_ahead(keys_of([*identities, CLUSTER]))
        await warn_of_other_release(resources, settings, output)
        for places in portions(identities, deleting=True):
            bar(outcome.tried, len(wanted))
            pieces = [partial(_remove, resources, wanted[place]) for place in places]
            if not outcome.take(places, await side_by_side.run(pieces), skipped):
                return

    identities = [(each.kind, each.name, each.namespace) for each in wanted]
    bar = Bar("delete")
    try:
        if any(each.kind.name in ("Node", "IPPool") for each in wanted):
            from tortie.cli.departing import with_resources_in_loop

            with_resources_in_loop(settings, one_by_one)
        else:
            with_store(settings, together)
    finally:
        bar.clear()
    print_done(printer, "deleted", outcome)
    for note in notes:
        sys.stderr.write(note + "\n")
    outcome.raise_failures()
    return 0


async def _remove(resources: Resources, each: Named) -> Document:
    return (await resources.delete(each.kind, each.name, each.namespace, revision=each.revision)).document


def _named(each: Named) -> Document:
    """As much of a document as is needed to speak of it."""
    return {"kind": each.kind.name, "metadata": {"name": each.name, "namespace": each.namespace}}


COMMAND = Command(
    summary="Delete resources, by name or by file.",
    description="""Delete resources, by name or by file.

A node takes along what it has: its workload endpoints, their addresses and those of its tunnels, its blocks, BGP peers,
host endpoints and configuration. Its record goes last, so that whatever interrupts this can be repeated. A pool is
disabled first, and its empty blocks go with it; addresses that are in use stay with those who have them.""",
    run=delete,
    arguments=(kind_argument(required=False), name_arguments()),
    options=(
        *FILES,
        NAMESPACE,
        Option(("-s", "--skip-not-exists"), "skip_not_exists", "Pass over resources that do not exist."),
        WRITTEN,
        *DATASTORE,
    ),
    examples="""
        tortie delete ippool old-pool
        tortie delete -f pools.yaml --skip-not-exists
    """,
)
