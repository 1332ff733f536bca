"""Commands that are handed to people: what interrupts is said to, and a placeholder is one thing to fill in."""

from __future__ import annotations

import re

import pytest

from tortie.doctor.causes.catalogue import all_causes
from tortie.doctor.causes.cause import Cause
from tortie.doctor.knowledge import general_fix

INTERRUPTS = re.compile(
    r"systemctl restart|rollout restart|firewall-cmd --reload|\bset env ds|\bpatch ds|\bedit ds|\bdrain\b|reboot"
    r"|swapoff|check perf|defrag|patch felixconfiguration|delete pod (?!--field-selector status\.phase=Failed)"
)
NESTED = re.compile(r"<[\w' ./-]*<[\w' ./-]+>")


def code_of(cause: Cause) -> str:
    return cause.code


@pytest.mark.parametrize("cause", all_causes(), ids=code_of)
def test_what_interrupts_is_never_called_safe(cause: Cause) -> None:
    for step in general_fix(cause):
        assert step.risk == "disruptive" or not INTERRUPTS.search(step.command), step
    for command in (cause.ask.command, *(step.command for step in cause.verify)):
        assert not INTERRUPTS.search(command), command


@pytest.mark.parametrize("cause", all_causes(), ids=code_of)
def test_no_placeholder_stands_inside_another(cause: Cause) -> None:
    steps = (*general_fix(cause), *cause.verify)
    for text in (
        cause.ask.command,
        *(step.command for step in steps),
        *(text for step in steps for text in (step.text.en, step.text.zh)),
    ):
        assert not NESTED.search(text), text
