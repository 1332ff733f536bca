"""Evidence as text, judged: what tests of readers and causes begin with."""

from __future__ import annotations

from textwrap import dedent

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import Finding
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.filling import common_values
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.cleaning import lines_of
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted


def source(text: str, name: str = "evidence.txt") -> Source:
    """A text as sources are opened: cleaned and without secrets."""
    return Source(name, tuple(redacted(lines_of(dedent(text).strip("\n")))))


def picture(text: str) -> Picture:
    return picture_of([source(text)])


def finding(cause: str, text: str | dict[str, str]) -> Finding:
    """What one cause says about this evidence: a paste, or the files of a bundle."""
    known = cause_named(cause)
    assert known is not None, f"there is no cause {cause}"
    files = {"evidence.txt": text} if isinstance(text, str) else text
    return known.judge(picture_of([source(lines, name) for name, lines in files.items()]))


def fixes(cause: str, text: str) -> list[str]:
    """The commands that mend it, filled as they are handed to people."""
    known, seen = cause_named(cause), picture(text)
    assert known is not None, f"there is no cause {cause}"
    judged = known.judge(seen)
    values = common_values(seen, judged)
    return [step.fill(values).command for step in known.fix(seen, judged)]
