"""What people say about before and where: upgrades, new machines, which nodes, which cloud; and what they want."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

RULES: Final = (
    Rule(
        "upgraded",
        "upgrad|updat|升|bumped|更换|换成|moving from",
        r"\bupgrad(?:ed|ing|e)\b|(?:was|were|been|got|we) updated|bumped~(?:to|version|image)|升级|"
        r"从 ?v?\d[\w.]*~升(?:级)?到|升到|更换\w*版本到|moving from~\d~(?:->|to)",
    ),
    Rule(
        "installed-fresh",
        "fresh|new cluster|just install|first time|刚装|新环境|新集群|新建|部署完|刚部署|新装|tutorial|"
        "教程|installed|set up",
        r"\bfresh(?:ly)?\b~(?:cluster|install\w*|setup|set up|deploy\w*|nodes?|centos|ubuntu|rhel)|(?:new|"
        r"brand.new|test|lab) cluster (?:set up|installed|just)|just (?:installed|set up|deployed|created|"
        r"bootstrapped)|(?:first|initial) (?:install|deployment)|set up with|刚(?:刚)?(?:装|部署|搭|建)|"
        r"新环境|新集群|新搭|新装|部署完|照着教程|全新",
    ),
    Rule(
        "node-removed-without-drain",
        "drain|removed|deleted|删|下线|移除|reclaim|回收|spot",
        r"(?:removed|deleted|terminated|destroyed|took)~nodes?\b~(?:without|no\b|never)~(?:drain|clean|reset|"
        r"calicoctl|delete)|without drain\w*|nodes?~(?:reclaimed|preempted|terminated by|"
        r"replaced by the autoscaler)|spot (?:nodes?|instances?)|竞价实例|(?:没有|未|没)(?:先)? ?drain|"
        r"(?:直接)(?:删|移除|下线)~(?:节点|node|机器)|(?:节点|机器|实例)~(?:被)?回收",
        False,
    ),
    Rule(
        "node-deleted",
        "delet|remov|删",
        r"(?:deleted|removed) (?:the |this |that )?nodes?\b|(?:删掉|删除|移除|剔除)了?~(?:节点|node)",
    ),
    Rule(
        "labels-lost",
        "label|标签",
        r"\blabels?~(?:gone|lost|missing now|dropped|removed|wiped|disappeared|no longer|not there any ?more)|"
        r"(?:lost|dropped|removed|wiped|cleaned up|without)~\b(?:node )?labels?|"
        r"标签~(?:没了|丢了|丢失|不见|被?(?:删|清|覆盖)|没有带|没带)|(?:删|清理?|丢)(?:掉|除)?了?~标签",
    ),
    Rule(
        "docker-network-created",
        "docker|compose",
        r"docker.compose|docker network create|created? (?:a |another )?docker (?:network|bridge)|(?:创建|"
        r"建)了?~docker ?网络",
    ),
    Rule(
        "two-installs",
        "operator|manifest|both|two|second|twice|两套|两遍|两份|canal|同时|重复",
        # "Two" is of the installations themselves: two nodes, two masters and two clusters with an operator are not it.
        r"both (?:the |an? )?(?:tigera |calico |helm |old )?(?:operator|manifests?|canal|calico)\b~(?:and|plus)~"
        r"\b(?:manifests?|operator|calico|canal|chart)\b|(?:two|second|2) (?:\w+ )?(?:calicos\b|calico "
        r"(?:installations?|installs|instances|deployments|daemonsets?)|installations? of calico|installs of calico|"
        r"instances of calico|copies of calico)|(?<!re)(?<!re-)installed calico (?:\w+ )?(?:twice|two times)|calico "
        r"(?:is|was|got|has been) installed (?:\w+ )?(?:twice|two times)|calico (?:is |runs )?twice|"
        r"(?:装|部署|跑|有|存在)[了着]?~两套 ?(?:calico|网络插件)|两套 ?calico|calico~(?:装|部署)了?(?:两套|两遍|两份)|"
        r"同时用~(?:operator|manifest)~(?:manifest|operator|装)|(?<!不要)(?<!避免)重复安装",
    ),
    Rule(
        "cni-replaced",
        "weave|flannel|cilium|kube-router|canal|romana|cni",
        r"(?:used|had|was|were|ran|running|migrated from|switched from|replaced|removed|uninstalled|"
        r"coming from|before)~(?:weave|flannel|cilium|kube-router|romana|contiv|antrea|kube-ovn)|(?:weave|"
        r"flannel|cilium|kube-router|romana|contiv|antrea|kube-ovn)~(?:before|previously|was removed|"
        r"was installed|earlier|was used|uninstalled|has been removed)|(?:之前|原来|原先|以前|"
        r"曾)~(?:weave|flannel|cilium|kube-router|antrea|kube-ovn)|(?:weave|flannel|cilium|kube-router|"
        r"antrea|kube-ovn)~(?:换成|切换|换到|迁移到|卸载|删)",
    ),
    Rule(
        "new-nodes-only",
        "new|added|新",
        r"(?:only )?(?:the )?(?:new|newly added|freshly added|recently added|added|joined)~(?:nodes?|"
        r"machines?|workers?|instances?)~(?:crash|fail|(?:can ?not|can't|could not|couldn't|unable to|"
        r"fails? to|do(?:es)? not|doesn't|don't|never|nothing)|not ready|loops?|stuck|affected|restart)|"
        r"(?:old|existing) (?:nodes?|ones|machines?)~(?:are |is )?(?:fine|ok|unaffected|work|healthy)|"
        r"(?:new|additional|fourth|third|second) (?:node|machine|worker)~(?:never|cannot|crash|fail|"
        r"not ready)|新(?:加(?!坡)|增|起来?|补|扩|机器|节点|上线)~(?:节点|机器|几台|node|实例|加到|"
        r"加入)?(?:~|~[,，] ?(?:发现|结果|但|calico|kubelet|pods?)~)"
        r"(?:起不来|crash|失败|没法|无法|不行|有问题|异常|notready|重启)|老(?:的)?(?:节点|机器|"
        r"镜像的节点)~(?:正常|没事|没问题)",
        False,
    ),
    Rule(
        "only-some-nodes",
        "only|只有|others?|其他|其它|一台|一个|two nodes|some|rest|one node|有些|有的|个别",
        r"\bonly (?:on )?(?:the )?(?:one|two|three|some|few|these|those|this|\d|\S*\d\S*|node|nodes|"
        r"worker|machine|certain)|(?:all |every |the )?(?:other|rest of the|remaining)(?: \w+)? (?:nodes?|"
        r"ones?|workers?|machines?|hosts?)~(?:are |is |work|run|stay)?~(?:fine|ok|healthy|good|normal|"
        r"unaffected|ready)|others (?:are|work) (?:fine|ok)|(?:on )?(?:one|two|three|some|"
        r"certain) (?:of the )?(?:nodes?|workers?|machines?)~(?:never|(?:can)?not(?:\b|ready)|can't|are 0/|"
        r"fail|crash|stuck|loops?)|"
        r"只有~(?:节点|机器|台|node|上|有问题)|(?:其他|其它|别的)~(?:节点|机器|node|主机|"
        r"服务器)?~(?:都)?(?:正常|没事|没问题|ok|成功)|有(?:些|的|个别) ?(?:节点|node|机器)~(?:不|无法|"
        r"失败|异常)|(?:一台|某台|有台|两个节点|两台|几台)[^，。；]{0,20}(?:起不来|不通|失败|无法|有问题|"
        r"异常|crash|notready|没法)",
        False,
    ),
    Rule(
        "one-node-only",
        "one|一台|某台|有台|一个|this node|that node",
        r"only (?:on )?(?:one|this|that|a single) (?:nodes?|workers?|machines?|hosts?)|\bon one (?:node|"
        r"worker|machine|host)\b|one (?:of the |of our )?(?:nodes?|workers?|machines?|hosts?)~(?:never|"
        r"(?:can)?not(?:\b|ready)|can't|fails?|crash|stuck|loops?)|(?:一台|某台|有台|某个|有一个|只有一个)(?:机器|节点|node|服务器|"
        r"主机)",
        False,
    ),
    Rule(
        "all-nodes",
        "all|every|所有|全部|都",
        r"\b(?:on |of )?(?:all|every|each)(?: of)?(?: the| our| my)? (?:nodes?|hosts?|machines?|workers?|"
        r"calico(?:-node)? pods?)\b(?! (?:other|fine))~(?:fail|crash|(?:can)?not(?:\b|ready)|0/|down|stuck|"
        r"same|affected|die|"
        r"suddenly|loop)|(?:fail|crash\w*|not ready|down|stuck|restart\w*|suddenly)~on (?:all|"
        r"every) (?:nodes?|hosts?|machines?)|both~(?:nodes?|"
        r"calico-node pods?)~(?:stay|fail|(?:can)?not(?:\b|ready)|0/|crash)|"
        r"(?:所有|全部|每个|每台)的?(?:节点|机器|node|主机|calico-node)~(?:都|全)?~(?:不|失败|异常|起不来|"
        r"有问题|挂|重启|crash|notready|一样|0/[12])",
        False,
    ),
    Rule(
        "only-workers-fail",
        "worker|master|control plane|node",
        r"(?:masters?|control.plane)~(?:is|are|nodes?)?~(?:fine|ok|healthy|good|works?)≈(?:workers?|"
        r"nodes?)~(?:fail|not\b|crash|(?:can ?not|can't|could not|couldn't|unable to|fails? to|"
        r"do(?:es)? not|doesn't|don't|never|nothing)|stuck|down|loop)|only (?:the )?workers?|"
        r"(?:workers?)~(?:fail|crash|not ready)≈masters?~(?:fine|ok|work)|master~(?:正常|没问题|没事|"
        r"可以)≈(?:worker|node|节点|工作节点)~(?:不|失败|异常|起不来|有问题)",
        False,
    ),
    Rule(
        "works-after-restart",
        "restart|重启|delet|helps",
        r"restart\w*~(?:, (?:it |they |all |everything |the pods? )?)?(?:helps?|fixe[sd]|solve[sd]|works?|"
        r"makes? it work|brings? it back|recovers?|cures?)|"
        r"(?:works?|fine|recovers?|ok|gone)\b(?: again)?~(?:after|once|when|until)~(?:restart\w*|"
        r"delet\w+ the pod|re-?creat\w+)|重启~(?:之?后|就|了)[,，]? ?~(?:正常|好了|恢复|可以了|没问题)(?!节点)",
    ),
    Rule(
        "heals-by-itself",
        "itself|own|自己|自动|自行|一会|一段|一阵|after a|themselves|automatically",
        r"(?:recovers?|heals?|comes? back|fixe[sd]|goes? away|resolves?|works? again)~(?:by itself|"
        r"on its own|automatically|itself|by themselves)|(?:after (?:a while|some time|"
        r"a few minutes),? ?~(?:works? again|recovers?|is fine|comes? back|gone))|(?:自己|自动|自行)(?:就|又|会|都|能|"
        r"慢慢|"
        r"也){0,3}(?:恢复|好了|通了|好起来)|过(?:了)?(?:一会儿?|一段时间|一阵子?)[^，。；]{0,4}(?:恢复|好了|正常了|就正常|通了)",
    ),
    Rule(  # with a stretch of time before it, in which something was not there: "no routes for 4 minutes, then fine"
        "heals-by-itself",
        "then|分钟",
        r"(?:for|after)~(?:\d+|few|several|two|three|four|five) ?(?:min(?:ute)?|"
        r"sec(?:ond)?)s?\b[^.;]{0,20}\bthen (?:it |they |all |everything )?(?:is |are |gets |comes |goes )?(?:all )?"
        r"(?:ok|okay|fine|works?|good|normal|recovers?|back)\b|(?:几|\d+|三|四|五) ?"
        r"分钟(?:以?后|左右)?(?:就|又)?(?:自己|自动)?(?:恢复|好了|通了)",
        False,
    ),
    Rule(
        "keeps-restarting",
        "restart|重启|crash|killed",
        r"(?:calico|felix|pods?|bird|typha|canal|containers?|agents?|it\b|they\b)≈(?:keeps? (?:on )?(?:re-?start|crash|"
        r"get)|restarts? (?:every|all the time|again and again|over and over|constantly|periodically|regularly|"
        r"repeatedly|several times|many times|about every|roughly every|once (?:an?|every))|(?:is|are|gets?|being) "
        r"(?:constantly |repeatedly |periodically |regularly |frequently )(?:restart|killed|oom)|"
        r"restart(?:s|ed|ing) (?:\w+ ){0,3}"
        r"(?:a|per|every|each) (?:day|hour|night|week|few)|(?:re-?starting|crashing) (?:every|all the time|"
        r"again and again|constantly|repeatedly))|"
        r"(?:calico|felix|pods?|bird|typha|canal|容器)~(?:反复|一直|不断|不停|频繁|老是|经常|总是|周期性|时不时|每隔?|"
        r"隔)(?!没|不)[^，。；]{0,14}?(?:被)?重启|(?:反复|不断|不停|频繁|老是|周期性)(?:地)?(?:被)?重启",
    ),
    Rule(
        "nodes-network",
        "address|network|网|地址|10.|192.|172.|nic|interface",
        r"(?:nodes?|hosts?|machines?|servers?|all)~(?:are |is |have |has |live |sit |use )?(?:in|on|"
        r"within|with|have)? ?(?:the |a )?(?:\d{1,3}\.){1,3}(?:x|\*|\d{1,3})?(?:\.(?:x|"
        r"\*))?(?:/\d{1,2})?(?: addresses| network| subnet| range)|(?:nodes?|hosts?|machines?|"
        r"servers?)~(?:in|on|within) (?:the )?(?:\d{1,3}\.){2,3}(?:x|\*|\d{1,3})(?:\.(?:x|"
        r"\*))?(?:/\d{1,2})?|(?:机器|节点|主机|服务器|网卡|node)≈(?:\d{1,3}\.){1,3}(?:x|\*|0)(?:\.(?:x|\*|"
        r"0))?(?:/\d{1,2})?|(?:机器|节点|主机|服务器)~\d{1,3} ?开头|(?:machines?|nodes?|hosts?)~(?:start|"
        r"begin) with \d{1,3}",
    ),
    Rule(
        "cloud",
        "aws|azure|openstack|gcp|gce|aliyun|阿里云|腾讯云|华为云|云主机|ec2|eks|gke|aks|vsphere|vmware|"
        "hetzner|digitalocean|cloud",
        r"\b(?:aws|azure|openstack|gcp|gce|google cloud|aliyun|alibaba cloud|ec2|eks|gke|aks|hetzner|"
        r"digitalocean|vsphere|vmware|oracle cloud)\b|阿里云|腾讯云|华为云|云主机|(?:public|"
        r"private) cloud|cloud (?:vms?|instances?|hosts?|servers?)",
    ),
    Rule(
        "asks-if-normal",
        "?|？|normal|wrong|odd|strange|weird|problem|ignore|正常|有没有|要不要|需不需|是否|必要|算不算|用不用|能用",
        r"(?:is|are) (?:this|that|it|these|those|they) (?:\w+ )?(?:normal|ok|expected|a problem|bad|fine|harmless|"
        r"safe|cosmetic|noise|intended)|(?:anything|something) wrong (?:with|here)|"
        r"should (?:i|we) (?:worry|be (?:worried|concerned)|care|roll back|reinstall|do something|be afraid)|"
        r"is there anything wrong|(?:can|may|could|should) (?:i|we|this|these|it|they) (?:be )?(?:safely )?ignored?|"
        r"\blooks? (?:\w+ )?(?:wrong|odd|strange|weird|broken|off) to (?:me|us)\b|am i about to|"
        r"safe to ignore|do (?:i|we) (?:need|have) to (?:(?:be )?worr(?:y|ied)|be concerned|care|act|fix|do|"
        r"reinstall|`|kubeadm)|"
        r"do(?:es)? (?:this|these|those|that|it)(?: \w+)? (?:indicate|mean|suggest|point to)s? "
        r"(?:there is )?(?:a|an|any) (?:\w+ )?(?:problem|issue|fault|error)|"
        r"did (?:i|we) (?:break|miss|misconfigure|forget)|\b(?:cosmetic|harmless|expected noise)\b≈or\b|"
        r"(?:正常吗|有问题吗|要紧吗|有影响吗|(?:需要|要|用)(?:处理|整改|关注|重装|管)吗|是不是(?:正常|误报)|算正常|是否正常|"
        r"有没有(?:问题|影响|异常|遗漏)|(?:要不要|需不需要|是否需要)(?:管|处理|整改|重装|关注|紧|手工|手动|改|删|重建|"
        r"把[^，。；]{1,16}(?:删|改|重))|是不是(?:配错|装错|写错|漏了?|有问题|不对)|(?:可以|能)(?:不管|忽略)吗|"
        r"没问题吧|能不能忽略|不影响吧|(?:有|没有?)必要吗|有没有必要|用不用(?:管|处理|改)|算不算(?:有|是)?(?:事故|故障|问题|异常|毛病)|"
        r"(?:这|还)能用(?:吗|么|\?))",
        False,
    ),
    Rule(
        "complains",
        "",
        r"not ready|(?:kubelet)?notready|crash|(?<![\d./])(?:0/[12]|1/2)(?!\d|\.\d)|"
        r"(?<!(?<![\d.,:/-])\b0 )(?<!\bzero )(?<!\bno )\bfail(?:s|ed|ing|ures?)?\b|(?:can ?not|can't|could not|"
        r"couldn't|unable to|fails? to|do(?:es)? not|doesn't|don't|never|nothing) (?:\w+ ){0,2}(?:start|"
        r"run|work|get ready|join|resolve|reach|come up|leave|leaves|gets? ready)|\bstuck\b|"
        r"\bloops?\b(?! (?:with|of|over) (?:\w+ )?\d)|"
        r"broken|restarts? (?:every|again|over|all|constantly|repeatedly|(?:a few|several|many|\w+) times)|"
        r"keeps? (?:on )?(?:re-?starting|crashing|being|dying|getting|flapping|losing)|(?:is|are|gets?|got|being) "
        r"(?:killed|evicted|re-?started)\b|\bdies\b|\bflap(?:s|ping)?\b|\bdead\b|unreachable|times? out|\bdown\b|"
        r"(?<!(?<![\d.,:/-])\b0 )(?<!\bzero )(?<!\bno )(?<!\bany )(?<!without )\berrors?\b|"
        r"lose connectivity|stay(?:s)? (?:0/|pending|containercreating|init)|never gets?|起不来|不通|失败|"
        r"无法|不能|(?<!没有)(?<!没)(?<!无)(?<!未见)(?:报错|异常)|被(?:杀|驱逐|kill)|时好时坏|全断|出不去|掉线|(?:反复|一直|不断|频繁|就|老是|经常|总是|隔)[^，。没未]{0,8}重启|卡住|没法|"
        r"不了|拉不起来|不 ?ready|分配不到|有问题|挂了|超时",
        False,
    ),
    Rule(  # something is away for a stretch of time, though it comes back
        "complains",
        "for |分钟|秒",
        r"\bno (?:[\w-]+ ){0,2}(?:routes?|connectivity|network|traffic|connections?)\b~\bfor (?:around |about |some |"
        r"almost |nearly |roughly |up to |the first )?(?:\d+|a few|few|several|two|three|four|five|ten) ?"
        r"(?:m|s|min(?:ute)?s?|sec(?:ond)?s?)\b|(?:\d+|几|两|三|四|五|十) ?(?:多 ?|来 ?)?(?:分钟|秒)"
        r"(?:左右|之?内|里|时间)?[^，。；]{0,6}(?:没有?|无|丢)[^，。；]{0,6}(?:路由|网络)",
        False,
    ),
)
