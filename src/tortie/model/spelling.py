"""How Calico stores what people may write in several ways: `"80"` as 80, 90s as 1m30s, `info` as Info.

Fields that are not listed here are stored as they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tortie.model import durations
from tortie.model.fields import DSCP, ASNumber, Choice, Duration, Port, Protocol

Spelling = Callable[[Any], Any]


def spelling_of(kind: Any) -> Spelling | None:
    """What makes the stored form of a value that has no problems; None where that is the value itself.

    Types that only one kind of resource has bring their own, `spelled`.
    """
    if not isinstance(kind, type):
        return None
    if issubclass(kind, Choice) and not kind.as_written:
        return lambda raw: str(kind.parse(raw))
    return _SPELLINGS.get(kind) or getattr(kind, "spelled", None)


def _number(raw: Any) -> Any:
    """Digits, in quotes or not, as a number; anything else as it is."""
    text = str(raw)
    return int(text) if text.isascii() and text.isdigit() else raw


def _port(raw: Any) -> Any:
    first, colon, last = str(raw).partition(":")
    if not colon:
        return _number(raw)
    return int(first) if int(first) == int(last) else f"{int(first)}:{int(last)}"


# By the very type: KubernetesPort is a Port, and Kubernetes keeps the quotes.
_SPELLINGS: Final[dict[type, Spelling]] = {
    ASNumber: lambda raw: int(ASNumber.parse(raw)),
    Protocol: _number,
    DSCP: _number,
    Port: _port,
    Duration: durations.spelled,
}
