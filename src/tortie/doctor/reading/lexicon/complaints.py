"""What people say to be broken now. It names no cause; it keeps a cluster from being called healthy against them."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import ANY_CHINESE, Rule

_CANNOT = (
    r"(?:(?<!\bi )(?<!\bwe )(?:did not|didn't)|can ?not|can't|could not|couldn't|unable to|no longer|never|won't|"
    r"fails? to|failing to|do(?:es)? not|doesn't|don't)"
)

RULES: Final = (
    Rule(
        "suffers",
        "not|n't|unable|no |never|fail|only|stopped|back|again|occur|appear|thing",
        rf"(?<!anything that )(?<!nothing that ){_CANNOT} (?:\w+ ){{0,3}}?(?:reach(?:able)?|talk|"
        r"connect|ping|resolve|access|communicate|be reached|start|"
        r"comes? up|establish(?:es)?|becomes? \w+|proceed|progress|continue|respond|answer|work|join|"
        r"finish|complete|recover|"
        r"get (?:an? )?(?:ip|address)|get to|see each other|pull|schedule|leave|converge)\b|"
        r"\b(?:is|are|was|were|stays?|remains?|still) (?:\w+ )?not (?:reachable|"
        r"working|responding)\b|\b(?:have|has|got|get|with) no (?:network|connectivity|route|"
        r"internet|endpoints?)\b(?! (?:polic|plugin|problem|issue|error))|stopped (?:working|responding)|"
        r"\b(?:is|are|was|were|being) (?:\w+ )?not (?:being )?(?:advertised|announced|propagated|synced|assigned|"
        r"scheduled|resolved|routed|programmed|applied|enforced|installed|created|updated|accessible|available|"
        r"forwarded|fine|ok|okay|healthy|right|normal|well|stable)\b|(?:not|n't) (?:think|"
        r"believe) (?:\w+ ){0,4}(?:fine|ok|"
        r"okay|well|healthy|normal)\b|\b(?:some)?thing(?:s| is|s are)? (?:\w+ )?(?:wrong|off|broken)\b|"
        r"\b(?:it|this|that|problem|issue|trouble|error|outage|symptom)s? (?:is|are|"
        r"was|has come|have come|came|comes?) "
        r"back\b(?! (?:to|up|on|in|after|again and works|and (?:everything|all|it works)))|"
        r"\b(?:happen|occur|appear)(?:s|ed)? again\b|\bre-?(?:occur|appear)(?:s|ed)\b|"
        r"\bonly (?:works?|reachable|answers?|responds?)\b~\b(?:on|from|within|inside)\b|"
        r"\b(?:reachable|reached|works?|answers?|respond(?:s|ing)?)\b≈\bbut not (?:from|on|in|to|between)\b",
        False,
    ),
    Rule(
        "suffers",
        "",
        r"\btim(?:es?|ed|ing) ?out\b|\btimeouts\b|\bstuck\b|\bhangs?\b|\bunreachable\b|"
        r"(?<!\b0% )(?<!\b0 % )\bpacket loss\b|\bflap(?:s|ped|ping)?\b|\bbounc(?:es?|ing)\b|"
        r"\b(?:connections?|packets?|requests?|traffic|pods?|sessions?)\b~\b(?:resets?|reset by peer|dropped|"
        r"drops?|lost|refused|rejected|blocked|denied|interrupted)\b|"
        r"\b(?:gets?|sees?|with|many|lots of) (?:\w+ )?(?:resets|drops|50[234]s?|disconnects)\b|"
        r"\bintermittent(?:ly)?\b|\b(?:very|too|extremely|really|so) slow\b|"
        r"\bslow(?:ed)? down\b|\b(?:extremely )?high latency\b|\bbad gateway\b|"
        r"\bgateway time-?out\b|\b(?:gives?|get|gets|got|returns?|with|only|all) (?:an? |http )?50[234]\b|"
        r"\bcan ?not be (?:\w+ed)\b|"
        r"(?<!not )(?<!n't )(?<!never )\b(?:loses?|losing) (?:\w+ ){0,2}"
        r"(?:traffic|connectivity|network\w*|packets|connections)\b|"
        r"(?<!post-)(?<!post )\boutages?\b|\bcrash(?:es|ing|looping)\b|"
        r"\brestart(?:s|ed|ing)? (?:frequently|often|constantly|repeatedly|randomly|periodically|all the time|"
        r"many times|every)\b|keeps? (?:on )?(?:re-?starting|crashing|failing|dying|dropping|losing)|"
        r"\b(?:is|are|goes|went) (?:\w+ )?(?:down|dead|broken|offline|unreachable)\b|"
        r"\blos(?:es?|t|ing) (?:all |one |some |most )?(?:of )?(?:their |"
        r"its |the )?(?:bgp )?(?:network|connectivity|connections?|routes?|sessions?|peers?)\b|"
        r"\b(?:lookups?|requests?|connections?|pods?|pings?|"
        r"curls?|installs?|upgrades?|migrations?) (?:all |just |always |sometimes )?(?:fails?|failed|are failing|is "
        r"failing)\b",
    ),
    Rule(
        "suffers",
        ANY_CHINESE,
        r"不通(?!过)|(?:访问|连接|解析|启动|创建|ping|联系|拉取|分配)不(?:了|到|上|通|成功)|连不上|起不来|上不去|用不了|"
        r"(?:无法|不能|没法)(?:正常)?(?:访问|连接|通信|解析|启动|ping|联通|互通|创建|加入|拉取|使用|工作|就绪|ready)|"
        r"(?:解析|访问|连接|请求|创建|启动|安装|升级|迁移)(?:一直|总是|全部|都|经常|偶尔)?(?:失败|超时|报错)|"
        r"(?:一直|总是|全部|都|还是|经常|老是|反复|不停地?)[^，。；,;]{0,6}(?:超时|失败|报错|(?<!滚动)重启(?!了?[一过遍次])|卡住|"
        r"卡在|掉线|挂掉)|(?:卡住|卡在|卡死)(?![^，。；,;]{0,20}(?:清掉|恢复|好|消失|删掉|起来)了)|"
        r"(?:访问|连接|请求|解析|ping|curl|telnet|调用|拉取|登录)[^，。；,;]{0,14}?(?:超时|失败|不通|报错|不了|被拒|连不上)|"
        r"(?:今天|刚才|刚刚|现在|早上|下午|晚上|然后|结果)[^，。；,;]{0,4}又(?:不|挂|断|开始|出现|复发|来|坏|卡|报|掉|重启)|又(?:不行|不通|挂)了|"
        r""
        r"(?:访问|页面|域名|接口|请求|网页|ingress|网关|服务)[^，。；]{0,8}(?<![\d.:])50[234](?![\d.:])|"
        r"50[234] ?(?:gateway|bad|service)|"
        r"没有(?:任何)?进展|不可达|不可用(?![于来作])|断网|时通时不通|时断时续|频繁(?:重启|掉线|断开)|(?:业务|服务|网络)(?:都|全)?(?:中断|断了|挂了|受影响)",
        False,
    ),
    Rule(
        "suffers",
        ANY_CHINESE,
        r"(?<![^\d.]0% )(?<![^\d.]0%)(?<![^\d.]0 )(?<![^\d.]0)丢包(?!率?[:：为是 ]{0,3}0(?:\.0+)?(?:%|\b))|"
        r"全丢|全部丢|丢光|偶发|(?:很|太|变|特别|非常|越来越)慢|延迟(?:很|特别|非常)?(?:高|大)|(?:报|返回|出现|大量|偶尔)[^，。；,;]{0,4}50[234]|"
        r"(?:连接|会话)(?:被|经常|频繁)?(?:重置|断开|中断)|(?:没有?|不|未)(?:生效|起作用)|被(?:拦截|丢弃|拒绝|阻断)|"
        r"只(?:有|在|能)[^，。；,;]{0,12}(?:能通|才通|可以访问|能访问)",
    ),
    Rule(  # something is away for a stretch of time, though it comes back
        "suffers",
        "for |分钟|秒",
        r"\bno (?:[\w-]+ ){0,2}(?:routes?|connectivity|network|traffic|connections?)\b~\bfor (?:around |about |some |"
        r"almost |nearly |roughly |up to |the first )?(?:\d+|a few|few|several|two|three|four|five|ten) ?"
        r"(?:m|s|min(?:ute)?s?|sec(?:ond)?s?)\b|(?:\d+|几|两|三|四|五|十) ?(?:多 ?|来 ?)?(?:分钟|秒)"
        r"(?:左右|之?内|里|时间)?[^，。；]{0,6}(?:没有?|无|丢)[^，。；]{0,6}(?:路由|网络)",
        False,
    ),
    Rule(  # whatever it is: it breaks, ends, or is only there for some
        "suffers",
        "",
        r"\b(?:resolution|lookups?|dns|network(?:ing)?|connections?|traffic|connectivity|routing|access|communication|"
        r"transfers?|sessions?|peers?|links?|calls?|tunnels?|pods?) (?:\w+ ){0,4}(?:breaks?|broke|dies|died|drops?|"
        r"go(?:es)? (?:up and )?down|(?:is|are|gets?|being) (?:\w+ )?(?:blocked|dropped|rejected|denied|refused|"
        r"interrupted|cut off|truncated|corrupted))\b|"
        r"\bstopped (?:get|receiv|work|respond|serv|accept|forward|rout|answer|sync|advertis|send|reach)|"
        r"\blost (?:all )?(?:access|contact|connectivity|network)\b|"
        r"\b(?:from|on|in|for) (?:some|certain|one|a few|half of)(?: of the| of our)? (?:\w+ )?only\b|"
        r"\bsame ip(?: address(?:es)?)?\b~\b(?:as|twice|two)\b|"
        r"\b(?:truncated|corrupt(?:ed)?|garbled)\b|"
        r"\b(?:have|has|need|needs) to (?:restart|reboot|recreate|delete|kill)\b~\b(?:daily|every|each|again|to get|"
        r"regularly|manually|otherwise|before)\b|"
        r"\b(?:gets?|gives?|got|returns?|throws?|ends? (?:in|with)|answers? with|see|sees)\b~\b(?:deadline exceeded|"
        r"i/o timeout|connection refused|no route to host|unexpected eof|timeouts?)\b",
    ),
    Rule(  # pods that nobody places, traffic that is not shared out
        "suffers",
        "pending|one pod|one backend|one endpoint|same pod|single|balance|怀疑|只进|只到|只打到",
        r"\b(?:still|stays?|stuck|remains?|keeps?|never leaves?)\b(?: [\w-]+){0,4} pending\b|"
        r"\b(?:traffic|requests?|connections?)\b~\b(?:only|always|all) (?:go|goes|land|lands|hit|hits|reach|reaches)\b~"
        r"\b(?:one|the same|a single) (?:pod|backend|endpoint|replica)\b|\bnot (?:\w+ )?balanced\b|"
        r"一直(?:是|卡在|处于|显示)? ?[<`]?pending|怀疑[^。；]{0,30}(?:有问题|异常|故障|bug)|"
        r"(?:流量|请求|连接)[^，。；]{0,8}只(?:进|到|打到|落到)",
        False,
    ),
    Rule(  # somebody who ends what others opened
        "suffers",
        "drops|closes|kills|cuts|loses",
        r"\b(?:drops|closes|kills|cuts|loses) (?:\w+ ){0,4}(?:sessions?|connections?|packets|requests)\b",
    ),
    Rule(  # it works, with the wrong address
        "suffers",
        "wrong|reject|instead|replac|rewrit|错",
        r"\b(?:address(?:es)?|source|ips?|routes?|results?|answers?|ports?|interface|nic) (?:is|are) (?:\w+ )?wrong\b|"
        r"\b(?:the|a) wrong (?:source|address|ip|interface|nic|node|route|gateway|network)\b|"
        r"\b(?:rejects|refuses|denies) (?:the|our|us|all|some|their|my|every)\b|"
        r"\bsource (?:address(?:es)?|ips?) (?:is|are|gets?) (?:\w+ )?(?:replaced|rewritten|lost|changed|masqueraded)\b|"
        r"(?:地址|网卡|路由|网关|源 ?ip)(?:是|都|全)?错(?:了|的|误)",
        False,
    ),
    Rule(  # a person who is at a loss
        "suffers",
        "unable|fail|help|luck|avail|persist|remain|continu|exist|same|arriv|without|no metrics",
        r"\b(?:are|end up|is|come up|stay|left) without (?:a |any )?(?:network|connectivity|internet|dns)\b|"
        r"\bunable to (?!find|see|tell|say|explain|reproduce|understand|spot)|"
        r"\bfails? (?:with|on|at|because|when|after|for)\b|"
        r"\bnothing (?:\w+ )?helps?\b|\bno luck\b|\bto no avail\b|(?:did|does)(?:n't| not) help\b|"
        r"\b(?:problem|issue|error|symptom|fault)s? (?:still )?(?:persists?|remains?|continues?|exists?)\b|"
        r"\bsame (?:problem|issue|error|symptom|result)s? (?:here|again|as before|with|on|after)\b|"
        r"\b(?:never|n't|not|no longer) arrives?\b",
        False,
    ),
    Rule(
        "suffers",
        "超时|中断|解决|搞不定|依旧|无果|一样|没辙|没头绪",
        r"超时|(?:会|被|经常|总是|频繁|传输|连接|业务|网络)中断|(?:没|未|没有|还没)(?:能)?解决|搞不定|(?:报错|问题|现象|情况)依旧|"
        r"依旧(?:不|报错|如此)|无果|还是一样|没辙|没(?:有)?头绪",
        False,
    ),
)
