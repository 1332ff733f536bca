"""`tortie get`: resources as tables, YAML, JSON, names, columns or paths."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from tortie.cli.formats import FORMS, Answer, parse_format
from tortie.cli.options import connection_options, file_options, namespace_option, one_source, output_option
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings, read_settings
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import BY_NAME, Kind, find_kind, spoken_names
from tortie.model.wire import Document
from tortie.store.resources import NotFound, Resources

_EPILOG = """\b
Examples:
  tortie get nodes                       every node
  tortie get ippool default-ipv4-ippool -o yaml
  tortie get policy -A -o wide           policies of all namespaces
  tortie get nodes -o custom-columns=NAME,ASN,IPV4
  tortie get ippools -o jsonpath='{.items[*].spec.cidr}'

\b
Kinds: bgpconfig, bgpfilter, bgppeer, blockaffinity, nodestatus, clusterinfo,
felixconfig, gnp, globalnetworkset, hostendpoint, ipamconfig, ippool,
ipreservation, kubecontrollersconfig, networkpolicy, networkset, node, profile,
sgnp, sknp, snp, tier, workloadendpoint; singular, plural, any case.
"""

# What identifies an object in one datastore and means nothing in another.
_OF_THIS_STORE = ("uid", "resourceVersion", "creationTimestamp", "selfLink", "generation", "managedFields")


def complete_kind(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    return [name for name in spoken_names() if name.startswith(typed.lower())]


def complete_names(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Names of stored resources; silent when the datastore cannot be asked."""
    try:
        kind = find_kind(context.params.get("kind") or "")
        namespace = context.params.get("namespace") or ("default" if kind.namespaced else None)
        settings = read_settings({}, os.environ, context.params.get("config"))

        async def work(resources: Resources) -> list[Document]:
            return (await resources.list(kind, namespace)).documents

        names = [document["metadata"]["name"] for document in with_resources(settings, work)]
    except TortieError:
        return []
    return [name for name in names if name.startswith(typed)]


@click.command(epilog=_EPILOG)
@click.argument("kind", required=False, shell_complete=complete_kind)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@file_options
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Resources of all namespaces.")
@click.option("-a", "all_namespaces_short", is_flag=True, hidden=True)
@output_option("ps", FORMS)
@click.option("--export", is_flag=True, help="Leave out what belongs to this datastore only.")
@connection_options
def get(
    *,
    settings: Settings,
    kind: str | None,
    names: tuple[str, ...],
    filenames: tuple[str, ...],
    recursive: bool,
    skip_empty: bool,
    namespace: str | None,
    all_namespaces: bool,
    all_namespaces_short: bool,
    output: str,
    export: bool,
) -> int:
    """Show resources of a KIND: all of them, those named, or those that files name."""
    everywhere = all_namespaces or all_namespaces_short
    one_source(kind, filenames, "tortie get nodes")
    if everywhere and namespace:
        what = "cannot use both --namespace and --all-namespaces flags at the same time"
        raise UsageError(what, "one of them narrows what the other widens", "leave one out")
    printer = parse_format(output)
    found_kind = find_kind(kind) if kind else None
    if found_kind and namespace and not found_kind.namespaced:
        raise UsageError(f"{found_kind.name} is not namespaced", "-n has no meaning for it", "leave -n out")
    if everywhere and names:
        what = "names cannot be combined with --all-namespaces"
        raise UsageError(what, "the same name may stand in several namespaces", "pass -n NAMESPACE instead")
    wanted: list[tuple[Kind, str, str | None]] = []
    if filenames:
        from tortie.cli.files import read_files
        from tortie.store.resources import identity

        manifests = read_files(filenames, namespace, recursive=recursive, skip_empty=skip_empty)
        wanted = [identity(manifest.document) for manifest in manifests]
    elif found_kind:
        scope = (namespace or "default") if found_kind.namespaced else None
        wanted = [(found_kind, name, scope) for name in names]

    async def work(resources: Resources) -> tuple[Answer, list[TortieError]]:
        complaints: list[TortieError] = []
        revision: int | None = None
        documents: list[Document] = []
        if found_kind and not names:
            scope = None if everywhere or not found_kind.namespaced else namespace or "default"
            listing = await resources.list(found_kind, scope)
            documents, revision = listing.documents, listing.revision
            complaints += listing.unreadable
        for each in wanted:
            try:
                documents.append(await resources.get(*each))
            except NotFound as error:
                complaints.append(error)
        answer = Answer(
            documents=documents,
            kind=found_kind,
            revision=revision,
            single=len(wanted) == 1,
            with_namespace=everywhere or bool(namespace),
            default_as=await _default_as(resources, found_kind, output),
        )
        return answer, complaints

    answer, complaints = with_resources(settings, work)
    if export:
        answer = answer._replace(documents=[_exported(document, named=bool(wanted)) for document in answer.documents])
    if answer.documents or not wanted:
        sys.stdout.write(printer(answer))
    return _complain(complaints)


async def _default_as(resources: Resources, kind: Kind | None, output: str) -> str:
    """What a node without an AS number has: the cluster's, read only when a table is going to show it."""
    if kind is None or kind.name != "Node" or not output.startswith(("wide", "custom")):
        return "64512"
    try:
        cluster = await resources.get(BY_NAME["BGPConfiguration"], "default")
    except TortieError:
        return "64512"
    return str((cluster.get("spec") or {}).get("asNumber") or 64512)


def _exported(document: Document, *, named: bool) -> Document:
    """`named`: one object by its name, whose namespace is left out too, so that it fits into any other."""
    dropped = (*_OF_THIS_STORE, "namespace") if named else _OF_THIS_STORE
    metadata: dict[str, Any] = {key: value for key, value in document["metadata"].items() if key not in dropped}
    return {**document, "metadata": metadata}


def _complain(complaints: list[TortieError]) -> int:
    """All but the last are written here; the last one is raised, and so reported like any error."""
    from tortie.cli.report import as_text

    missing = [error for error in complaints if isinstance(error, NotFound)]
    for error in complaints:
        if not missing or error is not missing[-1]:
            sys.stderr.write(as_text(error) + "\n")
    if missing:
        raise missing[-1]
    return 4 if complaints else 0
