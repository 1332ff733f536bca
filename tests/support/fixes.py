"""Commands as a reader gets them: filled with what the evidence knows."""

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.judgement.filling import common_values


def fixes(cause: str, text: str) -> list[str]:
    """The commands of a cause's fix for this evidence, in their order."""
    known = cause_named(cause)
    assert known is not None, f"there is no cause {cause}"
    shown = picture(text)
    finding = known.judge(shown)
    values = common_values(shown, finding)
    return [step.fill(values).command for step in known.fix(shown, finding) if step.command]
