"""`tortie create`: resources that may not exist yet."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE, FILES, NAMESPACE, WRITTEN
from tortie.cli.settings import Settings
from tortie.cli.writing import write_files
from tortie.store.resources import AlreadyExists, Resources


def create(*, settings: Settings, skip_exists: bool, **options: Any) -> int:
    skipped = AlreadyExists if skip_exists else None
    return write_files(settings, "create", "created", Resources.create, skipped=skipped, **options)


COMMAND = Command(
    summary="Create resources from files; none may exist yet.",
    run=create,
    options=(
        *FILES,
        NAMESPACE,
        Option(("--skip-exists",), "skip_exists", "Pass over resources that exist."),
        WRITTEN,
        *DATASTORE,
    ),
    examples="""
        tortie create -f pools.yaml
        cat pools.yaml | tortie create -f - --skip-exists
    """,
)
