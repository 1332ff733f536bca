"""What the README shows, run as it stands there: a cluster from YAML files, in one store and then in the other."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_make_up_moves_the_example_cluster_from_the_embedded_store_into_etcd_byte_by_byte(tmp_path: Path) -> None:
    """The script compares the two exports itself; here we look at what a person sees, and at what is left behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run = subprocess.run(
        ["bash", str(ROOT / "scripts" / "up"), str(tmp_path)],
        env={**os.environ, "TMPDIR": str(temporary), "ETCD_CA_CERT_FILE": "/nowhere", "ETCD_USERNAME": "somebody"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Successfully applied 10 resource(s)" in run.stdout
    assert "10.77.0.9/24 on eth0  (agreed)" in run.stdout, "the node keeps away from docker's bridge"
    assert "172.18.0.1/16 on br-3a10a9384428  (first-found)" in run.stdout, "which Calico would have taken"
    assert "Calico node started successfully" in run.stdout
    assert "live: yes, ready: yes" in run.stdout
    assert "ready after" in run.stdout
    assert "Successfully imported 17 entries, 0 were there already" in run.stdout
    assert "both stores hold the same bytes" in run.stdout
    assert "did you mean CrossSubnet?" in run.stderr
    assert (tmp_path / "cluster.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    assert list(temporary.iterdir()) == []
    assert not _processes_that_mention(str(tmp_path))
    assert "tortie-up" not in subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


def test_the_readme_shows_what_the_command_prints(tmp_path: Path) -> None:
    """Every command of the transcript that needs no server gives the lines that stand below it, in both languages."""
    environment = {"PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}", "TORTIE_STORE": str(tmp_path / "s.db")}
    environment["TORTIE_CONFIG"] = ""
    for readme in ("README.md", "README.zh.md"):
        shown = _transcript((ROOT / readme).read_text())
        for command in ("tortie apply -f examples/", "tortie get nodes -o wide", "sed s/CrossSubnet"):
            (line, expected), *_ = [entry for entry in shown if entry[0].startswith(command)]
            run = subprocess.run(
                ["bash", "-c", line],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
                check=False,
            )
            assert run.stdout.strip() == expected.strip()


def _transcript(text: str) -> list[tuple[str, str]]:
    """Commands behind `$ ` and what follows each, from the README's fenced blocks."""
    entries: list[tuple[str, str]] = []
    for block in text.split("```")[1::2]:
        for part in block.split("\n$ ")[1:]:
            line, _, output = part.partition("\n")
            entries.append((line.partition("  #")[0].strip(), output))
    return entries


def _processes_that_mention(text: str) -> list[str]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                if text in (process / "cmdline").read_text():
                    found.append(process.name)
    return found
