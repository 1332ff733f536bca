"""`printf`, as Go formats values, with Go's words for what does not fit."""

from __future__ import annotations

import re
from typing import Any, Final

from tortie.cli.gotemplate.printing import number, text_of, type_name

# Wider than that Go does not go either.
WIDTH_MAX: Final = 1_000_000

_VERB: Final = re.compile(r"%([-+# 0]*)(?:\[(\d+)\])?(\d+|\*)?(?:\.(\d+|\*)?)?(?:\[(\d+)\])?(.)?", re.DOTALL)
_HAS_PRECISION: Final = re.compile(r"\.")


class _Arguments:
    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.next = 0
        self.reordered = False

    def at(self, place: str | None) -> None:
        if place:
            self.next = int(place) - 1
            self.reordered = True

    def take(self) -> tuple[bool, Any]:
        if not 0 <= self.next < len(self.values):
            return False, None
        self.next += 1
        return True, self.values[self.next - 1]


def sprintf(form: str, values: list[Any]) -> str:
    arguments = _Arguments(values)
    text = _VERB.sub(lambda match: _formatted(match, arguments), form)
    if not arguments.reordered and arguments.next < len(values):
        rest = ", ".join(
            "<nil>" if value is None else f"{type_name(value)}={text_of(value)}" for value in values[arguments.next :]
        )
        text += f"%!(EXTRA {rest})"
    return text


def _formatted(match: re.Match[str], arguments: _Arguments) -> str:
    flags, first, width_text, precision_text, second, verb = match.groups()
    arguments.at(first)
    trouble = ""
    width, precision = 0, -1
    if width_text:
        width, good = _size(width_text, arguments)
        trouble += "" if good else "%!(BADWIDTH)"
        if width < 0:
            flags, width = flags + "-", -width
    if _HAS_PRECISION.search(match[0]):
        precision, good = _size(precision_text or "0", arguments)
        trouble += "" if good else "%!(BADPREC)"
    arguments.at(second)
    if verb is None:
        return f"{trouble}%!(NOVERB)"
    if verb == "%":
        return trouble + "%"
    there, value = arguments.take()
    if not there:
        return f"{trouble}%!{verb}({'BADINDEX' if first or second else 'MISSING'})"
    return trouble + _padded(_written(verb, value, flags, precision), verb, value, flags, width)


def _size(text: str, arguments: _Arguments) -> tuple[int, bool]:
    if text == "*":
        there, value = arguments.take()
        good = there and isinstance(value, int) and abs(value) <= WIDTH_MAX
        return (value, True) if good else (0, False)
    return (int(text), True) if len(text) < 8 and int(text) <= WIDTH_MAX else (0, False)


def _written(verb: str, value: Any, flags: str, precision: int) -> str:
    match verb:
        case "v":
            return f"{value:.{precision}g}" if isinstance(value, float) and precision >= 0 else _plain(value, flags)
        case "T":
            return type_name(value)
        case "t" if isinstance(value, bool):
            return text_of(value)
        case "s" | "q" | "x" | "X" if isinstance(value, str):
            return _text(verb, value, flags, precision)
        case _ if isinstance(value, bool) or value is None:
            pass
        case "d" | "b" | "o" | "O" | "x" | "X" | "c" | "q" | "U" if isinstance(value, int):
            return _integer(verb, value, flags, precision)
        case "e" | "E" | "f" | "F" | "g" | "G" if isinstance(value, float):
            return _float(verb, value, flags, precision)
        case _ if isinstance(value, list):
            return "[" + " ".join(_written(verb, item, flags, precision) for item in value) + "]"
        case _ if isinstance(value, dict):
            pairs = (
                f"{_written(verb, key, flags, precision)}:{_written(verb, value[key], flags, precision)}"
                for key in sorted(value)
            )
            return "map[" + " ".join(pairs) + "]"
    return f"%!{verb}(<nil>)" if value is None else f"%!{verb}({type_name(value)}={text_of(value)})"


def _plain(value: Any, flags: str) -> str:
    if "#" in flags:
        return _text("q", value, "", -1) if isinstance(value, str) else text_of(value, named=True)
    text = text_of(value, named="+" in flags)
    return f"+{text}" if "+" in flags and _is_number(value) and not text.startswith("-") else text


def _text(verb: str, value: str, flags: str, precision: int) -> str:
    shown = value[:precision] if precision >= 0 else value
    if verb == "s":
        return shown
    if verb == "q":
        return f"`{shown}`" if "#" in flags and "`" not in shown else _quoted(shown, ascii_only="+" in flags)
    digits = shown.encode().hex(" " if " " in flags else "") if " " in flags else shown.encode().hex()
    return digits.upper() if verb == "X" else digits


def _quoted(text: str, *, ascii_only: bool = False) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
    escapes |= {"\f": "\\f", "\v": "\\v"}

    def written(character: str) -> str:
        if character in escapes:
            return escapes[character]
        code = ord(character)
        if character.isprintable() and (code < 128 or not ascii_only):
            return character
        return f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return '"' + "".join(map(written, text)) + '"'


def _integer(verb: str, value: int, flags: str, precision: int) -> str:
    if verb in "cqU":
        character = chr(value) if 0 <= value < 0x110000 and not 0xD800 <= value < 0xE000 else "\ufffd"
        if verb == "U":
            return f"U+{value:04X}" + (f" '{character}'" if "#" in flags else "")
        return (
            character if verb == "c" else "'" + _quoted(character)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
        )
    base = {"d": "d", "b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}[verb]
    digits = format(abs(value), base).rjust(max(precision, 0), "0")
    if not value and precision == 0:
        digits = ""
    prefix = "0o" if verb == "O" else ""
    if "#" in flags:
        prefix = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}.get(verb, prefix)
    return _signed(value < 0, prefix + digits, flags)


def _float(verb: str, value: float, flags: str, precision: int) -> str:
    if value != value or abs(value) == float("inf"):
        text = number(value).lstrip("+-")
        return text if text == "NaN" else _signed(value < 0, text, flags if "+" in flags else flags + "+")
    if verb in "gG" and precision < 0:
        text = number(abs(value))
    elif verb in "eEfF":
        text = f"{abs(value):.{6 if precision < 0 else precision}{verb}}"
    else:
        text = f"{abs(value):.{precision or 1}{verb}}"
    return _signed(str(value).startswith("-"), text.upper() if verb in "EG" else text, flags)


def _signed(negative: bool, text: str, flags: str) -> str:
    return ("-" if negative else "+" if "+" in flags else " " if " " in flags else "") + text


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _padded(text: str, verb: str, value: Any, flags: str, width: int) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and _is_number(value) and verb not in "cqUT" and text[-1:] not in ("f", "N"):
        sign = text[:1] if text[:1] in "+- " else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)
