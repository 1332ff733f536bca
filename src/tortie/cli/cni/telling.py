"""What an installation did, as a table or as JSON; never what is in the files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from tortie.cli.cni.placing import Placed
from tortie.cni.install import Verb
from tortie.model.errors import TortieError

_DONE: Final[dict[Verb, str]] = {
    "create": "created",
    "replace": "updated",
    "mode": "updated",
    "keep": "unchanged",
    "skip": "skipped",
    "remove": "removed",
}
_WOULD: Final[dict[Verb, str]] = {
    "create": "to create",
    "replace": "to update",
    "mode": "to update",
    "remove": "to remove",
}


def show(
    placed: Sequence[Placed], notes: Sequence[TortieError], *, dry_run: bool, output: str, removing: bool = False
) -> None:
    words = _DONE | (_WOULD if dry_run else {})
    if output == "json":
        sys.stdout.write(_as_json(placed, notes, words, dry_run=dry_run, removing=removing) + "\n")
        return
    if placed:
        _tabulate(placed, words)
    sys.stdout.write(_verdict(placed, notes, dry_run=dry_run, removing=removing) + "\n")
    sys.stdout.flush()
    for note in notes:
        sys.stderr.write(f"warning: {note.what}\n")
        for label, told in (("why", note.why), ("fix", note.fix)):
            if told:
                sys.stderr.write(f"  {label}: {told}\n")


def _tabulate(placed: Sequence[Placed], words: dict[Verb, str]) -> None:
    rows = [("STATE", "MODE", "FILE", "")]
    for step, _ in placed:
        mode = f"{step.wanted.mode:04o}" if step.wanted else ""
        origin = step.wanted.origin if step.wanted else ""
        rows.append((words[step.verb], mode, step.path, "; ".join(filter(None, (step.why, origin)))))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        text = "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        sys.stdout.write(text.rstrip() + "\n")
    sys.stdout.write("\n")


def _verdict(placed: Sequence[Placed], notes: Sequence[TortieError], *, dry_run: bool, removing: bool) -> str:
    changed = sum(step.changes for step, _ in placed)
    files = "1 file" if changed == 1 else f"{changed} files"
    if not changed and removing:
        return "Nothing to remove."
    if not changed:
        return "Nothing to change." if notes else "Nothing to change: all is as it should be."
    if dry_run:
        return f"Dry run: {files} would change, nothing was written."
    return f"Done {'removing' if removing else 'configuring'} CNI: {files} changed."


def _as_json(
    placed: Sequence[Placed],
    notes: Sequence[TortieError],
    words: dict[Verb, str],
    *,
    dry_run: bool,
    removing: bool,
) -> str:
    import json

    files = [
        {
            "path": step.path,
            "part": step.part,
            "state": words[step.verb],
            **({"mode": f"{step.wanted.mode:04o}"} if step.wanted else {}),
            **({"why": step.why} if step.why else {}),
            **({"origin": step.wanted.origin} if step.wanted and step.wanted.origin else {}),
        }
        for step, _ in placed
    ]
    body = {
        "apiVersion": "tortie/v1",
        "kind": "CNIUninstalled" if removing else "CNIInstalled",
        "dryRun": dry_run,
        "changed": sum(step.changes for step, _ in placed),
        "files": files,
        "warnings": [{"what": note.what, "why": note.why, "fix": note.fix} for note in notes],
    }
    return json.dumps(body, indent=2, ensure_ascii=False)
