"""Messages that are only spoken of: supposed, denied, cited, asked about, long mended. They were not seen here.

A plain quote of what was seen ("the event says: …", 报错如下：…) is an observation and stays one: a message counts as
hearsay only when the words around it say so, and not when the person turns to the own cluster in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.prose import STAMPED

_LONGEST: Final = 600  # characters before and after a message that are looked at
_MOST_LINES: Final = 60  # below a heading
_MOST_TIMES: Final = 20  # that a message is looked at on one line
_LONGEST_HEADING: Final = 300
_OPEN = r"[\"“‘'`「(（:：\s]*(?:[\"“‘'`「][^\"”’`」]{0,80})?$"  # up to the message, which may begin inside of quotes
_SENTENCE = lazily(r"[.!?][\"”')]?\s+(?=[A-Z\"“'(])|[。！？]")
_PART_OF_WORD = lazily(r"(?<![A-Za-z0-9_./-])[A-Za-z0-9_./-]{1,40}$")  # the message begins inside of a word
_QUOTED = lazily(r"[\"“`「][^\"”`」]{0,80}$")
_CLOSED = lazily(r"[\"”`」](?=[\s,.;?!，。；？！)）是]|$)")
# The person turns to what is seen here.
_OWN = lazily(
    r"\b(?:but|however|i|we|my|our|ours|mine|instead|actually|here is|here are|now|after|so)\b"
    r"|\b(?:events?|logs?|pods?|kubelet|describe|journal|bird|felix)(?: \w+)? "
    r"(?:says?|shows?|reads?|reports?|prints?|logs?)\b"
    r"|我|但|结果|实际|不过|却|现在|还是|如下|今天|于是|所以|查了|试了|步骤|部署|安装|执行|之后|[，,]\s*(?:报|提示|出现|日志|看到)",
    re.IGNORECASE,
)
_SOURCES = (
    r"(?:docs?\b|documentation\b|wiki(?:pedia)?\b|blogs?\b|blog posts?\b|runbooks?\b|checklists?\b|catalogues?\b|"
    r"handbooks?\b|faq\b|stack ?overflow\b|forums?\b|knowledge base\b|tutorials?\b|articles?\b|github issues?\b|"
    r"release notes?\b|网上|博客|文档|手册|教程|帖子|论坛|知识库|百度|别人的|issue 里|issue 中)"
)
_SOURCE = lazily(_SOURCES, re.IGNORECASE)  # looked for first: few people cite, and what follows is long
_SAYING = (
    r"(?:says?|lists?|mentions?|describes?|names?|shows?|gives?|suggests?|recommends?|warns?|explains?|reads?|has)"
)
_SAYING_ZH = r"(?:说|写|提到|列|给出|讲|介绍|里的|中的|上的|示例|例子|的例|有人)"
_CITED = lazily(
    rf"{_SOURCES}(?: \w+){{0,4}}? {_SAYING}\b|{_SOURCES}[^，。；,;]{{0,8}}?{_SAYING_ZH}"
    rf"|\b(?:according to|quoted? from|quoting|copied from|taken from|cited from)(?: \w+){{0,3}} {_SOURCES}"
    rf"|\bin (?:the|their|your|some|an?)(?: \w+){{0,2}} {_SOURCES}(?= ?[:,]?{_OPEN})",
    re.IGNORECASE,
)
_FOUND = lazily(
    r"\b(?:found|saw|read|came across|google[ds]?)(?: \w+){0,2}? (?:this|that|an?|the|some|in)(?: \w+){0,3}? ?"
    rf"{_SOURCES}|(?:搜到|查到|找到|看到|搜了)[^，。；]{{0,10}}{_SOURCES}",
    re.IGNORECASE,
)
_SUPPOSED = lazily(
    r"\b(?:if|when|whenever|once|should) (?:you|one|they|somebody|someone|users?) "
    r"(?:\w+ )?(?:see|sees|get|gets|find|finds|notice|hit|encounter|run into)\b[^.;]*$"
    r"|\bif (?:it|there|kubelet|(?:the|its|their|your) [\w-]+(?: [\w-]+)?) "
    r"(?:\w+ )?(?:says?|shows?|logs?|prints?|reports?|contains?|reads?|is an?|mentions?|complains?)\b[^,.;]*$"
    r"|\bif\s+[\"“'`][^\"”]{0,80}$|\bin case (?:of|you)\b[^,.;]*$|\b(?:would|might|could) (?:say|show|log|print|"
    r"report|read)\b[^,.;]*$|\balerts? (?:on|for|when)\b[^,.;]*$"
    r"|(?:若|如果|要是|假如|倘若|一旦|万一)(?!我)(?:(?!就|会|我)[^，。；]){0,40}?(?:出现|看到|遇到|发现|日志|输出|提示|显示|"
    r"事件|有|报|是|[\"“`「])[^，。；]*$",
    re.IGNORECASE,
)
_DENIED = lazily(
    r"\b(?:no|without(?: any| an?)?|nor|not an?|not a single|never any|not any|nothing like|neither)(?: \w+)?\s*"
    r"[\"“‘'`「][^\"”’`」]{0,80}$|(?:^|[,，;(]\s*|\b(?:there (?:is|are|was|were)|have|has|had|see|saw|and|or) )"
    r"no\s+(?:[\w./-]+: ?){0,2}$"
    r"|(?:\b(?:not|never)|n't) (?:\w+ )?(?:log|logged|say|show|shown|print|printed|contain|"
    r"report|reported|have|see|seen|get|find|found|mention|read)\b"
    rf"(?: (?:any|the|an?|like|anything))*{_OPEN}"
    rf"|\b(?:excluded?|ruled out)(?: already)?:?{_OPEN}"
    r"|(?:没有?|并未|未)(?:看到|看见|出现|发现|见到|报出?|打印|提示)?(?:过|任何|类似)*\s*[\"“‘'`「][^\"”’`」]{0,80}$"
    r"|(?:(?:没有?|未)(?:看到|看见|出现|发现|见到?|报出?)|并没有|并不是|并非|不是|排除了?)"
    r"(?:过|任何|类似)*[：:]?\s*(?:[\"“‘'`「][^\"”’`」]{0,80}|(?:[\w./-]+: ?){1,2})?$",
    re.IGNORECASE,
)
_DENIED_AFTER = lazily(
    r"^[^.,;，。；]{0,60}?[\"”’'`」][)）]?\s*(?:(?:does|do|did|is|was|are|were) ?(?:not|n't)|never) "
    r"(?:appears?|shown?|occurs?|there|logged|seen|present|found|here|in (?:the|our))"
    r"|^[^，。；]{0,20}?(?:没有?出现|未出现|没看到|没有看到|并不存在|都没有)",
    re.IGNORECASE,
)
_ASKED = lazily(
    r"\bwhat (?:does|do|is|would)(?: (?:the|this|a|an))?(?: (?:message|error|line|event|warning|log))?"
    rf"{_OPEN}|\bmeaning of(?: the (?:message|error|line))?{_OPEN}",
    re.IGNORECASE,
)
_ASKED_AFTER = lazily(r"^[^.。]{0,120}?(?:\bmeans?\b[^.]{0,20}\?|是什么意思|什么含义)", re.IGNORECASE)
_PAST = lazily(
    r"\b(?:last (?:week|month|year|time|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|"
    r"yesterday|previously|formerly|(?:days|weeks|months|years) ago)\b"
    r"|上周|上个?月|上次|去年|昨天|前几天|前天|昨晚|昨夜|以前|之前|曾经",
    re.IGNORECASE,
)
_MENDED = lazily(
    r"\b(?:solved|fixed|resolved|repaired|mended|went away|(?:is|was) gone|recovered|(?:is|are|was) fine)\b"
    r"|已经?[^，。；]{0,12}(?:解决|处理|修复|修好|恢复)|(?:解决|处理|修复|恢复|好)了",
    re.IGNORECASE,
)
_AGAIN = lazily(
    r"\b(?:again|still|back|not (?:solved|fixed|resolved))\b|又|再次|仍|依然|没(?:有)?(?:解决|恢复|修复)", re.IGNORECASE
)
_SINCE = lazily(
    r"\b(?:since|from|ever since|until now|up to now)\b|从(?!来|未)|自(?!动|"
    r"己|行|然|带)|开始|至今|到现在|起[，,]",
    re.IGNORECASE,
)
_CLAUSES_OF_TESTS = lazily(
    r"(?<=[,，;；。])(?! (?:which|as) )"
)  # "期望：不通" is one, ", which is what it says" a part of one
_CLAUSES = lazily(r"(?<=[,，;；:：])")
_WHY = lazily(
    r"\b(?:why|how come|what (?:causes|makes|could cause))\b|为什么|为啥|为何|怎么回事|什么原因", re.IGNORECASE
)
_WHETHER = lazily(
    r"是不是|要不要|会不会|需不需要|有没有(?:问题|影响)|正不正常|担心|\bwhether\b|\bdo (?:i|we) (?:have|need) to\b"
    r"|\b(?:worried|afraid|concerned|nervous|scared) (?:that|if|about)\b"
    r"|\b(?:afraid|scared|nervous) (?:to|of) (?:go(?:ing)? on|continu\w+|proceed\w*|start\w*|upgrad\w+) "
    r"(?:with|on|from) an? (?:\w+ )?broken\b"
    r"|\bor (?:else )?(?:to )?tell (?:me |us )?what (?:else )?(?:is|looks|could be) (?:broken|wrong)\b",
    re.IGNORECASE,
)
# "Is the pool broken, must I make it anew?": each clause asks, though only the last one has the mark.
_INVERTED = lazily(
    r"\W*(?:so |and |or |but )?(?:is|are|was|were|do|does|did|should|could|can|would|will|has|have|must|may) "
    r"(?:the|this|that|these|those|it|there|my|our|i|we|you|they|he|she|something|anything|somebody|someone|anyone)\b",
    re.IGNORECASE,
)
# "… times out as it should": what was meant to fail is no complaint, what does not do as it should is.
_MEANT = lazily(
    r"\b(?:as|like) (?:it|they|that) should\b|\bas (?:i|we) (?:want|expect|intend|hope)(?:ed)?\b|"
    r"\bas (?:expected|intended|desired|designed|planned|it should be)\b|"
    r"\b(?:by design|on purpose|is (?:correct|right|what we want(?:ed)?))\b|"
    r"\bwhich is (?:\w+ )?(?:what|how) [^.;]{1,80} (?:says?|wants?|demands?|defines?|is (?:meant|supposed))\b|"
    r"\b(?:expect(?:ed|ation)?|should be|want(?:ed)?) ?[:=] ?(?:not? |un|den|block|drop|fail|refus|time|reject)|"
    r"(?:符合|属于|是|为)预期|预期(?:之?内|行为|结果)|(?:期望|预期)(?:结果)?[:：] ?(?:不|拒|超时|失败|阻断)|"
    r"按预期|故意",
    re.IGNORECASE,
)
_EXPECTED = lazily(
    r"\b(?:expect(?:ed|ation)?|should be|want(?:ed)?) ?[:=] ?(?:not? |un|den|block|drop|fail|refus|time|reject)"
    r"|\b(?:must|should) (?:be (?:blocked|denied|refused|rejected)|fail|time ?out|not (?:work|connect|answer|reach))\b"
    r"|\b(?:blocked|denied|refused|rejected|dropped)\b[,.;:] ?(?:as (?:i|we) (?:want|like|expect|hoped?)(?:ed)?|good)\b"
    r"|(?:期望|预期)(?:结果)?[:：] ?(?:不|拒|超时|失败|阻断)|应(?:该|当)?(?:不通|被拒|超时|失败)",
    re.IGNORECASE,
)
_AS_WANTED = lazily(
    r"\W{0,3}(?:the last one|the last|that one|this one|this|that|which|both|all of (?:them|these))(?: two| three)? "
    r"(?:is|are|was) (?:exactly |just )?(?:what|how|as) (?:i|we|it|they) (?:want|need|expect|intend|should|hoped?)"
    r"|[（(]?(?:这|上面|最后)[^，。；]{0,8}(?:符合预期|是预期|正是我们(?:想|需)要)",
    re.IGNORECASE,
)
_UNMEANT = lazily(
    r"\b(?:not|never|no longer|without)\b|n't\b|不(?:符合|是|属于|按)|未(?:符合|按)|不(?:在)?预期", re.IGNORECASE
)
# A line that says what the lines below it are.
_SHOWN_BELOW = lazily(
    rf"^[#*>\s-]*(?:from |see )?(?:an? |the |our |their |official |calico |kubernetes |官方|calico |k8s )*{_SOURCES}"
    r"(?:[ ,]?(?:\w+ )?(?:examples?|samples?|excerpt|quote|snippet)|(?:里|中|上)?的?(?:示例|例子|样例)"
    r"|(?:里|中|上)的?(?:内容|日志|报错|答案)?|的(?:内容|日志|报错|答案))?\s*[:：]\**$",
    re.IGNORECASE,
)
_EXAMPLE_BELOW = lazily(r"^[#*>\s-]*(?:(?:an? |for )?(?:example|sample)|示例|例子|样例|举例)[:：]\**$", re.IGNORECASE)
_NOT_RUN = lazily(
    r"(?:尚未|还没有?|暂未|并未)(?:执行|运行|操作|实施)[^。；]{0,200}[:：]$|(?:打算|计划)[^。；]{0,200}[:：]$"
    r"|\b(?:not (?:yet )?(?:been )?(?:run|executed|applied|tried|done)(?: yet)?|to be done|plan(?:ned)? to [^.]{0,200})"
    r"\W{0,8}[:：]$",
    re.IGNORECASE,
)
_RULE = lazily(r"^\s*+(?:-\s*+)?(?:alert|record):\s*+\S")
_RULE_PART = lazily(r"^\s*+(?:-\s*+)?(?:expr|annotations|labels|for|summary|description|rules|groups|name):")
_QUERY = lazily(r"\{\s*\w+\s*=~?\s*\"[^\"]*\"[^}]*\}\s*(?:\|[=~]|!=|!~)\s*[\"`]|\bcount_over_time\(")
_YAML = lazily(r"\s|-\s|#|[\w.-]+:(?:\s|$)")


def only_spoken_of(before: str, message: str, after: str = "") -> bool:
    """Is this message, between these words of a person, hearsay? `before` may begin with earlier sentences."""
    before = _PART_OF_WORD.sub("", before[-_LONGEST:])
    ends = [match.end() for match in _SENTENCE.finditer(before)]
    sentence = before[ends[-1] :] if ends else before
    closed = _CLOSED.search(message) if _QUOTED.search(sentence) else None
    if closed:  # the sign took the rest of the line, the quote ends before
        message, after = message[: closed.start()], message[closed.start() :] + after
    after = after[:_LONGEST]
    if _SUPPOSED.search(sentence) or _DENIED.search(sentence) or _DENIED_AFTER.match(after):
        return True
    if _ASKED.search(sentence) and (_ASKED_AFTER.match(after) or "?" in after[:160]):
        return True
    if re.match(r"[\"”’'`」\s]*(?:是什么意思|什么含义)", after):
        return True
    return cites(sentence) or (_PAST.search(sentence) is not None and _mended(message + after))


def spoken_of_in(line: str, message: str) -> bool:
    """The same for a line that reads like output, where only a condition or a citation before the message counts."""
    before = " ".join(line[: _LONGEST * 4].split()).partition(message)[0]
    if not before or STAMPED.match(line):
        return False
    return _SUPPOSED.search(before[-_LONGEST:]) is not None or cites(before[-_LONGEST:])


def cites(words: str) -> bool:
    """Do these words give what follows as somebody else's, without a turn to what is seen here?"""
    for pattern in (_CITED, _FOUND) if _SOURCE.search(words) else ():
        matches = list(pattern.finditer(words))
        if matches and not _OWN.search(words, matches[-1].end()):
            return True
    return False


def long_mended(sentence: str) -> int:
    """Up to where the sentence tells of a trouble of the past that is over; what it says behind that is of today."""
    past = _PAST.search(sentence)
    if past is None or not _mended(sentence[past.end() :]):
        return 0
    mended = _MENDED.search(sentence, past.end())
    if mended and sentence[mended.end() :].lstrip().startswith((":", "：", "(", "（")):
        return len(sentence)  # what it was is told behind that it is over
    return mended.end() if mended else 0


def of_the_past(sentence: str) -> bool:
    """Does the sentence tell of another day? What began then and lasts is of today; what came back then is not."""
    return _PAST.search(sentence) is not None and not _SINCE.search(sentence)


def returns(sentence: str) -> bool:
    """Does the sentence say that it is back, or still there?"""
    return _AGAIN.search(sentence) is not None


def asks_inside(sentence: str) -> bool:
    """A question that does not end in a question mark: 是不是还有问题啊, 要不要处理：."""
    return _WHETHER.search(sentence) is not None


def without_questions(sentence: str, asks: bool) -> str:
    """The sentence without the clauses that ask, with a mark or without; "why" supposes what it asks about."""
    clauses = _CLAUSES.split(sentence)
    last = len(clauses) - 1
    return "".join(
        "." * len(clause)
        if _WHETHER.search(clause) or (asks and (index == last or _INVERTED.match(clause)) and not _WHY.search(clause))
        else clause
        for index, clause in enumerate(clauses)
    )


def without_intentions(sentence: str) -> str:
    """The sentence without the clauses that tell of something which fails because it is meant to."""
    if not _MEANT.search(sentence):
        return sentence
    return "".join(
        "." * len(clause) if _MEANT.search(clause) and not _UNMEANT.search(clause) else clause
        for clause in _CLAUSES_OF_TESTS.split(sentence)
    )


def meant_to_fail(line: str) -> bool:
    """Does the line announce a trial that is expected to fail?"""
    return _EXPECTED.search(line) is not None


def was_meant(line: str) -> bool:
    """Does the line say of the trial above it that it had to fail?"""
    return _AS_WANTED.match(line) is not None


def _mended(words: str) -> bool:
    mended = _MENDED.search(words)
    return mended is not None and not _AGAIN.search(words[: mended.end() + 80])


def without_citations(words: str) -> str:
    """The words with what others say blotted out, up to where the person turns to what is seen here."""
    match = _CITED.search(words) if _SOURCE.search(words) else None
    while match:
        own = _OWN.search(words, match.end())
        end = own.start() if own else len(words)
        words = words[: match.start()] + "." * (end - match.start()) + words[end:]
        match = _CITED.search(words, end)
    return words


def around(exhibit: Exhibit, index: int, message: str) -> list[tuple[str, str]]:
    """What stands before and after each occurrence of a message on this line of prose and in its paragraph."""
    above = list(takewhile(str.strip, reversed(exhibit.lines[max(0, index - 6) : index])))
    lead = "".join(f"{line.strip()} " for line in reversed(above))[-_LONGEST:]
    line = " ".join(exhibit.lines[index].split())
    below = " ".join(takewhile(str.strip, exhibit.lines[index + 1 : index + 4]))
    text = f"{line} {below}"
    found: list[tuple[str, str]] = []
    at = text.find(message)
    while 0 <= at <= len(line) and len(found) < _MOST_TIMES:
        stop = at + len(message)
        found.append((lead + text[:at] if at < _LONGEST else text[at - _LONGEST : at], text[stop : stop + _LONGEST]))
        at = text.find(message, at + 1)
    return found


def lines_told(exhibits: Iterable[Exhibit]) -> frozenset[int]:
    """The numbers of lines of one source that are examples, citations, proposals or rules for alerts as a whole."""
    told: set[int] = set()
    heading, heading_at = "", 0
    for exhibit in exhibits:
        if not exhibit.command:
            told.update(exhibit.number(index) for index in _rules(exhibit.lines))
        start = exhibit.command_lines[0] if exhibit.command_lines else exhibit.number(0) if exhibit.lines else 0
        typed = bool(exhibit.command_lines)  # what was typed at a prompt was tried, unless the heading says otherwise
        if heading and not exhibit.prose and 0 < start - heading_at <= 3 and not (typed and cites(heading)):
            told.update(_below(exhibit, 0))
        heading = ""
        if exhibit.prose:
            for index, line in enumerate(exhibit.lines):
                following = index + 1 < len(exhibit.lines)
                if exhibit.number(index) not in told and following and _announces(line, exhibit.lines[index + 1]):
                    told.update(_below(exhibit, index + 1))
            last = exhibit.lines[-1] if exhibit.lines else ""
            if _announces(last, ""):
                heading, heading_at = last, exhibit.number(len(exhibit.lines) - 1)
    return frozenset(told)


def _announces(line: str, below: str) -> bool:
    text = line.strip()
    if len(text) > _LONGEST_HEADING:
        return False
    if text.rstrip("*").endswith((":", "：")) and (_EXAMPLE_BELOW.match(text) or _NOT_RUN.search(text)):
        return True
    if not _SOURCE.search(text):
        return False
    if _SHOWN_BELOW.match(text):
        return True
    if text.endswith((":", "：")):
        return cites(text)
    return _FOUND.search(text) is not None and below.startswith(("  ", "> ", "“", "\t"))


def _below(exhibit: Exhibit, start: int) -> list[int]:
    """The lines from here on to the end of the paragraph, or to where the person turns to what is seen here."""
    numbers = []
    for index in range(start, min(len(exhibit.lines), start + _MOST_LINES)):
        line = exhibit.lines[index]
        if not line.strip() or (exhibit.prose and _OWN.search(line) and line.rstrip().endswith((":", "："))):
            break
        numbers.append(exhibit.number(index))
    return numbers


def _rules(lines: tuple[str, ...]) -> list[int]:
    """Lines of rules for alerts, and of queries of logs."""
    found = {index for index, line in enumerate(lines) if '"' in line and _QUERY.search(line)}
    first = next((index for index, line in enumerate(lines) if ":" in line and _RULE.match(line)), None)
    if first is not None and any(_RULE_PART.match(line) for line in lines[first + 1 : first + 12]):
        found.update(range(first, first + len(list(takewhile(_YAML.match, lines[first:])))))
    return sorted(found)
