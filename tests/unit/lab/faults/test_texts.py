"""What is said about faults, in both languages, and the proof in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.lab.test_words import has_chinese, placeholders

import tortie.lab.faults
from tortie.cli.lab.fault_progress import refuse_unhealed
from tortie.cli.lab.talk import Talk, spoken
from tortie.lab.failures import LabFailure, at, in_short, phrase
from tortie.lab.faults.catalogue import FAULTS, anything_named, names
from tortie.lab.faults.decoys import DECOYS
from tortie.lab.faults.engine import Healed
from tortie.lab.faults.fault import Fault
from tortie.lab.faults.phrases import FAULT_PHRASES
from tortie.lab.faults.proof import Fingerprint, compared, not_yet, shown
from tortie.lab.faults.words import FAULT_TEXTS
from tortie.lab.registry import LabFolder
from tortie.model.measure import columns

SOURCES = sorted(Path(tortie.lab.faults.__path__[0]).glob("*.py"))


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
    assert shown("en", compared(before, now)).splitlines() == [
        'node-1: links docker0: ["bridge", 1500] instead of nothing',
        'node-1: links eth0: ["veth", 1400] instead of ["veth", 1500]',
        'node-1: links lo: nothing instead of ["", 65536]',
        "node-1: routes: default via 10.77.0.254 is missing",
        "node-1: routes: 10.0.0.0/8 is new",
    ]
    assert shown("zh", compared(before, now)).splitlines() == [
        'node-1：网络接口 docker0：现为 ["bridge", 1500]，原为 无',
        'node-1：网络接口 eth0：现为 ["veth", 1400]，原为 ["veth", 1500]',
        'node-1：网络接口 lo：现为 无，原为 ["", 65536]',
        "node-1：路由：缺少 default via 10.77.0.254",
        "node-1：路由：多出 10.0.0.0/8",
    ]
    assert compared(before, before) == []


def test_a_part_that_another_version_wrote_down_keeps_its_name() -> None:
    assert shown("zh", compared({"node-1": {"clocks": ["tai"]}}, {"node-1": {}})) == (
        'node-1：clocks：现为 无，原为 ["tai"]'
    )


def test_readiness() -> None:
    before = {"node-1": True, "node-2": False, "node-1 - node-2": True}
    assert not_yet(before, {"node-1": True, "node-1 - node-2": False}) == ["node-1 - node-2"]
    assert not_yet(before, {"node-1": True, "node-1 - node-2": True}) == []


def test_long_lists_are_cut() -> None:
    remains = [str(number) for number in range(20)]
    assert shown("en", remains).splitlines()[-1] == "… 12 more"
    assert shown("zh", remains).splitlines()[-1] == "……另有 12 项"


def test_heal_says_what_remains_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    covered = at("node-1", phrase("covered", path="/etc/hosts"))
    failed = LabFailure("deed-failed", what=phrase("program-endless", command="nft -f -", seconds=20))
    healed = Healed(remains=(covered, at(phrase("deed", deed="Filter"), in_short(failed))))

    def work(talk: Talk) -> int:
        refuse_unhealed(talk, LabFolder("/nowhere/demo"), healed, 0.0)
        return 0

    code = spoken(work, name=None, lang="zh", output="text", color="never", forms=("text", "json"))
    assert code == 1
    assert capsys.readouterr().err == (
        "错误：实验环境 demo 未恢复原状\n"
        "  原因：node-1：/etc/hosts 仍被遮盖\n"
        "        改动 Filter：故障的一部分无法执行：nft -f -：20 秒后仍未结束\n"
        "  办法：`tortie lab heal --name demo` 可重试；`tortie lab down` 和 `up` 可全部重建\n"
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_phrase_is_said_with_its_values(path: Path) -> None:
    for key, values in phrases_in(path):
        assert placeholders(FAULT_PHRASES[key].en) == values, f"line with {key}"


def test_no_phrase_is_said_by_nobody() -> None:
    text = "".join(path.read_text() for path in SOURCES if path.name != "phrases.py")
    text += (SOURCES[0].parents[1] / "failures.py").read_text()
    unsaid = [key for key in FAULT_PHRASES if f'"{key}"' not in text]
    assert all(key.startswith("part.") for key in unsaid)


def phrases_in(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Keys that are written down, with the names of their values."""
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("phrase", "refuse"):
            key = call.args[-1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, {each.arg for each in call.keywords if each.arg}
