"""The pages about the eight incidents, docs/incidents/: what happened, the play as it went, and how to see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tortie.lab.faults.catalogue import fault_named
from tortie.lab.plays.catalogue import PLAYS
from tortie.lab.plays.play import Play
from tortie.lab.plays.recording import Recording
from tortie.lab.words import Language, Pair

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

_INDEX: Final = Pair("The eight incidents", "八个事件")
_INTRODUCTION: Final = Pair(
    "Eight times somebody's Calico did not start, or started wrong; each of them told here by a lab that breaks in the "
    "same way. Everything on these pages was recorded: real processes, real messages. Times are a tenth of those of "
    "a real cluster. `make casts` records it again.",
    "八次真实的 Calico 启动失败或启动出错，这里用以同样方式出错的实验环境逐一重现。页面上的内容都是实际录制的："
    "真实的进程，真实的报错；时间是真实集群的十分之一。`make casts` 可以重新录制。",
)
_ANSWER: Final = Pair("Cause", "原因")
_SPARED: Final = Pair("Tortie's own node", "Tortie 自己的节点")
_HOLDS: Final = Pair("not affected, shown at the end", "不受影响，片尾有演示")
_SHARES: Final = Pair("affected as well: it begins below the node", "同样受影响：问题在节点之下")
_INCIDENT: Final = Pair("Incident", "事件")
_SEE: Final = Pair("See it on your own machine", "在自己的机器上看一遍")
_RECORDED: Final = Pair("What was recorded", "录制的过程")
_AS_TEXT: Final = Pair("The same as text", "文字版")
_PLAYER: Final = Pair("Recording for asciinema", "asciinema 录像")
_OTHER: Final = Pair("中文", "English")
_WHY: Final = Pair("Why it happens", "为什么会这样")
_LESSON: Final = Pair("What to learn from it", "经验教训")
_ALL: Final = Pair("All eight", "全部八个")


def file_of(name: str, language: Language) -> str:
    return f"{name}.zh.md" if language == "zh" else f"{name}.md"


def pages(recordings: Mapping[tuple[str, Language], Recording]) -> dict[str, str]:
    """Everything below docs/incidents/: text by path. Plays without a recording have no page."""
    texts = {}
    for language in LANGUAGES:
        texts[file_of("README", language)] = _index(
            language, {name for name, spoken in recordings if spoken == language}
        )
        for play in PLAYS:
            recording = recordings.get((play.name, language))
            if recording:
                texts[file_of(play.name, language)] = _page(play, language, recording)
    return texts


def _index(language: Language, recorded: set[str]) -> str:
    def say(pair: Pair) -> str:
        return _pick(pair, language)

    rows = [
        f"| [{say(play.title)}]({file_of(play.name, language)}) | {_cause(play, language)} | "
        f"{say(_HOLDS if play.own_flags else _SHARES)} |"
        for play in PLAYS
        if play.name in recorded
    ]
    return "\n".join(
        (
            f"# {say(_INDEX)}",
            "",
            f"[{say(_OTHER)}]({file_of('README', 'en' if language == 'zh' else 'zh')})",
            "",
            say(_INTRODUCTION),
            "",
            f"| {say(_INCIDENT)} | {say(_ANSWER)} | {say(_SPARED)} |",
            "|---|---|---|",
            *rows,
            "",
        )
    )


def _page(play: Play, language: Language, recording: Recording) -> str:
    def say(pair: Pair) -> str:
        return _pick(pair, language)

    there: Language = "en" if language == "zh" else "zh"
    title = say(play.title)
    flag = " --lang zh" if language == "zh" else ""
    return "\n".join(
        (
            f"# {title}",
            "",
            f"[{say(_OTHER)}]({file_of(play.name, there)}) · [{say(_ALL)}]({file_of('README', language)})",
            "",
            say(play.story),
            "",
            _in_short(play, language),
            "",
            f"## {say(_SEE)}",
            "",
            "```",
            f"tortie lab play {play.name}{flag}",
            "```",
            "",
            f"## {say(_WHY)}",
            "",
            say(play.why),
            "",
            f"## {say(_LESSON)}",
            "",
            say(play.prevention),
            "",
            say(play.instead),
            "",
            f"## {say(_RECORDED)}",
            "",
            f"![{title}](../casts/{play.name}.{language}.svg)",
            "",
            f"[{say(_PLAYER)}](../casts/{play.name}.{language}.cast)",
            "",
            "<details>",
            f"<summary>{say(_AS_TEXT)}</summary>",
            "",
            "```text",
            recording.text.rstrip("\n"),
            "```",
            "",
            "</details>",
            "",
        )
    )


def _in_short(play: Play, language: Language) -> str:
    colon, stop, gap = ("：", "。", "") if language == "zh" else (": ", ".", " ")
    facts = ((_ANSWER, _cause(play, language)), (_SPARED, _pick(_HOLDS if play.own_flags else _SHARES, language)))
    return gap.join(f"{_pick(what, language)}{colon}{text}{stop}" for what, text in facts)


def _cause(play: Play, language: Language) -> str:
    fault = fault_named(play.name)
    assert fault
    return f"[{fault.code} {fault.cause}](../causes/{language}/{fault.code}.md)"


def _pick(pair: Pair, language: Language) -> str:
    return pair.zh if language == "zh" else pair.en
