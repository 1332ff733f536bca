"""A word on standard error while the doctor works for more than a second, shown only to somebody at a terminal.

It is written by an alarm and not by a thread: processes are forked to share the work, and threads forbid that.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from tortie.doctor.words import Language, Words

FIRST_S: Final = 1.0
AGAIN_S: Final = 0.5
_READING: Final = Words("reading the evidence: {seconds} s", "正在读取证据：{seconds} 秒")
_NAMED: Final = Words("reading {name}: {seconds} s", "正在读取 {name}：{seconds} 秒")
_TYPE: Final = Words(
    "reading what you type or paste; Ctrl-D on a line of its own ends it\n",
    "请输入或粘贴内容，另起一行按 Ctrl-D 结束\n",
)


@contextmanager
def told_to_wait(language: Language, name: Callable[[], str]) -> Iterator[None]:
    """While this lasts, `name` says what is being read; empty when that is not known."""
    shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not shown or threading.current_thread() is not threading.main_thread():
        yield
        return
    began, width = time.monotonic(), 0

    def tell(_signal: int, _frame: FrameType | None) -> None:
        nonlocal width
        words, seconds = name()[:60], str(int(time.monotonic() - began))
        text = (_NAMED.fill(name=words, seconds=seconds) if words else _READING.fill(seconds=seconds)).to(language)
        sys.stderr.write(f"\r{text}{' ' * max(0, width - len(text))}")
        sys.stderr.flush()
        width = max(width, len(text))

    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, FIRST_S, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if width:
            sys.stderr.write(f"\r{' ' * 2 * width}\r")
            sys.stderr.flush()


def tell_how_to_end(language: Language, paths: tuple[str, ...]) -> None:
    """Somebody who named - at a terminal sees nothing happen otherwise."""
    if "-" in paths and sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(_TYPE.to(language))
        sys.stderr.flush()
