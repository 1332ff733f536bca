"""Topologies and plans for tests, from a few lines."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from tortie.lab.plan import LabPlan
from tortie.lab.planning import plan
from tortie.lab.topology import Topology, from_flags, read_topology

HEAD = "apiVersion: tortie/v1\nkind: Lab\n"


def read(text: str) -> Topology:
    return read_topology(HEAD + dedent(text), "lab.yaml")


def planned(text: str = "", **flags: Any) -> LabPlan:
    """From the text of a file, or from flags."""
    return plan(read(text) if text else from_flags(**flags), "lab")
