"""The name by which a person calls us. `tortie` linked as `calicoctl`, or as a plugin of kubectl, says that name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tortie.model.light import Any, TypeVar

Result = TypeVar("Result")

OWN_NAME = "tortie"


def program_name() -> str:
    """`tortie`, `calicoctl`, `kubectl calico`, `kubectl tortie`."""
    called = os.path.basename(sys.argv[0] or "")
    if called.startswith("kubectl-"):
        return f"kubectl {called.removeprefix('kubectl-').replace('_', '-')}"
    return "calicoctl" if called.startswith("calicoctl") else OWN_NAME


def as_called(text: str) -> str:
    """A text for people, in which our commands have the name by which we were called."""
    name = program_name()
    if name == OWN_NAME or OWN_NAME not in text:
        return text
    import re

    from tortie.cli.main import SUMMARIES

    words = "|".join((*SUMMARIES, "COMMAND", "-"))
    return re.sub(rf"(?<![\w./-])(?<!kubectl ){OWN_NAME}(?= (?:{words}))", name, text)


def speaking_as_called(work: Callable[[], Result]) -> Result:
    """All messages and errors have that name; results on standard output are data, and left alone."""
    if program_name() == OWN_NAME:
        return work()
    stream = sys.stderr
    sys.stderr = _Renaming(stream)
    try:
        return work()
    finally:
        sys.stderr = stream


class _Renaming:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        return self._stream.write(as_called(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
