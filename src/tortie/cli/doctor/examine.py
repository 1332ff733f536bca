"""`tortie doctor PATH...`: from files, folders, archives and standard input to an answer in the wanted form."""

from __future__ import annotations

import os
import sys

from tortie.cli.language import choose_language, may_colour
from tortie.doctor.answer import forms
from tortie.doctor.causes.catalogue import needles
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.sources import open_sources
from tortie.model.errors import UsageError


def examine(*, paths: tuple[str, ...], output: str, here: bool, root: str | None, lang: str | None, color: str) -> int:
    language = choose_language(lang, os.environ)
    render = forms.form(output)
    if not paths and not here:
        if sys.stdin.isatty():
            fix = "name files, folders or archives; - is standard input; `tortie doctor --help` has examples"
            raise UsageError("there is no evidence", "no file was named and nothing is piped in", fix)
        paths = ("-",)
    picture = picture_of(open_sources(paths, sys.stdin.buffer, needles()))
    diagnosis = judge(picture)
    colour = may_colour(color, os.environ, sys.stdout)
    sys.stdout.write(render(diagnosis, picture, language, colour=colour))
    return diagnosis.exit_code
