"""The fixed words of an answer, in both languages."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.words import Language, Words

LABELS: Final = {
    "cause-found": Words("Cause found", "已找到原因"),
    "healthy": Words("Healthy", "健康"),
    "undetermined": Words("Undetermined", "尚无法确定"),
    "sure": Words("confidence {number} ({words})", "置信度 {number}（{words}）"),
    "severity": Words("severity", "严重程度"),
    "critical": Words("critical", "致命"),
    "high": Words("high", "高"),
    "medium": Words("medium", "中"),
    "low": Words("low", "低"),
    "objects": Words("On", "对象"),
    "since": Words("Since", "起始"),
    "lasting": Words("For", "持续"),
    "what": Words("What it is", "说明"),
    "why": Words("Why", "依据"),
    "also": Words("A second cause, independent of the first", "另有一个独立的原因"),
    "symptoms": Words("What is seen", "现象"),
    "explained-all": Words("What it explains", "可由此解释的现象"),
    "open-all": Words("Not explained by it", "无法由此解释的现象"),
    "over-all": Words("Over by now", "已恢复的现象"),
    "explained": Words("consequence", "由此引起"),
    "over": Words("over", "已过去"),
    "open": Words("not explained", "尚未解释"),
    "ruled-out": Words("Ruled out", "已排除"),
    "fix": Words("Fix", "修复"),
    "safe": Words("safe", "安全"),
    "disruptive": Words("disruptive", "有影响"),
    "verify": Words("Verify", "验证"),
    "prevent": Words("Prevent", "预防"),
    "rule": Words("rule", "判据"),
    "hole": Words("{hole} is left open: {why}", "{hole} 需自行填写：{why}"),
    "refused": Words(
        "“{value}” in the evidence is not a valid {kind}, so it is not put into a command",
        "证据中的“{value}”不是合法的{kind}，不会写进命令",
    ),
    "not-named": Words("the evidence does not name the {kind}", "证据中没有给出{kind}"),
    "unrelated": Words("Unrelated, but worth fixing", "与本次故障无关，但值得修复"),
    "candidates": Words("Candidates, most probable first", "候选原因（按可能性排序）"),
    "next": Words("Run this next", "下一步请执行"),
    "checked": Words("Checked", "已检查"),
    "normal": Words("Looks odd, is normal", "看似异常，实属正常"),
    "unexplained": Words("Unexplained, the worst first", "无法解释的内容（最严重的在前）"),
    "look": Words("look at", "排查方向"),
    "covers": Words("This covers", "结论覆盖"),
    "not-shown": Words("Not shown, so nothing is said of it", "未提供，不作判断"),
    "evidence": Words("Evidence", "证据"),
    "not-understood": Words("Not understood", "未能识别"),
    "skipped": Words("Not read", "未读取"),
    "lines": Words("lines: {count}", "{count} 行"),
    "nothing": Words("Nothing is wrong now.", "目前没有发现问题。"),
    "no-claim": Words(
        "The evidence does not suffice to name one cause.",
        "现有证据不足以确定唯一的原因。",
    ),
    "no-evidence": Words(
        "Nothing in it could be read as evidence of a cluster.",
        "其中没有可识别的集群证据。",
    ),
    "report": Words("Tortie's diagnosis", "Tortie 诊断报告"),
    "colon": Words(": ", "："),
    "comma": Words(", ", "、"),
    "gap": Words(" ", ""),  # between two sentences
    "semicolon": Words("; ", "；"),
    "where": Words("Where", "位置"),
    "if-still": Words("If something still fails", "如仍有异常"),
    "first-candidate": Words("First candidate", "首要怀疑"),
    "open-line": Words("Not explained", "尚未解释"),
    "more": Words("{count} more", "另有 {count} 处"),
    "none": Words("none", "无"),
    "timeline": Words("Timeline", "时间线"),
    "topology": Words("Topology", "拓扑"),
    "leads-to": Words("and from that follows", "由此导致"),
    "about": Words("The causes named here", "本页提到的原因"),
    "inputs": Words("What was read", "已读取的输入"),
    "one-input": Words("1 input", "1 个输入"),
    "inputs-read": Words("{count} inputs", "{count} 个输入"),
    "more-inputs": Words("and {count} more", "另有 {count} 个"),
    "copy": Words("Copy", "复制"),
    "copied": Words("Copied", "已复制"),
    "window": Words("The start against the liveness window", "启动过程与存活探测窗口"),
}


# How sure a number is, in words; docs/explanation/judgement.md says how the numbers are held against cases.
_SURE: Final = (
    (0.95, Words("proven", "已证实")),
    (0.9, Words("well supported", "证据充分")),
    (0.8, Words("likely", "很可能")),
    (0.4, Words("possible", "有可能")),
    (0.0, Words("only a hint", "仅为线索")),
)


_LASTING: Final = lazily(r"\d+[dhms]")
_ZH_UNITS: Final = {"d": "天", "h": "小时", "m": "分钟", "s": "秒"}


def sure_label(confidence: float, language: Language) -> str:
    words = next(words for least, words in _SURE if confidence >= least)
    return label("sure", language, number=f"{confidence:.2f}", words=words.to(language))


def since_label(since: str, language: str) -> str:
    """What stands before a symptom's `since`: it is a time, or how long it has lasted (6d2h)."""
    return label("lasting" if _LASTING.match(since) else "since", language)


def since_words(since: str, language: str) -> str:
    """How long it has lasted in the reader's units; kubectl's own (6d2h) are English."""
    if language != "zh" or not _LASTING.match(since):
        return since
    lasting, _, times = since.partition(" ")
    spelled = " ".join(f"{number} {_ZH_UNITS[unit]}" for number, unit in re.findall(r"(\d+)([dhms])", lasting))
    return spelled + (f"（{times.strip('(x)')} 次）" if times else "")


def label(key: str, language: str, **values: object) -> str:
    words = LABELS[key]
    text = words.zh if language == "zh" else words.en
    return text.format(**values) if values else text
