"""Help that fits a terminal, examples that run, and one summary for each command wherever it is shown."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

import pytest
from tests.support.cli import Tortie, node, pool

from tortie.cli.grammar import Command
from tortie.cli.main import ROOT, SUMMARIES, find_command
from tortie.model.release import DATA_MODEL

CASE = Path(__file__).parents[2] / "cases" / "rpf-loose-a"
MIGRATION = Path(__file__).parents[2] / "golden" / "cli" / "calico-migration.txt"


def commands() -> dict[str, Command]:
    """Every command by its path, families included: `datastore`, `datastore export`."""
    found: dict[str, Command] = {}
    waiting = [(name, find_command(name)) for name in SUMMARIES]
    while waiting:
        path, command = waiting.pop(0)
        found[path] = command
        waiting = [*((f"{path} {inner}", sub) for inner, sub in command.commands.items()), *waiting]
    return found


COMMANDS = commands()
LEAVES = {path: command for path, command in COMMANDS.items() if not command.commands}


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    """What the examples speak of."""
    shell = Tortie(tmp_path)
    pools = [pool("pool", "10.0.0.0/16"), pool("default-ipv4-ippool", "10.1.0.0/16"), pool("old-pool", "10.2.0.0/16")]
    shell.file("pools.yaml", *pools)
    machine = node("n1")
    machine["spec"]["bgp"]["asNumber"] = 65000
    machine["spec"]["orchRefs"] = [{"nodeName": "n1", "orchestrator": "k8s"}]
    shell.file("cluster/n1.yaml", machine)
    shell.file("manifests/n1.yaml", machine)
    assert shell("apply", "-f", str(tmp_path / "pools.yaml"), "-f", str(tmp_path / "cluster")).code == 0
    assert shell("datastore", "export", str(tmp_path / "cluster.jsonl")).code == 0
    shutil.copy(MIGRATION, tmp_path / "calico.yaml")
    shutil.copytree(CASE, tmp_path / "cases" / CASE.name)
    return shell


def test_the_list_of_commands_says_what_each_command_says_itself() -> None:
    assert {name: find_command(name).summary for name in SUMMARIES} == SUMMARIES
    modules = Path(find_command.__code__.co_filename).parent / "commands"
    assert {path.stem for path in modules.glob("[a-z]*.py")} == set(SUMMARIES)


@pytest.mark.parametrize("columns", ["80", "60", "40", "200"])
@pytest.mark.parametrize("path", ["", *COMMANDS])
def test_help_fits_the_terminal(tmp_path: Path, path: str, columns: str) -> None:
    ran = Tortie(tmp_path, COLUMNS=columns, TORTIE_STORE="/nowhere")(*path.split(), "--help")
    assert (ran.code, ran.stderr) == (0, "")
    # An example is shown as it is typed; everything else is wrapped, down to sixty columns.
    text, _, examples = ran.stdout.partition("\nExamples:\n")
    assert max(map(len, text.splitlines())) <= max(60, min(int(columns), 110))
    assert max(map(len, ["", *examples.splitlines()])) <= 80
    assert ran.stdout == ran.stdout.strip() + "\n"


@pytest.mark.parametrize("path", LEAVES)
def test_help_is_asked_for_with_either_flag_in_any_place(tmp_path: Path, path: str) -> None:
    tortie = Tortie(tmp_path)
    expected = tortie(*path.split(), "--help").stdout
    assert expected.startswith(f"Usage: tortie {path} [OPTIONS]")
    assert tortie(*path.split(), "-h").stdout == expected
    assert tortie(*path.split(), "word", "-h").stdout == expected
    for option in LEAVES[path].options:
        assert all((flag in expected) is not option.hidden for flag in option.flags if len(flag) > 2)


def test_a_family_alone_and_the_command_alone_show_their_help(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    assert tortie() == tortie("--help") == tortie("-h")
    assert tortie("datastore") == tortie("datastore", "--help")
    assert all(name in tortie().stdout for name in SUMMARIES)


def test_every_command_has_an_example() -> None:
    assert [path for path, command in LEAVES.items() if not command.examples.strip()] == []
    assert ROOT.examples.strip()


def example_lines() -> list[str]:
    texts = [command.examples for command in (ROOT, *LEAVES.values())]
    return [line for text in texts for line in textwrap.dedent(text).strip().splitlines()]


@pytest.mark.parametrize("line", example_lines())
def test_every_example_runs(tortie: Tortie, line: str) -> None:
    line = line.partition("  ")[0]  # what stands behind blanks is a remark
    never_ends = "node run" in line or "--poll" in line or "--kubeconfig" in line
    if ("--etcd-endpoints" in line and "config" not in line) or never_ends:
        line += " --help"  # nobody answers there, or it would never end; but the words are understood
    if "tortie lab" in line:  # labs have tests of their own; what follows is another program's
        line = re.split(r" -- | [|>&]+ ", line)[0] + " --help"
    line = line.partition(" | ssh ")[0]  # no cluster is needed for an example
    for folder in (".zfunc", ".config/fish/completions"):
        (tortie.folder / folder).mkdir(parents=True)
    ran = tortie.shell(f"export EDITOR=true TMPDIR=$PWD; tortie get node n1 -o yaml > n1.yaml; {line}")
    assert ran.code in _expected_codes(line), ran
    assert "unknown" not in ran.stderr


def _expected_codes(line: str) -> tuple[int, ...]:
    if "--help" in line:
        return (0,)
    if "checksystem -f" in line:
        return (0, 2, 3, 4)  # not every kernel shows its configuration
    if "tortie node check" in line or "tortie node explain" in line:
        return (0, 3, 4)  # what this machine is like is not the example's fault; nobody answers on 9099
    if "tortie node status" in line:
        return (0, 1, 3)  # no node runs here, and the store expects no session
    if "tortie controllers status" in line or "tortie controllers check" in line:
        return (0, 3)  # none run here
    if "tortie node timeline" in line:
        return (1,)  # no start has been recorded
    exists_already = line.startswith("tortie create")
    nothing_to_remove = "--remove" in line
    return (1,) if exists_already or nothing_to_remove else (0,)


def test_the_version_is_told_by_flag_and_by_command(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    assert tortie("-V") == tortie("--version")
    version = tortie("--version").stdout.split()[1]
    assert tortie("version", "--client").stdout == f"Client Version:    v{version}\nData Model:        {DATA_MODEL}\n"
    assert not tortie.store.exists()
