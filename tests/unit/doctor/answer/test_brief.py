"""Three lines for a chat: what, where, fix. Whatever the verdict, and with commands that can be copied."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture
from tests.unit.doctor.answer.test_forms import BRIDGE, CASES, HEALTHY, LANGUAGES, OPEN

from tortie.doctor.answer import forms
from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.judgement.judge import judge
from tortie.doctor.words import Language
from tortie.model.errors import UsageError


def brief(text: str, language: Language = "en", *, colour: bool = False) -> tuple[Diagnosis, list[str]]:
    seen = picture(text)
    diagnosis = judge(seen)
    told = forms.form("text", brief=True)(diagnosis, seen, language, colour=colour)
    assert told.endswith("\n")
    return diagnosis, told.splitlines()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", CASES)
def test_there_are_three_lines(verdict: str, language: Language) -> None:
    _, lines = brief(CASES[verdict], language)
    assert len(lines) == 3
    assert all(line.strip() == line and line for line in lines)


def test_a_cause_is_named_with_its_place_and_the_whole_command_of_its_fix() -> None:
    diagnosis, (what, where, fix) = brief(BRIDGE)
    first = diagnosis.causes[0]
    assert what.startswith(f"CAUSE FOUND: {first.cause.code} ")
    assert "172.17.0.1" in where
    assert "evidence.txt:" in where
    assert fix.endswith(f": {first.fix[0].command}")
    assert f"[{first.fix[0].risk}]" in fix


def test_a_healthy_cluster_says_what_was_covered() -> None:
    _, (what, covered, then) = brief(HEALTHY)
    assert what.startswith("HEALTHY: ")
    assert covered == "Checked: 1 calico-node pod, ready; 1 node, Ready"
    assert then.endswith(": tortie doctor collect | bash > bundle.txt; tortie doctor bundle.txt")


def test_undetermined_quotes_what_is_not_explained_and_says_what_to_run() -> None:
    diagnosis, (what, line, then) = brief(OPEN)
    assert what.startswith("UNDETERMINED: ")
    assert "evidence.txt:3 calico-node-aaaaa 0/1 CrashLoopBackOff" in line
    assert then.endswith(diagnosis.next[0].command)


def test_a_line_that_no_symptom_was_made_of_is_quoted_as_well() -> None:
    _, (what, line, _) = brief(HEALTHY + "\n$ tail -1 /var/log/thing.log\npanic: runtime error: index out of range\n")
    assert what.startswith("UNDETERMINED: ")
    assert "panic: runtime error: index out of range" in line


def test_commands_are_the_same_in_chinese() -> None:
    _, (*_, english) = brief(BRIDGE)
    _, (*_, chinese) = brief(BRIDGE, "zh")
    assert chinese.startswith("修复 1/")
    assert english.split(": ", 1)[1] == chinese.split("：", 1)[1]


def test_only_the_verdict_has_a_colour() -> None:
    _, lines = brief(BRIDGE, colour=True)
    assert lines[0].startswith("\x1b[31m")
    assert not any("\x1b" in line for line in lines[1:])


@pytest.mark.parametrize("form", [form for form in forms.FORMS if form != "text"])
def test_brief_is_a_form_of_text_only(form: str) -> None:
    with pytest.raises(UsageError, match=f"--brief with -o {form}"):
        forms.form(form, brief=True)
