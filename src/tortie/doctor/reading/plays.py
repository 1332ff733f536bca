"""What ansible-playbook prints, taken apart by the hosts that its lines name: `fatal: [node-3]: FAILED! => {…}`.

A result belongs to the host in brackets, and behind an arrow to the one that the task was handed to. It ends with the
next result, with the next task, or with a blank line, unless a heading such as `STDERR:` follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily

# Build servers put the time in front.
_STAMP: Final = r"(?:(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\w.,:+-]{0,16}\s{1,3})?"
_RESULT: Final = lazily(
    rf"^{_STAMP}(?:fatal|failed|unreachable|changed|ok): \[([A-Za-z0-9][\w.-]{{0,252}})"
    r"(?: -> ([A-Za-z0-9][\w.-]{0,252})(?:\([\w.:-]{0,80}\))?)?\](?=: (?:FAILED|UNREACHABLE)| =>| \(item|\s*$)"
)
_BETWEEN: Final = lazily(rf"^{_STAMP}(?:TASK|PLAY|RUNNING HANDLER|NO MORE HOSTS|skipping:|included:|\.\.\.ignoring)")
# Headings inside of a result.
GOES_ON: Final = lazily(r"^(?:STDERR|STDOUT|MSG|MODULE_STD\w{3}|EXCEPTION):")
_HERE: Final = ("localhost", "127.0.0.1")  # the machine of whoever runs the play


def results(lines: tuple[str, ...]) -> list[tuple[int, str]]:
    """Where what begins, by index: a host's result, or something else, whose host is empty."""
    marks: list[tuple[int, str]] = []
    for index, host in _marks(lines):
        if host or marks:
            marks.append((index, host))
    return marks


def _marks(lines: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    open_ = False
    for index, line in enumerate(lines):
        if match := _RESULT.match(line):
            host = match[2] or match[1]
            open_ = host not in _HERE
            yield index, host if open_ else ""
        elif open_ and (_BETWEEN.match(line) or _over(lines, index)):
            open_ = False
            yield index, ""


def _over(lines: tuple[str, ...], index: int) -> bool:
    """After a blank line something else begins; a heading alone in between is the result's own."""
    if lines[index].strip():
        return bool(index) and not lines[index - 1].strip() and not _headed(lines, index)
    return False


def _headed(lines: tuple[str, ...], index: int) -> bool:
    """The line is such a heading, or the first one below it."""
    above = next((line for line in reversed(lines[max(0, index - 3) : index]) if line.strip()), "")
    return bool(GOES_ON.match(lines[index]) or GOES_ON.match(above))
