"""The answer in three lines, for a chat or a pager: what it is, where it shows, what to run. Commands are never cut."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tortie.doctor.answer.labels import label, sure_label
from tortie.doctor.answer.outline import best_line, outline
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Quote
from tortie.doctor.judgement.quoting import shortened
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language
from tortie.model.measure import columns, plain

QUOTED: Final = 100  # columns of a line of evidence
_WHERE: Final = 60  # columns of the culprits
_MESSAGE: Final = 3  # words; less is a name
_COLOURS: Final = {"cause-found": "31", "healthy": "32", "undetermined": "33"}


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    lines = _Brief(diagnosis, language).lines()
    if colour:
        lines[0] = f"\x1b[{_COLOURS[diagnosis.verdict]}m{lines[0]}\x1b[0m"
    return "\n".join(lines) + "\n"


class _Brief:
    def __init__(self, diagnosis: Diagnosis, language: Language) -> None:
        self._diagnosis, self._language = diagnosis, language
        self._quotes = {quote.id: quote for quote in diagnosis.evidence}

    def _label(self, key: str, **values: object) -> str:
        return label(key, self._language, **values)

    def _line(self, key: str, text: str) -> str:
        return f"{self._label(key)}{self._label('colon')}{plain(text)}"

    def lines(self) -> list[str]:
        told = {"cause-found": self._found, "healthy": self._healthy, "undetermined": self._undetermined}
        verdict = self._label(self._diagnosis.verdict)
        what, where, then = told[self._diagnosis.verdict]()
        return [plain(f"{verdict.upper()}{self._label('colon')}{what}"), where, then]

    def _found(self) -> tuple[str, str, str]:
        causes = self._diagnosis.causes
        what = self._label("semicolon").join(self._named(answer) for answer in causes)
        first = causes[0]
        objects = _as_fit(tuple(dict.fromkeys(one.name for one in first.finding.culprits)), _WHERE)
        quote = next((self._quotes[id_] for id_ in first.because), None)
        parts = [objects, self._quoted(quote)] if quote else [objects]
        return what, self._line("where", self._label("semicolon").join(filter(None, parts))), self._fix(first.fix)

    def _named(self, answer: Answer) -> str:
        cause = answer.cause
        return f"{cause.code} {cause.name.to(self._language)}{self._label('comma')}" + sure_label(
            answer.confidence, self._language
        )

    def _quoted(self, quote: Quote) -> str:
        """What decided is enough; where that is not known, or only a name, the line around it."""
        line = best_line(quote)
        words = line.text[slice(*line.decisive[0])] if line.decisive else ""
        if len(words.split()) < _MESSAGE:
            words = line.text
        return f"{quote.place} {shortened(' '.join(words.split()), QUOTED).text}"

    def _fix(self, steps: tuple[Step, ...]) -> str:
        """The first step; only a whole command of one line is worth pasting."""
        if not steps:
            return self._line("fix", self._label("none"))
        step = steps[0]
        short = step.command and "\n" not in step.command
        does = step.command if short else step.text.to(self._language)
        number = f" 1/{len(steps)}" if len(steps) > 1 else ""
        # The command comes last and by itself, so that it can be copied up to the end of the line.
        return f"{self._label('fix')}{number} [{self._label(step.risk)}]{self._label('colon')}{plain(does)}"

    def _healthy(self) -> tuple[str, str, str]:
        diagnosis, language = self._diagnosis, self._language
        covered = self._label("semicolon").join(one.text.to(language) for one in diagnosis.checked)
        where = self._line("checked", covered or self._label("none"))
        beside = diagnosis.unrelated
        if not beside:
            return self._headline(), where, self._otherwise()
        named = self._label("semicolon").join(f"{one.cause.code} {one.cause.name.to(language)}" for one in beside)
        what = f"{self._headline()}{self._label('gap')}{self._label('unrelated')}{self._label('colon')}{named}"
        return what, where, self._fix(beside[0].fix)

    def _otherwise(self) -> str:
        return self._line("if-still", "tortie doctor collect | bash > bundle.txt; tortie doctor bundle.txt")

    def _undetermined(self) -> tuple[str, str, str]:
        diagnosis = self._diagnosis
        what = self._headline()
        if diagnosis.causes:
            first = self._named(diagnosis.causes[0])
            what += f"{self._label('gap')}{self._label('first-candidate')}{self._label('colon')}{first}"
        ask = next((ask.command for ask in diagnosis.next), "")
        then = self._line("next", ask) if ask else self._otherwise()
        return what, self._line("open-line", self._unexplained()), then

    def _unexplained(self) -> str:
        """What is wrong now, in the words of the evidence; without a symptom, the first candidate's line."""
        diagnosis = self._diagnosis
        places = [one.place for one in diagnosis.unexplained]
        places += [place for symptom in diagnosis.symptoms if symptom.current for place in symptom.evidence]
        by_place = {quote.place: quote for quote in diagnosis.evidence}
        quotes = [by_place[place] for place in places if place in by_place]
        quotes += [self._quotes[id_] for answer in diagnosis.causes for id_ in answer.because]
        return self._quoted(quotes[0]) if quotes else self._label("none")

    def _headline(self) -> str:
        return outline(self._diagnosis, self._language).headline


def _as_fit(names: tuple[str, ...], room: int) -> str:
    """As many whole names as fit, the culprit always."""
    told = ""
    for name in names:
        longer = f"{told}, {name}" if told else name
        if told and columns(longer) > room:
            break
        told = longer
    return told
