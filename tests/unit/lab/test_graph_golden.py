"""What `tortie lab graph` draws, whole files; run with TORTIE_WRITE_GOLDEN=1 to write them, then look at them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.lab_views import CHINESE, LARGE, RACKS, THREE

from tortie.lab.graph.ascii import ascii
from tortie.lab.graph.dot import dot
from tortie.lab.graph.mermaid import mermaid
from tortie.lab.graph.picture import LabView
from tortie.lab.graph.svg import svg

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "graph"
VIEWS = {"three": THREE, "racks": RACKS, "chinese": CHINESE, "large": LARGE}


def drawn(drawing: Callable[..., str], name: str, view: LabView) -> str:
    if drawing in (ascii, svg):
        return drawing(view, language="zh" if name == "chinese" else "en")
    return drawing(view)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize(
    ("drawing", "ending"),
    [(ascii, "txt"), (mermaid, "mmd"), (dot, "dot"), (svg, "svg")],
    ids=lambda each: str(each)[:6],
)
def test_a_lab_is_drawn_as_in_the_golden_file(name: str, drawing: Callable[..., str], ending: str) -> None:
    text = drawn(drawing, name, VIEWS[name])
    golden = GOLDEN / f"{name}.{ending}"
    if os.environ.get("TORTIE_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
    assert text == drawn(drawing, name, VIEWS[name])
