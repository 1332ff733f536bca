"""What can go wrong when evidence is collected, in both languages."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Kind, Told

EVIDENCE_FAILURES: Final[dict[str, Kind]] = {
    "evidence-nowhere": Kind(
        2,
        Told(
            "it is not said where the evidence shall go",
            "-o names a folder that is made for it",
            "tortie lab evidence -o bundle/; -o - prints it all as one text",
        ),
        Told(
            "没有指定存放证据的位置",
            "-o 给出一个将要创建的目录",
            "tortie lab evidence -o bundle/；-o - 则全部输出为一份文本",
        ),
    ),
    "evidence-mixed": Kind(
        2,
        Told("{folder} is not empty", "two moments would mix in it", "name a new folder, or empty this one"),
        Told("{folder} 不是空目录", "两个时刻的证据会混在一起", "换一个新目录，或先清空它"),
    ),
    "evidence-unwritten": Kind(
        1,
        Told("{path} cannot be written", "{reason}", "name another folder with -o"),
        Told("无法写入 {path}", "{reason}", "用 -o 指定另一个目录"),
    ),
}
