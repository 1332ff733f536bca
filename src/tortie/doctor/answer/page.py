"""What stands on the page, in its order: verdict, chain, fix, pictures, and the evidence with its lines marked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from tortie import __version__
from tortie.doctor.answer import outline, records
from tortie.doctor.answer.holes import holes_of
from tortie.doctor.answer.labels import label, since_label, since_words, sure_label
from tortie.doctor.answer.markup import command, escaped, listed, quoted, section, table, ticked
from tortie.doctor.answer.pictures import draw_topology, draw_window
from tortie.doctor.causes.cause import Cause
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Quote, Symptom
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.timeline import start
from tortie.doctor.picture.topology import topology
from tortie.doctor.words import Language

SYMPTOMS_IN_CHAIN: Final = 4
# Troubles in which it matters how long the probe lets the agent start.
_STARTING: Final = frozenset(("killed-by-liveness", "start-terminated", "crash-loop", "restarts"))
_SAID: Final = "log-errors"  # a symptom that is nothing but a message


class Page:
    def __init__(
        self, diagnosis: Diagnosis, picture: Picture, language: Language, when: datetime | None = None
    ) -> None:
        self._diagnosis, self._picture, self._language, self._when = diagnosis, picture, language, when
        self._quotes = {quote.id: quote for quote in diagnosis.evidence}
        self._found = diagnosis.verdict == "cause-found"

    def say(self, key: str, **values: object) -> str:
        return label(key, self._language, **values)

    def headline(self) -> str:
        if not self._found:
            return outline.outline(self._diagnosis, self._language).headline
        first = self._diagnosis.causes[0].cause
        return f"{first.code} {first.name.to(self._language)}"

    def parts(self) -> Iterator[str]:
        diagnosis, language = self._diagnosis, self._language
        yield self._verdict()
        if not self._found:
            yield self._unexplained()
            yield self._next()
        for number, answer in enumerate(diagnosis.causes):
            yield from self._cause(answer, number)
        yield self._window()
        yield self._topology()
        yield self._symptoms()
        checked = listed(escaped(one.text.to(language)) for one in diagnosis.checked)
        yield section(self.say("checked"), checked + self._breadth())
        yield section(self.say("normal"), listed(ticked(one.text.to(language)) for one in diagnosis.normal))
        yield self._ruled_out()
        yield self._unrelated()
        if self._found:
            yield self._next()
        yield records.clock(diagnosis, self._picture, language)
        yield records.evidence(diagnosis, self._picture, language)
        yield self._about()
        yield records.not_understood(diagnosis, language)
        yield records.inputs(diagnosis, self._picture, language)

    def _verdict(self) -> str:
        verdict = self._diagnosis.verdict
        rows = [f'<span class="badge {verdict}">{escaped(self.say(verdict))}</span>']
        if self._found:
            first = self._diagnosis.causes[0]
            rows.append(f"<h1>{self._code(first.cause)} {escaped(first.cause.name.to(self._language))}</h1>")
            rows.append(f"<p>{escaped(first.finding.why.to(self._language))}</p>")
            chips = "".join(
                f'<span class="chip">{escaped(text)}</span>'
                for text in dict.fromkeys(c.name for c in first.finding.culprits)
            )
            rows.append(f'<p class="chips">{chips}</p>' if chips else "")
            rows.append(f'<p class="soft">{escaped(self._sure(first))}</p>')
        else:
            rows.append(f"<h1>{escaped(self.headline())}</h1>")
        rows.append(f'<p class="soft">{escaped(self._made())}</p>')
        return f'<header class="verdict {verdict}">\n' + "\n".join(filter(None, rows)) + "\n</header>"

    def _unexplained(self) -> str:
        """What keeps a cluster from being called healthy, and where to look."""
        rows = (
            f'{quoted(item.text)}<p class="soft">{escaped(str(item.place))} · {escaped(self.say("look"))}'
            f"{escaped(self.say('colon'))}{escaped(item.phase.to(self._language))}</p>"
            for item in self._diagnosis.unexplained
        )
        return section(self.say("unexplained"), listed(rows, "proof"))

    def _breadth(self) -> str:
        """What a verdict of healthy speaks of, and what it does not."""
        if self._diagnosis.verdict != "healthy":
            return ""
        parts = (("covers", self._diagnosis.covers), ("not-shown", self._diagnosis.not_shown))
        told = (
            (self.say(key), self.say("comma").join(area.text.to(self._language) for area in areas))
            for key, areas in parts
            if areas
        )
        return "".join(
            f'<p class="soft">{escaped(name)}{escaped(self.say("colon"))}{escaped(text)}</p>' for name, text in told
        )

    def _made(self) -> str:
        """By which version, when, from how much."""
        when = [self._when.strftime("%Y-%m-%d %H:%M %Z").strip()] if self._when else []
        inputs = self._picture.inputs
        read = [self.say("one-input") if len(inputs) == 1 else self.say("inputs-read", count=len(inputs))]
        return " · ".join([f"Tortie {__version__}", *when, *(read if inputs else [])])

    def _sure(self, answer: Answer) -> str:
        severity = f"{self.say('severity')} {self.say(answer.cause.severity)}"
        since = next((s.since for s in self._symptoms_of(answer) if s.since), "")
        parts = [answer.cause.id, sure_label(answer.confidence, self._language), severity]
        if since:
            parts.append(f"{since_label(since, self._language)} {since_words(since, self._language)}")
        return " · ".join(parts)

    def _code(self, cause: Cause) -> str:
        return f'<a href="#{escaped(cause.code)}">{escaped(cause.code)}</a>'

    def _symptoms_of(self, answer: Answer) -> list[Symptom]:
        return [self._diagnosis.symptoms[int(id_[1:]) - 1] for id_ in answer.explains]

    def _cause(self, answer: Answer, number: int) -> Iterator[str]:
        language, found = self._language, self._found
        named = f"{answer.cause.code} {answer.cause.name.to(language)}"
        title = self.say("why") if not number else f"{self.say('also')}{self.say('colon')}{named}"
        if not found:
            yield section(f"{number + 1}. {named}", self._candidate(answer))
            return
        yield section(title, self._chain(answer, named if not number else answer.finding.why.to(language)))
        yield section(self.say("fix"), self._steps(answer.fix, marked=True))
        yield section(self.say("verify"), self._steps(answer.verify, marked=False), "verify")
        prevent = listed(escaped(text.to(language)) for text in answer.prevent)
        yield section(self.say("prevent"), prevent, "prevent")

    def _candidate(self, answer: Answer) -> str:
        proof = listed((self._quote(self._quotes[id_]) for id_ in answer.because), "proof")
        why = f"<p>{escaped(answer.finding.why.to(self._language))}</p>"
        return f'{why}{proof}<p class="soft">{self._code(answer.cause)} · {escaped(self._sure(answer))}</p>'

    def _chain(self, answer: Answer, head: str) -> str:
        """Lines that prove the cause stand together; only what the cause leads to comes behind an arrow."""
        shown = self._led_to(answer)
        below = {place for symptom in shown for place in symptom.evidence}
        first = answer.because[:1]
        told = [(id_, self._quotes[id_]) for id_ in answer.because]
        places = set(answer.finding.evidence) - below
        proof = [quote for id_, quote in told if id_ in first or quote.place in places]
        quotes = listed(map(self._quote, proof), "proof")
        cause = f'<div class="link cause"><strong>{escaped(head)}</strong>{quotes}</div>'
        if not shown:
            return cause
        arrow = f'<p class="arrow"><span>↓</span> {escaped(self.say("leads-to"))}</p>'
        felt = [self._quotes[id_] for id_ in answer.because if self._quotes[id_] not in proof]
        seen = listed((self._felt(symptom, felt) for symptom in shown), "felt")
        return f'{cause}{arrow}<div class="link symptoms">{seen}</div>'

    def _led_to(self, answer: Answer) -> list[Symptom]:
        """What is felt now and no cause before it explains; a message that proves the cause is not its consequence."""
        before = self._diagnosis.causes[: self._diagnosis.causes.index(answer)]
        taken = {id_ for one in before for id_ in one.explains}
        own = answer._replace(explains=tuple(id_ for id_ in answer.explains if id_ not in taken))
        current = [symptom for symptom in self._symptoms_of(own) if symptom.current]
        felt = [one for one in current if not self._is_proof(one, answer) and not self._is_repeated(one)]
        return felt[:SYMPTOMS_IN_CHAIN]

    def _is_repeated(self, symptom: Symptom) -> bool:
        return outline.is_said_by_another(symptom, self._diagnosis.symptoms)

    def _is_proof(self, symptom: Symptom, answer: Answer) -> bool:
        """Whether it is nothing but the words of a line that shows the cause."""
        places = {self._quotes[id_].place for id_ in answer.because[:1]}
        if symptom.kind == _SAID:
            places |= set(answer.finding.evidence)
        words = max(symptom.text.en.split("…"), key=len).split()
        said = (quote.text.split() for quote in self._diagnosis.evidence if quote.place in places)
        return any(" ".join(words) in " ".join(text) for text in said)

    def _is_shown_above(self, symptom: Symptom) -> bool:
        causes = self._diagnosis.causes
        above = any(symptom in self._led_to(answer) or self._is_proof(symptom, answer) for answer in causes)
        return above or self._is_repeated(symptom)

    def _felt(self, symptom: Symptom, quotes: list[Quote]) -> str:
        """With its lines, which are taken from the quotes: each is shown once, with the first symptom that has it."""
        own = [quote for quote in quotes if quote.place in symptom.evidence]
        for quote in own:
            quotes.remove(quote)
        return self._linked(symptom) + "".join(map(self._quote, own))

    def _linked(self, symptom: Symptom) -> str:
        link = next((quote.id for quote in self._diagnosis.evidence if quote.place in symptom.evidence), "")
        text = escaped(symptom.text.to(self._language).strip())
        return f'<a class="seen" href="#{link}">{text}</a>' if link else text

    def _quote(self, quote: Quote) -> str:
        place = f'<a class="place soft" href="#{quote.id}">{escaped(str(quote.place))}</a>'
        return place + quoted(quote.text, quote.decisive)

    def _steps(self, steps: tuple[Step, ...], *, marked: bool) -> str:
        rows = []
        for step in steps:
            badge = f'<span class="badge {step.risk}">{escaped(self.say(step.risk))}</span>' if marked else ""
            left = [hole for hole in holes_of(step, self._language) if hole.refused]
            notes = "".join(f'<p class="soft">{escaped(self.say("hole", hole=h.name, why=h.why))}</p>' for h in left)
            rows.append(f"<li>{badge}{escaped(step.text.to(self._language))}{command(step.command)}{notes}</li>")
        return f'<ol class="steps">{"".join(rows)}</ol>' if rows else ""

    def _next(self) -> str:
        asks = self._diagnosis.next
        rows = [f"<p>{escaped(ask.why.to(self._language))}</p>{command(ask.command)}" for ask in asks]
        return section(self.say("next"), "".join(rows))

    def _window(self) -> str:
        told = any(symptom.kind in _STARTING for symptom in self._diagnosis.symptoms)
        shown = start(self._picture) if told else None
        svg = draw_window(shown, self._language) if shown else ""
        return section(self.say("window"), f'<div class="pan">{svg}</div>' if svg else "", "drawn")

    def _topology(self) -> str:
        claimed = self._diagnosis.causes[:1] if self._found else ()
        culprits = frozenset(text for answer in claimed for text in answer.finding.objects)
        svg = draw_topology(topology(self._picture), culprits, self._language)
        return section(self.say("topology"), f'<div class="pan">{svg}</div>' if svg else "", "drawn")

    def _symptoms(self) -> str:
        """All of them, unless the chains show them all."""
        if self._found and all(map(self._is_shown_above, self._diagnosis.symptoms)):
            return ""
        explained = {id_ for answer in self._diagnosis.causes for id_ in answer.explains}
        rows = []
        for number, symptom in enumerate(self._diagnosis.symptoms, 1):
            mark = "over" if not symptom.current else "explained" if f"s{number}" in explained else "open"
            told = self.say(mark) if self._found or mark == "over" else ""
            cell = f'<td>{self._linked(symptom)}</td><td class="mark">{escaped(told)}</td>'
            rows.append(f'<tr class="{mark}">{cell}</tr>')
        return section(self.say("symptoms"), f"<table>{''.join(rows)}</table>" if rows else "", "symptoms")

    def _ruled_out(self) -> str:
        rows = (
            (f"{self._code(one.cause)} {escaped(one.cause.id)}", escaped(one.why.to(self._language)))
            for one in self._diagnosis.ruled_out[: outline.EXCLUDED_SHOWN]
        )
        return section(self.say("ruled-out"), table(rows, "stacked"), "ruled-out")

    def _unrelated(self) -> str:
        rows = "".join(
            f"<h3>{self._code(answer.cause)} {escaped(answer.cause.name.to(self._language))}</h3>"
            f"<p>{escaped(answer.finding.why.to(self._language))}</p>{self._steps(answer.fix[:1], marked=True)}"
            for answer in self._diagnosis.unrelated
        )
        return section(self.say("unrelated"), rows)

    def _about(self) -> str:
        """Every cause that the page names: where its links lead, and how to read more of it."""
        diagnosis = self._diagnosis
        causes = [answer.cause for answer in (*diagnosis.causes, *diagnosis.unrelated)]
        causes += [one.cause for one in diagnosis.ruled_out[: outline.EXCLUDED_SHOWN]]
        named = {cause.code: cause for cause in causes}
        language = "" if self._language == "en" else f" --lang {self._language}"
        rows = "".join(
            f'<div class="about" id="{escaped(cause.code)}"><h3>{escaped(cause.code)} {escaped(cause.id)}</h3>'
            f"<p>{escaped(cause.what.to(self._language))}</p>"
            f"{command(f'tortie doctor explain {cause.code}{language}')}</div>"
            for cause in named.values()
        )
        return section(self.say("about"), rows, "paper-not")
