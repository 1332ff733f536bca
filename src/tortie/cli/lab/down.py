"""`tortie lab down`: everything of a lab goes, and what went is counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.ending import Gone, take_down
from tortie.lab.registry import LabFolder, all_labs
from tortie.lab.words import counted
from tortie.model.errors import TortieError

_FORMS: Final = ("text", "json")


def down(*, name: str | None, lang: str | None, output: str, color: str, everything: bool) -> int:
    def work(talk: Talk) -> int:
        folders = all_labs(talk.labs) if everything else [talk.named()]
        gone: dict[str, Gone | None] = {}
        failures: list[TortieError] = []
        for folder in folders:
            try:
                gone[folder.name] = take_down(folder, _waiting(talk))
            except TortieError as error:
                failures.append(error)
                continue
            if not talk.json:
                sys.stdout.write(_text(talk, folder, gone[folder.name]) + "\n")
        if talk.json:
            print_json(
                {"labs": [{"name": name, "gone": told._asdict() if told else None} for name, told in gone.items()]}
            )
        elif not folders:
            sys.stdout.write(talk.say("down.none.all") + "\n")
        if failures:
            raise failures[0]
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _waiting(talk: Talk) -> Callable[[], None]:
    said: list[bool] = []

    def wait() -> None:
        if not said and sys.stderr.isatty():
            sys.stderr.write(talk.say("down.busy") + "\n")
        said.append(True)

    return wait


def _text(talk: Talk, folder: LabFolder, gone: Gone | None) -> str:
    if gone is None:
        return talk.say("down.none", name=folder.name)
    counts = [counted(talk.language, f"count.{kind}", count) for kind, count in gone._asdict().items()]
    return talk.say("down.gone", name=folder.name, counts=talk.say("reasons.join").join(counts))
