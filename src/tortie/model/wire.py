"""Documents to and from the bytes that Calico keeps in etcd: JSON as Go's encoder writes it.

Two programs that share a datastore should not see differences where there are none, so the spelling is Go's:
no blanks, `<`, `>`, `&` and the two Unicode line separators escaped, whole floats without a point.
"""

from __future__ import annotations

from tortie.model.errors import TortieError
from tortie.model.light import Any

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
    from tortie.model.go_json import text_of

    text = text_of(document)
    # Outside of strings JSON has none of these characters, so one pass over the text is enough.
    # Half of a surrogate pair has no bytes of its own, but an escape that every reader of JSON knows.
    return text.translate(_ESCAPES).encode(errors="backslashreplace")


def decode(value: bytes, key: str) -> Document:
    try:
        text = value.decode()
        document, end = _scanned(text, 0)
        if end != len(text):
            document = _read_slowly(text)
    except (ValueError, StopIteration):
        document = _refused(value, key)
    except RecursionError:
        raise Undecodable(key, "it is nested too deeply") from None
    if not isinstance(document, dict):
        raise Undecodable(key, f"it is a JSON {type(document).__name__}, not an object")
    return document


def _refused(value: bytes, key: str) -> Any:
    """Says why, unless it is only that blanks stand in front."""
    try:
        return _read_slowly(value.decode())
    except ValueError as error:
        raise Undecodable(key, f"it is not JSON: {error}") from None


def _read_slowly(text: str) -> Any:
    import json

    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


class _Reading:
    """What the standard library's decoder tells its scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = staticmethod(_refuse_constant)


def _scanner() -> Any:
    """The C part of `json` alone: the rest of it brings `re`, for which a command waits as long as for its answer."""
    try:
        from _json import make_scanner
    except ImportError:  # an interpreter that has it in Python only
        from json import decoder

        return vars(decoder.JSONDecoder(parse_constant=_refuse_constant))["scan_once"]
    return make_scanner(_Reading)  # type: ignore[arg-type]


_scanned = _scanner()


def to_json(value: object) -> str:
    """For people: indented, keys sorted."""
    import json

    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
