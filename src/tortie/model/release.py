"""The release of Calico whose data model is written here: the one place that says so.

A cluster that Tortie makes carries it, and Calico's programs compare it with their own: with a release that never was,
calicoctl refuses every command.
"""

from __future__ import annotations

from typing import Final

DATA_MODEL: Final = "v3.32.1"
