"""People copy the doctor's commands: nothing that stands in evidence may become part of them and run."""

from __future__ import annotations

import re

import pytest
from tests.support.doctor import picture
from tests.support.doctor_cases import Case, cases

from tortie.doctor.judgement.judge import judge
from tortie.doctor.picture.facts import HostFile, Interface, Setting
from tortie.doctor.picture.picture import Picture

POISONS = (";reboot", "$(reboot)", "|reboot", "&reboot", "`reboot`")


def names(seen: Picture) -> set[str]:
    """What machines, pods, links, files and values are called in this evidence."""
    found = {*seen.nodes_now(), *seen.calico_nodes(), *(pod.name for pod in seen.pods_now())}
    found |= {link.name for link in seen.of(Interface)} | {file.name for file in seen.of(HostFile)}
    found |= {setting.value for setting in seen.of(Setting) if re.fullmatch(r"[\w.:/@-]{6,60}", setting.value)}
    return {name for name in found if len(name) > 3}


def commands(seen: Picture) -> list[str]:
    diagnosis = judge(seen)
    answers = [*diagnosis.causes, *diagnosis.unrelated]
    return [
        *(step.command for answer in answers for step in (*answer.fix, *answer.cause.verify)),
        *(question.command for question in diagnosis.next),
    ]


@pytest.mark.parametrize(("number", "case"), list(enumerate(cases())), ids=lambda value: str(value))
def test_names_in_evidence_cannot_become_commands(number: int, case: Case) -> None:
    poison = POISONS[number % len(POISONS)]
    longest = sorted(names(picture(case.text)), key=len, reverse=True)[:60]
    if not longest:
        return
    pattern = re.compile("|".join(map(re.escape, longest)))
    poisoned = pattern.sub(lambda match: match[0] + poison, case.text)
    assert all(poison not in command for command in commands(picture(poisoned)))
