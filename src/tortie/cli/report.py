"""Errors as people and programs read them: what, why and fix, or the same as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from tortie.model.errors import Invalid, TortieError, UsageError
from tortie.model.kinds import nearest


def report(error: TortieError, arguments: Sequence[str]) -> int:
    """Writes the error to standard error and returns the exit code it stands for."""
    text = as_json(error) if wants_json(arguments) else as_text(error)
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    return error.exit_code


def as_text(error: TortieError) -> str:
    lines = [f"Error: {error.what}"]
    for label, text in (("why", error.why), ("fix", error.fix)):
        if text:
            lines.append(f"  {label}: " + text.replace("\n", "\n       "))
    return "\n".join(lines)


def as_json(error: TortieError) -> str:
    body: dict[str, object] = {
        "apiVersion": "tortie/v1",
        "kind": "Error",
        "code": error.code,
        "what": error.what,
        "why": error.why,
        "fix": error.fix,
        "exitCode": error.exit_code,
    }
    if isinstance(error, Invalid):
        body["problems"] = [
            {
                "field": problem.field,
                "value": str(problem.value),
                "why": problem.why,
                "right": problem.right,
                **({"file": problem.place.source, "line": problem.place.line} if problem.place else {}),
            }
            for problem in error.problems
        ]
    return json.dumps(body, ensure_ascii=False)


def wants_json(arguments: Sequence[str]) -> bool:
    """Read off the raw arguments, because the error may be that they cannot be parsed."""
    for index, argument in enumerate(arguments):
        if argument in ("-o", "--output") and index + 1 < len(arguments):
            return arguments[index + 1] == "json"
        if argument in ("-ojson", "-o=json", "--output=json"):
            return True
    return False


def explain(error: click.ClickException) -> TortieError:
    """Click's complaints in our three lines."""
    if not isinstance(error, click.UsageError):
        return UsageError(error.format_message())
    path = error.ctx.command_path if error.ctx else "tortie"
    fix = f"`{path} --help` shows how it is used"
    why = "the command line could not be understood"
    if isinstance(error, click.NoSuchOption):
        options = [name for parameter in (error.ctx.command.params if error.ctx else []) for name in parameter.opts]
        near = nearest(error.option_name, options)
        why = f"`{path}` has no flag of that name"
        fix = f"did you mean {near}? {fix}" if near else fix
        return UsageError(f"unknown flag {error.option_name}", why, fix)
    return UsageError(error.format_message().rstrip("."), why, fix)
