"""What the lab's commands say, in English and in Chinese. Failures have a catalogue of their own, `failures`."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Language = Literal["en", "zh"]


class Pair(NamedTuple):
    en: str
    zh: str


class Told(NamedTuple):
    """A failure in one language."""

    what: str
    why: str
    fix: str


class Kind(NamedTuple):
    """A failure in both."""

    exit_code: int
    en: Told
    zh: Told


def say(language: Language, key: str, **values: object) -> str:
    pair = TEXTS[key]
    return (pair.zh if language == "zh" else pair.en).format_map(values)


def counted(language: Language, key: str, count: int) -> str:
    """`1 link`, `7 links`; Chinese has one form."""
    return say(language, f"{key}.one" if count == 1 else f"{key}.many", count=count)


TEXTS: Final[dict[str, Pair]] = {
    "status.broken": Pair(
        "broken on purpose: {faults}; `tortie lab heal --name {name}` undoes it",
        "有意注入的故障：{faults}；`tortie lab heal --name {name}` 可撤销",
    ),
    # lab play
    "play.otherwise": Pair(
        "This is not what was to be seen here, so the play ends. Busy machines need longer: try it once more.",
        "这里没有出现应有的结果，演示到此为止。机器繁忙时可能来不及，可以再试一次。",
    ),
    "play.waits": Pair("{what}: {seconds} s of {most} s at most", "{what}：已等 {seconds} 秒，最多 {most} 秒"),
    "play.end": Pair(
        "The end, after {seconds} s; nothing of the lab is left.", "演示结束，用时 {seconds} 秒；实验环境已全部清除。"
    ),
    "play.end.kept": Pair(
        "The end, after {seconds} s; the lab {name} goes on: `tortie lab down --name {name}` ends it.",
        "演示结束，用时 {seconds} 秒；实验环境 {name} 仍在运行，`tortie lab down --name {name}` 可拆除它。",
    ),
    "play.failed": Pair("Ended early, after {seconds} s.", "演示提前结束，用时 {seconds} 秒。"),
    "play.failed.kept": Pair(
        "Ended early, after {seconds} s; the lab {name} goes on: `tortie lab down --name {name}` ends it.",
        "演示提前结束，用时 {seconds} 秒；实验环境 {name} 仍在运行，`tortie lab down --name {name}` 可拆除它。",
    ),
    "play.interrupted": Pair(
        "interrupted: nothing of the lab {name} is left", "已中断：实验环境 {name} 没有留下任何东西"
    ),
    "play.interrupted.kept": Pair(
        "interrupted: the lab {name} goes on: `tortie lab down --name {name}` ends it",
        "已中断：实验环境 {name} 仍在运行，`tortie lab down --name {name}` 可拆除它",
    ),
    # lab up
    "step.fabric": Pair("fabric", "网络"),
    "step.store": Pair("store", "数据存储"),
    "up.node": Pair("{name} {address} ready", "{name} {address} 就绪"),
    "up.nodes": Pair("{count} nodes ready", "{count} 个节点就绪"),
    "up.mesh": Pair("mesh {up}/{expected} established", "BGP 全互联 {up}/{expected} 已建立"),
    "up.sessions": Pair("{up}/{expected} BGP sessions established", "BGP 会话 {up}/{expected} 已建立"),
    "up.added": Pair("added {names}", "已添加 {names}"),
    "up.removed": Pair("removed {names}", "已移除 {names}"),
    "up.rebuilt": Pair("built anew {names}", "已重建 {names}"),
    "up.changed": Pair("changed {names}", "已更改 {names}"),
    "up.started": Pair("started {names}", "已启动 {names}"),
    "up.already": Pair("the lab {name} is already up", "实验环境 {name} 已在运行"),
    "up.seconds": Pair("{seconds} s", "{seconds} 秒"),
    "up.progress": Pair("{ready}/{nodes} nodes ready", "{ready}/{nodes} 个节点就绪"),
    "up.busy": Pair("waiting for another command that works on this lab …", "正在等待操作此实验环境的另一个命令……"),
    "up.undone": Pair("interrupted: nothing of the lab {name} is left", "已中断：实验环境 {name} 没有留下任何东西"),
    "up.halfway": Pair(
        "interrupted: the lab {name} goes on with what was done so far; `tortie lab up --name {name}` finishes it",
        "已中断：实验环境 {name} 以目前已完成的部分继续运行；`tortie lab up --name {name}` 可完成其余部分",
    ),
    "up.missing": Pair("{a} - {b}: {state}", "{a} - {b}：{state}"),
    "up.missing.detail": Pair("{a} - {b}: {state} ({detail})", "{a} - {b}：{state}（{detail}）"),
    "up.missing.more": Pair("and {more} more", "另有 {more} 个"),
    "session.down": Pair("not established", "未建立"),
    "session.one-sided": Pair("established only for {a}", "仅 {a} 一端已建立"),
    "up.kept": Pair("interrupted: the lab {name} goes on as it was", "已中断：实验环境 {name} 保持运行"),
    "up.names.more": Pair("{names} and {more} more", "{names} 等，另有 {more} 个"),
    # lab status
    "head.node": Pair("NODE", "节点"),
    "head.address": Pair("ADDRESS", "地址"),
    "head.rack": Pair("RACK", "机架"),
    "head.phase": Pair("PHASE", "阶段"),
    "head.ready": Pair("READY", "就绪"),
    "head.sessions": Pair("SESSIONS", "会话"),
    "head.routes": Pair("ROUTES", "路由"),
    "head.age": Pair("AGE", "时长"),
    "yes": Pair("yes", "是"),
    "no": Pair("no", "否"),
    "status.reason": Pair("{node}: {what}", "{node}：{what}"),
    "status.fault": Pair("fault: {fault}", "责任方：{fault}"),
    "status.since": Pair("for {time}", "已持续 {time}"),
    "status.signal": Pair("the agent was killed by signal {signal}", "agent 被信号 {signal} 终止"),
    "status.exit": Pair("the agent ended with exit code {code}", "agent 以退出码 {code} 结束"),
    "status.exit.words": Pair(
        "the agent ended with exit code {code}:\n{words}", "agent 以退出码 {code} 结束：\n{words}"
    ),
    "status.never": Pair("the agent has not been started", "agent 尚未启动"),
    "status.silent": Pair("the agent runs as process {pid} and does not answer", "agent 进程 {pid} 在运行，但没有应答"),
    "status.starting": Pair("the agent starts", "agent 正在启动"),
    "status.other.signal": Pair("was killed by signal {signal}", "被信号 {signal} 终止"),
    "status.other.exit": Pair("ended with exit code {code}", "以退出码 {code} 结束"),
    "status.other.never": Pair("has not been started", "尚未启动"),
    "reasons.join": Pair(", ", "，"),
    # lab list
    "head.lab": Pair("LAB", "实验环境"),
    "head.state": Pair("STATE", "状态"),
    "head.nodes": Pair("NODES", "节点数"),
    "head.folder": Pair("FOLDER", "目录"),
    "state.up": Pair("up", "运行中"),
    "state.dead": Pair("dead", "已失效"),
    "state.partial": Pair("partial", "不完整"),
    "list.none": Pair("there are no labs; `tortie lab up` makes one", "没有实验环境；`tortie lab up` 可创建一个"),
    # lab down
    "down.none": Pair("there is no lab {name}", "没有名为 {name} 的实验环境"),
    "down.none.all": Pair("there are no labs", "没有实验环境"),
    "down.gone": Pair("{name} is gone: {counts}; nothing remains", "{name} 已拆除：{counts}；没有残留"),
    "down.busy": Pair("waiting for another command that works on this lab …", "正在等待操作此实验环境的另一个命令……"),
    "count.namespaces.one": Pair("{count} namespace", "{count} 个网络命名空间"),
    "count.namespaces.many": Pair("{count} namespaces", "{count} 个网络命名空间"),
    "count.processes.one": Pair("{count} process", "{count} 个进程"),
    "count.processes.many": Pair("{count} processes", "{count} 个进程"),
    "count.links.one": Pair("{count} link", "{count} 个网络接口"),
    "count.links.many": Pair("{count} links", "{count} 个网络接口"),
    "count.folders.one": Pair("{count} folder", "{count} 个目录"),
    "count.folders.many": Pair("{count} folders", "{count} 个目录"),
    # lab start, stop
    "start.done": Pair("started {machine}, process {pid}", "已启动 {machine}，进程 {pid}"),
    "start.runs": Pair("{machine} runs already, process {pid}", "{machine} 已在运行，进程 {pid}"),
    "start.nothing": Pair("{machine} has nothing to run", "{machine} 没有要运行的程序"),
    "stop.done": Pair("stopped {machine}", "已停止 {machine}"),
    "stop.sent": Pair("sent {signal} to {machine}, process {pid}", "已向 {machine} 的进程 {pid} 发送 {signal}"),
    "stop.idle": Pair("{machine} does not run", "{machine} 没有运行"),
    # lab pod run, list, delete
    "head.name": Pair("NAME", "名称"),
    "head.interface": Pair("INTERFACE", "接口"),
    "head.pods": Pair("PODS", "POD 数"),
    "pod.made": Pair("{name} on {node} {addresses}", "{name} 位于 {node} {addresses}"),
    "pod.made.many": Pair("{count} pods on {nodes} nodes", "{nodes} 个节点上的 {count} 个 pod"),
    "pod.waiting": Pair("waiting for {names}: {why}", "正在等待 {names}：{why}"),
    "pod.already": Pair("{names} there already", "{names} 已存在"),
    "pod.deleted": Pair("deleted {names}", "已删除 {names}"),
    "pod.none": Pair(
        "there are no pods; `tortie lab pod run web-1` makes one", "没有 pod；`tortie lab pod run web-1` 可创建一个"
    ),
    "pod.failed": Pair("{name} on {node}: {why}", "{node} 上的 {name}：{why}"),
    # lab ping
    "ping.from": Pair("FROM", "来源"),
    "ping.all": Pair("{up}/{expected} pairs reach each other", "{up}/{expected} 对可互通"),
    "ping.silent": Pair("no answer within {time}", "{time} 内无应答"),
    "ping.failed": Pair(
        "{source} ({from_node}) -> {target} ({to_node}, {address}): {why}",
        "{source}（{from_node}）-> {target}（{to_node}，{address}）：{why}",
    ),
    # lab evidence
    "evidence.done": Pair(
        "{folder}: {files} files from {nodes}, secrets left out: {redactions}; `tortie doctor {folder}` judges it",
        "{folder}：来自 {nodes} 的 {files} 个文件，已隐去敏感信息 {redactions} 处；`tortie doctor {folder}` 可诊断",
    ),
    "evidence.asking": Pair("asking {count} machines …", "正在询问 {count} 台机器……"),
    # ages
    "age.seconds": Pair("{count}s", "{count}秒"),
    "age.minutes": Pair("{minutes}m{seconds}s", "{minutes}分{seconds}秒"),
    "age.hours": Pair("{hours}h{minutes}m", "{hours}时{minutes}分"),
    "age.days": Pair("{days}d{hours}h", "{days}天{hours}时"),
}
