"""Numbers as Go writes them in JSON; apart from `wire`, because only commands that write need it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# One for all: json.dumps would make one for every document.
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)

# The end of a whole float, or of one with an exponent; in text the character behind it is another.
_OTHER_FLOATS = re.compile(r"\.0[,\]}]|[0-9]e[-+]?[0-9]+[,\]}]")


def text_of(document: Any) -> str:
    text = ENCODER.encode(document)
    if _OTHER_FLOATS.search(text):  # perhaps: few resources have any, and looking at each value takes longest
        text = ENCODER.encode(_go_numbers(document))
    return text


def _go_numbers(value: Any) -> Any:
    """Go writes the float 100 as 100 and 1e6 as 1000000, Python as 100.0 and 1000000.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {key: _go_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_go_numbers(item) for item in value]
    return value
