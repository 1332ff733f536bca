"""The answer as SARIF 2.1.0: causes are rules, findings are results at the lines of the evidence."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from tortie import __version__
from tortie.doctor.answer.labels import label
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Quote
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language

_LEVELS: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    import json

    quotes = {quote.id: quote for quote in diagnosis.evidence}
    answers = [*diagnosis.causes, *diagnosis.unrelated]
    claimed = set(diagnosis.causes) if diagnosis.verdict == "cause-found" else set()
    run = {
        "tool": {
            "driver": {
                "name": "tortie doctor",
                "version": __version__,
                "rules": [_rule(answer, language) for answer in answers],
            }
        },
        "properties": {"verdict": diagnosis.verdict},
        "results": [
            _result(answer, number, quotes, language, claimed=answer in claimed)
            for number, answer in enumerate(answers)
        ],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _rule(answer: Answer, language: Language) -> dict[str, Any]:
    cause = answer.cause
    return {
        "id": cause.code,
        "name": cause.id,
        "shortDescription": {"text": cause.name.to(language)},
        "fullDescription": {"text": cause.what.to(language)},
        "help": {"text": "\n".join(_step(step, language) for step in answer.fix)},
        "defaultConfiguration": {"level": _LEVELS[cause.severity]},
    }


def _step(step: Step, language: Language) -> str:
    text = step.text.to(language)
    return f"{text}{label('colon', language)}{step.command}" if step.command else text


def _result(
    answer: Answer, number: int, quotes: dict[str, Quote], language: Language, *, claimed: bool
) -> dict[str, Any]:
    return {
        "ruleId": answer.cause.code,
        "ruleIndex": number,
        "kind": "fail" if claimed else "review",
        "level": _LEVELS[answer.cause.severity] if claimed else "none",
        "message": {"text": answer.finding.why.to(language)},
        "rank": round(answer.confidence * 100, 1),
        "locations": [_location(quotes[id_]) for id_ in answer.because],
        "properties": {"objects": list(answer.finding.objects)},
    }


def _location(quote: Quote) -> dict[str, Any]:
    from urllib.parse import quote as percent

    return {
        "physicalLocation": {
            "artifactLocation": {"uri": percent(quote.place.source)},
            "region": {
                "startLine": quote.place.first,
                "endLine": quote.place.last,
                "snippet": {"text": quote.text},
            },
        }
    }
