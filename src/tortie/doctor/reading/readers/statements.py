"""What people say to have seen: statements out of prose, English and Chinese, by a small lexicon (reading/lexicon).

A guess is not an observation ("maybe the firewall", 怀疑是防火墙), nor is a question, a condition or an instruction;
negation is respected. The values of a statement are the hosts and addresses that its sentence names, unless said below.

| kinds | said |
|---|---|
| load-high, load-normal, runtime-broken, swap-on, swap-disabled-in-fstab, disk-full, clock-wrong, kubelet-stopped | state of a machine |
| internal-ip-told (what Kubernetes has as the addresses of nodes) | state of a machine |
| image-not-pulled (an image is not there, for the registry did not give it) | state of a machine |
| bird-busy, bird-answers-late | state of BIRD |
| at-cpu-limit, without-limit-well (it is well where a limit is gone) | limits |
| rebooted, power-cut, machine-off, ip-changed = address-changed, hostname-changed = host-renamed | what befell it |
| cloned-vm = vm-cloned, host-reinstalled, nic-added, docker-network-created | how it was made or changed |
| cross-node-dead, network-dead, same-node-ok, host-pod-dead, service-dead, nodeport-dead, network-lost-sometimes | which traffic |
| link-manager-hurts (pods lose routes or network when NetworkManager or networkd begins anew) | which traffic |
| host-lost-with-pods (a machine loses its network when pods start) | which traffic |
| same-node-only (works if both ends are on one node, and else it does not) | which traffic |
| broken-by-reload (pods, services or rules are gone when a firewall loads its rules anew) | which traffic |
| works-without-ipip, forward-policy-drops (`iptables -P FORWARD ACCEPT` helps, its counter grows) | tried |
| lost-when-links-restart (pods lose their routes when networkd starts anew) | which traffic |
| pods-stuck (new pods are not started: they get no network) | which traffic |
| ping-works, ping-fails, ping-works-tcp-not, ping-works-port-179-not, port-179-open, opening-179-helps, large-packets-stall | tried |
| pod-source-bare (what pods send outside keeps their addresses) | tried |
| sent-not-received, capture-silent (somewhere), bgp-open-lost, offload-off-helps, rollback-helps, firewalld-stop-helps, works-after-restart, heals-by-itself, keeps-restarting (a program of Calico's) | tried |
| policy-without-effect (pods still reach what a policy shall keep from them) | filters |
| firewall-off, only-tcp-udp-icmp, selinux-off, firewall-blocks-179, policy-applied, proxy-used = behind-proxy | filters |
| datastore-far, api-direct-ok, kube-proxy-missing, service-rules-missing, api-vip-dead, control-plane-restless, certs-renewed, signing-key-replaced, lb-ok-masters-not, no-default-route | control plane |
| etcd-moved, etcd-disk-slow, etcd-member-restored, etcd-down, etcd-health-ok, killed-no-terminating | datastore, start |
| upgraded (values: what, from, to; what is calico, kubernetes, kernel, os or empty), after-kubernetes-upgrade | before |
| installed-fresh, node-deleted, node-removed-without-drain, labels-lost, two-installs, cni-replaced (values: names) | before |
| new-nodes-only = new-nodes-fail, only-some-nodes , one-node-only, all-nodes, only-workers-fail | where |
| labels-lost (a node has lost its labels) | before |
| nodes-network (values: prefixes such as `10.` or `192.168.110.`, or CIDRs), cloud (values: names), pods-cidr-overlap | where |
| blocks-used-up (nodes get no block of addresses, or none is left) | state of the cluster |
| complains (something does not work), asks-if-normal | what the person wants |
| suffers (something does not work now: neither asked, nor guessed, nor long ago) | what the person wants |
| agents-well, nodes-well, sessions-well, traffic-well (said instead of shown) | state of the cluster |
| seeks-help (looks for the cause of something) | what the person wants |
| mended (what was broken is repaired), says-well (in the person's own view all is in order) | what the person wants |
"""  # noqa: E501

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Statement
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.hearsay import long_mended, without_citations, without_intentions, without_questions
from tortie.doctor.reading.lexicon import ALIASES, ANY_CHINESE, RULES, Rule, lowered, simple
from tortie.doctor.reading.prose import far_east, hosts_in
from tortie.model.tuples import NamedTuple

_ITEMS: Final = ("-", "*", "#", ">", "•", "[x]", "[X]", "[ ]", "[?]", "[√]", "[✓]")  # each a sentence of its own
LONGEST: Final = 600  # characters of one sentence that are looked at
# "ping yes. curl no. dig no." is one observation.
_END = lazily(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)(?<! yes\.)(?<! no\.)(?<! ok\.)\s+|(?<=[。！？；])|;\s+"
)
# These look at sentences in lower case.
_GUESS = lazily(
    r"\b(?:maybe|perhaps|probably|possibly|presumably|i (?:have to |must )?(?:think|guess|suspect|assume|believe|"
    r"suppose)|we (?:think|suspect|assume)|"
    r"my guess|might be|may be|possible signs? of|could be (?:a|an|the|due|because|that|related|caused)|not sure|"
    r"wonder|seems? to be caused|suspect"
    r"|(?:boss|manager|colleagues?|devs?|developers?|teams?|customers?|friend|somebody|someone|they|he|she|people) "
    r"(?:[\w-]+ ){0,9}?(?:believes?|suspects?|suspected|fears?|assumes?))\b"
    r"|怀疑|可能|也许|或许|应该是|估计|猜测|是不是|会不会|感觉是|难道|猜想|[就只生]怕|万一",
)
_CONDITION = lazily(
    r"\b(?:if|whether|unless|in case|do you|did you|have you|please (?:check|try|make sure)|make sure|try to)\b|"
    r"如果|假如|是否|请(?:检查|确认)|建议|要是",
)
_NEGATED_BEFORE = lazily(
    r"(?:\b(?:no|not|never|without|neither|nor|cannot|nothing|none|nobody|zero)|(?<![\d.,:/-])0|n't|没有?|没人|未|并未|"
    r"不是?|无|无人|并非|并不)\s{0,4}(?:\w{1,24}\s{1,4})?$",
)
_NEGATION = lazily(
    r"\b(?:not|never|no|without|isn't|wasn't|aren't|weren't|didn't|hasn't)\b|没(?!问题|事)|未|不(?!到|断|久|仅|"
    r"少)|并非",
)
# A trouble that is denied in so many words: "did not crash", "is never full", 没有卡住. Rules that carry a negation of
# their own ("does not start") would take it for the trouble.
_NO_TROUBLE = lazily(
    r"(?:\b(?:not|never|no longer|nor|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|haven't)(?: (?:been|yet|"
    r"ever|really|once|anymore|at all))? (?:crash|stuck|hang|hung|dead\b|down\b|fail|stopp|full\b|lost\b|"
    r"los(?:e|ing)\b|missing|broken|blocked|unreachable|tim(?:e|ed|ing) ?out|dropp|wrong|swapp|off by|slow)"
    r"|(?:没有?|未|并未|不再|不会|从未)(?:出现)?(?:过)?(?:挂|卡|超时|失败|断|中断|重启|报错|异常|丢包|宕|掉线|满))",
)
# A machine from which people work is none of the cluster's, however slow it is.
_DESK = lazily(
    r"\b(?:bastion|jump ?(?:box|host|server)|laptop|workstation|my (?:pc|desktop|terminal|browser|wifi)|vpn)\b"
    r"[^.,;，。；]{0,30}?\b(?:slow|laggy|lagging|busy|overloaded|load(?:ed)?)\b[^.,;，。；)）]*"
    r"|(?:跳板机|堡垒机|笔记本|我的电脑|办公网|vpn)[^，。；,;]{0,12}?(?:慢|卡|负载)[^，。；,;）)]*",
)
# "0 of 5000 lost", "0 failures", 失败 0 次: counted, and none.
_NONE_COUNTED = lazily(
    r"(?<![\w.,:/-])(?:0|zero|none) (?:(?:of|out of|/) ?[\d,]+ )?(?:\w+ )?"
    r"(?:lost|dropped|failed|failures?|errors?|time-?outs?|timed out|drops|losses|restarts)\b"
    r"|\b(?:lost|dropped|failed|failures?|errors?|time-?outs?|drops) ?[:=]? ?0\b(?![.,%/]?\d)(?! of)"
    r"|(?<![a-z0-9_.,:/-])0 ?(?:次|个|条)?(?:失败|丢包|超时|错误|异常|报错|重启)"
    r"|(?:失败|丢包|超时|错误|异常|重启)(?:数|次数|率|计数)?(?:都|均|全部)?[:：是为 ]{0,3}0(?![\d.]*[1-9]) ?[次个条]?"
)
# Tools that no cluster needs: that they are not there is a fact, no complaint.
_NOT_NEEDED = lazily(
    r"\b(?:firewalld?|ufw|selinux|apparmor|networkmanager|docker|swap|ipvs|iptables service|wireguard|ipv6|avahi)\b"
    r"(?: service| daemon)? (?:is|are|was) (?:\w+ )?not (?:\w+ )?(?:installed|running|active|used|enabled|in use)\b"
    r"|(?:firewalld?|防火墙|ufw|selinux|networkmanager|swap|ipv6)(?: ?服务)?(?:都|均|也| )*(?:没有?|未)(?:安?装|启用|"
    r"启动|开启|开|使用)"
)
# Traffic inside of one machine says nothing of that between them.
_PARTIAL = lazily(
    r"\b(?:on|of|within|inside|in) (?:the |one |a )?(?:same|single|one) (?:vm|node|host|machine|worker|box|server)\b"
    r"|(?:同一?(?:台|个)?|单)(?:节点|机器?|主机|node)|本机|项目内|同项目"
)
# Figures that were, shall be, or are of something else.
_TURNED = lazily(
    r"\b(?:fell|falls|dropp(?:ed|ing)|until|instead|last (?:week|month|night)|used to|must|not|still|stays?|unanswered|"
    r"between (?:the |two )?(?:hosts|machines|nodes) (?:gives|is))\b|n't\b"
    r"|\bfrom \d[\d.]* ?(?:%|[gm]bit)|\bwas \d[\d.]* ?%|从 ?\d|掉到|降到|跌到|波动|以前|之前"
)
_DESK_WORDS = ("slow", "lag", "busy", "load", "慢", "卡", "负载")  # one of them is in it
_TURN = lazily(r"[,;] ?(?:but|however|yet)\b|，?但|不过")
# Said in questions and conditions, too.
_CERTAIN = ("asks-if-normal", "seeks-help", "complains", "firewalld-stop-helps", "says-well", "same-node-only")
# States that a sentence may tell to be over: "last week swap was on, that is solved".
_STATES = ("load-high", "swap-on", "disk-full", "clock-wrong", "runtime-broken", "kubelet-stopped", "network-dead",
           "cross-node-dead", "service-dead", "nodeport-dead", "pods-stuck", "network-lost-sometimes",
           "broken-by-reload", "lost-when-links-restart", "suffers")  # fmt: skip
_ASKING = ("asks-if-normal", "seeks-help", "complains")
_FROM_TO = lazily(
    r"v?(\d+(?:\.\d+){1,2})\s*(?:to|->|→|=>|升(?:级)?到|升级为|到|至|更新到)\s*v?(\d+(?:\.\d+){0,2})", re.IGNORECASE
)
_TO = lazily(r"(?:to|到|至|成)\s*(?:version |版本 ?|calico |kubernetes |k8s )?v?(\d+(?:\.\d+){0,2})", re.IGNORECASE)
_WHAT = (
    ("kernel", lazily(r"kernel|内核", re.IGNORECASE)),
    ("calico", lazily(r"calico|tigera|canal|felix", re.IGNORECASE)),
    (
        "kubernetes",
        lazily(
            r"kubernetes|k8s|\beks\b|\brke2?\b|kubeadm|\bgke\b|\baks\b|microk8s|k3s|openshift|cluster|集群",
            re.IGNORECASE,
        ),
    ),
    ("os", lazily(r"fedora|centos|ubuntu|coreos|rhel|debian|rocky|suse|flatcar", re.IGNORECASE)),
)
_PREFIX = lazily(
    r"(?<![\d.])((?:\d{1,3}\.){1,3})(?:x|\*|0)?(?:\.(?:x|\*|0))?(/\d{1,2})?(?![\d])|(\d{1,3}) ?开头|with (\d{1,3})\b"
)
_CLOUDS = lazily(
    r"aws|ec2|eks|azure|aks|openstack|gcp|gce|gke|google cloud|aliyun|alibaba cloud|阿里云|腾讯云|华为云|"
    r"hetzner|digitalocean|vsphere|vmware|云主机",
    re.IGNORECASE,
)
_CNIS = lazily(r"weave|flannel|cilium|kube-router|romana|contiv|antrea|kube-ovn", re.IGNORECASE)
_ADDRESS = lazily(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")


class Sentence(NamedTuple):
    """A sentence of prose and the lines it stands on."""

    text: str
    first: int
    last: int

    @property
    def asks(self) -> bool:
        return self.text.rstrip().endswith(("?", "？", "吗", "么"))


def read(exhibit: Exhibit) -> Iterator[Statement]:
    if not exhibit.prose:
        return
    for sentence in sentences(exhibit.lines):
        place = exhibit.place(sentence.first, sentence.last + 1)
        for kind, values in said(sentence):
            yield Statement(place, kind, sentence.text, values)


def sentences(lines: tuple[str, ...]) -> Iterator[Sentence]:
    """Sentences with their lines. English goes on over line ends, Chinese and lists do not."""
    pending: list[tuple[int, str]] = []
    for index, line in enumerate((*lines, "")):
        text = line.strip()
        alone = far_east(text) or text.startswith(_ITEMS)
        if pending and (not text or alone):
            yield from _split(pending)
            pending = []
        if text and alone:
            yield from _split([(index, text)])
        elif text:
            pending.append((index, text))


def _split(rows: list[tuple[int, str]]) -> Iterator[Sentence]:
    text = " ".join(row for _, row in rows[: LONGEST * 4])[: LONGEST * 4]
    starts: list[int] = []
    offset = 0
    for _, row in rows:
        starts.append(offset)
        offset += len(row) + 1
        if offset > len(text):
            break
    begin = 0
    for end in [match.end() for match in _END.finditer(text)] + [len(text)]:
        piece = text[begin:end].strip()
        if piece:
            first = rows[bisect_right(starts, begin) - 1][0]
            last = rows[bisect_left(starts, max(end, begin + 1)) - 1][0]
            yield Sentence(piece[:LONGEST], first, last)
        begin = end


def said(sentence: Sentence) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The kinds that a sentence states, with their values; each kind once."""
    yield from _said(sentence.text, sentence.asks)


@lru_cache(maxsize=1024)  # some texts say the same again and again
def _said(text: str, asks: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(_all_said(text, asks))


def _all_said(text: str, asks: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    low = lowered(text)
    rules = _with_a_key_in(low)
    relieving = without_citations(_certain(_without_desks(low)))  # what is counted as none says that all is well
    certain = _NONE_COUNTED.sub(_blotted, relieving)
    told = without_intentions(without_questions(_NOT_NEEDED.sub(_blotted, certain), asks))
    relieving = without_questions(relieving, asks)
    over = long_mended(low)
    low, certain, told, relieving = simple(low), simple(certain), simple(told), simple(relieving)
    found: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        if rule.kind in found:
            continue
        beside = rule.kind == "suffers" or (asks and rule.kind not in _ASKING)  # the clauses that are no question
        shown = told if beside else low if rule.kind in _CERTAIN else certain
        shown = relieving if rule.kind.endswith("-well") and rule.kind not in _CERTAIN else shown
        if _holds(rule, shown[over:] if rule.kind in _STATES else shown):
            found[rule.kind] = _values(rule.kind, text)
    if "suffers" in found or _PARTIAL.search(low) or _TURNED.search(low):
        found.pop("traffic-well", None)  # of one node alone, or not any more
    if found.keys() & {"ping-works-tcp-not", "large-packets-stall"}:
        found.pop("cross-node-dead", None)  # something does pass
    if found.get("upgraded", ("",))[0] == "kubernetes":
        found["after-kubernetes-upgrade"] = found["upgraded"][1:]
    for kind, values in found.items():
        yield kind, values
        for alias in ALIASES.get(kind, ()):
            yield alias, values


def _without_desks(low: str) -> str:
    if not any(word in low for word in _DESK_WORDS):
        return low
    return _DESK.sub(_blotted, low)


def _blotted(match: re.Match[str]) -> str:
    return "." * len(match.group())


def _with_a_key_in(low: str) -> list[Rule]:
    """Rules that may hold, in their order. Rules share keys: each key is looked for once."""
    always, by_key = _keys()
    places = set(always) if low.isascii() else {*always, *by_key[ANY_CHINESE]}
    for key, of_rules in by_key.items():
        if key in low:
            places.update(of_rules)
    return [RULES[place] for place in sorted(places)]


@cache
def _keys() -> tuple[tuple[int, ...], dict[str, list[int]]]:
    by_key: dict[str, list[int]] = {}
    for place, rule in enumerate(RULES):
        for key in rule.keys.split("|") if rule.keys else ():
            by_key.setdefault(key, []).append(place)
    return tuple(place for place, rule in enumerate(RULES) if not rule.keys), by_key


def _certain(low: str) -> str:
    """The sentence with the stretches blotted out in which a person guesses or supposes: up to the next "but"."""
    for pattern in (_GUESS, _CONDITION):
        match = pattern.search(low)
        while match:
            turn = _TURN.search(low, match.end())
            end = turn.start() if turn else len(low)
            low = low[: match.start()] + "." * (end - match.start()) + low[end:]
            match = pattern.search(low, end)
    return low


def _holds(rule: Rule, low: str) -> bool:
    for match in rule.matches(low):
        if not rule.plain:
            denied = _NO_TROUBLE.search(low, match.start(), match.end() + 24)
            if denied and denied.start() < match.end():
                continue
            return True
        negated = _NEGATED_BEFORE.search(low[max(0, match.start() - 24) : match.start()])
        if not negated and not _NEGATION.search(match.group()):
            return True
    return False


def _values(kind: str, text: str) -> tuple[str, ...]:
    if kind == "upgraded":
        return _upgrade(text)
    if kind == "nodes-network":
        return tuple(
            f"{m[3] or m[4]}." if m[3] or m[4] else m[1] + (f"0{m[2]}" if m[2] else "") for m in _PREFIX.finditer(text)
        )
    if kind == "cloud":
        return tuple(dict.fromkeys(match.lower() for match in _CLOUDS.findall(text)))
    if kind == "cni-replaced":
        return tuple(dict.fromkeys(match.lower() for match in _CNIS.findall(text)))
    return (*hosts_in(text), *dict.fromkeys(_ADDRESS.findall(text)))


def _upgrade(text: str) -> tuple[str, ...]:
    """What was upgraded, from where, to where. A version's first number tells when the sentence names several."""
    both = _FROM_TO.search(text)
    only = None if both else _TO.search(text)
    old, new = (both[1], both[2]) if both else ("", only[1] if only else "")
    named = [what for what, pattern in _WHAT if pattern.search(text)]
    if new.startswith(("3.", "2.")) and "kernel" not in named:
        what = "calico"
    elif new.startswith("1.") and "kernel" not in named:
        what = "kubernetes"
    elif new and "." not in new and "os" in named:
        what = "os"
    else:
        what = named[0] if named else ""
    return (what, old, new)
