"""How little a command loads. An event loop alone would cost more time than the rest of `tortie get nodes`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Tortie, node

HEAVY = {
    "asyncio",
    "msgspec",
    "yaml",
    "inspect",
    "dataclasses",
    "ssl",
    "grpclib",
    "google.protobuf",
    "uuid",
    "tempfile",
}


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    shell = Tortie(tmp_path)
    assert shell("apply", "-f", shell.file("n.yaml", node("n1"), node("n2", "10.0.0.2/24"))).code == 0
    return shell


def loaded_by(tortie: Tortie, *words: str) -> set[str]:
    script = "import json, sys\nfrom tortie.cli.main import main\ncode = main(sys.argv[1:])\n"
    script += "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\nsys.exit(code)"
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, env=tortie.environment, timeout=60, check=True)
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "words",
    [
        ["get", "nodes"],
        ["get", "nodes", "-o", "wide"],
        ["get", "node", "n1", "-o", "json"],
        ["get", "nodes", "-o", "name"],
        ["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"],
        ["get", "nodes", "-o", "go-template={{range .}}{{range .Items}}{{.Name}}{{end}}{{end}}"],
        ["config", "show"],
        ["version", "--client"],
        ["__complete", "get", "node", ""],
        ["--help"],
        ["get", "--help"],
    ],
    ids=" ".join,
)
def test_commands_that_only_read_the_embedded_store_load_nothing_heavy(tortie: Tortie, words: list[str]) -> None:
    assert loaded_by(tortie, *words) & HEAVY == set()


def test_help_loads_no_command(tortie: Tortie) -> None:
    loaded = loaded_by(tortie, "--help")
    assert not [name for name in loaded if name.startswith(("tortie.cli.commands.", "tortie.store"))]
    assert "sqlite3" not in loaded
