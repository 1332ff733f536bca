"""Commands as an ordinary user runs them, started by tests that are root."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

NOBODY = 65534


def as_nobody(scratch: Path) -> tuple[str, ...]:
    """Words to put in front of a command. `scratch` is a folder of ours that the user can reach.

    The interpreter may lie in root's home, where nobody else may look. So the command gets mounts of its own, in which
    the way there is open and shows nothing else.
    """
    mine = scratch / "interpreter"
    mine.mkdir(parents=True, exist_ok=True)
    steps = ["set -e"]
    base = Path(sys.base_prefix)
    closed = [folder for folder in base.parents if not folder.stat().st_mode & 0o001]
    if closed:
        top, saved, target = shlex.quote(str(closed[-1])), shlex.quote(str(mine)), shlex.quote(str(base))
        steps += [f"mount --bind {target} {saved}", f"mount -t tmpfs -o mode=755 none {top}"]
        steps += [f"mkdir -p {target}", f"mount --move {saved} {target}"]
    steps.append(f'exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups "$@"')
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c", "; ".join(steps), "sh")


def folder_of_nobody(scratch: Path) -> Path:
    folder = scratch / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder
