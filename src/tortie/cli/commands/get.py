"""`tortie get`: resources as tables, YAML, JSON, names, columns or paths."""

from __future__ import annotations

import sys

from tortie.cli.formats import FORMS, Answer, Printer, parse_format
from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE, FILES, NAMESPACE, kind_argument, name_arguments, output
from tortie.cli.selection import select
from tortie.cli.session import note_absent_store, with_resources
from tortie.cli.settings import Settings
from tortie.cli.tables import TIER_ORDER, at
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import BY_NAME, Kind
from tortie.model.light import Any
from tortie.model.wire import Document
from tortie.store.resources import NotFound, Resources

# What identifies an object in one datastore and means nothing in another.
_OF_THIS_STORE = ("uid", "resourceVersion", "creationTimestamp", "selfLink", "generation", "managedFields")


def get(
    *,
    settings: Settings,
    kind: str | None,
    names: tuple[str, ...],
    namespace: str | None,
    all_namespaces: bool,
    all_namespaces_short: bool,
    output: str,
    export: bool,
    **files: Any,
) -> int:
    everywhere = all_namespaces or all_namespaces_short
    _check_scope(names, namespace, everywhere=everywhere)
    printer = parse_format(output)
    wanted = select(kind, names, namespace, usage="tortie get nodes", **files)

    async def work(resources: Resources) -> tuple[Answer, list[TortieError]]:
        complaints: list[TortieError] = []
        revision: int | None = None
        documents: list[Document] = []
        if wanted.kind and not wanted.single:
            listing = await resources.list(wanted.kind, None if everywhere else wanted.namespace)
            documents, revision = _in_order(wanted.kind, listing.documents), listing.revision
            complaints += listing.unreadable
        for each in wanted.single:
            try:
                documents.append(await resources.get(each.kind, each.name, each.namespace))
            except NotFound as error:
                complaints.append(error)
        answer = Answer(
            documents=documents,
            kind=wanted.kind,
            revision=revision,
            single=len(wanted.single) == 1,
            with_namespace=everywhere or bool(namespace),
            default_as=await _default_as(resources) if _shows_as(wanted.kind, output, printer) else "64512",
        )
        return answer, complaints

    answer, complaints = with_resources(settings, work)
    if export:
        exported = [_exported(document, named=bool(wanted.single)) for document in answer.documents]
        answer = answer._replace(documents=exported)
    if answer.documents or not wanted.single:
        sys.stdout.write(printer(answer))
    if not complaints:
        note_absent_store(settings)
    return _complain(complaints, output)


def _check_scope(names: tuple[str, ...], namespace: str | None, *, everywhere: bool) -> None:
    if everywhere and namespace:
        what = "cannot use both --namespace and --all-namespaces flags at the same time"
        raise UsageError(what, "one of them narrows what the other widens", "leave one out")
    if everywhere and names:
        what = "names cannot be combined with --all-namespaces"
        raise UsageError(what, "the same name may stand in several namespaces", "pass -n NAMESPACE instead")


def _in_order(kind: Kind, documents: list[Document]) -> list[Document]:
    """By name, as stored; tiers in the order in which they are looked at, as calicoctl shows them."""
    if kind.name != "Tier":
        return documents

    def order(tier: Document) -> float:
        found = at(tier, "spec.order")
        return float(found) if isinstance(found, int | float) else TIER_ORDER

    return sorted(documents, key=order)


def _shows_as(kind: Kind | None, output: str, printer: Printer) -> bool:
    """Whether the cluster's AS number is going to be shown, as that of nodes without their own."""
    if output.startswith("go-template"):
        return bool(getattr(printer, "asks_as_number", False))
    return kind is not None and kind.name == "Node" and output.startswith(("wide", "custom"))


async def _default_as(resources: Resources) -> str:
    try:
        cluster = await resources.get(BY_NAME["BGPConfiguration"], "default")
    except TortieError:
        return "64512"
    return str(at(cluster, "spec.asNumber") or 64512)


def _exported(document: Document, *, named: bool) -> Document:
    """`named`: one object by its name, whose namespace is left out too, so that it fits into any other."""
    dropped = (*_OF_THIS_STORE, "namespace") if named else _OF_THIS_STORE
    metadata: dict[str, Any] = {key: value for key, value in document["metadata"].items() if key not in dropped}
    return {**document, "metadata": metadata}


def _complain(complaints: list[TortieError], output: str) -> int:
    """All but the last are written here; the last one is raised, and so reported like any error."""
    if not complaints:
        return 0
    from tortie.cli.report import as_json, as_text

    written = as_json if output == "json" else as_text
    missing = [error for error in complaints if isinstance(error, NotFound)]
    for error in complaints:
        if not isinstance(error, NotFound):
            error.exit_code = 4  # the rest could be read: a warning
        if not missing or error is not missing[-1]:
            sys.stderr.write(written(error) + "\n")
    if missing:
        raise missing[-1]
    return 4


COMMAND = Command(
    summary="Show resources: as a table, YAML, JSON, or what you pick from them.",
    description="""Show resources of a KIND: all of them, those named, or those that files name.

Kinds: bgpconfig, bgpfilter, bgppeer, blockaffinity, nodestatus, clusterinfo, felixconfig, gnp, globalnetworkset,
hostendpoint, ipamconfig, ippool, ipreservation, kubecontrollersconfig, networkpolicy, networkset, node, profile,
sgnp, sknp, snp, tier, workloadendpoint; singular or plural, in any case.""",
    run=get,
    arguments=(kind_argument(required=False), name_arguments()),
    options=(
        output("ps", *FORMS),
        NAMESPACE,
        Option(("-A", "--all-namespaces"), "all_namespaces", "Resources of all namespaces."),
        Option(("-a",), "all_namespaces_short", "", hidden=True),
        *FILES,
        Option(("--export",), "export", "Leave out what belongs to this datastore only."),
        *DATASTORE,
    ),
    examples="""
        tortie get nodes
        tortie get ippool default-ipv4-ippool -o yaml
        tortie get policy -A -o wide
        tortie get nodes -o custom-columns=NAME,ASN,IPV4
        tortie get ippools -o jsonpath='{.items[*].spec.cidr}'
    """,
)
