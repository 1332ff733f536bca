"""Complaints without a verb of trouble: titles of tickets, comparisons with what works, and ways around it."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import ANY_CHINESE, Rule

_WHAT = (
    r"(?:dns|network(?:ing)?|connections?|connectivity|routing|lookups?|resolution|tls|handshakes?|traffic|packets?|"
    r"services?|ingress|egress|nodeports?|load ?balancers?|requests?|icmp|webhooks?|health ?checks?)"
)
_ELSEWHERE = (
    r"(?:pods?|nodes?|clusters?|cnis?|plugins?|namespaces?|environments?|machines?|workers?|hosts?|containers?|"
    r"servers?|deployments?|apps?|applications?)"
)
_WORKS = r"(?:works?|working|is fine|are fine|runs? (?:fine|well)|(?:no|without) (?:problem|issue)s?|perfectly)\b"
_PLUGINS = r"(?:flannel|cilium|weave|kube-router|antrea|host ?network|hostnetwork|docker)"

RULES: Final = (
    Rule(
        "suffers",
        "error|failure|problem|issue|loss|latenc|delay|outage|trouble|disconnect|reset|interruption",
        rf"\b(?:random(?:ly)?|strange|weird|odd|intermittent|sporadic|frequent|constant|huge|massive|several|many) "
        rf"(?:\w+ ){{0,2}}(?:{_WHAT}|behaviou?r|errors?|failures?|latenc\w+|delays?|disconnects?|disconnections?|"
        rf"resets?)\b|\b{_WHAT} (?:\w+ )?(?:errors?|failures?|problems?|issues?|loss|latenc(?:y|ies)|delays?|"
        rf"outages?|trouble|disconnects?|resets|interruptions?|breaks?|degradation)\b(?! (?:between|from) "
        rf"(?:\w+ )?(?:yesterday|last))|\bcauses? (?:an? )?(?:\w+ ){{0,2}}(?:outage|loss|problem|failure)s?\b",
    ),
    Rule(
        "suffers",
        "not |n't",
        r"\b(?:not|\w+n't) (?:\w+ )?(?:able to (?!find)|working\b|enforced\b|released\b|honou?red\b|respected\b|"
        r"preserved\b|"
        r"answering\b|getting\b|receiving\b|passing\b|reaching\b|blocked\b|masqueraded\b|load ?balanced\b|evenly\b|"
        r"taking effect\b|have access\b)|\b(?:not|\w+n't) (?:seem to |appear to )?(?:apply|enforce|honou?r|respect|"
        r"preserve|release|keep|block|filter|get (?:an? |any )?(?:\w+ )?(?:response|reply|answer|traffic|packets?|"
        r"requests?)|have (?:an? |any )?(?:access|internet|network|connectivity|route))\b",
        False,
    ),
    Rule(
        "suffers",
        "leak|memory|cpu|overflow|degradation|duplicate|unique|running out|run out|exhaust|ages|forever|minute",
        r"\b(?:memory|ip|address|handle|goroutine|fd) leak\b|\b(?:high|higher|increased|increasing|growing|rising|"
        r"excessive|huge) (?:\w+ )?(?:cpu|memory)\b|\b(?:cpu|memory) usage (?:is |was )?(?:high|increas|grow|ris|"
        r"doubled)|\boverflow(?:s|ing|ed)\b|\bdegradation\b|\b(?:duplicated?|non[- ]unique|overlapping) (?:\w+ )?"
        r"(?:ips?|addresses|pod ips?)\b|\b(?:running|runs?|ran) out of\b|\btakes? (?:ages|forever|very long|too long|"
        r"a long time|(?:\d+|several|a few|many|one|a) (?:full )?minutes?)\b|\b(?:only|not) (?:after|until) "
        r"(?:an? |\d+ |several |about a )?(?:minutes?|while|restart|reboot)\b",
    ),
    Rule(
        "suffers",
        "random|disconnect|dropout|gap|no data|unknown|ignored|isolated|suddenly|lose|losing",
        r"\bat random\b|\brandomly\b|\b(?:get|gets|got|getting|keeps?|is|are) disconnect(?:ed|ing)\b|"
        r"\bdisconnects (?:\w+ )?"
        r"(?:every|after|all|constantly|when)\b|\b(?:shows?|has|have|with) (?:\w+ )?gaps\b|\b(?:reports?|"
        r"shows?) <unknown>|"
        r"\b(?:is|are|be|gets?|being) (?:\w+ )?(?:ignored|"
        r"isolated|bypassed)\b(?! (?:safely|namespace))(?! by design)|\bkeeps? (?:on )?(?:losing|flipping|switching|"
        r"dropping|disconnecting)\b",
    ),
    Rule(
        "suffers",
        "no data|nothing|minutes|dropped|not used|spikes",
        r"\b(?:reports?|shows?|returns?|gives?|delivers?) no data\b|"
        r"\b(?:quer(?:y|ies)|lookups?|requests?|calls?|browsers?|services?|apps?|api) (?:\w+ )?(?:returns?|gets?|"
        r"gives?|"
        r"receives?) nothing\b|"
        r"\bafter (?:about |some |a few |several |\d+ )+(?:minutes|hours)\b~\b(?:start|began)\w* (?:to work|working)\b|"
        r"\b(?:is|are|being|get|gets) dropped\b|\b(?:ip|address|gateway|policy|pool|route)s? (?:is|are) not (?:being )?"
        r"used\b",
        False,
    ),
    Rule(  # what is missing altogether; "no network policy" and "no connection errors" are no complaints
        "suffers",
        "no ",
        r"\b(?:have|has|had|having|get|gets|got|getting|with|there is|there's|left with) no (?:\w+ )?(?:connections?|"
        r"connectivity|network|internet|dns|access)\b(?![- ]?(?:\w+ )?(?:polic|problem|issue|trouble|error|loss|drop|"
        r"complaint|limit|reset|failure|interrupt|timeout|plugin|manager|pool))",
        False,
    ),
    Rule(
        "suffers",
        "route",
        r"\b(?:no|not one|none of the) (?:\w+ ){1,6}?(?:has|have|gets?|sees?|learns?|receives?) (?:a single|any|one) "
        r"(?:\w+ )?routes?\b|"
        r"\b(?:has|have|gets?|sees?|learns?|receives?) (?:not a single|none of the) (?:\w+ )?routes?\b",
        False,
    ),
    Rule(  # what works elsewhere does not work here
        "suffers",
        "other|another|different|with|from|using|switch|chang|old|previous",
        rf"\b(?:in|on|from|with|for|using|have) (?:any |all |every |the |our |my |an |a )*"
        rf"(?:other|another|different|old|older|previous) "
        rf"(?:\w+ )?{_ELSEWHERE}\b≈{_WORKS}|\b{_WORKS} ?~\b(?:with|using|on|under) {_PLUGINS}\b|"
        rf"\b(?:with|using|on|under) {_PLUGINS}\b~{_WORKS}|"
        rf"\bworks? (?:\w+ )?(?:when|if|once|only) (?:i|we) (?:\w+ )?(?:change|switch|use|remove|disable|delete|"
        rf"restart|"
        rf"move|replace|turn|stop|downgrade|roll)\b|\bworks? (?:\w+ )?from (?:\w+ )?(?:node|host|outside|inside|master)"
        rf"s?\b~\b(?:but|not|only)\b",
        False,
    ),
    Rule(  # ways around it
        "suffers",
        "fix|solv|help|require|only|workaround|cure|resolve|restart|reboot",
        r"\b(?:re-?boot(?:ing)?|re-?start(?:ing|s)?|delet(?:e|ing)|recreat(?:e|ing)|drain(?:ing)?|flush(?:ing)?) "
        r"(?:\w+ ){0,5}?(?:fix(?:es)?|solves?|resolves?|helps?|cures?)\b|"
        r"\brequires? (?:an? )?(?:\w+ ){0,2}(?:re-?start|"
        r"re-?boot|re-?creat\w+)\b|\bthe only (?:\w+ )?(?:solution|way|fix|workaround|thing that (?:helps|works))\b|"
        r"\b(?:our|my|the|as a) (?:current |temporary |only |dirty )?workaround\b|\bcame back (?:only )?after (?:a )?"
        r"(?:re-?start|re-?boot)\b~\b(?:each|every)\b",
    ),
    Rule(  # what passes and should not, what is seen and should not be
        "suffers",
        "allow|reach|access|although|should|instead|still|block|end up|ends up|ended up",
        r"\b(?:still|can|is|are|being) (?:\w+ )?(?:allow(?:ed|ing|s)?|reach(?:able)?|access(?:ible)?|get through)\b≈"
        r"\b(?:although|though|despite|even though|even with|(?:should|must) (?:not|be (?:blocked|denied|rejected|"
        r"dropped|isolated))|shouldn't)\b|\bstill (?:allow|reach|access|pass|get)(?:s|es|ing)?\b~\b(?:traffic|"
        r"it|them|pods?|connections?|everything)\b|\b(?:ip|address|source)\b~\binstead of (?:the )?(?:\w+ )?"
        r"(?:client|real|original|pod|own)\b|\bend(?:s|ed)? up with\b~\b(?:ip|address|source)\b|"
        r"\bblocks? (?:all |the |our |my )?(?:traffic|connections?|requests?|packets?)\b(?! (?:as|by design|like))",
        False,
    ),
    Rule(
        "suffers",
        "times|x |lower|worse",
        r"\b[1-9]\d* ?(?:x|times|%|percent) (?:lower|slower|worse|higher latency|longer|less throughput)\b",
    ),
    Rule(
        "suffers",
        ANY_CHINESE,
        r"时快时慢|断断续续|飙升|(?:好像|似乎|根本|完全|都)?(?:没|不|未)(?:有)?(?:起|产生)作用|"
        r"(?:老是|总是|总|一直|经常|频繁|反复)(?:地)?(?:掉|切换|断|重连|重建|漂移|抖|丢)|(?:要|得|需要?|等)(?:等)? ?"
        r"(?:十几|几十|好几|[1-9]\d*|几|两|三|五) ?(?:多)?(?:秒|分钟)(?:才|左右才|以?后才|的?时间才)?(?!内|前)|"
        r"(?:就|会|自动|总)断开|不(?:释放|认|均衡|一样了|行)(?=[，。；！!,; ]|$)|(?:快|要)(?:用完|耗尽|满)了|"
        r"重复的? ?(?:ip|地址)|(?:ip|地址) ?(?:重复|冲突)|(?:变成|显示成|成)了? ?(?:节点|宿主机|"
        r"node) ?(?:的)? ?(?:ip|地址)|"
        r"(?:换成?|改成?|用|切到) ?(?:flannel|cilium|weave|hostnetwork|主机网络)[^。；]{0,8}(?:就|没问题|正常)|"
        r"(?:只要|必须|非得|每次都?要|得)(?:把)?[^，。；]{0,8}(?:重启|重建|删掉?)[^。；]{0,14}(?:才|就)(?:能|会|"
        r"又)?(?:恢复|好|正常|通)|"
        r"过(?:几|两|一|三)(?:天|小时|分钟|会儿?)[^，。；]{0,4}又|泄漏|泄露",
        False,
    ),
)
