"""Why no address was chosen, in one line: what speaks for each of the tied, or what is wrong with the likeliest."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import Final

from tortie.addressing.choice import Choice, Rejected
from tortie.addressing.exclusions import excluded_by

_TOLD_MAX: Final = 6


def why_not_chosen(choice: Choice) -> str:
    """Empty for a choice that has an address. A person looks for the machine's NIC first, for the loopback never."""
    if choice.chosen is not None:
        return ""
    if choice.tied:
        return "; ".join(f"{each.address} on {each.interface}: {each.reason}" for each in choice.tied)
    likely = [each for each in choice.rejected if not _is_loopback(each)] or list(choice.rejected)
    likely.sort(key=lambda each: _unlikeliness(each, choice))
    told = [f"{f'{each.address} on ' if each.address else ''}{each.interface}: {each.reason}" for each in likely]
    more = [f"and {len(told) - _TOLD_MAX} more"] if len(told) > _TOLD_MAX else []
    return "; ".join(told[:_TOLD_MAX] + more)


def _unlikeliness(each: Rejected, choice: Choice) -> tuple[bool, bool, bool]:
    return excluded_by(each.interface) is not None, each.interface not in choice.pending, not each.address


def _is_loopback(each: Rejected) -> bool:
    return each.interface == "lo" or (bool(each.address) and ip_interface(each.address).ip.is_loopback)
