"""What turns a real agent not live, seen from outside while it happens: a loop that hangs, a child that was killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.health_pages import Answered, ask_port, eventually

AGENT = """
import asyncio, sys, time
from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.routes import health_routes

health = Health(time.monotonic)
page = serve("127.0.0.1", 0, health_routes(health))
health.begin("launch", 60)
print(page.addresses[0][1], flush=True)

async def agent():
    health.loop_bound(0.3)
    health.started()
    while True:
        health.beat()
        await asyncio.sleep(0.02)

async def hang_on_demand():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while (line := await reader.readline()):
        health.progress("writing routes")
        time.sleep(float(line))

async def main():
    await asyncio.gather(agent(), hang_on_demand())

asyncio.run(main())
"""


@contextmanager
def _agent() -> Iterator[tuple[subprocess.Popen[str], Callable[[str], Answered]]]:
    process = subprocess.Popen([sys.executable, "-c", AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        yield process, lambda path: ask_port(port, path)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_an_event_loop_that_hangs_is_told_while_it_hangs() -> None:
    with _agent() as (process, ask):
        eventually(lambda: ask("/readiness").status == 204, "the agent is ready")
        assert process.stdin is not None
        process.stdin.write("3600\n")
        process.stdin.flush()
        # Not just any hang: on a busy machine the loop may have stood still for a moment before it read that line.
        eventually(lambda: "writing routes" in ask("/liveness").text, "the page notices that the loop hangs")
        assert ask("/liveness").status == 503
        text = ask("/liveness").text
        assert "not live: the event loop has not turned for " in text
        assert "(bound 0.3 s), last doing: writing routes" in text
        assert ask("/readiness").status == 503


def test_an_event_loop_that_turns_again_is_live_again() -> None:
    with _agent() as (process, ask):
        assert process.stdin is not None
        process.stdin.write("5\n")  # so long that nobody who looks again and again can miss it
        process.stdin.flush()
        eventually(lambda: ask("/liveness").status == 503, "the page notices that the loop hangs")
        eventually(lambda: ask("/liveness").status == 204, "the page notices that the loop turns again")
