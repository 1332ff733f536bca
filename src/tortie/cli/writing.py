"""What `create`, `apply`, `replace` and `validate` have in common: files in, judged whole, then written."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tortie.cli.files import read_files
from tortie.cli.formats import Answer, Printer, parse_result_format
from tortie.cli.outcome import Outcome, counted
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.errors import Invalid, Problem, UsageError
from tortie.model.wire import Document
from tortie.store.resources import AlreadyExists, NotFound, Resources, identity

if TYPE_CHECKING:
    from tortie.model.manifest import Manifest

Write = Callable[[Resources, Document], Awaitable[Document]]


def write_files(
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
    manifests = read(filenames, namespace, recursive=recursive, skip_empty=skip_empty, command=verb)

    async def work(resources: Resources) -> Outcome:
        # All files are judged before the first write, so that a slip in the last one changes nothing.
        stored = [None if verb == "create" else await _stored(resources, manifest) for manifest in manifests]
        refuse_invalid(manifests, stored)
        outcome = Outcome(verb, [manifest.document for manifest in manifests])
        for manifest in manifests:
            await outcome.attempt(write(resources, manifest.document), skipped)
        return outcome

    outcome = with_resources(settings, work)
    if not manifests and not printer:
        sys.stdout.write("No resources specified\n")
    print_done(printer, done, outcome.written)
    outcome.raise_failures()
    return 0


def read(
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


def refuse_invalid(manifests: list[Manifest], stored: list[Document | None]) -> None:
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


def print_done(printer: Printer | None, done: str, documents: list[Document]) -> None:
    if printer:
        sys.stdout.write(printer(Answer(documents, kind=None, single=len(documents) == 1)))
    elif documents:
        sys.stdout.write(f"Successfully {done} {counted(documents)}\n")
