"""What the commands that break and heal labs say, in English and in Chinese."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Language, Pair


def tell(language: Language, key: str, **values: object) -> str:
    pair = FAULT_TEXTS[key]
    return (pair.zh if language == "zh" else pair.en).format_map(values)


FAULT_TEXTS: Final[dict[str, Pair]] = {
    # lab faults
    "head.fault": Pair("FAULT", "故障"),
    "head.cause": Pair("CAUSE", "根因"),
    "head.decoy": Pair("DECOY", "干扰项"),
    "faults.more": Pair(
        "`tortie lab faults NAME` tells all about one; `tortie lab break NAME` brings it about.",
        "`tortie lab faults 名称` 查看详情；`tortie lab break 名称` 注入该故障。",
    ),
    "one.cause": Pair("Stands for", "对应根因"),
    "one.decoy": Pair("a decoy: harmless, stands for no cause", "干扰项：无害，不对应任何根因"),
    "one.shows": Pair("You will see", "现象"),
    "one.needs": Pair("Needs", "需要"),
    "one.where": Pair("Strikes", "影响"),
    "one.everywhere": Pair("the whole cluster", "整个集群"),
    "one.node": Pair("one node: --node, else by the seed", "一个节点：--node 指定，否则由种子决定"),
    "one.spared": Pair("Tortie's node", "Tortie 节点"),
    "one.spared.yes": Pair("does not fail from it", "不受其影响"),
    "one.incident": Pair("Incident", "事件"),
    "one.active": Pair("Now there", "当前存在于"),
    "one.break": Pair("Break", "注入"),
    # lab break
    "broken": Pair("{fault} on {node}: {summary}", "{node} 上的 {fault}：{summary}"),
    "broken.everywhere": Pair("{fault}: {summary}", "{fault}：{summary}"),
    "broken.shows": Pair("you will see: {shows}", "现象：{shows}"),
    "broken.heal": Pair("`tortie lab heal --name {lab}` undoes it", "`tortie lab heal --name {lab}` 可撤销"),
    "broken.over": Pair("the scenario is over; still there: {ids}", "场景结束；仍存在：{ids}"),
    "broken.over.none": Pair("the scenario is over; everything is healed", "场景结束；全部已恢复"),
    "broken.interrupted": Pair(
        "interrupted; `tortie lab heal --name {lab}` undoes what is there: {ids}",
        "已中断；`tortie lab heal --name {lab}` 可撤销现有故障：{ids}",
    ),
    "progress.proof": Pair("noting how everything is …", "正在记录原状……"),
    "progress.deed": Pair("{fault}: {number}/{of}", "{fault}：{number}/{of}"),
    "progress.undo": Pair("undoing {fault} …", "正在撤销 {fault}……"),
    "progress.restart": Pair("{machine} starts anew …", "{machine} 正在重新启动……"),
    "progress.ready": Pair("waiting for {missing} …", "正在等待 {missing}……"),
    "progress.waiting": Pair("next step in {seconds} s …", "{seconds} 秒后进行下一步……"),
    "progress.busy": Pair(
        "waiting for another command that works on this lab …", "正在等待操作此实验环境的另一个命令……"
    ),
    # lab heal
    "healed": Pair("healed {fault}: {deeds}", "已恢复 {fault}：{deeds}"),
    "healed.short": Pair("healed {fault}", "已恢复 {fault}"),
    "healed.already": Pair("{fault} had been undone by somebody else already", "{fault} 此前已被他人撤销"),
    "healed.deeds.one": Pair("{count} deed undone", "撤销 {count} 项改动"),
    "healed.deeds.many": Pair("{count} deeds undone", "撤销 {count} 项改动"),
    "healed.proven": Pair(
        "all is as before: {machines} machines compared, as ready as they were   {seconds} s",
        "一切如初：已比对 {machines} 台机器，就绪状态与之前一致   {seconds} 秒",
    ),
    "healed.others": Pair("still broken: {ids}", "仍存在的故障：{ids}"),
    "healed.nothing": Pair("nothing is broken in the lab {lab}", "实验环境 {lab} 中没有故障"),
}
