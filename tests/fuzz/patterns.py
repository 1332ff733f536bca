"""Every regular expression of the doctor on text that is made to keep it busy. An endless one is the last name printed.

`python -m tests.fuzz.patterns` collects the expressions while the doctor is loaded and judges some text, then runs each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

LINE = 16_384  # characters of a line that are read (cleaning.LINE_MAX)
REPEATED = (
    "a", "A ", " ", "\t", "1", "1.", "0:", "f:", "-", "- ", ":", ": ", "=", "a=", '"', "\\", "'", "`", "(", "[", "<", "{",
    ",", ", ", "|", "/", "a/", "$ ", "x.x.", "10.0.0.1,", "2020-05-27 ", "key: value ", "a-b ", "的", "，", "a, b. ", "%",
    "not ", "node ", "kubectl ", "1 2 ", "m1 ", "::", "\x1b[", "eyJ", "@", "#", "> ", "+---",
)  # fmt: skip


def collected() -> dict[str, re.Pattern[str]]:
    """All that is compiled by the doctor: at import, for signs and words, and when texts are judged."""
    seen: dict[str, re.Pattern[str]] = {}
    compile_ = re._compile  # type: ignore[attr-defined]

    def noting(pattern: Any, flags: Any) -> Any:
        compiled = compile_(pattern, flags)
        frame = sys._getframe(2)
        module = frame.f_globals.get("__name__", "")
        if module.startswith("tortie.doctor") and isinstance(compiled.pattern, str):
            seen.setdefault(f"{module}:{frame.f_lineno} {compiled.pattern[:200]!r}", compiled)
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
    for name, pattern in sorted(collected().items()):
        print(name, flush=True)
        for text in inputs(pattern.pattern):
            pattern.search(text)


if __name__ == "__main__":
    main()
