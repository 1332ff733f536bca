"""What can go wrong with the pods of a lab; part of the catalogue in `failures`."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Kind, Told

POD_FAILURES: Final[dict[str, Kind]] = {
    "bad-pod-name": Kind(
        2,
        Told(
            "'{name}' cannot be the name of a pod",
            "it is a host's name, too",
            "use at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit; "
            "another namespace is written as other/web-1",
        ),
        Told(
            "“{name}”不能作 pod 的名称",
            "它同时是主机名",
            "最多 63 个小写字母、数字和 -，首尾须为字母或数字；其他命名空间写作 other/web-1",
        ),
    ),
    "unknown-pod": Kind(
        2,
        Told("the lab {lab} has no pod '{pod}'", "it has {pods}", "use one of these names: tortie lab pod list"),
        Told("实验环境 {lab} 中没有 pod“{pod}”", "现有：{pods}", "使用其中之一：tortie lab pod list"),
    ),
    "not-a-node": Kind(
        2,
        Told("{machine} is no node", "pods run on nodes, and there are {nodes}", "use one of them: --node {first}"),
        Told("{machine} 不是节点", "pod 只在节点上运行，现有：{nodes}", "使用其中之一：--node {first}"),
    ),
    "pod-busy": Kind(
        1,
        Told("somebody else works on the pod {pod}", "its state is {state}", "wait for that: tortie lab pod list"),
        Told("pod {pod} 正被占用", "其状态为 {state}", "等待其完成：tortie lab pod list"),
    ),
    "pod-elsewhere": Kind(
        1,
        Told(
            "the pod {pod} is on {node}, not on {wanted}",
            "a pod does not move",
            "tortie lab pod delete {pod}, then run it again; or choose another name",
        ),
        Told(
            "pod {pod} 在 {node} 上，不在 {wanted} 上",
            "pod 不会迁移",
            "先 tortie lab pod delete {pod}，再重新运行；或另选名称",
        ),
    ),
    "pods-failed": Kind(
        1,
        Told(
            "{failed} of {count} pods got no network within {seconds} s",
            "{reasons}",
            "look at the node: tortie lab status --name {name}, tortie lab logs --name {name} {node}",
        ),
        Told(
            "{count} 个 pod 中有 {failed} 个在 {seconds} 秒内未获得网络",
            "{reasons}",
            "查看节点：tortie lab status --name {name}，tortie lab logs --name {name} {node}",
        ),
    ),
    "pods-stay": Kind(
        1,
        Told(
            "{failed} of {count} pods could not be deleted within {seconds} s",
            "{reasons}",
            "they stay as they are; look at the node: tortie lab logs --name {name} {node}",
        ),
        Told(
            "{count} 个 pod 中有 {failed} 个未能在 {seconds} 秒内删除",
            "{reasons}",
            "它们保持原状；查看节点：tortie lab logs --name {name} {node}",
        ),
    ),
    "no-pods": Kind(
        1,
        Told(
            "the lab {lab} has {count} pods with an address",
            "it takes two to reach each other",
            "tortie lab pod run --name {lab} web --count 3",
        ),
        Told(
            "实验环境 {lab} 中有地址的 pod 数为 {count}",
            "至少需要两个才能互通",
            "tortie lab pod run --name {lab} web --count 3",
        ),
    ),
    "names-or-all": Kind(
        2,
        Told(
            "either names of pods or --all",
            "one of the two says which pods are meant",
            "tortie lab pod delete web-1, or tortie lab pod delete --all",
        ),
        Told(
            "pod 名称与 --all 二者选一",
            "须由其中之一指明哪些 pod",
            "tortie lab pod delete web-1，或 tortie lab pod delete --all",
        ),
    ),
    "pairs-fail": Kind(
        3,
        Told(
            "{failed} of {count} pairs do not reach each other",
            "{reasons}",
            "ask a node how it is: tortie lab status --name {name}, "
            "tortie lab exec --name {name} {node} -- tortie node status",
        ),
        Told(
            "{count} 对中有 {failed} 对不能互通",
            "{reasons}",
            "查看节点状态：tortie lab status --name {name}，tortie lab exec --name {name} {node} -- tortie node status",
        ),
    ),
}
