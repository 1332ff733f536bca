"""The answer as one self-contained page: the frame with its policy, its style and its one small script."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib import resources

from tortie.doctor.answer.labels import label
from tortie.doctor.answer.markup import escaped
from tortie.doctor.answer.page import Page
from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    page = Page(diagnosis, picture, language, when)
    title = escaped(f"{label(diagnosis.verdict, language)}{label('colon', language)}{page.headline()}")
    body = "\n".join(part for part in page.parts() if part)
    words = f'data-copy="{escaped(label("copy", language))}" data-copied="{escaped(label("copied", language))}"'
    style, script = _resource("report.css"), _resource("report.js")
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main {words}>\n{body}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


@cache
def _resource(name: str) -> str:
    return resources.files("tortie.doctor.answer").joinpath(name).read_text(encoding="utf-8")


@cache
def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and only our own style and script take effect, whatever the evidence contains."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    import base64
    import hashlib

    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
