"""What people say to be over or well. It takes back complaints, never proves anything: judgement/complaints.py."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

_NO = r"(?!not\b|never\b|no\b|hardly\b|far\b|only\b)"

RULES: Final = (
    Rule(
        "mended",
        "fix|solv|repair|mend|recover|went away|gone|back to normal|修|恢复|解决|处理|好了|正常了",
        r"(?:it|that|this|which|problem|issue|trouble|outage|all|everything|we|i|they|he|she|has|have|had|is|was|are|"
        r"were|been|got|since|now) (?:\w+ly |already |now |since |been |all |"
        r"then )?(?:fixed|solved|resolved|repaired|mended|"
        r"recovered|cured)\b|after (?:the|that|our|this) (?:fix|repair|recovery)\b|(?:problem|issue|trouble|error)s? "
        r"(?:went away|(?:is|are|was|were) gone)\b|back to normal|(?:已经?|都|全部)\w{0,6}(?:解决|处理|修复|修好|恢复)|"
        r"(?:解决|处理|修复|修好|恢复)(?:好|完)?(?:了|后|完毕|完成|之后|以后)|(?:之后|后来|随后|重启后)[^，。；]{0,6}"
        r"(?:好了|正常了|恢复正常)",
    ),
    Rule(
        "says-well",
        "fine|well|ok|good|green|normal|healthy|works|false alarm|正常|误报|虚惊|恢复|好了",
        r"(?:all|everything|it|cluster|things|network|traffic)(?: else)? (?:is|are|looks?|seems?|runs?|works?)"
        rf"(?: {_NO}\w+)? (?:fine|well|ok(?:ay)?|good|green|normal(?:ly)?|healthy|in order|again|now)\b|"
        rf"(?:all|everything) (?:works|is up|fine|good|green)\b(?! (?:except|but|"
        rf"apart))|(?:i|we) (?:think|believe|find|"
        r"would say|consider)~(?:fine|well|ok|good|harmless|healthy)\b|looks? (?:fine|good|ok|healthy) to (?:me|us)|"
        r"false alarm|我(?:个人)?(?:觉得|认为|看|感觉|判断|查了|看了)[^。；]{0,20}?正常|虚惊一场|误报|"
        r"(?:现在|目前|当前)[^，。；]{0,10}(?:正常|好了|恢复)(?!吗)",
    ),
    Rule(
        "says-well",
        "nothing|no |nobody|close|没|关单|关工单",
        r"(?:i|we) (?:see|find|think|believe|found)~(?:nothing (?:is )?(?:wrong|broken|strange)|no (?:problem|trouble|"
        r"fault)s?)\b|"
        r"(?:nobody|no one) complain(?:s|ed)\b|no complaints\b|没(?:有)?人(?:反馈|抱怨|投诉)|"
        r"(?:can|will|would|going to|want to|let me) close (?:the|this|that) (?:ticket|issue|case)|"
        r"我(?:个人)?(?:觉得|认为|看|感觉|判断|查了|看了)[^。；]{0,20}?(?:没事|没(?:什么|啥)?问题|没毛病)|(?:现在|目前|当前)"
        r"[^，。；]{0,10}没(?:什么|啥)?问题|没(?:什么|啥)?问题[^。；]{0,8}(?:就|可以)[^。；]{0,6}(?:关单|关工单|关了|结单)",
        False,
    ),
)
