"""Output that is not about the cluster as it is: of another one, shown for comparison, or of how it was. Pure.

Another cluster: a person has to say both that it is another one and why it is shown; from there on everything counts as
foreign until the person turns back, or a prompt of the own machines stands there again. The past: what stands below a
heading that speaks of it, where a later heading shows the present. What is only told of another day is called `then`:
it is over where the present is well, and the best evidence where it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.exhibit import Exhibit

_SENTENCE: Final = lazily(r"[.!?] +(?=[A-Z])|[。！？]+(?=.)")
_MOST_LINES: Final = 12  # of a paragraph
_LONGEST: Final = 300  # letters of a line that announces it
_ANOTHER: Final = lazily(
    r"\b(?:other|another|different|second|separate|unrelated|staging|test|dev|qa|lab|demo|old) (?:\w+ ){0,2}?cluster\b"
    r"|^\W{0,6}(?:staging|test|dev|qa|lab|demo)\b"
    r"|(?:另外?[一二两几]?[套个]?|别的|其[他它]|隔壁|测试|预发|开发|老)的?[^，。：]{0,6}集群",
    re.IGNORECASE,
)
_FOR: Final = lazily(
    r"\bcompar|\bfor reference\b|\bas (?:a )?reference\b|\bunrelated\b|\bnot related\b|\bnothing to do with\b"
    r"|\bdifferent (?:problem|issue|bug)\b|\bwhere (?:it|everything|all) (?:works|is fine)\b"
    r"|参考|对比|对照|比较一下|没关系|无关|没有关系|别的问题|另一个问题",
    re.IGNORECASE,
)
_BACK: Final = lazily(
    r"\bprod(?:uction)?\b|\bin question\b|\bthe (?:broken|sick|affected|failing) (?:one|cluster)\b|\bthis cluster\b"
    r"|\bback to\b|\bour cluster\b|生产|本集群|出问题的|有问题的|故障集群|回到|言归正传",
    re.IGNORECASE,
)

_BARE_CLOCK: Final = lazily(r"\W{0,4}([01]?\d|2[0-3]):([0-5]\d)(?: ?(?:h|Uhr|UTC|CES?T))?\W{0,4}")
_HEADING_CLOCK: Final = lazily(r"(?<![\d.:])([01]?\d|2[0-3]):([0-5]\d)(?: ?UTC)?\)?[:：]$")
_LEAST_CLOCKS: Final = 2
_A_WHILE: Final = 10  # minutes
_SUBJECTS: Final = ("node-to-node", "calico-node-", "Ready")
_GOES_ON: Final = (" with", " on", " and", ", and", " was", " were")
_PAST: Final = lazily(
    r"\bbefore (?:the |that |my |our )?(?:fix|repair|change|reboot)|\bat (?:that|the) time\b"
    r"|\bback then\b|\bused to look\b"
    r"|当时的?(?:现象|报错|状态|日志|情况|输出)|修复前|处理前|解决前|过去式|故障时|出问题时",
    re.IGNORECASE,
)
_THEN: Final = lazily(
    r"\b(?:yesterday|last (?:night|week|month|year|\w{3,6}day)|(?:\w+) (?:days?|weeks?|months?) ago)\b"
    r"|\b(?:crashed|failed|hung|died|had been|was stuck|were stuck|kept \w+ing)\b"
    r"|\b(?:i|we) (?:had|got|saw)\b|^当时[:：，,]|昨天|前天|昨晚|前几天|上周|上个?月|上次",
    re.IGNORECASE,
)
_PRESENT: Final = lazily(
    r"\bnow\b|\blooks? like this\b|\bafter (?:the |that |my |our )?(?:fix|repair|change|reboot)|\bcurrent(?:ly)?\b"
    r"|\btoday\b|\b(?:i|we) (?:have )?(?:added|opened|changed|removed|deleted|disabled|enabled|fixed|upgraded|updated"
    r"|installed|restarted|rebooted|reloaded|reverted|replaced)\b"
    r"|现在|目前|状态如下|情况如下|修复后|处理后|解决后|恢复后|今天",
    re.IGNORECASE,
)


def lines_aside(exhibits: Iterable[Exhibit]) -> set[int]:
    """The numbers of lines of one source that say nothing of this cluster as it is."""
    shown = tuple(exhibits)
    return lines_of_others(shown) | _lines_below(shown, "past")


def lines_then(exhibits: Iterable[Exhibit]) -> set[int]:
    """The numbers of lines that are told of another day or hour, where the present is shown behind them."""
    shown = tuple(exhibits)
    return _lines_below(shown, "then") | _before_the_last_clock(shown)


def _before_the_last_clock(exhibits: tuple[Exhibit, ...]) -> set[int]:
    """What stands below a clock ("15:12", "at 15:12:"), where a later one heads what stands behind it."""
    rows = [(exhibit, index) for exhibit in exhibits for index in range(len(exhibit.lines))]
    clocks = [(at, clock) for at, row in enumerate(rows) if (clock := _clock(*row))]
    times = [hour * 60 + minute for _, (hour, minute) in clocks]
    if len(clocks) < _LEAST_CLOCKS or times != sorted(set(times)) or times[-1] - times[-2] < _A_WHILE:
        return set()
    last = clocks[-1][0]
    before, after = ("\n".join(one.lines[at] for one, at in part) for part in (rows[:last], rows[last:]))
    if any(subject in before and subject not in after for subject in _SUBJECTS):
        return set()  # what was looked at then, nobody looked at again
    return {exhibit.number(index) for exhibit, index in rows[clocks[0][0] : last]}


def _clock(exhibit: Exhibit, index: int) -> tuple[int, int] | None:
    """Of a line that is nothing else, or of a person's that ends with it and a colon."""
    line = exhibit.lines[index].strip()
    if len(line) > _LONGEST or exhibit.command:
        return None
    match = _BARE_CLOCK.fullmatch(line) or (_HEADING_CLOCK.search(line) if exhibit.prose else None)
    return (int(match[1]), int(match[2])) if match else None


def _lines_below(exhibits: tuple[Exhibit, ...], wanted: str) -> set[int]:
    rows = [(exhibit, index) for exhibit in exhibits for index in range(len(exhibit.lines))]
    heads = [(at, _tense(*row)) for at, row in enumerate(rows) if row[0].prose]
    heads = [(at, tense) for at, tense in heads if tense]
    lines: set[int] = set()
    for at, tense in heads:
        end = next((later for later, other in heads if later > at and other == "present"), 0)
        if tense == wanted and end:
            lines.update(exhibit.number(index) for exhibit, index in rows[at:end])
    return lines


def _tense(exhibit: Exhibit, index: int) -> str:
    """Of a heading, a line that ends in a colon, or in the middle of a sentence that what is below goes on with."""
    line = exhibit.lines[index].strip()
    ends = index + 1 == len(exhibit.lines) or not exhibit.lines[index + 1].strip()
    if not line.endswith((":", "：", *_GOES_ON)[: None if ends else 2]) or len(line) > _LONGEST:
        return ""
    last = _SENTENCE.split(line)[-1]
    if _PAST.search(last):
        return "past"
    return "then" if _THEN.search(last) else "present" if _PRESENT.search(last) else ""


def lines_of_others(exhibits: Iterable[Exhibit]) -> set[int]:
    """The numbers of lines of one source that belong to another cluster."""
    shown = tuple(exhibits)
    if not any(_announces(exhibit, index) for exhibit in shown for index in range(len(exhibit.lines))):
        return set()
    own: set[str] = set()
    others: set[str] = set()
    foreign = False
    lines: set[int] = set()
    for exhibit in shown:
        if foreign and exhibit.host in own:
            foreign = False
        elif exhibit.host and exhibit.host not in others:
            (others if foreign else own).add(exhibit.host)
        for index, line in enumerate(exhibit.lines):
            foreign = _announces(exhibit, index) or (foreign and not (_speaks(exhibit, line) and _BACK.search(line)))
            if foreign and not exhibit.prose:
                lines.add(exhibit.number(index))
    return lines


def _announces(exhibit: Exhibit, index: int) -> bool:
    """A paragraph whose last sentence says it, however its lines are wrapped; or a heading."""
    line = exhibit.lines[index]
    if not line.strip() or not _speaks(exhibit, line):
        return False
    if exhibit.prose:
        if "".join(exhibit.lines[index + 1 : index + 2]).strip():
            return False  # the paragraph goes on
        line = _paragraph(exhibit.lines, index)
    last = _SENTENCE.split(line.strip())[-1]  # what stands right before the output
    return len(last) <= _LONGEST and _FOR.search(last) is not None and _ANOTHER.search(last) is not None


def _paragraph(lines: tuple[str, ...], last: int) -> str:
    first = last
    while first > 0 and last - first < _MOST_LINES and lines[first - 1].strip():
        first -= 1
    return " ".join(line.strip() for line in lines[first : last + 1])


def _speaks(exhibit: Exhibit, line: str) -> bool:
    """A person's line: prose, or a heading between two pieces of output."""
    return exhibit.prose or line.lstrip().startswith(("---", "===", "###", "***", "【"))
