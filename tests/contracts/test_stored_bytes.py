"""What the commands store, byte for byte, for every kind; and that nothing that was stored is ever reduced.

`golden/stored/stored.txt` is what calicoctl v3.32.1 stores of `given.yaml` (and its client library of the three kinds
that the command does not know). Only uids and times of creation are chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Tortie

from tortie.model.keys import resource_prefix
from tortie.model.kinds import BY_NAME, KINDS
from tortie.model.release import DATA_MODEL
from tortie.store.contract import Entry

GOLDEN = Path(__file__).parent.parent / "golden" / "stored"
GIVEN = GOLDEN / "given.yaml"
_ROOT = resource_prefix(BY_NAME["Node"]).removesuffix("nodes/")
_CHANCE = (
    (re.compile(r'"uid":"([0-9a-f-]{36})"'), "UID"),
    (re.compile(r'"creationTimestamp":"([0-9TZ:-]{20})"'), "TIME"),
)


def entries(tortie: Tortie) -> dict[str, Entry]:
    listing = tortie.with_store(lambda store: store.scan(_ROOT))
    return {entry.key.removeprefix(_ROOT): entry for entry in listing.entries}


def values(tortie: Tortie) -> dict[str, bytes]:
    return {key: entry.value for key, entry in entries(tortie).items()}


def without_chance(value: str) -> str:
    for pattern, word in _CHANCE:
        if found := pattern.search(value):
            value = value.replace(found[1], word, 1)
    return value


def golden(stored: dict[str, bytes]) -> str:
    """As it stands in the file."""

    return "".join(f"{key}\n  {without_chance(stored[key].decode())}\n" for key in sorted(stored))


@pytest.fixture(params=["embedded", "etcd"])
def tortie(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tortie]:
    if request.param == "embedded":
        yield Tortie(tmp_path)
        return
    shell = Tortie(tmp_path, ETCD_ENDPOINTS=request.getfixturevalue("etcd_endpoint"))
    shell.clear()  # others leave theirs in that etcd
    yield shell
    shell.clear()


@pytest.fixture
def filled(tortie: Tortie) -> Tortie:
    created = tortie("create", "-f", str(GIVEN))
    assert created.code == 0, created.stderr
    return tortie


def test_every_kind_is_stored_as_calicoctl_stores_it(filled: Tortie) -> None:
    stored = values(filled)
    assert golden(stored) == (GOLDEN / "stored.txt").read_text()
    kinds = {key.partition("/")[0] for key in stored}
    assert kinds == {kind.plural for kind in KINDS if kind.name != "ClusterInformation"}


@pytest.mark.parametrize("verb", ["apply", "replace"])
def test_the_same_file_again_changes_no_byte_and_no_revision(filled: Tortie, verb: str) -> None:
    before = entries(filled)
    assert filled(verb, "-f", str(GIVEN)).code == 0
    assert entries(filled) == before


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_get_shows_can_be_applied_and_changes_no_byte_and_no_revision(filled: Tortie, form: str) -> None:
    before = entries(filled)
    for kind in KINDS:
        everywhere = ["-A"] if kind.namespaced else []
        shown = filled("get", kind.name, *everywhere, "-o", form)
        assert shown.code == 0
        if kind.name == "Profile":  # among them the built-in one, which nobody can write
            shown = filled("get", kind.name, "kns.shop", "bare", "-o", form)
        assert filled("apply", "-f", "-", "--skip-empty", stdin=shown.stdout).code == 0, kind.name
    assert entries(filled) == before


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if kind.name not in ("ClusterInformation",)])
def test_a_patch_and_a_label_that_are_taken_back_leave_every_byte(filled: Tortie, kind: str) -> None:
    before = values(filled)
    for key, name, place in objects(before, kind):
        for words in (
            ("patch", kind, name, *place, "-p", '{"metadata": {"annotations": {"x": 1}}}'),
            ("patch", kind, name, *place, "-p", '{"metadata": {"annotations": {"x": null}}}'),
            ("label", kind, name, *place, "x=y"),
            ("label", kind, name, *place, "x", "--remove"),
        ):
            assert filled(*words).code == 0, words
            changed = values(filled)
            assert {other: value for other, value in changed.items() if other != key} == {
                other: value for other, value in before.items() if other != key
            }
        assert changed[key] == before[key]


def objects(stored: dict[str, bytes], kind: str) -> list[tuple[str, str, list[str]]]:
    found = []
    for key in stored:
        plural, *place, name = key.split("/")
        if plural == BY_NAME[kind].plural:
            found.append((key, name, ["-n", place[0]] if place else []))
    assert found
    return found


def test_a_policys_derived_fields_cannot_be_changed_and_its_note_is_not_shown(filled: Tortie) -> None:
    before = values(filled)
    labels, notes = '{"projectcalico.org/tier": "x"}', '{"projectcalico.org/metadata": "x"}'
    patch = f'{{"metadata": {{"labels": {labels}, "annotations": {notes}}}}}'
    assert filled("patch", "np", "bare", "-p", patch).code == 0
    assert filled("label", "wep", "node1-cni-c1-eth0", "projectcalico.org/namespace=x", "--overwrite").code == 0
    assert values(filled) == before
    shown = filled("get", "np", "bare", "-o", "yaml").yaml
    assert "annotations" not in shown["metadata"]
    assert shown["metadata"]["labels"] == {"projectcalico.org/tier": "default"}
    ingress = filled("get", "np", "allow-web", "-n", "shop", "-o", "json").json["spec"]["ingress"]
    assert [sorted(rule) for rule in ingress][1] == ["action", "icmp", "protocol"]


def test_of_metadata_only_what_people_may_say_is_taken(tortie: Tortie) -> None:
    head = "apiVersion: projectcalico.org/v3\nkind: GlobalNetworkSet\n"
    owner = "[{apiVersion: v1, kind: Pod, name: p, uid: u}]"
    given = f"{head}metadata: {{name: s, uid: mine, generation: 7, finalizers: [x/y], ownerReferences: {owner}}}\n"
    assert tortie("apply", "-f", "-", stdin=given).code == 0
    (first,) = values(tortie).values()
    assert sorted(tortie("get", "globalnetworkset", "s", "-o", "json").json["metadata"]) == [
        "creationTimestamp",
        "name",
        "resourceVersion",
        "uid",
    ]
    key = f"{_ROOT}globalnetworksets/s"
    kept = first.replace(b'"uid"', b'"generation":7,"finalizers":["x/y"],"new":"field","uid"')
    tortie.put(key, kept)  # another program's
    assert tortie("label", "globalnetworkset", "s", "a=b").code == 0
    assert tortie("apply", "-f", "-", stdin=f"{head}metadata: {{name: s, new: field, labels: {{a: c}}}}\n").code == 0
    metadata = tortie("get", "globalnetworkset", "s", "-o", "json").json["metadata"]
    assert {name: metadata[name] for name in ("generation", "finalizers", "new", "labels")} == {
        "generation": 7,
        "finalizers": ["x/y"],
        "new": "field",
        "labels": {"a": "c"},
    }


def test_a_legacy_cluster_has_the_policys_own_name_in_the_note(tortie: Tortie) -> None:
    cluster = '{"kind":"ClusterInformation","metadata":{"name":"default"},"spec":{"calicoVersion":"v3.28.0"}}'
    tortie.put(f"{_ROOT}clusterinformations/default", cluster.encode())
    head = "apiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\n"
    for _ in range(2):
        assert tortie("apply", "-f", "-", stdin=f"{head}metadata: {{name: web}}\n").code == 0
    value = values(tortie)["globalnetworkpolicies/default.web"].decode()
    assert '"name":"default.web"' in value
    assert r'"projectcalico.org/metadata":"{\"name\":\"web\"}"' in value
    assert tortie("get", "gnp", "web", "-o", "json").json["metadata"]["name"] == "web"


def test_the_data_model_is_that_of_a_release() -> None:
    assert re.fullmatch(r"v3\.32\.[0-9]+", DATA_MODEL)
