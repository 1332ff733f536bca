"""`tortie doctor --here`: this machine's own evidence, collected by the script that others run by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Final

from tortie.doctor.reading.cleaning import decode, lines_of
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted
from tortie.model.errors import TortieError

DEADLINE_S: Final = 180.0
NAME: Final = "this machine"


def collected(root: str | None, environment: dict[str, str]) -> Source:
    """What the script says. Inside a lab node its root and name come with the environment."""
    script = resources.files("tortie.doctor").joinpath("collect.sh").read_bytes()
    environment = dict(environment)
    root = root or environment.get("TORTIE_ROOT") or None
    if root:
        environment["TORTIE_ROOT"] = os.path.abspath(root)
    # The script calls `tortie` by name: this one, and no other that may be installed.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    node = _node_name(environment.get("TORTIE_ROOT", "/"))
    if node:
        environment["TORTIE_NODE"] = node
    if sys.stderr.isatty():
        sys.stderr.write("collecting from this machine …\n")
    try:
        run = subprocess.run(["bash", "-s"], input=script, env=environment, capture_output=True, timeout=DEADLINE_S)
    except FileNotFoundError:
        raise TortieError("evidence cannot be collected", "there is no bash on this machine", "install bash") from None
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    else:
        output = run.stdout
    if not output.strip():
        raise TortieError("nothing was collected", "the script printed nothing", "`tortie doctor collect | bash`")
    return Source(NAME, tuple(redacted(lines_of(decode(output)))), (), node)


def _node_name(root: str) -> str:
    try:
        return (Path(root) / "var/lib/calico/nodename").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
