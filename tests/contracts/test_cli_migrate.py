"""`tortie datastore migrate`: a cluster that Calico made as calicoctl's migration file, out and in.

The golden cluster is what calicoctl and Calico's IPAM had written; the golden file is calicoctl's export of it, with
two things set right: policies staged in any namespace, and the node that a HostEndpoint names by its new name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Ran, Tortie, assert_three_lines, pool
from tests.support.etcd_server import running_etcd

from tortie.store.contract import Delete

GOLDEN = Path(__file__).parent.parent / "golden" / "cli"
CLUSTER, MIGRATION = GOLDEN / "calico-cluster.jsonl", GOLDEN / "calico-migration.txt"
INFORMATION = "/calico/resources/v3/projectcalico.org/clusterinformations/default"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with running_etcd() as etcd:
        yield etcd.endpoint


@pytest.fixture(params=["embedded", "etcdv3"])
def tortie(request: pytest.FixtureRequest, tmp_path: Path, endpoint: str) -> Iterator[Tortie]:
    shell = Tortie(tmp_path, ETCD_ENDPOINTS=endpoint) if request.param == "etcdv3" else Tortie(tmp_path)
    yield shell
    shell.clear()


@pytest.fixture
def calico(tortie: Tortie) -> Tortie:
    """A datastore with what Calico wrote, locked."""
    assert tortie("datastore", "import", str(CLUSTER)).code == 0
    return tortie


def of_any_store(text: str) -> str:
    """Without what every datastore has of its own."""
    text = re.sub(r"resourceVersion: \"\d+\"", "resourceVersion: N", text)
    return re.sub(r'("(uid|resourceVersion|creationTimestamp)": )"[^"]+"', r"\1…", text, count=3)


def exported(shell: Tortie) -> Ran:
    return shell("datastore", "migrate", "export")


def test_export_is_calicoctls_file(calico: Tortie) -> None:
    ran = exported(calico)
    assert (ran.code, ran.stderr) == (
        0,
        "not exported, as with calicoctl: WorkloadEndpoints and Profiles, which are made anew\n",
    )
    assert of_any_store(ran.stdout) == of_any_store(MIGRATION.read_text())


def test_what_is_imported_is_exported_again(tortie: Tortie) -> None:
    ran = tortie("datastore", "migrate", "import", "-f", str(MIGRATION))
    assert (ran.code, ran.stdout) == (
        0,
        "Successfully applied 22 resource(s)\n"
        "Successfully applied 5 IPAM resource(s)\n"
        "Datastore information successfully imported.\n",
    )
    assert ran.stderr.startswith("Importing IPAM resources\nwarning: ")  # nobody enforces the policies yet
    assert ran.stderr.endswith("the datastore is locked; `tortie datastore migrate unlock` lets it take effect\n")
    assert of_any_store(exported(tortie).stdout) == of_any_store(MIGRATION.read_text())
    assert tortie("get", "nodes", "-o", "name").stdout == "node/k1\nnode/n2\n"
    assert "10.244.0.0/16" in tortie("ipam", "show").stdout


def test_what_others_need_is_imported_first(tortie: Tortie) -> None:
    """In the file a peer stands before the filter that it names."""
    text = MIGRATION.read_text().replace(
        "    asNumber: 64512\n    keepalive", "    asNumber: 64512\n    filters: [f]\n    keepalive"
    )
    assert "filters: [f]" in text
    assert tortie("datastore", "migrate", "import", "-f", tortie.file("file", text)).code == 0
    assert tortie("get", "bgppeer", "peer", "-o", "yaml").yaml["spec"]["filters"] == ["f"]


def test_what_cannot_stand_beside_the_others_is_told_before_the_first_write(tortie: Tortie) -> None:
    pools = (
        "- apiVersion: projectcalico.org/v3\n  kind: IPPool\n  metadata: {name: p2}\n  spec: {cidr: 10.244.8.0/24}\n"
    )
    text = MIGRATION.read_text().replace("kind: IPPoolList", f"{pools}kind: IPPoolList", 1)
    ran = tortie("datastore", "migrate", "import", "-f", tortie.file("file", text))
    assert_three_lines(ran, 2)
    assert "'10.244.8.0/24' (overlaps with the IPPool p1 (10.244.0.0/16))" in ran.stderr
    assert not tortie.entries()


def test_an_interrupted_import_is_repeated(tortie: Tortie) -> None:
    assert tortie("datastore", "migrate", "import", "-f", str(MIGRATION)).code == 0
    for key in list(tortie.entries())[::3]:  # as if it had not come that far
        tortie.with_store(lambda store, key=key: store.commit([Delete(key)]))  # type: ignore[misc]
    assert tortie("datastore", "migrate", "import", "-f", str(MIGRATION)).code == 0
    assert of_any_store(exported(tortie).stdout) == of_any_store(MIGRATION.read_text())


def test_import_from_standard_input(tortie: Tortie) -> None:
    assert tortie("datastore", "migrate", "import", "-f", "-", stdin=MIGRATION.read_bytes()).code == 0
    assert len(tortie.entries()) == 28


def test_a_datastore_in_use_is_not_imported_into(tortie: Tortie) -> None:
    assert tortie("apply", "-f", tortie.file("pool.yaml", pool("mine", "10.9.0.0/16"))).code == 0
    before = tortie.entries()
    ran = tortie("datastore", "migrate", "import", "-f", str(MIGRATION))
    assert_three_lines(ran, 1)
    assert "datastore already has Calico resources: found existing Calico IPPool(mine) resource" in ran.stderr
    assert tortie.entries() == before


def test_export_needs_the_lock(calico: Tortie) -> None:
    assert calico("datastore", "migrate", "unlock") == (0, "Datastore unlocked.\n", "")
    ran = exported(calico)
    assert (ran.code, ran.stdout) == (1, "")
    needed = "datastore is not locked. Run the `tortie datastore migrate lock` command in order to begin migration"
    assert needed in ran.stderr
    assert calico("datastore", "migrate", "lock") == (0, "Datastore locked.\n", "")
    assert exported(calico).code == 0


def test_export_of_a_node_that_kubernetes_does_not_know(calico: Tortie) -> None:
    node = calico("get", "node", "n2", "-o", "yaml").yaml
    del node["spec"]["orchRefs"]
    assert calico("apply", "-f", calico.file("node.yaml", node)).code == 0
    ran = exported(calico)
    assert (ran.code, ran.stdout) == (1, "")
    assert "node n2 missing a 'k8s' orchestrator reference" in ran.stderr


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "it has 1 parts between lines of ===, not three"),
        ("{}\n===\n{}\n", "it has 2 parts"),
        ("null\n---\nnull\n---\n===\n{}\n===\n{}\n", "2 kinds are `null` in it"),
        ("---\n===\n{\n===\n{}\n", "failed to read the cluster information"),
        ("---\n===\n{}\n===\n[]\n", "failed to read the IPAM resources"),
        ('---\n===\n{}\n===\n{"blocks": [{"Key": "/calico/x", "Value": {}}]}\n', "/calico/x does not belong"),
        ('---\n===\n{}\n===\n{"pools": []}\n', "nobody knows its pools"),
        ("a: [\n===\n{}\n===\n{}\n", "not valid YAML"),
        (
            "apiVersion: projectcalico.org/v3\nkind: Profile\nmetadata: {name: p}\n===\n{}\n===\n{}\n",
            "a migration file has no Profile",
        ),
        (
            "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: p}\nspec: {cidr: x}\n===\n{}\n===\n{}\n",
            "IPPool(p) is not valid",
        ),
    ],
)
def test_a_file_that_is_none_changes_nothing(tmp_path: Path, content: str, expected: str) -> None:
    tortie = Tortie(tmp_path)
    ran = tortie("datastore", "migrate", "import", "-f", tortie.file("x", content))
    assert (ran.code, ran.stdout) == (2, "")
    assert expected in ran.stderr
    assert not tortie.store.exists() or not tortie.entries()


def test_the_other_export_is_told_apart(calico: Tortie) -> None:
    ran = calico("datastore", "migrate", "import", "-f", str(CLUSTER))
    assert ran.code == 2
    assert f"tortie datastore import {CLUSTER}" in ran.stderr
    assert calico("datastore", "migrate", "import").code == 2
