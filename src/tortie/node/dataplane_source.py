"""What the datastore says about pods, nodes and pools, followed for ever, for the dataplane.

Only complete pictures are passed on: nothing must be taken away because it has not been read yet. While the datastore
is away, what is known stays known.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from tortie.dataplane.known import Known
from tortie.health.health import Health
from tortie.model.errors import TortieError
from tortie.node.log import Log
from tortie.node.patience import pause_s
from tortie.store.contract import Change, Store
from tortie.store.follow import follow_all

COMPONENT: Final = "dataplane-datastore"
_OUT_OF_REACH_S: Final = 10.0
_LONGEST_PAUSE_S: Final = 15.0


class DataplaneSource:
    def __init__(self, name: str, store: Store, health: Health, log: Log, heard: Callable[[bool], None]) -> None:
        """`heard` is called with every complete picture, and told whether it looks different from the one before."""
        self.known = Known(name)
        self._store = store
        self._health = health
        self._log = log
        self._heard = heard
        self._keys: set[str] = set()
        self._different = True
        self._away = False

    async def run(self) -> None:
        attempt = 0
        while True:
            prefixes = self.known.prefixes()
            try:
                await self._follow(prefixes)
            except TortieError as error:
                attempt += 1
                self._is_away(error)
            else:  # what is to be followed is something else now
                attempt = 0
                continue
            await asyncio.sleep(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))

    async def _follow(self, prefixes: tuple[str, ...]) -> None:
        """Until other prefixes are wanted."""
        async with aclosing(follow_all(self._store, prefixes, timeout_s=_OUT_OF_REACH_S)) as following:
            whole = True
            async for news in following:
                self._is_here()
                gone = self._gone(news.changes) if whole else ()
                whole = False
                self._learn((*gone, *news.changes))
                if self.known.prefixes() != prefixes:
                    return
                different, self._different = self._different, False
                self._heard(different)

    def _gone(self, everything: tuple[Change, ...]) -> tuple[Change, ...]:
        """What has been deleted while nobody looked: nobody tells that."""
        present = {change.key for change in everything}
        return tuple(Change(key, None, 0) for key in sorted(self._keys - present))

    def _learn(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            if change.value is None:
                self._keys.discard(change.key)
            else:
                self._keys.add(change.key)
            self._different = self.known.learn(change.key, change.value) or self._different

    def _is_away(self, error: TortieError) -> None:
        # It says nothing about readiness: routes are as good as before.
        detail = f"out of reach, routes and tunnels stay as they are: {error.why or error.what}"
        self._health.component(COMPONENT, live=None, ready=None, detail=detail)
        if not self._away:
            self._log.warning(f"{error.what}: {error.why}. Fix: {error.fix}. Routes and tunnels stay as they are.")
        self._away = True

    def _is_here(self) -> None:
        if self._away:
            self._away = False
            self._health.drop(COMPONENT)
            self._log.info("The dataplane hears the datastore again")
