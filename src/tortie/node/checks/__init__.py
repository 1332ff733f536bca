"""The checks before a start: what was observed in, one line with a verdict and its fix out. Pure, one function each.

`kernel` judges the kernel and its settings, `network` ports and names, `machine` everything else around a node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Result = Literal["OK", "WARN", "FAIL", "SKIP"]  # SKIP: could not be checked; `seen` says why


class Check(NamedTuple):
    name: str
    group: str
    result: Result
    seen: str
    fix: str = ""


def verdict(checks: Iterable[Check]) -> Literal["ok", "warn", "fail"]:
    """The worst of them. What could not be checked is no fault."""
    results = {check.result for check in checks}
    return "fail" if "FAIL" in results else "warn" if "WARN" in results else "ok"
