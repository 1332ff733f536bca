"""Children under watch: one that died turns the node not live, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tortie.health.health import Health


class Watched(Protocol):
    """What `tortie.host.child.Child` is."""

    @property
    def name(self) -> str: ...
    @property
    def pid(self) -> int: ...
    def poll(self) -> str | None: ...


def watch_children(health: Health, children: Iterable[Watched]) -> None:
    """Called by the agent's ticker. A child has a row of its own: what it achieves is another component's report."""
    for child in children:
        if how := child.poll():
            health.child_ended(child.name, how, child.pid)
        else:
            health.component(child.name, ready=None, detail=f"pid {child.pid}")
