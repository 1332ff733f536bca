"""What the datastore says about BGP, followed for ever. While the datastore is away, what is known stays known."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from tortie.bgp.cluster import Known, prefixes
from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.model.errors import TortieError
from tortie.node.log import Log
from tortie.node.patience import pause_s
from tortie.store.contract import Change, Store
from tortie.store.follow import follow_all

COMPONENT: Final = "datastore"
# Long enough for an etcd that elects a new leader, short enough to be told while it matters.
_OUT_OF_REACH_S: Final = 10.0
_LONGEST_PAUSE_S: Final = 15.0


class MeshSource:
    def __init__(
        self, name: str, store: Store, health: Health, log: Log, heard: Callable[[tuple[str, ...]], None]
    ) -> None:
        """`heard` gets the keys of all that looks different since; none, if somebody only made sure that all is as it
        was.
        """
        self.known = Known(name)
        self._name = name
        self._store = store
        self._health = health
        self._log = log
        self._heard = heard
        self._keys: set[str] = set()
        self._away = False

    async def run(self) -> None:
        attempt = 0
        while True:
            try:
                async with aclosing(
                    follow_all(self._store, prefixes(self._name), timeout_s=_OUT_OF_REACH_S)
                ) as following:
                    whole = True
                    async for news in following:
                        attempt = 0
                        self._is_here()
                        gone = self._gone(news.changes) if whole else ()
                        whole = False
                        self._heard(self._learn((*gone, *news.changes)))
            except TortieError as error:
                attempt += 1
                self._is_away(error)
            await asyncio.sleep(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))

    def _gone(self, everything: tuple[Change, ...]) -> tuple[Change, ...]:
        """What has been deleted while nobody looked: nobody tells that."""
        present = {change.key for change in everything}
        return tuple(Change(key, None, 0) for key in sorted(self._keys - present))

    def _learn(self, changes: tuple[Change, ...]) -> tuple[str, ...]:
        for change in changes:
            if change.value is None:
                self._keys.discard(change.key)
            else:
                self._keys.add(change.key)
        return tuple(change.key for change in changes if self.known.learn(change.key, change.value))

    def _is_away(self, error: TortieError) -> None:
        self._health.trouble(Trouble(error.what, error.why, error.fix, "the datastore"))
        # It says nothing about readiness: routes are as good as before.
        detail = f"out of reach, BGP goes on with what is known: {error.why or error.what}"
        self._health.component(COMPONENT, live=None, ready=None, detail=detail)
        if not self._away:
            self._log.warning(f"{error.what}: {error.why}. Fix: {error.fix}. BGP goes on with what is known.")
        self._away = True

    def _is_here(self) -> None:
        if self._away:
            self._away = False
            self._health.resolved()
            self._health.drop(COMPONENT)
            self._log.info("The datastore answers again")
