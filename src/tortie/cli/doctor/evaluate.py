"""`tortie doctor eval DIR`: the doctor's answers held against labelled cases, outcome by outcome."""

from __future__ import annotations

import os
import sys
import time

from tortie.cli.language import choose_language
from tortie.cli.progress import Bar
from tortie.doctor.causes.catalogue import needles
from tortie.doctor.evaluation import Labelled, Outcome, read_label, score, summary, table
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.sources import open_sources
from tortie.model.errors import UsageError

_FORMS = ("text", "json")
_ALL_RIGHT, _SOME_NOT = 0, 3


def evaluate(*, folders: tuple[str, ...], output: str, verbose: bool, lang: str | None) -> int:
    language = choose_language(lang, os.environ)
    if output not in _FORMS:
        raise UsageError(f"unknown output format '{output}'", "there are text and json", "-o json")
    cases = [case for folder in folders for case in _cases(folder)]
    if not cases:
        what = "no case below " + ", ".join(folders)
        raise UsageError(what, "a case is a folder with expected.json", "`tortie doctor eval --help` shows the form")
    outcomes: list[Outcome] = []
    bar = Bar("cases")
    for number, case in enumerate(cases):
        bar(number, len(cases))
        began = time.perf_counter()
        diagnosis = judge(picture_of(open_sources((case.evidence,), sys.stdin.buffer, needles())))
        outcomes.append(score(case, diagnosis, time.perf_counter() - began))
    bar.clear()
    if output == "json":
        import json

        sys.stdout.write(json.dumps(summary(outcomes), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(table(outcomes, language, verbose=verbose))
    return _ALL_RIGHT if all(outcome.result == "right" for outcome in outcomes) else _SOME_NOT


def _cases(folder: str) -> list[Labelled]:
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is no folder", "cases live in folders", "check the path")
    found = []
    for path, below, files in os.walk(folder):
        below.sort()
        if "expected.json" in files:
            with open(os.path.join(path, "expected.json"), "rb") as file:
                label = read_label(file.read(), os.path.relpath(path, os.path.dirname(folder.rstrip("/")) or "."))
            names = [name for name in ("evidence.txt", "evidence") if os.path.exists(os.path.join(path, name))]
            if not names:
                raise UsageError(f"{path} has no evidence", "neither evidence.txt nor evidence/", "add one of them")
            found.append(label._replace(evidence=os.path.join(path, names[0])))
    return found
