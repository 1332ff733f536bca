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
from tortie.doctor.reading.hearsay import asks_inside, of_the_past, returns
from tortie.doctor.reading.readers.statements import Sentence, sentences
from tortie.doctor.reading.readers.statements import said as stated

_PAST_TENSE: Final = lazily(
    r"\b(?:could(?: not|n't)|did(?: not|n't)|was|were|went|failed|lost|had|timed out|kept|looked|seemed)\b",
    re.IGNORECASE,
)
_PRESENT: Final = lazily(
    r"\b(?:can ?not|can't|do(?:es)?(?: not|n't)|is|are|has|have|fails?|times? out|keeps?|gets?(?! [\"“]?http)|"
    r"hangs?|now|today|still|"
    r"currently|since|anymore|any more)\b",
    re.IGNORECASE,
)
_OTHERS: Final = lazily(
    r"\b(?:some(?:one|body)|colleagues?|a user|users|customers?|a client|people|support|manager|boss|team|they|he|she|"
    r"audit(?:ors?)?|scanner|tickets?|monitoring|alerts?|alarms?|dashboards?|checks?)"
    r"\b[^.;]{0,60}?(?:\bsa(?:ys?|id)\b|\bclaim|\breport|\bwr(?:ote|ites?)\b|\bask|\bcomplain|\bthinks?\b|\bbelieve|:)"
    r"|\b(?:words?|strings?|patterns?|keywords?|terms?)(?= [\"“])"
    r"|(?:有人|同事|客户|用户|领导|老板|群里|业务方|运维|开发|测试|别人|他|她|值班|审计|监控|巡检|"
    r"安全)[^。；]{0,40}?(?:说|反馈|报|喊|称|认为|觉得|问|告警|@)"
    r"|关键[字词](?=[：: ]?[\"“「])",
    re.IGNORECASE,
)
_QUOTED: Final = lazily(r"[\"“「『][^\"”」』]{2,200}[\"”」』]")

_CLOCKED: Final = lazily(
    r"\W{0,4}\d{1,2}:\d\d(?::\d\d)?(?: ?[-–—~至到] ?\d{1,2}:\d\d)?(?! ?[AP]M\b)[ ，,]{1,4}"
    r"(?!@?(?!alert|alarm|page[rd]?\b|monitoring|incident|symptom|impact)\w{1,24}[:：])"
)
_AFTERWARDS: Final = lazily(
    r"\b(?:at|from|during|after|since|before) (?:the time of )?(?:the|that|this|our) (?:\w+ )?"
    r"(?:outage|incident|crash)\b",
    re.IGNORECASE,
)
_RECURS: Final = lazily(
    r"\bevery (?:single )?(?:night|morning|evening|day|hour|week|few (?:minutes|hours|days)|\d+ (?:minutes|hours))\b"
    r"|\beach (?:night|morning|evening|day|hour)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day to \w+day\b"
    r"|每(?:天|晚|夜|小时|周|隔)[^，。；]{0,10}(?!检|巡|查)",
    re.IGNORECASE,
)
_LASTS: Final = lazily(
    r"\b(?:since|still|now|currently|today|again|keeps?|every|always|often|sometimes)\b|一直|现在|目前|仍|还在|又|今天|经常",
    re.IGNORECASE,
)
_CLAUSE: Final = lazily(r"(?<=[,，;；:：。])|\b(?:and|but|while)\b")
_WORDS: Final = lazily(
    r"\b(?<!exec and )(?<!kubectl )(?:logs|logged|logging|log (?:lines?|files?|messages?|is|was)|messages?|warnings?|"
    r"alerts?|alarms?|red (?:stuff|lines?|entries|text)(?= in )|"
    r"monitoring|dashboards?|prints?|printed|events?|scripts?|audit\w*|"
    r"kibana|grafana(?! shows)|prometheus(?! shows)|spam\w*|flood\w*)\b|日志|告警|报警|监控|大盘|打印|刷屏|刷下面|"
    r"提示|脚本|巡检|事件",
    re.IGNORECASE,
)


def standing_complaints(picture: Picture) -> list[Statement]:
    """What people say to be broken, without what its author has taken back; or that they look for a cause at all."""
    complaints = picture.said("suffers")
    if not complaints and not picture.said("mended", "asks-if-normal"):
        complaints = picture.said("seeks-help")
    return [one for one in complaints if not _repaired(one, picture) and not _denied(one, picture)]


def is_over(complaint: Statement, picture: Picture) -> bool:
    """Told in the past tense, and behind it that all is well or mended; for a cluster that is shown to be so."""
    if not of_the_past(complaint.text) and not _in_the_past_tense(complaint.text):
        return False
    if _LASTS.search(_caption(complaint, picture)) or _recurs(picture):
        return False
    mended = _later(complaint, picture.said("mended"))
    well = _later(complaint, picture.said("says-well", "asks-if-normal"))
    return bool(well) or (bool(mended) and not _is_back(mended[0], {one.text for one in mended}, picture))


def _recurs(picture: Picture) -> bool:
    """It happens at certain hours: what is over now comes back."""
    told = (line for exhibit in picture.exhibits if exhibit.prose for line in exhibit.lines)
    return any(_RECURS.search(line) for line in told)


def _caption(complaint: Statement, picture: Picture) -> str:
    """What announces it: the words of a program have no tense of their own."""
    before = ""
    for exhibit in picture.exhibits:
        if exhibit.prose and exhibit.source == complaint.place.source:
            for sentence in sentences(exhibit.lines):
                if sentence.text == complaint.text:
                    return before if before.endswith((":", "：")) else ""
                before = sentence.text
    return ""


def is_about_words(complaint: str, picture: Picture, widely_seen: bool) -> bool:
    """Of what a log or an alarm says, not of what anybody suffers; and all is shown, said or hoped to be well."""
    if not widely_seen and not picture.said("says-well", "asks-if-normal"):
        return False
    clauses = _CLAUSE.split(complaint)
    rest = [clause for clause in clauses if not _WORDS.search(clause)]
    return len(rest) < len(clauses) and not any(
        kind == "suffers" for one in rest for kind, _ in stated(Sentence(one.strip(), 0, 0))
    )


def _repaired(complaint: Statement, picture: Picture) -> bool:
    past = of_the_past(complaint.text)
    if not past and not _in_the_past_tense(complaint.text):
        return False
    mended, well = _later(complaint, picture.said("mended")), _later(complaint, picture.said("says-well"))
    if not mended or _is_back(mended[0], {one.text for one in (*mended, *well)}, picture):
        return False
    return past or bool(well)


def _in_the_past_tense(text: str) -> bool:
    """Or as an entry of a timeline: "13:31 all peers time out"; or as what something else came after."""
    if _CLOCKED.match(text) or _AFTERWARDS.search(text):
        return True
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
    if complaint.text.startswith("> ") and _later(complaint, picture.said("says-well", "mended")):
        return True  # an alarm, or a mail, that is quoted as a whole
    quotes = [match.start() for match in _QUOTED.finditer(complaint.text)]
    speaker = _OTHERS.search(complaint.text)
    asked = complaint.text.rstrip().endswith(("?", "？")) or asks_inside(complaint.text)
    if speaker is not None and asked and _later(complaint, picture.said("says-well")):
        return True  # "a colleague says that … is slow, shall we …?"
    if not quotes or speaker is None or speaker.start() > quotes[-1]:
        return False
    own = list(stated(Sentence(_QUOTED.sub("", complaint.text), complaint.place.first, complaint.place.last)))
    if any(kind == "suffers" for kind, _ in own):
        return False  # the author complains, too
    if any(kind == "says-well" for kind, _ in own):
        return True
    return bool(_later(complaint, picture.said("says-well", "asks-if-normal")))


def _later(complaint: Statement, others: list[Statement]) -> list[Statement]:
    """What the same text says behind the complaint, on the same line at the earliest."""
    return [
        one
        for one in others
        if one.place.source == complaint.place.source
        and one.place.first >= complaint.place.first
        and one.text != complaint.text
    ]
