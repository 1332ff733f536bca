"""A bar on standard error for work that takes a while, shown only to somebody who looks at a terminal."""

from __future__ import annotations

import sys

_WIDTH = 30


class Bar:
    def __init__(self, label: str) -> None:
        self._label = label
        self._shown = sys.stderr.isatty()
        self._last = ""

    def __call__(self, done: int, total: int) -> None:
        if not self._shown:
            return
        share = done / total if total else 1.0
        filled = int(share * _WIDTH)
        text = f"{self._label} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,}/{total:,}"
        if text != self._last:
            sys.stderr.write(f"\r{text}")
            sys.stderr.flush()
            self._last = text

    def clear(self) -> None:
        if self._last:
            sys.stderr.write("\r" + " " * len(self._last) + "\r")
            sys.stderr.flush()
