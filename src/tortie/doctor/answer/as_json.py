"""The Diagnosis as JSON, for machines; `diagnosis.schema.json` beside this file is its published shape."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tortie.doctor.answer.holes import holes_of
from tortie.doctor.answer.labels import label
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Unexplained
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    import json

    return json.dumps(as_json(diagnosis, language), ensure_ascii=False, indent=2) + "\n"


def as_json(diagnosis: Diagnosis, language: Language) -> dict[str, Any]:
    return {
        "apiVersion": "tortie/v1",
        "kind": "Diagnosis",
        "verdict": diagnosis.verdict,
        "causes": [_cause(answer, language) for answer in diagnosis.causes],
        "ruled_out": [
            {"cause": excluded.cause.id, "code": excluded.cause.code, "because": excluded.why.to(language)}
            for excluded in diagnosis.ruled_out
        ],
        "unrelated": [_unrelated(answer, language) for answer in diagnosis.unrelated],
        "symptoms": [
            {
                "id": f"s{number}",
                "kind": symptom.kind,
                "text": symptom.text.to(language),
                "current": symptom.current,
                "since": symptom.since,
                "class": _class(diagnosis, f"s{number}", current=symptom.current),
                "objects": list(symptom.objects),
                "evidence": [quote.id for quote in diagnosis.evidence if quote.place in symptom.evidence],
            }
            for number, symptom in enumerate(diagnosis.symptoms, 1)
        ],
        "evidence": [
            {
                "id": quote.id,
                "source": quote.place.source,
                "lines": [quote.place.first, quote.place.last],
                "quote": quote.text,
                "decisive": [quote.text[begin:end] for begin, end in quote.decisive],
            }
            for quote in diagnosis.evidence
        ],
        "next": [{"command": ask.command, "why": ask.why.to(language)} for ask in diagnosis.next],
        "checked": [checked.text.to(language) for checked in diagnosis.checked],
        "not_understood": [
            {"source": place.source, "lines": [place.first, place.last]} for place in diagnosis.not_understood
        ],
        "skipped": [{"source": one.name, "why": one.why.to(language)} for one in diagnosis.skipped],
        "covers": [{"area": area.key, "text": area.text.to(language)} for area in diagnosis.covers],
        "not_shown": [{"area": area.key, "text": area.text.to(language)} for area in diagnosis.not_shown],
        "normal": [
            {
                "text": one.text.to(language),
                "evidence": [quote.id for quote in diagnosis.evidence if quote.place in one.evidence],
            }
            for one in diagnosis.normal
        ],
        "unexplained": [_unexplained(line, diagnosis, language) for line in diagnosis.unexplained],
        "remark": diagnosis.remark.to(language) if diagnosis.remark else "",
    }


def _unexplained(line: Unexplained, diagnosis: Diagnosis, language: Language) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "text": line.text,
        "component": line.component,
        "phase": line.phase.to(language),
        "count": line.count,
        "evidence": [quote.id for quote in diagnosis.evidence if quote.place == line.place],
    }


def _class(diagnosis: Diagnosis, symptom: str, *, current: bool) -> str:
    if not current:
        return "over"
    explained = diagnosis.verdict == "cause-found" and any(symptom in answer.explains for answer in diagnosis.causes)
    return "consequence" if explained else "open"


def _cause(answer: Answer, language: Language) -> dict[str, Any]:
    cause = answer.cause
    return {
        "cause": cause.id,
        "code": cause.code,
        "name": cause.name.to(language),
        "severity": cause.severity,
        "confidence": answer.confidence,
        "objects": list(answer.finding.objects),
        "summary": answer.finding.why.to(language),
        "because": list(answer.because),
        "explains": list(answer.explains),
        "rule": answer.finding.rule,
        "culprits": [{"kind": one.kind, "name": one.name} for one in answer.finding.culprits],
        "fix": [_step(step, language) for step in answer.fix],
        "verify": [
            f"{step.text.to(language)}{label('colon', language)}{step.command}"
            if step.command
            else step.text.to(language)
            for step in answer.verify
        ],
        "prevent": [text.to(language) for text in answer.prevent],
    }


def _step(step: Step, language: Language) -> dict[str, Any]:
    holes = [{"name": hole.name, "why": hole.why, "refused": hole.refused} for hole in holes_of(step, language)]
    return {"text": step.text.to(language), "command": step.command, "risk": step.risk, "holes": holes}


def _unrelated(answer: Answer, language: Language) -> dict[str, Any]:
    return {
        "cause": answer.cause.id,
        "code": answer.cause.code,
        "summary": answer.finding.why.to(language),
        "objects": list(answer.finding.objects),
        "because": list(answer.because),
    }
