"""`tortie doctor` as it is typed: evidence by file, folder, archive and pipe, exit codes in every form, knowledge."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.support.cli import Tortie
from tests.support.doctor_secrets import HARMLESS, SECRETS

from tortie.doctor.causes.catalogue import all_causes

LOOSE = """\
$ kubectl logs -n kube-system calico-node-b9l5z --previous | tail -1
2021-01-21 10:08:55.349 [FATAL][498] int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow \
endpoints to spoof their IP address.
$ sysctl net.ipv4.conf.all.rp_filter
net.ipv4.conf.all.rp_filter = 2
"""
HEALTHY = """\
$ kubectl get pods -n kube-system
NAME                READY   STATUS    RESTARTS   AGE
calico-node-aaaaa   1/1     Running   0          9d
$ kubectl get nodes
NAME   STATUS   ROLES    AGE   VERSION
w1     Ready    <none>   9d    v1.27.4
"""
OPEN = """\
$ kubectl get pods -n kube-system
NAME                READY   STATUS             RESTARTS   AGE
calico-node-aaaaa   0/1     CrashLoopBackOff   9          9d
"""
CODES = {3: LOOSE, 0: HEALTHY, 5: OPEN}


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path)


@pytest.mark.parametrize("form", ["text", "json", "md", "html", "junit", "sarif"])
@pytest.mark.parametrize("code", CODES)
def test_the_exit_code_is_the_same_in_every_form(tortie: Tortie, code: int, form: str) -> None:
    ran = tortie("doctor", "-", "-o", form, stdin=CODES[code])
    assert (ran.code, ran.stderr) == (code, "")
    assert ran.stdout


@pytest.mark.parametrize("code", CODES)
def test_three_lines_have_the_exit_code_of_the_whole_answer(tortie: Tortie, code: int) -> None:
    ran = tortie("doctor", "-", "--brief", stdin=CODES[code])
    assert (ran.code, ran.stderr) == (code, "")
    assert len(ran.stdout.splitlines()) == 3


def test_a_page_is_dated_by_whoever_asks_for_it(tortie: Tortie) -> None:
    page = tortie("doctor", "-", "-o", "html", stdin=LOOSE).stdout
    assert re.search(r"Tortie \S+ · 20\d\d-\d\d-\d\d \d\d:\d\d \S+ · 1 input<", page)
    assert re.search(r"<th>standard input</th><td>lines: 4 · \d+ B</td>", page)


def test_a_file_a_folder_an_archive_and_a_pipe_say_the_same(tortie: Tortie, tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "a.txt").write_text(LOOSE)
    with tarfile.open(tmp_path / "diags.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "bundle", "bundle")
    answers = [
        tortie("doctor", str(tmp_path / "bundle" / "a.txt"), "-o", "json"),
        tortie("doctor", str(tmp_path / "bundle"), "-o", "json"),
        tortie("doctor", str(tmp_path / "diags.tar.gz"), "-o", "json"),
        tortie("doctor", "-", "-o", "json", stdin=LOOSE),
    ]
    assert [answer.code for answer in answers] == [3, 3, 3, 3]
    assert {answer.json["causes"][0]["cause"] for answer in answers} == {"rpf-loose"}
    assert [answer.json["evidence"][0]["source"] for answer in answers] == [
        "a.txt",
        "bundle/a.txt",
        "diags.tar.gz/bundle/a.txt",
        "standard input",
    ]


def test_what_is_piped_in_is_read_without_being_named(tortie: Tortie) -> None:
    assert tortie.run("doctor", stdin=LOOSE).code == 3


def test_chinese_by_flag_and_by_locale(tortie: Tortie) -> None:
    assert "已找到原因" in tortie("doctor", "-", "--lang", "zh", stdin=LOOSE).stdout
    assert "已找到原因" in tortie.run("doctor", "-", stdin=LOOSE, LANG="zh_CN.UTF-8").stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("doctor", "no-such-file"), "cannot be read"),
        (("doctor", "-", "-o", "pdf"), "unknown output format"),
        (("doctor", "explain", "TRT9999"), "there is no cause"),
        (("doctor", "explain"), "is missing"),
        (("doctor", "eval", "."), "no case below"),
        (("doctor", "causes", "no-such-word-anywhere"), "no cause has"),
        (("doctor", "-", "--lang", "fr"), "unknown language"),
        (("doctor", "-", "--root", "/"), "--root without --here"),
        (("doctor", "-", "--brief", "-o", "json"), "--brief with -o json"),
    ],
)
def test_what_cannot_be_meant_is_said_and_exits_with_2(tortie: Tortie, words: tuple[str, ...], what: str) -> None:
    ran = tortie.run(*words)
    assert ran.code == 2, ran
    assert what in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\x01\x02", b"\xff" * 100, "你好".encode("gb18030") * 50])
def test_nothing_useful_is_undetermined_never_a_failure(tortie: Tortie, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd").write_bytes(content)
    ran = tortie("doctor", str(tmp_path / "odd"), "-o", "json")
    assert (ran.code, ran.json["verdict"]) == (5, "undetermined")


def test_what_was_not_read_is_listed(tortie: Tortie, tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF\x00")
    ran = tortie("doctor", str(tmp_path / "core"))
    assert "core" in ran.stdout
    assert "not text" in ran.stdout


def test_causes_are_listed_searched_and_explained(tortie: Tortie) -> None:
    rows = tortie("doctor", "causes").stdout.splitlines()
    assert len([row for row in rows if row.startswith("TRT")]) == len(all_causes())
    assert all("bgp" in row.lower() or row for row in tortie("doctor", "causes", "bgp").stdout.splitlines())
    known = tortie("doctor", "causes", "-o", "json").json
    assert {cause["code"] for cause in known} == {row.split()[0] for row in rows if row.startswith("TRT")}
    by_code, by_id = (tortie("doctor", "explain", word).stdout for word in ("trt1001", "autodetect-wrong-interface"))
    assert by_code == by_id
    assert "网卡选错" in tortie("doctor", "explain", "TRT1001", "--lang", "zh").stdout


def test_the_script_that_collects_is_sound_and_changes_nothing(tortie: Tortie, tmp_path: Path) -> None:
    script = tortie("doctor", "collect").stdout
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0
    work = tmp_path / "work"
    work.mkdir()
    ran = subprocess.run(["bash", "-s"], input=script.encode(), capture_output=True, cwd=work, timeout=120, check=True)
    assert list(work.iterdir()) == []
    assert b"]# ip addr" in ran.stdout
    # What it prints is what the doctor reads: the load and the links of this machine.
    answer = tortie("doctor", "-", "-o", "json", stdin=ran.stdout).json
    understood = len(ran.stdout.splitlines()) - sum(
        entry["lines"][1] - entry["lines"][0] + 1 for entry in answer["not_understood"]
    )
    assert understood > 20


def test_the_script_writes_a_bundle_into_a_folder(tortie: Tortie, tmp_path: Path) -> None:
    script = tortie("doctor", "collect").stdout
    folder = tmp_path / "bundle"
    subprocess.run(["bash", "-s", str(folder)], input=script.encode(), check=True, timeout=120)
    meta = json.loads((folder / "meta.json").read_text())
    assert (folder / "nodes" / meta["host"] / "ip-addr.txt").exists()
    assert tortie("doctor", str(folder), "-o", "json").code in (0, 3, 4, 5)
    # A second run would mix two moments.
    before = {path: path.read_bytes() for path in folder.rglob("*.txt")}
    again = subprocess.run(["bash", "-s", str(folder)], input=script.encode(), capture_output=True, check=False)
    assert (again.returncode, again.stdout) == (2, b"")
    assert b"is not empty" in again.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*.txt")} == before


def _told_by_other_lines(text: str) -> bool:
    """What the script does not know: it reads one line after another, and never asks for a Secret.

    Only lines further down, or the command, say that the values of a Secret are some, or that a value belongs to the
    name of a password below it.
    """
    secret = ("Secret" in text or "data" in text) and "\n" in text
    return secret or re.match(r"[\s\"-]*value\b.*\n", text) is not None


def test_the_script_masks_what_the_doctor_masks(tortie: Tortie) -> None:
    function = re.search(r"^masked\(\) \{.*?^\}$", tortie("doctor", "collect").stdout, re.MULTILINE | re.DOTALL)
    assert function
    # A line that is neither, so that nothing goes on from one to the next.
    between = "\n= = =\n"
    secrets = [(text, secret) for text, secret in SECRETS if not _told_by_other_lines(text)]
    texts = [text for text, _ in secrets] + HARMLESS
    ran = subprocess.run(
        ["bash", "-c", f"export LC_ALL=C\n{function[0]}\nmasked"],
        input=between.join(texts).encode(),
        capture_output=True,
        check=True,
    )
    shown = ran.stdout.decode().removesuffix("\n").split(between)
    assert ran.stderr == b""
    assert [text for (_, secret), text in zip(secrets, shown, strict=False) if secret in text] == []
    assert [text for text in shown[: len(secrets)] if "(redacted)" not in text] == []
    assert shown[len(secrets) :] == HARMLESS


KUBECTL = """\
#!/bin/sh
case "$*" in
  *"get pods -A -o wide"*)
    echo "kube-system calico-kube-controllers-7c-x 1/1 Running 0 9d 10.244.0.2 n1 <none> <none>"
    echo "kube-system calico-node-aaaaa 1/1 Running 0 9d 10.0.0.1 n1 <none> <none>"
    echo "kube-system calico-node-bbbbb 1/1 Running 3 (2d ago) 9d 10.0.0.2 n2 <none> <none>"
    echo "kube-system calico-node-ccccc 0/1 Running 0 9d 10.0.0.3 n3 <none> <none>" ;;
  *"get ds -A"*) echo "kube-system calico-node 3 3 2 3 2 kubernetes.io/os=linux 9d" ;;
  *jsonpath*) echo "install-cni calico-node" ;;
  *"get ds calico-node -o yaml"*) printf -- '- name: API_TOKEN\\n  value: xyzzy\\n- name: IP\\n  value: detect\\n' ;;
  *) echo "answer" ;;
esac
"""


def test_the_script_looks_at_the_sick_pods_and_at_the_agent_of_its_own_node(tortie: Tortie, tmp_path: Path) -> None:
    script = tortie("doctor", "collect").stdout
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").write_text(KUBECTL)
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    folder = tmp_path / "bundle"
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TORTIE_NODE": "n2"}
    subprocess.run(["bash", "-s", str(folder)], input=script.encode(), env=environment, check=True, timeout=120)
    assert {path.stem for path in (folder / "cluster" / "describe").iterdir()} == {
        "calico-node-bbbbb",
        "calico-node-ccccc",
    }
    assert "-c install-cni" in (folder / "cluster" / "logs" / "calico-node-ccccc.txt").read_text()
    resources = (folder / "cluster" / "daemonsets.txt").read_text()
    assert "value: detect" in resources
    assert "xyzzy" not in resources
    assert "ipamblocks.crd.projectcalico.org --no-headers | wc -l" in (folder / "cluster" / "calico.txt").read_text()


def test_own_cases_are_scored(tortie: Tortie, tmp_path: Path) -> None:
    for name, text, cause in (("a", LOOSE, "rpf-loose"), ("b", HEALTHY, "healthy"), ("c", LOOSE, "oom-killed")):
        (tmp_path / "cases" / name).mkdir(parents=True)
        (tmp_path / "cases" / name / "evidence.txt").write_text(text)
        (tmp_path / "cases" / name / "expected.json").write_text(json.dumps({"cause": cause, "object": "rp_filter"}))
    ran = tortie("doctor", "eval", str(tmp_path / "cases"), "-o", "json")
    assert ran.code == 3
    assert {key: ran.json[key] for key in ("cases", "right", "wrong", "top1", "culprit")} == {
        "cases": 3,
        "right": 2,
        "wrong": 1,
        "top1": 0.667,
        "culprit": 1.0,
    }
    assert "due oom-killed" in tortie("doctor", "eval", str(tmp_path / "cases")).stdout


def test_a_broken_label_is_named(tortie: Tortie, tmp_path: Path) -> None:
    (tmp_path / "cases" / "a").mkdir(parents=True)
    (tmp_path / "cases" / "a" / "expected.json").write_text("[]")
    ran = tortie("doctor", "eval", str(tmp_path / "cases"))
    assert ran.code == 2
    assert "expected.json" in ran.stderr
