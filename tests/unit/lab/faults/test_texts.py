"""What is said about faults, in both languages, and the proof in words."""

from __future__ import annotations

import re

import pytest
from tests.unit.lab.test_words import has_chinese, placeholders

from tortie.lab.faults.catalogue import FAULTS, anything_named, names
from tortie.lab.faults.decoys import DECOYS
from tortie.lab.faults.fault import Fault
from tortie.lab.faults.proof import Fingerprint, compared, not_yet, shown
from tortie.lab.faults.words import FAULT_TEXTS
from tortie.model.measure import columns


@pytest.mark.parametrize("key", FAULT_TEXTS)
def test_both_languages_have_the_same_values(key: str) -> None:
    pair = FAULT_TEXTS[key]
    assert placeholders(pair.en) == placeholders(pair.zh)
    assert has_chinese(pair.zh) or not re.search("[a-z]", re.sub(r"\{.*?\}", "", pair.zh))


@pytest.mark.parametrize("fault", [*FAULTS, *DECOYS], ids=lambda fault: fault.name)
def test_a_fault_says_what_it_is(fault: Fault) -> None:
    assert re.fullmatch(r"[a-z0-9-]{3,24}", fault.name)
    assert columns(fault.summary.en) <= 70
    assert columns(fault.summary.zh) <= 70
    assert fault.shows.en
    assert has_chinese(fault.summary.zh)
    assert has_chinese(fault.shows.zh)
    assert bool(fault.cause) == (fault not in DECOYS)
    assert re.fullmatch(r"TRT\d{4}", fault.code) if fault.cause else not fault.code
    assert anything_named(fault.name) is fault


def test_names_are_unique_and_enough() -> None:
    every = [*names(), *(decoy.name for decoy in DECOYS)]
    assert len(set(every)) == len(every)
    assert len(names()) >= 25
    assert {fault.incident for fault in FAULTS} >= set(range(1, 9))


def test_differences_are_named() -> None:
    before: dict[str, Fingerprint] = {
        "node-1": {"links": {"eth0": ["veth", 1500], "lo": ["", 65536]}, "routes": ["default via 10.77.0.254"]},
        "gone": {"links": {}},
    }
    now: dict[str, Fingerprint] = {
        "node-1": {"links": {"eth0": ["veth", 1400], "docker0": ["bridge", 1500]}, "routes": ["10.0.0.0/8"]},
        "new": {"links": {}},
    }
    assert compared(before, now) == [
        'node-1: links docker0: ["bridge", 1500] instead of nothing',
        'node-1: links eth0: ["veth", 1400] instead of ["veth", 1500]',
        'node-1: links lo: nothing instead of ["", 65536]',
        "node-1: routes: default via 10.77.0.254 is missing",
        "node-1: routes: 10.0.0.0/8 is new",
    ]
    assert compared(before, before) == []


def test_readiness() -> None:
    before = {"node-1": True, "node-2": False, "node-1 - node-2": True}
    assert not_yet(before, {"node-1": True, "node-1 - node-2": False}) == ["node-1 - node-2"]
    assert not_yet(before, {"node-1": True, "node-1 - node-2": True}) == []


def test_long_lists_are_cut() -> None:
    assert shown([str(number) for number in range(20)]).splitlines()[-1] == "… 12 more"
