"""Every regular expression of the doctor on text that is made to keep it busy. An endless one is the last name printed.

`python -m tests.fuzz.patterns` collects expressions while the doctor is loaded and judges the cases, then runs each as
the code does: those that are only ever matched at a line's beginning are not searched for in its middle.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LINE = 1_024  # characters; what is endless is so in a short line, too
REPEATED = (
    "a", "A ", " ", "\t", "1", "1.", "0:", "f:", "-", "- ", ":", ": ", "=", "a=", '"', "\\", "'", "`", "(", "[", "<",
    "{", ",", ", ", "|", "/", "a/", "$ ", "x.x.", "10.0.0.1,", "2020-05-27 ", "key: value ", "a-b ", "的", "，", "%",
    "a, b. ", "not ", "node ", "kubectl ", "1 2 ", "m1 ", "::", "\x1b[", "eyJ", "@", "#", "> ", "+---",
)  # fmt: skip


_ANYWHERE = re.compile(r"\b(\w+)\.(?:search|sub|subn|finditer|findall|split)\(")


def anchored() -> set[re.Pattern[str]]:
    """Expressions under a name that no code looks for anywhere in a text; private names are a module's own."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("tortie.doctor")}
    files = {name: Path(module.__file__ or "").read_text(encoding="utf-8") for name, module in modules.items()}
    everywhere = set(_ANYWHERE.findall("\n".join(files.values())))
    out = set()
    for where, module in modules.items():
        own = set(_ANYWHERE.findall(files[where]))
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and name not in (own if name.startswith("_") else everywhere):
                out.add(value)
    return out


def collected() -> dict[str, re.Pattern[str]]:
    """All that is compiled by the doctor: at import, for signs and words, and when texts are judged."""
    seen: dict[str, re.Pattern[str]] = {}
    compile_ = re._compile  # type: ignore[attr-defined]

    def noting(pattern: Any, flags: Any) -> Any:
        compiled = compile_(pattern, flags)
        frame = sys._getframe(2)
        module = frame.f_globals.get("__name__", "")
        if module.startswith("tortie.doctor") and isinstance(compiled.pattern, str):
            how = sys._getframe(1).f_code.co_name  # compile, match, search
            seen.setdefault(f"{how} {module}:{frame.f_lineno} {compiled.pattern[:200]!r}", compiled)
        return compiled

    re._compile = noting  # type: ignore[attr-defined]
    try:
        from tests.support.doctor_cases import cases, diagnosis_of

        from tortie.doctor.causes.catalogue import all_signs
        from tortie.doctor.reading.lexicon import RULES

        for case in cases():
            diagnosis_of(case.text)
        for sign in all_signs():
            seen[f"sign {sign.key}"] = sign.pattern
        for rule in RULES:
            seen[f"rule {rule.kind} {rule.words[:200]!r}"] = rule.pattern
    finally:
        re._compile = compile_  # type: ignore[attr-defined]
    return seen


def inputs(pattern: str) -> Iterator[str]:
    """Repetitions of what busies expressions, and of this one's own words without their end."""
    for piece in REPEATED:
        yield piece * (LINE // len(piece))
    words = re.sub(r"\(\?P?[<:=!][^>)]*>?|[\\^$*+?{}()\[\]|]", "", pattern)[:400]
    for part in (words, words[:-1], words[: len(words) // 2], words[:12]):
        if part:
            yield part * (LINE // len(part))
            yield (part + " ") * (LINE // (len(part) + 1))


def main() -> None:
    patterns = collected()
    at_beginning = anchored()
    for name, pattern in sorted(patterns.items()):
        print(name, flush=True)
        anchor = name.startswith(("match ", "fullmatch ")) or pattern in at_beginning
        run = pattern.match if anchor else pattern.search
        for text in inputs(pattern.pattern):
            run(text)
    print("done")


if __name__ == "__main__":
    main()
