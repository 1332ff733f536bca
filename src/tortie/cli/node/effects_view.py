"""What the agent has found stored without effect on this node: asked for anew, waited for a moment, and shown."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tortie.health.probe import NoAnswer, ask_unix

_ASK_S: Final = 2.0
_WAIT_S: Final = 1.5  # for the agent's look: two requests to the datastore
_PAUSE_S: Final = 0.01


class EffectsView(NamedTuple):
    notes: tuple[dict[str, Any], ...] = ()  # as the agent tells them
    error: str = ""  # why the datastore was not looked at, just now


def ask_effects(socket: str) -> EffectsView | None:
    """None where the agent knows nothing of this, or does not answer."""
    try:
        found = _asked(socket, "/effects?look")
        looks, deadline = found["looks"], time.monotonic() + _WAIT_S
        while found["looks"] == looks:
            if time.monotonic() > deadline:
                return _view(found, f"the agent had no answer from its datastore within {_WAIT_S:g} s")
            time.sleep(_PAUSE_S)
            found = _asked(socket, "/effects")
        return _view(found, found["error"] or "")
    except (NoAnswer, ValueError, KeyError, TypeError):
        return None


def _asked(socket: str, route: str) -> dict[str, Any]:
    answer = ask_unix(socket, route, _ASK_S)
    if answer.status != 200:
        raise ValueError(answer.status)
    found = json.loads(answer.body)
    if not isinstance(found, dict):
        raise TypeError("no object")
    return found


def _view(found: dict[str, Any], error: str) -> EffectsView:
    return EffectsView(tuple({**note, "what": str(note["what"])} for note in found["notes"]), str(error))


def as_lines(view: EffectsView | None) -> Iterator[str]:
    """None of it is a fault of this node."""
    if view is None:
        return
    if view.notes:
        yield from ("", "Without effect on this node:")
    for note in view.notes:
        yield f"  {note['what']}"
        if note.get("which"):
            yield f"    which: {note['which']}"
    if view.error:
        yield from ("", "Whether anything else is stored without effect is not known:", f"  {view.error}")


def as_json(view: EffectsView | None) -> dict[str, Any] | None:
    return None if view is None else {"notes": list(view.notes), "error": view.error or None}
