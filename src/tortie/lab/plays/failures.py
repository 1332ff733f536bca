"""What can go wrong with a play, told in English and in Chinese."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Kind, Told

_UNWRITABLE: Final = (
    Told("the recording {path} cannot be written", "{reason}", "give a file in a folder that exists with --record"),
    Told("无法写入录像文件 {path}", "{reason}", "用 --record 指定一个现有目录中的文件"),
)

PLAY_FAILURES: Final = {
    "unknown-play": Kind(
        2,
        Told("there is no play '{play}'", "`tortie lab play` lists them", "did you mean {near}?"),
        Told("没有名为“{play}”的演示", "`tortie lab play` 可列出全部", "是否想写 {near}？"),
    ),
    "play-busy": Kind(
        1,
        Told(
            "there is a lab {name} already",
            "a play has a lab of its own, and takes it down at the end",
            "tortie lab down --name {name}, or give another name with --name",
        ),
        Told(
            "已有名为 {name} 的实验环境",
            "演示使用自己的实验环境，结束时会拆除它",
            "tortie lab down --name {name}，或用 --name 另取名称",
        ),
    ),
    "no-place-for-cast": Kind(2, *_UNWRITABLE),  # before anything is done
    "unwritable-cast": Kind(1, *_UNWRITABLE),  # when all is done
}
