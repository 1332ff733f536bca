"""The agent's log lines, as people know them from Calico, and as JSON."""

from __future__ import annotations

import io
import json
import os
import re

from tortie.node.log import Log


def test_a_line_is_calicos() -> None:
    stream = io.StringIO()
    log = Log(stream, clock=lambda: 1604361600.1239)
    log.info("Building new node resource", Name="n1", age=3)
    line = stream.getvalue()
    place = r"startup/test_log\.py \d+"
    pattern = (
        rf'2020-11-03 00:00:00\.123 \[INFO\]\[{os.getpid()}\] {place}: Building new node resource Name="n1" age=3\n'
    )
    assert re.fullmatch(pattern, line), line


def test_the_level_holds_back_what_is_below_it() -> None:
    stream = io.StringIO()
    log = Log(stream, level="warning")
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    assert re.findall(r"\[(\w+)\]\[\d+\] \S+ \d+: (\w)", stream.getvalue()) == [("WARNING", "c"), ("ERROR", "d")]


def test_json_lines_hold_the_same() -> None:
    stream = io.StringIO()
    log = Log(stream, form="json", component="shutdown", clock=lambda: 1604361600.1239)
    log.at("warning", "text with \u201cquotes\u201d\nand a second line", fault="a peer", count=2)
    body = json.loads(stream.getvalue())
    assert body.pop("file").startswith("test_log.py:")
    assert body == {
        "time": "2020-11-03T00:00:00.123Z",
        "level": "warning",
        "pid": os.getpid(),
        "component": "shutdown",
        "message": "text with \u201cquotes\u201d\nand a second line",
        "fault": "a peer",
        "count": 2,
    }
    assert stream.getvalue().count("\n") == 1


def test_one_message_is_one_line() -> None:
    stream = io.StringIO()
    Log(stream).warning("first\nsecond")
    assert stream.getvalue().count("\n") == 1


def test_a_reader_that_has_gone_does_not_end_the_node() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1) as stream:
        Log(stream).info("nobody hears this")
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is left in the buffer may go there
