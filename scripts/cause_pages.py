"""Writes docs/causes/ from what the doctor knows; `make pages` calls it, `tests/test_docs.py` holds the result."""

from __future__ import annotations

from pathlib import Path

from tortie.doctor.causes.catalogue import all_causes
from tortie.doctor.knowledge import pages

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "causes"


def main() -> None:
    wanted = pages(all_causes())
    for path in FOLDER.glob("*/*.md"):
        if path.relative_to(FOLDER).as_posix() not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(wanted)} pages in docs/causes")


if __name__ == "__main__":
    main()
