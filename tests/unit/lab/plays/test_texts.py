"""Every play says all it has to say in both languages, in 80 columns, and rests on a fault that there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tortie.lab.faults.catalogue import FAULTS, fault_named
from tortie.lab.plays.catalogue import PLAYS, names, play_named
from tortie.lab.plays.course import course
from tortie.lab.plays.play import Act, Play, Show
from tortie.lab.plays.showing import WIDTH, told_lines, typed_lines
from tortie.lab.words import Pair
from tortie.model.measure import columns

THE_EIGHT = (
    "overloaded",
    "docker-bridge",
    "far-datastore",
    "stuck-runtime",
    "swap-on",
    "second-nic",
    "unstable-etcd",
    "stuck-migration",
)


def acts_of(play: Play) -> list[Act]:
    fault = fault_named(play.name)
    assert fault
    return list(course(play, fault))


def shows_of(play: Play) -> Iterator[Show]:
    for act in acts_of(play):
        yield from act.shows


def texts_of(play: Play) -> Iterator[Pair]:
    yield from (play.title, play.story, play.why, play.prevention, play.instead)
    for act in acts_of(play):
        yield from (act.title, act.says)
        if act.look:
            yield act.look
        yield from (show.awaits for show in act.shows if show.awaits)


def test_there_is_one_play_for_each_of_the_eight_incidents() -> None:
    assert tuple(names()) == THE_EIGHT
    numbers = [fault.incident for name in names() if (fault := fault_named(name))]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8]
    assert play_named("no-such-play") is None


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_a_play_is_told_in_both_languages(play: Play) -> None:
    for pair in texts_of(play):
        assert pair.en.isascii() or set(re.sub("[\x00-\x7f]", "", pair.en)) <= set("…"), pair.en
        assert re.search("[\u4e00-\u9fff]", pair.zh), pair.zh
        assert not re.search("[\u4e00-\u9fff][,;:!?]", pair.zh), f"a sign of the other language: {pair.zh}"
        for text in pair:
            assert all(columns(line) <= WIDTH for line in told_lines(text))
            assert "  " not in text
    number = re.match(r"Incident (\d): ", play.title.en)
    assert number
    assert play.title.zh.startswith(f"事件 {number[1]}：")
    assert columns(play.title.en) <= WIDTH - 20
    assert columns(play.title.zh) <= WIDTH - 20


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_what_is_typed_fits_and_patterns_are_patterns(play: Play) -> None:
    for show in shows_of(play):
        words = show.command.replace("{pod}", "calico-node-x7k2p").replace("{pod node-1}", "calico-node-x7k2p").split()
        assert "{" not in " ".join(words)
        assert words[0] in ("lab", "doctor")
        for named in (words, [*words[:2], "--name", "play-stuck-migration", *words[2:]]):
            lines = typed_lines(named, show)
            assert all(columns(line) <= WIDTH for line in lines)
            joined = " ".join(line.removesuffix("\\").strip() for line in lines)
            assert joined.startswith("$ tortie " + " ".join(named))
        for pattern in (show.grep, show.until):
            re.compile(pattern)
        assert "'" not in show.grep
        assert show.within_s <= 60


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_a_play_names_machines_that_its_lab_has(play: Play) -> None:
    count = int(re.search(r"--nodes (\d)", play.flags)[1])  # type: ignore[index]
    nodes = {f"node-{number}" for number in range(1, count + 1)}
    assert "--classic " in play.flags
    assert not play.node or play.node in nodes
    mentioned = {name for show in shows_of(play) for name in re.findall(r"\bnode-\d\b", show.command)}
    assert mentioned <= nodes


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_the_course_of_a_play(play: Play) -> None:
    fault = fault_named(play.name)
    assert fault
    typed = [show.command for show in shows_of(play)]
    up, broken = typed.index(f"lab up {play.flags}"), next(n for n, each in enumerate(typed) if "lab break" in each)
    judged, healed = typed.index("doctor --lab"), typed.index("lab heal")
    assert up < broken < judged < healed < len(typed) - 1
    assert typed.count("doctor --lab") == 2
    verdict = next(show for show in shows_of(play) if show.command == "doctor --lab")
    assert re.search(verdict.until, f"CAUSE FOUND: {fault.code} {fault.cause}: …")
    assert re.search(verdict.until, f"已找到原因：{fault.code} {fault.cause}：…")
    assert not re.search(verdict.until, f"HEALTHY: nothing is wrong now.\n\nRuled out\n {fault.code}\n")
    assert bool(play.own_flags) == fault.spared
    if fault.spared:
        own = typed.index(f"lab up {play.own_flags}")
        assert healed < own
        assert "--classic" not in play.own_flags
        assert any("lab break" in each for each in typed[own:])


def test_every_incident_of_the_catalogue_has_a_play() -> None:
    assert {fault.name for fault in FAULTS if fault.incident} == set(THE_EIGHT)
