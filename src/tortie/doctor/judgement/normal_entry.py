"""One thing that looks wrong and is not: by which lines it is seen, and what is about nothing but it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place

_NEVER: Final = lazily(r"(?!)")


class Normal:
    """An entry; it counts where one of its lines is shown, or an address that it names was pinged in vain."""

    def __init__(
        self,
        key: str,
        *,
        needles: tuple[str, ...] = (),  # one of these is on a line that shows it
        seen: re.Pattern[str] = _NEVER,  # a line that shows it
        about: re.Pattern[str] = _NEVER,  # a part of a complaint that is about it
        covers: re.Pattern[str] = _NEVER,  # a line or an event that is nothing but this
        pings: Callable[[Picture], set[str]] = lambda _: set(),  # addresses that do not answer to ping
        fails: Callable[[Picture], list[Place]] = lambda _: [],  # trials that fail because they should
        applies: Callable[[Picture], bool] = lambda _: True,
        measured: bool = False,  # what is asked is a number, and numbers that are shown answer it
    ) -> None:
        self.key, self.needles, self.seen, self.about = key, needles, seen, about
        self.covers, self.pings, self.fails, self.applies = covers, pings, fails, applies
        self.measured = measured
