"""Complaints in everyday words: by the form of the sentence where there is one, since nobody can list all words."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

_OF_THEM = r"(?:requests?|connections?|calls?|packets?|clicks?|users|customers|queries|lookups|tries|attempts?|pings?)"
_WELL = r"(?:green|running|ready|fine|healthy|well|ok|1/1|up|established)\b"

RULES: Final = (
    Rule(  # "those on the other one don't."; what other clusters are not is no complaint
        "suffers",
        "n't|not",
        r"(?<!clusters it )(?<!clusters they )(?<!cluster it )(?<!cluster they )"
        r"(?:do|does|did|can|could|will|would|is|are)(?:n't| ?not)(?=[\s.!)]*$)|(?:won't|can't)(?=[\s.!)]*$)|"
        r"why (?:can|do|does|did|are|is|could|will)(?:n't)?\b~(?:not|never|no longer)\b|"
        r"why (?:can|do|does|is|are)n't\b",
        False,
    ),
    Rule(  # "all is green, and yet nobody …"; who only wants to be sure says so behind the turn
        "suffers",
        "but|yet|however|although|though|despite|still",
        rf"{_WELL}≈(?:but|yet|however|and still)\b(?!≈(?:please|to be (?:safe|sure)|want|would like|wonder|"
        rf"check|confirm|ask|"
        r"harmless|expected|only (?:because|since)|curious|that is|was|were|had))|"
        r"(?:although|though|despite|even though)\b"
        rf"≈{_WELL}≈(?:nobody|nothing|none|no one|not|never|n't)",
        False,
    ),
    Rule(
        "suffers",
        "nobody|no one|none|nothing|never|n't|not ",
        r"(?:nobody|no one|none of (?:us|them|the \w+)|nothing) (?:\w+ )?(?:can|"
        r"could|works?|gets?|reach|arriv|respond|answer|"
        r"comes?|loads?)|(?:never|n't|not|no longer) (?:come back|return|load|log ?in|open|arrive|show up|go through|"
        r"get through|see (?:each|one another|their)|deliver|render|serve)\b",
        False,
    ),
    Rule(
        "suffers",
        "half|third|part|some|many|most|few|%|percent|every|out of|mostly|sometimes|white|blank|lottery|hit|"
        "broken|go|still|"
        "sort",
        rf"(?:half|a third|a quarter|part|some|many|most|few|[1-9]\d* ?%|percent) of (?:\w+ )?{_OF_THEM}\b|"
        rf"every (?:second|third|fourth|fifth|tenth|other|few|\d+(?:nd|rd|th)) {_OF_THEM}\b|"
        rf"\d+ (?:out )?of \d+ {_OF_THEM}\b|"
        r"(?:mostly|sometimes|partly|hardly|barely|more or less|sort of|kind of) works?\b|"
        r"\bcomes? and goes?\b|\b(?:it|this) is still (?:going on|happening)\b|"
        r"works (?:only )?(?:sometimes|mostly|"
        r"half|partly|now and then)|hit or miss|lottery\b|(?:white|blank) (?:screen|page)s?|broken\b",
    ),
    Rule(  # who waits for it, and who had it
        "suffers",
        "no answer|no reply|no response|no packet|no traffic|connection|connectivity|network|sessions|in error",
        r"\b(?:gets?|got|getting|receives?|sees?) no (?:\w+ )?(?:answers?|repl(?:y|ies)|responses?|packets?|traffic|"
        r"connections?|network)\b|\b(?:loses?|losing) (?:their|its|the|all|our|every) (?:\w+ )?"
        r"(?:connections?|connectivity|network|sessions)\b|"
        r"\b(?:is|are|stays?|remains?) (?:still )?in (?:an )?error(?: state)?(?=[\s.,:;]|$)",
        False,
    ),
    Rule(  # what who waits gets to see, and how often one has to try
        "suffers",
        "50|spinner|forever|tries|retr|attempt|try|recover|at the same|重试|多试|刷新",
        r"\b(?:random|sporadic|intermittent|occasional|frequent|many|several|some) 50[0234]s?\b|"
        r"\b(?:see|sees|get|gets|shows?|have|just) (?:\w+ ){0,2}spinners?\b|\bforever\b|"
        r"\b(?:need|needs|takes?|have to|has to|after|only (?:on|at) the) (?:\w+ ){0,3}(?:retr(?:y|ies)|tries|"
        r"attempts?)\b|\b(?:it|they|that|this) recovers? (?:after|within) (?:about |some |a few |a |\d+ )|"
        r"\b(?:every|each) (?:night|day|hour|morning|evening|week) at the same (?:time|hour)\b|"
        r"\bworks? (?:only )?(?:on|at) the (?:second|third|next|2nd|3rd) (?:try|attempt)\b|"
        r"(?:要|得|需要?)(?:重试|多试|刷新)[^，。；]{0,8}(?:次|遍|下)",
        False,
    ),
    Rule(  # a verb with 不 and its result, at the end of a clause: 打不开, 登不上去, 收不到
        "suffers",
        "不",
        r"(?![查少免想受忍差离])[\u4e00-\u9fff]不(?:了|到|上去?|通|开|进去?|出来?|出去|起来?|动|下来|着)"
        r"(?=[，。；！!,;：:\s）)】]|了|$)",
        False,
    ),
    Rule(
        "suffers",
        "绿|正常|running|ready|1/1|好的|没问题",
        r"(?:全绿|都绿|正常|running|ready|1/1|好的|没问题)[^。；]{0,16}?(?:但是?|可是|却|然而|"
        r"就是)(?![^。；]{0,12}(?:想|请|确认|"
        r"再看|检查|放心|保险|不影响|没影响|预期|正常|没问题|懂|明白|理解|好奇|了解|问一?下))",
        False,
    ),
    Rule(
        "suffers",
        "返回|响应|反应|回包|转圈|白屏|马赛克|掉帧|毛病|一半|部分|%|分之|投诉|报障|不灵|勉强|这个错|同样的错",
        r"没有?(?:返回|响应|反应|回包)|转圈|白屏|马赛克|掉帧|有毛病|(?:一半|部分|有些|个别|"
        r"[\u4e00-\u9fff]分之[\u4e00-\u9fff]|[1-9]\d* ?%)的?"
        r"(?:请求|连接|用户|流量|包)|(?<!无)(?<!没有)(?<!没)(?<!零)(?<!人)(?<!未见)(?<!任何)投诉|(?<!无)(?<!没有)(?<!没)(?<!人)报障|"
        r"(?:都是|还是|一直是)(?:这个|同样的|一样的)错|时灵时不灵|勉强能用",
        False,
    ),
)
