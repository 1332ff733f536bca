"""`tortie lab helper`: what faults run in a machine of a lab. Nobody types it; the keeper starts it there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Final

from tortie.lab.failures import LabFailure
from tortie.lab.faults import helping

_MS: Final = 1000.0


def helper(*, words: tuple[str, ...]) -> int:
    """Until it is ended."""
    name, *rest = words or ("",)
    work = _WORK.get(name)
    if work is None or not os.environ.get("TORTIE_ROOT"):  # outside of a lab it would do this to the machine
        raise LabFailure("bad-helper", words=" ".join(words), known=", ".join(_WORK))
    helping.listen_for_end()
    try:
        return helping.until_ended(lambda: work(*rest))
    except (TypeError, ValueError):
        raise LabFailure("bad-helper", words=" ".join(words), known=", ".join(_WORK)) from None


def _pause_again(program: str, stop_ms: str, run_ms: str, *more: str) -> None:
    helping.pause_again(program, float(stop_ms) / _MS, float(run_ms) / _MS, leader="leader" in more)


def _proxy(listen: str, target: str, delay_ms: str) -> None:
    import asyncio

    from tortie.lab.faults.far_away import serve

    for number in (signal.SIGTERM, signal.SIGINT):  # nothing is to be put in order
        signal.signal(number, signal.SIG_DFL)
    asyncio.run(serve(listen, target, float(delay_ms) / _MS))


def _retry_pod(pod: str, seconds: str) -> None:
    from tortie.lab.faults.retrying import retry_pod

    retry_pod(pod, os.environ["TORTIE_ROOT"], float(seconds))


def _hold_init(container: str) -> None:
    from tortie.lab.faults.holding import hold_init

    hold_init(container, os.environ["TORTIE_ROOT"])


_WORK: Final[dict[str, Callable[..., None]]] = {
    "hog": lambda count="1": helping.hog(int(count)),
    "listen": lambda port, address="::", name="node_exporter": helping.listen(int(port), address, name),
    "kill-again": lambda program, seconds="0.02": helping.kill_again(program, float(seconds)),
    "edit-again": helping.edit_again,
    "stop-again": helping.stop_again,
    "pause-again": _pause_again,
    "proxy": _proxy,
    "sysctl-again": helping.sysctl_again,
    "say": lambda path, seconds, *lines: helping.say(path, float(seconds), lines),
    "hold-init": _hold_init,
    "retry-pod": _retry_pod,
}
