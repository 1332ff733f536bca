"""What may follow the words typed so far; the shells' scripts ask for it with `tortie __complete`."""

from __future__ import annotations

import os
import sys
from typing import Any

from tortie.cli.global_flags import split_leading, value_wanted, with_globals
from tortie.cli.grammar import HELP, Command
from tortie.cli.main import ROOT, find_command
from tortie.model.errors import TortieError


def complete(words: list[str]) -> int:
    """Prints one suggestion per line. Silent about everything that is wrong: somebody is still typing."""
    try:
        suggestions = suggest(words or [""])
    except TortieError:
        suggestions = []
    sys.stdout.write("".join(f"{word}\n" for word in suggestions))
    return 0


def suggest(words: list[str]) -> list[str]:
    *before, typed = words
    command = ROOT
    while command.commands:
        if not command.run:
            leading, before = split_leading(before)
            if pending := value_wanted(leading):
                return _matching(typed, list(pending.choices))
            if not before and typed.startswith("-"):
                return _within(ROOT, [], typed)
        if not before:
            own = _within(command, before, typed) if command.run else []
            return [*_matching(typed, [name for name, sub in command.commands.items() if not sub.hidden]), *own]
        if before[0] not in command.commands:
            return _within(command, before, typed) if command.run else []
        command = find_command(before[0]) if command is ROOT else command.commands[before[0]]
        before = before[1:]
    return _within(with_globals(command), before, typed)


def _within(command: Command, before: list[str], typed: str) -> list[str]:
    """Reads the finished words loosely, to know which value or argument the unfinished one is."""
    flags = {flag: option for option in (*command.options, HELP) for flag in option.flags}
    values: dict[str, Any] = {}
    positional: list[str] = []
    pending = None
    for word in before:
        if pending is not None:
            values[pending.name], pending = word, None
        elif word.startswith("-") and len(word) > 1:
            flag, equals, value = word.partition("=")
            option = flags.get(flag)
            if option and option.metavar:
                values[option.name], pending = value, None if equals else option
        else:
            positional.append(word)
    if pending is not None:
        return _matching(typed, [choice.partition("=")[0] for choice in pending.choices])
    if typed.startswith("-"):
        return _matching(typed, [flag for flag, option in flags.items() if not option.hidden and len(flag) > 2])
    return _argument(command, positional, values, typed)


def _argument(command: Command, positional: list[str], values: dict[str, Any], typed: str) -> list[str]:
    for argument in command.arguments:
        if argument.repeated or not positional:
            taken = set(positional)
            found = argument.complete(typed, values) if argument.complete else []
            return [word for word in found if word not in taken]
        values[argument.name], positional = positional[0], positional[1:]
    return []


def _matching(typed: str, words: list[str]) -> list[str]:
    return [word for word in words if word.startswith(typed)]


def stored_names(typed: str, values: dict[str, Any]) -> list[str]:
    """Names of the resources of the kind typed before; none when the datastore cannot be asked."""
    from tortie.cli.session import with_resources
    from tortie.cli.settings import SETTINGS, read_settings
    from tortie.model.kinds import find_kind
    from tortie.store.resources import Documents, Resources

    kind = find_kind(values.get("kind") or "")
    namespace = (values.get("namespace") or "default") if kind.namespaced else None
    flags = {setting.name: values.get(setting.name) for setting in SETTINGS}
    settings = read_settings(flags, os.environ, values.get("config"))
    if settings.get("datastoreType") == "embedded" and not os.path.exists(settings.get("store")):
        return []  # opening it would create it, which nobody expects of a tab key

    async def work(resources: Resources) -> Documents:
        resources.timeout_s = 2.0  # nobody waits longer for a tab key
        return await resources.list(kind, namespace)

    return _matching(typed, [document["metadata"]["name"] for document in with_resources(settings, work).documents])
