"""What is checked in of the plays: recordings in both languages, and pages that say what was recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tortie.lab.faults.catalogue import fault_named
from tortie.lab.plays.catalogue import PLAYS
from tortie.lab.plays.course import course
from tortie.lab.plays.pages import LANGUAGES, pages
from tortie.lab.plays.play import Play
from tortie.lab.plays.recording import Recording, picture, read_cast
from tortie.lab.plays.showing import WIDTH, told_lines
from tortie.lab.words import Language
from tortie.model.measure import columns

DOCS = Path(__file__).parents[4] / "docs"
AGAIN = "run `make casts`"


def recording_of(play: Play, language: Language) -> Recording:
    return read_cast((DOCS / "casts" / f"{play.name}.{language}.cast").read_text())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_a_recording_is_of_the_play_as_it_is(play: Play, language: Language) -> None:
    recording = recording_of(play, language)
    fault = fault_named(play.name)
    assert fault
    chosen = LANGUAGES.index(language)
    assert recording.title == play.title[chosen]
    for act in course(play, fault):
        for pair in (act.says, act.look):
            if pair:
                assert "\n".join(told_lines(pair[chosen])) in recording.text, AGAIN
    assert f"$ tortie lab up {play.flags}" in recording.text
    assert fault.code in recording.text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_a_recording_fits_and_names_no_place_of_the_machine_it_was_made_on(play: Play, language: Language) -> None:
    text = recording_of(play, language).text
    assert all(columns(line) <= WIDTH for line in text.splitlines())
    assert not re.search(r"/tmp/|/run/tortie|/home/|/work/|/root/", text)
    for suffix in ("cast", "svg"):
        assert (DOCS / "casts" / f"{play.name}.{language}.{suffix}").stat().st_size < 60_000


def test_pages_and_pictures_are_what_was_recorded() -> None:
    recordings = {(play.name, language): recording_of(play, language) for play in PLAYS for language in LANGUAGES}
    wanted = {f"incidents/{name}": text for name, text in pages(recordings).items()}
    wanted |= {f"casts/{name}.{language}.svg": picture(each) for (name, language), each in recordings.items()}
    there = [*(DOCS / "incidents").glob("*"), *(DOCS / "casts").glob("*.svg")]
    found = {path.relative_to(DOCS).as_posix(): path.read_text() for path in there}
    stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    assert not stale, f"{AGAIN}: {', '.join(stale[:10])}"
