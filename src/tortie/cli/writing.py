"""What `create`, `apply`, `replace` and `validate` have in common: files in, judged whole, then written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tortie.cli.effects import warn_without_effect
from tortie.cli.files import read_files
from tortie.cli.formats import Answer, Printer, parse_result_format
from tortie.cli.other_release import CLUSTER, warn_of_other_release
from tortie.cli.outcome import Outcome, counted
from tortie.cli.progress import Bar
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.model.errors import Invalid, Problem, UsageError
from tortie.model.wire import Document
from tortie.store.bulk import keys_of, portions
from tortie.store.contract import Store
from tortie.store.resources import AlreadyExists, NotFound, Resources, identity
from tortie.store.together import Together

if TYPE_CHECKING:
    from tortie.model.manifest import Manifest


class Write(Protocol):
    """How `Resources` writes one document; for itself it is judged by then."""

    def __call__(
        self, resources: Resources, document: Document, /, *, judged: bool
    ) -> Coroutine[Any, Any, Document]: ...


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
    from tortie.store.admission import needed_first

    printer = parse_result_format(output)
    manifests = read(filenames, namespace, recursive=recursive, skip_empty=skip_empty, command=verb)
    manifests.sort(key=lambda manifest: needed_first(manifest.document))

    async def work(store: Store) -> Outcome:
        # All files are judged before the first write, so that a slip in the last one changes nothing.
        together = Together(store)
        resources = Resources(together)
        identities = [identity(manifest.document) for manifest in manifests]
        await together.look_ahead(keys_of([*identities, CLUSTER]))
        await warn_of_other_release(resources, settings, output)
        stored = [None if verb == "create" else await _stored(resources, manifest) for manifest in manifests]
        refuse_invalid(manifests, stored)
        await refuse_misfits(resources, manifests, stored)
        return await write_all(together, [manifest.document for manifest in manifests], verb, write, bar, skipped)

    bar = Bar(verb)
    try:
        outcome = with_store(settings, work)
    finally:
        bar.clear()
    if not manifests and not printer:
        sys.stdout.write("No resources specified\n")
    print_done(printer, done, outcome)
    warn_without_effect(outcome.written, output)
    outcome.raise_failures()
    return 0


async def write_all(
    together: Together,
    documents: list[Document],
    verb: str,
    write: Write,
    progress: Callable[[int, int], None],
    skipped: type[AlreadyExists] | None = None,
) -> Outcome:
    """Side by side as far as they do not depend on each other; stops where there is no point in going on."""
    resources = Resources(together)
    outcome = Outcome(verb, documents)
    for places in portions([identity(document) for document in documents]):
        progress(outcome.tried, len(documents))
        pieces = [partial(write, resources, documents[place], judged=True) for place in places]
        if not outcome.take(places, await together.run(pieces), skipped):
            break
    return outcome


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
    """Each for itself, and that none contradicts another of the same name."""
    from tortie.model.resource import validate as problems_of

    judged = []
    first: dict[object, Manifest] = {}
    for manifest, before in zip(manifests, stored, strict=True):
        problems = problems_of(manifest.document, stored=before)
        twin = first.setdefault(identity(manifest.document), manifest)
        if twin.document != manifest.document:
            why = f"stands at {twin.place('metadata.name')} too, with other fields"
            problems.append(Problem("metadata.name", manifest.document["metadata"]["name"], why, "keep one of them"))
        judged.append((manifest, problems))
    _raise_invalid(judged)


async def refuse_misfits(resources: Resources, manifests: list[Manifest], stored: list[Document | None]) -> None:
    """Beside the others, stored or in the same files."""
    from tortie.store.admission import Neighbours, problems_beside

    neighbours = Neighbours(resources)
    judged = []
    for manifest, before in zip(manifests, stored, strict=True):
        judged.append((manifest, await problems_beside(neighbours, manifest.document, stored=before)))
        neighbours.add(manifest.document)
    _raise_invalid(judged)


def _raise_invalid(judged: list[tuple[Manifest, list[Problem]]]) -> None:
    broken = [manifest for manifest, problems in judged if problems]
    if not broken:
        return
    subjects = []
    for manifest in broken[:3]:
        kind, name, namespace = identity(manifest.document)
        subjects.append(kind.describe(name, namespace))
    located = [problem for manifest, problems in judged for problem in sorted(manifest.located(problems), key=_line)]
    raise Invalid(", ".join(subjects) + (" and others" if len(broken) > 3 else ""), located)


def _line(problem: Problem) -> int:
    return problem.place.line if problem.place else 0


def print_done(printer: Printer | None, done: str, outcome: Outcome) -> None:
    """As calicoctl counts: what was passed over, because it exists already or no more, is done, too."""
    if printer:
        sys.stdout.write(printer(Answer(outcome.written, kind=None, single=len(outcome.handled) == 1)))
    elif outcome.handled:
        sys.stdout.write(f"Successfully {done} {counted(outcome.handled)}\n")
    if outcome.skipped:
        sys.stderr.write(f"skipped: {counted(outcome.skipped)} for which there was nothing to do\n")
