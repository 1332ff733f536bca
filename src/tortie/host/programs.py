"""A short program run to its end from an event loop: what it says and how it ends, without a thread for it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from tortie.host.child import found, spawn
from tortie.model.errors import TortieError

_CHUNK: Final = 65536
_SAID_MAX: Final = 1 << 20


async def outcome_of(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> tuple[int, str]:
    """Its exit status, negative for a signal, and all that it wrote. Raises OSError, or TimeoutError when it is killed
    because its time is up.
    """
    try:
        program = found(argv[0], environment)
    except TortieError as error:
        raise FileNotFoundError(error.why) from None
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        pid = spawn([program, *argv[1:]], environment, writer)
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    try:
        async with asyncio.timeout(timeout_s):
            said = await _read_all(reader)
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
        status = _collected(pid)
    return status, said.decode(errors="replace")


def _collected(pid: int) -> int:
    """It has ended, or is about to: nobody holds its end of the pipe any more."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


async def _read_all(reader: int) -> bytes:
    os.set_blocking(reader, False)
    loop = asyncio.get_running_loop()
    said = bytearray()
    over: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        try:
            data = os.read(reader, _CHUNK)
        except BlockingIOError:
            return
        if len(said) < _SAID_MAX:
            said.extend(data)
        if not data and not over.done():
            over.set_result(None)

    loop.add_reader(reader, read)
    try:
        await over
    finally:
        loop.remove_reader(reader)
    return bytes(said)
