"""Pods of which the last is meant to fail, and is asked for again as long as the fault lasts."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import Deed, RunHelper, RunPods

_PAUSE_S: Final = "1"


def tried(node: str, prefix: str, number: int) -> tuple[Deed, ...]:
    again = RunHelper(node, f"retry-{prefix}", ("retry-pod", f"{prefix}-{number}", _PAUSE_S))
    return RunPods(node, prefix, number), again
