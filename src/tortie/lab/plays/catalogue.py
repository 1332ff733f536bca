"""All plays, in the order of the incidents."""

from __future__ import annotations

from typing import Final

from tortie.lab.plays import addresses, machines, stores, windows
from tortie.lab.plays.play import Play

_ORDER: Final = (
    "overloaded",
    "docker-bridge",
    "far-datastore",
    "stuck-runtime",
    "swap-on",
    "second-nic",
    "unstable-etcd",
    "stuck-migration",
)
_WRITTEN: Final = {play.name: play for group in (addresses, windows, machines, stores) for play in group.PLAYS}

PLAYS: Final[tuple[Play, ...]] = tuple(_WRITTEN[name] for name in _ORDER)


def play_named(name: str) -> Play | None:
    return _WRITTEN.get(name)


def names() -> list[str]:
    return [play.name for play in PLAYS]
