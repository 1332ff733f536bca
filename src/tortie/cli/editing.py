"""What `patch` and `label` have in common: one stored resource, changed, and again if somebody else was faster."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tortie.cli.effects import warn_without_effect
from tortie.cli.formats import Answer, parse_result_format
from tortie.cli.options import scope_of
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.kinds import Kind, find_kind
from tortie.model.wire import Document
from tortie.store.presenting import Edit
from tortie.store.resources import NotFound, Resources


def edit_one(
    settings: Settings,
    word: str,
    name: str,
    namespace: str | None,
    output: str,
    change: Edit,
    *,
    told: Callable[[Kind], str],
    skip_absent: bool = False,
    takes_effect: bool = True,  # a label makes nothing take effect
) -> int:
    """`told`: what to say when it is done."""
    kind = find_kind(word)
    printer = parse_result_format(output)
    scope = scope_of(kind, namespace)

    async def work(resources: Resources) -> Document | None:
        from tortie.cli.other_release import warn_of_other_release

        await warn_of_other_release(resources, settings, output)
        try:
            return await resources.edit(kind, name, scope, change)
        except NotFound:
            if skip_absent:
                return None
            raise

    after = with_resources(settings, work)
    if printer:
        sys.stdout.write(printer(Answer([after] if after else [], kind=kind, single=after is not None)))
    elif after:
        sys.stdout.write(told(kind) + "\n")
    else:
        sys.stderr.write(f"skipped: {kind.describe(name, scope)} does not exist\n")
    if after and takes_effect:
        warn_without_effect([after], output)
    return 0
