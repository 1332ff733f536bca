"""`tortie validate`: files checked, no datastore touched."""

from __future__ import annotations

from tortie.cli.formats import parse_result_format
from tortie.cli.grammar import Command
from tortie.cli.options import FILES, NAMESPACE, WRITTEN
from tortie.cli.outcome import Outcome
from tortie.cli.writing import print_done, read, refuse_invalid


def validate(
    *, filenames: tuple[str, ...], recursive: bool, skip_empty: bool, namespace: str | None, output: str
) -> int:
    printer = parse_result_format(output)
    manifests = read(filenames, namespace, recursive=recursive, skip_empty=skip_empty, command="validate")
    refuse_invalid(manifests, [None] * len(manifests))
    documents = [manifest.document for manifest in manifests]
    outcome = Outcome("validate", documents)
    outcome.take(range(len(documents)), documents)
    print_done(printer, "validated", outcome)
    return 0


COMMAND = Command(
    summary="Check files without touching any datastore.",
    run=validate,
    options=(*FILES, NAMESPACE, WRITTEN),
    examples="""
        tortie validate -f pools.yaml
        tortie validate -f manifests/ -R -o json
    """,
)
