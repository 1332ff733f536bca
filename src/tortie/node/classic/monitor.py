"""monitor-addresses: from v3.15 on the address is detected again and again, in that release's way, and moved.

That is how a bridge that somebody makes is taken while the node runs. What goes wrong ends the service; it is started
again a second later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from tortie.node.classic.conflicts import check_conflicts
from tortie.node.classic.defaults import Defaults
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.startup import Circumstances, Started, look
from tortie.node.classic.words import GoError
from tortie.store.contract import Revision

_TRIES: Final = 3
_AGAIN_S: Final = 1.0


class Monitor:
    def __init__(
        self,
        given: Circumstances,
        reader: ClassicReader,
        log: ClassicLog,
        interval_s: float,
        tell: Callable[[Started], None],
    ) -> None:
        self._given = given
        self._reader = reader
        self._log = log
        self._interval_s = interval_s
        self._defaults = Defaults(given.name, given.settings, given.environment, given.stamp, reader, log)
        self._tell = tell

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                self._reader.renew()
                await self._turn()
            except GoError as error:
                self._log.error("Unable to query node configuration", error=error)
                self._log.warning("Terminating")
                await asyncio.sleep(_AGAIN_S)

    async def _turn(self) -> None:
        entry = await self._reader.own(self._given.name)
        picture = self._defaults.picture(entry)
        network = self._given.machine.observe()
        found = await look(self._given, picture.node.document if picture.node else {}, network, self._log)
        if found.failed or found.ended:
            self._log.warning("Terminating")
            return
        if not found.changed:
            return
        if self._given.environment.get("DISABLE_NODE_IP_CHECK") != "true":
            nodes = await self._reader.everybody()
            if not check_conflicts(self._given.name, found.addresses, nodes, self._log).free:
                self._log.warning("Terminating")
                return
        revision: Revision = 0
        for attempt in range(_TRIES):
            try:
                revision = await self._defaults.register(picture, found.addresses)
                break
            except GoError as error:
                # The object is the one that was read, so a conflict stays one; that is how it was.
                last = attempt == _TRIES - 1
                going_on = "" if last else ", retrying..."
                self._log.error(f"Unable to set node resource configuration{going_on}", error=error)
                if last:
                    self._log.warning("Terminating")
                    return
        self._log.info("Updated node IP addresses")
        self._tell(Started(network, found.addressed, revision))
