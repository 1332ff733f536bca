"""Readiness gates of a network: pages that have to answer before a pod may be added."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from tortie.cni.errors import LATER, CniError

_PATIENCE_S: Final = 30.0
_ANSWER_S: Final = 5.0
_PAUSE_S: Final = 0.5


async def pass_gates(pages: Sequence[str]) -> None:
    """Returns once each has answered with a status of 200 to 399."""
    until = time.monotonic() + _PATIENCE_S
    for page in pages:
        while why := await asyncio.to_thread(_why_closed, page):
            if time.monotonic() >= until:
                what = f"the readiness gate {page} did not open within {_PATIENCE_S:.0f} s"
                raise CniError(LATER, what, why, "wait for what it stands for, or correct `readiness_gates`")
            await asyncio.sleep(_PAUSE_S)


def _why_closed(page: str) -> str:
    from urllib.error import HTTPError
    from urllib.request import urlopen

    try:
        with urlopen(page, timeout=_ANSWER_S) as answer:
            return "" if answer.status < 400 else f"it answered with {answer.status}"
    except HTTPError as error:
        return f"it answered with {error.code}"
    except (OSError, ValueError) as error:
        return str(error)
