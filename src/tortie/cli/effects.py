"""What was written and has no effect: told on standard error, once for each reason. The exit code stays as it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from tortie.model.wire import Document


def warn_without_effect(documents: Iterable[Document], output: str) -> None:
    """As text, or where the output is JSON as one JSON object in a line, like errors are."""
    from tortie.model.effects.notes import gathered, notes_of  # only who writes needs the table

    sys.stdout.flush()  # what was done stands above, where both go to one place
    for told in gathered(note for document in documents for note in notes_of(document)):
        if output == "json":
            body = {"apiVersion": "tortie/v1", "kind": "Warning", **told.as_json()}
            sys.stderr.write(json.dumps(body, ensure_ascii=False) + "\n")
            continue
        sys.stderr.write(f"warning: {told.what}\n")
        if told.which:
            sys.stderr.write(f"  which: {told.which}\n")
