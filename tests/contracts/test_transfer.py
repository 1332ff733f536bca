"""`tortie datastore export` and `import`: everything, from any store into any store, to the byte."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines
from tests.support.etcd_server import running_etcd

from tortie.store.contract import Operation, Put

OBJECTS = Path(__file__).parent.parent / "golden" / "cli" / "objects.yaml"
ODD = {
    "/calico/ipam/v2/assignment/ipv4/block/10.244.0.0-26": b'{"cidr":"10.244.0.0/26","allocations":[0,null],"d":1.50}',
    "/calico/ipam/v2/host/node-a/ipv4/block/10.244.0.0-26": b"",  # what old Calico stores there
    "/calico/ipam/v2/handle/k8s-pod-network.0123": b'{"handleID": "k8s-pod-network.0123"}\n',
    "/calico/felix/v2/no-region/host/node-a/status": b"\x00\xff\xfe binary",
    "/calico/felix/v1/text": "not JSON: Grüße".encode(),
    "/calico/v1/utf16": '{"a":1}'.encode("utf-16"),
    "/calico/ready": b"true",
    "/calico/z 猫": b'"\\u00e9"',
}
# 31 resources; what IPAM itself reads is written with the IPAMConfiguration among them.
COUNT = 31 + 1 + len(ODD)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with running_etcd() as etcd:
        yield etcd.endpoint


@pytest.fixture
def etcd(tmp_path: Path, endpoint: str) -> Iterator[Tortie]:
    shell = Tortie(tmp_path, ETCD_ENDPOINTS=endpoint)
    yield shell
    shell.clear()


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    """A store with a small cluster and with values that nobody would expect."""
    shell = Tortie(tmp_path)
    for key, value in ODD.items():
        shell.put(key, value)
    assert shell("apply", "-f", str(OBJECTS)).code == 0
    return shell


def empty(tortie: Tortie, name: str = "copy.db") -> Tortie:
    return Tortie(tortie.folder, TORTIE_STORE=str(tortie.folder / name))


def test_embedded_to_etcd_to_embedded_is_the_same_file(tortie: Tortie, etcd: Tortie) -> None:
    first, second, third = (str(tortie.folder / name) for name in ("1.jsonl", "2.jsonl", "3.jsonl"))
    count = COUNT
    assert tortie("datastore", "export", first) == (0, "", f"exported {count} entries\n")
    ran = etcd("datastore", "import", first)
    assert ran == (0, f"Successfully imported {count} entries, 0 were there already\n", "")
    assert etcd.entries() == tortie.entries()
    assert etcd("datastore", "export", second).code == 0
    copy = empty(tortie)
    assert copy("datastore", "import", second).code == 0
    assert copy("datastore", "export", third).code == 0
    assert Path(first).read_bytes() == Path(second).read_bytes() == Path(third).read_bytes()
    assert copy("get", "ippools", "-o", "wide").stdout == tortie("get", "ippools", "-o", "wide").stdout


def test_from_process_to_process_through_a_pipe(tortie: Tortie) -> None:
    ran = tortie.shell("tortie datastore export | tortie datastore import - --store copy.db -o json")
    assert ran.code == 0
    assert ran.json == {"written": COUNT, "unchanged": 0}
    assert empty(tortie).entries() == tortie.entries()


def test_an_import_again_changes_nothing(tortie: Tortie) -> None:
    file = str(tortie.folder / "all.jsonl")
    tortie("datastore", "export", file)
    copy = empty(tortie)
    copy("datastore", "import", file)
    revision = copy("get", "nodes", "-o", "jsonpath={.metadata.resourceVersion}").stdout
    ran = copy("datastore", "import", file)
    assert ran.stdout == f"Successfully imported 0 entries, {COUNT} were there already\n"
    assert copy("get", "nodes", "-o", "jsonpath={.metadata.resourceVersion}").stdout == revision


def test_other_values_stay_until_overwrite(tortie: Tortie) -> None:
    file = str(tortie.folder / "all.jsonl")
    tortie("datastore", "export", file)
    tortie.put("/calico/ready", b"false")
    before = tortie.entries()
    ran = tortie("datastore", "import", file)
    assert_three_lines(ran, 1)
    assert "already holds 1 of these entries with other values" in ran.stderr
    assert "/calico/ready" in ran.stderr
    assert tortie.entries() == before
    assert tortie("datastore", "import", file, "--overwrite").stdout.startswith("Successfully imported 1 entries")
    assert tortie.entries() == before | {"/calico/ready": b"true"}


def test_cut_edited_and_foreign_files_leave_the_store_as_it_is(tortie: Tortie) -> None:
    text = tortie.run("datastore", "export").stdout
    copy = empty(tortie)
    for name, content in (
        ("cut in a line", text[: len(text) // 2]),
        ("cut behind a line", "".join(text.splitlines(keepends=True)[:-1])),
        ("edited", text.replace("10.244.0.0/16", "10.245.0.0/16")),
        ("a line less", "".join(line for line in text.splitlines(keepends=True) if "ready" not in line)),
        ("twice", text + text),
        ("empty", ""),
        ("resources", OBJECTS.read_text()),
        ("calicoctl's own export", "apiVersion: v1\nitems: []\nkind: List\n===\n{}\n===\n{}\n"),
    ):
        ran = copy("datastore", "import", tortie.file(name, content))
        assert_three_lines(ran, 2)
        assert f"{tortie.folder / name}, line " in ran.stderr
        assert copy.entries("") == {}
    assert_three_lines(copy("datastore", "import", "-", stdin=b"\x00\xff"), 2)
    assert_three_lines(copy("datastore", "import", str(tortie.folder / "nowhere")), 2)
    assert_three_lines(copy("datastore", "import", str(tortie.folder)), 2)


def test_what_lies_outside_of_calico_stays_out(tortie: Tortie) -> None:
    tortie.put("/registry/secret", b"not ours")
    assert "not ours" not in tortie("datastore", "export").stdout


def test_an_export_that_cannot_be_written_leaves_nothing(tortie: Tortie) -> None:
    for target in (str(tortie.folder), str(tortie.folder / "gone" / "all.jsonl")):
        assert_three_lines(tortie("datastore", "export", target), 1)
    assert not list(tortie.folder.rglob("*.part"))


def test_an_export_takes_the_place_of_the_file_but_not_of_a_link_or_a_device(tortie: Tortie) -> None:
    text = tortie.run("datastore", "export").stdout
    file, link = tortie.folder / "all.jsonl", tortie.folder / "link.jsonl"
    file.write_text("old")
    link.symlink_to(file)
    null = tortie.folder / "null"
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for target in (link, null, Path("/dev/stdout")):
        assert tortie.run("datastore", "export", str(target)).code == 0
    assert link.is_symlink()
    assert file.read_text() == text
    assert null.is_char_device()
    assert tortie.shell("tortie datastore export /dev/stdout | cat").stdout == text


def test_an_interrupted_export_leaves_the_old_file_and_no_other(tortie: Tortie) -> None:
    """The reader of the pipe sees the first bytes, so the command is in the midst of its output."""

    async def grow(store: object) -> None:
        operations: list[Operation] = [Put(f"/calico/big/{number}", b"x" * 100_000) for number in range(10)]
        await store.commit(operations)  # type: ignore[attr-defined]

    tortie.with_store(grow)
    pipe = tortie.folder / "pipe"
    os.mkfifo(pipe)
    process = tortie.start("datastore", "export", str(pipe), stderr=subprocess.PIPE)
    with open(pipe, "rb") as reader:
        assert reader.read(10)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"interrupted\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert not list(tortie.folder.glob("*.part"))


def test_a_killed_import_is_completed_by_the_next(tortie: Tortie) -> None:
    """Killed once some entries stand and others do not; the same command then brings the rest."""
    lines = 3000
    source = empty(tortie, "source.db")

    async def fill(store: object) -> None:
        for start in range(0, lines, 100):
            operations: list[Operation] = [Put(f"/calico/n/{n:05}", b"{}" * 50) for n in range(start, start + 100)]
            await store.commit(operations)  # type: ignore[attr-defined]

    source.with_store(fill)
    file = str(tortie.folder / "many.jsonl")
    source("datastore", "export", file)
    copy = empty(tortie)
    copy.entries()  # the store exists
    process = copy.start("datastore", "import", file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not copy.entries():
        pass
    process.kill()
    process.wait(timeout=30)
    there = len(copy.entries())
    assert there % 100 == 0  # commits are whole
    ran = copy("datastore", "import", file, "-o", "json")
    assert ran.json == {"written": lines - there, "unchanged": there}
    assert copy.entries() == source.entries()


def test_progress_is_shown_on_a_terminal_and_gone_at_the_end(tortie: Tortie) -> None:
    tortie("datastore", "export", str(tortie.folder / "all.jsonl"))
    ran = tortie.shell("script -qec 'tortie datastore import all.jsonl --store copy.db' /dev/null")
    assert ran.code == 0
    count = COUNT
    assert f"importing [{'#' * 30}] {count}/{count}" in ran.stdout
    assert ran.stdout.splitlines()[-1].rpartition("\r")[2].startswith(f"Successfully imported {count} entries")
