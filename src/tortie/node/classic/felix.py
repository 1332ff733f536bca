"""Felix's part in classic mode: a health endpoint that opens when the start is over, and what kept old ones from it.

The host of the endpoint is looked up with the system's resolver, as Go does: a node whose `localhost` is somebody
else's cannot listen. Tortie's own node asks nobody for that name.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from tortie.health.health import Health
from tortie.health.page import Page, serve
from tortie.health.routes import health_routes
from tortie.host.kernel_settings import read_setting
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.words import GoError

_AGAIN_S: Final = 1.0  # the endpoint is tried again, and a service that ended is run again, every second
_LOOK_S: Final = 1.0
_RPF: Final = (
    "Kernel's RPF check is set to 'loose'.  This would allow endpoints to spoof their IP address.  Calico requires "
    "net.ipv4.conf.all.rp_filter to be set to 0 or 1. If you require loose RPF and you are not concerned about "
    "spoofing, this check can be disabled by setting the IgnoreLooseRPF configuration parameter to 'true'."
)


class Felix:
    def __init__(
        self, health: Health, log: ClassicLog, host: str, port: int, *, enabled: bool, ignore_loose_rpf: bool
    ) -> None:
        """`enabled`: whether there is an endpoint at all."""
        self._health = health
        self._log = log
        self._host = host
        self._port = port
        self._enabled = enabled
        self._ignore_loose_rpf = ignore_loose_rpf
        self._page: Page | None = None
        self._may_run = asyncio.Event()

    def close(self) -> None:
        if self._page:
            self._page.close()

    async def run(self) -> None:
        """For ever: the kernel is checked where that release does, then the endpoint is kept open."""
        while self._log.release.refuses_loose_rpf and not self._ignore_loose_rpf and _is_loose():
            self._log.at("fatal", _RPF)
            await asyncio.sleep(_AGAIN_S)  # runit starts it again
        self._may_run.set()
        while True:
            if self._page is None and self._enabled:
                try:
                    self._page = await asyncio.to_thread(self._open)
                except GoError as error:
                    self._log.error("Health endpoint failed, trying to restart it...", error=error)
                    await asyncio.sleep(_AGAIN_S)
                    continue
            await asyncio.sleep(_LOOK_S)

    async def once_it_may(self, work: Callable[[], Awaitable[None]]) -> None:
        """The dataplane is Felix's work: it begins when Felix does."""
        await self._may_run.wait()
        await work()

    def _open(self) -> Page:
        address = listen_address(self._host)
        shown = f"[{address}]:{self._port}" if ":" in address else f"{address}:{self._port}"
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((address, self._port))
                trial.listen()
            except OSError as error:
                said = os.strerror(error.errno or 0).lower()
                raise GoError(f"listen tcp {shown}: bind: {said}") from None
        return serve(address, self._port, health_routes(self._health))


def listen_address(host: str) -> str:
    """The first IPv4 address of the name, else the first; `GoError` as Go's net.Listen says it."""
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", None, 0, socket.SOCK_STREAM)
    except OSError as error:
        raise GoError(f"listen tcp: lookup {host}{lookup_failure(error)}") from None
    addresses = [str(entry[4][0]) for entry in found]
    return next((address for address in addresses if ":" not in address), addresses[0])


def lookup_failure(error: OSError) -> str:
    """Who was asked, and what came of it."""
    server = _name_server()
    if error.errno in (socket.EAI_AGAIN, errno.ETIMEDOUT):
        return f" on {server}: i/o timeout" if server else ": i/o timeout"
    return f" on {server}: no such host" if server else ": no such host"


def _name_server() -> str:
    with suppress(OSError), open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            if len(words) > 1 and words[0] == "nameserver":
                return f"[{words[1]}]:53" if ":" in words[1] else f"{words[1]}:53"
    return ""


def _is_loose() -> bool:
    return (read_setting("net/ipv4/conf/all/rp_filter") or "").strip() == "2"
