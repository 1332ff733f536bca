"""The words of the pictures, in English and in Chinese."""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie.lab.graph.picture import Counts, LabView, Link, Overall, Role, SessionState, Standing, count, is_full_mesh


class Words(NamedTuple):
    lang: str
    lab: str
    nodes_ready: str
    no_nodes: str
    full_mesh: str
    mesh: str
    peerings: str
    no_sessions: str
    overall: dict[Overall, str]
    standing: dict[Standing, str]
    state: dict[SessionState, str]
    role: dict[Role, str]
    phase: dict[str, str]  # in English they are told as the agent names them
    only_sees: str
    and_more: str
    in_words: str
    row_sees_column: str
    troubles: str
    between: str
    comma: str


_ENGLISH: Final = Words(
    lang="en",
    lab="Lab {name}",
    nodes_ready="{ready} of {nodes} nodes ready",
    no_nodes="no nodes",
    full_mesh="full mesh: {up} of {total} sessions up",
    mesh="mesh: {up} of {total} sessions up",
    peerings="peerings: {up} of {total} sessions up",
    no_sessions="no sessions",
    overall={"good": "healthy", "starting": "starting", "bad": "unhealthy"},
    standing={"ready": "ready", "not-ready": "not ready", "starting": "starting", "unknown": ""},
    state={"up": "up", "one-sided": "one-sided", "down": "down"},
    role={"node": "node", "store": "store", "router": "router", "peer": "outside"},
    phase={},
    only_sees="only {a} sees it",
    and_more="… and {more} more",
    in_words="{what}: {why}",
    row_sees_column="who (row) sees whom (column)",
    troubles="What is not right",
    between="{a} – {b}",
    comma=", ",
)

_CHINESE: Final = Words(
    lang="zh",
    lab="实验环境 {name}",
    nodes_ready="{ready}/{nodes} 个节点就绪",
    no_nodes="没有节点",
    full_mesh="全互联：{up}/{total} 个会话已建立",
    mesh="互联：{up}/{total} 个会话已建立",
    peerings="对等会话：{up}/{total} 个已建立",
    no_sessions="没有会话",
    overall={"good": "正常", "starting": "启动中", "bad": "异常"},
    standing={"ready": "就绪", "not-ready": "未就绪", "starting": "启动中", "unknown": ""},
    state={"up": "已建立", "one-sided": "单向", "down": "未建立"},
    role={"node": "节点", "store": "存储", "router": "路由器", "peer": "外部"},
    phase={
        "running": "运行中",
        "settings": "读取设置",
        "name": "确定名称",
        "datastore": "读取数据存储",
        "address": "选择地址",
        "conflicts": "检查地址冲突",
        "register": "登记节点",
        "files": "写入文件",
        "starting": "启动中",
        "stopped": "已停止",
        "silent": "没有应答",
    },
    only_sees="只有 {a} 认为已建立",
    and_more="……还有 {more} 项",
    in_words="{what}：{why}",
    row_sees_column="谁（行）能看到谁（列）",
    troubles="有问题的地方",
    between="{a} – {b}",
    comma="，",
)


def words_of(language: str) -> Words:
    return _CHINESE if language.partition("-")[0] == "zh" else _ENGLISH


def nodes_told(words: Words, counts: Counts) -> str:
    return words.nodes_ready.format(ready=counts.ready, nodes=counts.nodes) if counts.nodes else words.no_nodes


def sessions_told(words: Words, view: LabView) -> tuple[str, ...]:
    """A sentence on the mesh, and one on what was peered besides."""
    if not view.sessions:
        return (words.no_sessions,)
    mesh = view._replace(sessions=tuple(each for each in view.sessions if each.kind == "mesh"))
    rest = view._replace(sessions=tuple(each for each in view.sessions if each.kind != "mesh"))
    told = ((words.full_mesh if is_full_mesh(view) else words.mesh, count(mesh)), (words.peerings, count(rest)))
    return tuple(sentence.format(up=each.up, total=each.sessions) for sentence, each in told if each.sessions)


def phase_told(words: Words, phase: str) -> str:
    return words.phase.get(phase, phase)


def link_told(words: Words, link: Link) -> str:
    """A link in words, with both its ends."""
    only = words.only_sees.format(a=link.a) if link.state == "one-sided" else ""
    between = words.between.format(a=link.a, b=link.b)
    return words.in_words.format(what=between, why=listed(words, words.state[link.state], only, link.detail))


def listed(words: Words, *parts: str) -> str:
    return words.comma.join(part for part in parts if part)
