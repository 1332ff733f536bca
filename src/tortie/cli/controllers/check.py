"""`tortie controllers check`: the exec probe, as Calico's check-status; reads one small file and asks nobody."""

from __future__ import annotations

import sys

from tortie.cli.controllers.places import is_running, status_file
from tortie.controllers.readiness import Verdict, judge_status, writer_of
from tortie.model.errors import UsageError

_UNHEALTHY = 3


def check(*, root: str, output: str, classic: str | None = None) -> int:
    if classic is not None:
        return _check_classic(root, classic)
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


def _check_classic(root: str, version: str) -> int:
    """Only the reasons, without the names of what is not well; 1 instead of 3."""
    import json

    from tortie.node.classic.release import read_release

    read_release(version)
    path = status_file(root)
    try:
        with open(path, encoding="utf-8") as file:
            parts = json.loads(file.read())["Readiness"].values()
            reasons = [str(part["Reason"]) for part in parts if not part["Ready"]]
    except OSError as error:
        reasons = [f"Failed to read status file /status/status.json: open /status/status.json: {_go(error)}"]
    except (ValueError, LookupError, TypeError, AttributeError):
        reasons = ["Failed to read status file /status/status.json: unexpected end of JSON input"]
    sys.stdout.write(("; ".join(reasons) or "Ready") + "\n")
    return 1 if reasons else 0


def _go(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
