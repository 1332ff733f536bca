"""Documents to and from the bytes that Calico keeps in etcd: JSON as Go's encoder writes it.

Two programs that share a datastore should not see differences where there are none, so the spelling is Go's:
no blanks, `<`, `>`, `&` and the two Unicode line separators escaped, whole floats without a point.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tortie.model.errors import TortieError

Document = dict[str, Any]

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Undecodable(TortieError):
    """A stored value that is no JSON object; the rest of the store is as good as before."""

    code = "damaged"

    def __init__(self, key: str, why: str) -> None:
        self.key = key
        super().__init__(
            f"the value of {key} cannot be read",
            why,
            "`tortie datastore export` shows it as it is; `tortie delete` removes it",
        )


def encode(document: Document) -> bytes:
    text = _ENCODER.encode(document)
    if _OTHER_FLOATS.search(text):  # perhaps: few resources have any, and looking at each value takes longest
        text = _ENCODER.encode(_go_numbers(document))
    # Outside of strings JSON has none of these characters, so one pass over the text is enough.
    # Half of a surrogate pair has no bytes of its own, but an escape that every reader of JSON knows.
    return text.translate(_ESCAPES).encode(errors="backslashreplace")


# The end of a whole float, or of one with an exponent; in text the character behind it is another.
_OTHER_FLOATS = re.compile(r"\.0[,\]}]|[0-9]e[-+]?[0-9]+[,\]}]")

# One for all, as below.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decode(value: bytes, key: str) -> Document:
    try:
        document = _DECODER.decode(value.decode())
    except ValueError as error:
        raise Undecodable(key, f"it is not JSON: {error}") from None
    except RecursionError:
        raise Undecodable(key, "it is nested too deeply") from None
    if not isinstance(document, dict):
        raise Undecodable(key, f"it is a JSON {type(document).__name__}, not an object")
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


# One for all: json.loads would make a decoder for every value, which takes as long as decoding a small one.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


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


def to_json(value: object) -> str:
    """For people: indented, keys sorted."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
