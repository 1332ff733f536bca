"""What curl and wget printed where nothing failed loudly: codes, bodies, `; echo rc=$?`, each with its target."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

CURL_EXITS: Final = {"7": "refused", "28": "timeout", "35": "tls-error", "51": "tls-error", "58": "tls-error",
                     "60": "tls-error", "77": "tls-error", "56": "reset", "52": "reset"}  # fmt: skip
_TIMED_OUT: Final = "124"  # of timeout(1)
_STATUS: Final = lazily(r"(?:^|< )HTTP/[\d.]+ (\d{3})\b|awaiting response\.\.\. (\d{3})")
_CODE: Final = lazily(r'"code":\s*(\d{3})\b')
_WRITTEN: Final = lazily(r"(?<![\w.])(\d{3})(?![\w.])")
_EXIT: Final = lazily(r"^(?:[A-Za-z _$?.]{0,30}[=: >-]{0,4})?\b(\d{1,3})$")
_GOOD_BODIES: Final = ("ok", '{"health"')
_LONGEST_EXIT: Final = 60
_LONGEST_LINE: Final = 160


class Style(NamedTuple):
    """What a command makes its answers look like."""

    written: bool  # -w '%{http_code}'
    exits: bool  # echo $?


class Answer(NamedTuple):
    result: str
    exit: bool = False  # told by the exit code, which follows whatever else was printed


def style(command: str) -> Style:
    whole = "".join(command.split())  # a narrow screen breaks words
    return Style("http_code" in whole or "response_code" in whole, "$?" in whole)


def answer(said: str, form: Style, tool: str) -> Answer | None:
    """What one line tells about one target."""
    status = _STATUS.search(said)
    code = (status[1] or status[2]) if status else ""
    if not code and form.written and said[:1] not in "<>{" and (match := _WRITTEN.search(said[:_LONGEST_LINE])):
        code = match[1] if match[1] == "000" or match[1][0] in "12345" else ""
    if not code and (match := _CODE.search(said)):
        code = match[1]
    if code:
        return Answer(_unanswered(said) if code == "000" else f"http-{code}")
    if said.startswith(_GOOD_BODIES) and tool in ("curl", "wget"):
        return Answer("http-200", exit=form.exits and said[-1:].isdecimal())
    if form.exits and len(said) <= _LONGEST_EXIT and (match := _EXIT.search(said)):
        return Answer(_by_exit(match[1], tool), exit=True)
    return None


def _unanswered(said: str) -> str:
    low = said.lower()
    return "timeout" if "timed out" in low or "timeout" in low else "refused" if "refused" in low else "closed"


def _by_exit(code: str, tool: str) -> str:
    if code == "0":
        return "open"
    if code == _TIMED_OUT:
        return "timeout"
    return CURL_EXITS.get(code, "closed") if tool == "curl" else "closed"


def named(line: str, addresses: Sequence[str], done: Set[int]) -> tuple[int | None, str]:
    """The target that a line begins with, and what it says of it; the first one not told yet where several fit."""
    line = line.lstrip(" \t=#->*[")
    match = re.match(r"(?:https?://)?([\w.-]{1,253})(?::\d+)?[^\s\w.-]?\S*", line)
    places = [place for place, address in enumerate(addresses) if match and match[1] == address]
    if not match or not places:
        return None, line
    return next((place for place in places if place not in done), places[-1]), line[match.end() :].strip(" \t:=->|")
