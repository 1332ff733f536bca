"""From host names to addresses, without waiting longer than anybody has time.

The C library's look-up cannot be ended, and may take minutes where no name server answers. The event loop would run it
in its pool of threads, and wait for those at its end, so that a command went on after its deadline. Here each look-up
has a thread of its own, for which nobody waits; whoever asks for the same name meanwhile joins it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from ipaddress import ip_address
from threading import Thread
from typing import TypeVar

from tortie.store.etcd.trouble import is_about_connecting

T = TypeVar("T")


class Resolver:
    """Of one host name. May be asked from one event loop after the other."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._looking: Future[list[str]] | None = None

    @property
    def is_waiting(self) -> bool:
        """No name server has answered yet."""
        return self._looking is not None and not self._looking.done()

    async def addresses(self) -> list[str]:
        """In the order in which they should be tried, never none. `socket.gaierror` when there is none."""
        if _is_address(self.host):
            return [self.host]
        looking = self._looking = self._looking or self._begun()
        try:
            return await asyncio.wrap_future(looking)
        finally:
            # An answer that comes too late for one attempt is kept for the next, and used once: addresses change.
            if looking.done() and self._looking is looking:
                self._looking = None

    def _begun(self) -> Future[list[str]]:
        found: Future[list[str]] = Future()
        # A future that runs cannot be cancelled: who gives up waiting must not spoil it for others.
        found.set_running_or_notify_cancel()
        Thread(target=_look_up, args=(self.host, found), name=f"resolve {self.host}", daemon=True).start()
        return found

    async def connected(self, connect: Callable[[str], Awaitable[T]]) -> T:
        """What comes of the first address that takes a connection; if none does, the error of the last."""
        *others, last = await self.addresses()
        for address in others:
            try:
                return await connect(address)
            except OSError as error:
                if not is_about_connecting(error):
                    raise
        return await connect(last)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _look_up(host: str, found: Future[list[str]]) -> None:
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError:
        # What stands between two dots may be empty or too long; Python notices before anybody is asked.
        found.set_exception(socket.gaierror(socket.EAI_NONAME, "it has not the form of a name"))
    except OSError as error:
        found.set_exception(error)
    else:
        found.set_result(list(dict.fromkeys(str(address[0]) for *_, address in answers)))
