"""When something is wrong: what, why and fix on standard error, the right exit code, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import Ran, Tortie, assert_three_lines, key_of, pool
from tests.support.etcd_server import free_port


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path)


def test_every_mistake_on_the_command_line_is_told_in_three_lines(tortie: Tortie) -> None:
    for words, what, fix in (
        (["gt", "nodes"], "unknown command 'gt'", "did you mean `tortie get`?"),
        (["config", "shw"], "unknown command 'shw'", "did you mean `tortie config show`?"),
        (["frobnicate"], "unknown command 'frobnicate'", "`tortie --help` lists them"),
        (["--frobnicate"], "unknown flag --frobnicate", "`tortie --help`"),
        (["get", "nodes", "--outputt", "json"], "unknown flag --outputt", "did you mean --output?"),
        (["get", "nodes", "-o"], "the flag -o is used wrongly", "`tortie get --help`"),
        (["get", "nodez"], "resource type 'nodez' is not supported", "did you mean Node?"),
        (["get", "ipool"], "resource type 'ipool' is not supported", "did you mean IPPool?"),
        (["get"], "neither a resource type nor a file was given", "tortie get nodes"),
        (["get", "nodes", "-o", "jsn"], "unrecognized output format 'jsn'", "did you mean json?"),
        (
            ["get", "nodes", "-o", "go-template={{.}"],
            "invalid go-template '{{.}', line 1, column 4",
            "close it with }}",
        ),
        (["get", "nodes", "-o", "go-template="], "need to specify a template", "{{range .}}"),
        (["get", "nodes", "-o", "go-template-file"], "need to specify a template file", "go-template-file=nodes.tmpl"),
        (["-l", "loud", "get", "nodes"], "Unknown log level: loud", "--log-level=debug"),
        (["get", "nodes", "--log-level=loud"], "Unknown log level: loud", "--log-level=debug"),
        (["--context", "k", "get", "nodes"], "--context k cannot be followed", "leave it out"),
        (["validate", "-f", "-", "--context", "k"], "--context k cannot be followed", "leave it out"),
        (["-c", "/x", "validate", "-f", "-"], "-c has no meaning here", "leave it out"),
        (["-l", "debug"], "no command was given", "`tortie --help`"),
        (["version", "--poll", "often"], "invalid poll duration specified: often", "30s"),
        (["version", "--poll", "1s", "-o", "yaml"], "--poll cannot be combined with -o yaml", "leave one"),
        (["apply", "-f", "-", "-o", "wide"], "unrecognized output format 'wide'", "go-template=TEMPLATE"),
        (["get", "nodes", "-o", "json=5"], "unrecognized output format 'json=5'", "use one of ps, wide"),
        (["get", "nodes", "-o", "custom-columns"], "unrecognized output format 'custom-columns'", "HEADING"),
        (["apply"], "no file was given", "tortie apply -f FILE"),
        (["apply", "a.yaml"], "unexpected word 'a.yaml'", "`tortie apply --help`"),
        (["label", "node"], "NAME is missing", "tortie label KIND NAME"),
        (["completion", "tcsh"], "no completion for the shell 'tcsh'", "bash, zsh, fish"),
        (["version", "-o", "wide"], "unrecognized output format 'wide'", "text, yaml or json"),
        (["datastore", "import"], "FILE is missing", "tortie datastore import FILE"),
    ):
        ran = tortie(*words)
        assert_three_lines(ran, 2)
        first, _, last = ran.stderr.splitlines()
        assert what in first, ran
        assert fix in last, ran


def test_a_failure_is_one_and_a_misuse_is_two(tortie: Tortie) -> None:
    assert_three_lines(tortie("get", "node", "gone"), 1)
    assert_three_lines(tortie("get", "gone", "gone"), 2)


def test_errors_are_json_for_those_who_asked_for_json(tortie: Tortie) -> None:
    file = tortie.file("bad.yaml", pool("a", "10.1.0.0/16", blockSize="x", natOutgoing="yes"))
    for words, code, name in (
        (["get", "node", "gone", "-o", "json"], 1, "not-found"),
        (["get", "nodez", "-ojson"], 2, "unknown-kind"),
        (["get", "nodes", "-o=json", "--wrong"], 2, "usage"),
        (["apply", "-f", file, "--output=json"], 2, "invalid"),
        (["apply", "-f", "gone.yaml", "--output", "json"], 2, "usage"),
    ):
        ran = tortie(*words)
        error = json.loads(ran.stderr)
        assert (ran.code, ran.stdout, error["exitCode"], error["code"]) == (code, "", code, name)
        assert error["kind"] == "Error"
        assert error["what"]
        assert error["why"]
    problems = json.loads(tortie("apply", "-f", file, "-o", "json").stderr)["problems"]
    assert [(problem["field"], problem["file"], problem["line"]) for problem in problems] == [
        ("spec.blockSize", file, 7),
        ("spec.natOutgoing", file, 8),
    ]


def test_each_missing_resource_is_a_line_of_json(tortie: Tortie) -> None:
    ran = tortie("get", "node", "one", "two", "-o", "json")
    assert ran.code == 1
    assert [json.loads(line)["code"] for line in ran.stderr.splitlines()] == ["not-found", "not-found"]


HEADER = "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: a\nspec:\n  cidr: 10.1.0.0/16\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (HEADER + "  blockSize: many\n", 7, "expected int, got str"),
        (HEADER + "  blocSize: 26\n", 7, "field in document is not recognized or is in the wrong location"),
        (HEADER + "  cidr: 10.2.0.0/16\n", 7, "the field cidr stands here twice"),
        (HEADER + "---\n" + HEADER.replace("10.1.0.0/16", "10.1.0.0/33"), 13, "spec.cidr"),
        (HEADER.replace("IPPool", "IPPol"), 2, "unknown resource type (IPPol) and/or version (projectcalico.org/v3)"),
        (HEADER.replace("IPPool", "[IPPool]"), 2, "unknown resource type"),
        (HEADER.replace("org/v3", "org/v1"), 1, "unknown resource type (IPPool) and/or version (projectcalico.org/v1)"),
        (HEADER.replace("name: a", "nam: a"), 3, "metadata.name"),
        (HEADER + "  ipipMode: [\n", 8, "did not find expected"),
        (HEADER + "\tx: 1\n", 7, "found a tab character that violates indentation"),
        (HEADER + f"  blockSize: {'9' * 5000}\n", 7, "5,000 digits"),
        ("items:\n- " + HEADER.replace("\n", "\n  ") + "  x: 1\n", 8, "spec.x"),
        (json.dumps(pool("a", "10.1.0.0/16", x=1), indent=2), 9, "spec.x"),
        ('{"kind": "IPPool",\n "kind": "Node"}', 0, "the field kind stands there twice"),
        ("just words\n", 1, "is not a resource"),
        ("? {a: b}\n: c\n", 1, "a field's name has to be plain text"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_line(tortie: Tortie, text: str, line: int, why: str) -> None:
    file = tortie.file("bad.yaml", text)
    for verb in ("apply", "validate"):
        ran = tortie(verb, "-f", file)
        assert (ran.code, ran.stdout) == (2, "")
        assert (f"{file}, line {line}: " if line else f"{file}: ") in ran.stderr
        assert why in ran.stderr


def _bomb(name_length: int) -> str:
    """Ten levels of aliases, ten to a level; with long names the paths alone would fill the memory."""
    name = "n" * name_length
    inner = ", ".join(f"{name}{number}: x" for number in range(10))
    levels = [f"l0: &l0 {{{inner}}}"]
    for level in range(1, 10):
        inner = ", ".join(f"{name}{number}: *l{level - 1}" for number in range(10))
        levels.append(f"l{level}: &l{level} {{{inner}}}")
    return "\n".join(levels)


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)) * 20,
        b"\x00\x01\x02",
        b"\xff\xfe" + "apiVersion: x".encode("utf-16-le"),
        b"[" * 100_000,
        b"{" * 100_000,
        b'{"a":' * 100_000,
        b"a: " + b"[" * 101 + b"]" * 101,
        b"- " * 100_000,
        b"? " * 100_000,
        b"\n".join(b" " * depth + b"a:" for depth in range(3000)),
        b"a: &a [*a]",
        _bomb(1).encode(),
        _bomb(10_000).encode(),
        b"a: *nowhere",
        b"%YAML 9.9\n---\na: b",
        b"!!python/object/apply:os.system [id]",
        b"'unclosed",
        b"a: b: c",
    ],
    ids=[
        "all bytes", "NUL", "UTF-16", "[[[", "{{{", "JSON {{{", "101 deep", "- - -", "? ? ?", "stairs", "endless alias",
        "alias bomb", "alias bomb with long names", "unknown alias", "YAML 9.9", "python tag", "quote", "two colons",
    ],
)  # fmt: skip
def test_junk_is_refused_without_a_traceback_or_much_memory(tortie: Tortie, content: bytes) -> None:
    file = tortie.file("junk.yaml", content)
    ran = tortie.shell(f"ulimit -v 2000000; exec tortie apply -f {file}")
    assert (ran.code, ran.stdout) == (2, ""), ran
    assert ran.stderr.startswith("Error: ")
    assert "internal error" not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_files_that_cannot_be_read(tortie: Tortie) -> None:
    ran = tortie("apply", "-f", "nowhere.yaml")
    assert_three_lines(ran, 2)
    assert "nowhere.yaml cannot be read" in ran.stderr
    locked = tortie.file("locked.yaml", pool("a", "10.1.0.0/16"))
    Path(locked).chmod(0)
    tortie.folder.chmod(0o755)
    ran = as_nobody(tortie, f"tortie validate -f {locked}")
    assert_three_lines(ran, 2)
    assert "Permission denied" in ran.stderr


def as_nobody(tortie: Tortie, script: str) -> Ran:
    """Root may read and write everything; most users may not. The temporary folder is opened to them first."""
    for folder in [tortie.folder, *tortie.folder.parents]:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o055)
    return tortie.shell(f"exec setpriv --reuid=65534 --regid=65534 --clear-groups -- {script}")


def test_a_store_that_is_a_folder_or_no_database_or_out_of_reach(tortie: Tortie) -> None:
    (tortie.folder / "folder").mkdir()
    wanted = tortie.file("a.yaml", pool("a", "10.1.0.0/16"))
    for store, reason in (
        (str(tortie.folder / "folder"), "it is a directory"),
        (tortie.file("text", "not a database, but long enough to look like one" * 50), "is not an SQLite database"),
        (tortie.file("text2", "x") + "/store.db", "Not a directory"),
        ("/proc/none/store.db", "No such file or directory"),
    ):
        ran = Tortie(tortie.folder, TORTIE_STORE=store).run("apply", "-f", wanted)
        assert_three_lines(ran, 1)
        assert reason in ran.stderr
        assert store in ran.stderr


def test_a_store_of_somebody_else(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    for script in ("tortie get ippools", "tortie label ippool a x=1"):
        ran = as_nobody(tortie, script)
        assert_three_lines(ran, 1)
        assert "no access to embedded store" in ran.stderr


def test_an_etcd_that_is_not_there(tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    ran = Tortie(tmp_path, ETCD_ENDPOINTS=endpoint)("get", "nodes", "-o", "json")
    error = json.loads(ran.stderr)
    assert (ran.code, ran.stdout, error["code"]) == (1, "", "unreachable")
    assert endpoint in error["what"]
    assert "within 10.0 s" in error["what"]
    assert "connection refused" in error["why"]
    assert error["fix"]


def test_a_damaged_value_hides_neither_the_others_nor_itself(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    tortie.put(key_of("ippools", "broken"), b"{not json")
    for form in ("ps", "name", "json"):
        ran = tortie("get", "ippools", "-o", form)
        assert ran.code == 4
        assert "a" in ran.stdout
        assert f"the value of {key_of('ippools', 'broken')} cannot be read" in ran.stderr
    assert_three_lines(tortie("get", "ippool", "broken"), 1)
    assert_three_lines(tortie("label", "ippool", "broken", "x=1"), 1)


@pytest.mark.parametrize("plural", ["bgpfilters", "globalnetworksets", "profiles", "hostendpoints", "bgppeers"])
@pytest.mark.parametrize("spec", ["5", '"text"', "null", "[]", '{"nets": 5, "exportV4": 5, "labelsToApply": [1]}'])
def test_an_odd_object_of_somebody_else_does_not_break_the_table(tortie: Tortie, plural: str, spec: str) -> None:
    tortie.put(key_of(plural, "odd"), f'{{"metadata": 5, "spec": {spec}}}'.encode())
    for form in ("ps", "wide", "json", "yaml", "name"):
        ran = tortie("get", plural, "-o", form)
        assert (ran.code, ran.stderr) == (0, "")
        assert "odd" in ran.stdout
