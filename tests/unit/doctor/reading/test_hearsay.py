"""What is only spoken of is no observation; a plain quote of what was seen is one."""

from __future__ import annotations

import pytest

from tortie.doctor.picture.facts import Statement
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.shares import understood

SWAP = "running with swap on is not supported"
FULL = "nf_conntrack: table full, dropping packet"
FORMAT = "exec format error"


def signs(text: str) -> set[str]:
    return {hit.sign for hit in understood(Source("x", tuple(text.splitlines()))).hits}


def kinds(text: str) -> set[str]:
    facts = understood(Source("x", tuple(text.splitlines()))).facts
    return {fact.kind for fact in facts if isinstance(fact, Statement)}


@pytest.mark.parametrize(
    "text",
    [
        f'If you see "{FULL}" in dmesg, raise the limit.',
        f'Please look at the node. When you get\n"{FULL}" you should raise the limit.',
        f"In case of {FORMAT} check the architecture of the image, please.",
        f"若内核出现 {FULL}，调大上限",
        f"如果日志里有 “{SWAP}”，就关掉 swap",
        f'Our pod is 0/1. It is not swap: kubelet does not log "{SWAP}" at all.',
        f'We looked, there is no "{FULL}" on this node.',
        f"dmesg 里没有 “{FULL}”，内存也够。",
        f"并没有出现 {FULL}，请帮忙看看",
        f'The message "{FULL}" does not appear on any of our nodes.',
        f'Messages of that kind ("{FULL}") do not appear in dmesg.',
        f'What does "{FORMAT}" mean? I am only curious.',
        f"“{FORMAT}” 是什么意思？",
        f'The runbook lists these: "{FORMAT}" -> wrong image; "{FULL}" -> raise the limit. Which one is it?',
        f"网上博客说：\n“原因是 {FULL}，调大即可”\n我这里还没看。",
        f"Last week we had {FULL} on w4, that was fixed by a larger table.",
        f"上周 w4 报 {FULL}，已经处理。",
        f"Docs example:\n```\nstandard_init_linux.go:228: exec user process caused: {FORMAT}\n```\nWe have none.",
        f"示例：\n```\n[12.3] {FULL}\n```",
        f"建议（尚未执行）：\n1) 处理 {FULL}\n2) 重启\n",
        f'groups:\n- rules:\n  - alert: Full\n    expr: sum(x) > 0\n    annotations:\n      summary: "{FULL}"\n',
        f'The query is\n\ncount_over_time({{job="kern"}} |= "{FULL}" [5m]) > 0\n',
    ],
)
def test_hearsay_is_no_observation(text: str) -> None:
    assert not signs(text)


@pytest.mark.parametrize(
    "text",
    [
        f"The kernel of w4 says: {FULL}, and then everything is slow.",
        f'We see "{FULL}" all the time.',
        f"报错如下：{FULL}",
        f"节点不是 Ready，dmesg 一直报 {FULL}",
        f"kubelet 没有起来，日志是 {SWAP}",
        f"The node is not ready because kubelet says {SWAP}.",
        f"I followed the docs and now I get {FORMAT} from every pod.",
        f"The docs say that it works on arm64, but our pods end with {FORMAT}.",
        f"按照文档部署之后，报错 {FORMAT}",
        f"If I start the pod by hand, the log says {FORMAT} as well.",
        f"如果手动启动，就会报 {FORMAT}",
        f"Is this normal? {FULL} is in dmesg of all our nodes.",
        f"Last week w4 had {FULL}, we fixed it, and today it is there again.",
        f"之前报 {FULL}，重启恢复了，现在又出现",
        f"I found this GitHub issue, but no answer in it. Our log:\n```\n[12.3] {FULL}\n```",
        f"网上说要查内核,于是查了一下:\n[root@w4 ~]# dmesg | tail -1\n[12.3] {FULL}\n",
        f'If you see "{FULL}" raise the limit, they told us. We do see {FULL} on w4.',
    ],
)
def test_a_quote_of_what_was_seen_stays(text: str) -> None:
    assert signs(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("load-high", "The wiki says that the load is very high in such cases."),
        ("swap-on", "上周 w4 的 swap 没关，已经处理了。"),
    ],
)
def test_statements_of_others_and_of_the_past(kind: str, text: str) -> None:
    assert kind not in kinds(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("pods-stuck", "New pods are stuck in ContainerCreating on w4."),
        ("pods-stuck", "Since noon all pods stay in ContainerCreating forever."),
        ("pods-stuck", "新建的 Pod 一直 ContainerCreating"),
        ("pods-stuck", "w4 上新建 pod 都卡在 ContainerCreating"),
        ("network-dead", "h3 上的 Pod 全部不通"),
        ("network-dead", "w7 的容器全都不通。"),
        ("network-lost-sometimes", "每隔几分钟网络断一次"),
        ("network-lost-sometimes", "隔十几分钟就会断一下"),
        ("network-lost-sometimes", "The network drops every few minutes."),
    ],
)
def test_complaints_about_pods(kind: str, text: str) -> None:
    assert kind in kinds(text)


@pytest.mark.parametrize(
    "text",
    ["No pod is stuck in ContainerCreating.", "新建 pod 没有卡在 ContainerCreating", "We restart it every few days."],
)
def test_no_complaint(text: str) -> None:
    assert not kinds(text) & {"pods-stuck", "network-lost-sometimes", "network-dead"}
