"""Words and numbers without quotes that are more than their text: `y`, `off`, `0x10`, `010`, `1.10`.

YAML 1.1 takes them for booleans and numbers, and so do Calico's programs. What that means is decided by the field in
which they stand (see settling).
"""

from __future__ import annotations

import math
import re
from typing import Final

_BOOLEANS: Final = {
    spelling: value
    for value, words in ((True, ("y", "yes", "on")), (False, ("n", "no", "off")))
    for word in words
    for spelling in (word, word.title(), word.upper())
}
_ODD_INTEGER: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[0-9][0-9_]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class Ambiguous(str):
    """A scalar without quotes that is more than its text; `meaning` is what YAML 1.1 takes it for."""

    meaning: bool | int | float


def ambiguous(text: str) -> Ambiguous | None:
    """For text that is neither one of JSON's words nor a plain whole number."""
    meaning: bool | int | float | None = _BOOLEANS.get(text)
    if meaning is None and text[:1] in "0123456789.+-":
        meaning = _number(text)
    if meaning is None:
        return None
    found = Ambiguous(text)
    found.meaning = meaning
    return found


def _number(text: str) -> int | float | None:
    if _ODD_INTEGER.fullmatch(text):
        digits = text.replace("_", "")
        try:
            sign, body = (digits[0], digits[1:]) if digits[0] in "+-" else ("", digits)
            if re.fullmatch("0[0-7]+", body):
                return int(sign + body, 8)
            return int(digits, 10 if body.isdigit() else 0)
        except ValueError:
            return None
    value = float(text) if _FLOAT.fullmatch(text) else None
    return value if value is not None and math.isfinite(value) else None


def key_text(text: str) -> str:
    """A field's name that stands without quotes: a label `on` is the label "true" to Calico's programs."""
    value = _BOOLEANS.get(text)
    return text if value is None else str(value).lower()


def needs_quotes(text: str) -> bool:
    """Whether some reader of YAML would take the bare text for something else."""
    return text in _BOOLEANS or _ODD_INTEGER.fullmatch(text) is not None or _FLOAT.fullmatch(text) is not None
