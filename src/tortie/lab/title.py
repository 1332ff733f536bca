"""What `ps` shows of a process that became another program without exec.

The kernel shows the memory where the arguments of the last exec lie. There is as much room as those arguments took,
so whoever wants to rename forked children starts their parent with some padding.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Final

from tortie.host.processes import stat_of

PADDING: Final = " " * 400

_PR_SET_NAME: Final = 15

_prctl: Final = ctypes.CDLL(None).prctl


def show_as(argv: Sequence[str]) -> None:
    """From now on `ps` shows these arguments, cut where there is no room. Where it cannot be done, nothing is lost."""
    _prctl(_PR_SET_NAME, os.path.basename(argv[0]).encode(errors="surrogateescape")[:15], 0, 0, 0)
    stat = stat_of("self")
    start, end = stat.arguments if stat else (0, 0)
    room = end - start
    if start and room > 1:
        text = b"\0".join(word.encode(errors="surrogateescape") for word in argv)[: room - 1]
        ctypes.memmove(start, text + b"\0" * (room - len(text)), room)
