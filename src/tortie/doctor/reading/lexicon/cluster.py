"""What people say about the control plane: API server, datastore, certificates, the end of a start."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

RULES: Final = (
    Rule(
        "datastore-far",
        "region|rtt|latency|round trip|singapore|地域|区域|机房|跨|延迟|far",
        r"(?:etcd|datastore|masters?|control plane|api ?server)~(?:in another|different|other|"
        r"remote) (?:region|continent|data ?cent(?:er|re)|site|zone)|(?:etcd|datastore|masters?|"
        r"api ?server)~(?:sits?|lives?|is|are|runs?) in (?-i:[A-Z])[a-z]+|\brtt\b~\d{2,} ?ms|"
        r"round.trip~\d{2,} ?ms|latency~\d{3,} ?ms|(?:etcd|master|datastore|apiserver)~(?:都)?在~(?:区域|"
        r"地域|机房|region)|跨(?:地域|区域|机房|region|国)|延迟~\d{2,} ?ms",
    ),
    Rule(
        "killed-no-terminating",
        "terminating|log|日志",
        r"\bno\b~(?:\"|')?terminating|without~terminating|(?:log|output)s?~(?:simply|just|suddenly|"
        r"abruptly)~(?:stops?|ends?|cuts? off)|(?:log|output)s? (?:stops?|ends?) (?:there|here|right)|"
        r"(?:no|without) (?:any )?errors? in (?:the |its )?logs?|(?:log|日志)~(?:里|中)?~(?:没有|看不到|"
        r"未见|无) ?(?:terminating|报错|错误|error|异常)|日志~(?:就断了|到这里|就结束了|就停了|就没了)|"
        r"就结束了",
        False,
    ),
    Rule(
        "api-direct-ok",
        "6443|api ?server|apiserver",
        r"(?:6443)~(?:works?|is fine|fine|answers?|reachable|open\b|ok\b|200|connects?|正常|能通|可以|"
        r"通的|没问题|返回 ?ok)|(?:direct(?:ly)?|real address)~(?:api ?server)~(?:works?|fine|answers|ok)|"
        r"api ?server~(?:directly|at its own address|by its (?:real|node) address)~(?:works?|fine|answers|"
        r"reachable|ok)|直接访问~(?:api ?server|6443)~(?:正常|可以|没问题|能通|通)",
    ),
    Rule(
        "api-vip-dead",
        "service|cluster|vip|:443|.1 |.1，",
        # The first address of the ranges that installers choose; another .1 may as well be a gateway.
        r"(?:kubernetes service|service (?:address|ip)|cluster ?-?ip|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.1:443\b|(?:10\.96\.0|"
        r"10\.43\.0|10\.233\.0|10\.152\.183|10\.254\.0|10\.100\.0|172\.20\.0|100\.64\.0)\.1(?![\d.]))"
        r"~(?:(?:does|do|did) not (?:answer|respond|work)|(?:doesn't|don't) (?:answer|respond|work)|no answer|"
        r"times? out|timed out|timeout|hangs?|(?:is )?unreachable|(?:is )?not reachable|can ?not be reached|"
        r"can't be reached|不通|超时|无响应|没有响应|没反应|访问不了|访问不到|连不上)",
        False,
    ),
    Rule(
        "kube-proxy-missing",
        "kube-proxy|kubeproxy",
        r"(?:no|without(?: a)?|never installed|did not install|didn't install|not installed|not deployed|"
        r"removed|deleted) kube-proxy|kube-proxy~(?:is|was|were|are|has)?~(?:not running|missing|"
        r"not there|crash\w*|failing|down\b|not installed|not deployed|没起来|没有起来|起不来|没部署|"
        r"没有部署|未部署|挂了|异常|没有运行|被删)|(?:没有?|未|忘了?)(?:部署|安装|装|启动|运行)~kube-proxy",
        False,
    ),
    # Of the node where the trouble is; how it is on the others is said beside it.
    Rule(
        "service-rules-missing",
        "kube-svc|kube-services|kube-proxy|iptables|ipvs|nft|service|规则",
        r"(?:no|without(?: any)?|zero|none of the) (?:\w+ ){0,2}?(?:kube-svc[-*\w]{0,20}|kube-services|kube-proxy|"
        r"service) (?:iptables |nat |nft )?(?:rules?|chains?)\b(?! (?:missing|block|den|that|which|were changed|lost))|"
        r"(?:no|without(?: any)?|zero) kube-s(?:vc|ervices)\b(?! (?:rules? |chains? )?(?:missing|lost))|"
        r"(?:no|without(?: any)?) (?:iptables|nat|ipvs|nft) (?:rules?|chains?|entries|servers?) (?:for|of) (?:the |"
        r"any )?(?:api|kubernetes|services?|cluster ips?|vip)\b(?! (?:block|den|drop))|"
        r"(?:kube-svc[-*\w]{0,20}|kube-services|service) (?:iptables |nat |nft )?(?:rules?|chains?|entries)~"
        r"(?:are|is|were) (?:all |completely |simply |just )?(?:missing|gone|absent|not there|not present|empty|"
        r"not created)|"
        r"(?:rules?|chains?)~services?~(?:are|is|were) (?:all |completely |simply |just )?(?:missing|gone|absent|"
        r"not there|not present|not created)|"
        r"kube-proxy~(?:did not|didn't|does not|doesn't|has not|hasn't|never) (?:write|wrote|written|create|created|"
        r"program|programmed|install|installed|add|added) (?:\w+ ){0,2}?(?:rules?|chains?)|"
        r"ipvs~(?:table|list|rules?)~(?:is|was|are) (?:completely )?empty|"
        r"(?:kube-s(?:vc|ervices)|ipvsadm)~(?:shows?|prints?|lists?|gives?|returns?|is|are|was) (?:just |only )?"
        r"(?:nothing|no entries|empty|an empty|0)(?![\w.])|"
        r"(?:没有|查不到|看不到|缺少|缺失|无)(?:任何|看到|找到|发现|对应的?)* ?(?:kube-svc[-*\w]{0,20}|"
        r"kube-services|service|ipvs|api ?server) ?的?"
        r"(?:iptables|nat|转发)? ?的?(?:规则|链)|"
        r"(?:没有|查不到|看不到)(?:任何)? ?kube-s(?:vc|ervices)|(?:ipvsadm|kube-s(?:vc|ervices))~(?:是空|"
        r"为空|都没有|没有输出|也没有)|"
        r"(?:kube-svc[-*\w]{0,20}|kube-services|service|ipvs) ?的?~(?:规则|链)~(?:没有(?!问题|异常|变)|为空|是空|"
        r"缺失|丢失|全没了|都没了|不存在|没下发|没有下发)",
        False,
    ),
    Rule(
        "certs-renewed",
        "renew|certs?|证书|续",
        r"(?:certs?|certificates?)~(?:renewed|rotated|re-?issued|re-?generated|续期|更新|续签|更换)|"
        r"renewed~(?:certs?|certificates?)|certs? renew|(?:更新|续签|续期|更换)了?~证书",
    ),
    # Every token that the old key signed is refused from then on.
    Rule(
        "signing-key-replaced",
        "sa.key|sa.pub|service account|service-account|signing key|sa key|密钥|私钥",
        r"(?:sa\.(?:key|pub)|service[- ]accounts?'? (?:signing |token )?keys?(?:pair)?|token signing keys?|"
        r"service-account-(?:signing-)?key(?:-file)?|\bsa keys?(?: ?pair)?|(?:sa|token|令牌|服务账号|"
        r"serviceaccount) ?的?"
        r"(?:签名|签发)?(?:密钥|私钥|公私钥)对?)~(?:re-?generated|re-?created|re-?made|replaced|rotated|"
        r"renewed|overwritten|"
        r"were new|is new|重新生成|重新创建|重建|重做|更换|换了|换掉|换成|轮换|轮了|替换|覆盖|新生成)|"
        r"(?:re-?generat(?:ed?|ing)|re-?creat(?:ed?|ing)|replac(?:ed?|ing)|rotat(?:ed?|ing)|overwr(?:ote|itten))~"
        r"(?:sa\.(?:key|pub)|service[- ]accounts?'? (?:signing |token )?keys?|token signing keys?|\bsa keys?)|"
        r"(?:重新生成|重新创建|重建|重做|更换|换|轮换|替换)(?:了|过|掉)~(?:sa\.(?:key|pub)|(?:sa|token|令牌|"
        r"服务账号|serviceaccount) ?的?"
        r"(?:签名|签发)?(?:密钥|私钥))",
    ),
    Rule(
        "etcd-moved",
        "etcd",
        r"(?:replaced|moved|migrated|relocated)~etcd|etcd~(?:was|were|has been|have been)? ?(?:replaced|"
        r"moved|migrated|relocated|re-?addressed)|etcd~(?:迁移|搬|换到|更换|换了)|(?:迁移|更换|"
        r"替换)了?~etcd",
    ),
    Rule(
        "etcd-disk-slow",
        "etcd|fsync|disk",
        r"etcd~(?:spinning|slow (?:disks?|storage|drives?)|hdds?|slow\b|high latency|磁盘~慢|很慢|延迟~高|"
        r"机械盘|机械硬盘)|fsync~(?:takes?|took|latency|\d+ ?ms)|"
        r"etcd~(?:on|shares?) (?:the|a|one) (?:same |shared |sata |single )+(?:disk|drive|volume|storage)|"
        r"slow (?:disks?|storage)~etcd",
    ),
    Rule(
        "control-plane-restless",
        "controller-manager|scheduler|leader|控制面|选主|lease",
        r"(?:controller-manager|scheduler|control[- ]plane pods?)≈(?:(?:were |was |are |is |have |has |got |get )?"
        r"(?:re-?start(?:s|ed|ing)?|killed) (?:\w+ ){0,2}?(?:\d+|many|often|several|constantly|all|again|every|"
        r"frequently|repeatedly)|keeps? (?:re-?starting|losing)|los(?:es?|t|ing) (?:its|their|the) "
        r"(?:lease|leader\w*|lock)|leader ?election lost|(?:一直|反复|频繁|不断|经常|老是)~重启|"
        r"重启了?~(?:\d+|多|几)~次)|"
        r"(?:leader elections?|leader changes?|选主|切主|切换 ?leader)~(?:every (?:few|\d+)|again and again|constantly|"
        r"all the time|frequent|频繁|不断)|(?:频繁|不断|反复)~(?:选主|切主|切换 ?leader)",
    ),
    Rule(
        "etcd-member-restored",
        "etcd|fsck",
        r"(?:restored?|recovered)~etcd~(?:member|snapshot|backup|data|from\b)|(?:restored?|"
        r"recovered) (?:one |an? )?etcd|fsck~etcd|etcd~(?:fsck|restored|recovered)~|etcd~(?:恢复|还原|"
        r"修复)|etcd~坏了?[,，]~(?:快照|备份)~恢复",
    ),
    Rule(
        "etcd-down",
        "etcd|api ?server|apiserver|quorum",
        r"etcd~(?:members?|cluster|nodes?|instances?)?~(?:is|are|was|were|went)? ?(?:\bdown\b|dead|"
        r"lost quorum|not running|crash\w*|挂了|起不来|没起来|宕)|quorum~lost|lost quorum|"
        r"(?<!calico-)(?:api ?server)(?: is| was)? ?(?:\bdown\b|not running|挂了|没起来|起不来)",
        False,
    ),
    Rule(
        "etcd-health-ok",
        "etcd",
        r"etcd\w*~(?:endpoint )?health~(?:is fine|ok|fine|healthy|true|正常)|etcd~(?:itself )?(?:is|are|"
        r"looks?) (?:healthy|fine|ok)|etcd~(?:本身|集群|自身)?~(?:健康|正常|没问题)|(?:访问|"
        r"access)~etcd~(?:正常|works)",
    ),
    Rule(
        "lb-ok-masters-not",
        "lb|load balancer|负载均衡|haproxy|nginx|slb",
        r"(?:through|via|over|by)\b~(?:lb|load ?balancer|haproxy|vip|slb)\b~(?:works?|fine|ok|"
        r"answers)≈(?:direct|masters?)~(?:not|fails?|(?:can ?not|can't|could not|couldn't|unable to|"
        r"fails? to|do(?:es)? not|doesn't|don't|never|nothing)|times? out|refused)|(?:走|通过|"
        r"经过?)~(?:负载均衡|lb|slb|haproxy|nginx)~(?:可以|正常|能通|通)≈(?:直连|直接)~(?:不|失败|超时|"
        r"无法)",
        False,
    ),
    Rule(
        "no-default-route",
        "default|gateway|网关|默认路由",
        r"(?:no|without(?: a| any)?|has no|have no|lacks? a|missing) (?:default )?(?:gateway|"
        r"default route)|(?:isolated|air-?gapped)~(?:without|no) (?:default )?gateway|(?:没有|无|缺少|"
        r"没配)~(?:默认路由|默认网关|网关)",
        False,
    ),
    Rule(
        "blocks-used-up",
        "block|地址块|网段|subnet|range",
        r"\bno (?:more |free )?(?:ip ?|address |ipam )?blocks? (?:is |are |was |were )?(?:left|available|free)\b"
        r"|\bno free (?:ip ?|address |ipam )?blocks?\b"
        r"|\b(?:ip|address|ipam|all|the) ?blocks?~(?:used up|exhausted|ran out|run out|taken|all allocated)\b"
        r"|\b(?:out|short) of (?:free )?(?:ip ?|address |ipam )?blocks?\b"
        r"|\b(?:can ?not|can't|could not|couldn't|does not|doesn't|did not|didn't|don't|never|unable to|failed to) "
        r"(?:get|got|find|claim|obtain|have) (?:an? |the |any )?(?:new |own )?(?:ip ?|address |ipam )?blocks?\b"
        r"|\b(?:got|gets?|has|have|had) no (?:ip ?|address |ipam )?blocks?\b"
        r"|\b(?:more nodes than|not enough|too few) (?:ip ?|address |ipam )?blocks?\b"
        r"|(?:地址块|block) ?(?:已经?|都已?|全部|已被|全都)?(?:用尽|用完|用光|耗尽|不够|不足|分完|占满|被占)"
        r"|\b(?:ips?|address(?:es)?)\b~\b(?:from|of|out of|in) (?:another|an other|other|the other|someone else's) "
        r"(?:nodes?|hosts?)(?:'s|s')? (?:ip )?(?:block|range|subnet)s?\b"
        r"|(?:ip|地址)[^，。；]{0,8}(?:别的|其[他它]|另一[个台]?)(?:节点|主机|机器)(?:的)?(?:网段|地址块|block)"
        r"|(?:没有|无)(?:空闲|可用|多余)的? ?(?:地址块|(?:ip ?)?block)"
        r"|(?:分配?不到|拿不到|没有?分到|申请不到)(?:新的?)? ?(?:地址块|(?:ip ?)?block)",
        False,
    ),
    Rule(
        "pods-cidr-overlap",
        "overlap|same|重叠|冲突|同一|相同",
        r"(?:pod|service)~(?:cidr|range|network|subnet|网段)~(?:overlaps?|the same as|collides?|"
        r"(?:in|on|of|is|has) the same (?:range|cidr|subnet|network)|重叠|冲突)|网段~(?:重叠|冲突)|"
        r"(?:pod|容器|service) ?(?:的)?网段[^，。；]{0,16}(?:同一个?网段|网段相同)",
    ),
)
