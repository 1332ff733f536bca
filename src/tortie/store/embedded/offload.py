"""Where the store's blocking work is done: on the spot for a command, in a thread for a program with an event loop."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

from tortie.store.contract import Revision
from tortie.store.embedded.bell import Bell, Listener
from tortie.store.embedded.call import GRACE_S, Call, Overdue, outcome_of

Result = TypeVar("Result")

_FOREVER_S = 3600.0


class Offload(Protocol):
    async def __call__(self, call: Call, work: Callable[[], Result]) -> Result:
        """Does the work; when cancelled, makes the call give up."""
        ...

    async def ring(self, bell: Bell, heard: int, prefix: str, seen: Revision) -> Revision:
        """Returns once the bell has rung more than `heard` times for somebody who watches the prefix, or earlier.

        Up to the revision that it returns, at least `seen`, there is nothing new to read.
        """
        ...


class Inline:
    """Never suspends, so a command finishes any call with one `send(None)` and needs no event loop."""

    async def __call__(self, call: Call, work: Callable[[], Result]) -> Result:  # noqa: ARG002
        return work()

    async def ring(self, bell: Bell, heard: int, prefix: str, seen: Revision) -> Revision:  # noqa: ARG002
        if bell.rings == heard:
            bell.wait(_FOREVER_S)
        return seen


class InThread:
    """A thread per call: cheap next to a durable write, and nothing is left when the call is over.

    Such a thread does not keep the interpreter from exiting.
    """

    async def __call__(self, call: Call, work: Callable[[], Result]) -> Result:
        import asyncio

        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def settle(outcome: Callable[[], Result]) -> None:
            if not ended.done():
                ended.set_result(outcome)

        def run() -> None:
            outcome = outcome_of(work)
            with suppress(RuntimeError):  # the loop is gone, and whoever waited with it
                loop.call_soon_threadsafe(settle, outcome)

        _thread.start_new_thread(run, ())
        try:
            await asyncio.wait([ended], timeout=call.remaining_s() + GRACE_S)
        except asyncio.CancelledError:
            call.give_up()
            # So that whoever reads next finds a commit that has happened, or never will.
            await asyncio.wait([ended], timeout=call.remaining_s())
            raise
        if not ended.done():
            call.give_up()
            raise Overdue
        outcome: Callable[[], Result] = ended.result()
        return outcome()

    async def ring(self, bell: Bell, heard: int, prefix: str, seen: Revision) -> Revision:
        import asyncio

        if bell.rings != heard:
            return seen
        loop = asyncio.get_running_loop()
        rung = asyncio.Event()
        listener = Listener(prefix, seen, rung.set)
        if not bell.listeners:
            loop.add_reader(bell.descriptor, bell.answer)
        bell.listeners.append(listener)
        try:
            await rung.wait()
        finally:
            bell.listeners.remove(listener)
            if not bell.listeners:
                loop.remove_reader(bell.descriptor)
        return listener.seen


inline = Inline()
in_thread = InThread()
