"""What is wrong with a lab's file or flags, in Chinese.

The rules are those of `rules` and of the model below it, which speaks English; here each of their texts stands with its
translation. A text that is not here is told as it is: no translation is worth less than a wrong one.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from tortie.lab.failures import Told
from tortie.model.errors import Invalid, Place, Problem, TortieError, UsageError
from tortie.model.manifest import Unreadable

FORMS: Final[dict[str, str]] = {
    # a scenario
    "does not describe a scenario": "没有描述一个场景",
    "apiVersion: tortie/v1, kind: Scenario, and steps": "apiVersion: tortie/v1、kind: Scenario 和 steps",
    "a scenario has 1 to {most} steps": "一个场景有 1 到 {most} 个步骤",
    "- break: NAME": "- break: 名称",
    "a step does one thing": "一个步骤只做一件事",
    "break: NAME, decoy: NAME or heal: NAME": "break: 名称、decoy: 名称 或 heal: 名称",
    "there is no such fault": "没有这个故障",
    "there is no such decoy": "没有这个干扰项",
    "a name that `tortie lab faults` lists": "`tortie lab faults` 列出的名称",
    "means nothing to heal": "对 heal 没有意义",
    "a time of a scenario is 0s to 1h": "场景中的时间为 0s 到 1h",
    "for example 20s": "例如 20s",
    "a duration": "时间长度",
    "a number with its unit, for example 30s, 1m30s or 500ms": "数字加单位，例如 30s、1m30s 或 500ms",
    # one field on its own
    "is required": "必须填写",
    "set it": "请填写",
    "leave it out": "去掉它",
    "did you mean {near}?": "是否想写 {near}？",
    "one of {choices}": "以下之一：{choices}",
    "must be one of {choices}": "必须是以下之一：{choices}",
    "for example {example}": "例如 {example}",
    "{rule}; for example {example}": "{rule}；例如 {example}",
    "at most {count}": "最多 {count} 个",
    "field in document is not recognized or is in the wrong location": "没有这个字段，或它写错了位置",
    "a mapping of fields is needed here": "此处需要一组字段",
    "name: value, line by line": "每行一个“名称: 值”",
    "a list is needed here": "此处需要列表",
    "- value, one on each line": "每行一个“- 值”",
    "a map is needed here": "此处需要映射",
    "expected {wanted}, got {found}": "应为 {wanted}，实为 {found}",
    "true or false, without quotes": "true 或 false，不加引号",
    "a whole number, without quotes": "整数，不加引号",
    "text, in quotes where YAML would take it for something else": "文本；若 YAML 会误认，请加引号",
    "is not {what}": "不是{what}",
    "is not text but {found}; {what} is needed": "不是文本而是 {found}；此处需要{what}",
    "a name": "可用的名称",
    "the name of a Linux interface": "Linux 网络接口的名称",
    "an address with its network": "带前缀长度的地址",
    "an IPv4 CIDR": "IPv4 网段",
    "an IPv6 CIDR": "IPv6 网段",
    "is not a valid name": "不是有效的名称",
    "lower-case letters, digits, - and ., beginning and ending with a letter or digit": (
        "小写字母、数字、- 和 .，首尾须为字母或数字"
    ),
    "at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit": (
        "最多 63 个小写字母、数字和 -，首尾须为字母或数字"
    ),
    "at most 15 letters, digits, _ . or -, for example eth1": "最多 15 个字母、数字、_、. 或 -，例如 eth1",
    "has {count} characters": "有 {count} 个字符",
    "has {count} characters, and is a host's name, too": "有 {count} 个字符，而它也是主机名",
    "is not the value of an environment variable": "不能作环境变量的值",
    "text, a number, or true or false": "文本、数字，或 true、false",
    "has a zero byte in it": "含有零字节",
    "the CIDR has host bits set": "网段中的主机位不为零",
    "{network}, or {address}": "{network}，或 {address}",
    "is not a label's name": "不是有效的标签名",
    "letters, digits, - _ . and one /": "字母、数字、-、_、. 以及一个 /",
    "is not a label's value": "不是有效的标签值",
    "at most 63 letters, digits, - _ and ., beginning and ending with a letter or digit": (
        "最多 63 个字母、数字、-、_ 和 .，首尾须为字母或数字"
    ),
    # the whole file
    "does not describe a lab": "描述的不是实验环境",
    "apiVersion: {version}, kind: {kind}, and nodes": "apiVersion: {version}、kind: {kind}，以及 nodes",
    "is neither a number nor a list": "既不是数字，也不是列表",
    "{field}: 3, or a list of names": "{field}: 3，或名称的列表",
    "metadata.name says {name}": "metadata.name 写的是 {name}",
    "leave one of the two out": "去掉其中之一",
    # nodes, racks, store
    "a lab has 1 to {most} nodes": "实验环境有 1 到 {most} 个节点",
    "a lab has 1 to {most} racks": "实验环境有 1 到 {most} 个机架",
    "a lab has at most {most} racks": "实验环境最多有 {most} 个机架",
    "fewer racks": "减少机架",
    "is there already": "已经有了",
    "another name": "换一个名称",
    "another name, for example {example}": "换一个名称，例如 {example}",
    "is the name of a segment of the lab's own": "是实验环境自身网段的名称",
    "there are {nodes} nodes for {racks} racks": "{racks} 个机架只有 {nodes} 个节点",
    "at least as many nodes as racks": "节点数不少于机架数",
    "other nodes have a rack, and this one has none": "其他节点写了机架，此节点没有",
    "is not in the list of racks": "不在机架列表中",
    "add it": "加上它",
    "etcd runs with one member or with three": "etcd 有一个或三个成员",
    "members: 1 or members: 3": "members: 1 或 members: 3",
    "--members 1 or --members 3": "--members 1 或 --members 3",
    "the embedded store is one file": "内嵌存储是单个文件",
    "the embedded store is a file, which nobody connects to": "内嵌存储是文件，没有连接可言",
    "a clock ticks 1 to {count} times as fast": "时钟只能快 1 到 {count} 倍",
    "is not among the releases whose start is known": "不在已知启动方式的版本之列",
    "{first} to {last}, for example {example}": "{first} 到 {last}，例如 {example}",
    "a release of Calico": "Calico 的版本号",
    "a release such as 3.20, in quotes": "版本号，例如 3.20，加引号",
    "kind: etcd, or members: 1": "kind: etcd，或 members: 1",
    "--store etcd, or --members 1": "--store etcd，或 --members 1",
    "is not the name of an environment variable": "不是环境变量的名称",
    "letters, digits and _, for example {example}": "字母、数字和 _，例如 {example}",
    "the lab gives each node its own": "由实验环境为每个节点设置",
    "{where} has the same name": "{where} 的名称相同",
    "is kept for a machine of the lab itself: its router, its stores": "留给实验环境自身的机器：路由器、数据存储",
    "the node stands in the rack {rack}, and the lab labels it so": "节点位于机架 {rack}，标签由实验环境设置",
    "leave the label out": "去掉此标签",
    # NICs and bridges
    "it is the node's NIC in the lab's own network, with the addresses of the node": (
        "它是节点在实验环境网络中的网卡，节点的地址就在上面"
    ),
    "is an interface that the node makes itself": "是节点自己创建的网络接口",
    "another address": "换一个地址",
    # networks and addresses
    "an MTU is from {least}, the least that IPv6 allows, to {most}": "MTU 从 {least}（IPv6 的下限）到 {most}",
    "there is no such network in a lab with racks": "有机架的实验环境没有这个网络",
    "there is no such network without racks": "没有机架就没有这个网络",
    "there is no such network": "没有这个网络",
    "add it to networks, with its cidr": "在 networks 中加上它，并写明 cidr",
    "a network of a lab is from /{shortest} to /{longest}": "实验环境的网络从 /{shortest} 到 /{longest}",
    "no machine can have an address there that others reach": "那里的地址无法被其他机器访问",
    "overlaps with {other} ({range})": "与{other}（{range}）重叠",
    "the network {name}": "网络 {name}",
    "the pool": "地址池",
    "a range of its own": "单独的网段",
    "is in no network of the lab, and does not say how large its own is": "不属于任何网络，也没有写明前缀长度",
    "is in no network of the lab, and a network has IPv4, too": "不属于任何网络，而网络还须有 IPv4",
    "add it, with cidr and cidr6, or network: NAME": "加上该网络的 cidr 和 cidr6，或写 network: 名称",
    "{address}, or network: NAME": "{address}，或 network: 名称",
    "neither network nor address says where it leads": "network 和 address 都没有写，不知通向何处",
    "network: NAME": "network: 名称",
    "the lab has no IPv6": "实验环境没有 IPv6",
    "the network {name} has no IPv6": "网络 {name} 没有 IPv6",
    "cidr6 for that network": "为该网络写明 cidr6",
    "is not in the network {name} ({range})": "不在网络 {name}（{range}）中",
    "the network {name} is {range}": "网络 {name} 是 {range}",
    "is the first or the last address of {range}": "是 {range} 的首个或末个地址",
    "one between them": "两者之间的地址",
    "is kept for {taken}": "留给{taken}",
    "the router": "路由器",
    "a member of etcd": "etcd 成员",
    "{node} has the same address": "{node} 的地址相同",
    "the network {name} has no room for {count} nodes": "网络 {name} 容不下 {count} 个节点",
    "a larger one": "更大的网段",
    "networks: [{{name: {name}, {field}: a larger one}}]": "networks: [{{name: {name}, {field}: 更大的网段}}]",
    "more racks, or {rest}": "增加机架，或 {rest}",
    # pools
    "a block of an {family} pool is from /{shortest} to /{longest}": (
        "{family} 地址池的地址块从 /{shortest} 到 /{longest}"
    ),
    "{size} is the default": "默认为 {size}",
    "the pool is smaller than one block of /{size}": "地址池比一个 /{size} 地址块还小",
    "blockSize: {size} or more, or a larger pool": "blockSize: {size} 或更大，或更大的地址池",
    "overlaps the link-local range {range}": "与链路本地网段 {range} 重叠",
    "use a routable range": "使用可路由的网段",
    "has {blocks} blocks of /{size}, one for each of {count} nodes is needed": (
        "有 {blocks} 个 /{size} 地址块，{count} 个节点各需一个"
    ),
    "a larger range, or smaller blocks": "更大的网段，或更小的地址块",
    # what stands around a problem
    "standard input": "标准输入",
    "{flag} {value} is not possible": "{flag} {value} 不可行",
    "the field {name} stands here twice": "字段 {name} 在此出现两次",
    "the field {name} stands there twice in one object": "字段 {name} 在同一对象中出现两次",
    "it is nested too deeply": "嵌套过深",
    "it is nested too deeply, or its aliases unfold without end": "嵌套过深，或别名展开没有尽头",
    "a field's name has to be plain text": "字段名必须是普通文本",
    "<< needs a mapping to take fields from": "<< 需要一个可取字段的映射",
    "check indentation, quotes and colons there": "检查该处的缩进、引号和冒号",
    "check what kind of file it is": "检查文件的类型",
}


def in_chinese(text: str) -> str:
    """The text itself where there is no translation."""
    if text in FORMS:
        return FORMS[text]
    for pattern, chinese in _patterns():
        if found := pattern.fullmatch(text):
            return chinese.format_map({name: in_chinese(value) for name, value in found.groupdict().items()})
    return text


def told_in_chinese(error: TortieError) -> Told:
    """What is neither a file's fault nor a flag's is told as it is."""
    if isinstance(error, Invalid):
        return _invalid(error)
    if not isinstance(error, Unreadable | UsageError):
        return Told(error.what, error.why, error.fix)
    what = f"{_place(error.place)}不是有效的 YAML 或 JSON" if isinstance(error, Unreadable) else in_chinese(error.what)
    return Told(what, in_chinese(error.why), in_chinese(error.fix))


def _invalid(error: Invalid) -> Told:
    first, *others = error.problems
    if others:
        listed = [f"-  {_place(each.place)}{_problem(each)}{_right(each)}" for each in error.problems]
        return Told(f"{_source(error.subject)} 有 {len(error.problems)} 处错误", "\n".join(listed), "逐行修正")
    fix = in_chinese(first.right) if first.right else f"修正 {first.field}"
    return Told(f"{_place(first.place)}{_source(error.subject)} 无效", _problem(first), fix)


def _problem(problem: Problem) -> str:
    return f"字段 {problem.field} = “{problem.value}”有误（{in_chinese(problem.why)}）"


def _right(problem: Problem) -> str:
    return f"；正确写法：{in_chinese(problem.right)}" if problem.right else ""


def _place(place: Place | None) -> str:
    if place is None:
        return ""
    source = _source(place.source)
    return f"{source} 第 {place.line} 行：" if place.line else f"{source}："


def _source(name: str) -> str:
    """A file keeps its name, whatever that looks like."""
    return FORMS.get(name, name)


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Those with values in them; the form with the most words of its own comes first."""
    forms = sorted((form for form in FORMS if "{" in form), key=lambda form: -len(re.sub(r"\{\w+\}", "", form)))
    return tuple((re.compile(_pattern_of(form)), FORMS[form]) for form in forms)


def _pattern_of(form: str) -> str:
    parts = re.split(r"(?<!\{)\{(\w+)\}", form)
    texts = [re.escape(part.replace("{{", "{").replace("}}", "}")) for part in parts[::2]]
    names = [f"(?P<{name}>.+?)" for name in parts[1::2]]
    return "".join(text for pair in zip(texts, [*names, ""], strict=True) for text in pair)
