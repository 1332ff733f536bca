"""What is said about single deeds, in English and in Chinese: what they are about, why one is not done, what is left of
one that was undone. Part of the catalogue in `tortie.lab.failures`.
"""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Pair

FAULT_PHRASES: Final[dict[str, Pair]] = {
    "at": Pair("{where}: {what}", "{where}：{what}"),
    "more": Pair("… {count} more", "……另有 {count} 项"),
    "nothing": Pair("nothing", "无"),
    # what deeds are about
    "link": Pair("link {link}", "网络接口 {link}"),
    "bridge": Pair("bridge {link}", "网桥 {link}"),
    "address": Pair("address {address}", "地址 {address}"),
    "sysctl": Pair("sysctl {key}", "内核参数 {key}"),
    "table": Pair("table {table}", "nft 表 {table}"),
    "mount": Pair("mount", "挂载"),
    "process": Pair("process {name}", "进程 {name}"),
    "program": Pair("program {program}", "程序 {program}"),
    "signal": Pair("signal {signal}", "信号 {signal}"),
    "cpu-limit": Pair("CPU limit", "CPU 限额"),
    "variable": Pair("variable {variable}", "环境变量 {variable}"),
    "machine-itself": Pair("the machine itself", "机器本身"),
    "pods": Pair("pods {prefix}", "名称以 {prefix} 开头的 pod"),
    "deed": Pair("{deed}", "改动 {deed}"),
    # why one is not done
    "no-file": Pair("there is no such file", "没有这个文件"),
    "no-folder": Pair("there is no such folder", "没有这个目录"),
    "no-link": Pair("there is no such link", "没有这个网络接口"),
    "no-link-named": Pair("there is no link {link}", "没有网络接口 {link}"),
    "no-setting": Pair("there is no such setting, or it cannot be read", "没有这个参数，或无法读取"),
    "no-resource": Pair("there is no such resource", "没有这个资源"),
    "no-plain-file": Pair("it is no plain file, and could not be put back", "不是普通文件，之后无法放回"),
    "no-own-mounts": Pair("it has no mounts of its own yet", "它还没有自己的挂载"),
    "no-control-group": Pair("this machine lets us make no control group for it", "本机不允许为此创建控制组"),
    "link-taken": Pair("there is a link of that name", "已有同名的网络接口"),
    "link-lost": Pair("it is gone; `tortie lab up` makes it anew", "它已不存在；`tortie lab up` 可重建"),
    "address-taken": Pair("{link} has it already", "{link} 上已有此地址"),
    "address-not-there": Pair("{link} does not have it", "{link} 上没有此地址"),
    "pod-taken": Pair("there is one of that name: {pod}", "已有同名的 pod：{pod}"),
    "not-running-there": Pair("{program} does not run there", "{program} 没有在那里运行"),
    "too-many-bytes": Pair(
        "{size} bytes are too many to be kept; at most {most} are", "{size} 字节太大，无法留存；最多 {most} 字节"
    ),
    "too-much-for-disk": Pair("{size} MiB in it are too much for a small disk", "其中有 {size} MiB，小磁盘容纳不下"),
    # why one failed
    "program-endless": Pair("{command}: no end after {seconds} s", "{command}：{seconds} 秒后仍未结束"),
    "program-failed": Pair("{command}: exit code {code}", "{command}：退出码 {code}"),
    "makes-faults": Pair("faults are made with it", "注入故障时要用它"),
    # what is left of one
    "still-there": Pair("{what} is still there", "{what} 仍然存在"),
    "gone": Pair("{what} is gone", "{what} 已不存在"),
    "changed": Pair("{what} is not as it was", "{what} 未恢复原状"),
    "not-back": Pair("{what} is not back", "{what} 尚未放回"),
    "moved": Pair("{what} was moved, and lies in {folder}", "{what} 已被移走，现位于 {folder}"),
    "covered": Pair("{path} is still covered", "{path} 仍被遮盖"),
    "small-disk": Pair("the small disk is still at {path}", "小磁盘仍挂载在 {path}"),
    "read-only": Pair("{path} is still read-only", "{path} 仍为只读"),
    "still-has": Pair("{link} still has {address}", "{link} 上仍有 {address}"),
    "is-instead": Pair("{what} is {now} instead of {before}", "{what} 为 {now}，原为 {before}"),
    "still-runs": Pair("{what} still runs", "{what} 仍在运行"),
    "not-running": Pair("{program} does not run", "{program} 没有运行"),
    "stopped": Pair("{program} (process {pid}) is still stopped", "{program}（进程 {pid}）仍处于停止状态"),
    "limited": Pair("its CPU is still limited to {percent} %", "CPU 仍被限制为 {percent} %"),
    "still-changed": Pair("{variable} is still changed", "{variable} 仍未改回"),
    "halted": Pair("{machine} is still halted", "{machine} 仍处于停机状态"),
    "pods-left": Pair("pods are still there: {pods}", "仍有 pod：{pods}"),
    # how a machine differs from what it was; parts of it
    "instead": Pair("{what}: {now} instead of {before}", "{what}：现为 {now}，原为 {before}"),
    "missing": Pair("{what}: {item} is missing", "{what}：缺少 {item}"),
    "new": Pair("{what}: {item} is new", "{what}：多出 {item}"),
    "of": Pair("{whole} {part}", "{whole} {part}"),
    "part.links": Pair("links", "网络接口"),
    "part.routes": Pair("routes", "路由"),
    "part.rules": Pair("rules", "路由规则"),
    "part.tables": Pair("tables", "nft 表"),
    "part.settings": Pair("settings", "内核参数"),
    "part.mounts": Pair("mounts", "挂载"),
    "part.keeper": Pair("keeper", "管理进程"),
    "part.helpers": Pair("helpers", "辅助进程"),
    "part.up": Pair("up", "启用状态"),
    "part.mtu": Pair("mtu", "MTU"),
    "part.addresses": Pair("addresses", "地址"),
    "part.neighbours": Pair("neighbours", "邻居"),
}
