"""Every form of an answer, and what must hold for each of them whatever the evidence was."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from importlib import resources
from typing import Any, get_args
from xml.etree import ElementTree

from hypothesis import HealthCheck, settings
from jsonschema import Draft202012Validator
from tests.support.doctor_cases import source_of

from tortie.doctor.answer.forms import FORMS, form
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.words import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
LONGEST = 1_500_000  # characters of an answer, however long the evidence
MARKUP = "<img src=x onerror=alert(1)>"
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer", "h1", "h2", "h3", "p",
    "ol", "ul", "li", "pre", "span", "a", "table", "tr", "th", "td", "div", "svg", "rect", "line", "text", "tspan",
    "path", "circle", "g", "desc", "polyline", "polygon", "defs", "marker", "code", "details", "summary", "strong",
    "em", "br", "mark", "script",
}  # fmt: skip


def slow(examples: int) -> settings:
    """Judging takes longer than hypothesis likes."""
    unusual = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, suppress_health_check=unusual)


@cache
def schema() -> Any:
    text = resources.files("tortie.doctor.answer").joinpath("diagnosis.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


@cache
def script() -> str:
    return resources.files("tortie.doctor.answer").joinpath("report.js").read_text(encoding="utf-8")


def answers(sources: Iterable[Source]) -> dict[tuple[str, str], str]:
    picture = picture_of(sources)
    diagnosis = judge(picture)
    told: dict[tuple[str, str], str] = {
        (name, language): form(name)(diagnosis, picture, language, colour=False)
        for name in FORMS
        for language in LANGUAGES
    }
    for language in LANGUAGES:
        told["brief", language] = form("text", brief=True)(diagnosis, picture, language, colour=False)
    return told


class _Page(HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("src", "srcset", "formaction"), name
            assert name not in ("href", "xlink:href") or (value or "").startswith("#"), value


def check(told: dict[tuple[str, str], str]) -> None:
    """What holds for every answer."""
    for (name, _), text in told.items():
        assert len(text) < LONGEST
        unseen = {char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t"}
        assert not unseen, name
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text), name  # text turned around
        if name == "json":
            schema().validate(json.loads(text))
        elif name == "sarif":
            assert json.loads(text)["version"] == "2.1.0"
        elif name == "junit":
            ElementTree.fromstring(text)
        elif name == "brief":
            assert len(text.split("\n")) == 4
            assert text.endswith("\n")
        elif name == "html":
            # Our own script, known to the policy by its hash, and no other.
            assert text.lower().count("<script") == text.count(f"<script>{script()}</script>") == 1
            assert MARKUP not in text
            page = _Page()
            page.feed(text)
            page.close()


def check_text(content: str | bytes) -> dict[tuple[str, str], str]:
    told = answers([source_of(content)])
    check(told)
    return told
