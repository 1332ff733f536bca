"""What the doctor knows of a cause, told without any evidence: for `explain`, for the pages in docs/, for machines."""

from __future__ import annotations

from typing import Any, Final

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import Cause, Finding
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language, Words

TITLES: Final = {
    "severity": Words("Severity", "严重程度"),
    "about": Words("Severity: {severity}. Explains: {kinds}.", "严重程度：{severity}。可解释的现象：{kinds}。"),
    "signs": Words("Signs", "特征"),
    "signs-note": Words(
        "Messages that the judgement looks at, for it or against it. `<x>` stands for a word, an address or a number, "
        "`…` for anything on the line, `(a|b)` for either, `(a)?` for perhaps.",
        "判断时会查看的消息，可能支持也可能反对该原因。`<x>` 表示一个词、地址或数字，`…` 表示该行上的任意内容，"
        "`(a|b)` 表示二者之一，`(a)?` 表示可有可无。",
    ),
    "alike": Words("What looks alike, and what separates it", "容易混淆的原因与区分方法"),
    "is-alike": Words("{cause}: {why}", "{cause}：{why}"),
    "ask": Words("The command that decides", "用于确认的命令"),
    "tells": Words("What it tells: {why}.", "判断方法：{why}。"),
    "fix": Words("Fix", "修复"),
    "verify": Words("Verify", "验证"),
    "prevent": Words("Prevent", "预防"),
    "safe": Words("safe", "安全"),
    "disruptive": Words("disruptive", "有影响"),
    "critical": Words("critical", "致命"),
    "high": Words("high", "高"),
    "medium": Words("medium", "中"),
    "low": Words("low", "低"),
    "step": Words("{text} *({risk})*", "{text} *（{risk}）*"),
    "causes": Words("Causes", "原因一览"),
    "causes-note": Words(
        "What `tortie doctor` can find, and what `tortie doctor explain CODE` tells of it.",
        "`tortie doctor` 能找到的全部原因，以及 `tortie doctor explain CODE` 给出的说明。",
    ),
    "other": Words("中文", "English"),
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


def page(cause: Cause, language: Language, *, linked: bool = False) -> str:
    """A page of Markdown; `linked` when the pages of the others lie beside it."""

    def title(key: str, **values: str) -> str:
        return TITLES[key].fill(**values).to(language) if values else TITLES[key].to(language)

    comma = "、" if language == "zh" else ", "
    kinds = comma.join(f"`{kind}`" for kind in cause.explains)
    parts = [f"# {cause.code} `{cause.id}`: {cause.name.to(language)}"]
    if linked:
        parts.append(_ways(f"{cause.code}.md", language, (title("causes"), "README.md")))
    parts += [_prose(cause.what.to(language)), title("about", severity=title(cause.severity), kinds=kinds)]
    if cause.signs:
        signs = "\n".join(f"- {_code(shown(sign.template))}" for sign in cause.signs)
        parts += [f"## {title('signs')}", title("signs-note"), signs]
    if cause.look_alikes:
        rows = [title("is-alike", cause=_named(id_, linked=linked), why=_prose(why.to(language)))
                for id_, why in cause.look_alikes]  # fmt: skip
        parts += [f"## {title('alike')}", "\n".join(f"- {row}" for row in rows)]
    parts += [f"## {title('ask')}", _fenced(cause.ask.command), title("tells", why=_prose(cause.ask.why.to(language)))]
    parts += [f"## {title('fix')}", *_numbered(general_fix(cause), language)]
    parts += [f"## {title('verify')}", *_numbered(cause.verify, language, marked=False)]
    if cause.prevent:
        parts += [f"## {title('prevent')}", "\n".join(f"- {_prose(text.to(language))}" for text in cause.prevent)]
    return "\n\n".join(parts) + "\n"


def index(causes: tuple[Cause, ...], language: Language) -> str:
    """The page that lists all causes."""
    rows = [
        f"| [{cause.code}]({cause.code}.md) | `{cause.id}` | {cause.name.to(language)} "
        f"| {TITLES[cause.severity].to(language)} |"
        for cause in causes
    ]
    code, cause_, severity, title, note = (
        TITLES[key].to(language) for key in ("code", "cause", "severity", "causes", "causes-note")
    )
    table = [f"| {code} | id | {cause_} | {severity} |", "|---|---|---|---|", *rows]
    return "\n\n".join([f"# {title}", _ways("README.md", language), note, "\n".join(table)]) + "\n"


def pages(causes: tuple[Cause, ...]) -> dict[str, str]:
    """Everything below docs/causes/: text by path."""
    languages: tuple[Language, ...] = ("en", "zh")
    texts = {f"{language}/README.md": index(causes, language) for language in languages}
    for language in languages:
        texts |= {f"{language}/{cause.code}.md": page(cause, language, linked=True) for cause in causes}
    return texts


def _ways(file: str, language: Language, *others: tuple[str, str]) -> str:
    """Links to the same page in the other language, and to others."""
    there = "en" if language == "zh" else "zh"
    links = ((TITLES["other"].to(language), f"../{there}/{file}"), *others)
    return " · ".join(f"[{text}]({target})" for text, target in links)


def _named(id_: str, *, linked: bool) -> str:
    known = cause_named(id_)
    return f"[{known.code}]({known.code}.md) `{id_}`" if linked and known else f"`{id_}`"


def shown(template: str) -> str:
    """Without the marks that only the search needs."""
    return template.replace("\\(", "(").replace("\\)", ")")


def _numbered(steps: tuple[Step, ...], language: Language, *, marked: bool = True) -> list[str]:
    rows = []
    for number, step in enumerate(steps, 1):
        text, risk = _prose(step.text.to(language)), TITLES[step.risk].to(language)
        told = TITLES["step"].fill(text=text, risk=risk).to(language) if marked else text
        rows.append(f"{number}. {told}")
        if step.command:
            rows.append("   " + _fenced(step.command).replace("\n", "\n   "))
    return rows


def _prose(text: str) -> str:
    """Text whose angle brackets and stars mean themselves; what stands in backticks is left as it is."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "\\<").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def _code(text: str) -> str:
    """Inline code, with enough backticks around it."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _fenced(text: str) -> str:
    return f"```sh\n{text}\n```"
