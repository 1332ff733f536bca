"""The answer as one self-contained page: verdict, chain, fix, pictures, and the evidence with its lines marked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Final

from tortie.doctor.answer.excerpts import excerpts
from tortie.doctor.answer.labels import label, since_label
from tortie.doctor.answer.pictures import draw_topology, draw_window, escaped
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Quote, Symptom
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.timeline import Moment, start, timeline
from tortie.doctor.picture.topology import topology
from tortie.doctor.words import Language
from tortie.model.measure import indented

# Nothing is loaded and nothing runs, whatever the evidence contains.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CLOCKED: Final = 40


def render(diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool) -> str:
    page = _Page(diagnosis, picture, language)
    title = escaped(f"{page.say(diagnosis.verdict)}{page.say('colon')}{page.headline()}")
    body = "\n".join(part for part in page.parts() if part)
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_style()}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


@cache
def _style() -> str:
    return resources.files("tortie.doctor.answer").joinpath("report.css").read_text(encoding="utf-8")


class _Page:
    def __init__(self, diagnosis: Diagnosis, picture: Picture, language: Language) -> None:
        self._diagnosis, self._picture, self._language = diagnosis, picture, language
        self._quotes = {quote.id: quote for quote in diagnosis.evidence}

    def say(self, key: str, **values: object) -> str:
        return label(key, self._language, **values)

    def headline(self) -> str:
        diagnosis = self._diagnosis
        if diagnosis.verdict == "healthy":
            return self.say("nothing")
        if diagnosis.verdict == "undetermined":
            return self.say("no-claim")
        return f"{diagnosis.causes[0].cause.code} {diagnosis.causes[0].cause.name.to(self._language)}"

    def parts(self) -> Iterator[str]:
        yield self._verdict()
        if self._diagnosis.verdict == "undetermined":
            yield self._next()
        for number, answer in enumerate(self._diagnosis.causes):
            yield from self._cause(answer, number)
        yield self._window()
        yield self._topology()
        yield self._symptoms()
        yield self._checked()
        yield self._ruled_out()
        yield self._unrelated()
        if self._diagnosis.verdict == "cause-found":
            yield self._next()
        yield self._timeline()
        yield self._evidence()
        yield self._not_understood()
        yield self._skipped()

    def _section(self, title: str, body: str) -> str:
        return f"<section>\n<h2>{escaped(title)}</h2>\n{body}\n</section>" if body else ""

    def _verdict(self) -> str:
        verdict = self._diagnosis.verdict
        rows = [
            f'<span class="badge {verdict}">{escaped(self.say(verdict))}</span>',
            f"<h1>{escaped(self.headline())}</h1>",
        ]
        if verdict == "cause-found":
            first = self._diagnosis.causes[0]
            rows.append(f"<p>{escaped(first.finding.why.to(self._language))}</p>")
            rows.append("".join(f'<span class="chip">{escaped(text)}</span>' for text in first.finding.objects))
            rows.append(f'<p class="soft">{escaped(self._sure(first))}</p>')
        return f'<header class="verdict {verdict}">\n' + "\n".join(rows) + "\n</header>"

    def _sure(self, answer: Answer) -> str:
        severity = f"{self.say('severity')} {self.say(answer.cause.severity)}"
        since = next((s.since for s in self._symptoms_of(answer) if s.since), "")
        parts = [answer.cause.id, f"{self.say('confidence')} {answer.confidence:.2f}", severity]
        return " · ".join([*parts, f"{since_label(since, self._language)} {since}"] if since else parts)

    def _symptoms_of(self, answer: Answer) -> list[Symptom]:
        return [self._diagnosis.symptoms[int(id_[1:]) - 1] for id_ in answer.explains]

    def _cause(self, answer: Answer, number: int) -> Iterator[str]:
        found = self._diagnosis.verdict == "cause-found"
        title = self.say("why")
        if not found:
            title = f"{number + 1}. {answer.cause.code} {answer.cause.name.to(self._language)}"
        elif number:
            title = f"{self.say('also')}{self.say('colon')}{answer.cause.code} {answer.cause.name.to(self._language)}"
        rows = [f'<li class="cause">{escaped(answer.finding.why.to(self._language))}</li>']
        rows += [self._link(self._quotes[id_]) for id_ in answer.because]
        if found:
            shown = [symptom for symptom in self._symptoms_of(answer) if symptom.current][:4]
            seen = "".join(f"<li>{escaped(symptom.text.to(self._language))}</li>" for symptom in shown)
            rows += [f'<li class="symptoms"><ul>{seen}</ul></li>'] if seen else []
        body = f'<ol class="chain">{"".join(rows)}</ol>'
        if not found:
            body += f'<p class="soft">{escaped(self._sure(answer))}</p>'
        yield self._section(title, body)
        if found:
            yield self._section(self.say("fix"), self._steps(answer.fix, marked=True))
            yield self._section(self.say("verify"), self._steps(answer.verify, marked=False))
            prevent = "".join(f"<li>{escaped(text.to(self._language))}</li>" for text in answer.cause.prevent)
            yield self._section(self.say("prevent"), f'<ul class="plain">{prevent}</ul>' if prevent else "")

    def _link(self, quote: Quote) -> str:
        place = f'<a class="place soft" href="#{quote.id}">{escaped(str(quote.place))}</a>'
        return f"<li>{place}<pre>{_block(quote.text)}</pre></li>"

    def _steps(self, steps: tuple[Step, ...], *, marked: bool) -> str:
        rows = []
        for step in steps:
            badge = f'<span class="badge {step.risk}">{escaped(self.say(step.risk))}</span>' if marked else ""
            command = f'<pre class="command">{_block(step.command)}</pre>' if step.command else ""
            rows.append(f"<li>{badge}{escaped(step.text.to(self._language))}{command}</li>")
        return f'<ol class="steps">{"".join(rows)}</ol>' if rows else ""

    def _next(self) -> str:
        asks = self._diagnosis.next
        rows = [
            f"<p>{escaped(ask.why.to(self._language))}</p>"
            + (f'<pre class="command">{_block(ask.command)}</pre>' if ask.command else "")
            for ask in asks
        ]
        return self._section(self.say("next"), "".join(rows))

    def _window(self) -> str:
        shown = start(self._picture)
        svg = draw_window(shown, self._language) if shown else ""
        return self._section(self.say("window"), f'<div class="pan">{svg}</div>' if svg else "")

    def _topology(self) -> str:
        culprits = frozenset(text for answer in self._diagnosis.causes[:1] for text in answer.finding.objects)
        if self._diagnosis.verdict != "cause-found":
            culprits = frozenset()
        svg = draw_topology(topology(self._picture), culprits, self._language)
        return self._section(self.say("topology"), f'<div class="pan">{svg}</div>' if svg else "")

    def _symptoms(self) -> str:
        explained = {id_ for answer in self._diagnosis.causes for id_ in answer.explains}
        claimed = self._diagnosis.verdict == "cause-found"
        rows = []
        for number, symptom in enumerate(self._diagnosis.symptoms, 1):
            mark = "over" if not symptom.current else "explained" if f"s{number}" in explained else "open"
            told = self.say(mark) if claimed or mark == "over" else ""
            link = next((quote.id for quote in self._diagnosis.evidence if quote.place in symptom.evidence), "")
            text = escaped(symptom.text.to(self._language))
            rows.append(
                f'<tr class="{mark}"><td><a href="#{link}">{text}</a></td><td class="mark">{escaped(told)}</td></tr>'
            )
        return self._section(self.say("symptoms"), f"<table>{''.join(rows)}</table>" if rows else "")

    def _checked(self) -> str:
        rows = "".join(f"<li>{escaped(checked.text.to(self._language))}</li>" for checked in self._diagnosis.checked)
        return self._section(self.say("checked"), f'<ul class="plain">{rows}</ul>' if rows else "")

    def _ruled_out(self) -> str:
        rows = "".join(
            f"<tr><th>{escaped(excluded.cause.id)}</th><td>{escaped(excluded.why.to(self._language))}</td></tr>"
            for excluded in self._diagnosis.ruled_out
        )
        table = f'<div class="scroll"><table>{rows}</table></div>' if rows else ""
        return self._section(self.say("ruled-out"), table)

    def _unrelated(self) -> str:
        rows = "".join(
            f"<h3>{escaped(answer.cause.code)} {escaped(answer.cause.name.to(self._language))}</h3>"
            f"<p>{escaped(answer.finding.why.to(self._language))}</p>{self._steps(answer.fix[:1], marked=True)}"
            for answer in self._diagnosis.unrelated
        )
        return self._section(self.say("unrelated"), rows)

    def _timeline(self) -> str:
        moments = timeline(self._picture)[:_CLOCKED]
        if len(moments) < 2:
            return ""
        rows = "".join(_moment(moment) for moment in moments)
        return self._section(self.say("timeline"), f'<table class="clock">{rows}</table>')

    def _evidence(self) -> str:
        parts = []
        for excerpt in excerpts(self._picture, self._diagnosis.evidence):
            rows = []
            for row in excerpt.rows:
                if row.number is None:
                    rows.append('<div class="gap">⋯</div>')
                    continue
                anchors = "".join(f'<a id="{id_}"></a>' for id_ in row.ids)
                kind = "row hit" if row.hit else "row"
                rows.append(
                    f'<div class="{kind}"><span>{anchors}{row.number}</span><span>{escaped(row.text)}</span></div>'
                )
            parts.append(f'<h3>{escaped(excerpt.source)}</h3><div class="source">{"".join(rows)}</div>')
        return self._section(self.say("evidence"), "".join(parts))

    def _skipped(self) -> str:
        rows = "".join(
            f"<tr><th>{escaped(one.name)}</th><td>{escaped(one.why.to(self._language))}</td></tr>"
            for one in self._diagnosis.skipped[:_CLOCKED]
        )
        return self._section(self.say("skipped"), f"<table>{rows}</table>" if rows else "")

    def _not_understood(self) -> str:
        places = self._diagnosis.not_understood
        if not places:
            return ""
        count = sum(place.last - place.first + 1 for place in places)
        shown = ", ".join(str(place) for place in places[:20]) + (" …" if len(places) > 20 else "")
        text = f"{self.say('lines', count=count)} ({shown})"
        return self._section(self.say("not-understood"), f'<p class="soft">{escaped(text)}</p>')


def _moment(moment: Moment) -> str:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(moment.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    level = f" {moment.level}" if moment.level else ""
    return f"<tr><th>{when}</th><td>{escaped(moment.clock)}{escaped(level)}</td><td>{escaped(moment.text)}</td></tr>"


def _block(text: str) -> str:
    parts = (indented(row) for row in text.splitlines())
    return "\n".join(blanks + escaped(rest) for blanks, rest in parts)
