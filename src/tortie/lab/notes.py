"""What the processes of a lab write down for each other: small files of JSON, whole or not at all."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any


def read_note(path: str) -> dict[str, Any]:
    """Empty where there is none that could be used."""
    try:
        with open(path, "rb") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_note(path: str, text: str) -> None:
    """Without waiting for the disk, because a lab does not outlive the machine; one that is full stops nobody."""
    with suppress(OSError):
        beside = f"{path}.new"
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(beside, path)
