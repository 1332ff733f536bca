"""The forms an answer comes in, each in a module of its own that is loaded when it is wanted."""

from __future__ import annotations

import importlib
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
    def __call__(self, diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool) -> str: ...


def form(name: str) -> Form:
    if name not in FORMS:
        known = ", ".join(FORMS)
        raise UsageError(f"unknown output format '{name}'", f"there are {known}", "for example -o json")
    rendered: Form = importlib.import_module(f"tortie.doctor.answer.{FORMS[name]}").render
    return rendered
