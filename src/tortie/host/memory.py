"""Memory that was needed once, given back to the machine."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Final

_OFTEN: Final = 10_000


def expect_a_long_life() -> None:
    """A command may leave its garbage to the end of the process. Who runs for months must not: every question that a
    datastore does not answer leaves some behind.
    """
    gc.set_threshold(_OFTEN, 10, 10)


def give_back() -> None:
    """After a large answer from the datastore: the C library keeps what was freed, for a next time that never comes.

    Only glibc has to be told; elsewhere nothing happens.
    """
    gc.collect()
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
