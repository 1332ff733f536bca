"""What `patch` and `label` have in common: one stored resource, changed, and again if somebody else was faster."""

from __future__ import annotations

import sys

from tortie.cli.effects import warn_without_effect
from tortie.cli.formats import Answer, parse_result_format
from tortie.cli.options import scope_of
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.kinds import find_kind
from tortie.model.wire import Document
from tortie.store.resources import Edit, Resources


def edit_one(
    settings: Settings, word: str, name: str, namespace: str | None, output: str, change: Edit, done: str
) -> int:
    kind = find_kind(word)
    printer = parse_result_format(output)
    scope = scope_of(kind, namespace)

    async def work(resources: Resources) -> Document:
        return await resources.edit(kind, name, scope, change)

    after = with_resources(settings, work)
    if printer:
        sys.stdout.write(printer(Answer([after], kind=kind, single=True)))
    else:
        sys.stdout.write(f"Successfully {done} 1 '{kind.name}' resource\n")
    if done == "patched":  # a label makes nothing take effect
        warn_without_effect([after], output)
    return 0
