"""What an application brings upon itself, while the network is shown to carry everything: no complaint about Calico."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.judgement.standing import Standing
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.readers.statements import Sentence
from tortie.doctor.reading.readers.statements import said as stated

# "Code 200 : 120000 (100.0 %)", as load generators count their answers; -1 is none.
_CODES: Final = lazily(r"\bCode +(-?\d+) *: *(\d+) *\(")
_OWN: Final = lazily(
    r"java\.lang\.(?:OutOfMemoryError|StackOverflowError)|GC overhead limit|JavaScript heap out of memory"
    r"|NullPointerException|connection pool (?:is )?exhausted|HikariPool-\d+ - Connection is not available"
)
_OF_ONE: Final = lazily(
    r"\b50[0234]s?\b[^.;]{0,20}?\b(?:of|from|in|by|with) (?:one|a single|an|this) (?:\w+ )?(?:app|application|service|"
    r"deployment)\b(?!s)|(?:一个|某个|个别|单个)(?:应用|服务)[^，。；]{0,12}?50[0234]",
    re.IGNORECASE,
)
_CLAUSE: Final = lazily(r"(?<=[,，;；:：。()（）])|\b(?:and|but)\b")


def loads_passed(picture: Picture) -> bool:
    """A load generator counted its answers, and all of them were good."""
    codes = [match for one in picture.exhibits for line in one.lines for match in _CODES.finditer(line)]
    return bool(codes) and all(match[1] == "200" and match[2] != "0" for match in codes)


def brought_upon_itself(complaint: str, picture: Picture, now: Standing) -> bool:
    """Errors of one application that names its own reason, beside loads that passed without a single one."""
    if not now.well or not _OF_ONE.search(complaint) or not loads_passed(picture):
        return False
    if not any(_OWN.search(line) for one in picture.exhibits for line in one.lines):
        return False
    rest = (clause for clause in _CLAUSE.split(complaint) if not _OF_ONE.search(clause))
    return not any(kind == "suffers" for clause in rest for kind, _ in stated(Sentence(clause.strip(), 0, 0)))
