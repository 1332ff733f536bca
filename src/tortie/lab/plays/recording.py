"""A recorded play read back: an asciicast as lines of text with their styles, and those as a picture. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

from tortie.lab.plays.showing import WIDTH
from tortie.model.measure import columns

_SGR: Final = re.compile(r"\x1b\[(\d*)m")
_CLASSES: Final = {"1": "h", "32": "c", "36": "t"}  # headings, commands, what is told

# Of a monospaced font: 0.6 em is what most have. Wide characters are placed one run at a time, two columns each.
_COLUMN: Final = 8.4
_LINE: Final = 19
_PAD: Final = 18
_BAR: Final = 34
_STYLE: Final = """
svg{color-scheme:light dark}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Noto Sans Mono CJK SC",monospace;
white-space:pre;fill:#d7dde5}
.h{font-weight:700;fill:#fff}.c{fill:#8bd49c}.t{fill:#8ec7f2}.n{fill:#8b95a1}
"""


class Span(NamedTuple):
    text: str
    kind: str  # h, c, t, or nothing for what commands answer


class Recording(NamedTuple):
    title: str
    lines: tuple[tuple[Span, ...], ...]

    @property
    def text(self) -> str:
        return "\n".join("".join(span.text for span in line).rstrip() for line in self.lines) + "\n"


def read_cast(cast: str) -> Recording:
    header, *events = (json.loads(line) for line in cast.splitlines() if line)
    text = "".join(event[2] for event in events if event[1] == "o").replace("\r\n", "\n").rstrip("\n")
    return Recording(str(header.get("title", "")), tuple(tuple(_spans(line)) for line in text.split("\n")))


def _spans(line: str) -> Iterator[Span]:
    """Neighbours of one style are one: what is typed word by word is one command."""
    parts = _SGR.split(line)
    kinds = ("", *(_CLASSES.get(style, "") for style in parts[1::2]))
    pieces = [(kind, text) for kind, text in zip(kinds, parts[::2], strict=True) if text]
    for kind, group in groupby(pieces, key=lambda piece: piece[0]):
        yield Span("".join(text for _, text in group), kind)


def picture(recording: Recording) -> str:
    """All of it as one still terminal, as long as it takes."""
    width = round(_COLUMN * WIDTH + 2 * _PAD)
    height = _BAR + _LINE * len(recording.lines) + _PAD
    rows = "\n".join(_row(line, _BAR + _LINE * (number + 1) - 5) for number, line in enumerate(recording.lines) if line)
    title = escape(recording.title)
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="17" r="6" fill="{c}"/>' for n, c in enumerate(_DOTS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{title}">\n<title>{title}</title>\n<style>{_STYLE}</style>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1b2027"/>{dots}\n'
        f'<text class="n" x="{width / 2:g}" y="22" text-anchor="middle">{title}</text>\n{rows}\n</svg>\n'
    )


_DOTS: Final = ("#e0675f", "#e0b34f", "#6fb36b")


def _row(line: tuple[Span, ...], y: int) -> str:
    column, parts = 0, []
    for span in line:
        for run in _runs(span.text):
            shown = run.strip(" ")
            if shown:
                x = _PAD + _COLUMN * (column + len(run) - len(run.lstrip(" ")))
                # Without it a font with other wide characters would push what follows, or run into it.
                fixed = (
                    ""
                    if run.isascii()
                    else f' textLength="{_COLUMN * columns(shown):g}" lengthAdjust="spacingAndGlyphs"'
                )
                kind = f' class="{span.kind}"' if span.kind else ""
                parts.append(f'<tspan x="{x:g}"{kind}{fixed}>{escape(shown, quote=False)}</tspan>')
            column += columns(run)
    return f'<text y="{y}">{"".join(parts)}</text>' if parts else ""


def _runs(text: str) -> Iterator[str]:
    """Pieces that are all of wide characters, or all of others."""
    yield from re.findall(
        r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60]+|[^\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60]+", text
    )
