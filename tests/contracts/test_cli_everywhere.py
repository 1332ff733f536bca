"""Flags that every command has, before it or behind it; and the names by which the command may be called."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import COMMAND, Tortie, key_of, node, pool
from tests.support.etcd_server import running_etcd

from tortie.cli.main import SUMMARIES
from tortie.cli.other_release import other_release
from tortie.model.release import DATA_MODEL


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    shell = Tortie(tmp_path)
    assert shell("apply", "-f", shell.file("n.yaml", node("n1"))).code == 0
    return shell


@pytest.fixture(scope="module")
def on_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tortie]:
    with running_etcd() as etcd:
        shell = Tortie(tmp_path_factory.mktemp("etcd"), ETCD_ENDPOINTS=etcd.endpoint)
        assert shell("apply", "-f", shell.file("n.yaml", node("n1"))).code == 0
        yield shell


@pytest.mark.parametrize(
    "words",
    [
        ["-l", "debug", "get", "nodes"],
        ["-ldebug", "get", "nodes"],
        ["--log-level", "debug", "get", "nodes"],
        ["--log-level=debug", "get", "nodes"],
        ["get", "nodes", "-l", "debug"],
        ["get", "--log-level=debug", "nodes"],
        ["-l", "panic", "get", "nodes", "-l", "debug"],
    ],
    ids=" ".join,
)
def test_debug_tells_the_store_and_each_request_and_leaves_the_result_alone(tortie: Tortie, words: list[str]) -> None:
    ran = tortie(*words)
    assert (ran.code, ran.stdout) == (0, tortie("get", "nodes").stdout)
    lines = ran.stderr.splitlines()
    assert 'level=info msg="Log level set to debug"' in lines[0]
    assert f'msg="using the embedded store {tortie.store}"' in lines[1]
    assert 'because="because of environment variable TORTIE_STORE"' in lines[1]
    prefix = "/calico/resources/v3/projectcalico.org/nodes/"
    assert re.search(rf'level=debug msg="scan" prefix={prefix} ms=[\d.]+ entries=1 bytes=\d+ revision=\d+$', lines[2])
    assert 'msg="tortie get is done" exit=0' in lines[-1]


def test_debug_tells_the_same_of_etcd(on_etcd: Tortie) -> None:
    ran = on_etcd("-l", "debug", "apply", "-f", on_etcd.file("p.yaml", pool("p", "10.1.0.0/16")))
    assert ran.code == 0
    assert 'msg="using the etcd http://127.0.0.1:' in ran.stderr
    assert re.search(
        r'msg="commit" operations="put /calico/resources/.*/ippools/p" ms=[\d.]+ commits=1 failed=0', ran.stderr
    )
    assert "10.1.0.0" not in ran.stderr  # values are nobody's business


def test_a_request_that_fails_is_told_with_its_error(tortie: Tortie) -> None:
    tortie.store.write_bytes(b"this is no database, however long it is made to look" * 100)
    ran = tortie("-l", "debug", "get", "nodes")
    assert ran.code == 1
    assert re.search(r'level=debug msg="scan" .* error="', ran.stderr)
    assert ran.stderr.count("Error: ") == 1


@pytest.mark.parametrize("level", ["panic", "fatal", "error", "warn"])
def test_quieter_levels_add_nothing(tortie: Tortie, level: str) -> None:
    assert tortie("-l", level, "get", "nodes") == tortie("get", "nodes")


def test_info_tells_what_is_done_but_no_single_request(tortie: Tortie) -> None:
    ran = tortie("get", "nodes", "-l", "info")
    assert [line.partition("level=")[2].partition(" ")[0] for line in ran.stderr.splitlines()] == ["info"] * 3


@pytest.mark.parametrize("name", [*SUMMARIES])
def test_every_command_takes_them(tortie: Tortie, name: str) -> None:
    assert "Usage:" in tortie("-l", "debug", "--allow-version-mismatch", "--context=", name, "--help").stdout
    ran = tortie(name, "--help", "-l", "panic", "--allow-version-mismatch")
    assert "unknown flag" not in ran.stderr


def test_a_file_may_be_named_before_the_command(tortie: Tortie) -> None:
    other = tortie.folder / "other.db"
    text = (
        f"apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nspec: {{datastoreType: embedded, store: {other}}}\n"
    )
    (tortie.folder / "c.cfg").write_text(text)
    del tortie.variables["TORTIE_STORE"]
    ran = tortie("-c", str(tortie.folder / "c.cfg"), "config", "show", "-o", "json")
    assert {row["setting"]: row["value"] for row in ran.json["settings"]}["store"] == str(other)


def cluster(tortie: Tortie, version: str) -> None:
    spec = {"calicoVersion": version, "clusterType": "k8s", "datastoreReady": True}
    body = {"kind": "ClusterInformation", "metadata": {"name": "default"}, "spec": spec}
    tortie.put(key_of("clusterinformations", "default"), body)


def test_before_a_write_to_a_cluster_of_another_release_there_is_a_warning(tortie: Tortie) -> None:
    cluster(tortie, "v3.99.1")
    file = tortie.file("p.yaml", pool("p", "10.1.0.0/16"))
    for words in (
        ["apply", "-f", file],
        ["replace", "-f", file],
        ["patch", "ippool", "p", "-p", "{}"],
        ["label", "ippool", "p", "a=b"],
        ["delete", "ippool", "p"],
        ["create", "-f", file],
    ):
        ran = tortie(*words)
        assert ran.code == 0, ran
        assert ran.stderr.count("warning: the cluster runs Calico v3.99.1") == 1
        assert "--allow-version-mismatch leaves this warning out" in ran.stderr
    assert tortie("label", "node", "n1", "a=b", "-o", "json").stderr.startswith(
        '{"apiVersion": "tortie/v1", "kind": "Warning"'
    )
    for words in (["get", "nodes"], ["validate", "-f", file], ["version"], ["ipam", "show"]):
        assert "warning" not in tortie(*words).stderr
    assert tortie("--allow-version-mismatch", "apply", "-f", file).stderr == ""
    assert tortie("apply", "-f", file, "--allow-version-mismatch").stderr == ""


def test_of_the_same_minor_release_nothing_is_told() -> None:
    major, minor, _ = DATA_MODEL.removeprefix("v").split(".")
    for version in (DATA_MODEL, f"v{major}.{minor}.99", f"{major}.{minor}.0-rc1", "", "master", "unknown"):
        assert other_release(version) == ""
    assert "new defaults are not set" in other_release(f"v{major}.{int(minor) + 1}.0-0.dev-12-gabc")
    assert "may not know some" in other_release("v2.6.12")


def linked(tortie: Tortie, name: str) -> str:
    link = tortie.folder / name
    os.symlink(COMMAND, link)
    return str(link)


@pytest.mark.parametrize(("name", "called"), [("calicoctl", "calicoctl"), ("kubectl-calico", "kubectl calico")])
def test_linked_under_another_name_every_text_says_that_name(tortie: Tortie, name: str, called: str) -> None:
    link = linked(tortie, name)
    assert tortie.shell(f"{link} get nodes").stdout == tortie("get", "nodes").stdout
    assert tortie.shell(f"{link} --help").stdout.startswith(f"Usage: {called} COMMAND ...")
    for words in ("--help", "get --help", "delete --help", "ipam --help", "datastore export --help"):
        text = tortie.shell(f"{link} {words}").stdout
        assert called in text
        assert "tortie get" not in text
        assert "tortie datastore" not in text
    ran = tortie.shell(f"{link} get node gone")
    assert ran.code == 1
    assert f"fix: `{called} get nodes` lists those there are" in ran.stderr
    ran = tortie.shell(f"{link} get node gone -o json")
    assert f"`{called} get nodes`" in ran.stderr
    assert f"`{called} apply --help`" in tortie.shell(f"{link} apply x").stderr
    assert f"did you mean `{called} get`?" in tortie.shell(f"{link} gt").stderr
    assert f"{called} apply -f FILE" in tortie.shell(f"{link} apply").stderr


def test_data_is_not_reworded(tortie: Tortie) -> None:
    machine = node("n2", "10.0.0.2/24")
    machine["metadata"]["annotations"] = {"note": "made by tortie apply -f x"}
    tortie("apply", "-f", tortie.file("n2.yaml", machine))
    link = linked(tortie, "calicoctl")
    assert "made by tortie apply -f x" in tortie.shell(f"{link} get node n2 -o yaml").stdout


def test_completion_is_for_the_name_by_which_it_was_asked(tortie: Tortie) -> None:
    link = linked(tortie, "calicoctl")
    script = tortie.shell(f"{link} completion bash").stdout
    assert script.endswith("complete -o default -F _calicoctl calicoctl\n")
    assert "tortie" not in script


def test_completion_knows_the_flags_before_the_command(tortie: Tortie) -> None:
    assert "debug" in tortie("__complete", "-l", "").stdout.split()
    assert "--log-level" in tortie("__complete", "--lo").stdout.split()
    assert tortie("__complete", "-l", "debug", "get", "nodes", "").stdout.split() == ["n1"]
    assert "debug" in tortie("__complete", "get", "nodes", "-l", "d").stdout.split()
    assert "debug" in tortie("__complete", "validate", "--log-level", "").stdout.split()


def test_version_polls_until_it_is_ended_and_shows_what_changed(tortie: Tortie) -> None:
    cluster(tortie, "v3.32.1")
    process = tortie.start("version", "--poll", "50ms", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    too_long = threading.Timer(60, process.kill)  # then the lines that are waited for end
    too_long.start()
    try:
        assert process.stdout is not None
        names = [process.stdout.readline().decode().partition(":")[0] for _ in range(4)]
        assert names == ["Client Version", "Data Model", "Cluster Version", "Cluster Type"]
        cluster(tortie, "v3.32.2")
        assert process.stdout.readline() == b"Cluster Version:   v3.32.2\n"
        tortie.put(key_of("clusterinformations", "default"), b"not readable")
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"Error: ")
        cluster(tortie, "v3.32.2")
        assert process.stdout.readline() == b"Cluster Version:   v3.32.2\n"
    finally:
        too_long.cancel()
        process.kill()
        process.communicate()


def test_version_with_a_poll_of_zero_or_only_for_the_client_ends(tortie: Tortie) -> None:
    assert tortie("version", "--poll", "0") == tortie("version")
    assert tortie("version", "--poll", "1s", "--client").stdout.startswith("Client Version:    v")
