"""Values as Go prints them: `%v`, and its `%T`."""

from __future__ import annotations

from typing import Any

from tortie.cli.gotemplate.values import Pointer, Shown, Struct


def printed(value: Any) -> str:
    """What an action writes."""
    return "<no value>" if value is None else text_of(value)


def text_of(value: Any, *, named: bool = False) -> str:
    """`%v`, or `%+v`, which names the fields of structs. Where Go prints an address, what stands there is shown."""
    if isinstance(value, Pointer):
        return "<nil>" if value.value is None else text_of(value.value, named=named)
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return "[" + " ".join(text_of(item, named=named) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{key}:{text_of(value[key], named=named)}" for key in sorted(value))
        return "map[" + " ".join(pairs) + "]"
    if isinstance(value, Struct):
        fields = ((f"{name}:" if named else "") + text_of(item, named=named) for name, item in value.own())
        return "{" + " ".join(fields) + "}"
    return str(value)


def number(value: float) -> str:
    """The shortest digits that mean the same, with an exponent below 1e-4 and from 1e+06 on."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    digits, _, exponent = f"{value!r}".partition("e")
    negative, digits = digits.startswith("-"), digits.lstrip("-")
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    significant = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(significant)
    point = len(whole) - leading + int(exponent or 0)
    significant = significant.rstrip("0")
    if not significant:
        text = "0"
    elif -4 <= point - 1 < 6:
        if point <= 0:
            text = "0." + "0" * -point + significant
        else:
            padded = significant.ljust(point, "0")
            text = padded[:point] + ("." + padded[point:] if padded[point:] else "")
    else:
        tail = "." + significant[1:] if significant[1:] else ""
        text = f"{significant[0]}{tail}e{point - 1:+03d}"
    return f"-{text}" if negative else text


def type_name(value: Any) -> str:
    if isinstance(value, Pointer):
        return f"*{_qualified(value.target)}"
    if isinstance(value, Struct):
        return f"*{_qualified(value.name)}" if "TypeMeta" in value.names() else _qualified(value.name)
    if isinstance(value, Shown | str):
        return "string"
    if isinstance(value, list):
        return f"[]{type_name(value[0]).lstrip('*')}" if value else "[]interface {}"
    names = {bool: "bool", int: "int", float: "float64", dict: "map[string]string", type(None): "<nil>"}
    return names.get(type(value), type(value).__name__)


def _qualified(name: str) -> str:
    return f"v3.{name}" if name[:1].isupper() else name
