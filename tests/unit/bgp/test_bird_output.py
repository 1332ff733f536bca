"""BIRD's own words, as they go into the node's log."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

import pytest

from tortie.bgp.bird_output import Output, told


@pytest.mark.parametrize(
    ("line", "level", "words"),
    [
        ("2026-11-16T04:05:09 <TRACE> device1: Initializing", "debug", "device1: Initializing"),
        ("2026-11-16 04:05:09.123 <INFO> Started", "info", "Started"),
        ("2026-11-16T04:05:09 <WARN> Mesh_10_0_0_2: odd", "warning", "Mesh_10_0_0_2: odd"),
        ("bird: cannot open configuration file", "info", "bird: cannot open configuration file"),
    ],
)
def test_a_line_keeps_its_words_and_loses_its_time(line: str, level: str, words: str) -> None:
    assert told(line) == (level, words)


def test_lines_are_passed_on_whole_however_they_arrive_and_the_last_one_too() -> None:
    async def scenario() -> list[str]:
        heard: list[str] = []
        both = asyncio.Event()

        def hear(_: str, text: str) -> None:
            heard.append(text)
            if len(heard) == 2:
                both.set()

        output = Output(hear)
        with output.writing() as writer:
            keep = os.dup(writer)
        for piece in (b"2026-11-16T04:05:09 <INFO> Sta", b"rted\n2026-11-16T04:05:09 <IN", b"FO> Mesh: up"):
            os.write(keep, piece)
            await asyncio.sleep(0)
        os.close(keep)
        await both.wait()
        output.close()
        return heard

    assert asyncio.run(asyncio.wait_for(scenario(), 10)) == ["Started", "Mesh: up"]


def test_who_does_not_read_holds_nobody_up() -> None:
    async def scenario() -> None:
        output = Output(lambda *_: None)
        with output.writing() as writer:
            keep = os.dup(writer)
        written = 0
        with suppress(BlockingIOError):
            while written < 1 << 24:  # the event loop does not turn
                written += os.write(keep, b"x" * 4096)
        assert written < 1 << 24
        os.close(keep)
        output.close()

    asyncio.run(scenario())
