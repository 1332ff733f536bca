"""Flags that all commands of the lab have."""

from __future__ import annotations

from tortie.cli.grammar import Option
from tortie.cli.language import COLOUR_CHOICES, LANGUAGES
from tortie.cli.options import output as output_option

NAME = Option(("--name",), "name", "Which lab. Without it: `lab`, or the only one there is.", "NAME")
SPEECH = (
    Option(("--lang",), "lang", "en or zh; otherwise the locale decides.", "LANG", choices=LANGUAGES),
    Option(("--color",), "color", "auto, always or never.", "WHEN", default="auto", choices=COLOUR_CHOICES),
)
FORM = (output_option("text", "text", "json"), *SPEECH)
USUAL = (NAME, *FORM)
