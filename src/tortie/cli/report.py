"""Errors as people and programs read them: what, why and fix, or the same as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tortie.cli.outcome import Failures
from tortie.model.errors import Invalid, TortieError


def report(error: TortieError, arguments: Sequence[str]) -> int:
    """Writes the error to standard error and returns the exit code it stands for."""
    text = as_json(error) if wants_json(arguments) else as_text(error)
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
    if isinstance(error, Failures):
        failed = zip(error.failed, error.failures, strict=True)
        body["done"], body["untried"] = error.done, error.untried
        body["failed"] = [
            {"resource": name, "code": each.code, "what": each.what, "why": each.why, "fix": each.fix}
            for name, each in failed
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
