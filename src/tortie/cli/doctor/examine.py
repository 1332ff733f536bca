"""`tortie doctor PATH...`: from files, folders, archives and standard input to an answer in the wanted form."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime

from tortie.cli.doctor.working import tell_how_to_end, told_to_wait
from tortie.cli.language import choose_language, may_colour
from tortie.doctor.answer import forms
from tortie.doctor.causes.catalogue import needles
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.sources import Opened, open_sources
from tortie.model.errors import UsageError


def examine(
    *,
    paths: tuple[str, ...],
    output: str,
    brief: bool = False,
    here: bool,
    root: str | None,
    lab: bool = False,
    name: str | None = None,
    lang: str | None,
    color: str,
) -> int:
    language = choose_language(lang, os.environ)
    render = forms.form(output, brief=brief)
    if root is not None and not here:
        raise UsageError("--root without --here", "it says where this machine's files are", "add --here")
    if name is not None and not lab:
        raise UsageError("--name without --lab", "it says which lab is asked", "add --lab")
    if not paths and not here and not lab:
        if sys.stdin.isatty():
            fix = "name files, folders or archives; - is standard input; `tortie doctor --help` has examples"
            raise UsageError("there is no evidence", "no file was named and nothing is piped in", fix)
        paths = ("-",)
    opened = open_sources(paths, sys.stdin.buffer, needles())

    def answer(collected: list[Source]) -> int:
        tell_how_to_end(language, paths)
        with told_to_wait(language, lambda: opened.reading):
            picture = picture_of(_Together(collected, opened) if collected else opened)
            diagnosis = judge(picture)
        colour = may_colour(color, os.environ, sys.stdout)
        now = datetime.now().astimezone()
        sys.stdout.write(render(diagnosis, picture, language, colour=colour, when=now))
        return diagnosis.exit_code

    collected: list[Source] = []
    if here:
        from tortie.cli.doctor.here import collected as from_here

        collected.append(from_here(root, dict(os.environ)))
    if not lab:
        return answer(collected)
    from tortie.cli.doctor.lab import with_lab

    return with_lab(lambda from_lab: answer([*collected, *from_lab]), name, lang, color, as_json=output == "json")


class _Together:
    """What is collected now, and after it whatever else was handed over."""

    def __init__(self, collected: list[Source], opened: Opened) -> None:
        self._collected, self._opened = collected, opened

    def __iter__(self) -> Iterator[Source]:
        yield from self._collected
        yield from self._opened

    @property
    def skipped(self) -> list[Skipped]:
        return self._opened.skipped
