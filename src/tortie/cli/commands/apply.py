"""`tortie apply`: resources created, or replaced where they exist."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Command
from tortie.cli.options import DATASTORE, FILES, NAMESPACE, WRITTEN
from tortie.cli.settings import Settings
from tortie.cli.writing import write_files
from tortie.store.resources import Resources


def apply(*, settings: Settings, **options: Any) -> int:
    return write_files(settings, "apply", "applied", Resources.apply, **options)


COMMAND = Command(
    summary="Create resources from files, or replace those that exist.",
    description="""Create resources from files, or replace those that exist.

A field that Tortie does not know is refused as a slip of the pen, unless the stored resource has it too: fields of a
newer Calico survive `tortie get -o yaml`, an edit and `tortie apply`.""",
    run=apply,
    options=(*FILES, NAMESPACE, WRITTEN, *DATASTORE),
    examples="""
        tortie apply -f pools.yaml
        tortie apply -f cluster/ -R
        tortie get node n1 -o yaml | sed s/r1/r2/ | tortie apply -f -
    """,
)
