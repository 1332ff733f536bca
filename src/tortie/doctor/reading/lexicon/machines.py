"""What people say about machines: their load, runtime, clock, names, addresses, and what befell them."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

# A machine that loses its network together with the start of pods.
_MACHINE: Final = "(?:ssh|machine|node|host|server|box|network)"
_GONE: Final = (
    r"(?:freezes?|froze|lo(?:ses?|st) (?:its |the |all |my )?(?:network|connecti\w+|internet)|drops? off|"
    r"goes? (?:deaf|dark|offline)|is gone|dies|disappears?|unreachable|not reachable|stops? answering|is cut off)"
)
_WHEN: Final = "(?:when|as soon as|once|after|the moment|every time)"
_PROGRAM: Final = "(?:pods?|microk8s|k3s|kubelet|calico|cluster|addons?|coredns|deployments?)"
_BEGINS: Final = r"(?:starts?\b|started|comes? up|runs?\b|is up|are up|enabled?\b|created?\b|deployed|scheduled)"
_CUT_OFF: Final = "(?:断网|失联|断开|断了|掉线|连不上|ping ?不通|网络不通|卡死)"

_LINK_MANAGER: Final = "(?:network ?manager|systemd-networkd|networkd|network\\.service|netplan)"
_AGAIN: Final = r"(?:restart(?:s|ed|ing)?|reload(?:s|ed|ing)?|重启|重载)"
_PODS_SUFFER: Final = (
    r"(?:(?:pods?|containers?|routes?|cali\w*|容器|路由)\b≈(?:\blo(?:ses?|st|sing)\b|vanish|disappear|are gone|is gone|"
    r"no network|\bdies?\b|\bdead\b|unreachable|断|丢|不通|消失)|(?:lo(?:ses?|st|sing)|delet\w+|remov\w+|flush\w*)≈"
    r"(?:pods?|cali\w*)\b~(?:routes?|network)|(?:路由|网络|pod)[^。；]{0,16}(?:丢失|消失|中断|不通|断网|没了))"
)

RULES: Final = (
    Rule(  # of whatever has one
        "at-cpu-limit",
        "limit|限制|0m|5m|0 m|5 m",
        r"(?:贴着|顶着|打满|用满|达到|卡在|跑满)~(?:limits?|cpu 限制|\d{2,4}m\b)|"
        r"(?:at|hits?|reach(?:es|ed)?|exactly at|up to|uses all of) (?:its|the|their) (?:cpu )?limit|"
        r"(?:pinned|stuck|constantly|always|exactly) (?:at )?\d{2,4} ?m\b",
    ),
    Rule(
        "without-limit-well",
        "limit|限制",
        r"(?:去掉|取消|删掉|去除|删除|调大|放开)(?:了|掉)?~(?:limits?|限制)~(?:没有?再|不再|正常|好了|恢复|没问题)|"
        r"(?:limits?|限制)~(?:去掉|取消|删掉|去除|删除|调大|放开)~(?:没有?再|不再|正常|好了|恢复|没问题)|"
        r"(?:removing|removed|without|raising|raised|dropped|dropping) (?:the |that |its )?(?:cpu )?limits?≈"
        r"(?:helps?|helped|fix(?:es|ed)|gone|fine|no more|solve[sd]|stopped|never)",
        False,
    ),
    Rule(
        "link-manager-hurts",
        "networkmanager|network manager|networkd|network.service|netplan",
        rf"{_LINK_MANAGER}~{_AGAIN}≈{_PODS_SUFFER}|{_AGAIN}~{_LINK_MANAGER}≈{_PODS_SUFFER}",
        False,
    ),
    Rule(
        "load-high",
        "load|负载",
        # A program, an object or a module that fails to load is no load of the machine.
        r"(?<!to )(?<!not )(?<!bpf )(?<!program )(?<!module )(?<!object )\bload\b"
        r"(?! (?:of (?:the |an? )?)?(?:objects?|programs?|modules?|balanc|bpf|xdp|fail|error|the\b|['\"]))"
        r"~(?:dozens|times (?:higher|more|that)|\bhigh|above|over \d{2,}|exceed|spik|"
        r"through the roof|\b\d{3,})|(?:high|heavy|huge|extreme|excessive|massive) (?:cpu |system |"
        r"io )?load\b|overloaded|负载~(?:高|飙|打满|过大|很大|爆|几十倍|上百)|高负载",
    ),
    Rule(
        "load-high",
        "cpu|io|i/o|磁盘",
        r"\b(?:cpu|io|i/o|disk)s?\b~(?:pegged|at 100|100 ?%|saturat|maxed|exhausted|打满|跑满|占满|爆满|"
        r"飙|用满)|磁盘 ?io~高",
    ),
    Rule(
        "load-normal",
        "load|负载|idle|空闲",
        r"\bload\b(?: average)? (?:is|was|looks?|are) (?:normal|low|fine|ok|small)|(?:machines?|nodes?|"
        r"hosts?|[a-z][\w.-]*\d) (?:is|are|was) (?:almost |mostly )?idle|负载(?:都|也|很|是|一切)?(?:正常|不高|很低|"
        r"没问题)|空闲|no load\b|not loaded",
        False,
    ),
    Rule(
        "runtime-broken",
        "docker|containerd|crictl|dockerd|runtime|cri-o|容器运行时",
        r"(?:docker|containerd|crictl|cri-o|runtime)"
        r"(?! (?:image )?(?:pull|push|login|build|hub|registry)(?:s|es|ing)?\b)"
        r"(?: ps| info| images)?~(?:hangs?\b|hung|stuck|frozen|"
        r"never returns|no answer|not respond|unresponsive|cannot connect|can't connect|cannot reach|"
        r"can't reach|卡住|卡死|卡着|无响应|没有响应|没响应|不响应|无法连接|连接不上|连不上|一直没有返回|"
        r"不返回|超时)",
        False,
    ),
    Rule(
        "image-not-pulled",
        "pull|download|fetched|镜像",
        r"(?:can ?not|can't|could not|couldn't|unable to|fail(?:s|ed|ing)? to|not able to|not) (?:\w+ ){0,2}"
        r"(?:pull|download)~\b(?:images?|calico|cni|pause)|"
        r"(?:images?|calico/\w+)~(?:can ?not be|can't be|could not be|couldn't be|"
        r"(?:was|were|is|are|have|has) never(?: been)?|(?:was|were|is|are) not|wasn't|weren't|not) "
        r"(?:\w+ )?(?:pulled|downloaded|fetched)|"
        r"pull(?:ing|s)?~\bimages?~(?:fails?\b|failed|times? out|timed out|is blocked|hangs?)|"
        r"\bimages? pulls?~(?:fails?\b|failed|times? out|timed out|blocked)|"
        r"镜像[^，。；]{0,16}(?:(?:拉取?|下载)(?:不下来|不到|不了|不动|失败|超时|不成功)|拉不(?:下来|到|了|动)|"
        r"没有?(?:拉|下载)(?:下来|到|成功))|"
        r"(?:拉取?|下载)[^，。；]{0,16}镜像[^，。；]{0,8}(?:失败|超时|不了|不下来|不成功|报错)|"
        r"拉不(?:到|下来|动|了)[^，。；]{0,12}镜像|"
        r"无法(?:拉取?|下载)[^，。；]{0,16}镜像",
        False,
    ),
    Rule(
        "swap-disabled-in-fstab",
        "fstab",
        r"fstab~(?:swap)~(?:注释|删|去掉|comment|removed|disabled)|(?:swap)~(?:注释|删|comment|removed|"
        r"disabled|out)~fstab|comment(?:ed)?~swap~fstab|fstab~comment~swap",
    ),
    Rule(
        "swap-on",
        "swap",
        r"swap~(?:is|was|got|has been|came back)? ?(?:on again|still on|enabled|re-?enabled|active again|"
        r"back)|swap~(?:没关|又被?启用|又打开|没有关|未关|重新启用|还开着|是开着)|forgot to (?:turn|"
        r"switch) off swap|swap is on\b",
        False,
    ),
    Rule(
        "rebooted",
        "reboot|restart|重启|power|开机",
        r"\breboot(?:ed|ing)?\b|(?:node|machine|server|host|vm|cluster)s?~(?:was|were|got|has been|"
        r"have been) restarted|restarted (?:the )?(?:node|machine|server|host|vm|cluster)|after (?:a |"
        r"the )?(?:restart|power cycle) of (?:the )?(?:node|machine|server|host|cluster)|(?:节点|机器|"
        r"服务器|主机|虚拟机|集群|系统|物理机|(?<!calico-)(?<!calico )node\b)[^，。；]{0,16}重启(?:之?后|"
        r"过|了|完)|重启(?:了|过|完)?[^，。；]{0,8}(?:节点|机器|服务器|主机|虚拟机|物理机)(?!上?的)|"
        r"(?:服务器|机器|节点)~，重启后",
    ),
    Rule(
        "power-cut",
        "power|断电|停电|掉电|racked",
        r"power (?:cut|outage|failure|loss)|lost power|re-?racked|断电|停电|掉电",
    ),
    Rule(
        "machine-off",
        "power|shut|宕|关机|断电|down|死机|假死|died|dead|crashed|hardware|坏|挂",
        r"(?:powered|switched|shut) (?:off|down)|(?:machine|server|host|hypervisor|node)~(?:is|has been|"
        r"was) (?:powered off|shut down|switched off|dead|hung|gone for good)|"
        r"\b(?:masters?|nodes?|machines?|servers?|hosts?|workers?|vms?) (?:\w+ )?(?:has |have |had )?"
        r"(?:died|crashed(?! ?loop)|broke down)\b|宕机|关机|死机|断电|"
        r"(?:机器|服务器|物理机|主机(?!名)|虚拟机)[^，。；]{0,6}(?:挂了|坏了|坏掉|故障)|硬件故障|下电",
    ),
    Rule(  # said instead of shown: "the INTERNAL-IP is 192.168.100.131"
        "internal-ip-told",
        "internal",
        r"\binternal[-_ ]?ips?\b~(?:is|are|was|shows?|of|:|=|是|为|都是|分别是|：)? ?~(?:\d{1,3}\.){3}\d{1,3}",
        False,
    ),
    Rule(
        "ip-changed",
        "ip|address|dhcp|地址",
        # A clause ends at a full stop, and addresses have them.
        r"(?:ip|地址|网段)[^，。；]{0,12}从 ?(?:\d{1,3}\.){2,3}[\dx*]{1,3}(?:/\d{1,2})? ?(?:换|改|变|迁|调整)|"
        r"(?:\bip\b|address)(?:es)?~(?:has |have |had |was |were )?(?:changed|been changed|renumbered|"
        r"re-?assigned)|chang(?:ed|ing) (?:the |its |our |node |server )*(?:ip|address)|dhcp~(?:gave|"
        r"handed|assigned|lease)~new|new (?:ip|address)~(?:from|by|via) dhcp|moved~(?:to another|"
        r"to a new) (?:subnet|network)|(?:ip(?![_a-z])|地址)~(?:变了|变更|变化|换了|换成|改了|改成|更换|改变|变成)|"
        r"(?:(?:修改|更换|变更)(?:了|过)?|(?<![交切替转])(?:换|改)(?:了|过|成))~(?:ip(?![_a-z])|地址(?!探测|检测|池|块)|网段)",
    ),
    Rule(
        "hostname-changed",
        "renam|hostname|主机名|命名",
        r"renamed (?:the |this |our |a )?(?:host|node|machine|server|vm)|(?:host|node|machine|"
        r"server)s?~(?:was|were|been|got) renamed|chang(?:ed|ing) (?:the |its )?(?:host ?name|node name)|"
        r"host ?name~(?:was|has been|got) (?:changed|modified|updated|set)|(?:改|修改|更换|换|变更)(?:了|过)?~主机名|"
        r"主机名~(?:改了|变了|修改|变更|更换|改成|改为)|重命名|重新命名",
    ),
    Rule(
        "cloned-vm",
        "clon|template|克隆|模板|copied|snapshot|复制",
        r"(?<!git )\bcloned?\b~(?:vm|machine|from|node|image|of)|(?:vm|machine|node)s?~(?:is|are|was|were|"
        r"been) (?:a )?(?:cloned?|copied)|cop(?:y|ied) of (?:the |a )?(?:vm|machine|node|template)|"
        r"copied (?:the |a )?(?:vm|template|machine)|from (?:the same|one|a) (?:vm )?template|克隆|"
        r"(?:模板|镜像)~复制|复制~虚拟机",
    ),
    Rule(
        "host-reinstalled",
        "reinstall|rebuil|重装|reset|初始化|re-install|re-imag|reimag",
        r"re-?install(?:ed|ing)? (?:the |this |that |our )?(?:node|host|machine|server|os|system|vm|worker)\b|"
        r"(?:node|host|machine|server|worker|vm)~(?:was|were|been|got) (?:re-?installed|rebuilt|re-?imaged)|"
        r"rebuilt (?:the |this )?(?:node|host|machine)|kubeadm reset|重装|重新初始化|重做系统",
    ),
    Rule(
        "nic-added",
        "nic|网卡|interface",
        r"(?:added|attached|installed|got) (?:a |another )?(?:second|new|additional|extra|another|"
        r"further) (?:nic|network card|network interface|interface|network adapter)|second nic~(?:added|"
        r"attached)|(?:新?加|新增|添加|多)了?~(?:一块|一张|个)?~网卡",
    ),
    Rule(
        "clock-wrong",
        "clock|time|ntp|时间|时钟|chrony",
        r"\bclock~(?:ahead|behind|wrong|off by|drift|skew|jump|stepp|reset|slow|fast|in the (?:past|"
        r"future)|not (?:in sync|synchroni[sz]ed))|(?:system |node |its |the )time~(?:is|was)~(?:wrong|"
        r"off by|ahead|behind|in the (?:past|future)|not (?:in sync|synchroni[sz]ed))|(?:ntpd?|"
        r"chronyd?)~(?:not running|stopped|dead|disabled|not (?:in sync|synchroni[sz]ed))|time~(?:out of|"
        r"not in) sync|(?:时间|时钟)~(?:不对|不同步|不一致|慢了|快了|错误|不准|偏差|跳|未同步|没有同步|"
        r"差了)",
        False,
    ),
    Rule(
        "kubelet-stopped",
        "kubelet",
        r"kubelet~(?:is|was|has)?~(?:not running|stopped|dead|down|crash|keeps? restarting|restart loop|"
        r"won't start|does not start|fails to start|没起来|没有起来|没启动|起不来|一直重启|挂了|停了|"
        r"无法启动|启动失败|不断重启)",
        False,
    ),
    Rule(
        "disk-full",
        "disk|磁盘|space",
        r"(?:disk|root (?:fs|filesystem|partition)|/var)~(?:is|was|ran|got)? ?(?:full|out of space|"
        r"100 ?%)|no space left|磁盘~(?:满|不足)",
        False,
    ),
    Rule(
        "bird-busy",
        "bird",
        r"\bbird6?\b(?: process| 进程)?~(?:at|uses?|using|eats?|eating|takes?|pegg\w+|burn\w*|"
        r"占用?|吃|跑)~(?:(?:100|9\d)(?:\.\d+)? ?%|(?:a|one) (?:full |whole |single )?(?:core|cpu)|(?:一个|单)核)",
    ),
    Rule(
        "bird-answers-late",
        "birdc|bird.ctl|show protocols",
        r"(?:birdcl?6?|bird\.ctl|show protocols)~(?:takes?|took|needs?|answers? after|hangs? for|要|需要|耗时|花了?)~"
        r"(?:[2-9]|\d{2,})(?:\.\d+)? ?(?:s\b|sec|秒)",
    ),
    Rule(
        "host-lost-with-pods",
        "ssh|machine|node|host|server|box|network|断网|失联|断开|掉线|连不上|不通|卡死",
        rf"{_MACHINE}~{_GONE}≈{_WHEN}≈{_PROGRAM}~{_BEGINS}|{_WHEN}≈{_PROGRAM}~{_BEGINS}≈{_MACHINE}~{_GONE}|"
        rf"{_PROGRAM}≈ssh~(?:freezes?|froze|drops?|hangs?|dies|is gone)~(?:at that (?:very )?moment|at once)"
        r"|(?:pods?|集群|calico|kubelet|microk8s|k3s|容器)~(?:启动|创建|起来|拉起|部署|开启|运行)≈(?:节点|主机|机器|服务器|ssh|本机)~"
        rf"{_CUT_OFF}|(?:节点|主机|机器|服务器|ssh)~{_CUT_OFF}≈(?:停掉|停止|关掉|关闭|stop)~"
        r"(?:pods?|集群|kubelet|microk8s|k3s|calico)~(?:恢复|正常|好了)",
        False,
    ),
)
