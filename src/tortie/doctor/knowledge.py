"""What the doctor knows of a cause, told without any evidence: for `explain`, for the pages in docs/, for machines."""

from __future__ import annotations

from typing import Any, Final

from tortie.doctor.causes.cause import Cause, Finding, Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language, Words

TITLES: Final = {
    "severity": Words("Severity", "严重程度"),
    "explains": Words("Explains", "可解释的现象"),
    "signs": Words("Signs", "特征"),
    "signs-note": Words(
        "`<x>` stands for a word, an address or a number, `…` for anything on the line, `(a|b)` for either.",
        "`<x>` 表示一个词、地址或数字，`…` 表示该行上的任意内容，`(a|b)` 表示二者之一。",
    ),
    "alike": Words("What looks alike, and what separates it", "容易混淆的原因与区分方法"),
    "ask": Words("The command that decides", "决定性的命令"),
    "fix": Words("Fix", "修复"),
    "verify": Words("Verify", "验证"),
    "prevent": Words("Prevent", "预防"),
    "safe": Words("safe", "安全"),
    "disruptive": Words("disruptive", "有影响"),
    "critical": Words("critical", "致命"),
    "high": Words("high", "高"),
    "medium": Words("medium", "中"),
    "low": Words("low", "低"),
    "causes": Words("Causes", "原因一览"),
    "code": Words("Code", "编号"),
    "cause": Words("Cause", "原因"),
}

_GENERAL: Final = Finding("found", Words("", ""))


def general_fix(cause: Cause) -> tuple[Step, ...]:
    """The fix where nothing is known of the cluster: names stand in angle brackets."""
    return cause.fix(Picture(), _GENERAL)


def as_json(cause: Cause, language: Language) -> dict[str, Any]:
    return {
        "cause": cause.id,
        "code": cause.code,
        "severity": cause.severity,
        "name": cause.name.to(language),
        "what": cause.what.to(language),
        "explains": list(cause.explains),
        "signs": [sign.template for sign in cause.signs],
        "look_alikes": [{"cause": id_, "separated_by": why.to(language)} for id_, why in cause.look_alikes],
        "ask": {"command": cause.ask.command, "why": cause.ask.why.to(language)},
        "fix": [_step(step, language) for step in general_fix(cause)],
        "verify": [_step(step, language) for step in cause.verify],
        "prevent": [text.to(language) for text in cause.prevent],
    }


def _step(step: Step, language: Language) -> dict[str, str]:
    return {"text": step.text.to(language), "command": step.command, "risk": step.risk}


def page(cause: Cause, language: Language) -> str:
    """A page of Markdown."""

    def title(key: str) -> str:
        return TITLES[key].to(language)

    parts = [
        f"# {cause.code} `{cause.id}`: {cause.name.to(language)}",
        cause.what.to(language),
        f"{title('severity')}: {title(cause.severity)}. {title('explains')}: "
        + ", ".join(f"`{kind}`" for kind in cause.explains)
        + ".",
    ]
    if cause.signs:
        signs = "\n".join(f"- {_code(sign.template)}" for sign in cause.signs)
        parts += [f"## {title('signs')}", title("signs-note"), signs]
    if cause.look_alikes:
        rows = "\n".join(f"- `{id_}`: {why.to(language)}" for id_, why in cause.look_alikes)
        parts += [f"## {title('alike')}", rows]
    parts += [f"## {title('ask')}", _fenced(cause.ask.command), cause.ask.why.to(language)]
    parts += [f"## {title('fix')}", *_numbered(general_fix(cause), language)]
    parts += [f"## {title('verify')}", *_numbered(cause.verify, language, marked=False)]
    if cause.prevent:
        parts += [f"## {title('prevent')}", "\n".join(f"- {text.to(language)}" for text in cause.prevent)]
    return "\n\n".join(parts) + "\n"


def index(causes: tuple[Cause, ...], language: Language) -> str:
    """The page that lists all causes."""
    rows = [
        f"| [{cause.code}]({cause.code}.md) | `{cause.id}` | {cause.name.to(language)} "
        f"| {TITLES[cause.severity].to(language)} |"
        for cause in causes
    ]
    head = [TITLES[key].to(language) for key in ("code", "cause")]
    table = [f"| {head[0]} | id | {head[1]} | {TITLES['severity'].to(language)} |", "|---|---|---|---|", *rows]
    return f"# {TITLES['causes'].to(language)}\n\n" + "\n".join(table) + "\n"


def _numbered(steps: tuple[Step, ...], language: Language, *, marked: bool = True) -> list[str]:
    rows = []
    for number, step in enumerate(steps, 1):
        risk = f" *({TITLES[step.risk].to(language)})*" if marked else ""
        rows.append(f"{number}. {step.text.to(language)}{risk}")
        if step.command:
            rows.append("   " + _fenced(step.command).replace("\n", "\n   "))
    return rows


def _code(text: str) -> str:
    """Inline code, with enough backticks around it."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _fenced(text: str) -> str:
    return f"```sh\n{text}\n```"
