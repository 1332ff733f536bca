"""`tortie replace`: resources that must exist."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Command
from tortie.cli.options import DATASTORE, FILES, NAMESPACE, WRITTEN
from tortie.cli.settings import Settings
from tortie.cli.writing import write_files
from tortie.store.resources import Resources


def replace(*, settings: Settings, **options: Any) -> int:
    return write_files(settings, "replace", "replaced", Resources.replace, **options)


COMMAND = Command(
    summary="Replace resources that exist by those in files.",
    description="""Replace resources that exist by those in files.

With a resourceVersion in the file, only if nobody has changed the resource since.""",
    run=replace,
    options=(*FILES, NAMESPACE, WRITTEN, *DATASTORE),
    examples="""
        tortie get node n1 -o yaml > n1.yaml
        $EDITOR n1.yaml && tortie replace -f n1.yaml
    """,
)
