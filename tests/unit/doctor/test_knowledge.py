"""What is told of a cause without evidence: complete, in both languages, and Markdown that says what it means."""

from __future__ import annotations

import re

import pytest

from tortie.doctor.causes.catalogue import all_causes, cause_named
from tortie.doctor.causes.cause import Cause
from tortie.doctor.knowledge import general_fix, index, page, pages

CAUSES = all_causes()


def code_of(cause: Cause) -> str:
    return cause.code


@pytest.mark.parametrize("cause", CAUSES, ids=code_of)
def test_a_fix_can_be_told_without_a_picture(cause: Cause) -> None:
    steps = general_fix(cause)
    assert steps
    for step in (*steps, *cause.verify):
        assert step.text.en.strip()
        assert step.text.zh.strip()
        assert "None" not in step.command


@pytest.mark.parametrize("cause", CAUSES, ids=code_of)
def test_look_alikes_are_causes_too(cause: Cause) -> None:
    assert [id_ for id_, _ in cause.look_alikes if cause_named(id_) is None] == []
    assert cause.id not in dict(cause.look_alikes)


@pytest.mark.parametrize("cause", CAUSES, ids=code_of)
def test_nothing_in_the_text_of_a_page_is_taken_for_markup(cause: Cause) -> None:
    for text in (page(cause, "en"), page(cause, "zh")):
        prose = re.sub(r"^ *```.*?^ *```$|`` .*? ``|`[^`]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        assert re.findall(r"(?<!\\)<\w[^>]*>", prose) == []


def test_a_page_alone_has_no_links_and_one_among_others_has() -> None:
    cause = next(cause for cause in CAUSES if cause.look_alikes)
    other = cause_named(cause.look_alikes[0][0])
    assert other is not None
    assert "](" not in page(cause, "en")
    assert f"[{other.code}]({other.code}.md)" in page(cause, "en", linked=True)
    assert f"](../zh/{cause.code}.md)" in page(cause, "en", linked=True)
    assert f"](../en/{cause.code}.md)" in page(cause, "zh", linked=True)


def test_every_cause_has_a_page_and_a_row_in_both_languages() -> None:
    texts = pages(CAUSES)
    assert len(texts) == 2 * len(CAUSES) + 2
    assert texts["zh/README.md"] == index(CAUSES, "zh")
    assert all(f"({cause.code}.md)" in texts["en/README.md"] for cause in CAUSES)
