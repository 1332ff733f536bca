"""Finishes what a DEL had to leave behind, record by record. None of them can hold up another one, or the agent.

The path of the pod's namespace is not looked at any more: by now it may be somebody else's. What is left of the cable
is removed by the node's end, and only if the endpoint is still the container's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple

from tortie.cni.config import Network, read_network
from tortie.cni.deleting import free
from tortie.cni.errors import ENVIRONMENT, LATER, CniError, as_cni
from tortie.cni.identity import identify
from tortie.cni.invocation import Invocation, read_request
from tortie.cni.means import Means
from tortie.model.errors import TortieError

FIRST_PAUSE_S: Final = 10.0
_LONGEST_PAUSE_S: Final = 600.0


class Trouble(NamedTuple):
    """With one record."""

    not_before: float
    pause: float


class Finishing:
    def __init__(
        self, means: Means, alone: Callable[[Invocation], AbstractAsyncContextManager[None]], now: Callable[[], float]
    ) -> None:
        """`alone`: keeps others away from an attachment; `now`: of a clock that only goes forward."""
        self._means = means
        self._alone = alone
        self._now = now
        self._troubles: dict[str, Trouble] = {}

    async def finish(self) -> int:
        """How many are left."""
        names = self._means.pending.names()
        self._troubles = {name: trouble for name, trouble in self._troubles.items() if name in names}
        for name in names:
            trouble = self._troubles.get(name)
            if trouble is None or trouble.not_before <= self._now():
                await self._try(name)
        return len(self._means.pending.names())

    async def _try(self, name: str) -> None:
        request = self._means.pending.read(name)
        if request is None:
            return
        try:
            invocation, network = _understood(request)
        except Exception as error:
            self._put_off(name, f"A record of what is to be freed makes no sense, and is set aside: {name!r}: {error}")
            self._means.pending.set_aside(name)
            return
        about = f"container {invocation.container[:12]}"
        try:
            if await self._finish(name, invocation, network, request):
                self._means.say(f"Finished what was left of {about}")
        except Exception as error:
            why = error if isinstance(error, TortieError) else f"{type(error).__name__}: {error}"
            text = f"What is left of {about} cannot be freed yet, and is tried again later: {why}"
            self._put_off(name, text, passing=isinstance(error, TortieError) and as_cni(error).number == LATER)

    def _put_off(self, name: str, text: str, *, passing: bool = False) -> None:
        """Told once for each record, and tried less and less often, unless it lies with something that passes."""
        known = self._troubles.get(name)
        if known is None:
            self._means.warn(text)
        pause = min(known.pause * 2, _LONGEST_PAUSE_S) if known and not passing else FIRST_PAUSE_S
        self._troubles[name] = Trouble(self._now() + pause, pause)

    async def _finish(self, name: str, invocation: Invocation, network: Network, request: bytes) -> bool:
        pending = self._means.pending
        async with self._alone(invocation):
            if pending.read(name) != request:
                return False  # an ADD has made it void, or a DEL has done it
            who = identify(invocation, network, self._means.node, self._means.prefix)
            await free(self._means, invocation, network, who)
            pending.forget(name)
            return pending.read(name) is None


def _understood(request: bytes) -> tuple[Invocation, Network]:
    invocation = read_request(request)
    if invocation.command != "DEL":
        raise CniError(ENVIRONMENT, f"it is {invocation.command}, not DEL")
    nowhere = {**invocation.variables, "CNI_NETNS": ""}  # nor shall another IPAM plugin enter somebody else's
    return invocation._replace(netns="", variables=nowhere), read_network(invocation.config, "DEL")
