"""`tortie doctor PATH...`: from files, folders, archives and standard input to an answer in the wanted form."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from tortie.cli.language import choose_language, may_colour
from tortie.doctor.answer import forms
from tortie.doctor.causes.catalogue import needles
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.sources import Opened, open_sources
from tortie.model.errors import UsageError


def examine(*, paths: tuple[str, ...], output: str, here: bool, root: str | None, lang: str | None, color: str) -> int:
    language = choose_language(lang, os.environ)
    render = forms.form(output)
    if root is not None and not here:
        raise UsageError("--root without --here", "it says where this machine's files are", "add --here")
    if not paths and not here:
        if sys.stdin.isatty():
            fix = "name files, folders or archives; - is standard input; `tortie doctor --help` has examples"
            raise UsageError("there is no evidence", "no file was named and nothing is piped in", fix)
        paths = ("-",)
    sources = open_sources(paths, sys.stdin.buffer, needles())
    picture = picture_of(_WithHere(root, sources) if here else sources)
    diagnosis = judge(picture)
    colour = may_colour(color, os.environ, sys.stdout)
    sys.stdout.write(render(diagnosis, picture, language, colour=colour))
    return diagnosis.exit_code


class _WithHere:
    """What this machine says of itself, and after it whatever else was handed over."""

    def __init__(self, root: str | None, opened: Opened) -> None:
        self._root, self._opened = root, opened

    def __iter__(self) -> Iterator[Source]:
        from tortie.cli.doctor.here import collected

        yield collected(self._root, dict(os.environ))
        yield from self._opened

    @property
    def skipped(self) -> list[Skipped]:
        return self._opened.skipped
