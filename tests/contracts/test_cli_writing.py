"""`tortie create`, `apply`, `replace` and `validate`: what files say becomes what the datastore holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines, key_of, node, pool, resource

LIST = {"apiVersion": "v1", "kind": "List", "items": [pool("a", "10.1.0.0/16"), pool("b", "10.2.0.0/16")]}


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path)


def names(tortie: Tortie, kind: str = "ippools") -> list[str]:
    return [line.partition("/")[2] for line in tortie("get", kind, "-o", "name").stdout.splitlines()]


@pytest.mark.parametrize(("verb", "done"), [("create", "created"), ("apply", "applied")])
def test_new_resources_are_written_and_counted(tortie: Tortie, verb: str, done: str) -> None:
    pools = tortie.file("pools.yaml", pool("a", "10.1.0.0/16"), pool("b", "10.2.0.0/16"))
    mixed = tortie.file("mixed.yaml", pool("c", "10.3.0.0/16"), node("n1"))
    assert tortie(verb, "-f", pools) == (0, f"Successfully {done} 2 'IPPool' resource(s)\n", "")
    assert tortie(verb, "-f", mixed) == (0, f"Successfully {done} 2 resource(s)\n", "")
    assert names(tortie) == ["a", "b", "c"]


def test_defaults_are_filled_in_as_calico_does(tortie: Tortie) -> None:
    tortie("create", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    stored = json.loads(tortie.entries()[key_of("ippools", "a")])
    assert stored["spec"] == {
        "cidr": "10.1.0.0/16",
        "vxlanMode": "Never",
        "ipipMode": "Never",
        "blockSize": 26,
        "nodeSelector": "all()",
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
    }
    assert stored["metadata"].keys() == {"name", "uid", "creationTimestamp"}


def test_create_never_overwrites(tortie: Tortie) -> None:
    file = tortie.file("a.yaml", pool("a", "10.1.0.0/16"))
    tortie("create", "-f", file)
    before = tortie.entries()
    ran = tortie("create", "-f", file)
    assert_three_lines(ran, 1)
    assert "resource already exists: IPPool(a)" in ran.stderr
    assert tortie.entries() == before


def test_create_writes_the_others_and_names_the_one_that_exists(tortie: Tortie) -> None:
    tortie("create", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    both = tortie.file("both.yaml", pool("a", "10.1.0.0/16"), pool("b", "10.2.0.0/16"))
    ran = tortie("create", "-f", both)
    assert (ran.code, ran.stdout) == (1, "Successfully created 1 'IPPool' resource(s)\n")
    assert "failed to create 1 of 2 'IPPool' resource(s)" in ran.stderr
    assert "resource already exists: IPPool(a)" in ran.stderr
    skipped = "skipped: 2 'IPPool' resource(s) for which there was nothing to do\n"
    done = "Successfully created 2 'IPPool' resource(s)\n"  # calicoctl counts them, too
    assert tortie("create", "-f", both, "--skip-exists") == (0, done, skipped)


def test_apply_again_changes_nothing_and_keeps_the_revision(tortie: Tortie) -> None:
    file = tortie.file("a.yaml", pool("a", "10.1.0.0/16", natOutgoing=True))
    tortie("apply", "-f", file)
    before = tortie("get", "pool", "a", "-o", "yaml").stdout
    assert tortie("apply", "-f", file).code == 0
    assert tortie("get", "pool", "a", "-o", "yaml").stdout == before


def test_what_get_prints_can_be_edited_and_applied(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    before = tortie("get", "pool", "a", "-o", "json").json
    for form in ("yaml", "json"):
        for words in (["ippool", "a"], ["ippools"], ["ippool", "a", "a"]):
            text = tortie("get", *words, "-o", form).stdout
            assert tortie("apply", "-f", "-", stdin=text) in (
                (0, "Successfully applied 1 'IPPool' resource(s)\n", ""),
                (0, "Successfully applied 2 'IPPool' resource(s)\n", ""),
            )
    edited = tortie("get", "pool", "a", "-o", "yaml").stdout.replace("ipipMode: Never", "ipipMode: Always")
    assert tortie("apply", "-f", "-", stdin=edited).code == 0
    after = tortie("get", "pool", "a", "-o", "json").json
    assert after["spec"] == before["spec"] | {"ipipMode": "Always"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["creationTimestamp"] == before["metadata"]["creationTimestamp"]


@pytest.mark.parametrize("verb", ["apply", "replace"])
def test_an_old_resource_version_is_a_conflict_until_it_is_removed(tortie: Tortie, verb: str) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    old = tortie("get", "pool", "a", "-o", "json").json
    tortie("patch", "pool", "a", "-p", "spec: {disabled: true}")
    now = tortie("get", "pool", "a", "-o", "json").json["metadata"]["resourceVersion"]
    ran = tortie(verb, "-f", tortie.file("old.yaml", old))
    assert_three_lines(ran, 1)
    assert "update conflict: IPPool(a)" in ran.stderr
    assert f"resourceVersion {old['metadata']['resourceVersion']}, the datastore is at {now}" in ran.stderr
    del old["metadata"]["resourceVersion"]
    assert tortie(verb, "-f", tortie.file("old.yaml", old)).code == 0


def test_replace_wants_the_resource_to_exist(tortie: Tortie) -> None:
    file = tortie.file("a.yaml", pool("a", "10.1.0.0/16"))
    ran = tortie("replace", "-f", file)
    assert_three_lines(ran, 1)
    assert "resource does not exist: IPPool(a)" in ran.stderr
    tortie("create", "-f", file)
    assert tortie("replace", "-f", file) == (0, "Successfully replaced 1 'IPPool' resource(s)\n", "")


def test_a_slip_in_the_last_file_keeps_the_first_from_being_written(tortie: Tortie) -> None:
    good = tortie.file("1.yaml", pool("a", "10.1.0.0/16"))
    bad = tortie.file("2.yaml", pool("b", "10.2.0.0/33"))
    for verb in ("create", "apply"):
        assert tortie(verb, "-f", good, "-f", bad).code == 2
        assert names(tortie) == []


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LIST),
        json.dumps(LIST["items"]),
        json.dumps(LIST | {"kind": "IPPoolList", "apiVersion": "projectcalico.org/v3"}),
        "\ufeff" + json.dumps(LIST, indent=2).replace("\n", "\r\n"),
        "# a comment\n---\n---\n" + "\n---\n".join(json.dumps(item) for item in LIST["items"]),
        "- " + "\n- ".join(json.dumps(item) for item in LIST["items"]),
    ],
    ids=["JSON list", "plain JSON", "typed list", "BOM and CRLF", "documents", "YAML sequence"],
)
def test_every_way_to_write_several_resources(tortie: Tortie, text: str) -> None:
    assert tortie("apply", "-f", tortie.file("in.yaml", text)).stdout == "Successfully applied 2 'IPPool' resource(s)\n"
    assert tortie("apply", "-f", "-", stdin=text).code == 0
    assert names(tortie) == ["a", "b"]


def test_folders_are_read_in_order_and_only_yaml_and_json(tortie: Tortie) -> None:
    tortie.file("d/2.yml", pool("b", "10.2.0.0/16"))
    tortie.file("d/1.json", json.dumps(pool("a", "10.1.0.0/16")))
    tortie.file("d/readme.txt", "not a resource")
    tortie.file("d/below/3.yaml", pool("c", "10.3.0.0/16"))
    folder = str(tortie.folder / "d")
    assert tortie("apply", "-f", folder, "-o", "name").stdout == "ippool/a\nippool/b\n"
    assert tortie("apply", "-f", folder, "-R", "-o", "name").stdout == "ippool/a\nippool/b\nippool/c\n"


def test_files_without_resources_are_an_error_unless_they_may_be_skipped(tortie: Tortie) -> None:
    empty = tortie.file("empty.yaml", "# nothing\n---\n")
    (tortie.folder / "folder").mkdir()
    ran = tortie("apply", "-f", empty)
    assert_three_lines(ran, 2)
    assert f"no resources specified in file {empty}" in ran.stderr
    assert "no resources specified in directory" in tortie("apply", "-f", str(tortie.folder / "folder")).stderr
    assert tortie("apply", "-f", empty, "--skip-empty") == (0, "No resources specified\n", "")
    assert tortie("apply", "-f", empty, "--skip-empty", "-o", "json").json == []


def test_the_namespace_comes_from_the_flag_the_object_or_is_default(tortie: Tortie) -> None:
    bare = tortie.file("bare.yaml", resource("NetworkSet", "s", {"nets": ["10.0.0.0/8"]}))
    own = tortie.file("own.yaml", resource("NetworkSet", "s", {"nets": ["10.0.0.0/8"]}, namespace="own"))
    for words in (["-f", bare], ["-f", bare, "-n", "flag"], ["-f", own], ["-f", own, "-n", "own"]):
        assert tortie("apply", *words).code == 0
    found = tortie("get", "netset", "-A", "-o", "jsonpath={.items[*].metadata.namespace}").stdout
    assert found == "default flag own\n"
    ran = tortie("apply", "-f", own, "-n", "other")
    assert_three_lines(ran, 2)
    assert "resource namespace does not match client namespace. own != other" in ran.stderr


def test_what_was_written_can_be_printed_instead_of_the_sentence(tortie: Tortie) -> None:
    file = tortie.file("a.yaml", pool("a", "10.1.0.0/16"))
    assert tortie("create", "-f", file, "-o", "name").stdout == "ippool/a\n"
    assert tortie("apply", "-f", file, "-o", "json").json == tortie("get", "pool", "a", "-o", "json").json
    assert tortie("replace", "-f", file, "-o", "yaml").yaml == tortie("get", "pool", "a", "-o", "yaml").yaml
    assert_three_lines(tortie("apply", "-f", file, "-o", "wide"), 2)


def test_validate_touches_no_datastore(tortie: Tortie) -> None:
    file = tortie.file("a.yaml", pool("a", "10.1.0.0/16"))
    assert tortie("validate", "-f", file) == (0, "Successfully validated 1 'IPPool' resource(s)\n", "")
    assert not tortie.store.exists()
    assert_three_lines(tortie("validate", "-f", tortie.file("b.yaml", pool("b", "10.1.0.0/99"))), 2)


def test_pools_that_overlap_are_refused(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    ran = tortie("apply", "-f", tortie.file("b.yaml", pool("b", "10.1.128.0/17")))
    assert_three_lines(ran, 2)
    assert "overlaps with the IPPool a (10.1.0.0/16)" in ran.stderr


def test_a_peer_needs_the_filters_it_names(tortie: Tortie) -> None:
    peer = resource("BGPPeer", "p", {"peerIP": "192.0.2.1", "asNumber": 65000, "filters": ["f"]})
    ran = tortie("apply", "-f", tortie.file("p.yaml", peer))
    assert_three_lines(ran, 2)
    assert "there is no BGPFilter of that name" in ran.stderr
    both = tortie.file("both.yaml", resource("BGPFilter", "f", {"exportV4": [{"action": "Accept"}]}), peer)
    assert tortie("apply", "-f", both).code == 0


def test_what_the_cluster_provides_itself_is_read_only(tortie: Tortie) -> None:
    file = tortie.file("info.yaml", resource("ClusterInformation", "default", {}))
    for verb in ("create", "apply"):
        ran = tortie(verb, "-f", file)
        assert_three_lines(ran, 1)
        assert "resource is readonly" in ran.stderr
    for words in (["delete", "clusterinfo", "default"], ["label", "clusterinfo", "default", "a=b"]):
        assert "resource is readonly" in tortie(*words).stderr
    ran = tortie("delete", "profile", "projectcalico-default-allow")
    assert "operation Delete is not supported on Profile(projectcalico-default-allow)" in ran.stderr


def test_a_policy_keeps_the_name_people_gave_it_whatever_the_layout(tortie: Tortie) -> None:
    """Calico up to v3.31 stores the policy `web` of the default tier as `default.web`."""
    policy = resource("GlobalNetworkPolicy", "web", {"selector": "all()", "types": ["Ingress"]})
    info = resource("ClusterInformation", "default", {"calicoVersion": "v3.29.1"})
    tortie.put(key_of("clusterinformations", "default"), info)
    tortie("apply", "-f", tortie.file("web.yaml", policy))
    assert key_of("globalnetworkpolicies", "default.web") in tortie.entries()
    assert names(tortie, "gnp") == ["web"]
    assert tortie("get", "gnp", "web", "-o", "name").stdout == "globalnetworkpolicy/web\n"
    assert tortie("apply", "-f", tortie.file("web.yaml", policy)).code == 0
    assert tortie("label", "gnp", "web", "a=b").code == 0
    assert names(tortie, "gnp") == ["web"]
    assert tortie("delete", "gnp", "web").code == 0
    assert names(tortie, "gnp") == []


def test_pools_that_overlap_each_other_in_one_file_are_refused_before_anything_is_written(tortie: Tortie) -> None:
    file = tortie.file("pools.yaml", pool("a", "10.200.0.0/16"), pool("b", "10.200.1.0/24"))
    for command in ("create", "apply"):
        ran = tortie(command, "-f", file)
        assert_three_lines(ran, 2)
        assert "pools.yaml, line" in ran.stderr
        assert "overlaps with the IPPool a (10.200.0.0/16)" in ran.stderr
        assert tortie.entries() == {}


def test_a_pool_that_overlaps_a_stored_one_is_told_with_its_line(tortie: Tortie) -> None:
    tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.200.0.0/16")))
    ran = tortie("apply", "-f", tortie.file("b.yaml", pool("c", "10.1.0.0/16"), pool("b", "10.200.1.0/24")))
    assert_three_lines(ran, 2)
    assert "b.yaml, line" in ran.stderr
    assert len(tortie.entries()) == 1


def test_one_name_twice_with_different_fields_is_refused_and_twice_the_same_is_not(tortie: Tortie) -> None:
    ran = tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16"), pool("a", "10.2.0.0/16")))
    assert_three_lines(ran, 2)
    assert "stands at" in ran.stderr
    assert tortie.entries() == {}
    assert tortie("apply", "-f", tortie.file("b.yaml", *[pool("a", "10.1.0.0/16")] * 2)).code == 0


def test_a_peer_may_use_a_filter_of_the_same_file(tortie: Tortie) -> None:
    peer = resource("BGPPeer", "tor", {"peerIP": "10.0.0.1", "asNumber": 65001, "filters": ["f"]})
    allow = resource("BGPFilter", "f", {"exportV4": [{"action": "Accept"}]})
    assert tortie("apply", "-f", tortie.file("a.yaml", allow, peer)).code == 0
    assert tortie("apply", "-f", tortie.file("b.yaml", {**peer, "spec": {**peer["spec"], "filters": ["g"]}})).code == 2


def test_a_dead_datastore_ends_the_command_at_the_first_resource(tmp_path: Path) -> None:
    """Three resources and a store that cannot be written: one complaint, and how many were not tried."""
    (tmp_path / "blocked").write_text("")
    tortie = Tortie(tmp_path, TORTIE_STORE=str(tmp_path / "blocked" / "store.db"))
    pools = [pool(name, f"10.{number}.0.0/16") for number, name in enumerate("abc")]
    ran = tortie("create", "-f", tortie.file("pools.yaml", *pools))
    assert ran.code == 1
    assert ran.stderr.count("Not a directory") == 1


def test_what_is_done_and_what_failed_is_told_by_name(tortie: Tortie) -> None:
    tortie("create", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16")))
    path = tortie.file("many.yaml", pool("a", "10.1.0.0/16"), pool("b", "10.2.0.0/16"), pool("c", "10.3.0.0/16"))
    as_json = tortie("create", "-f", path, "-o", "json")
    assert as_json.code == 1
    told = json.loads(as_json.stderr)
    assert (told["done"], told["untried"]) == (["IPPool(b)", "IPPool(c)"], [])
    assert [(each["resource"], each["code"]) for each in told["failed"]] == [("IPPool(a)", "already-exists")]
    as_text = tortie("create", "-f", tortie.file("two.yaml", pool("b", "10.2.0.0/16"), pool("d", "10.4.0.0/16")))
    assert as_text.code == 1
    assert "resource already exists: IPPool(b)" in as_text.stderr
    assert "done: IPPool(d)" in as_text.stderr
