"""A recording of a play: an asciicast, version 2, which is one JSON document on each line.

Its times are made up: those of the cluster would bore whoever looks at it, and every recording would differ.
"""

from __future__ import annotations

import json
from typing import Final

from tortie.host.files import write_whole
from tortie.lab.plays.showing import WIDTH
from tortie.model.measure import columns

HEIGHT: Final = 32
_READ_S: Final = 0.03  # for each column that somebody has to read
_PAUSE_MIN_S, _PAUSE_MAX_S = 0.4, 5.0
_TYPE_S: Final = 0.035  # for each character that somebody types


class Cast:
    def __init__(self, title: str) -> None:
        self._title = title
        self._events: list[tuple[float, str]] = []
        self._at = 0.0

    def add(self, text: str, style: str = "") -> None:
        """What is said, typed or answered; and the time that it takes to read it."""
        if text.startswith("$ "):
            self._type(text, style)
        else:
            self._event(styled(text, style))
        self._at += min(_PAUSE_MAX_S, max(_PAUSE_MIN_S, columns(text) * _READ_S)) if text.strip() else 0.0

    def _type(self, text: str, style: str) -> None:
        """Word by word, as somebody does who knows what he wants."""
        words = text.split(" ")
        for number, word in enumerate(words):
            self._event(styled(word if number == len(words) - 1 else word + " ", style))
            self._at += len(word) * _TYPE_S

    def _event(self, text: str) -> None:
        self._events.append((round(self._at, 2), text.replace("\n", "\r\n")))

    def write(self, path: str) -> None:
        header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": self._title}
        lines = [json.dumps(header, ensure_ascii=False)]
        lines += [json.dumps([at, "o", text], ensure_ascii=False) for at, text in self._events]
        write_whole(path, ("\n".join(lines) + "\n").encode(), 0o644)


def styled(text: str, style: str) -> str:
    """Each line for itself, so that a terminal colours nothing beyond it."""
    if not style:
        return text
    return "\n".join(f"\x1b[{style}m{line}\x1b[0m" if line else "" for line in text.split("\n"))
