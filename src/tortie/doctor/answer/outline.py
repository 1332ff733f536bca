"""The answer laid out once: which parts, in which order, in whose words. Text and Markdown only dress it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from tortie.doctor.answer.holes import OpenHole, holes_of
from tortie.doctor.answer.labels import label, since_label, since_words, sure_label
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Quote, Symptom
from tortie.doctor.judgement.quoting import Span
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Language
from tortie.model.tuples import NamedTuple

Kind = Literal["plain", "item", "number", "quote", "command"]

PLACES_SHOWN: Final = 6
SYMPTOMS_SHOWN: Final = 10
COLUMNS_QUOTED: Final = 400
EXCLUDED_SHOWN: Final = 5


class Line(NamedTuple):
    """`quote` and `command` are shown as they are; everything else may be wrapped."""

    kind: Kind
    text: str
    tag: str = ""  # a place, a mark such as `safe`, a code
    tone: str = ""  # good, bad, dim
    deep: bool = False  # belongs to the item above it
    spans: tuple[Span, ...] = ()  # of a quote: where stands what decided


class Section(NamedTuple):
    title: str
    lines: tuple[Line, ...]


class Outline(NamedTuple):
    verdict: str
    headline: str
    sections: tuple[Section, ...]


def outline(diagnosis: Diagnosis, language: Language) -> Outline:
    parts = _Parts(diagnosis, language)
    sections = [section for section in parts.sections() if section.lines]
    return Outline(label(diagnosis.verdict, language), parts.headline(), tuple(sections))


class _Parts:
    def __init__(self, diagnosis: Diagnosis, language: Language) -> None:
        self._diagnosis, self._language = diagnosis, language
        self._quotes = {quote.id: quote for quote in diagnosis.evidence}
        self._by_place = {quote.place: quote for quote in diagnosis.evidence}

    @property
    def _colon(self) -> str:
        return self._label("colon")

    def _label(self, key: str, **values: object) -> str:
        return label(key, self._language, **values)

    def headline(self) -> str:
        diagnosis = self._diagnosis
        if diagnosis.verdict == "healthy":
            return self._label("nothing")
        if diagnosis.verdict == "undetermined":
            if diagnosis.remark:
                return self._sentence(diagnosis.remark.to(self._language))
            return self._label("no-claim" if diagnosis.of_cluster else "no-evidence")
        first = diagnosis.causes[0]
        return f"{first.cause.code} {first.cause.id}{self._colon}{first.cause.name.to(self._language)}"

    def sections(self) -> Iterator[Section]:
        diagnosis = self._diagnosis
        if diagnosis.verdict == "cause-found":
            for number, answer in enumerate(diagnosis.causes):
                yield from self._cause(answer, second=number > 0)
        elif diagnosis.verdict == "undetermined":
            yield self._unexplained()
            yield self._candidates()
            yield self._next()
        if diagnosis.verdict == "healthy":  # what the verdict rests on comes first
            yield self._checked()
            yield self._breadth()
            yield self._normal()
            yield from self._symptoms()
        else:
            yield self._normal()
            yield from self._symptoms()
            yield self._checked()
            yield self._breadth()
        yield self._ruled_out()
        yield self._unrelated()
        if diagnosis.verdict == "cause-found":
            yield self._next()
        yield self._not_understood()
        yield self._skipped()

    def _cause(self, answer: Answer, *, second: bool) -> Iterator[Section]:
        language, cause, finding = self._language, answer.cause, answer.finding
        head = [Line("plain", finding.why.to(language))]
        if finding.culprits:
            names = dict.fromkeys(culprit.name for culprit in finding.culprits)
            head.append(Line("plain", ", ".join(names), self._label("objects")))
        since = next((s.since for s in self._explained(answer) if s.since), "")
        if since:
            head.append(Line("plain", since_words(since, language), since_label(since, language)))
        sure = f"{sure_label(answer.confidence, language)}{self._label('comma')}{self._label('severity')}"
        rule = f"{self._label('comma')}{self._label('rule')} {finding.rule}" if finding.rule else ""
        head.append(Line("plain", f"{sure} {self._label(cause.severity)}{rule}", tone="dim"))
        title = ""
        if second:
            title = f"{self._label('also')}{self._colon}{cause.code} {cause.id}{self._colon}{cause.name.to(language)}"
        yield Section(title, tuple(head))
        yield Section(self._label("why"), tuple(self._evidence(answer)))
        yield Section(self._label("fix"), tuple(self._steps(answer.fix, numbered=True)))
        yield Section(self._label("verify"), tuple(self._steps(answer.verify, numbered=False)))
        yield Section(self._label("prevent"), tuple(Line("item", text.to(language)) for text in answer.prevent))

    def _explained(self, answer: Answer) -> list[Symptom]:
        return [self._diagnosis.symptoms[int(id_[1:]) - 1] for id_ in answer.explains]

    def _evidence(self, answer: Answer) -> Iterator[Line]:
        for id_ in answer.because:
            quote = self._quotes[id_]
            yield _quoted(quote)

    def _steps(self, steps: tuple[Step, ...], *, numbered: bool) -> Iterator[Line]:
        told: set[OpenHole] = set()
        for step in steps:
            tag = self._label(step.risk) if numbered else ""
            yield Line("number" if numbered else "item", step.text.to(self._language), tag,
                       "bad" if step.risk == "disruptive" else "good")  # fmt: skip
            if step.command:
                yield Line("command", step.command)
            for hole in holes_of(step, self._language):
                if hole.refused and hole not in told:  # once is enough
                    told.add(hole)
                    yield Line("plain", self._label("hole", hole=hole.name, why=hole.why), tone="dim", deep=True)

    def _candidates(self) -> Section:
        lines = []
        for answer in self._diagnosis.causes:
            cause = answer.cause
            sure = sure_label(answer.confidence, self._language)
            lines.append(Line("number", f"{cause.id}{self._colon}{cause.name.to(self._language)}", cause.code))
            lines.append(Line("plain", answer.finding.why.to(self._language), sure, deep=True))
            quote = next((self._quotes[id_] for id_ in answer.because), None)
            if quote:
                lines.append(_quoted(best_line(quote), deep=True))
        return Section(self._label("candidates"), tuple(lines))

    def _next(self) -> Section:
        lines = []
        for ask in self._diagnosis.next:
            lines.append(Line("plain", ask.why.to(self._language)))
            if ask.command:  # where everything was asked, there is only a place to look
                lines.append(Line("command", ask.command))
        return Section(self._label("next"), tuple(lines))

    def _symptoms(self) -> Iterator[Section]:
        """By what they are to the cause: what it explains, what it does not, and what is over."""
        explained = {id_ for answer in self._diagnosis.causes for id_ in answer.explains}
        claimed = self._diagnosis.verdict == "cause-found"
        groups: dict[str, list[Line]] = {"open-all": [], "explained-all": [], "symptoms": [], "over-all": []}
        for number, symptom in enumerate(self._diagnosis.symptoms, 1):
            if is_said_by_another(symptom, self._diagnosis.symptoms):
                continue
            group = "over-all" if not symptom.current else "symptoms"
            if claimed and symptom.current:
                group = "explained-all" if f"s{number}" in explained else "open-all"
            where = next((f" ({place})" for place in symptom.evidence), "")
            tone = "" if symptom.current else "dim"
            groups[group].append(Line("item", symptom.text.to(self._language).strip() + where, tone=tone))
        for title, lines in groups.items():
            yield Section(self._label(title), tuple(self._capped(lines, SYMPTOMS_SHOWN)))

    def _capped(self, lines: list[Line], most: int) -> list[Line]:
        if len(lines) <= most:
            return lines
        return [*lines[:most], Line("item", self._label("more", count=len(lines) - most), tone="dim")]

    def _checked(self) -> Section:
        diagnosis = self._diagnosis
        return Section(
            self._label("checked"),
            tuple(Line("item", checked.text.to(self._language), tone="good") for checked in diagnosis.checked),
        )

    def _normal(self) -> Section:
        """What people ask about, and why it need not worry them."""
        lines = (
            Line("item", f"{one.text.to(self._language)} ({one.evidence[0]})", tone="good")
            for one in self._diagnosis.normal
        )
        return Section(self._label("normal"), tuple(lines))

    def _sentence(self, text: str) -> str:
        return f"{text[:1].upper()}{text[1:]}{'.' if text.isascii() else '。'}"

    def _unexplained(self) -> Section:
        lines: list[Line] = []
        for item in self._diagnosis.unexplained:
            phase = item.phase.to(self._language)
            named = not item.component or item.component.lower() in phase.lower()
            who = "" if named else f"{item.component}{self._label('comma')}"
            times = f" (x{item.count})" if item.count > 1 else ""
            lines.append(Line("quote", item.text[:COLUMNS_QUOTED] + times, str(item.place)))
            lines.append(Line("plain", f"{who}{phase}", self._label("look"), "dim", deep=True))
        return Section(self._label("unexplained"), tuple(lines))

    def _breadth(self) -> Section:
        """What a verdict of healthy speaks of, and what it does not."""
        diagnosis, comma = self._diagnosis, self._label("comma")
        parts = (("covers", diagnosis.covers), ("not-shown", diagnosis.not_shown))
        lines = [
            Line("plain", comma.join(area.text.to(self._language) for area in areas), self._label(key))
            for key, areas in parts
            if areas and (diagnosis.verdict == "healthy" or (diagnosis.remark and not diagnosis.unexplained))
        ]
        return Section("", tuple(lines))

    def _ruled_out(self) -> Section:
        """What somebody would think of first comes first; a long list of what it is not helps nobody."""
        lines = [
            Line("item", excluded.why.to(self._language), excluded.cause.id) for excluded in self._diagnosis.ruled_out
        ]
        return Section(self._label("ruled-out"), tuple(lines[:EXCLUDED_SHOWN]))

    def _unrelated(self) -> Section:
        lines: list[Line] = []
        for answer in self._diagnosis.unrelated:
            lines.append(Line("item", answer.finding.why.to(self._language), f"{answer.cause.code} {answer.cause.id}"))
            lines += [_quoted(quote) for quote in self._few(answer)]
            lines += [Line("command", step.command) for step in answer.fix[:1] if step.command]
        return Section(self._label("unrelated"), tuple(lines))

    def _few(self, answer: Answer) -> list[Quote]:
        return [self._quotes[id_] for id_ in answer.because[:1]]

    def _skipped(self) -> Section:
        lines = [Line("item", one.why.to(self._language), one.name, "dim") for one in self._diagnosis.skipped]
        return Section(self._label("skipped"), tuple(self._capped(lines, SYMPTOMS_SHOWN)))

    def _not_understood(self) -> Section:
        text = unread_lines(self._diagnosis.not_understood, self._language)
        return Section(self._label("not-understood"), (Line("plain", text, tone="dim"),) if text else ())


def is_said_by_another(symptom: Symptom, symptoms: tuple[Symptom, ...]) -> bool:
    """`BGP not established` beside the whole message of the same line would be said twice."""
    text = symptom.text.en
    return any(
        other.current == symptom.current
        and len(other.text.en) > len(text)
        and text in other.text.en
        and set(symptom.evidence[:1]) <= set(other.evidence)
        for other in symptoms
    )


def unread_lines(places: tuple[Place, ...], language: Language) -> str:
    """How many lines nobody understood, and where most of them are."""
    if not places:
        return ""
    count = sum(place.last - place.first + 1 for place in places)
    shown = ", ".join(str(place) for place in _largest(places))
    more = f", {label('more', language, count=len(places) - PLACES_SHOWN)}" if len(places) > PLACES_SHOWN else ""
    return f"{label('lines', language, count=count)} ({shown}{more})"


def _quoted(quote: Quote, *, deep: bool = False) -> Line:
    return Line("quote", quote.text, str(quote.place), deep=deep, spans=quote.decisive)


def best_line(quote: Quote) -> Quote:
    """The quote as one line: the one in which stands what decided, else the first."""
    at = quote.decisive[0][0] if quote.decisive else 0
    begin = quote.text.rfind("\n", 0, at) + 1
    text = quote.text[begin:].split("\n", 1)[0]
    spans = tuple((first - begin, min(last - begin, len(text))) for first, last in quote.decisive[:1])
    return quote._replace(text=text, decisive=spans)


def _largest(places: tuple[Place, ...]) -> list[Place]:
    largest = sorted(places, key=lambda place: place.first - place.last)[:PLACES_SHOWN]
    return [place for place in places if place in largest][:PLACES_SHOWN]
