"""Completion: the scripts are sound, a real bash completes with them, and the protocol behind them answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Tortie, node, resource


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    shell = Tortie(tmp_path)
    policy = resource("NetworkPolicy", "web", {"selector": "all()"}, namespace="shop")
    file = shell.file("in.yaml", node("node-a"), node("node-b", "10.0.0.2/24"), policy)
    assert shell("apply", "-f", file).code == 0
    return shell


def suggestions(tortie: Tortie, *words: str) -> list[str]:
    ran = tortie("__complete", *words)
    assert (ran.code, ran.stderr) == (0, "")
    return ran.stdout.split()


def test_commands_kinds_names_and_flags_are_suggested(tortie: Tortie) -> None:
    assert {"get", "apply", "datastore"} <= set(suggestions(tortie, ""))
    assert suggestions(tortie, "da") == ["datastore"]
    assert suggestions(tortie, "datastore", "") == ["export", "import", "lock", "unlock", "migrate"]
    assert suggestions(tortie, "get", "ipp") == ["ippools"]
    assert suggestions(tortie, "get", "IPP") == ["ippools"]
    assert len(suggestions(tortie, "get", "")) == 23
    assert suggestions(tortie, "get", "node", "") == ["node-a", "node-b"]
    assert suggestions(tortie, "get", "node", "node-a", "") == ["node-b"]
    assert suggestions(tortie, "label", "node", "node-") == ["node-a", "node-b"]
    assert suggestions(tortie, "get", "policy", "") == []
    assert suggestions(tortie, "get", "policy", "-n", "shop", "") == ["web"]
    assert suggestions(tortie, "get", "--namespace=shop", "policy", "w") == ["web"]
    assert suggestions(tortie, "get", "nodes", "-o", "j") == ["json", "jsonpath"]
    assert suggestions(tortie, "get", "--all") == ["--all-namespaces", "--allow-version-mismatch"]
    assert suggestions(tortie, "patch", "node", "node-a", "-t", "") == ["strategic", "merge", "json"]
    assert suggestions(tortie, "completion", "") == ["bash", "zsh", "fish"]


def test_whatever_is_wrong_is_met_with_silence(tortie: Tortie) -> None:
    for words in (["nonsense", ""], ["get", "nonsense", ""], ["get", "node", "-c", "gone", ""], ["version", ""]):
        assert suggestions(tortie, *words) == []
    nowhere = Tortie(tortie.folder, TORTIE_STORE="/proc/none/store.db")
    assert suggestions(nowhere, "get", "node", "") == []


def test_the_flags_typed_before_say_which_datastore_is_asked(tortie: Tortie) -> None:
    other = Tortie(tortie.folder, TORTIE_STORE=str(tortie.folder / "other.db"))
    assert suggestions(other, "get", "--store", str(tortie.store), "node", "") == ["node-a", "node-b"]
    assert suggestions(other, "get", "node", "") == []
    assert not (tortie.folder / "other.db").exists()  # a tab key creates nothing


def test_the_bash_script_is_sound(tortie: Tortie) -> None:
    assert tortie.shell("bash -n <(tortie completion bash)") == (0, "", "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tortie g", ["get"]),
        ("tortie get ipp", ["ippools"]),
        ("tortie get node ", ["node-a", "node-b"]),
        ("tortie get policy -n shop ", ["web"]),
        ("tortie get nodes -o cust", ["custom-columns"]),
        ("tortie config ", ["show"]),
    ],
)
def test_a_real_bash_completes(tortie: Tortie, line: str, expected: list[str]) -> None:
    words = line.split(" ")
    ran = tortie.shell(f"""
        source <(tortie completion bash)
        COMP_WORDS=({" ".join(word or "''" for word in words)})
        COMP_CWORD={len(words) - 1}
        function=$(complete -p tortie | sed -E 's/.* -F (\\S+) .*/\\1/')
        $function
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """)
    assert (ran.code, ran.stdout.split(), ran.stderr) == (0, expected, "")


def test_the_other_shells_get_scripts_that_ask_the_same_question(tortie: Tortie) -> None:
    zsh, fish = tortie("completion", "zsh").stdout, tortie("completion", "fish").stdout
    assert zsh.startswith("#compdef tortie\n")
    assert "tortie __complete" in zsh
    assert "compdef _tortie tortie" in zsh
    assert "tortie __complete" in fish
    assert "complete -c tortie" in fish
