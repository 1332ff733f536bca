"""Who speaks: a person, or a machine? And what a person's heading says about the output below it."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.commands import OWN_LINE, plausible, typed_bare, word_set

_LOOKED_AT: Final = 2000  # characters of a line that tell who speaks
_LONGEST_HEADING: Final = 120
_TITLE_BLANKS: Final = 3  # a title has four words at least
_FAR_EAST = lazily(r"[\u3040-\u30ff\u3400-\u9fff]")
_FAR_EAST_MARK = lazily(r"[，。？！；、]")
# How lines of logs, tables and documents begin or look.
STAMPED = lazily(
    r"\s{0,3}(?:\d{4}[-/]\d\d[-/]\d\d[ T]|[IWEF]\d{4} \d\d:|time=\"|\[\s*\d+\.\d+\]|\[[A-Z][a-z]{2} [A-Z][a-z]{2} "
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d|\d{1,2}月 {1,2}\d{1,2} \d\d:\d\d"
    r"|\d\d:\d\d:\d\d[. ]|bird6?: |level=|ts=|msg=)"
)
_FRAME = lazily(
    r"\s*(?:[|+{}\[\]└├│●<]|-{3,}|={3,}|\"[\w./-]+\":|[}\])],?$|;; |\*\* server "
    r"|-- (?:Logs begin|No entries|Reboot|Journal)"
    r"|[-dlbcps][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][.+@]?\s)"
)
_COLUMNS = lazily(r"\S(?: {3,}|\t+)\S.*?\S(?: {2,}|\t+)\S")
_FIELD = lazily(r"\s*(?:- )?[\w./()-]+(?: [\w()/-]+){0,2}:(?:\s{2,}\S.*)?$")
_KEY_VALUE = lazily(r"\s*(?:- )?[\w./-]+(?:: |\s?=\s?)\S*$")
_SETTING = lazily(r"^[\w./-]+=\S")
_MESSAGE = lazily(
    r"\s{0,8}(?:[-*] )?:?(?:(?:\(combined from similar events\): )?(?:Readiness|Liveness|Startup) "
    r"probe(?: \w+ed| warning|:|$)|Error\b|"
    r"error\b|ERROR|"
    r"Warning\b|WARN|Normal\b|FATAL|panic|fatal|Failed to|failed to|Can't|"
    r"[Uu]nable to (?!(?:reach|ping|curl|telnet) [A-Za-z])|Get \"?http|dial "
    r"tcp|x509|rpc error"
    r"|Back-off|network: |NetworkPlugin|networkPlugin|runtime network|container runtime|calico/node is|"
    r"caliconode is|Calico process"
    r"|None of the BGP|The BGP backend|No IPv[46]|IPv[46] BGP|Calico node |Kubelet |kubelet, |cni plugin|cni "
    r"config|PING "
    r"|\d+ bytes from|\d+ packets|From \d|Connection |Trying |curl: |ping: |nc: |Ncat: |ssh: |bash: |-bash: |"
    r"sh: |cp: |cat: |ls: "
    r"|modprobe: |sysctl: |iptables|ipset |Warning: |Skipping |Using |Starting |Created |Wrote |Installed |"
    r"plugin type="
    r"|Pod sandbox|Container \w+ |Successfully |Terminating|Neither --|Is the agent running|The connection to "
    r"the server"
    r"|Unauthorized|Forbidden|Killed process|Memory cgroup|Out of memory|Checking |System doesn't meet|Are you "
    r"sure that IP Virtual"
    r"|configmap/|daemonset\.|deployment\.|serviceaccount/|clusterrole|customresource|node/|pod/|hint: |Hint: |"
    r"WARNING"
    r"|etcdserver: |Loaded: |Active: |Main PID|Setting |Kernel's RPF|Threshold time|"
    r"BIRD (?:is not|v?\d|version|daemon)|BGP (?:not established|specification)|felix is not|"
    r"Felix is not"
    r"|failed calling webhook|failed \(add\)|add cmd|error adding|stat /"
    r"|Loading all (?:IPAM|nodes|workload|handles)|IPAM blocks? |Looking for top|Scanning for (?:IP|rec|blo|han|aff)"
    r"|Workloads and nodes are|Comparing the two places where settings"
    r"|Found \d+ (?:IPAM|active IP|node tunnel|workload|in-use|IPs|handles|records that|faults in|settings that)"
    r"|Done configuring CNI|The node would (?:not )?start\b|of the probe's window  "
    r"|which is [\d.]+ s \(initialDelaySeconds"
    r"|Without effect on this node:|\s{2,4}which: \S|Whether anything else is stored without effect"
    r"|(?:warning: |without effect: )?\S[^\n]{1,300}? (?:is|are) (?:stored|set), but "
    r"(?:with |only policies look there, and )?Tortie "
    r"|Node with most|Check complete|(?:ok|changed|failed|unreachable|skipping): \[[\w.-]{1,253}[\] ])"
)
# Lines of packet filters and of kernels, in whose rules small words stand, too.
_PRINTED = lazily(
    r"\s*(?:counter packets \d|ct state |meta |[io]ifname |ip6? [sd]addr |(?:tcp|udp) [sd]port |type \w+ hook |jump "
    r"|chain \S+ \{|table \w+ \S+ \{|(?:\[\d+:\d+\] )?-[AINP] [\w-]+ |:[\w-]+ (?:ACCEPT|DROP|-) \[|Chain \S+ \("
    r"|# (?:Warning|Generated|Completed)\b|kernel: |neighbou?r: |libbpf: |cgroup: fork |IN=\S* OUT=|\[UFW )"
    r"|\s{2,20}(?:- )?\"?(?:message|reason|note|error|lastError|description|msg|std(?:err|out))\"?: "
    r"|(?:message|note): ['\"]"
    r"|\d+:\s+from \S+ lookup |\d+: [\w.@-]+: <|[\w.:-]{1,20}:? +(?:flags=-?\d|Link encap:)"
    r"|Active Internet |(?:Tasks|Threads|%?Cpu\(s\)|[KMG]iB (?:Mem|Swap)) ?:"
    r"|top - \d|(?:Reference ID|Stratum|Ref time|System time|Last offset|Leap status) +(?:\(UTC\) *)?:"
    r"|\s{0,12}(?:IP6? )?[\d.]{7,21} > [\d.]{7,21}: |IP6? \((?:tos|class|flowlabel) "
    r"|(?:run|down|fail): /|telnet: |Trying [\d.:a-f]+\.\.\."
    r"|(?:IP )?[\d.]{7,15} is (?:in use|not (?:currently )?assigned)"
    r"|[\da-fA-F.:]{3,45} dev \S+ (?:lladdr |proxy|router |extern_learn |INCOMPLETE|FAILED|NOARP|PERMANENT|STALE)"
)
# A rule or a chain of a packet filter, as iptables-save, -S and -L print it; nobody writes a sentence so.
_RULE = lazily(r"\s{0,4}(?:(?:\[\d+:\d+\] )?-[AN] [A-Za-z][\w-]* ?|:[A-Za-z][\w-]* (?:ACCEPT|DROP|-) \[|Chain \S+ \()")
_ERROR_TEXT = lazily(r"(?:error|err)=|code = \w+ desc =|\w: [a-z/\"(][^.?!]{3,80}: [a-z\"/]|msg=\"|level=")
_WORDS = lazily(r"[A-Za-z][A-Za-z'’-]*")
_BULLET = lazily(r"^\s{0,6}(?:[-*•·]|\d{1,2}[.)、]|#{1,6}|>)\s+")
_TITLE = lazily(r"(?:Subject|Title|Ticket|Problem|Symptoms?) ?: [A-Za-z]+ [A-Za-z]")  # what a mail or a ticket is about
_NUMBERED = lazily(r"#{2,6} \w|\d{1,2}、")
_CHAT = lazily(r"^(?:\[[\d: -]{4,20}\] ?|\d{1,2}:\d\d(?: [AP]M)? )?@?[A-Z]?[\w .-]{1,24}: \S")
# "[09:41] name: …", "[Ticket 81] …": what stands behind the bracket tells who speaks.
_SPEAKER = lazily(
    r"^\[\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?\] ?(?=@?[\w .-]{1,24}[:：] ?\S)"
    r"|^\[(?:工单|告警|问题|求助|[Tt]icket|INC|TICKET)[^\]]{0,40}\] ?(?=\S)"
)
_SMALL: Final = word_set(
    "the is are was were be been being and but or nor which that this these those will would should could can cannot "
    "can't won't doesn't don't isn't aren't wasn't weren't didn't couldn't hasn't haven't not no of from with "
    "without "
    "when after before because since while until also it its we i you he she they my our your their there here then "
    "than so still only have has had does did do on in at to for as by an a all any some every each what why how who "
    "where if into onto up down out over under again now never always just even both between i'm i've it's we've "
    "nothing something anything everything nobody please thanks hello hi"
)
# A whole sentence of plain words, however short.
_SENTENCE = lazily(r"[A-Z][a-z]{1,20}(?: [A-Za-z][a-z'’-]{0,20},?){2,30}[.!]$")
_PERSON: Final = word_set("i we my our us you your please thanks i'm i've we've we're hello hi help anyone somebody")
# What tools say on a Chinese system; not a person's words.
_TRANSLATED = lazily(
    r"^\s*(?:总用量|总计|内存[:：]|交换[:：]|文件系统|来自 |正在 ?ping|正在 ?Ping|没有匹配|启动时间|\d{1,2}月 |"
    r"警告[:：]|错误[:：]|提示[:：]|目标|默认|\d{4}年 ?\d{1,2}月 ?\d{1,2}日 ?(?:星期|周). ?\d\d:\d\d)"
    r"|(?:没有那个文件或目录|未找到命令|拒绝连接|连接被拒绝|连接超时|没有到主机的路由|权限不够|不允许的操作|"
    r"目标主机不可达|网络不可达|无效的参数|"
    r"无法访问的主机|设备或资源忙|地址已在使用)\)?。?$"
)
_LEFT_OUT = lazily(r"省略|略去|以下略|omitted|truncated|snip(?:ped)?\b|^\s*(?:\.{3,}|…+|。{3,}|-{2,}8<)")


def machine(line: str) -> bool:
    """Lines that no person writes as text: stamped, framed, in columns, fields, known messages."""
    line = _SPEAKER.sub("", line[:_LOOKED_AT])
    return bool(
        STAMPED.match(line)
        or _FRAME.match(line)
        or _MESSAGE.match(line)
        or _COLUMNS.search(line)
        or _FIELD.match(line)
        or _KEY_VALUE.match(line)
        or _SETTING.match(line)
        or line.startswith(("    ", "\t"))
        or _RULE.match(line)
    )


def left_out(line: str) -> bool:
    """A mark that something was cut out of an output: it stays with the output."""
    return len(line) < 60 and _LEFT_OUT.search(line) is not None


def far_east(text: str) -> bool:
    """Is there a character of Chinese or Japanese in it?"""
    return not text.isascii() and _FAR_EAST.search(text) is not None


# An item of somebody's checklist.
_CHECKED = lazily(r"\s{0,8}(?:[-*] )?\[(?:[xX ?!√✓✔]|ok|OK|\d/\d)\] {1,3}\S.{8,}")


def speaks(line: str) -> bool:
    """Does a person speak in this line?"""
    line = _SPEAKER.sub("", line[:_LOOKED_AT])
    if far_east(line):
        return _speaks_chinese(line)
    if _NUMBERED.match(line) or _TITLE.match(line) or _CHECKED.match(line):
        return True
    text = _BULLET.sub("", line)
    if STAMPED.match(line) or _FRAME.match(text) or _COLUMNS.search(text) or line.startswith(("      ", "\t")):
        return False
    if _PRINTED.match(line):
        return False
    tokens = [word.lower().replace("’", "'") for word in _WORDS.findall(text)]
    if len(tokens) < 3:
        return False
    small = sum(token in _SMALL for token in tokens)
    if any(token in _PERSON for token in tokens) and small >= 2 and not _MESSAGE.match(text):
        return True
    if _MESSAGE.match(text) or _SETTING.match(text) or _ERROR_TEXT.search(text):
        return False
    if _FIELD.match(text) or _KEY_VALUE.match(text):
        return False
    if _SENTENCE.match(text.rstrip()):
        return True
    ended = text.rstrip().endswith((".", "?", "!", ":"))
    return (
        small >= 2
        or (ended and len(tokens) >= 4 and (small >= 1 or _CHAT.match(text) is not None))
        or (len(tokens) >= 5 and small >= 1)
    )


def titled(line: str) -> bool:
    """Words alone, as on top of a ticket: no message of a program, no command, nothing in columns."""
    if not line[:1].isalpha() or len(line) > _LONGEST_HEADING or line.count(" ") < _TITLE_BLANKS or typed_bare(line):
        return False
    words = line.split()
    plain = sum(word.strip(",.:;?!()\"'").replace("-", "").replace("'", "").isalpha() for word in words)
    if plain * 4 < len(words) * 3 or _PRINTED.match(line):
        return False
    if _MESSAGE.match(line):  # or a sentence that begins with the same word as some message
        small = sum(word.lower().strip(",?!") in _SMALL for word in words)
        return ": " not in line and (line.endswith("?") or small >= _TITLE_BLANKS)
    return not machine(line)


# Programs whose output is rows and fields: a sentence among them is the person's, who went on to write.
_ROWS = lazily(
    r"(?:^|[\s/;&|])(?:(?:kubectl|k|kc|oc|calicoctl|kubectl-calico)\s(?:-\S+ \S+ ){0,3}(?:get|top|node|ipam)"
    r"|crictl|docker|ip|ss|ping6?|netstat|route|arp|nc|ifconfig|ipset|ipvsadm|lsmod|sysctl|systemctl|free|uptime|df"
    r"|dig|nslookup|arping|birdcl|traceroute)(?:\s|$)"
)
_MESSAGES = lazily(r"\bev(?:ents?)?\b|\blogs?\b|-o ?(?:yaml|json)|\bdescribe\b")  # sentences stand in these, too
_MYSELF: Final = word_set("i my i'm i've i'd anyone anybody")


def remark(line: str, command: str) -> bool:
    """A person's sentence right below output: it begins at the left, in plain words, without columns."""
    if not line[0].isalpha() or "  " in line or "\t" in line or line.count(" ") < 4 or len(line) > _LOOKED_AT:
        return False
    tokens = [word.lower().replace("’", "'") for word in _WORDS.findall(line)]
    small = sum(token in _SMALL for token in tokens)
    least = 2 if any(token in _PERSON for token in tokens) else 3
    if small < least or not speaks(line) or machine(line):
        return False
    told = command[:_LOOKED_AT]
    rows = _ROWS.search(told) is not None and _MESSAGES.search(told) is None
    return rows or any(token in _MYSELF for token in tokens)


def _speaks_chinese(line: str) -> bool:
    if STAMPED.match(line) or _FRAME.match(line) or _TRANSLATED.search(line):
        return False
    if _MESSAGE.match(line) and len(_FAR_EAST.findall(line)) * 5 < len(line):
        return False  # `Active: active (running) since 二 2022-03-01` is systemd's
    if _COLUMNS.search(line) and not _FAR_EAST_MARK.search(line):
        return False
    return not (_SETTING.match(line) or '="' in line or "level=" in line)


_TICKED = lazily(r"`([^`]{2,300})`")
_HEADING = lazily(r"^(?:[#*\s>-]{0,6}(?:\d{1,2}[、.] ?)?)(?P<text>.{1,80}?)(?P<colon>[:：])?\**\s*$")
_HOST = lazily(r"(?<![A-Za-z0-9_./@-])[A-Za-z][A-Za-z0-9.-]{0,62}(?![A-Za-z0-9_/@])")
_NOT_A_HOST = lazily(
    r"(?:calico|kube|canal|coredns|etcd|felix|typha|tigera|pod|ipv|eth|ens|eno|enp|bond|tunl|br-|docker|cali|"
    r"veth|vxlan|"
    r"v\d|k8s$|k3[sd]|rke\d?$|http|tcp|udp|bgp|x509|bird\d?|ip\d|centos|ubuntu|rhel|debian|node$|log|yaml|json|conf)",
    re.IGNORECASE,
)
# w1 日志： and w1 calico-node log: name the host first.
_HOST_AFTER = lazily(
    r"(?: ?(?:上|的|节点|主机)){0,3} ?(?:(?:calico(?:-node)?|kubelet) ?的?)? ?(?:日志|输出|logs?|output)\s*",
    re.IGNORECASE,
)
_HOST_BEFORE = lazily(
    r"(?:^|\b)(?:on|node|host|machine|worker|master|server|from|节点|机器|主机|在|登录|登陆)\s*$", re.IGNORECASE
)


def command_named(line: str) -> str:
    """The one command that a person says to have run, when its output is to follow: 查看 `ip a`：, journalctl -u x:"""
    text = line.rstrip()
    if not text.endswith((":", "：")) or len(text) > _LOOKED_AT:
        return ""
    ticked: list[str] = [command for command in _TICKED.findall(text) if plausible(command)]
    if len(ticked) == 1:
        return ticked[0]
    bare = text.rstrip(":： ").lstrip("#*> ")
    return bare if not ticked and (typed_bare(bare) or bare in OWN_LINE) else ""


def host_named(line: str, known: frozenset[str]) -> str:
    """The host that a short heading names: `node-4:`, `kubelet log on n2:`, 在 test-node1 上执行：; empty in doubt."""
    match = _HEADING.match(line) if len(line) <= _LONGEST_HEADING else None
    if not match:
        return ""
    text = match["text"].strip("*` ")
    found: set[str] = {name.rstrip(".") for name in _HOST.findall(_TICKED.sub(r" \1 ", text))}
    sure = [name for name in found if name in known]
    if len(sure) == 1 and (match["colon"] or len(text) <= len(sure[0]) + 12):
        return sure[0]
    titled = bool(match["colon"]) or (line.startswith("#") and " " not in text)
    if sure or not titled or len(text.split()) > 8:
        return ""
    likely = [name for name in found if any(c.isdigit() for c in name) and not _NOT_A_HOST.match(name)]
    if len(likely) != 1:
        return ""
    before, _, after = text.partition(likely[0])
    named: str = likely[0]
    first = not before.strip() and _HOST_AFTER.fullmatch(after.rstrip())
    return named if text == named or first or _HOST_BEFORE.search(before) else ""


def hosts_in(text: str) -> tuple[str, ...]:
    """Words of a sentence that look like names of machines: a letter first, a digit somewhere, no known other thing."""
    names = (name.rstrip(".-") for name in _HOST.findall(text))
    likely = (name for name in names if any(c.isdigit() for c in name) and not _NOT_A_HOST.match(name))
    return tuple(dict.fromkeys(likely))
