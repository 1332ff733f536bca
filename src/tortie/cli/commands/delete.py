"""`tortie delete`: by kind and name, or by file."""

from __future__ import annotations

import sys
from typing import Any

from tortie.cli.formats import Answer, parse_result_format
from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE, FILES, NAMESPACE, WRITTEN, kind_argument, name_arguments
from tortie.cli.outcome import Outcome, counted
from tortie.cli.selection import Named, select
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.errors import UsageError
from tortie.model.wire import Document
from tortie.store.resources import NotFound, Resources


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

    async def work(resources: Resources) -> Outcome:
        async def remove(each: Named) -> Document:
            if each.kind.name in ("Node", "IPPool"):
                from tortie.cli.departing import delete_with_addresses

                return await delete_with_addresses(resources, each, notes)
            return (await resources.delete(each.kind, each.name, each.namespace, revision=each.revision)).document

        outcome = Outcome("delete", [{"kind": each.kind.name} for each in wanted])
        for each in wanted:
            if not await outcome.attempt(remove(each), NotFound if skip_not_exists else None):
                break
        return outcome

    if any(each.kind.name in ("Node", "IPPool") for each in wanted):
        from tortie.cli.departing import with_resources_in_loop

        outcome = with_resources_in_loop(settings, work)
    else:
        outcome = with_resources(settings, work)
    if printer:
        sys.stdout.write(printer(Answer(outcome.written, kind=None, single=len(wanted) == 1)))
    elif outcome.written:
        sys.stdout.write(f"Successfully deleted {counted(outcome.written)}\n")
    for note in notes:
        sys.stderr.write(note + "\n")
    outcome.raise_failures()
    return 0


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
