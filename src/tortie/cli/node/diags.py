"""`tortie node diags`: everything that this machine says about its node, as one archive.

The gathering is the script that `tortie doctor collect` prints, with what is asked beyond it: one way to gather.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Final

from tortie.cli.bundle import Bundle
from tortie.host.child import found
from tortie.model.errors import TortieError
from tortie.node.name import choose_name

# Some eighty questions of at most ten seconds each; a machine where they all hang is told by the first few.
DEADLINE_S: Final = 600.0


def diags(*, log_dir: str, root: str) -> int:
    environment = _environment(log_dir, root)
    try:
        bash = found("bash", environment)
    except TortieError as error:
        raise TortieError("evidence cannot be collected", "there is no bash on this machine", "install bash") from error
    if os.geteuid():
        sys.stderr.write("note: not everything is told to others than root\n")
    with Bundle("diags") as bundle:
        sys.stderr.write(f"Collecting diagnostics\nUsing temp dir: {bundle.work}\n")
        _run([bash, "-s", str(bundle.folder)], environment)
        if not any(bundle.folder.rglob("*.txt")):
            raise TortieError("nothing was collected", "the script wrote nothing", "tortie doctor collect | bash")
        if not (bundle.folder / "meta.json").exists():
            bundle.say(by="tortie node diags", whole=False)
        archive = bundle.pack()
    sys.stdout.write(f"Diags saved to {archive}\n")
    sys.stderr.write(f"secrets are masked; `tortie doctor {archive}` reads it\n")
    return 0


def script() -> bytes:
    folder = resources.files("tortie.doctor")
    return b"\n".join(folder.joinpath(name).read_bytes() for name in ("collect.sh", "diags.sh"))


def _environment(log_dir: str, root: str) -> dict[str, str]:
    environment = dict(os.environ) | {"PROGRESS": "1", "COLLECTED_BY": "tortie node diags"}
    environment["LOG_DIR"] = os.path.abspath(log_dir)
    if root not in ("", "/"):
        environment["TORTIE_ROOT"] = os.path.abspath(root)
    # The script calls `tortie` by name: this one, and no other that may be installed.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    environment["TORTIE_NODE"] = _node_name(environment, root)
    return environment


def _node_name(environment: dict[str, str], root: str) -> str:
    """As the node itself would call itself; a name that is none is no folder either."""
    file = os.path.join(root or "/", "var/lib/calico/nodename")
    try:
        stored = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        stored = None
    choice = choose_name(environment, stored, os.uname().nodename, file)
    return os.uname().nodename.lower() if choice.problems or not choice.name else choice.name


def _run(words: list[str], environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    try:
        process.communicate(script(), timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"note: stopped after {DEADLINE_S:.0f} s; the bundle holds what was there by then\n")
    finally:
        if process.poll() is None:  # with all that it has started
            os.killpg(process.pid, 9)
            process.wait()
