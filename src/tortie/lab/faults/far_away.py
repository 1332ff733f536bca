"""A long way to a server: a TCP proxy that lets every byte take its time, in either direction."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final

_AT_ONCE: Final = 1 << 16
_UNDER_WAY_MAX: Final = 8 << 20


def place_of(text: str) -> tuple[str | None, int]:
    """`10.0.0.1:2379`, `[fd00::1]:2379`, or only a port: then every address."""
    host, _, port = text.rpartition(":")
    return host.strip("[]") or None, int(port)


async def serve(listen: str, target: str, delay_s: float) -> None:
    """`delay_s`: one way. A new connection takes a way there and back before its first byte travels."""
    host, port = place_of(listen)

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * delay_s)
        try:
            far_reader, far_writer = await asyncio.open_connection(*place_of(target))
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(_way(reader, far_writer, delay_s), _way(far_reader, writer, delay_s))
        for each in (writer, far_writer):
            with suppress(OSError):
                each.close()

    server = await asyncio.start_server(accepted, host, port, reuse_address=True)
    async with server:
        await server.serve_forever()


async def _way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Pieces are under way at the same time: the delay is one of distance, not of width."""
    loop = asyncio.get_running_loop()
    pieces: deque[tuple[float, bytes]] = deque()
    arrived, room = asyncio.Event(), asyncio.Event()
    room.set()
    size = 0

    async def deliver() -> None:
        nonlocal size
        while True:
            while not pieces:
                arrived.clear()
                await arrived.wait()
            at, piece = pieces.popleft()
            await asyncio.sleep(max(0.0, at - loop.time()))
            size -= len(piece)
            room.set()
            if not piece:
                with suppress(OSError, RuntimeError):
                    writer.write_eof()
                return
            writer.write(piece)
            await writer.drain()

    async def take() -> None:
        nonlocal size
        piece = b"-"
        while piece:
            await room.wait()
            try:
                piece = await reader.read(_AT_ONCE)
            except OSError:
                piece = b""
            size += len(piece)
            if size > _UNDER_WAY_MAX:
                room.clear()
            pieces.append((loop.time() + delay_s, piece))
            arrived.set()

    taking = asyncio.ensure_future(take())
    try:
        await deliver()
    except OSError:
        writer.transport.abort()
    finally:
        taking.cancel()
