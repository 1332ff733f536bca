"""Small pieces of HTML. Every text of the evidence goes through here, so that none of it is ever more than text."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.doctor.answer.marks import quoted_rows
from tortie.doctor.judgement.quoting import Span
from tortie.model.measure import indented, plain


def escaped(text: str) -> str:
    return _html(plain(text))


def ticked(text: str) -> str:
    """A sentence of our own, in which names of settings stand between backticks."""
    parts = escaped(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def marked(text: str, span: Span | None) -> str:
    """A text that is plain already, what decided in it marked."""
    if span is None:
        return _html(text)
    begin, end = span
    return f"{_html(text[:begin])}<mark>{_html(text[begin:end])}</mark>{_html(text[end:])}"


def quoted(text: str, spans: tuple[Span, ...] = ()) -> str:
    rows = (shown.blanks + marked(shown.text, shown.span) for shown in quoted_rows(text, spans))
    return f"<pre>{chr(10).join(rows)}</pre>"


def command(text: str) -> str:
    """The button that copies it is added by the script, where scripts run."""
    if not text:
        return ""
    rows = "\n".join(blanks + _html(rest) for blanks, rest in map(indented, text.splitlines()))
    return f'<div class="command"><pre>{rows}</pre></div>'


def section(title: str, body: str, kind: str = "") -> str:
    """Nothing at all where there is nothing to say."""
    name = f' class="{kind}"' if kind else ""
    return f"<section{name}>\n<h2>{escaped(title)}</h2>\n{body}\n</section>" if body else ""


def listed(items: Iterable[str], kind: str = "plain") -> str:
    """Items are HTML already."""
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{kind}">{rows}</ul>' if rows else ""


def table(rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """The first cell of each row is its head; cells are HTML already. Narrow pages put cells below each other."""
    told = "".join(
        "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for tag, cell in zip(_tags(), row, strict=False)) + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}">{told}</table>' if told else ""


def _tags() -> Iterable[str]:
    yield "th"
    while True:
        yield "td"
