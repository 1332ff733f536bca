"""`tortie controllers check`: the exec probe, as Calico's check-status; reads one small file and asks nobody."""

from __future__ import annotations

import sys

from tortie.cli.controllers.places import is_running, status_file
from tortie.controllers.readiness import Verdict, judge_status, writer_of
from tortie.model.errors import UsageError

_UNHEALTHY = 3


def check(*, root: str, output: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    verdict = _verdict(status_file(root))
    if output == "json":
        import json

        answer = {"ready": verdict.ready, "role": verdict.role, "reasons": list(verdict.reasons)}
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(("Ready" if verdict.ready else "; ".join(verdict.reasons)) + "\n")
    return 0 if verdict.ready else _UNHEALTHY


def _verdict(path: str) -> Verdict:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Verdict(False, (f"Failed to read status file {path}: {why}; do the controllers run here?",))
    writer = writer_of(text)
    return judge_status(text, is_running(writer) if writer else None, writer)
