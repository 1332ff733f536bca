"""Pods of a lab at the command line."""

from __future__ import annotations

from typing import Any

from tests.support.lab import Lab


def run_pods(lab: Lab, *words: str) -> None:
    done = lab("pod run", *words)
    assert done.code == 0, (done, lab.logs())


def pods(lab: Lab) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = lab("pod list", "-o", "json").json["pods"]
    return told


def reach_all(lab: Lab) -> None:
    """Routes take a moment to get everywhere."""
    lab.wait("all pods reach each other", lambda: lab("ping").code == 0)


def assert_reach(lab: Lab, pairs: int) -> None:
    done = lab("ping", "-o", "json")
    assert done.code == 0, done
    assert len(done.json["pairs"]) == pairs
    assert all(pair["ok"] and pair["ms"] >= 0 for pair in done.json["pairs"])
