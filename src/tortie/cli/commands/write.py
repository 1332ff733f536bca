"""`tortie create`, `apply`, `replace` and `validate`: resources from files."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from tortie.cli.files import read_files
from tortie.cli.formats import Answer, Printer, parse_result_format
from tortie.cli.options import connection_options, file_options, namespace_option, output_option
from tortie.cli.outcome import Outcome, counted
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.errors import Invalid, Problem, UsageError
from tortie.model.wire import Document
from tortie.store.resources import AlreadyExists, NotFound, Resources, identity

if TYPE_CHECKING:
    from tortie.model.manifest import Manifest

Write = Callable[[Resources, Document], Awaitable[Document]]
_FORMS = "text, yaml, json or name of what was written"


@click.command(
    epilog="\b\nExamples:\n  tortie create -f pools.yaml\n  kubectl get … -o yaml | tortie create -f - --skip-exists"
)
@file_options
@namespace_option
@click.option("--skip-exists", is_flag=True, help="Pass over resources that exist.")
@output_option("text", _FORMS)
@connection_options
def create(*, settings: Settings, skip_exists: bool, **options: Any) -> int:
    """Create resources from files; none may exist yet."""
    skipped = AlreadyExists if skip_exists else None
    return _write(settings, "create", "created", Resources.create, skipped=skipped, **options)


@click.command(epilog="\b\nExamples:\n  tortie apply -f pools.yaml\n  tortie apply -f cluster/ -R\n  tortie apply -f -")
@file_options
@namespace_option
@output_option("text", _FORMS)
@connection_options
def apply(*, settings: Settings, **options: Any) -> int:
    """Create resources from files, or replace those that exist.

    A field that Tortie does not know is refused as a slip of the pen, unless the stored resource has it: fields of
    a newer Calico survive `tortie get -o yaml`, an edit and `tortie apply`.
    """
    return _write(settings, "apply", "applied", Resources.apply, **options)


@click.command(
    epilog="\b\nExamples:\n  tortie get node n1 -o yaml > n1.yaml ; $EDITOR n1.yaml ; tortie replace -f n1.yaml"
)
@file_options
@namespace_option
@output_option("text", _FORMS)
@connection_options
def replace(*, settings: Settings, **options: Any) -> int:
    """Replace resources that exist by those in files.

    With a resourceVersion in the file, only if nobody has changed the resource since.
    """
    return _write(settings, "replace", "replaced", Resources.replace, **options)


@click.command(epilog="\b\nExamples:\n  tortie validate -f pools.yaml\n  tortie validate -f manifests/ -R -o json")
@file_options
@namespace_option
@output_option("text", "text, yaml, json or name of what was checked")
def validate(
    *, filenames: tuple[str, ...], recursive: bool, skip_empty: bool, namespace: str | None, output: str
) -> int:
    """Check files without touching any datastore."""
    printer = parse_result_format(output)
    manifests = _read(filenames, namespace, recursive=recursive, skip_empty=skip_empty, command="validate")
    _refuse_invalid(manifests, [None] * len(manifests))
    _print_done(printer, "validated", [manifest.document for manifest in manifests])
    return 0


def _write(
    settings: Settings,
    verb: str,
    done: str,
    write: Write,
    *,
    filenames: tuple[str, ...],
    recursive: bool,
    skip_empty: bool,
    namespace: str | None,
    output: str,
    skipped: type[AlreadyExists] | None = None,
) -> int:
    printer = parse_result_format(output)
    manifests = _read(filenames, namespace, recursive=recursive, skip_empty=skip_empty, command=verb)

    async def work(resources: Resources) -> Outcome:
        # All files are judged before the first write, so that a slip in the last one changes nothing.
        stored = [None if verb == "create" else await _stored(resources, manifest) for manifest in manifests]
        _refuse_invalid(manifests, stored)
        outcome = Outcome(verb, [manifest.document for manifest in manifests])
        for manifest in manifests:
            await outcome.attempt(write(resources, manifest.document), skipped)
        return outcome

    outcome = with_resources(settings, work)
    if not manifests:
        sys.stdout.write("No resources specified\n")
    _print_done(printer, done, outcome.written)
    outcome.raise_failures()
    return 0


def _read(
    filenames: tuple[str, ...], namespace: str | None, *, recursive: bool, skip_empty: bool, command: str
) -> list[Manifest]:
    if not filenames:
        raise UsageError("no file was given", "-f says which resources are meant", f"tortie {command} -f FILE")
    return read_files(filenames, namespace, recursive=recursive, skip_empty=skip_empty)


async def _stored(resources: Resources, manifest: Manifest) -> Document | None:
    try:
        return await resources.get(*identity(manifest.document))
    except NotFound:
        return None


def _refuse_invalid(manifests: list[Manifest], stored: list[Document | None]) -> None:
    from tortie.model.resource import validate as problems_of

    problems: list[Problem] = []
    broken: list[str] = []
    for manifest, before in zip(manifests, stored, strict=True):
        if found := manifest.located(problems_of(manifest.document, stored=before)):
            kind, name, namespace = identity(manifest.document)
            broken.append(kind.describe(name, namespace))
            problems += found
    if problems:
        raise Invalid(", ".join(broken[:3]) + (" and others" if len(broken) > 3 else ""), problems)


def _print_done(printer: Printer | None, done: str, documents: list[Document]) -> None:
    if printer:
        sys.stdout.write(printer(Answer(documents, kind=None, single=len(documents) == 1)))
    elif documents:
        sys.stdout.write(f"Successfully {done} {counted(documents)}\n")
