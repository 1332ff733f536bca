"""Writes docs/incidents/ and the pictures beside docs/casts/*.cast from these; `make casts` calls it."""

from __future__ import annotations

from pathlib import Path

from tortie.lab.plays.catalogue import PLAYS
from tortie.lab.plays.pages import LANGUAGES, pages
from tortie.lab.plays.recording import picture, read_cast

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    recordings = {}
    for play in PLAYS:
        for language in LANGUAGES:
            cast = DOCS / "casts" / f"{play.name}.{language}.cast"
            if cast.exists():
                recordings[play.name, language] = recording = read_cast(cast.read_text(encoding="utf-8"))
                cast.with_suffix(".svg").write_text(picture(recording), encoding="utf-8")
    folder = DOCS / "incidents"
    folder.mkdir(exist_ok=True)
    wanted = pages(recordings)
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"{len(recordings)} recordings, {len(wanted)} pages in docs/incidents")


if __name__ == "__main__":
    main()
