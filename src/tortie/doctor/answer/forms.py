"""The forms an answer comes in, each in a module of its own that is loaded when it is wanted."""

from __future__ import annotations

import importlib
from datetime import datetime
from typing import Final, Protocol

from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language
from tortie.model.errors import UsageError

FORMS: Final = {
    "text": "text",
    "json": "as_json",
    "md": "markdown",
    "html": "html",
    "junit": "junit",
    "sarif": "sarif",
}


class Form(Protocol):
    """`when` is now, as whoever asks has it: the doctor looks at no clock. Forms for machines leave it out."""

    def __call__(
        self,
        diagnosis: Diagnosis,
        picture: Picture,
        language: Language,
        *,
        colour: bool,
        when: datetime | None = None,
    ) -> str: ...


def form(name: str, *, brief: bool = False) -> Form:
    if name not in FORMS:
        known = ", ".join(FORMS)
        raise UsageError(f"unknown output format '{name}'", f"there are {known}", "for example -o json")
    if brief and name != "text":
        raise UsageError(f"--brief with -o {name}", "three lines are a form of text", "leave out one of the two")
    module = "brief" if brief else FORMS[name]
    rendered: Form = importlib.import_module(f"tortie.doctor.answer.{module}").render
    return rendered
