"""What only somebody at a terminal sees: that something takes long, and how far it is."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

from tortie.cli.session import finish
from tortie.store.contract import Put
from tortie.store.embedded import EmbeddedStore, inline

TORTIE = Path(sys.executable).parent / "tortie"
DEADLINE_S = 30.0


def at_a_terminal(
    *words: str, until: str, interrupt: bool = False, environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Runs the command with a terminal as standard error; returns its exit code and what was seen there."""
    watching, terminal = pty.openpty()
    process = subprocess.Popen(
        [str(TORTIE), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={"PATH": os.environ["PATH"], "TORTIE_CONFIG": "", **(environment or {})},
    )
    os.close(terminal)
    seen = b""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        try:
            seen += os.read(watching, 65536)
        except OSError:  # the other end is closed
            break
        if interrupt and until.encode() in seen:
            process.send_signal(signal.SIGINT)
            interrupt = False
    os.close(watching)
    return process.wait(DEADLINE_S), seen.decode()


def test_somebody_who_waits_is_told_for_what_without_secrets() -> None:
    environment = {"ETCD_ENDPOINTS": "http://ann:secret@127.0.0.1:1"}
    code, seen = at_a_terminal("get", "nodes", until="waiting for", interrupt=True, environment=environment)
    assert "waiting for etcd http://127.0.0.1:1 ..." in seen
    assert "secret" not in seen
    assert (code, seen.endswith("interrupted\r\n")) == (130, True)


def test_import_and_export_show_how_far_they_are_and_clean_up(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "store.db", offload=inline)
    for start in range(0, 2000, 100):
        finish(store.commit([Put(f"/calico/test/{number:04}", b"{}") for number in range(start, start + 100)]))
    finish(store.close())
    export = str(tmp_path / "export.jsonl")
    code, seen = at_a_terminal("datastore", "export", export, "--store", str(tmp_path / "store.db"), until="")
    assert code == 0
    assert "exporting [" in seen
    assert seen.rstrip().endswith("exported 2,000 entries")
    code, seen = at_a_terminal("datastore", "import", export, "--store", str(tmp_path / "copy.db"), until="")
    assert code == 0
    assert "importing [" in seen
    assert "2,000/2,000" in seen
    assert seen.endswith("\r")  # the bar has been wiped
