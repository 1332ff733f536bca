"""What people say of the path between pods: where it works, and what a program of the host did to it."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

_PODS: Final = r"(?:pods?|containers?|(?:pod )?routes?)\b"
_LOST: Final = (
    r"(?:los[et]|losing|cut off|unreachable|gone\b|vanish|disappear|breaks?\b|broken\b|no network|"
    r"without (?:a |any )?network|disconnect|dead\b)"
)
_WHEN: Final = r"(?:when(?:ever)?|after|once|as soon as|each time|every time)"
_ANEW: Final = r"(?:restart|reload|updat|upgrad|patch|appl|start(?:s|ed) (?:again|anew))"
_LOST_ZH: Final = r"(?:pods?|容器|路由)[^,;!?]{0,12}(?:断|不通|丢|消失|没了|失联)"

_FILTER: Final = r"(?:firewalld?|firewall-cmd|nftables|iptables|netfilter-persistent|ufw)\b"
_RELOAD: Final = r"(?:reload|restart)"
_WIPED: Final = (
    r"(?:wip(?:e[sd]?|ing)\b|flush|remov|delet|clear(?:s|ed)|los(?:es|t)\b|gone\b|disappear|"
    r"(?:pods?|services?|dns|ingress|traffic|network\w*|cluster)\b~(?:can ?not|can't|could not|unreachable|dead\b|"
    r"breaks?\b|broken\b|fails?\b|times? out|stops?\b|down\b|not reachable|no longer))"
)
_WIPED_ZH: Final = (
    r"(?:[^,;!?]{0,16}(?:规则|链)[^,;!?]{0,8}(?:清空|丢|没了|消失|被删|冲掉)|"
    r"(?:pods?|容器|服务|service|dns|集群|网络)[^,;!?]{0,12}(?:不通|断|超时|失败|无法|异常))"
)
_ONE: Final = r"(?:the )?(?:same|one|a single) (?:node|host|machine|vm|worker)"

_PLACES: Final = r"(?:hypervisors?|vms?|servers?|data ?cent(?:er|re)s?|dcs?|sites?|subnets?|zones?|racks?|instances?)\b"
_FAILS: Final = (
    r"(?:(?:can ?not|can't|could not|couldn't|unable to|do(?:es)? not|doesn't|don't|never) "
    r"(?:reach|talk|ping|communicate|connect|work|answer|see)|100 ?% (?:packet )?loss|is dead|are dead|unreachable|"
    r"times? out|fails?\b)"
)
_WELL: Final = (
    r"(?:works?\b|worked|working|functioning|functions|began|is fine|are fine|is ok\b|recover|通|正常|恢复|好了)"
)
# "IPIP never worked" is another matter.
_PLAIN: Final = r"(?:\b(?:to|is|mode|into|with|on)|=|:) ?[\"'`]?(?:never|off\b|disabled?|cross-? ?subnet|none\b)"

RULES: Final = (
    Rule(
        "cross-node-dead",
        "hypervisor|vm|server|data|dc|site|subnet|zone|rack|instance",
        rf"(?:pods?|containers?)\b~(?:different|other|another|across|between)~{_PLACES}~{_FAILS}|"
        rf"(?:pods?|containers?)\b~(?:on|of|in) (?:one|a) {_PLACES}~{_FAILS}\w*~(?:pods?|containers?)\b~"
        rf"(?:on|of|in) (?:another|the other|different|other) {_PLACES}",
        False,
    ),
    Rule(
        "cross-node-dead",
        "different node|other node|different host|other host",
        r"pods? (?:of|on) (?:different|other) (?:nodes|hosts)\b~(?:is|are|gets?) (?:refused|rejected|dropped|blocked)",
    ),
    Rule(
        "ip-changed",
        "new address|new ip",
        r"(?:gave|given|giving|assigned) (?:the |this |that |a |my |our )?(?:\S+ )?(?:a |the )?new (?:ip|address)\b",
    ),
    # Who takes the cover away and sees packets pass knows which of the two the path drops.
    Rule(
        "works-without-ipip",
        "ipip|ip-in-ip|ip in ip",
        rf"(?:ipip(?:mode)?|ip-in-ip)\b~{_PLAIN}≈(?:(?:communicat\w+|traffic|connectivity|pods)\b≈)?{_WELL}|{_WELL}\w*≈(?:ipip(?:mode)?|ip-in-ip)\b~{_PLAIN}|"
        rf"(?:without|disabl(?:e|ed|ing)|turn(?:ed|ing)? off) (?:the )?(?:ipip|ip-in-ip)\b≈{_WELL}|"
        rf"(?:关闭|关掉|禁用|去掉|不用)了?~ipip≈{_WELL}|ipip(?:mode)?~(?:改成|改为|设为|设置为)~(?:never|crosssubnet)≈{_WELL}",
        False,
    ),
    # Docker, hardening and old scripts set that policy; Calico's own rules need not end with an accept.
    Rule(
        "forward-policy-drops",
        "forward accept|policy drop|drop policy|drop counter",
        r"policy drop~counters?~(?:increment|increase|grow|ris|goes up)|"
        r"(?:forward|drop)~drop counters?~(?:increment|increase|grow|ris|goes up)|"
        rf"-p forward accept\b≈(?:{_WELL}|helps?\b|fixe[sd]|solve[sd]|reachable)|"
        r"-p forward accept\b≈gets? (?:its|an|the) (?:answer|reply|response)\b|"
        rf"(?:{_WELL}|helps?\b|fixe[sd]|solve[sd])\w*≈(?:after|with|by|once)~-p forward accept\b",
    ),
    Rule(
        "network-lost-sometimes",
        "access|network|connect",
        r"(?:pods?|containers?)\b~(?:lose|loses|lost|losing)~(?:access|network|connect\w*)~"
        r"for (?:about |around |some |up to |roughly )?(?:an?|one|two|few|\d+) ?(?:s\b|m\b|min|sec|moment|while)",
        False,
    ),
    Rule(
        "firewalld-stop-helps",
        "stop",
        r"(?:firewalld?|ufw|防火墙)~(?:systemctl )?stop(?:掉|了)?~(?:之后|以后|后|了)≈(?:好|通了?|正常|恢复|能)|"
        r"stop(?:掉|了)?~(?:firewalld?|ufw|防火墙)~(?:之后|以后|后|了)≈(?:好|通了?|正常|恢复|能)",
    ),
    # "times out unless CoreDNS is on the same node": of two nodes, none reaches the other.
    Rule(
        "same-node-only",
        "same node|same host|same machine|same vm|same worker|single node|one node|同一节点|同节点|同一台|同一个节点",
        rf"(?:times? out|timing out|fails?|failing|hangs?|(?:can ?not|can't|does not|doesn't|do not|don't|never|not) "
        rf"(?:\w+ )?(?:work|reach|resolve|answer|connect|ping|respond)\w*|unreachable)≈"
        rf"(?:unless|except (?:when|if|for))≈{_ONE}|"
        rf"(?:works?|reachable|resolves?|answers?|connects?|succeeds?) only (?:if|when|while|as long as)≈{_ONE}|"
        rf"(?:can )?only (?:reach|talk to|ping|see|access|communicate with|connect to)~(?:on|of|in|from) {_ONE}|"
        rf"\bcan (?:reach|talk to|ping|see|access|communicate with)~(?:on|of|in) {_ONE} only|"
        rf"only works? (?:if|when|while|as long as)≈{_ONE}|"
        r"除非[^;!?]{0,20}(?:在)?同一?(?:个|台)?(?:节点|机器|主机)[^;!?]{0,8}(?:否则|不然)?[^;!?]{0,12}(?:不通|超时|失败|无法)|"
        r"(?:不通|超时|失败|无法访问)[,]?除非[^;!?]{0,20}同一?(?:个|台)?(?:节点|机器|主机)|"
        r"只有[^;!?]{0,20}同一?(?:个|台)?(?:节点|机器|主机)[^;!?]{0,8}(?:才|时才)[^;!?]{0,6}(?:通|能|可以|正常)",
        False,
    ),
    Rule(
        "lost-when-links-restart",
        "networkd|netplan",
        rf"{_ANEW}\w*~(?:systemd-)?(?:networkd|netplan)\b≈{_PODS}~{_LOST}|"
        rf"(?:networkd|netplan)\b~{_ANEW}\w*≈{_PODS}~{_LOST}|"
        rf"{_PODS}~{_LOST}\w*≈{_WHEN}≈(?:networkd|netplan)\b~{_ANEW}|"
        rf"{_PODS}~{_LOST}\w*≈{_WHEN}~{_ANEW}\w*~(?:systemd-)?(?:networkd|netplan)\b|"
        rf"netplan apply\b≈{_PODS}~{_LOST}|"
        rf"(?:重启|重载|升级|更新)了?~(?:networkd|netplan)≈{_LOST_ZH}|"
        rf"netplan apply≈{_LOST_ZH}",
        False,
    ),
    # Who loads the rules of a firewall anew takes those of others away.
    Rule(
        "broken-by-reload",
        "firewall|nftables|iptables|netfilter-persistent|ufw|防火墙",
        rf"{_FILTER}~{_RELOAD}≈{_WIPED}|{_RELOAD}\w*~{_FILTER}≈{_WIPED}|"
        rf"{_WIPED}\w*≈(?:{_WHEN}|on|by|with)~(?:{_RELOAD}\w*~{_FILTER}|{_FILTER}~{_RELOAD})|"
        rf"(?:重载|重新加载|重启|reload)了?~(?:firewalld?|nftables|iptables|ufw|防火墙)≈{_WIPED_ZH}|"
        rf"(?:firewalld?|nftables|iptables|ufw|防火墙)(?: ?服务)?~(?:重载|重新加载|重启|reload)≈{_WIPED_ZH}|"
        rf"firewall-cmd --(?:complete-)?reload≈{_WIPED_ZH}",
        False,
    ),
)
