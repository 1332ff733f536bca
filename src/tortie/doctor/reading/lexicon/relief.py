"""What people say to be over or well. It takes back complaints, never proves anything: judgement/complaints.py."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

_NO = r"(?!not\b|never\b|no\b|hardly\b|far\b|only\b)"

RULES: Final = (
    Rule(
        "mended",
        "fix|solv|repair|mend|recover|went away|gone|back to normal|restored|closed|修|恢复|解决|处理|好了|正常了",
        r"(?:it|that|this|which|problem|issue|trouble|outage|alert|alarm|incident|all|everything|we|i|they|he|she|"
        r"has|have|had|is|was|are|"
        r"were|been|got|since|now) (?:\w+ly |already |now |since |been |all |"
        r"then )?(?:fixed|solved|resolved|repaired|mended|"
        r"recovered|cured)\b|after (?:the|that|our|this) (?:fix|repair|recovery)\b|(?:problem|issue|trouble|error|"
        r"alert|alarm|"
        r"symptom|timeout|warning|message|50\d|outage|loss)s? (?:went away|(?:is|are|was|were) (?:now )?gone)\b|"
        r"back to normal|\b(?:we|i|they|he|she) (?:have |then |finally )?restored\b|(?:service|traffic|connectivity|"
        r"access|network|everything|all|was|were|been|fully) restored\b|"
        r"(?:incident|outage|alert|alarm) (?:is |was |has been )?(?:now )?(?:closed|over)\b|(?:已经?|都|"
        r"全部)\w{0,6}(?:解决|处理|修复|修好|恢复)|"
        r"(?:解决|处理|修复|修好|恢复)(?:好|完)?(?:了|后|完毕|完成|之后|以后)|(?:确认|均|全部|陆续)恢复|"
        r"(?:之后|后来|随后|重启后)[^，。；]{0,6}(?:好了|正常了|恢复正常)",
    ),
    Rule(
        "mended",
        "again|since|再",
        r"(?:has|have|had|did)(?: not|n't) (?:\w+ )?(?:fired?|happen(?:ed)?|occur(?:red)?|appear(?:ed)?|come back|"
        r"return(?:ed)?|been seen|shown? up|alert(?:ed)?|repeat(?:ed)?)(?: again| since)\b|"
        r"no (?:more|further|new) (?:errors?|warnings?|failures?|timeouts?|alerts?) (?:lines?|messages?|entries|"
        r"events?) (?:in [\w-]+ )?since\b|"
        r"no (?:such|more|further|new) (?:events?|alerts?|errors?|lines?|timeouts?|restarts?|incidents?) since\b|"
        r"(?:未|没有?|不)再(?:次)?(?:出现|复现|发生|报|告警|触发)",
        False,
    ),
    Rule(
        "says-well",
        "fine|well|ok|good|green|normal|healthy|work|expected|perfect|flawless|without|false alarm|正常|误报|"
        "虚惊|恢复|好了|通|成功|200",
        r"(?:all|everything|it|cluster|things|network|traffic|communication|connectivity|networking|services?|dns|pods|"
        r"workloads?|applications?|apps)(?: else| itself)? (?:is|are|looks?|seems?|runs?|works?|is working|are working|"
        r"is running|are running|behaves?|functions?|has been|have been)"
        rf"(?: {_NO}\w+)? (?:fine|well|ok(?:ay)?|good|green|normal(?:ly)?|healthy|in order|again|now|"
        rf"as expected|perfectly|"
        r"flawlessly|without (?:any )?(?:problem|issue|trouble)s?)\b|"
        rf"(?:all|everything) (?:works|is up|fine|good|green)\b(?! (?:except|but|"
        rf"apart))|(?:i|we) (?:think|believe|find|"
        r"would say|consider)~(?:fine|well|ok|good|harmless|healthy)\b|looks? (?:fine|good|ok|healthy) to (?:me|us)|"
        r"\beverything (?:else )?(?:is )?work(?:s|ing)\b(?! (?:except|but|apart|when|if|until|only|on|in|for|with))|"
        r"\b(?:pods|they|nodes|services|all) (?:\w+ )?(?:talk|communicate|reach|ping|see) (?:to |"
        r"with )?(?:each other|one another) "
        r"(?:just |perfectly |all )?(?:fine|well|ok)\b|"
        r"\b(?:cluster|network|traffic|everything|all) seems to (?:work|be (?:fine|ok|working|healthy))\b|"
        r"false alarm|我(?:个人)?(?:觉得|认为|看|感觉|判断|查了|看了)[^。；]{0,20}?正常|虚惊一场|误报|"
        r"(?:现在|目前|当前)[^，。；]{0,10}(?:正常|好了|恢复)(?!吗)|(?:业务|应用|服务|网络|集群|功能|访问|通信|"
        r"pod)(?:也|都|均|全部|一切|目前|一直|使用)?"
        r"(?:是|都是|很)?正常(?!吗|的话|情况|启动|就绪)|(?:ping|curl|nslookup|解析|访问|互访|互通)[^，。；]{0,30}"
        r"(?:都|也|均|全部)是?(?:能?通的?|正常|成功|ok|200)(?=[，。；,;!]|$)|(?:创?建|新建) ?pod ?(?:也|都|均)?正常",
    ),
    Rule(
        "says-well",
        "nothing|no |n't |not |never |nobody|none|close|没|无|关单|关工单|影响|报错|异常|感知|障",
        r"\b(?:not|n't) (?:\w+ )?(?:experiencing|seeing|having|noticing|noticed|seen|had|facing|observed?|observing|"
        r"have|see|notice) (?:any|a single) (?:\w+ ){0,2}(?:issues?|problems?|impact|troubles?|symptoms?|outages?|"
        r"complaints?)\b(?! (?:until|before|with the (?:old|other)))|"
        r"\b(?:as far as (?:i|we) can (?:tell|see|judge)|so far|actually|otherwise|apparently|visibly),? "
        r"nothing (?:is|seems|looks|appears) (?:\w+ )?(?:broken|wrong|affected|down)\b|"
        r"(?:does not|doesn't|did not|didn't|do not|don't|not|never) (?:\w+ |seems? to |appears? to )?"
        r"(?:affect|impact|influence|disturb|hurt)"
        r"(?:s|ed|ing)? (?:\w+ )?(?:us|usage|users?|traffic|workloads?|anything|anyone|production|services?|"
        r"applications?|apps|operation|functionality)\b|\bno (?:functional|visible|user|noticeable|operational|"
        r"practical|"
        r"real) (?:impact|effect)\b|"
        r"(?:观察|运行|跑)了?[^，。；]{0,10}(?:没有?|无|未见)(?:任何|发现)?异常|没(?:有)?(?:人)?报过?障|无(?:人)?报障|"
        r"(?:i|we) (?:see|find|think|believe|found)~(?:nothing (?:is )?(?:wrong|broken|strange)|no (?:problem|trouble|"
        r"fault)s?)\b|"
        r"(?:nobody|no one|none of (?:the |our )?(?:users?|teams?|customers?))(?: has| have)? (?:complain(?:s|ed)|"
        r"noticed?)\b|no (?:complaints|(?:user |support )?tickets)\b(?! yet)|"
        r"(?:users?|teams?|customers?)~(?:see|report|notice|have|"
        r"has)s? no (?:\w+ )?(?:problem|issue|"
        r"impact|trouble|outage)s?\b|no (?:\w+ )?(?:impact|effect) (?:on|for|to) (?:\w+ )?(?:users?|workloads?|traffic|"
        r"applications?|apps|services?|pods|production|customers?)\b|"
        r"没(?:有)?人(?:反馈|抱怨|投诉|叫)|无(?:人)?投诉|(?:业务|应用|服务|使用|用户|"
        r"线上)[^，。；]{0,6}(?:没有?|未|不|无)(?:受到?|有)?(?:任何)?(?:影响|报错|异常|感知)|"
        r"(?:can|will|would|going to|want to|let me) close (?:the|this|that) (?:ticket|issue|case)|"
        r"我(?:个人)?(?:觉得|认为|看|感觉|判断|查了|看了)[^。；]{0,20}?(?:没事|没(?:什么|啥)?问题|没毛病)|"
        r"(?:现在|目前|当前)"
        r"[^，。；]{0,10}没(?:什么|啥)?问题|没(?:什么|啥)?问题[^。；]{0,8}(?:就|可以)[^。；]{0,6}(?:关单|关工单|"
        r"关了|结单)",
        False,
    ),
    Rule(  # what looks at all of it all the time, and since when it has nothing to say
        "says-well",
        "green",
        r"\b(?:validat\w+|monitoring|dashboards?|(?:health ?)?checks?|alerts?|(?:smoke )?tests?|everything) "
        r"(?:is|are|has been|have been) (?:all |back to )?green (?:again )?since\b(?!≈\b(?:but|except|only|until)\b)",
        False,
    ),
    # Said instead of shown: "calico-node 9/9, all nodes Ready, both peers up".
    Rule(
        "agents-well",
        "calico|canal",
        r"\b(?:calico|canal)(?:[-/ ]node)?(?:'s)?(?: pods?| agents?| daemonset| ds)?"
        r"(?: ?(?:、|,|&|/|\band\b|和|与|及|以及) ?kube-?proxy)?(?: \w+){0,2}? ?"
        r"(?: ?(?:is|are|:|=|->|→|`|shows?|都|全部|均|也|的))*(?: all| both|都|全)? ?(?:是|为)? ?"
        r"(?:([1-9]\d*)(?:/| of | )\1(?!\d)|(?<!not )\brunning\b|(?<!not )\bready\b|\bhealthy|\bgreen|正常|就绪)",
    ),
    Rule(
        "agents-well",
        "pods|pod",
        r"\b(?:calico|kube-system|canal)\b≈\b\d+ ?x 1/1 running\b(?!.*\b(?:but|other|third|one|crash|\w*backoff|init|"
        r"unknown|terminating|pending|error|[02]/\d))|"
        r"\ball (?:of )?(?:the |our )?(?:calico |system |kube-system |calico-system )*pods (?:are |show )?(?:\w+ )?"
        r"(?:running|ready|healthy|up|green|1/1)\b|(?:所有|全部)(?:的)? ?pods?(?:都|均)?(?:是|为|"
        r"处于)? ?(?:running|正常|ready|1/1)|"
        r"pods? ?(?:都|全部|全|均)(?:是|为)? ?(?:running|正常|ready|1/1)",
    ),
    Rule(
        "nodes-well",
        "nodes|节点|node|cluster",
        r"\b(?:all|both|every) (?:\w+ ){0,2}?nodes? (?:are |is |show )?(?:\w+ )?ready\b|"
        r"\byour cluster [\w.-]+ is ready\b|"
        r"\bnodes?:? (?:are )?(?:all )?ready\b|\b([1-9]\d*) ?(?:x|of \1|/ ?\1) (?:nodes? )?ready\b|"
        r"(?:节点|(?<!calico-)(?<!calico/)\bnode)(?:状态)?(?:都|全部|全|均)?(?:是|为)? ?ready",
    ),
    Rule(
        "sessions-well",
        "peer|session|neighbo|bgp|邻居|会话|established",
        r"\b(?:all|both|every|the) (?:\w+ ){0,2}?(?:peers?|peerings?|sessions?|neighbou?rs?) (?:are |is )?(?:\w+ )?"
        r"(?:up|established)\b|\b[1-9]\d* (?:bgp )?(?:peers|sessions),? (?:all |each )?(?:up|established) "
        r"(?:since|for)\b(?!.*\b(?:third|other|but|active|"
        r"connect|down|idle)\b)|\bbgp (?:is |peers? |peering |sessions? |status )?(?:are |is )?(?:all )?(?:up|"
        r"established|fine|ok)\b(?!.*\b(?:third|other|but|active|connect|down|idle)\b)|"
        r"(?:bgp|邻居|会话|对等体|node status)[^，。；]{0,8}(?:都|全部|全|均)?(?:是|为)? ?(?:established|up\b|正常)"
        r"(?!.*\b(?:third|other|but|active|connect|down|idle)\b)",
    ),
    Rule(
        "traffic-well",
        "pod|ping|curl|cross|dns|polic|test|traffic|100|pass|iperf|smoke|fetched|asked|http|success|lost|loss|fail|"
        "error|verified|丢|失败|超时|跨节点|解析|互通|拨测|压测",
        r"\bpods? (?:\w+ ){0,5}?(?:talk|reach|ping|see)s? (?:to |with )?(?:each other|one another|pods)\b|"
        r"\bping(?:s|ed)?\b~(?:without loss|0% (?:packet )?loss|works|is fine|ok)\b|\bcurls?\b~(?:->|→|gives?|returns?|"
        r"answers?|is)? ?200\b|\b(?:cross[- ]node|pod[- ]to[- ]pod|east-west|dns|policies)\b~(?:works?|ok|fine|"
        r"enforced|pass(?:es|ed)?|green|without (?:any )?(?:loss|problem|error)s?)\b|"
        r"\b(?:probes?|mesh|monitoring|availability|success(?: rate)?)\b≈\b(?:at|is) 100(?:\.0+)? ?%(?! of)|"
        r"(?:可用率|成功率|连通率)[^，。；]{0,8}100(?:\.0+)? ?%|"
        r"all pods reported success|\b(?:fetched|pinged|reached|asked|tests?|smoke|probes?|checks?|dns|http)\b≈"
        r"\b([1-9]\d*)/\1(?: (?:ok|pass(?:ed)?|green|good|success\w*)|\))|"
        r"\biperf3?\b≈\d(?:\.\d+)? ?gbits?(?:/s|ps|/sec)|"
        r"\bpass(?:es|ed)? (?:all )?([1-9]\d*) ?(?:/|of|out of) ?\1(?!\d)|"
        r"\btraffic\b≈\b(?:pods?|networks?|nodes?|services?|directions?)\b~(?:just |all |perfectly )fine\b|"
        r"(?:跨节点|互通|互访|拨测|压测)[^。；]{0,24}(?:正常|通的|都通|200|0% ?丢包|success|成功|没问题)|"
        r"(?:dns|解析)[^，。；]{0,8}(?:都|也|均)?(?:正常|没问题|ok)",
    ),
    Rule(  # answers that were counted: "5000 x 200", and no other
        "traffic-well",
        "x 200|× 200|x200|×200",
        r"\b(?:requests?|curls?|calls?|gets?|loop)\b≈\b[1-9]\d* ?[x×] ?200\b(?!≈\b(?:x|×) ?[45]\d\d\b)",
    ),
    Rule(  # trouble that was counted, and is none
        "traffic-well",
        "no |0|zero|verified|无",
        r"\b(?:pings?|icmp|probes?|mesh|dns|quer(?:y|ies)|lookups?|requests?|packets?|curls?|http|udp|goldpinger|"
        r"blackbox|kuberhealthy|smokeping|tcp)\b≈(?<![\w.,:/-])"
        r"(?:0|no|zero) (?:(?:of|out of|/) ?[\d.,]+ ?[km]? ?)?(?:packets? |queries |requests )?(?:lost|loss|failed|"
        r"failures?|errors?|time-?outs?|drops?|dropped)\b(?! by)|"
        r"\b(?:no|0|zero) (?:packet )?(?:loss|drops)\b(?: \w+){0,3} (?:mesh|probes?|matrix|pings?|between|nodes)\b|"
        r"\b(?:traffic|snat|connectivity|dns|east-west|egress|ingress)\b~\bverified\b|"
        r"(?:ping|拨测|压测|解析|请求|互访|互通|跨节点)[^。；]{0,24}(?:(?<![a-z0-9_.,:/-])0 ?(?:个|次|条)?"
        r"(?:丢包|失败|超时|错误)|无丢包|零丢包|"
        r"(?:失败|丢包|超时|错误)(?:数|次数|率)?[:：是为 ]{0,3}0(?![\d.]*[1-9])(?!\s?%?\s?[-~～到至]))",
        False,
    ),
    # A person who looks for a cause has a trouble, in whatever words it is told.
    Rule(
        "seeks-help",
        "reason|cause|fix|solve|debug|wrong|what else|ideas|help|suggest|hint|troubleshoot|原因|解决|排查|求助|"
        "怎么办|求解|指点",
        r"\bwhat (?:\w+ )?(?:can|could|might|may|would|is) (?:be )?(?:the |a )?"
        r"(?:reason|cause|culprit|problem|issue|wrong)|"
        r"\bwhat else (?:can|could|should|may|might) (?:i|we)\b|"
        r"\bhow (?:can|do|could|should|to) (?:i |we )?(?:\w+ )?(?:fix|solve|debug|resolve|troubleshoot|repair)|"
        r"\bany (?:ideas?|help|suggestions?|hints?|pointers?)\b|\bplease help\b|"
        r"\bhelp (?:is |would be )?(?:appreciated|needed)\b|"
        r"\bwhat (?:am i|are we|did i) (?:\w+ )?(?:doing wrong|missing)|"
        r"什么原因|(?:怎么|如何|怎样)(?:解决|排查|处理|修复|定位)|求助|怎么办|求解|大佬.{0,4}指点",
        False,
    ),
)
