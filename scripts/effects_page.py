"""Writes docs/reference/effects.md from the table; `make pages` calls it, `tests/test_docs.py` holds the result."""

from __future__ import annotations

from pathlib import Path

from tortie.model.effects.page import page

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "effects.md"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print("docs/reference/effects.md")
