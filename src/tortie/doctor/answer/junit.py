"""The answer as JUnit XML: one test case for each symptom and one for each cause, for dashboards of pipelines."""

from __future__ import annotations

from datetime import datetime

from tortie.doctor.answer.labels import label
from tortie.doctor.diagnosis import Answer, Diagnosis
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language
from tortie.model.measure import plain


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    from xml.sax.saxutils import escape, quoteattr

    colon = label("colon", language)
    quotes = {quote.id: quote for quote in diagnosis.evidence}

    def failure(answer: Answer, kind: str) -> str:
        cause = answer.cause
        lines = [answer.finding.why.to(language), ""]
        for id_ in answer.because:
            lines += [str(quotes[id_].place), *(f"  {plain(row)}" for row in quotes[id_].text.splitlines())]
        steps = [
            f"{step.text.to(language)}{colon}{step.command}" if step.command else step.text.to(language)
            for step in answer.fix
        ]
        body = "\n".join([*(plain(line) for line in lines), "", label("fix", language), *(plain(s) for s in steps)])
        name = quoteattr(f"{cause.code} {cause.id}{colon}{cause.name.to(language)}")
        message = quoteattr(plain(answer.finding.why.to(language)))
        return (
            f'  <testcase classname="tortie.doctor" name={name}>\n'
            f'    <failure type="{kind}" message={message}>{escape(body)}</failure>\n  </testcase>'
        )

    cases = [failure(answer, diagnosis.verdict) for answer in diagnosis.causes]
    cases += [failure(answer, "unrelated") for answer in diagnosis.unrelated]
    if diagnosis.verdict == "undetermined" and not diagnosis.causes:
        message = quoteattr(label("no-claim", language))
        cases.append(
            f'  <testcase classname="tortie.doctor" name="verdict">\n'
            f'    <failure type="undetermined" message={message}/>\n  </testcase>'
        )
    failures = len(cases)
    cases += [
        f'  <testcase classname="tortie.doctor.checked" name={quoteattr(plain(checked.text.to(language)))}/>'
        for checked in diagnosis.checked
    ]
    body = "\n".join(cases)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="tortie doctor" tests="{len(cases)}" failures="{failures}" errors="0">\n'
        f'  <properties>\n    <property name="verdict" value={quoteattr(diagnosis.verdict)}/>\n  </properties>\n'
        f"{body}\n</testsuite>\n"
    )
