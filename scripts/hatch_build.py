"""A hook of the build: compiles the CNI plugin's program where there is a compiler.

The program goes into the package as `tortie/cni/shim-<machine>`. It is linked statically, so it runs on any Linux of
that machine; a package built without it has the plugin in Python alone, which does the same more slowly.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = (
    *("-std=c11", "-O2", "-Wall", "-Wextra", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"),
    *("-static", "-s", "-ffunction-sections", "-Wl,--gc-sections", "-Wl,--build-id=none"),
)
_COMPILING_S = 120


def compile_shim(sources: Sequence[Path], folder: Path) -> str:
    """Why there is no program in the folder; empty if there is. Whoever reads it meanwhile sees the old or the new."""
    program = folder / f"shim-{os.uname().machine}"
    beside = folder / f".{program.name}.{os.getpid()}"
    why = _compiled(sources, beside)
    if why:
        beside.unlink(missing_ok=True)
        program.unlink(missing_ok=True)  # of an older source
        return why
    beside.chmod(0o644)
    beside.replace(program)
    return ""


def _compiled(sources: Sequence[Path], program: Path) -> str:
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", ""), "cc", "gcc", "clang"))), None)
    if compiler is None:
        return "there is no C compiler (Debian: gcc and libc6-dev)"
    try:
        command = [compiler, *_FLAGS, *map(str, sources), "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILING_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{compiler} failed: {error}"
    return f"{compiler} failed: {done.stderr.strip()[-500:]}" if done.returncode else ""


class ShimHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        folder = Path(self.root) / "src/tortie/cni"
        if why := compile_shim([folder / "shim.c", folder / "loopback.c"], folder):
            sys.stderr.write(f"note: the CNI plugin is not compiled and stays in Python: {why}\n")
