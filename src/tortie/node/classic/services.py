"""Which services of the container are there, for the probes: the folder that runit would look into.

Before the start is over there is none of them, and a probe that asks for one is told so. A new container begins
without any.
"""

from __future__ import annotations

import os
import shutil
from typing import Final

from tortie.node.paths import Paths

FOLDER: Final = "/etc/service/enabled"


def forget_services(paths: Paths) -> None:
    shutil.rmtree(paths.below(FOLDER), ignore_errors=True)


def enable_services(paths: Paths, names: tuple[str, ...]) -> None:
    for name in names:
        os.makedirs(os.path.join(paths.below(FOLDER), name), exist_ok=True)


def services(backend: str, *, felix: bool) -> tuple[str, ...]:
    """As rc.local has them."""
    routing = ("bird", "bird6", "confd") if backend == "bird" else ()
    return (*(("felix",) if felix else ()), *routing)
