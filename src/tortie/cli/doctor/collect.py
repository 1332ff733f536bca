"""`tortie doctor collect`: prints the script that collects evidence where Tortie is not installed."""

from __future__ import annotations

import sys
from importlib import resources


def collect() -> int:
    sys.stdout.write(resources.files("tortie.doctor").joinpath("collect.sh").read_text(encoding="utf-8"))
    return 0
