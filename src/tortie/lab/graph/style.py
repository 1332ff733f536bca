"""Colours, and the style sheet of the SVG for light and dark screens.

Everything is said twice in plain rules, because the viewers that are not browsers know neither variables nor media
queries; they show the light picture.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Palette(NamedTuple):
    canvas: str
    card: str
    card_edge: str
    rack: str
    rack_edge: str
    text: str
    muted: str
    up: str
    up_fill: str
    down: str
    down_fill: str
    warn: str
    warn_fill: str
    warn_text: str
    cell_up: str
    cell_none: str
    shadow: str


LIGHT: Final = Palette(
    canvas="#ffffff",
    card="#ffffff",
    card_edge="#d0d7de",
    rack="#f6f8fa",
    rack_edge="#d8dee4",
    text="#1f2328",
    muted="#59636e",
    up="#1a7f37",
    up_fill="#dafbe1",
    down="#cf222e",
    down_fill="#ffebe9",
    warn="#c98a00",
    warn_fill="#fff8c5",
    warn_text="#7d5600",
    cell_up="#8fd6a3",
    cell_none="#eaeef2",
    shadow="#1f2328",
)
DARK: Final = Palette(
    canvas="#0d1117",
    card="#1c2128",
    card_edge="#3d444d",
    rack="#151b23",
    rack_edge="#2f3742",
    text="#f0f6fc",
    muted="#9198a1",
    up="#3fb950",
    up_fill="#12361f",
    down="#f85149",
    down_fill="#46181c",
    warn="#d29922",
    warn_fill="#3a2c0b",
    warn_text="#e3b341",
    cell_up="#2a7a3e",
    cell_none="#21262d",
    shadow="#010409",
)

_FONT: Final = (
    'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,'
    '"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif'
)
_FIXED: Final = f"""\
text{{font-family:{_FONT}}}
.bold{{font-weight:600}}
.link,.sample{{fill:none;stroke-width:1.4}}
.link.down,.sample.down,.link.one-sided,.sample.one-sided{{stroke-width:2;stroke-dasharray:6 4}}
.card,.group,.ground{{stroke-width:1}}
.card.not-ready,.card.starting{{stroke-width:1.5}}
.icon{{fill:none;stroke-width:1.3}}
"""


def sheet() -> str:
    """The rules for light screens, and those that take their place on dark ones."""
    return f"{_FIXED}{_rules(LIGHT)}@media (prefers-color-scheme:dark){{\n{_rules(DARK)}}}\n"


def _rules(colours: Palette) -> str:
    return f"""\
.canvas{{fill:{colours.canvas}}}
.group{{fill:{colours.rack};stroke:{colours.rack_edge}}}
.card{{fill:{colours.card};stroke:{colours.card_edge}}}
.card.other{{fill:{colours.rack}}}
.card.not-ready{{stroke:{colours.down}}}
.card.starting{{stroke:{colours.warn}}}
.shadow{{fill:{colours.shadow};fill-opacity:.07}}
.icon{{stroke:{colours.muted}}}
text{{fill:{colours.text}}}
.muted,.address,.phase,.rack,.row{{fill:{colours.muted}}}
.phase.ready{{fill:{colours.up}}}
.phase.not-ready,.row.bad,.label.down{{fill:{colours.down}}}
.phase.starting,.label.one-sided,.verdict.starting{{fill:{colours.warn_text}}}
.dot.ready{{fill:{colours.up}}}
.dot.not-ready{{fill:{colours.down}}}
.dot.starting{{fill:{colours.warn}}}
.link.up,.sample.up{{stroke:{colours.up}}}
.link.down,.sample.down{{stroke:{colours.down}}}
.link.one-sided,.sample.one-sided{{stroke:{colours.warn}}}
.head{{fill:{colours.warn}}}
.ground.down{{fill:{colours.down_fill};stroke:{colours.down}}}
.ground.one-sided{{fill:{colours.warn_fill};stroke:{colours.warn}}}
.pill.good{{fill:{colours.up_fill}}}
.pill.bad{{fill:{colours.down_fill}}}
.pill.starting{{fill:{colours.warn_fill}}}
.verdict.good{{fill:{colours.up}}}
.verdict.bad{{fill:{colours.down}}}
.cell.up{{fill:{colours.cell_up}}}
.cell.down{{fill:{colours.down}}}
.cell.one-sided{{fill:{colours.warn}}}
.cell.none{{fill:{colours.cell_none}}}
.grid{{fill:{colours.canvas};fill-opacity:.6}}
.cell.self{{fill:{colours.card_edge}}}
"""
