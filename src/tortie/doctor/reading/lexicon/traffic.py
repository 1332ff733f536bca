"""What people say about traffic: which passes, which does not, and what filters it."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

RULES: Final = (
    Rule(
        "bgp-open-lost",
        "open|handshake|握手",
        r"(?:only|just) sees? the (?:tcp )?handshake|\bOPEN\b~(?:retransmit|never arrives|is lost|not arrive|重传)"
        r"|只看到(?:三次)?握手|抓不到 ?open|retransmit\w*~\bopen\b",
        False,
    ),
    Rule(
        "same-node-ok",
        "same|同|own node",
        r"(?:same|own|one) (?:node|host|machine)~(?:works?|is fine|are fine|fine|ok\b|succeed|can (?:talk|"
        r"reach|ping)|no problem|reachable)|(?:works?|fine|ok|reachable|talk)~(?:on|within|"
        r"inside) (?:the same|one|a single) (?:node|host)|(?:同一?(?:个|台)?(?:节点|主机|机器)|同节点|"
        r"本节点|节点内)~(?:的?通|正常|没问题|可以|能|ok)",
    ),
    Rule(
        "cross-node-dead",
        "node|节点|host|跨|machine|主机|worker|pod",
        r"(?:pods?|containers?|traffic|connections?|communication|networking)~(?:different|other|another|"
        r"across|between)~(?:nodes?|hosts?|machines?)~(?:(?:can ?not|can't|could not|couldn't|unable to|"
        r"fails? to|do(?:es)? not|doesn't|don't|never|nothing)|fails?\b|is dead|are dead|broken|"
        r"times? out|unreachable|lost|not working|drops?)|(?:can ?not|can't|could not|couldn't|unable to|"
        r"fails? to|do(?:es)? not|doesn't|don't|never|nothing)~(?:reach|talk|ping|communicate|connect|"
        r"works?|answers?|get)~(?:pods?|containers?|anything)?~(?:on|of|to|across|between)~(?:different|"
        r"other|another|all other)~(?:nodes?|hosts?|machines?)|cross-(?:node|host)~(?:fails?|dead|broken|"
        r"not work|does not|doesn't|unreachable|times? out|cannot)|pods?~(?:on|of) (?:node|host|machine|worker|vm) ?\w+"
        r"~(?:can ?not|can't|could not|couldn't|unable to|do(?:es)? not|doesn't|don't|never)~(?:reach|talk|ping|"
        r"connect|communicate|access)~pods?~(?:on|of) (?:node|host|machine|worker|vm)|"
        r"\bpods? on \S+ (?:can ?not|can't|could not|couldn't|never|does not|doesn't) "
        r"(?:get|reach|ping|see|access)\b~\bpods? on\b|"
        r"\bpods?~\b(?:each other|talk|reach|communicate|work)\b~\bonly (?:on|within|inside) (?:the|one|a) "
        r"(?:same|single) (?:vm|node|host|machine|worker)\b|nothing outside (?:its|"
        r"their) own (?:node|host) answers|"
        r"(?:节点|node|worker) ?之间[^。；，]{0,8}(?:不通|ping ?不通|无法(?:访问|通信|互通))|"
        r"跨(?:节点|主机|宿主机|机器|物理机|虚机|虚拟机|服务器|机房|机架|网段|子网|可用区|"
        r"node)[^。；，]{0,12}[，,]? ?~(?:不通|不了|失败|超时|"
        r"不能|无法|"
        r"ping ?不通|不可达|访问不|有问题)|(?:不同|其[他它]|别的|另一)(?:个|台)?(?:节点|主机|机器|"
        r"node)~(?:(?:pods?|containers?|容器|服务)|之间)?~(?:不通|无法(?:互相)?(?:访问|通信|通讯|ping)|"
        r"不能(?:互相)?(?:访问|通信|ping)|访问不(?:了|到)|ping ?不通|(?:全部?|都|一直|均)超时)",
        False,
    ),
    Rule(
        "ping-works-tcp-not",
        "ping|icmp",
        r"(?:nothing|none) but (?:ping|icmp) works|only (?:ping|icmp) works|(?:ping|icmp)\w*~(?:works?|"
        r"is fine|are fine|ok|fine|succeeds?|goes through|passes|answers?|replies)[^.;。；]{0,30}(?:but|"
        r"while|yet|whereas|however)~(?:tcp|udp|curl|http|dns|telnet|nc\b|connections?|wget|ssh|"
        r"port)~(?:(?:can ?not|can't|could not|couldn't|unable to|fails? to|do(?:es)? not|doesn't|don't|"
        r"never|nothing)|fails?|hangs?|times? ?out|timeout|not|dead|blocked|refused)|ping~(?:得?通|正常|"
        r"没问题|可以)[^。；;]{0,20}(?:tcp|udp|curl|http|telnet|端口|dns|访问)~(?:不通|不行|超时|失败|"
        r"不了|无法|卡)|(?:ping|icmp)s?(?: between pods| across nodes| 跨节点)? ?[:=]? ?(?:is |are |"
        r"was )?(?:yes|ok|okay|good|"
        r"fine|✓|✔|✅|通)[^;!?]{1,60}?\b(?:tcp|udp|curl|dig|http|dns|nslookup|nc|telnet|grpc|wget) ?[:=]? ?(?:is |are |"
        r"was )?(?:no\b(?! (?:problem|issue|trouble|error|loss))|nope|fail|dead|not\b|✗|✘|❌|×|不通|超时)|"
        r"(?:ping|icmp)\w* (?:still )?(?:works?|passes|answers|is (?:fine|ok))[^;!?]{0,40}(?:everything|"
        r"anything|all|nothing)"
        r" (?:else |other )?with (?:a |any )?ports?\b~(?:no\b|not\b|fails?|dead|hangs|times? out|does|works)|"
        r"(?:everything|anything|all) (?:else )?(?:with|that has|that needs) (?:a |any )?ports? ?(?:is |are )?"
        r"(?:no\b|not\b|fails?|dead|hangs|times? out)|"
        r"(?:凡是|所有|一切)?带端口的[^。;]{0,12}(?:不通|超时|失败|不行)|"
        r"只有 ?(?:ping|icmp)~(?:通|可以|正常)|(?:tcp|udp|curl|http|telnet)~(?:不通|超时|"
        r"失败|不行)[^。；;]{0,12}ping~(?:得?通|正常|没问题)",
        False,
    ),
    Rule(
        "ping-works-port-179-not",
        "179",
        r"ping~(?:works?|fine|ok|通|正常)≈179~(?:(?:can ?not|can't|could not|couldn't|unable to|fails? to|"
        r"do(?:es)? not|doesn't|don't|never)|not\b|fails?|times? ?out|refused|blocked|closed|不通|"
        r"连不上|超时|不行|拒绝)",
        False,
    ),
    Rule(
        "port-179-open",
        "179",
        r"179~(?:is |are |端口)?~(?:open\b|reachable|can be reached|works?\b|connects?|succeeds?|是通的|"
        r"可以连通|能连通|能通|可以通|连通正常|通的|是开的|已放行)|(?:telnet|nc)~179~(?:works?|is fine|"
        r"succeeds|ok|通)",
    ),
    Rule(
        "opening-179-helps",
        "179",
        r"(?:open(?:ed|ing)|allow(?:ed|ing)|add(?:ed|ing)|permitt(?:ed|ing)|unblock(?:ed|ing))~\b179\b≈(?:fixe[sd]|solve[sd]|"
        r"resolve[sd]|works?\b|worked|came up|comes? up|established|ready|helped|back)|"
        r"(?:放行|开放|打开|放开|开通|添加|加上)了?~179≈(?:恢复|正常|好了|解决|通了|就绪|established)",
    ),
    Rule(
        "firewall-blocks-179",
        "179",
        r"(?:firewalls?|security groups?|acls?|iptables|安全组|防火墙)~(?:not allow|doesn't allow|blocks?|"
        r"drops?|rejects?|denies|only (?:opens?|allows?)|without|没有放行|未放行|没放行|没开|没有开|"
        r"未开放|拦截|屏蔽|只开放|只放行)~179|(?:firewall|security group|安全组|防火墙)~179~(?:is|"
        r"was)? ?(?:not allowed|blocked|closed|missing|没有放行|未放行|没放行|没开|被拦截|没有开)",
        False,
    ),
    Rule(
        "ping-fails",
        "ping|不通|reach",
        r"(?:does not|doesn't|do not|did not|didn't|don't|no longer|never|not) (?:\w+ ){0,2}(?:answer|"
        r"respond|repl)\w*~pings?\b|(?:cannot|can't|not) be pinged|(?:can ?not|can't|unable to) ping|"
        r"ping(?: and [a-z]{2,8},?)? ?~(?:fails?|times? out|gets no (?:answer|reply)|100 ?% (?:packet )?loss)|"
        r"ping~不通|ping 不到|"
        r"无法 ?ping|不能 ?ping",
        False,
    ),
    Rule(
        "ping-works",
        "ping|ssh",
        r"can (?:all )?ping (?:each other|it|the|all|one another|every)|(?:ping|icmp)(?: to \S+|"
        r" between ~)? (?:works?|is fine|is ok|succeeds)|pings? fine|(?:answers?|responds? to) ping|"
        r"can ssh (?:in)?to|ssh (?:to \S+ )?(?:works|is fine)|(?:可以|能够?|都能)(?:互相|相互)? ?ping ?通|"
        r"ping ?(?:得|是|都)?通(?!不)|能 ?ssh|可以 ?ssh|ping~(?:正常|没问题)",
    ),
    Rule(
        "large-packets-stall",
        "large|big|upload|longer|mtu|大包|大文件|stall|hang|freez|image pull|tls|transfer|卡",
        r"\b(?:only|just) (?:for|with|on) (?:the )?(?:large|big|larger|bigger|longer)\b|"
        r"(?:uploads?|(?:long|longer|large|larger|big|bigger) (?:\w+ )?(?:calls?|requests?|posts?))~"
        r"(?:die|dies|hang|hangs|fail|fails|stall|stalls|time)|"
        r"(?:large|big|bigger|larger|full-size|jumbo)~(?:packets?|requests?|transfers?|responses?|files?|"
        r"downloads?|payloads?|bodies)~(?:stall|hang|hung|fail|time|never|stuck|do not|don't|are lost|"
        r"dropped|get lost)|(?:small|short|tiny)~(?:packets?|requests?|ping\w*|responses?)~(?:work|fine|"
        r"ok|pass|go through|succeed)[^.。]{0,40}(?:but|while|yet|,)~(?:large|big|long|tls|image|transfer|"
        r"download)|(?:image pulls?|tls handshakes?|file transfers?|downloads?|large copies)~(?:stall|"
        r"hang|stuck|freeze)|大包~(?:不通|卡|丢|超时|失败|不行|过不去)|小包~(?:通|正常|没问题|"
        r"可以)[^。]{0,20}大~(?:不|卡|丢|失败)|(?:hangs?|stalls?|freezes?)\b[^.;。]{0,60}\b(?:small|short|tiny)\b"
        r"~(?:fine|ok|works?|pass)|(?:大文件|传文件|拉镜像)~(?:卡|超时|失败|不动)",
        False,
    ),
    Rule(
        "sent-not-received",
        "tcpdump|captur|packets|抓",
        r"(?:packets?|requests?|syns?|echo requests?|traffic)~(?:leav|sent|go out|going out|"
        r"seen on the sender)≈(?:nothing|never|not\b|no packet|none|don't|do not)~(?:arriv|reach|seen|show|"
        r"captur|receiv)|(?:nothing|no packets?|never|none)~(?:arrives?|is received|are received|reaches|"
        r"seen)~(?:on|at) (?:the )?(?:other|receiv|destination|target|peer)|(?:发送端|源端|本端|"
        r"源节点)~抓~(?:包)[^。]{0,20}(?:接收端|对端|目标|目的)~(?:抓不到|没有|收不到|没抓到)|"
        r"对端(?:完全)?(?:收不到|抓不到)",
        False,
    ),
    # Of which packets, and where, the cause asks.
    Rule(
        "capture-silent",
        "tcpdump|captur|抓|dump|sniff|tshark",
        r"(?:tcpdump|tshark|capture|dump|sniff(?:er|ing)?)\b[^;!?。；]{0,90}?(?:\b(?:is|are|was|were|stays?|"
        r"stayed|remains?|"
        r"remained|keeps?|comes? out|came out|came back|returned)\b(?: \w+)? (?:silent|quiet|empty|blank|mute)\b|"
        r"\b(?:shows?|showed|sees?|saw|prints?|printed|catches|caught|gets?|got|captures|captured|gives?|gave|"
        r"has|had)\b"
        r"(?: \w+)? ?(?:nothing|none|no (?:\w+ )?packets?|0 packets|zero packets|not a (?:single )?packet|"
        r"not one packet)\b|"
        r"\b(?:does|did)(?: not|n't) (?:show|see|print|catch|capture|get) (?:anything|a (?:single )?packet|any)|"
        r"(?:[:=]|->|→) ?(?:nothing|silence|silent|empty|0 packets|no packets?)\b)|"
        r"(?:nothing|no (?:\w+ )?packets?|silence|not a single packet)\b[^;!?。；]{0,40}?\b(?:in|with|from|on|"
        r"under|by) "
        r"(?:a |the )?[`\"']?(?:tcpdump|capture|tshark)\b|"
        r"(?:抓|tcpdump|tshark)[^。；;!?]{0,80}?(?:什么都没有?|啥(?:都|也)没有?|没(?:有)?(?:任何|看到|一个|抓到|收到)?"
        r"(?:包|报文|输出|流量|东西|动静|反应)|抓不到|没抓到|没有抓到|毫无(?:输出|动静)|一个(?:包|报文)?(?:都|"
        r"也)?没|空空如也|"
        r"是空的|为空|安安静静|一片安静|没有输出|无(?:任何)?(?:输出|包|报文)|收不到|0 ?个包)",
        False,
    ),
    Rule(
        "network-dead",
        "pod|container|容器|workload",
        r"(?:pods?|containers?|workloads?)~(?:have|has|had|got|get|with|are|is) (?:no|without|cut off from)"
        r"(?: the| any| all)? (?:network|connectivity|networking|egress)\b(?! ?(?:polic|plugin|namespace))|"
        r"(?:pods?|containers?|workloads?)~(?:can ?not|can't|could not|couldn't|unable to)~(?:reach|talk to|"
        r"connect to|ping|access)~(?:anything|anyone|any other|the outside|the internet|the gateway|"
        r"their gateway)|(?:pods?|containers?|workloads?)~(?:cut off|isolated|lost all (?:network|"
        r"connectivity))|(?:pods?|containers?)~(?:lost|lose|loses) (?:all |their |its )?(?:network|"
        r"connectivity)\b(?! ?polic)(?!~(?:sometimes|now and then|occasionally|for a))|"
        r"(?:pods?|containers?)~(?:get|gets|got|see|report|say)~"
        r"no route to host|(?:pods?|容器)~(?:报|提示|返回)~no route to host|pods?~(?:on|of) \S+ (?:is|are) "
        r"(?:unreachable|not reachable)|(?:pods?|容器) ?(?:的)? ?(?:网络)?(?:都?全断|全部断|都断|断了|完全不通|都不通|"
        r"全都?不通|断网|网络不通|全部(?:都)?不通|(?:全部|所有|都)?(?:没|无)网络)|(?:pods?|容器)~(?:出不去|"
        r"进不来|没有网络|没网|上不了网|"
        r"访问不了外网|无法访问外网|谁都(?:访问|连)不)",
        False,
    ),
    Rule(
        "service-dead",
        "service|cluster ?ip|clusterip|svc|服务|vip",
        r"(?:cluster ?ips?|service (?:ips?|address(?:es)?|vips?)|services?\b|kubernetes service\b|"
        r"svc)~(?:(?:can ?not|can't|could not|couldn't|unable to|fails? to|do(?:es)? not|doesn't|don't|"
        r"never|nothing)|neither|unreachable|times? ?out|timeout|not reachable|not work|dead|fails?|"
        r"refused|no answer)|(?:reach|access|connect to|curl|ping)~(?:cluster ?ips?|service ips?|"
        r"services)~(?:fails?|times? out|not)|(?:service|svc|cluster ?ip|服务)~(?:不通|访问不(?:了|到)|"
        r"无法访问|不能访问|超时|连不上)|无法访问~(?:service|svc|服务|cluster ?ip)",
        False,
    ),
    Rule(
        "service-dead",
        "dns|resolv|nslookup|解析",
        r"(?:\bdns\b(?: lookups?| queries| resolution| requests?)?|name resolution|nslookups?|"
        r"resolving names)~(?:times? ?out|timing out|timed out|timeouts?|fails?\b|failing|is dead|is broken|"
        r"intermittent)|pods?~(?:can ?not|can't|could not|unable to) resolve (?:dns|names|services|"
        r"anything|cluster|any)|pods?~(?:无法|不能)~解析|(?:\bdns\b|域名解析|nslookup)[^。；，]{0,12}(?:超时|"
        r"失败|不通|解析不了|不稳定)",
    ),
    Rule(
        "nodeport-dead",
        "nodeport|node port|30",
        r"node ?ports?≈(?:(?:can ?not|can't|could not|couldn't|unable to|fails? to|do(?:es)? not|doesn't|"
        r"don't|never|nothing)|unreachable|times? ?out|not reachable|not work|dead|fails?|refused|不通|"
        r"访问不(?:了|到)|无法访问|不能访问|超时|连不上)|\b3[0-2]\d{3}\b~(?:unreachable|cannot|"
        r"not reachable|不通|无法访问|访问不)|(?:无法访问|访问不了|不通)[^。]{0,20}(?:node ?port|"
        r"\b3[0-2]\d{3}\b)",
        False,
    ),
    Rule(
        "host-pod-dead",
        "own pods|local pods|own pod|本机|本节点",
        r"(?:node|host|machine)s?~(?:can ?not|can't|could not|couldn't|unable to|fails? to|do(?:es)? not|"
        r"doesn't|don't|never|nothing)~(?:ping|reach|connect|curl|access)~(?:its|their) (?:own|"
        r"local)~pods?|(?:can ?not|can't|could not|couldn't|unable to|fails? to|do(?:es)? not|doesn't|"
        r"don't|never|nothing)~(?:reach|ping)~local pods? from (?:the )?(?:node|host)|(?:本机|本节点|"
        r"宿主机)~(?:ping ?不通|访问不(?:了|到)|不通|无法访问)~(?:本机|本节点|自己|上面)?~(?:pods?|"
        r"containers?|容器|服务)|宿主机~(?:ping|访问|curl|telnet)~(?:本机|本节点|自己|上面|上)~(?:pods?|"
        r"容器)~(?:不通|不了|超时|失败)",
        False,
    ),
    Rule(
        "pods-stuck",
        "containercreating",
        r"pods?~(?:are|is|stay|stays|remain|remains|get|gets|got|keep|keeps|were|was)?~(?:stuck|hang\w*|"
        r"stays?|remains?|"
        r"forever|for (?:minutes|hours|ever))~ContainerCreating|pods? (?:are |stay |remain )?"
        r"(?:all |forever |always |permanently )?(?:in |at )?ContainerCreating\b~"
        r"(?:forever|for (?:minutes|hours|ever))|"
        r"pods?[^。；;，]{0,12}(?:一直|卡在?|都是|都在|始终|停在|全部?是?|处于)[^。；;，]{0,8}ContainerCreating",
    ),
    Rule(
        "pods-stuck",
        "new pod|newly created|containercreating|新",
        r"pods?~never (?:leave|get past|get out of)~ContainerCreating|(?:new|newly created) pods?~"
        r"(?:do not|don't|never|cannot|can't|no longer|fail to)~"
        r"(?:start|come up|get (?:a|an|any) (?:ip|address|sandbox))|"
        r"(?:新建|新起|新创建|新)的? ?pods?[^。；;，]{0,8}(?:起不来|无法(?:启动|创建)|"
        r"创建不了|启动不了|拿不到 ?ip|分不到 ?ip)",
        False,
    ),
    Rule(
        "network-lost-sometimes",
        "lose|loses|lost|intermittent|sometimes|now and then|occasional|偶尔|偶发|间歇|时不时|sporadic|"
        "from time to time|every few|隔|时断时续|断断续续",
        r"(?:now and then|sometimes|intermittently|occasionally|sporadically|from time to time|every few|"
        r"randomly|for a while)~(?:lose|lost|drops?|dead|no network|connectivity|unreachable|disconnect)|"
        r"(?:lose|loses|losing|lost)~(?:network|connectivity|connection)~(?:now and then|sometimes|"
        r"for a while|intermittently|occasionally|randomly|from time to time|first minute)|(?:偶尔|偶发|"
        r"间歇|时不时|有时)~(?:断|不通|丢|中断|失联)|网络~(?:偶尔|时断时续|间歇|断断续续)|每?隔(?:几|一|\d+|"
        r"十几|半)~(?:断(?!电)|不通|丢包|中断|失联)|"
        r"(?:network|connectivity|connections?|pods?)~(?:drops?|dies|is gone|breaks?|disappears?|is lost|unreachable)~"
        r"every (?:few|\d+|other|couple)",
    ),
    Rule(
        "offload-off-helps",
        "ethtool|offload|卸载|checksum",
        r"ethtool -K \S+ [^。；;]{2,60}\boff\b[^。；;]{0,30}(?:works?\b|helps?|fixe[sd]|fine\b|solve[sd]|gone\b|"
        r"recover|正常|好了|恢复|通了|解决)|"
        r"(?:ethtool|offload\w*|checksum\w*)~(?:off|disabled?|disabling)≈(?:works?|helps?|fixe[sd]|fine|"
        r"solved|gone|recovered)|(?:works?|fixed|helps?|fine)~(?:after|when|once|with)~(?:ethtool|"
        r"offload\w*|checksum\w*)~(?:off|disabl)|(?:关|禁用)~(?:卸载|offload|checksum|校验)≈(?:好|正常|"
        r"恢复|通)",
    ),
    Rule(
        "rollback-helps",
        "roll|downgrad|revert|回滚|回退|降级|退回",
        r"(?:roll(?:ed|ing|s)?[ -]?back|downgrad(?:e[ds]?|ing)|revert(?:ed|ing|s)?|went back|"
        r"going back)\b[^;!?。；]{0,60}?"
        r"(?:works?\b|working|helps?|helped|fixe[sd]|fixes|solve[sd]|recover(?:s|ed)|back to normal|ok again|fine|"
        r"is gone|are gone|正常|好了|恢复|通了)|"
        r"(?:回滚|回退|降级|退回)[^。；;!?]{0,30}?(?:好了|就好|正常|恢复|通了|就通|可以了|解决)",
    ),
    Rule(
        "only-tcp-udp-icmp",
        "icmp",
        r"(?:security[- ]groups?|\bsgs?\b|\bnsgs?\b|安全组|firewalls?|防火墙|\bacls?\b)~(?:allows?|opens?|permits?|"
        r"only|lets|lists?|只|仅|放行|允许|放通)~(?:tcp|udp)≈(?:udp|tcp)≈icmp"
        r"(?!≈(?:protocol 4|ipip|proto 4|协议 ?4|\ball\b))",
    ),
    Rule(
        "firewall-off",
        "firewall|防火墙|ufw|iptables",
        r"(?:firewalld?|ufw|iptables|防火墙)(?:s)?~(?:\boff\b|disabled|stopped|turned off|switched off|"
        r"inactive|关闭|关了|关掉|停了|停掉|停用|禁用|都关|已关|是关的)",
    ),
    Rule(
        "firewall-off",
        "firewall|防火墙|ufw",
        r"\bno firewalls?\b|without (?:any |a )?firewall|(?:没有|无)(?:任何)?防火墙|(?:disabled|stopped|"
        r"turned off|switched off|关闭了?|关掉了?|停掉?了?|禁用了?) ?(?:the )?(?:firewalld?|ufw|防火墙)",
        False,
    ),
    Rule(
        "selinux-off",
        "selinux",
        r"selinux~(?:\boff\b|disabled|permissive|turned off|关闭|关了|关掉|都关|已关|禁用)|(?:disabled|"
        r"turned off|关闭了?|关掉了?|禁用了?)~selinux",
    ),
    Rule(
        "firewalld-stop-helps",
        "firewalld|firewall|防火墙",
        r"(?:when|after|once|if) ~(?:stop\w*|disabl\w*|turn\w* off|flush\w*)~(?:firewalld?|iptables|"
        r"ufw)≈(?:works?|fine|ok\b|recover|ready|established|reachable|helps?)|"
        r"(?:stopping|disabling|masking|flushing) (?:the )?(?:firewalld?|iptables|ufw)~(?:helps?|fixe[sd]|repairs|"
        r"solve[sd]|cures?|works?|brings? it back)|systemctl stop firewalld≈(?:works?|fixe[sd]|helps?|recovers?|"
        r"reachable|正常|好了|恢复|通了)|(?:关闭|关掉|停掉?|"
        r"停止)了?~(?:firewalld?|防火墙)≈(?:就)?(?:正常|好了|恢复|通了|可以)",
    ),
    # A flush takes Calico's own rules away, too, and says nothing of the machine's firewall.
    Rule(
        "firewalld-stop-helps",
        "firewall|防火墙|ufw",
        r"(?:once|after|when|as soon as|since) ~(?:firewalls?|firewalld|ufw)~(?:stopped|"
        r"disabled|off|down|"
        r"flushed)≈(?:works?\b|worked|fine\b|green|ok\b|recover|reachable|resolves?\b|answers?\b|helps?\b|helped|"
        r"fixe[sd]|can (?:reach|ping|talk|resolve)|恢复|正常|通了|就通|好了|就能|可以|马上)|"
        r"(?:firewalld?|ufw) (?:off|stop(?:ped)?|disabled?) ?(?:->|=>|→|=|:) ?(?:works?\b|worked|"
        r"fine\b|green|ok\b|recover|reachable|resolves?\b|answers?\b|helps?\b|helped|"
        r"fixe[sd]|can (?:reach|ping|talk|resolve)|恢复|正常|通了|就通|好了|就能|可以|马上)|"
        r"(?:systemctl stop (?:firewalld|ufw)|service (?:firewalld|ufw) stop|ufw disable)\b≈"
        r"(?:works?\b|worked|fine\b|green|ok\b|recover|reachable|resolves?\b|"
        r"answers?\b|helps?\b|helped|"
        r"fixe[sd]|can (?:reach|ping|talk|resolve)|恢复|正常|通了|就通|好了|就能|可以|马上)|"
        r"(?:关闭|关掉|停掉|停止|停用|禁用)了?~(?:firewalld?|防火墙|ufw)≈(?:正常|"
        r"好了|恢复|通了|就通|"
        r"就能|可以)|把~(?:防火墙|firewalld?|ufw)~(?:关|停)(?:了|掉)≈(?:就|马上|立刻|"
        r"立即)(?:都)?(?:好了?|正常|恢复|"
        r"通|能|可以)|(?:防火墙|firewalld?|ufw) ?一(?:关|停)[,]?就(?:通|好|正常|恢复|能)",
    ),
    Rule(
        "policy-applied",
        "policy|策略|policies",
        r"(?:appl(?:ied|ying)|creat(?:ed|ing)|add(?:ed|ing)|roll(?:ed|ing) out|introduc(?:ed|"
        r"ing))~(?:global ?network ?polic(?:y|ies)|network ?polic(?:y|ies)|host ?endpoints?|default-deny|"
        r"deny-all)|(?:应用|创建|下发|添加|加)了?~(?:globalnetworkpolicy|networkpolicy|网络策略|"
        r"hostendpoint)",
    ),
    Rule(  # pods still reach what a policy shall keep from them
        "policy-without-effect",
        "polic|策略|deny",
        r"(?:(?:global|network|globalnetwork|staged)?polic(?:y|ies)|deny[- ]all|default[- ]deny)≈"
        r"(?:(?:that|which)~)?(?:not|n't|never|no longer|fails? to)~(?:block|den(?:y|ied)|drop|enforced?|appl(?:y|ied)|"
        r"take (?:any )?effect|isolat|restrict|filter|stop)\w*|"
        r"polic(?:y|ies)~(?:has|have) no effect|polic(?:y|ies)~(?:is|are|being|gets?) ignored|"
        r"(?:despite|in spite of|although|even though|even with)~(?:polic(?:y|ies)|deny[- ]all|default[- ]deny)≈"
        r"(?:can|could|still|reach(?:es|able)?|connects?|gets? through|answers?)|"
        r"\bstill~(?:reach|connect|ping|curl|access|talk|get through|answer)\w*~(?:despite|although|even though|in "
        r"spite of|with)~(?:polic(?:y|ies)|deny[- ]all|default[- ]deny)|"
        r"(?:polic(?:y|ies)|deny[- ]all|default[- ]deny)≈\b(?:but|and|yet|still)~\bstill~(?:reach|connect|ping|curl|"
        r"access|talk|get through|answer|pass)|"
        r"(?:策略|networkpolicy|deny-all)~(?:不生效|没有?生效|未生效|不起作用|没有?起?作用|无效|拦不住|没有?拦|挡不住|不拦)|"
        r"(?:策略|networkpolicy|deny-all)≈(?:还是|仍然?|依然|照样)(?:都)?(?:能|可以|会)?~(?:访问|通|连|ping|curl)",
        False,
    ),
    Rule(
        "proxy-used",
        "proxy|代理",
        r"(?:behind|through|via|using|uses?) (?:a |an |our |the )?(?:corporate |company |http |https |"
        r"web )?prox(?:y|ies)\b|https?_proxy~(?:set|configured|is|exported)|(?:corporate|company) proxy|"
        r"(?:配置|设置|使用|用|走|开)了?~(?:http ?)?代理(?!服务器异常)|代理环境",
    ),
    Rule(
        "pod-source-bare",
        "pod|nat|容器",
        r"(?:source|src|sender|client)(?: ip| address)?~(?:is|are|shows?|=|being|remains?|stays?|was|as)~"
        r"(?:the |a |its )?(?:bare |raw |own )?pods?(?:'s|')?(?: own| real)? (?:ip|address)|"
        r"(?:with|from|by|using|keeps?|under) (?:the |its |their |a )?(?:own |bare |raw |real )?pods?(?:'s|')?"
        r"(?: own| real)? (?:ips?|address(?:es)?) as (?:the )?source|"
        r"(?:leav|go(?:es)? out|sent|arriv|come in)~(?:un-?natted|without (?:any )?(?:s?nat|masquerad)|not (?:s?natted|"
        r"masqueraded|translated))|pods?~(?:is|are|not|n't|never) (?:being )?(?:s?natted|masqueraded|translated)|"
        r"源(?:地址|ip)?[^,;!?]{0,40}?(?:pod|容器)(?: ?(?:自己|本身|自身))?(?:的)? ?(?:ip|地址)|"
        r"(?:没有?|未|不)(?:被|再|经过)?(?:做|转)? ?(?:s?nat|源地址转换|masquerade)|"
        r"(?:pod|容器) ?(?:ip|地址)~(?:直接)?(?:出去|裸奔|发出去?|到了?对端)",
        False,
    ),
)
