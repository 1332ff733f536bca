"""What Go's own parsers take and say, where a release shows their words to people. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_interface
from typing import Final, NamedTuple

from tortie.addressing.methods import go_cidr
from tortie.model.network import CIDR, IP
from tortie.node.classic.words import GoError

_INT_MAX: Final = 2**63 - 1
_AS_MAX: Final = 2**32 - 1
_HALF_MAX: Final = 2**16 - 1


class Line(NamedTuple):
    """One line of the log, with its fields."""

    level: str
    text: str
    fields: Mapping[str, object] = {}


class Ends(Exception):
    """The start is over; the lines say why."""

    def __init__(self, *lines: Line) -> None:
        super().__init__(lines[-1].text if lines else "")
        self.lines = lines


def go_ip(text: str) -> IP | None:
    """As net.ParseIP: no zone, no prefix."""
    if not re.fullmatch(r"[0-9A-Fa-f.:]+", text):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def cidr_or_ip(text: str) -> CIDR | None:
    """An address alone stands for itself."""
    if (cidr := go_cidr(text)) is not None:
        return cidr
    ip = go_ip(text)
    return None if ip is None else ip_interface(ip)


def atoi(text: str) -> int:
    """Raises GoError with what strconv says."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise GoError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    if abs(number := int(text)) > _INT_MAX:
        raise GoError(f'strconv.Atoi: parsing "{text}": value out of range')
    return number


def as_number(text: str) -> int:
    """Plain, or in two halves; 0 is one, too. Raises GoError."""
    if (number := _unsigned(text, _AS_MAX)) is not None:
        return number
    high, dot, low = text.partition(".")
    first, second = _unsigned(high, _HALF_MAX), _unsigned(low, _HALF_MAX)
    if not dot or first is None or second is None:
        raise GoError(f"invalid AS Number format ({text})")
    return first * 65536 + second


def _unsigned(text: str, most: int) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) and int(text) <= most else None
