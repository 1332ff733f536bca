"""The kernel's news for the event loop: heard at once, passed on once they have settled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from tortie.addressing.exclusions import excluded_by
from tortie.addressing.versions import LATEST
from tortie.host.events import Events
from tortie.model.errors import TortieError
from tortie.model.network import MAIN_TABLE, Address, HostNetwork, Interface

# A DHCP client or a bond changes several things within moments; the last state is the one to judge.
QUIET_S: Final = 1.0
LONGEST_S: Final = 5.0
_OPEN_AGAIN_S: Final = 1.0


class KernelNews:
    """Opened inside the event loop that it serves."""

    def __init__(self, open_events: Callable[[], Events]) -> None:
        self._open_events = open_events
        self._heard = asyncio.Event()
        self._events: Events | None = None
        self._opening: asyncio.TimerHandle | None = None
        self._open()

    async def wait(self, timeout_s: float) -> bool:
        """Whether something was heard in time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._heard.wait()
        except TimeoutError:
            return False
        self._heard.clear()
        return True

    async def settled(self) -> None:
        """Returns after news, once it has been quiet for a moment, or once waiting longer helps nobody."""
        loop = asyncio.get_running_loop()
        await self._heard.wait()
        deadline = loop.time() + LONGEST_S
        while self._heard.is_set() and loop.time() < deadline:
            self._heard.clear()
            await asyncio.sleep(min(QUIET_S, max(0.0, deadline - loop.time())))
        self._heard.clear()

    def close(self) -> None:
        if self._opening:
            self._opening.cancel()
        if self._events:
            asyncio.get_running_loop().remove_reader(self._events.fileno())
            self._events.close()
            self._events = None

    def _open(self) -> None:
        """A machine without descriptors left may have one again soon; what was missed meanwhile counts as heard."""
        loop = asyncio.get_running_loop()
        try:
            self._events = self._open_events()
        except (TortieError, OSError):
            self._opening = loop.call_later(_OPEN_AGAIN_S, self._open)
            return
        loop.add_reader(self._events.fileno(), self._listen)

    def _listen(self) -> None:
        try:
            heard = self._events is None or self._events.drain()
        except (TortieError, OSError):  # never again from this one, or the loop would turn for nothing else
            self.close()
            self._opening = asyncio.get_running_loop().call_later(_OPEN_AGAIN_S, self._open)
            heard = True
        if heard:
            self._heard.set()


def relevant(network: HostNetwork) -> object:
    """What of a network an address choice can depend on. Pods come and go without touching it."""
    interfaces = tuple(
        (interface.name, interface.kind, interface.is_up, interface.master, _usable(interface))
        for interface in network.interfaces
        if not excluded_by(interface.name, LATEST)
    )
    defaults = tuple(
        route for route in network.routes if route.destination.prefixlen == 0 and route.table == MAIN_TABLE
    )
    return interfaces, defaults


def _usable(interface: Interface) -> tuple[Address, ...]:
    return tuple(address for address in interface.addresses if not address.cidr.ip.is_link_local)
