"""`tortie doctor causes` and `explain`: what the doctor knows, without any evidence."""

from __future__ import annotations

import os
import sys
from typing import Any

from tortie.cli.language import choose_language
from tortie.doctor.answer.labels import label
from tortie.doctor.causes.catalogue import all_causes, cause_named
from tortie.doctor.causes.cause import Cause
from tortie.doctor.knowledge import TITLES, as_json, general_fix, page, shown
from tortie.doctor.words import Language
from tortie.model.errors import UsageError
from tortie.model.kinds import nearest
from tortie.model.measure import columns, padded, wrapped

_WIDTH = 80


def causes(*, words: tuple[str, ...], output: str, lang: str | None) -> int:
    language = choose_language(lang, os.environ)
    _check(output, ("text", "json"))
    listed = [cause for cause in all_causes() if all(_mentions(cause, word) for word in words)]
    if not listed:
        raise UsageError(f"no cause has {' and '.join(words)}", "ids, codes, names and descriptions were searched",
                         "`tortie doctor causes` lists all")  # fmt: skip
    if output == "json":
        _print_json([as_json(cause, language) for cause in listed])
        return 0
    room = max(columns(cause.id) for cause in listed)
    rows = []
    for cause in listed:
        name = cause.name.to(language)
        lead = f"{cause.code}  {padded(cause.id, room)}  "
        for number, part in enumerate(wrapped(name, max(20, _WIDTH - len(lead)), 3)):
            rows.append((lead if number == 0 else " " * len(lead)) + part)
    sys.stdout.write("\n".join(rows) + "\n")
    return 0


def explain(*, cause: str, output: str, lang: str | None) -> int:
    language = choose_language(lang, os.environ)
    _check(output, ("text", "json", "md"))
    known = cause_named(cause)
    if known is None:
        names = [name for one in all_causes() for name in (one.id, one.code)]
        near = nearest(cause.upper() if cause.upper().startswith("TRT") else cause.lower(), names)
        fix = f"did you mean {near}? " if near else ""
        raise UsageError(
            f"there is no cause '{cause}'", "neither code nor id", fix + "`tortie doctor causes` lists all"
        )
    if output == "json":
        _print_json(as_json(known, language))
    else:
        sys.stdout.write(page(known, language) if output == "md" else _text(known, language))
    return 0


def _text(cause: Cause, language: Language) -> str:
    def title(key: str) -> str:
        return TITLES[key].to(language)

    colon = label("colon", language)
    rows = [f"{cause.code} {cause.id}{colon}{cause.name.to(language)}", "", *_wrap(cause.what.to(language), "  ")]
    rows += ["", f"{title('severity')}{colon}{title(cause.severity)}"]
    if cause.signs:
        rows += ["", title("signs"), *_wrap(title("signs-note").replace("`", ""), "  ")]
        rows += [row for sign in cause.signs for row in _wrap(shown(sign.template), "  - ")]
    if cause.look_alikes:
        rows += ["", title("alike")]
        rows += [row for id_, why in cause.look_alikes for row in _wrap(f"{id_}{colon}{why.to(language)}", "  - ")]
    rows += [
        "",
        title("ask"),
        *_wrap(cause.ask.why.to(language), "  "),
        f"     $ {cause.ask.command}",
        "",
        title("fix"),
    ]
    for number, step in enumerate(general_fix(cause), 1):
        rows += _wrap(f"[{title(step.risk)}] {step.text.to(language)}", f"  {number}. ")
        rows += [f"     $ {step.command}"] if step.command else []
    rows += ["", title("verify")]
    for step in cause.verify:
        rows += _wrap(step.text.to(language), "  - ")
        rows += [f"     $ {step.command}"] if step.command else []
    if cause.prevent:
        rows += ["", title("prevent"), *(row for text in cause.prevent for row in _wrap(text.to(language), "  - "))]
    return "\n".join(rows) + "\n"


def _wrap(text: str, lead: str) -> list[str]:
    rest = " " * len(lead)
    parts = wrapped(text, _WIDTH - len(lead), 20)
    return [(lead if number == 0 else rest) + part for number, part in enumerate(parts)]


def _mentions(cause: Cause, word: str) -> bool:
    everything = (cause.id, cause.code, *cause.name, *cause.what)
    return any(word.lower() in text.lower() for text in everything)


def _check(output: str, forms: tuple[str, ...]) -> None:
    if output not in forms:
        raise UsageError(f"unknown output format '{output}'", f"there are {', '.join(forms)}", f"-o {forms[0]}")


def _print_json(value: Any) -> None:
    import json

    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
