"""`tortie get` on both stores: the tables that people know from calicoctl, and the forms that programs read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines, key_of
from tests.support.etcd_server import running_etcd

from tortie.model.kinds import KINDS, Kind
from tortie.model.release import DATA_MODEL

GOLDEN = Path(__file__).parent.parent / "golden" / "cli"
CLUSTER_INFORMATION = {
    "kind": "ClusterInformation",
    "apiVersion": "projectcalico.org/v3",
    "metadata": {"name": "default", "uid": "1f1dd6a2-6f0b-4fa4-8e0c-4c7e7d3f3f5e"},
    "spec": {
        "clusterGUID": "0123456789abcdef0123456789abcdef",
        "clusterType": "k8s,bgp,kdd",
        "calicoVersion": "v3.32.0",
        "datastoreReady": True,
    },
}


@pytest.fixture(scope="module", params=["embedded", "etcd"])
def tortie(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tortie]:
    """The small cluster of `objects.yaml`, which no test of this module changes."""
    folder = tmp_path_factory.mktemp("get")
    if request.param == "embedded":
        yield _filled(Tortie(folder))
    else:
        with running_etcd() as etcd:
            yield _filled(Tortie(folder, ETCD_ENDPOINTS=etcd.endpoint))


def _filled(tortie: Tortie) -> Tortie:
    tortie.put(key_of("clusterinformations", "default"), CLUSTER_INFORMATION)
    ran = tortie("apply", "-f", str(GOLDEN / "objects.yaml"))
    assert (ran.code, ran.stdout) == (0, "Successfully applied 31 resource(s)\n")
    return tortie


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_the_table_of_every_kind_is_the_one_of_the_golden_file(tortie: Tortie, kind: Kind) -> None:
    everywhere = ["-A"] if kind.namespaced else []
    transcript = ""
    for words in (["get", kind.plural, *everywhere], ["get", kind.plural, *everywhere, "-o", "wide"]):
        ran = tortie(*words)
        assert (ran.code, ran.stderr) == (0, "")
        transcript += f"$ tortie {' '.join(words)}\n{ran.stdout}"
    golden = GOLDEN / f"{kind.plural}.txt"
    if os.environ.get("TORTIE_WRITE_GOLDEN"):
        golden.write_text(transcript)
    assert transcript == golden.read_text()


def test_every_name_that_calicoctl_knows_for_a_kind_finds_it(tortie: Tortie) -> None:
    expected = tortie("get", "ippools").stdout
    for word in ("ippool", "ippools", "ipp", "pool", "pools", "IPPool", "IPPOOLS", "ipPool"):
        assert tortie("get", word).stdout == expected


def test_the_namespace_column_appears_with_n_and_with_a(tortie: Tortie) -> None:
    assert tortie("get", "policy").stdout == "NAME   TIER      \nweb    default   \n\n"
    expected = "NAMESPACE   NAME   TIER      \nshop        web    default   \n\n"
    assert tortie("get", "policy", "-n", "shop").stdout == expected
    assert tortie("get", "policy", "-A").stdout == tortie("get", "policy", "-a").stdout
    assert tortie("get", "nodes", "-A").stdout == tortie("get", "nodes").stdout


def test_n_and_a_contradict_each_other(tortie: Tortie) -> None:
    ran = tortie("get", "policy", "-n", "shop", "-A")
    assert_three_lines(ran, 2)
    assert "cannot use both --namespace and --all-namespaces flags at the same time" in ran.stderr


def test_a_namespace_is_refused_for_a_kind_without(tortie: Tortie) -> None:
    ran = tortie("get", "nodes", "-n", "shop")
    assert_three_lines(ran, 2)
    assert "Node is not namespaced" in ran.stderr


def test_names_with_all_namespaces_are_refused(tortie: Tortie) -> None:
    assert_three_lines(tortie("get", "policy", "web", "-A"), 2)


def test_one_object_by_name_is_itself_several_are_a_list_and_all_are_a_list_object(tortie: Tortie) -> None:
    one = tortie("get", "ippool", "rack-r1-v6", "-o", "json").json
    several = tortie("get", "ippool", "rack-r1-v6", "default-ipv4-ippool", "-o", "json").json
    every = tortie("get", "ippools", "-o", "json").json
    assert one["metadata"]["name"] == "rack-r1-v6"
    assert several == [one, every["items"][0]]
    assert (every["kind"], every["items"][1]) == ("IPPoolList", one)
    assert int(every["metadata"]["resourceVersion"]) >= int(one["metadata"]["resourceVersion"])


def test_yaml_and_json_say_the_same(tortie: Tortie) -> None:
    for kind in KINDS:
        assert tortie("get", kind.plural, "-o", "yaml").yaml == tortie("get", kind.plural, "-o", "json").json
    assert tortie("get", "nodes", "-o", "yml").stdout == tortie("get", "nodes", "-o", "yaml").stdout


def test_names_are_given_as_kind_and_name(tortie: Tortie) -> None:
    assert tortie("get", "nodes", "-o", "name").stdout == "node/node-a\nnode/node-b\nnode/node-without-bgp\n"
    assert tortie("get", "ippool", "rack-r1-v6", "-o", "name").stdout == "ippool/rack-r1-v6\n"


def test_custom_columns_are_headings_in_any_case_or_paths(tortie: Tortie) -> None:
    ran = tortie("get", "nodes", "-o", "custom-columns=name,asn,RACK:.metadata.labels.rack")
    assert ran.stdout == (
        "NAME               ASN       RACK     \n"
        "node-a             65001     r1       \n"
        "node-b             (64999)   <none>   \n"
        "node-without-bgp             <none>   \n\n"
    )
    assert "k8s" in tortie("get", "wep", "-n", "shop", "-o", "custom-columns=NAME,ORCHESTRATOR").stdout


def test_an_unknown_heading_is_answered_with_those_there_are(tortie: Tortie) -> None:
    ran = tortie("get", "tiers", "-o", "custom-columns=NAME,AGE")
    assert_three_lines(ran, 2)
    assert "unknown heading AGE, valid values are: NAMESPACE, NAME, ORDER" in ran.stderr


def test_jsonpath_sees_the_list_or_the_object(tortie: Tortie) -> None:
    assert tortie("get", "ippools", "-o", "jsonpath={.items[*].spec.cidr}").stdout == "10.244.0.0/16 fd00:10::/64\n"
    assert tortie("get", "tier", "security", "-o", "jsonpath={.spec.order}").stdout == "100\n"
    ran = tortie("get", "nodes", "-o", "jsonpath={range .items[*]}{.metadata.name}{'\\n'}{end}")
    assert ran.stdout == "node-a\nnode-b\nnode-without-bgp\n"
    assert_three_lines(tortie("get", "nodes", "-o", "jsonpath={.items["), 2)


def test_a_file_names_what_is_wanted(tortie: Tortie) -> None:
    ran = tortie("get", "-f", str(GOLDEN / "objects.yaml"), "-o", "name")
    assert ran.code == 0
    assert len(ran.stdout.splitlines()) == 31
    tables = tortie("get", "-f", str(GOLDEN / "objects.yaml"))
    assert tables.stdout.startswith("NAME               \nnode-a             \nnode-b             \n")
    assert "NAME       ORDER     \nsecurity   100       \nlast       1000000   \n" in tables.stdout


def test_what_is_missing_does_not_hide_what_is_there(tortie: Tortie) -> None:
    ran = tortie("get", "ippool", "gone", "rack-r1-v6", "lost", "-o", "name")
    assert (ran.code, ran.stdout) == (1, "ippool/rack-r1-v6\n")
    assert "IPPool(gone)" in ran.stderr
    assert "IPPool(lost)" in ran.stderr


def test_export_leaves_out_what_belongs_to_this_datastore(tortie: Tortie) -> None:
    of_this_store = {"uid", "resourceVersion", "creationTimestamp"}
    listed = tortie("get", "policy", "-A", "-o", "json", "--export").json["items"]
    named = tortie("get", "policy", "web", "-n", "shop", "-o", "json", "--export").json
    assert all(not of_this_store & item["metadata"].keys() for item in listed)
    assert listed[1]["metadata"]["namespace"] == "shop"
    assert "namespace" not in named["metadata"]  # so that it fits into any other
    assert named["spec"] == listed[1]["spec"]


def test_the_built_in_profile_is_shown_though_nobody_stored_it(tortie: Tortie) -> None:
    shown = tortie("get", "profile", "projectcalico-default-allow", "-o", "json").json
    assert [rule["action"] for rule in shown["spec"]["ingress"]] == ["Allow"]


def test_the_cluster_s_version_is_told(tortie: Tortie) -> None:
    ran = tortie("version")
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[1] == ["Data", "Model:", DATA_MODEL]
    assert lines[2:] == [["Cluster", "Version:", "v3.32.0"], ["Cluster", "Type:", "k8s,bgp,kdd"]]
    assert tortie("version", "-o", "json").json["clusterVersion"] == "v3.32.0"
    assert tortie("version", "-o", "yaml").yaml == tortie("version", "-o", "json").json


def test_an_empty_answer_of_a_store_that_is_not_there_says_so(tortie: Tortie) -> None:
    """A mistyped TORTIE_STORE would otherwise look like an empty cluster."""
    mistyped = str(tortie.folder / "mistyped.db")
    ran = Tortie(tortie.folder, TORTIE_STORE=mistyped).run("get", "nodes")
    assert ran.code == 0
    assert f"there is no embedded store {mistyped} (environment variable TORTIE_STORE) yet" in ran.stderr
    assert not (tortie.folder / "mistyped.db").exists()
