"""The lower half of the page: what happened when, the lines themselves, and what was read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tortie.doctor.answer.excerpts import Row, excerpts
from tortie.doctor.answer.labels import label
from tortie.doctor.answer.markup import escaped, marked, section, table
from tortie.doctor.answer.outline import unread_lines
from tortie.doctor.diagnosis import Diagnosis, Quote
from tortie.doctor.judgement.quoting import place_of, shortened
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.timeline import Moment, timeline
from tortie.doctor.reading.exhibit import Input
from tortie.doctor.words import Language
from tortie.model.measure import indented, plain

ROWS_SHOWN: Final = 40
_MESSAGE: Final = 240  # columns
_ROW: Final = 600
_BESIDE: Final = 200  # of a line beside those that are quoted


def clock(diagnosis: Diagnosis, picture: Picture, language: Language) -> str:
    """Every line that the answer rests on is among them, if it has a time."""
    used = [id_ for answer in (*diagnosis.causes, *diagnosis.unrelated) for id_ in answer.because]
    by_id = {quote.id: quote for quote in diagnosis.evidence}
    quotes = [by_id[id_] for id_ in dict.fromkeys(used)]
    moments = timeline(picture, [quote.place for quote in quotes], ROWS_SHOWN)
    if len(moments) < 2:
        return ""
    rows = "".join(_moment(moment, quotes, language) for moment in moments)
    return section(label("timeline", language), f'<table class="clock">{rows}</table>', "timeline")


def _moment(moment: Moment, quotes: list[Quote], language: Language) -> str:
    form = "%Y-%m-%d %H:%M:%S" if moment.dated else "%m-%d %H:%M:%S"
    when = datetime.fromtimestamp(moment.time, UTC).strftime(form)
    level = f" {moment.level}" if moment.level else ""
    text, link = plain(moment.text), ""
    if not moment.decisive:
        shown = shortened(text, _MESSAGE)
        cell = marked(shown.text, None)
    else:
        own = [quote for quote in quotes if _overlap(quote, moment)]
        words = [quote.text[begin:end] for quote in own for begin, end in quote.decisive]
        span = next((span for word in words if (span := place_of(word, text))), None)
        shown = shortened(text, _MESSAGE, span)
        link = f' <a href="#{own[0].id}">{escaped(str(moment.place))}</a>' if own else ""
        cell = f"{marked(shown.text, shown.span)}{link}"
    kind = ' class="decisive"' if moment.decisive else ""
    return f"<tr{kind}><th>{when}</th><td>{escaped(moment.clock)}{escaped(level)}</td><td>{cell}</td></tr>"


def _overlap(quote: Quote, moment: Moment) -> bool:
    one, other = quote.place, moment.place
    return one.source == other.source and one.first <= other.last and other.first <= one.last


def evidence(diagnosis: Diagnosis, picture: Picture, language: Language) -> str:
    by_id = {quote.id: quote for quote in diagnosis.evidence}
    parts = []
    for excerpt in excerpts(picture, diagnosis.evidence):
        rows: list[str] = []
        words: tuple[str, ...] = ()
        for row in excerpt.rows:
            if row.ids:
                told = (by_id[id_] for id_ in row.ids)
                words = tuple(quote.text[begin:end] for quote in told for begin, end in quote.decisive)
            rows.append(_row(row, words))
        parts.append(f'<h3>{escaped(excerpt.source)}</h3><div class="source">{"".join(rows)}</div>')
    return section(label("evidence", language), "".join(parts), "paper-not")


def _row(row: Row, words: tuple[str, ...]) -> str:
    if row.number is None:
        return '<div class="gap">⋯</div>'
    anchors = "".join(f'<a id="{id_}"></a>' for id_ in row.ids)
    blanks, text = indented(row.text)
    span = next((span for word in words if (span := place_of(word, text))), None) if row.hit else None
    shown = shortened(text, _ROW if row.hit else _BESIDE, span)
    kind = "row hit" if row.hit else "row"
    line = f"<span>{blanks}{marked(shown.text, shown.span)}</span>"
    return f'<div class="{kind}"><span>{anchors}{row.number}</span>{line}</div>'


def not_understood(diagnosis: Diagnosis, language: Language) -> str:
    text = unread_lines(diagnosis.not_understood, language)
    body = f'<p class="soft">{escaped(text)}</p>' if text else ""
    return section(label("not-understood", language), body, "paper-not")


def inputs(diagnosis: Diagnosis, picture: Picture, language: Language) -> str:
    """All that was handed over: what was read, and what was not, with the reason."""
    shown = picture.inputs[:ROWS_SHOWN]
    rows = [(escaped(one.name), escaped(_much(one, language))) for one in shown]
    left = len(picture.inputs) - len(shown)
    if left > 0:
        rows.append((escaped(label("more-inputs", language, count=left)), ""))
    read = section(label("inputs", language), table(rows, "stacked"), "inputs")
    skipped = [(escaped(one.name), escaped(one.why.to(language))) for one in diagnosis.skipped[:ROWS_SHOWN]]
    return read + section(label("skipped", language), table(skipped, "stacked"), "inputs")


def _much(one: Input, language: Language) -> str:
    parts = [label("lines", language, count=f"{one.lines:,}")] if one.lines else []
    return " · ".join([*parts, *([_size(one.size)] if one.size else [])])


def _size(count: int) -> str:
    amount, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if units[0] == "B" or amount >= 100 else f"{amount:.1f} {units[0]}"
