"""Which complaints still stand: what a person says to be broken blocks `healthy`, unless the same person takes it back.

A complaint is over only by its author's later words in the same text, and only these two ways:

- it is told of another day, or in the past tense, and later it is said to be repaired, without an "again" behind it;
- it is quoted of somebody else, and the author says in the own voice that nothing is wrong.

Each complaint is judged alone: another one that is of today stands, whatever was repaired before.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.hearsay import of_the_past, returns
from tortie.doctor.reading.readers.statements import Sentence, sentences
from tortie.doctor.reading.readers.statements import said as stated

_PAST_TENSE: Final = lazily(
    r"\b(?:could(?: not|n't)|did(?: not|n't)|was|were|went|failed|lost|had|timed out|kept)\b", re.IGNORECASE
)
_PRESENT: Final = lazily(
    r"\b(?:can ?not|can't|do(?:es)?(?: not|n't)|is|are|has|have|fails?|times? out|keeps?|gets?|hangs?|now|today|still|"
    r"currently|since|anymore|any more)\b",
    re.IGNORECASE,
)
_OTHERS: Final = lazily(
    r"\b(?:some(?:one|body)|colleagues?|a user|users|customers?|a client|people|support|manager|boss|team|they|he|she)"
    r"\b[^.;]{0,60}?(?:\bsa(?:ys?|id)\b|\bclaim|\breport|\bwr(?:ote|ites?)\b|\bask|\bcomplain|\bthinks?\b|\bbelieve|:)"
    r"|(?:有人|同事|客户|用户|领导|老板|群里|业务方|运维|开发|测试|别人|他|她|值班)[^。；]{0,40}?(?:说|反馈|报|喊|称|认为|觉得|问|@)",
    re.IGNORECASE,
)
_QUOTED: Final = lazily(r"[\"“「『][^\"”」』]{2,200}[\"”」』]")


def standing_complaints(picture: Picture) -> list[Statement]:
    """What people say to be broken, without what its author has taken back."""
    return [one for one in picture.said("suffers") if not _repaired(one, picture) and not _denied(one, picture)]


def is_over(complaint: Statement, picture: Picture) -> bool:
    """Told in the past tense, and behind it that all is well; for a cluster that is shown to be so."""
    return _in_the_past_tense(complaint.text) and bool(_later(complaint, picture.said("says-well")))


def _repaired(complaint: Statement, picture: Picture) -> bool:
    past = of_the_past(complaint.text)
    if not past and not _in_the_past_tense(complaint.text):
        return False
    mended, well = _later(complaint, picture.said("mended")), _later(complaint, picture.said("says-well"))
    if not mended or _is_back(mended[0], {one.text for one in (*mended, *well)}, picture):
        return False
    return past or bool(well)


def _in_the_past_tense(text: str) -> bool:
    return _PAST_TENSE.search(text) is not None and _PRESENT.search(text) is None


def _is_back(mended: Statement, good: set[str], picture: Picture) -> bool:
    """Does the person say behind the repair that it is there again? "Works again" is good news."""
    behind = False
    for exhibit in picture.exhibits:
        if exhibit.prose and exhibit.source == mended.place.source:
            for sentence in sentences(exhibit.lines):
                behind = behind or sentence.text == mended.text
                if behind and sentence.text not in good and returns(sentence.text):
                    return True
    return False


def _denied(complaint: Statement, picture: Picture) -> bool:
    """Somebody else's words, in quotes, and the author's own are that all is well."""
    quotes = [match.start() for match in _QUOTED.finditer(complaint.text)]
    speaker = _OTHERS.search(complaint.text)
    if not quotes or speaker is None or speaker.start() > quotes[-1]:
        return False
    own = list(stated(Sentence(_QUOTED.sub("", complaint.text), complaint.place.first, complaint.place.last)))
    if any(kind == "suffers" for kind, _ in own):
        return False  # the author complains, too
    return any(kind == "says-well" for kind, _ in own) or bool(_later(complaint, picture.said("says-well")))


def _later(complaint: Statement, others: list[Statement]) -> list[Statement]:
    """What the same text says behind the complaint, on the same line at the earliest."""
    return [
        one
        for one in others
        if one.place.source == complaint.place.source
        and one.place.first >= complaint.place.first
        and one.text != complaint.text
    ]
