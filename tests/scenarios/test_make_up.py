"""What the README promises of its first command, and what it shows of the others, run as it stands there."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_make_up_brings_a_cluster_up_and_an_incident_is_named(tmp_path: Path) -> None:
    """What a person sees, and what is left behind: the cluster, until it is taken down."""
    environment = {**os.environ, "TORTIE_LAB_DIR": str(tmp_path), "ETCD_CA_CERT_FILE": "/nowhere", "TMPDIR": "/nowhere"}
    try:
        run = _run(["bash", str(ROOT / "scripts" / "up")], environment)
        assert run.returncode == 0, run.stdout + run.stderr
        assert "✓ mesh 3/3 established" in run.stdout
        assert "| 10.77.0.1    | node-to-node mesh | up    |" in run.stdout
        assert "IPv4: all 3 sessions between 3 nodes are up." in run.stdout
        assert "BIRD is not ready: BGP not established with 172.18.0.1 (fault: a peer" in run.stderr
        assert "node-1 (172.18.0.1) is the odd one" in run.stdout
        assert "TRT1001 autodetect-wrong-interface" in run.stdout
        assert "172.18.0.1 on br-3a10a9384428" in run.stdout
        assert "✓ changed node-1" in run.stdout
        assert "did you mean CrossSubnet?" in run.stderr
        assert "✓ web-3 on node-3 10.244.0.1" in run.stdout
        assert "✓ 6/6 pairs reach each other" in run.stdout.rpartition("$ tortie lab ping")[2]
        assert [path.name for path in tmp_path.iterdir()] == ["lab"]
    finally:
        down = _run([str(ROOT / ".venv" / "bin" / "tortie"), "lab", "down"], environment)
    assert down.returncode == 0, down.stdout + down.stderr
    assert "nothing remains" in down.stdout
    assert not list(tmp_path.iterdir())
    assert not _processes_that_mention(str(tmp_path))


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)


def _without_padding(text: str) -> list[str]:
    """A table ends its lines with blanks, as calicoctl's do; a page has none there."""
    return [line.rstrip() for line in text.strip().splitlines()]


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
            assert _without_padding(run.stdout) == _without_padding(expected)


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
