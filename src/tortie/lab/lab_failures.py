"""What can go wrong with a lab as a whole, and with what its commands are told; part of the catalogue in `failures`."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Kind, Told

LAB_FAILURES: Final[dict[str, Kind]] = {
    "bad-name": Kind(
        2,
        Told(
            "'{name}' cannot be the name of a lab",
            "it becomes a folder and is typed often",
            "use at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit",
        ),
        Told(
            "“{name}”不能作实验环境的名称",
            "它会成为目录名，也常要输入",
            "最多 63 个小写字母、数字和 -，首尾须为字母或数字",
        ),
    ),
    "no-folder": Kind(
        1,
        Told("the lab's folder {folder} cannot be made", "{reason}", "name another place: TORTIE_LAB_DIR=/some/folder"),
        Told("无法创建实验环境的目录 {folder}", "{reason}", "另指定位置：TORTIE_LAB_DIR=/某个目录"),
    ),
    "foreign-folder": Kind(
        1,
        Told(
            "{folder} is not a folder of yours",
            "whoever owns it could change what the lab runs",
            "remove it, or name another place: TORTIE_LAB_DIR=/some/folder",
        ),
        Told(
            "{folder} 不是您的目录",
            "其所有者可以改动实验环境运行的内容",
            "删除它，或另指定位置：TORTIE_LAB_DIR=/某个目录",
        ),
    ),
    "busy": Kind(
        1,
        Told(
            "somebody else works on the lab {name}",
            "another `tortie lab up` or `down` has not finished",
            "wait for it, or end it; `fuser -v` on the lab's folder names the process",
        ),
        Told(
            "实验环境 {name} 正被占用",
            "另一个 `tortie lab up` 或 `down` 尚未结束",
            "等它结束，或终止它；对该目录执行 `fuser -v` 可查出进程",
        ),
    ),
    "no-lab": Kind(
        1,
        Told(
            "there is no lab {name}",
            "its folder would be {folder}",
            "tortie lab up --name {name}; `tortie lab list` shows all",
        ),
        Told(
            "没有名为 {name} 的实验环境",
            "它的目录应为 {folder}",
            "tortie lab up --name {name}；`tortie lab list` 可列出全部",
        ),
    ),
    "which-lab": Kind(
        2,
        Told("there are several labs, and none is called {usual}", "there are {names}", "say which: --name {first}"),
        Told("有多个实验环境，且没有名为 {usual} 的", "现有：{names}", "请指明：--name {first}"),
    ),
    "keeper-gone": Kind(
        3,
        Told(
            "the lab {name} is dead",
            "the process that held its machines has ended; its log is {log}",
            "`tortie lab up --name {name}` starts it anew, `tortie lab down --name {name}` removes what is left",
        ),
        Told(
            "实验环境 {name} 已失效",
            "维持各机器的进程已经结束；其日志为 {log}",
            "`tortie lab up --name {name}` 重新启动，`tortie lab down --name {name}` 清除残留",
        ),
    ),
    "coming-up": Kind(
        3,
        Told(
            "the lab {name} is not up yet",
            "somebody brings it up, or takes it down, at this moment",
            "wait for that, and ask again",
        ),
        Told("实验环境 {name} 尚未就绪", "此刻正有命令启动或拆除它", "等待其完成后再试"),
    ),
    "unfinished": Kind(
        3,
        Told(
            "the lab {name} is not built after {seconds} s",
            "what is done: {steps}",
            "it goes on being built: tortie lab status --name {name}; a larger --timeout waits for it",
        ),
        Told(
            "实验环境 {name} 在 {seconds} 秒后仍未建成",
            "已完成：{steps}",
            "仍在继续构建：tortie lab status --name {name}；可用更大的 --timeout 等待",
        ),
    ),
    "keeper-silent": Kind(
        1,
        Told(
            "the keeper of the lab {name} does not answer",
            "process {pid} has said nothing for {seconds} s",
            "look at {log}; `tortie lab down --name {name}` ends it",
        ),
        Told(
            "实验环境 {name} 的管理进程没有应答",
            "进程 {pid} 已 {seconds} 秒无响应",
            "查看 {log}；`tortie lab down --name {name}` 可结束它",
        ),
    ),
    "keeper-ended": Kind(
        1,
        Told(
            "the keeper of the lab {name} ended unexpectedly",
            "{reason}",
            "report this with {log}, if it is not clear why",
        ),
        Told("实验环境 {name} 的管理进程意外结束", "{reason}", "若原因不明，请附上 {log} 报告"),
    ),
    "taken-down": Kind(
        1,
        Told(
            "the lab {name} has been taken down meanwhile", "its keeper was told to end", "tortie lab up --name {name}"
        ),
        Told("实验环境 {name} 在此期间已被拆除", "其管理进程收到了结束的指令", "tortie lab up --name {name}"),
    ),
    "unknown-machine": Kind(
        2,
        Told("the lab {lab} has no machine '{machine}'", "it has {machines}", "use one of these names"),
        Told("实验环境 {lab} 中没有机器“{machine}”", "现有：{machines}", "使用其中之一"),
    ),
    "not-ready": Kind(
        3,
        Told(
            "the lab {name} is not ready after {seconds} s",
            "{reasons}",
            "it stays up, so that you can look: tortie lab status --name {name}, tortie lab logs --name {name} NODE",
        ),
        Told(
            "实验环境 {name} 在 {seconds} 秒后仍未就绪",
            "{reasons}",
            "环境保留，以便查看：tortie lab status --name {name}，tortie lab logs --name {name} 节点",
        ),
    ),
    "cannot-get-ready": Kind(
        3,
        Told(
            "the lab {name} cannot get ready",
            "{reasons}",
            "mend that, then `tortie lab up --name {name}`; the lab stays up: tortie lab logs --name {name} NODE",
        ),
        Told(
            "实验环境 {name} 无法就绪",
            "{reasons}",
            "修正后执行 `tortie lab up --name {name}`；环境保留：tortie lab logs --name {name} 节点",
        ),
    ),
    "sessions-missing": Kind(
        3,
        Told(
            "{missing} of {expected} BGP sessions of the lab {name} are not established after {seconds} s",
            "{sessions}",
            "all nodes are ready, and the lab stays up: tortie lab graph --name {name}, "
            "tortie lab exec --name {name} NODE -- tortie node status",
        ),
        Told(
            "实验环境 {name} 的 {expected} 个 BGP 会话中有 {missing} 个在 {seconds} 秒后仍未建立",
            "{sessions}",
            "所有节点均已就绪，环境保留：tortie lab graph --name {name}，"
            "tortie lab exec --name {name} 节点 -- tortie node status",
        ),
    ),
    "no-program": Kind(
        1,
        Told("{program} is not installed", "this lab needs it: {purpose}", "apt-get install {package}"),
        Told("未安装 {program}", "此实验环境需要它：{purpose}", "apt-get install {package}"),
    ),
    "store-ended": Kind(
        1,
        Told("etcd on {machine} ended while it started", "{reason}", "look at its log: {log}"),
        Told("{machine} 上的 etcd 在启动时退出", "{reason}", "查看其日志：{log}"),
    ),
    "store-slow": Kind(
        1,
        Told(
            "the lab's store did not get ready within {seconds} s",
            "{reason}",
            "look at the load of this machine, and at {log}",
        ),
        Told("实验环境的数据存储未能在 {seconds} 秒内就绪", "{reason}", "查看本机负载以及 {log}"),
    ),
    "remains": Kind(
        1,
        Told(
            "something of the lab {name} remains",
            "{what}",
            "end or remove it by hand, then `tortie lab down --name {name}` again",
        ),
        Told("实验环境 {name} 仍有残留", "{what}", "手动结束或删除后，再次执行 `tortie lab down --name {name}`"),
    ),
    "bad-number": Kind(
        2,
        Told("{flag} {text}: this cannot be meant", "it is no number of that kind", "for example {example}"),
        Told("{flag} {text}：无法理解", "这不是此处可用的数值", "例如 {example}"),
    ),
    "no-json-follow": Kind(
        2,
        Told("-o json and --follow together", "a document that never ends is none", "leave one of them out"),
        Told("-o json 与 --follow 不能同时使用", "没有结尾的文档不成其为文档", "去掉其中之一"),
    ),
    "bad-choice": Kind(
        2,
        Told("{flag} {text}: there is no such choice", "there are {choices}", "use one of them"),
        Told("{flag} {text}：没有这个选项", "可选：{choices}", "使用其中之一"),
    ),
    "file-and-flags": Kind(
        2,
        Told(
            "both a topology file and {flag} were given",
            "the file says it all",
            "leave out -f, or write it into the file",
        ),
        Told("同时给出了拓扑文件和 {flag}", "文件已说明全部内容", "去掉 -f，或写入文件"),
    ),
    "faults-active": Kind(
        1,
        Told(
            "the lab {name} is broken on purpose: {faults}",
            "what is changed now would be mixed with what has to be undone",
            "tortie lab heal --name {name}, then up again",
        ),
        Told(
            "实验环境 {name} 有注入的故障：{faults}",
            "此时再做更改，会与需要撤销的改动混在一起",
            "先 tortie lab heal --name {name}，再 up",
        ),
    ),
    "unknown-program": Kind(
        2,
        Told("a node runs no '{program}'", "there are {programs}", "name one of these"),
        Told("节点上没有“{program}”", "现有：{programs}", "请用其中之一"),
    ),
    "unknown-unit": Kind(
        1,
        Told(
            "{machine} has no unit '{unit}'",
            "nodes of a lab with kubelets have kubelet and containerd",
            "tortie lab up --kubelet",
        ),
        Told(
            "{machine} 没有单元“{unit}”",
            "带 kubelet 的实验环境，其节点有 kubelet 和 containerd",
            "tortie lab up --kubelet",
        ),
    ),
    "unreadable": Kind(
        2,
        Told("{path} cannot be read", "{reason}", "check the path"),
        Told("无法读取 {path}", "{reason}", "检查路径"),
    ),
    "no-command": Kind(
        2,
        Told(
            "no command was given",
            "`tortie lab exec` needs to know what to run",
            "tortie lab exec {machine} -- ip addr",
        ),
        Told("没有给出命令", "`tortie lab exec` 需要知道要运行什么", "tortie lab exec {machine} -- ip addr"),
    ),
    "not-executable": Kind(
        1,
        Told(
            "'{program}' cannot be run in {machine}",
            "{reason}",
            "look at PATH in there: tortie lab exec {machine} -- env",
        ),
        Told("无法在 {machine} 中运行“{program}”", "{reason}", "查看其中的 PATH：tortie lab exec {machine} -- env"),
    ),
    "does-not-end": Kind(
        1,
        Told(
            "{machine} goes on after {seconds} s",
            "signal {signal} was sent to process {pid}, which has not ended",
            "tortie lab stop {machine} --signal KILL",
        ),
        Told(
            "{machine} 在 {seconds} 秒后仍在运行",
            "已向进程 {pid} 发送信号 {signal}，但它没有结束",
            "tortie lab stop {machine} --signal KILL",
        ),
    ),
    "no-log": Kind(
        1,
        Told("{machine} has no log yet", "nothing has been started there", "tortie lab start {machine}"),
        Told("{machine} 还没有日志", "那里尚未启动任何进程", "tortie lab start {machine}"),
    ),
}
