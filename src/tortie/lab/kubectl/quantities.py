"""Amounts as Kubernetes writes them (250m, 1Gi), for sums and shares. Pure."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_AMOUNT: Final = re.compile(r"([+-]?[0-9.]+)(m|[kMGTPE]i?|Ki)?")
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}


def amount(text: object) -> Decimal:
    """0 for what is no amount."""
    found = _AMOUNT.fullmatch(str(text))
    if found is None:
        return Decimal(0)
    number, unit = found.groups()
    if unit == "m":
        return Decimal(number) / 1000
    return Decimal(number) * _BINARY.get(unit, _DECIMAL.get(unit, 1))


def cpu_text(value: Decimal) -> str:
    whole = value == value.to_integral_value()
    return str(int(value)) if whole else f"{int(value * 1000)}m"


def bytes_text(value: Decimal) -> str:
    """With the largest unit that leaves a whole number."""
    number = int(value)
    for unit, factor in reversed(_BINARY.items()):
        if number and number % factor == 0:
            return f"{number // factor}{unit}"
    return str(number)


def share(part: Decimal, whole: Decimal) -> int:
    """In percent, cut off as kubectl does."""
    return int(part * 100 / whole) if whole else 0
