"""IPAMConfiguration and the settings that IPAM reads are one thing, whichever of them a person or Calico changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Tortie, assert_three_lines, key_of, resource

from tortie.model.keys import IPAM_CONFIG

KEY = key_of("ipamconfigurations", "default")
ENABLED = {"kubeVirtVMAddressPersistence": "Enabled"}


@pytest.fixture(params=["embedded", "etcd"])
def tortie(request: pytest.FixtureRequest, tmp_path: Path) -> Tortie:
    if request.param == "embedded":
        return Tortie(tmp_path)
    shell = Tortie(tmp_path, DATASTORE_TYPE="etcdv3", ETCD_ENDPOINTS=request.getfixturevalue("etcd_endpoint"))
    shell.clear()
    return shell


def file(tortie: Tortie, **spec: Any) -> str:
    return tortie.file("settings.yaml", resource("IPAMConfiguration", "default", spec))


def read(tortie: Tortie) -> dict[str, Any]:
    """What IPAM, Calico's and ours, goes by."""
    document: dict[str, Any] = json.loads(tortie.entries()[IPAM_CONFIG])
    return document


def strict(tortie: Tortie) -> tuple[str, bool]:
    """As `ipam show` and as `get` tell it."""
    rows = tortie("ipam", "show", "--show-configuration").stdout.splitlines()
    (row,) = [row for row in rows if "StrictAffinity" in row]
    told = tortie("get", "ipamconfig", "default", "-o", "json").json["spec"]["strictAffinity"]
    return row.split("|")[2].strip(), told


def disagreements(tortie: Tortie) -> list[str]:
    problems = tortie("ipam", "check", "-o", "json").json["problems"]
    return [problem["why"] for problem in problems if problem["kind"] == "settings-disagree"]


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_new_resource_is_in_effect_at_once(tortie: Tortie, verb: str) -> None:
    assert tortie(verb, "-f", file(tortie, strictAffinity=True, maxBlocksPerHost=4)).code == 0
    assert read(tortie) == {
        **{"strict_affinity": True, "auto_allocate_blocks": True, "maxBlocksPerHost": 4},
        **ENABLED,
    }
    assert strict(tortie) == ("true", True)
    assert disagreements(tortie) == []


@pytest.mark.parametrize(
    "words",
    [
        ["apply", "-f", "FILE"],
        ["replace", "-f", "FILE"],
        ["patch", "ipamconfig", "default", "-p", '{"spec": {"strictAffinity": true}}'],
        ["ipam", "configure", "--strictaffinity=true"],
    ],
)
def test_every_way_to_change_it_changes_both(tortie: Tortie, words: Sequence[str]) -> None:
    tortie("create", "-f", file(tortie, strictAffinity=False))
    assert strict(tortie) == ("false", False)
    changed = file(tortie, strictAffinity=True)
    assert tortie(*(changed if word == "FILE" else word for word in words)).code == 0
    assert strict(tortie) == ("true", True)
    assert disagreements(tortie) == []


def test_what_calico_changed_is_shown_and_survives_a_change_of_something_else(tortie: Tortie) -> None:
    """calicoctl writes what IPAM reads, and does not know the resource."""
    tortie("create", "-f", file(tortie, strictAffinity=False))
    tortie.put(IPAM_CONFIG, {"strict_affinity": True, "auto_allocate_blocks": True, **ENABLED, "new": 1})
    assert strict(tortie) == ("true", True)
    assert tortie("get", "ipamconfigs", "-o", "json").json["items"][0]["spec"]["strictAffinity"] is True
    assert disagreements(tortie) == [
        "the resource default says otherwise than what IPAM reads: strictAffinity is true, not false"
    ]
    assert tortie("patch", "ipamconfig", "default", "-p", '{"spec": {"maxBlocksPerHost": 3}}').code == 0
    assert read(tortie) == {
        **{"strict_affinity": True, "auto_allocate_blocks": True, "maxBlocksPerHost": 3},
        **ENABLED,
        "new": 1,
    }
    assert disagreements(tortie) == []


@pytest.mark.parametrize("stored", [None, {"auto_allocate_blocks": True}])
def test_a_disagreement_is_mended_by_the_commands_that_the_check_names(
    tortie: Tortie, stored: dict[str, Any] | None
) -> None:
    def disagree() -> None:
        tortie.clear()
        tortie.put(KEY, resource("IPAMConfiguration", "default", {"strictAffinity": True, "autoAllocateBlocks": True}))
        if stored:
            tortie.put(IPAM_CONFIG, stored)

    disagree()
    problem = next(iter(tortie("ipam", "check", "-o", "json").json["problems"]))
    assert "`tortie ipam configure --strictaffinity=false` keeps what is in effect" in problem["cure"]
    assert tortie("ipam", "configure", "--strictaffinity=false").code == 0
    assert (strict(tortie), disagreements(tortie)) == (("false", False), [])
    disagree()
    assert tortie("apply", "-f", file(tortie, strictAffinity=True, autoAllocateBlocks=True)).code == 0
    assert (strict(tortie), disagreements(tortie)) == (("true", True), [])


def test_applying_what_is_shown_changes_no_byte(tortie: Tortie) -> None:
    tortie("ipam", "configure", "--strictaffinity=true", "--ip-cooldown-seconds=30")
    before = tortie.entries()
    shown = tortie.file("shown.yaml", tortie("get", "ipamconfig", "default", "-o", "yaml").stdout)
    for verb in ("apply", "replace"):
        assert tortie(verb, "-f", shown).code == 0
    assert tortie("ipam", "configure", "--strictaffinity=true").code == 0
    assert tortie.entries() == before


def test_a_change_made_from_an_old_version_is_refused(tortie: Tortie) -> None:
    tortie("create", "-f", file(tortie, strictAffinity=False))
    shown = tortie("get", "ipamconfig", "default", "-o", "yaml").stdout
    tortie("apply", "-f", file(tortie, strictAffinity=True))
    before = tortie.entries()
    ran = tortie("replace", "-f", tortie.file("old.yaml", shown))
    assert_three_lines(ran, 1)
    assert "update conflict: IPAMConfiguration(default)" in ran.stderr
    assert tortie("create", "-f", file(tortie)).code == 1
    assert tortie.entries() == before


@pytest.mark.parametrize(
    ("spec", "flags", "fragment"),
    [
        (
            {"strictAffinity": False, "autoAllocateBlocks": False},
            ["--strictaffinity=false", "--auto-allocate-blocks=false"],
            "autoAllocateBlocks = 'false'",
        ),
        (
            {"strictAffinity": False, "maxBlocksPerHost": 2},
            ["--strictaffinity=false", "--max-blocks-per-host=2"],
            "maxBlocksPerHost = '2'",
        ),
        ({"ipCooldownSeconds": 5000}, ["--ip-cooldown-seconds=5000"], "ipCooldownSeconds = '5000'"),
    ],
)
def test_the_rules_are_the_same_on_both_ways(
    tortie: Tortie, spec: dict[str, Any], flags: list[str], fragment: str
) -> None:
    for ran in (tortie("apply", "-f", file(tortie, **spec)), tortie("ipam", "configure", *flags)):
        assert_three_lines(ran, 2)
        assert fragment in ran.stderr
    assert tortie.entries() == {}


def test_without_the_resource_the_defaults_hold_again(tortie: Tortie) -> None:
    tortie("apply", "-f", file(tortie, strictAffinity=True))
    assert tortie("delete", "ipamconfig", "default").code == 0
    assert tortie.entries() == {}
    tortie("apply", "-f", file(tortie))
    assert strict(tortie) == ("false", False)


def test_settings_that_nobody_can_read_are_replaced(tortie: Tortie) -> None:
    tortie.put(IPAM_CONFIG, b'{"strict_affinity": "perhaps"}')
    assert tortie("apply", "-f", file(tortie, strictAffinity=True)).code == 0
    assert strict(tortie) == ("true", True)
