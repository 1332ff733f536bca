"""Whether an instance is ready, as a file that a probe reads: Calico's keys and form, and who wrote it. Pure.

Calico's file goes on saying "Ready" when its writer is dead. Here it names the writer, so that a reader can tell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

STARTUP = "Startup"
DATASTORE = "CalicoDatastore"
NODE_CONTROLLER = "NodeController"


class Standing(NamedTuple):
    ready: bool
    reason: str = ""


class Writer(NamedTuple):
    """A process: its number alone would be somebody else's after a while."""

    pid: int
    started: str


def status_text(standings: Mapping[str, Standing], writer: Writer, role: str) -> str:
    readiness = {name: {"Ready": each.ready, "Reason": each.reason} for name, each in standings.items()}
    return json.dumps({"Readiness": readiness, "Role": role, "Writer": writer._asdict()}, ensure_ascii=False) + "\n"


class Verdict(NamedTuple):
    ready: bool
    reasons: tuple[str, ...] = ()
    role: str = ""


def judge_status(text: str, is_running: bool | None, writer: Writer | None) -> Verdict:
    """`is_running`: whether the writer that the text names lives; None if that cannot be found out."""
    try:
        document: Any = json.loads(text)
        parts = {str(name): part for name, part in document["Readiness"].items()}
        reasons = [f"{name}: {part['Reason'] or 'not ready'}" for name, part in parts.items() if not part["Ready"]]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return Verdict(False, (f"the status file makes no sense: {type(error).__name__}: {error}",))
    if writer is not None and is_running is False:
        return Verdict(False, (f"the controllers do not run: process {writer.pid}, which wrote this, is gone",))
    return Verdict(not reasons, tuple(reasons), str(document.get("Role") or ""))


def writer_of(text: str) -> Writer | None:
    try:
        found = json.loads(text)["Writer"]
        return Writer(int(found["pid"]), str(found["started"]))
    except (ValueError, LookupError, TypeError):
        return None
