"""Does the person only want to know whether all is well? Who tells a story without such a question has a trouble.

Nobody can list all words for trouble. Those for a question are few: "is that a problem?", "please confirm", 要不要管.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.hearsay import asks_inside, meant_to_fail, was_meant, without_intentions
from tortie.doctor.reading.prose import far_east
from tortie.doctor.reading.readers.statements import Sentence, sentences
from tortie.doctor.reading.readers.statements import said as stated

_YES_OR_NO: Final = lazily(
    r"(?:^|[,;:.)(—–-] ?|\b(?:and|or|so|but|then) )(?:is|are|am|was|were|do|does|did|should|shall|can|could|may|must|"
    r"will|would|has|have|had|isn't|aren't|doesn't|don't|shouldn't) (?:the|this|that|these|those|it|there|they|my|our|"
    r"your|i|we|all|any|anything|everything|something|each|every|both|a|an|calico|felix|bird|bgp|traffic|pods?|"
    r"nodes?)\b",
    re.IGNORECASE,
)
_LEFT: Final = lazily(
    r"\b(?:anything|something|any \w+) (?:else )?(?:left|missing|remain|to (?:do|check|fix|worry))", re.IGNORECASE
)
_YES_OR_NO_ZH: Final = lazily(r"[吗么](?:[?？。！!，,）)]|$)(?<!什么[?？。！!，,）)])(?<!怎么[?？。！!，,）)])")
_PLEASE: Final = lazily(
    r"\b(?:please|pls|kindly|could (?:you|somebody|someone|anybody)|can (?:you|somebody|someone|anybody)) (?:\w+ )?"
    r"(?:check|review|confirm|verify|have a (?:\w+ )?look|tell (?:me|us))\b"
    r"|\b(?:just|only|merely) (?:checking|asking|curious|wondering|to be (?:sure|safe))\b|\bto be (?:sure|safe)\b"
    r"|\b(?:second opinion|sanity[- ]check\w*|(?:second|another|extra) pair of eyes)\b"
    r"|\b(?:worried|curious|wonder(?:ing)?|nervous|not sure|unsure|scares?|scary|afraid|concerned)\b"
    r"|\bi(?:'d| would) (?:like|love|want) to (?:know|understand|be sure|make sure)\b|\bwants? to (?:be|make) sure\b"
    r"|\b(?:check|tell|know|say|confirm|verify|ask|see|understand|reviewing) (?:me |us |you )?(?:whether|if)\b"
    r"|\b(?:i|we) (?:don't|do not) feel (?:\w+ )?(?:confident|comfortable|safe)\b"
    r"|\bwhat (?:impact|effect|consequences?|meaning) (?:does|do|has|have) (?:this|these|that|those|it) (?:\w+ )?"
    r"(?:errors?|messages?|lines?|warnings?|logs?|noise)?\b"
    r"|\blike (?:some(?:one|body)|any(?:one|body)|you) to (?:confirm|check|verify)\b"
    r"|\breview(?:ing|ed)?\b|\broutine\b|\bfyi\b|\bfor the record\b|\bchecklist\b|\bhealth ?check\b|\b(?:pre|"
    r"post)-?\w+ check\b|\bthis check\b"
    r"|(?:请|帮忙|帮我|麻烦)[^，。；]{0,12}(?:确认|看看|看一?下|复核|核对|把关|检查)|确认(?:一下|下)?|巡检|例行|复查|"
    r"验收"
    r"|(?:担心|好奇|不放心|心里没底|想(?:问|知道|了解|请教)|请教|请问|误报|提问|问一?[下个]|算不算|正不正常)",
    re.IGNORECASE,
)
# Questions of people who look for a way out, not for a yes or no about what they see.
_WAY_OUT: Final = lazily(
    r"\b(?:any|is there an?|are there any) (?:\w+ )?(?:ideas?|help|suggestions?|hints?|way|workaround|fix|solution|"
    r"pointers?|advice)\b|\b(?:can|could|would|will) (?:you|anyone|anybody|someone|somebody) (?:\w+ )?(?:help|fix|"
    r"assist)"
    r"|\b(?:has|have|did|does) any(?:one|body)\b|\bhow (?:can|do|could|should|to)\b(?! (?:i |we )?(?:\w+ )?(?:prove|"
    r"verify|know|tell|see|check|understand|read))|怎么(?:解决|办|处理|修)|求助|求解",
    re.IGNORECASE,
)
_THIS: Final = lazily(
    r"\W*(?:so |and |but |or )?(?:is|are|would|should|could) (?:this|that|it|these|those|they)\b"
    r"(?! (?:\w+ )?(?:rules?|settings?|nodes?|pods?|peers?|lines?|ports?|values?|routes?|warnings?|messages?|states?|"
    r"clusters?|setup|configuration|output|left|missing)\b).{0,60}\?$"
    r"|\W*(?:请问)?(?:这|这样|这个|这种情况|这是|这些)?(?:算|是|属于)?不?(?:是)?(?:正常|有问题|预期|"
    r"合理)[^，。]{0,6}[吗么][?？]?$",
    re.IGNORECASE,
)
_NONE: Final = lazily(
    r"\b(?:0|no|zero) (?:problems|errors|issues|failures|leaks)\b"
    r"|\b(?:looked|seemed|was|were)\b.{0,40}\b(?:after|during|at) (?:the |a )?(?:start|re-?boot|boot|install|upgrade|"
    r"roll)",
    re.IGNORECASE,
)
# Whoever is at a loss says these, too.
_VAGUE: Final = lazily(
    r"\bhave a (?:\w+ )?look\b(?! (?:whether|if|that)\b)|\b(?:not sure|unsure|wonder(?:ing)?|curious|worried|afraid|"
    r"nervous|concerned)\b"
    r"|\b(?:need|have|want) to (?:\w+ )?(?:something|anything|this|that)\b|\bshould (?:i|we) (?:\w+ )?(?:something|"
    r"anything|it|this|that|worry|care)\b|(?:请|帮忙|帮我|麻烦)[^，。；]{0,8}(?:看看|看一?下|分析)"
    r"|(?:是不是|有没有)[^，。；]{0,10}(?:有问题|问题|不对|故障|异常|配错)|请教|请问|想问|提问",
    re.IGNORECASE,
)
_ODD: Final = lazily(
    r"\b(?:warn|error|fail|unable|missing|refused|denied|unhealthy|inactive|degraded|not (?!ready))|\bno such\b|"
    r"% packet loss",
    re.IGNORECASE,
)
_MARKS: Final = ("?", "？", "吗", "么", "呢", " or not", " or not.")
_CAPTIONS: Final = (":", "：")
_MACHINES: Final = lazily(r"(?:[\da-f]{2}:){2}|::|\bdev [a-z]|[\w.-]=\S|/\w+/|\b0x[\da-f]", re.IGNORECASE)
_PEOPLES: Final = lazily(
    r"\b(?:the|an?|is|are|was|were|to|in|on|of|and|but|we|i|it|not|no|my|our|this|that|for|with|have|has|can|can't|all|"
    r"after|since)\b",
    re.IGNORECASE,
)
_WORDS, _LETTERS = 3, 6  # fewer are a name, or a heading
_HEADINGS: Final = ("#", "=", "--", "**", "【")


def wonders(picture: Picture) -> bool:
    """Somebody asks whether it is as it should be, or asks for a look at it."""
    return any(_asks(text) for text in _told(picture))


def points_at_nothing(picture: Picture) -> bool:
    """All that is asked is whether "this" is normal, and nothing is shown that looks odd: it is what is told."""
    told = _told(picture)
    asked = [text for text in told if _asks(text)]
    if not asked or not all(_THIS.match(text) or _VAGUE.search(text) for text in asked):
        return False
    if all(
        text in asked or text.endswith(_MARKS[:2]) or _says_well(text) or not _says_something(text) for text in told
    ):
        return False
    if picture.of(LogLine) or picture.events() or any(pod.restarts for pod in picture.pods_now()):
        return False
    return not any(_ODD.search(line) for one in picture.exhibits if not one.prose for line in one.lines)


def questions(picture: Picture) -> list[str]:
    """What is asked, and the first sentence of all: that is what a ticket is about."""
    told = _told(picture)
    return [text for text in told if _asks(text) or text.endswith(_MARKS[:2])] + told[:1]


def tells(picture: Picture) -> int:
    """Sentences that say something: headings and what announces output do not."""
    return sum(1 for text in _told(picture) if _says_something(text))


def _says_something(text: str) -> bool:
    if text.endswith(_CAPTIONS) or text.startswith(_HEADINGS):
        return False
    if _MACHINES.search(text) and not (_PEOPLES.search(text) or far_east(text)):
        return False  # output that is not known as such
    return len(text.split()) >= _WORDS or (far_east(text) and len(text) > _LETTERS)


def _says_well(text: str) -> bool:
    """Of agents, nodes, sessions, traffic; that nothing was counted; or what was so while something started."""
    return _NONE.search(text) is not None or any(kind.endswith("-well") for kind, _ in stated(Sentence(text, 0, 0)))


def _asks(text: str) -> bool:
    if _WAY_OUT.search(text):
        return False
    if without_intentions(text) != text or meant_to_fail(text) or was_meant(text):
        return True  # who tests, and gets what was wanted
    marked = text.endswith(_MARKS) and (_YES_OR_NO.search(text) is not None or _LEFT.search(text) is not None)
    return marked or _YES_OR_NO_ZH.search(text) is not None or asks_inside(text) or _PLEASE.search(text) is not None


def _told(picture: Picture) -> list[str]:
    return [
        sentence.text.strip() for exhibit in picture.exhibits if exhibit.prose for sentence in sentences(exhibit.lines)
    ]
